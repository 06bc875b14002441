//! A mark in a device's stream: whether the work before it is done, and how long the work between two marks took.
#![expect(unsafe_code, reason = "calls HIP and says why an event may cross threads")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rocm_rs::hip::bindings::{self, hipEvent_t};

use super::context::Context;
use super::status::check;
use super::stream::Stream;
use crate::{Error, Result};

/// A HIP event, owned: a place in a stream once it was recorded there.
#[derive(Debug)]
pub(super) struct Mark {
    raw: hipEvent_t,
}

// SAFETY: a hipEvent_t is a handle to an object HIP locks itself, usable from any thread. `Mark` gives out no `&mut` to
// anything behind it.
unsafe impl Send for Mark {}
// SAFETY: as above.
unsafe impl Sync for Mark {}

impl Mark {
    /// A mark without a time, on this thread's device.
    pub(super) fn new() -> Result<Mark> {
        Mark::with_flags(bindings::hipEventDisableTiming)
    }

    fn with_flags(flags: u32) -> Result<Mark> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written.
        check("hipEventCreateWithFlags", unsafe {
            bindings::hipEventCreateWithFlags(&raw mut raw, flags)
        })?;
        Ok(Mark { raw })
    }

    /// Moves the mark to after everything that was submitted to `stream` so far.
    pub(super) fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: both handles live.
        check("hipEventRecord", unsafe {
            bindings::hipEventRecord(self.raw, stream.raw())
        })
    }

    /// Waits until the work before the mark is done; at once where it was never recorded.
    pub(super) fn synchronize(&self) -> Result<()> {
        // SAFETY: `self.raw` is a live event.
        check("hipEventSynchronize", unsafe {
            bindings::hipEventSynchronize(self.raw)
        })
    }

    /// The handle, for calls while `self` is borrowed.
    pub(super) fn raw(&self) -> hipEvent_t {
        self.raw
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: made by hipEventCreateWithFlags and destroyed only here; HIP keeps what a stream still waits for. A
        // failure leaves nothing to do.
        let _ = unsafe { bindings::hipEventDestroy(self.raw) };
    }
}

/// A recorded event; see [`Device::record`](crate::Device::record).
///
/// It may cross threads: its methods take `&self` and only ask and wait.
pub struct Event {
    mark: Mark,
    context: Arc<Context>,
}

impl Event {
    /// Records an event after everything submitted to the context's stream so far.
    pub(crate) fn record(context: &Arc<Context>) -> Result<Event> {
        context.refuse_in_capture("an event")?;
        context.bind()?;
        let mark = Mark::with_flags(0)?; // flags 0 keep the timing
        mark.record(context.stream())?;
        Ok(Event {
            mark,
            context: Arc::clone(context),
        })
    }

    /// Has what `context`'s stream gets from now on wait for the event.
    pub(crate) fn hold(&self, context: &Context) -> Result<()> {
        context.refuse_in_capture("a wait for an event")?;
        context.bind()?;
        context.stream().wait(&self.mark)
    }

    /// Waits until the work submitted before the event is done.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`] when that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        let look = self.context.begin_look()?;
        self.context.count_wait();
        self.mark.synchronize()?;
        look.end()
    }

    /// Whether the work submitted before the event is done.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`] when that work failed.
    pub fn is_done(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: the mark is a live, recorded event.
        match unsafe { bindings::hipEventQuery(self.mark.raw()) } {
            bindings::hipError_t_hipErrorNotReady => Ok(false),
            status => check("hipEventQuery", status).map(|()| true),
        }
    }

    /// The device's time from `earlier` to this event; waits for both.
    ///
    /// # Errors
    /// [`Error::Devices`] for events of two devices or streams; [`Error::Hip`] when the work before them failed.
    pub fn since(&self, earlier: &Event) -> Result<Duration> {
        if !Arc::ptr_eq(&self.context, &earlier.context) {
            return Err(Error::Devices {
                op: "since".to_owned(),
            });
        }
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are live, recorded with timing, on one device, and done.
        check("hipEventElapsedTime", unsafe {
            bindings::hipEventElapsedTime(&raw mut milliseconds, earlier.mark.raw(), self.mark.raw())
        })?;
        Ok(Duration::try_from_secs_f32(milliseconds / 1e3).unwrap_or_default())
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Event({:?} on device {})",
            self.mark.raw(),
            self.context.ordinal()
        )
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // The mark goes next, and belongs to this device.
        let _ = self.context.select();
    }
}
