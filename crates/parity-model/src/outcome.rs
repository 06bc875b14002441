//! What happened when one case ran on one backend. No opinion: see [`crate::Verdict`].

use serde::{Deserialize, Serialize};

use crate::HostTensor;

/// What one backend did with one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "data")]
pub enum Outcome {
    /// It computed a value.
    Ran(HostTensor),
    /// It declined with an error, or panicked; the worker lived on.
    Refused {
        /// The class of the refusal.
        refusal: Refusal,
        /// The backend's own words.
        message: String,
    },
    /// The worker process died.
    Crashed {
        /// Signal or exit status, in words.
        how: String,
        /// The end of what the worker wrote to stderr.
        stderr: String,
    },
    /// The worker was killed after the case's time limit.
    TimedOut {
        /// The limit, in milliseconds.
        limit_ms: u64,
    },
    /// Planned and never executed.
    Missing {
        /// Why not.
        reason: String,
    },
}

/// The class of a refusal: backends agree on refusals by class, not by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No implementation for this op and dtype.
    Unsupported,
    /// The arguments are invalid: shape, stride, index, dtype mismatch.
    Invalid,
    /// The code panicked.
    Panic,
    /// The device reported a fault (illegal access, trap, unknown instruction).
    DeviceFault,
    /// Any other error.
    Other,
}
