//! Why there is no result, in words that say how to mend it.

use std::path::PathBuf;

/// Why a run of models did not come about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A line of the journal cannot be written.
    #[error("{0}")]
    Unkept(String),
    /// The journal holds another run.
    #[error(
        "the journal is of another run; what differs:{0}\ngo on with the command line and the specs that the run began with, or begin \
         another one with --journal"
    )]
    OtherRun(String),
    /// A spec or a stored record is wrong.
    #[error("{}: {why}", path.display())]
    Data {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A name that nothing has.
    #[error("unknown {what} `{name}`: expected one of {known}")]
    Unknown {
        /// What should have it.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// A model's file of weights is not there.
    #[error(
        "{model} needs {}: {why}; `ci/models` downloads the files of model-specs/, and `--weights DIR` names their folder",
        path.display()
    )]
    NoWeights {
        /// The model.
        model: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The selection is empty.
    #[error("no model is selected: {0}")]
    Nothing(String),
    /// The worker program is not there.
    #[error(
        "the program that runs models is not built: {} is missing; `./parity model` builds it, and so does \
         `cargo build --release -p zoo-worker`", .0.display()
    )]
    NoWorker(PathBuf),
    /// The device cannot be opened.
    #[error("backend {device} is not available: {why}")]
    Unavailable {
        /// The device asked for.
        device: String,
        /// The worker's words.
        why: String,
    },
    /// Two records whose weights and inputs differ.
    #[error(
        "the records have seeds {old} and {new}: their inputs differ, so their results say nothing of each other; repeat one of the runs with the other's --seed"
    )]
    Seeds {
        /// The earlier one's.
        old: u64,
        /// The later one's.
        new: u64,
    },
    /// The record cannot be written as XML.
    #[error("the record cannot be rendered: {0}")]
    Xml(String),
    /// The record cannot be written as JSON.
    #[error("the record cannot be rendered: {0}")]
    Formless(serde_json::Error),
}
