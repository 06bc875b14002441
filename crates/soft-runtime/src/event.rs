//! Waiting: one event for the whole process. Whoever changes a signal tells everyone that waits.
//!
//! A kernel may change a signal without a call, so no wait relies on being told: each looks again after a moment.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Looks before a thread sleeps.
const SPINS: u32 = 64;
/// The longest sleep between two looks.
pub const LOOK: Duration = Duration::from_millis(5);

static WAITERS: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

/// Something changed that others may wait for.
pub fn tell() {
    if WAITERS.load(SeqCst) > 0 {
        // The lock keeps a waiter from falling asleep between its look and this.
        drop(LOCK.lock().unwrap_or_else(PoisonError::into_inner));
        CHANGED.notify_all();
    }
}

/// Waits until `done` gives something, for `limit` at most, and looks at least every `look`.
pub fn wait<T>(limit: Option<Duration>, look: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..SPINS {
        if let Some(found) = done() {
            return Some(found);
        }
        std::hint::spin_loop();
    }
    let end = limit.and_then(|limit| Instant::now().checked_add(limit));
    WAITERS.fetch_add(1, SeqCst);
    let mut guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let found = loop {
        if let Some(found) = done() {
            break Some(found);
        }
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            break None;
        }
        let pause = left.map_or(look, |left| left.min(look));
        guard = CHANGED
            .wait_timeout(guard, pause)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    };
    drop(guard);
    WAITERS.fetch_sub(1, SeqCst);
    found
}
