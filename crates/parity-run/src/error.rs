//! Why the engine could not do what was asked: one variant for each who has to act, with words that name the place and the
//! mend. Verdicts are not errors: a run whose cases fail has done its work.

use std::{fmt::Display, io, path::PathBuf};

use parity_exec::{StartError, WorkerError};
use parity_golden::BundleError;

use crate::specs::SpecErrors;

/// What the engine's functions fail with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings name what there is not, or do not go together.
    #[error("{0}")]
    Settings(String),
    /// There is nothing to do, which is never a pass: a selection of nothing, a run without a result.
    #[error("{0}")]
    Nothing(String),
    /// Specs or findings that say something wrong.
    #[error(transparent)]
    Specs(#[from] SpecErrors),
    /// A stored run, a journal or a finding that is damaged, or that does not belong to what it is used with.
    #[error("{0}")]
    Data(String),
    /// A file or a directory that is not there.
    #[error("{0}")]
    Missing(String),
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A journal that another run writes to, or that would take the place of one.
    #[error("{0}")]
    Busy(String),
    /// A golden bundle that cannot be read or written, or that was changed.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A backend that is not available, or a run that was stopped before it was.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Nothing was measured: a device cannot be opened, or the process that times calls ended.
    #[error("nothing is measured: {0}")]
    DidNotMeasure(String),
    /// A recording of cases that did not run.
    #[error("nothing is recorded: {0} and perhaps others did not run")]
    DidNotRun(String),
    /// A worker whose supervisor went away.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The engine contradicts itself.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    /// For `map_err` of what reads a word of the settings.
    pub(crate) fn settings(error: impl Display) -> Error {
        Error::Settings(error.to_string())
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
