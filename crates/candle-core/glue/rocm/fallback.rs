//! Custom ops without a ROCm implementation: they run on the CPU, are counted, and can be refused.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rocm_backend::environment::{FALLBACK, Fallback};

use super::RocmError;
use crate::{Error, Result};

static COUNTS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

fn counts() -> MutexGuard<'static, BTreeMap<&'static str, u64>> {
    // A count is whole at every moment, so a panic elsewhere cannot have left it half-written.
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The custom ops that ran on the CPU although their tensors are on a ROCm device, in order of name, and how often,
/// since the process started or [`reset_fallbacks`] was called.
pub fn fallbacks() -> Vec<(&'static str, u64)> {
    counts().iter().map(|(op, count)| (*op, *count)).collect()
}

/// Forgets the fallbacks counted so far.
pub fn reset_fallbacks() {
    counts().clear();
}

/// Runs `op` on the CPU, unless [`FALLBACK`] refuses, and counts it when it ran.
pub(crate) fn on_cpu<T>(op: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    match FALLBACK.get().map_err(rocm_backend::Error::from)? {
        Fallback::Refuse => Err(Error::Rocm(RocmError::FallbackRefused { op }).bt()),
        Fallback::Allow => {
            let result = run()?;
            *counts().entry(op).or_default() += 1;
            Ok(result)
        }
    }
}
