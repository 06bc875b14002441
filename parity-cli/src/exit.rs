//! The exit codes of `parity`, all of them.

use std::process::ExitCode;

use parity_exec::StartError;
use parity_golden::BundleError;
use parity_run::Error;

/// The enum of the exits and their table, so that each meaning is written once.
macro_rules! exits {
    ($($name:ident = $code:literal: $meaning:literal,)*) => {
        /// How a run of the command ended. The numbers are sysexits' where it has one, nextest's for tests that failed, and
        /// a shell's for SIGINT.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Exit {
            $(#[doc = $meaning] $name = $code,)*
        }

        impl Exit {
            /// Every exit with its name and what it means, in the order of the codes.
            const TABLE: &[(Exit, &str, &str)] = &[$((Exit::$name, stringify!($name), $meaning),)*];
        }
    };
}

exits! {
    Ok = 0: "something ran, and every result passed or is a known failure; of stored runs: the gate passes, nothing got worse, or no verdict differs",
    NothingMatched = 4: "there was nothing to do, which is never a pass: the selection matches no case, a run holds no result, or the case to shrink does not fail",
    Usage = 64: "the command line is wrong",
    BadData = 65: "a spec, a finding or a stored run is wrong, or runs do not belong together",
    NoInput = 66: "a file or directory is missing or cannot be read",
    Unavailable = 69: "a backend is not available",
    Internal = 70: "parity itself went wrong: the results do not add up to the plan",
    Io = 74: "an output cannot be written",
    Failed = 100: "the run is complete, and at least one result fails it; of stored runs: the gate blocks, something got worse, or a verdict differs",
    Interrupted = 130: "Ctrl-C or SIGTERM: what was judged by then has been written, the rest is not-run",
}

impl Exit {
    /// The number the shell sees.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The table as the help shows it.
    pub(crate) fn help() -> String {
        let row = |(exit, _, meaning): &(Exit, &str, &str)| format!("  {:>3}  {meaning}", exit.code());
        let rows: Vec<_> = Exit::TABLE.iter().map(row).collect();
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

/// The engine's errors, each with the exit of who has to act.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match &error {
            Error::Settings(_) => Exit::Usage,
            Error::Nothing(_) => Exit::NothingMatched,
            Error::Specs(_) | Error::Data(_) => Exit::BadData,
            Error::Missing(_) | Error::Read { .. } | Error::Bundle(BundleError::Io { doing: "read", .. }) => {
                Exit::NoInput
            }
            Error::Bundle(BundleError::Io { .. })
            | Error::Write { .. }
            | Error::Busy(_)
            | Error::Worker(_) => Exit::Io,
            Error::Bundle(
                BundleError::Changed { .. } | BundleError::Malformed { .. } | BundleError::Version { .. },
            ) => Exit::BadData,
            Error::Start(StartError::Stopped { .. }) => Exit::Interrupted,
            Error::Start(
                StartError::Spawn { .. }
                | StartError::Unavailable { .. }
                | StartError::Version { .. }
                | StartError::Died { .. },
            )
            | Error::DidNotRun(_)
            | Error::DidNotMeasure(_) => Exit::Unavailable,
            Error::Internal(_) => Exit::Internal,
        };
        Failure::new(exit, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_a_promise_to_scripts() {
        let codes = Exit::TABLE.iter().map(|(exit, name, _)| (exit.code(), *name));
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
        assert!(codes.eq(want));
    }
}
