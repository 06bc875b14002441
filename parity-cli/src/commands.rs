//! One module a subcommand, and the way into them.

mod list;
mod report;
mod run;
mod worker;

use std::ffi::OsString;

use clap::Parser;

use crate::{
    args::{Cli, Command},
    exit::{Exit, Failure},
    output::complain,
};

/// Runs the command line; every error ends here, as one message on stderr.
pub(crate) fn main(args: impl Iterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and clap knows which stream each goes to.
            let printed = error.print();
            return match (error.use_stderr(), printed) {
                (true, _) => Exit::Usage,
                (false, Ok(())) => Exit::Ok,
                (false, Err(_)) => Exit::Io,
            };
        }
    };
    dispatch(cli.command).unwrap_or_else(|Failure { exit, message }| {
        let underlined = message.starts_with("error");
        complain(&if underlined {
            message
        } else {
            format!("error: {message}")
        });
        exit
    })
}

fn dispatch(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => run::run(args),
        Command::List(args) => list::list(args),
        Command::Report(args) => report::report(args),
        Command::Worker(args) => worker::worker(&args),
    }
}
