//! What supervisor and worker say to each other. How it travels is [`crate::frame`]'s.

use parity_model::{CaseId, Outcome, record::BackendInfo};
use serde::{Deserialize, Serialize};

use crate::backend::CANDLE_VERSION;

/// Bumped with every change of a message, so that two builds of `parity` never misread each other.
pub const PROTOCOL: u32 = 3;

/// What must be the same at both ends besides the protocol: inputs are derived, and ops run, by either side's own code.
pub(crate) fn build() -> String {
    format!(
        "parity {}, candle-core {CANDLE_VERSION}",
        env!("CARGO_PKG_VERSION")
    )
}

/// Supervisor to worker, first: how to work.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Bytes of memory the worker may use; `None` for as many as there are.
    pub(crate) memory_limit: Option<u64>,
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
        /// Milliseconds it took, transfers included.
        millis: f64,
    },
}
