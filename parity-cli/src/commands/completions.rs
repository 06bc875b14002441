//! `parity completions`: a script that completes parity's command line.

use clap::CommandFactory;

use crate::{
    args::{Cli, CompletionsArgs},
    exit::{Exit, Failure},
    output::print,
};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "parity", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
