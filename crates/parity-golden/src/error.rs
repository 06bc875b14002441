//! What can be wrong with a bundle, and why one of its entries does not answer for a case.

/// Why a bundle cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("cannot {doing} {path}: {reason}")]
    Io {
        /// `read`, `write` or `create`.
        doing: &'static str,
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// A file is not what the manifest says.
    #[error(
        "{path} was changed after it was recorded: its SHA-256 is {found}, and the manifest says {expected}; restore it \
         (`git checkout`) or record the bundle again"
    )]
    Changed {
        /// The file.
        path: String,
        /// Digest in the manifest.
        expected: String,
        /// Digest of the file.
        found: String,
    },
    /// A file cannot be understood.
    #[error("{path}: {reason}; restore it (`git checkout`) or record the bundle again")]
    Malformed {
        /// The file, with the line where there is one.
        path: String,
        /// What was expected.
        reason: String,
    },
    /// The bundle was written by another release.
    #[error("{path} has version {found}, and this parity reads version {expected}; record the bundle again")]
    Version {
        /// The manifest.
        path: String,
        /// Its version.
        found: u32,
        /// [`crate::MANIFEST_VERSION`].
        expected: u32,
    },
}

impl BundleError {
    pub(crate) fn io(doing: &'static str, path: &std::path::Path, error: &std::io::Error) -> BundleError {
        BundleError::Io {
            doing,
            path: path.display().to_string(),
            reason: error.to_string(),
        }
    }

    pub(crate) fn malformed(path: &std::path::Path, reason: impl ToString) -> BundleError {
        BundleError::Malformed {
            path: path.display().to_string(),
            reason: reason.to_string(),
        }
    }
}

/// Why a bundle has nothing to say on a case, or on a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// No entry has the case's id.
    #[error("not recorded: the specs have changed since")]
    NotRecorded,
    /// The case's inputs are others than those that were recorded.
    #[error("stale: the inputs have changed since it was recorded (digest {now}, recorded {recorded})")]
    Inputs {
        /// Digest of the inputs as they are derived now.
        now: String,
        /// Digest of the inputs of the recording.
        recorded: String,
    },
    /// The output was kept as a digest only, for it was the oracle's answer, and that is another one now.
    #[error(
        "stale: it was the oracle's answer to the bit, and that has changed since (digest {now}, recorded {recorded})"
    )]
    Answer {
        /// Digest of the answer now.
        now: String,
        /// Digest of the output.
        recorded: String,
    },
    /// The bundle was recorded with another seed: all of its inputs are others.
    #[error("recorded with --seed {recorded}, and this run has --seed {now}")]
    Seed {
        /// Seed of the run.
        now: u64,
        /// Seed of the recording.
        recorded: u64,
    },
    /// The bundle was recorded with another candle.
    #[error("recorded with candle-core {recorded}, and this parity has candle-core {now}")]
    Candle {
        /// The version this parity has.
        now: String,
        /// Version of the recording.
        recorded: String,
    },
}
