//! `parity completions`: a script that completes parity's command line.

use crate::{
    args::{self, CompletionsArgs},
    exit::{Exit, Failure},
    output::print,
};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    print(&String::from_utf8_lossy(&args::completions(args.shell)))?;
    Ok(Exit::Ok)
}
