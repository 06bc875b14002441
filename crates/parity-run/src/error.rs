//! Why the engine could not do what was asked. Verdicts are no errors: a run whose cases fail has done its work.

use std::{io, path::PathBuf};

use parity_exec::StartError;
use parity_golden::{BundleError, Stale};
use parity_model::BadCaseId;
use parity_report::json::ReadError;

use crate::{
    baseline::BaselineError, journal::JournalError, merge::MergeError, names::UnknownWord, shard::BadPart,
    specs::SpecErrors,
};

/// What the engine's functions fail with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A word that names no op, dtype, layout, tier, tag or backend.
    #[error(transparent)]
    UnknownWord(#[from] UnknownWord),
    /// A text that names no case.
    #[error(transparent)]
    BadCaseId(#[from] BadCaseId),
    /// A text that names no part of a plan.
    #[error(transparent)]
    BadPart(#[from] BadPart),
    /// The text after a backend's `=`.
    #[error(
        "`{0}` is no place for a backend: expected ssh://[USER@]HOST[:PORT][/PATH/TO/parity] or exec:COMMAND"
    )]
    BadPlace(String),
    /// One backend was given two places.
    #[error("backend {0} is to run in two places: name it once, or compare two runs with `parity diff`")]
    TwoPlaces(String),
    /// The work takes one backend, and the settings name none or several.
    #[error("{work} takes one backend besides the reference: name one with --backend")]
    OneBackend {
        /// What takes one.
        work: &'static str,
    },
    /// A tag was asked for, and the specs have none.
    #[error("unknown tag `{0}`: no group of the specs has tags; `tags = [..]` gives it some")]
    NoTags(String),
    /// `--against` names no recording.
    #[error("--against {0}: only recorded outputs can be compared with: --against golden:NAME")]
    NoRecording(String),
    /// A name that no folder of a bundle should have.
    #[error("--name {0:?}: a bundle's name is letters, digits, `-`, `_` and `.`")]
    BadBundleName(String),
    /// A case was to be pinned in the file of another family.
    #[error(
        "{file} is of the family {family}, and {op} is of {its_family}: name a file of that family, or a new one"
    )]
    OtherFamily {
        /// The spec.
        file: String,
        /// Its family.
        family: &'static str,
        /// The case's op.
        op: &'static str,
        /// The op's family.
        its_family: &'static str,
    },

    /// The selection matches no case.
    #[error("no case matches: the specs hold {all} cases, and none is {criteria}")]
    NothingSelected {
        /// Cases of the specs.
        all: usize,
        /// What was asked for, in words.
        criteria: String,
    },
    /// A part of the plan has no case.
    #[error(
        "shard {index}/{of} is empty: none of the {planned} selected cases falls into it; use fewer shards"
    )]
    EmptyPart {
        /// Which part, from 1.
        index: usize,
        /// Parts in all.
        of: usize,
        /// Cases of the whole plan.
        planned: usize,
    },
    /// No selected case is among the recorded ones.
    #[error("none of the {selected} selected cases is recorded in {recording}")]
    NothingRecorded {
        /// Selected cases.
        selected: usize,
        /// The recording.
        recording: String,
    },
    /// A stored run without a result that could be used.
    #[error("{0} holds no result")]
    NoResult(String),
    /// A case that cannot be told as a Rust test.
    #[error("{case}: {why}")]
    NoTest {
        /// Its id.
        case: String,
        /// Why not.
        why: String,
    },

    /// Specs or a list of known failures that say something wrong.
    #[error(transparent)]
    Specs(#[from] SpecErrors),
    /// A stored record that cannot be used.
    #[error("{path}: {source}; {}", record_help(source))]
    Record {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: ReadError,
    },
    /// A shard was given where a whole run is needed.
    #[error(
        "{path} is shard {index}/{of}, a part of a run; merge the parts first: `parity merge SHARDS.. --out FILE`"
    )]
    PartOfARun {
        /// The file.
        path: String,
        /// Which part, from 1.
        index: usize,
        /// Parts in all.
        of: usize,
    },
    /// Two runs of different inputs.
    #[error(
        "{} has seed {} and {} has seed {}: their inputs differ, so their results say nothing of each other; repeat one of \
         the runs with the other's --seed",
        before.0, before.1, after.0, after.1
    )]
    OtherInputs {
        /// File and seed of the earlier run.
        before: (String, u64),
        /// File and seed of the later run.
        after: (String, u64),
    },
    /// A recording of another seed or candle.
    #[error("--against {recording}: {stale}; nothing of it can be compared")]
    StaleRecording {
        /// The recording.
        recording: String,
        /// Why nothing of it can be compared.
        stale: Stale,
    },
    /// A list of known failures that cannot be brought in line with a run.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// Records that are not the parts of one run.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A journal that cannot be written, or gone on with.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A golden bundle that cannot be used.
    #[error(transparent)]
    Bundle(#[from] BundleError),

    /// A directory of specs that is not there.
    #[error("{0}")]
    NoSpecs(String),
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A bundle that is not there.
    #[error("no golden bundle {folder}; there is {there}; `parity golden record --name {name}` makes one")]
    NoBundle {
        /// Where it should be.
        folder: String,
        /// The bundles there are.
        there: String,
        /// Its name, quoted for a shell.
        name: String,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },

    /// A backend that is not available.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A recording of cases that did not run.
    #[error("nothing is recorded: {0} and perhaps others did not run")]
    DidNotRun(String),
    /// The worker lost its supervisor.
    #[error(transparent)]
    Worker(#[from] parity_exec::WorkerError),

    /// The engine contradicts itself.
    #[error("{0}")]
    Internal(String),
}

/// Who has to act on an error, for exit codes and for retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The settings are wrong.
    Settings,
    /// There was nothing to do, which is never a pass.
    Nothing,
    /// A spec, a list of known failures or a stored run is wrong, or runs do not belong together.
    Data,
    /// A file or directory is missing or cannot be read.
    Missing,
    /// A backend is not available.
    Unavailable,
    /// The run was stopped before it began.
    Stopped,
    /// A file cannot be written.
    Output,
    /// The engine itself went wrong.
    Internal,
}

impl Error {
    /// Who has to act.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::UnknownWord(_)
            | Error::BadCaseId(_)
            | Error::BadPart(_)
            | Error::BadPlace(_)
            | Error::TwoPlaces(_)
            | Error::OneBackend { .. }
            | Error::NoTags(_)
            | Error::NoRecording(_)
            | Error::BadBundleName(_)
            | Error::OtherFamily { .. } => ErrorClass::Settings,
            Error::NothingSelected { .. }
            | Error::EmptyPart { .. }
            | Error::NothingRecorded { .. }
            | Error::NoResult(_)
            | Error::NoTest { .. } => ErrorClass::Nothing,
            Error::Specs(_)
            | Error::Record { .. }
            | Error::PartOfARun { .. }
            | Error::OtherInputs { .. }
            | Error::StaleRecording { .. }
            | Error::Merge(_) => ErrorClass::Data,
            Error::NoSpecs(_) | Error::Read { .. } | Error::NoBundle { .. } => ErrorClass::Missing,
            Error::DidNotRun(_) => ErrorClass::Unavailable,
            Error::Write { .. } | Error::Worker(_) => ErrorClass::Output,
            Error::Internal(_) => ErrorClass::Internal,
            Error::Baseline(error) => error.class(),
            Error::Journal(error) => error.class(),
            Error::Bundle(error) => match error {
                BundleError::Io { doing: "read", .. } => ErrorClass::Missing,
                BundleError::Io { .. } => ErrorClass::Output,
                BundleError::Changed { .. } | BundleError::Malformed { .. } | BundleError::Version { .. } => {
                    ErrorClass::Data
                }
            },
            Error::Start(error) => match error {
                StartError::Stopped { .. } => ErrorClass::Stopped,
                StartError::Spawn { .. }
                | StartError::Unavailable { .. }
                | StartError::Version { .. }
                | StartError::Died { .. } => ErrorClass::Unavailable,
            },
        }
    }

    /// For `map_err` of what reads `path`.
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Read { path, source }
    }

    /// For `map_err` of what writes `path`.
    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Write { path, source }
    }
}

fn record_help(error: &ReadError) -> &'static str {
    match error {
        ReadError::Malformed(_) => {
            "`parity run --output json --out FILE` writes one, `parity run --journal FILE` a journal"
        }
        ReadError::Version { .. } => "repeat the run with this parity",
        ReadError::Incomplete(_) => "repeat the run: a part of this file is lost",
    }
}
