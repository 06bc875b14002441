//! Handles: numbers that stand for streams, events, modules and the like. A number that stands for nothing is an error.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{INVALID_HANDLE, Result};

/// The first handle. No allocation of a Linux process lies so low, so that a handle is never taken for a pointer.
const FIRST: usize = 1 << 32;
/// Between two handles.
const STEP: usize = 64;

static NEXT: AtomicUsize = AtomicUsize::new(FIRST);

/// What the handles of one kind stand for.
pub(crate) struct Table<T> {
    rows: Mutex<BTreeMap<usize, Arc<T>>>,
}

impl<T> Table<T> {
    pub(crate) const fn new() -> Table<T> {
        Table {
            rows: Mutex::new(BTreeMap::new()),
        }
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<T>>> {
        // One insertion or removal at a time: a panic cannot leave it half done.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new handle.
    pub(crate) fn insert(&self, row: T) -> usize {
        self.share(Arc::new(row))
    }

    /// A new handle for something that others hold too.
    pub(crate) fn share(&self, row: Arc<T>) -> usize {
        let handle = NEXT.fetch_add(STEP, Relaxed);
        self.rows().insert(handle, row);
        handle
    }

    /// What a handle stands for.
    pub(crate) fn get(&self, handle: usize) -> Result<Arc<T>> {
        self.rows().get(&handle).cloned().ok_or(INVALID_HANDLE)
    }

    /// Ends a handle.
    pub(crate) fn remove(&self, handle: usize) -> Result<Arc<T>> {
        self.rows().remove(&handle).ok_or(INVALID_HANDLE)
    }

    /// Ends all handles but those of what is to be kept.
    pub(crate) fn retain(&self, keep: impl Fn(&T) -> bool) {
        let gone: Vec<_> = self.rows().extract_if(.., |_, row| !keep(row)).collect();
        // Outside of the lock: what ends may take others.
        drop(gone);
    }

    /// The handle of something.
    pub(crate) fn of(&self, row: &Arc<T>) -> Result<usize> {
        let rows = self.rows();
        let found = rows.iter().find(|(_, known)| Arc::ptr_eq(known, row));
        found.map(|(handle, _)| *handle).ok_or(INVALID_HANDLE)
    }

    /// All that have a handle.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.rows().values().cloned().collect()
    }
}
