//! The `gfx` command: disassembles AMD GPU code, runs a kernel on the software GPU, traces one wave of it, and runs whole
//! programs of others on it.
//!
//! For people who look at kernels. It knows code objects and numbers, no HIP and no tensors.

mod args;
mod coverage;
mod disasm;
mod exec;
mod kernel;
mod seam;
mod trace;
mod values;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = io::BufWriter::new(io::stdout().lock());
    let result = match cli.command {
        Command::Disasm(asked) => disasm::disasm(&asked, &mut out),
        Command::Run(asked) => kernel::run(&asked, &mut out),
        Command::Trace(asked) => trace::trace(&asked, &mut out),
        Command::Doctor => exec::doctor(&mut out),
        Command::Exec(asked) => match exec::exec(&asked) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
    };
    // A reader that went away, such as `head`, does not make the command fail.
    let flushed = out.flush();
    match (result, flushed) {
        (Ok(()), _) => ExitCode::SUCCESS,
        (Err(Failure::Output(error)), _) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        (Err(failure), _) => {
            let text = match failure {
                Failure::Said(text) => text,
                Failure::Output(error) => format!("cannot write: {error}"),
            };
            // Nothing is left to be done when even this cannot be written.
            writeln!(io::stderr(), "error: {text}").ok();
            ExitCode::FAILURE
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
enum Failure {
    /// In words for the user.
    Said(String),
    /// The output could not be written.
    Output(io::Error),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Failure::Said(text)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<rocm_env::NotFound> for Failure {
    fn from(why: rocm_env::NotFound) -> Self {
        Failure::Said(why.to_string())
    }
}

/// The result of a command.
type CommandResult = Result<(), Failure>;
