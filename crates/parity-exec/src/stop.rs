//! A request to end a run early, made by one thread and seen by all. What ends, and in which order, is the supervisor's.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Ends a run early: no case is started any more, and the workers are killed.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the end has been asked for.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The flag itself, for a signal handler to set.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.0
    }
}
