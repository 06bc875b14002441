//! What supervisor and worker say to each other. How it travels is [`crate::frame`]'s.

use parity_model::{
    CaseId, Outcome,
    record::{BackendInfo, KernelCost},
};
use serde::{Deserialize, Serialize};

use crate::backend::CANDLE_SOURCES;

/// Bumped with every change of a message, so that two builds of `parity` never misread each other.
pub const PROTOCOL: u32 = 8;

/// What must be the same at both ends besides the protocol: inputs are derived, and ops run, by either side's own code.
pub(crate) fn build() -> String {
    build_with(CANDLE_SOURCES)
}

/// [`build`] of a program with these sources of candle-core.
pub(crate) fn build_with(candle: &str) -> String {
    format!("parity {}, candle-core {candle}", env!("CARGO_PKG_VERSION"))
}

/// Supervisor to worker, first: how to work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Bytes of memory the worker may use; `None` for as many as there are.
    pub(crate) memory_limit: Option<u64>,
    /// Whether to tell which instructions of which kernels the cases executed.
    pub(crate) cover: bool,
    /// Instructions that a wave of the software GPU may execute; `None` for as many as ever. With a limit, launches are held to the sizes
    /// that proofs about kernels assume, too.
    pub(crate) wave_limit: Option<u64>,
    /// The ops that the supervisor's program has of its own, each with its declaration: the worker's has them too.
    pub(crate) own: Vec<(String, String)>,
}

/// What a case executed of one kernel of the software GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// The code object, by the digest of its file.
    pub object: String,
    /// The kernel's name.
    pub kernel: String,
    /// One digit for each of its instructions, as `gfx_emu::CodeObject::take_marks` gives them.
    pub marks: String,
}

/// A code object that a worker loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// The digest of its file.
    pub id: String,
    /// The file.
    #[serde(with = "serde_bytes")]
    pub file: Vec<u8>,
}

/// A fault in a kernel of the software GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// The code object, by the digest of its file.
    pub object: String,
    /// The kernel's name.
    pub kernel: String,
    /// Other bytes, and how far they are from the kernel's first instruction; without, the kernel starts in a mode that
    /// flushes single-precision subnormals.
    pub bytes: Option<(i64, Vec<u8>)>,
    /// Added to the places that the case's allocations have (`ROCM_SOFT_PLACE`).
    pub place: u32,
}

/// Supervisor to worker: run this. The end of the pipe means: go home.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Echoed in the answer.
    pub(crate) id: u64,
    /// The case. Its id says everything an input depends on; limits are the judge's, and stay in the parent.
    pub(crate) case: CaseId,
    /// Seed of the run.
    pub(crate) seed: u64,
    /// The fault to compute it with.
    pub(crate) mutant: Option<Mutant>,
    /// Whether to count what its launches do.
    pub(crate) count: bool,
}

/// Worker to supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The first message: the device is open, or why it is not.
    Hello {
        /// [`build`] of the worker.
        build: String,
        /// The device, or the reason there is none.
        device: Result<BackendInfo, String>,
    },
    /// Within a job: kernels are loaded from here, and compiled where they must be, to the message that says `false`. The case's
    /// time stands still.
    Loading(bool),
    /// A job is done.
    Done {
        /// [`Job::id`].
        id: u64,
        /// What happened.
        outcome: Outcome,
        /// Ops that ran on the CPU instead of the device.
        fallbacks: Vec<String>,
        /// What computed the result, where the backend tells.
        served_by: Vec<String>,
        /// What was executed of kernels, where that is asked for.
        covered: Vec<Covered>,
        /// The code objects that were loaded for it, likewise.
        loaded: Vec<Loaded>,
        /// What its launches did, by kernel, where that is asked for.
        counted: Vec<KernelCost>,
        /// Milliseconds it took, transfers included.
        millis: f64,
    },
}
