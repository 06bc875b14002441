//! A count of what computed results, for the operations that more than one way may serve.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::Level;

/// How often one way served one operation of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The operation: `matmul`.
    pub op: &'static str,
    /// A kernel of this crate, without its dtype, as `gemm`; or a library's function.
    pub by: &'static str,
    /// What results of this way are worth.
    pub level: Level,
    /// How often.
    pub times: u64,
}

/// The counts of a device.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<BTreeMap<Way, u64>>);

/// An operation, what served it, and at which level.
type Way = (&'static str, &'static str, Level);

impl Ledger {
    pub(crate) fn add(&self, op: &'static str, by: &'static str, level: Level) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((op, by, level)).or_default() += 1;
    }

    pub(crate) fn read(&self) -> Vec<Served> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let served = |(&(op, by, level), &times): (&Way, &u64)| Served { op, by, level, times };
        counts.iter().map(served).collect()
    }
}
