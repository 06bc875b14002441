//! Events: when a stream came to a place.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rocm_rs::hip::bindings as hip;
use soft_runtime::runtime::now;

use crate::error::{INVALID_HANDLE, NOT_READY, Result};
use crate::handles::Table;
use crate::jobs;
use crate::stream::Captured;

/// Every event.
pub(crate) static EVENTS: Table<Event> = Table::new();

#[derive(Default)]
struct Place {
    /// The last job of its stream when it was recorded; `None` while it was never recorded.
    job: Option<u64>,
    /// When that was done.
    time: Option<u64>,
    /// The capture that it was recorded in, instead.
    captured: Option<Captured>,
}

/// An event.
pub(crate) struct Event {
    timed: bool,
    place: Mutex<Place>,
}

impl Event {
    /// An event with HIP's flags.
    pub(crate) fn new(flags: u32) -> Event {
        Event {
            timed: flags & hip::hipEventDisableTiming == 0,
            place: Mutex::default(),
        }
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        // Plain stores: a panic cannot leave it half changed.
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is recorded by the job that `submit` submits, which calls [`Event::reached`]; gives the job's number.
    pub(crate) fn record(&self, submit: impl FnOnce() -> Result<u64>) -> Result<u64> {
        // Nobody sees the event between the two, and the job, on its own thread, waits for its place.
        let mut place = self.place();
        let job = submit()?;
        *place = Place {
            job: Some(job),
            ..Place::default()
        };
        Ok(job)
    }

    /// A graph that records it is submitted next: it is not reached any more.
    pub(crate) fn begin(&self) {
        *self.place() = Place::default();
    }

    /// The job of that graph.
    pub(crate) fn is_job(&self, job: u64) {
        self.place().job = Some(job);
    }

    /// The stream came to it.
    pub(crate) fn reached(&self) {
        self.place().time = Some(now());
    }

    /// It is recorded in a capture.
    pub(crate) fn capture(&self, captured: Captured) {
        self.place().captured = Some(captured);
    }

    /// The capture that it was recorded in last.
    pub(crate) fn captured(&self) -> Option<Captured> {
        self.place().captured.clone()
    }

    /// The job that records it, once it was recorded.
    pub(crate) fn job(&self) -> Option<u64> {
        self.place().job
    }

    /// Waits until it is reached. One that was never recorded is.
    pub(crate) fn wait(&self) -> Result {
        self.job().map_or(Ok(()), jobs::wait)
    }

    /// The same within a graph, which may have recorded it itself: its own job is not done yet.
    pub(crate) fn wait_in_graph(&self) -> Result {
        // Its place is not held while it is waited for.
        let is_reached = self.place().time.is_some();
        if is_reached { Ok(()) } else { self.wait() }
    }

    /// An error while it is not reached.
    pub(crate) fn query(&self) -> Result {
        match self.job().map_or(Ok(true), jobs::is_done)? {
            true => Ok(()),
            false => Err(NOT_READY),
        }
    }

    /// Milliseconds from one event to another.
    pub(crate) fn elapsed(start: &Event, stop: &Event) -> Result<f32> {
        if !start.timed || !stop.timed {
            return Err(INVALID_HANDLE);
        }
        start.query()?;
        stop.query()?;
        // One after the other: they may be the same event.
        let from = start.place().time.ok_or(INVALID_HANDLE)?;
        let to = stop.place().time.ok_or(INVALID_HANDLE)?;
        let nanoseconds = to.cast_signed().wrapping_sub(from.cast_signed());
        Ok((nanoseconds as f64 / 1e6) as f32)
    }
}
