//! A mark in a device's stream: whether the work before it is done, and how long the work between two marks took.
#![expect(unsafe_code, reason = "calls HIP and says why an event may cross threads")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rocm_rs::hip::bindings::{self, hipEvent_t};

use super::context::Context;
use super::status::check;
use crate::{Error, Result};

/// A recorded event; see [`Device::record`](crate::Device::record).
pub struct Event {
    raw: hipEvent_t,
    context: Arc<Context>,
}

// SAFETY: a hipEvent_t is a handle to an object HIP locks itself, usable from any thread. `Event` has no `&mut`
// method; recording happens once, before the event is handed out.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Records an event after everything submitted to the context's stream so far.
    pub(crate) fn record(context: &Arc<Context>) -> Result<Event> {
        context.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written; flags 0 keep the timing.
        check("hipEventCreateWithFlags", unsafe {
            bindings::hipEventCreateWithFlags(&raw mut raw, 0)
        })?;
        let event = Event {
            raw,
            context: Arc::clone(context),
        };
        // SAFETY: the event was made above on the stream's device; the stream lives in `context`.
        check("hipEventRecord", unsafe {
            bindings::hipEventRecord(raw, context.stream().raw())
        })?;
        Ok(event)
    }

    /// Waits until the work submitted before the event is done.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`] when that work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: `self.raw` is a live, recorded event.
        check("hipEventSynchronize", unsafe {
            bindings::hipEventSynchronize(self.raw)
        })
    }

    /// Whether the work submitted before the event is done.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`] when that work failed.
    pub fn is_done(&self) -> Result<bool> {
        self.context.bind()?;
        // SAFETY: `self.raw` is a live, recorded event.
        match unsafe { bindings::hipEventQuery(self.raw) } {
            bindings::hipError_t_hipErrorNotReady => Ok(false),
            status => check("hipEventQuery", status).map(|()| true),
        }
    }

    /// The device's time from `earlier` to this event; waits for both.
    ///
    /// # Errors
    /// [`Error::Invalid`] for events of two devices; [`Error::Hip`] when the work before them failed.
    pub fn since(&self, earlier: &Event) -> Result<Duration> {
        if !Arc::ptr_eq(&self.context, &earlier.context) {
            return Err(Error::Invalid(
                "the time between events of two devices is not defined".to_owned(),
            ));
        }
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events are live, recorded with timing, on one device, and done.
        check("hipEventElapsedTime", unsafe {
            bindings::hipEventElapsedTime(&raw mut milliseconds, earlier.raw, self.raw)
        })?;
        Ok(Duration::try_from_secs_f32(milliseconds / 1e3).unwrap_or_default())
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?} on device {})", self.raw, self.context.ordinal())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: made by hipEventCreateWithFlags and destroyed only here. A failure leaves nothing to do.
        let _ = unsafe { bindings::hipEventDestroy(self.raw) };
    }
}
