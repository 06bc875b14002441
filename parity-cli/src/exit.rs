//! The exit codes of `parity`, all of them.

use std::process::ExitCode;

use parity_run::{Error, ErrorClass};

/// How a run of the command ended. The numbers are sysexits' where it has one, and nextest's for tests that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Something ran, and every result passed or is a known failure; of stored runs: the gate passes, nothing got worse, or, of
    /// verdicts alone, none differs.
    Ok = 0,
    /// The selection matches no case, a record holds no result, or the case to shrink does not fail: there was nothing to
    /// do, which is never a pass.
    NothingMatched = 4,
    /// The command line is wrong.
    Usage = 64,
    /// A spec, a list of known failures or a stored record is wrong, or records do not belong together.
    BadData = 65,
    /// A file or directory is missing or cannot be read.
    NoInput = 66,
    /// A backend is not available.
    Unavailable = 69,
    /// parity itself went wrong: the results do not add up to the plan.
    Internal = 70,
    /// An output cannot be written.
    Io = 74,
    /// The run is complete, and at least one result fails it; of stored runs: the gate blocks, something got worse, or, of
    /// verdicts alone, one differs.
    Failed = 100,
    /// Ctrl-C or SIGTERM: what was judged by then has been written, the rest is not-run. A shell's number for SIGINT.
    Interrupted = 130,
}

impl Exit {
    /// Every exit, with what it means, in the order of the codes.
    pub(crate) const TABLE: [(Exit, &str); 10] = [
        (
            Exit::Ok,
            "something ran, and every result passed or is a known failure; the gate passes; nothing got worse",
        ),
        (
            Exit::NothingMatched,
            "the selection matches no case, a record holds no result, or the case to shrink does not fail",
        ),
        (Exit::Usage, "the command line is wrong"),
        (
            Exit::BadData,
            "a spec, a list of known failures or a stored record is wrong, or records do not belong together",
        ),
        (Exit::NoInput, "a file or directory is missing or cannot be read"),
        (Exit::Unavailable, "a backend is not available"),
        (Exit::Internal, "parity itself went wrong"),
        (Exit::Io, "an output cannot be written"),
        (
            Exit::Failed,
            "the run is complete, and at least one result fails it; the gate blocks; something got worse",
        ),
        (
            Exit::Interrupted,
            "Ctrl-C or SIGTERM: what was judged by then has been written, the rest is not-run",
        ),
    ];

    /// The number the shell sees.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The table as the help shows it.
    pub(crate) fn help() -> String {
        let rows = Exit::TABLE.map(|(exit, meaning)| format!("  {:>3}  {meaning}", exit.code()));
        format!("Exit codes:\n{}", rows.join("\n"))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// A command that could not do its work: what to say, and how to exit.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            message: message.into(),
        }
    }
}

/// The engine's errors, each with the exit that its class has.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match error.class() {
            ErrorClass::Settings => Exit::Usage,
            ErrorClass::Nothing => Exit::NothingMatched,
            ErrorClass::Data => Exit::BadData,
            ErrorClass::Missing => Exit::NoInput,
            ErrorClass::Unavailable => Exit::Unavailable,
            ErrorClass::Stopped => Exit::Interrupted,
            ErrorClass::Output => Exit::Io,
            ErrorClass::Internal => Exit::Internal,
        };
        Failure::new(exit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_a_promise_to_scripts() {
        let codes = Exit::TABLE.map(|(exit, _)| (exit.code(), format!("{exit:?}")));
        let want = [
            (0, "Ok"),
            (4, "NothingMatched"),
            (64, "Usage"),
            (65, "BadData"),
            (66, "NoInput"),
            (69, "Unavailable"),
            (70, "Internal"),
            (74, "Io"),
            (100, "Failed"),
            (130, "Interrupted"),
        ];
        assert_eq!(codes, want.map(|(code, name)| (code, name.to_owned())));
    }
}
