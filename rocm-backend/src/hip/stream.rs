//! A HIP stream, owned: created once, destroyed once, never cloned.
#![expect(unsafe_code, reason = "calls HIP and says why a stream may cross threads")]

use rocm_rs::hip::bindings::{self, hipStream_t};

use super::event::Mark;
use super::status::check;
use crate::Error;

/// A stream of the device that was current when it was made.
#[derive(Debug)]
pub(crate) struct Stream {
    raw: hipStream_t,
}

// SAFETY: a hipStream_t is a handle to an object that HIP locks itself; HIP documents its stream functions as
// thread-safe and ties no stream to the thread that made it. `Stream` gives out no `&mut` to anything behind it.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream on this thread's device that does not wait for the legacy default stream.
    pub(crate) fn new() -> Result<Stream, Error> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a live handle to be written.
        check("hipStreamCreateWithFlags", unsafe {
            bindings::hipStreamCreateWithFlags(&raw mut raw, bindings::hipStreamNonBlocking)
        })?;
        Ok(Stream { raw })
    }

    /// Waits until everything submitted so far is done. Faults of kernels come to light here.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: `self.raw` is a live stream.
        check("hipStreamSynchronize", unsafe {
            bindings::hipStreamSynchronize(self.raw)
        })
    }

    /// Makes work submitted to this stream from now on wait for `mark`, wherever that was recorded.
    pub(super) fn wait(&self, mark: &Mark) -> Result<(), Error> {
        // SAFETY: both handles live; HIP keeps the event until the stream has passed it. Flags must be 0.
        check("hipStreamWaitEvent", unsafe {
            bindings::hipStreamWaitEvent(self.raw, mark.raw(), 0)
        })
    }

    /// The handle, for calls that submit to the stream while `self` is borrowed.
    pub(crate) fn raw(&self) -> hipStream_t {
        self.raw
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made by hipStreamCreateWithFlags and destroyed only here. A failure leaves nothing to do.
        let _ = unsafe { bindings::hipStreamDestroy(self.raw) };
    }
}
