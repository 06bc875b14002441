//! Copies between devices, or between two handles of one, in the order of both streams.
#![expect(unsafe_code, reason = "calls HIP with the addresses of two devices")]

use std::ffi::c_void;
use std::sync::Arc;

use rocm_rs::hip::bindings;

use super::context::Context;
use super::event::Mark;
use super::memory::DeviceMemory;
use super::status::check;
use crate::trace::Level;
use crate::{Error, Result};

const PEER: &str = "hipMemcpyPeerAsync";
const COPY: &str = "hipMemcpyAsync";

/// Copies all of `source` to the start of `target`, after the work that either's stream has got so far. What the
/// source's stream gets from now on runs after the copy, so that the source may be given back at once.
///
/// Access between the devices is not enabled: kernels never read another device's memory, and HIP copies without it, through
/// the host where it must.
pub(crate) fn copy(source: &DeviceMemory, target: &mut DeviceMemory) -> Result<()> {
    let (from, to) = (Arc::clone(source.context()), Arc::clone(target.context()));
    if Arc::ptr_eq(&from, &to) {
        return target.copy_from(0, source, 0, source.len());
    }
    if source.len() > target.len() {
        return Err(Error::Length {
            what: "bytes of a copy to another device, at most".to_owned(),
            expected: target.len(),
            found: source.len(),
        });
    }
    if source.len() == 0 {
        return Ok(());
    }
    order(&from, &to)?;
    to.bind()?;
    let (there, here): (*mut c_void, *const c_void) = (target.block().pointer(0), source.block().pointer(0));
    let (len, stream) = (source.len(), to.stream().raw());
    let call = if from.ordinal() == to.ordinal() {
        COPY
    } else {
        PEER
    };
    // SAFETY: both blocks live and hold `len` bytes, and are two; the copy runs after what was submitted to either
    // stream, and, by the order that is made next, before the source's block can serve anything else.
    let status = unsafe {
        match call {
            COPY => {
                let kind = bindings::hipMemcpyKind_hipMemcpyDeviceToDevice;
                bindings::hipMemcpyAsync(there, here, len, kind, stream)
            }
            _ => bindings::hipMemcpyPeerAsync(there, to.raw_ordinal(), here, from.raw_ordinal(), len, stream),
        }
    };
    check(call, status)?;
    // Where the order cannot be made, the copy must be over before the source is let go.
    if let Err(error) = order(&to, &from) {
        to.bind()?;
        to.stream().synchronize()?;
        return Err(error);
    }
    to.ledger()
        .trace(&Arc::from(call), None, Level::of_kernels(to.info().driver()));
    Ok(())
}

/// Has what `second`'s stream gets from now on wait for all that `first`'s has got.
pub(crate) fn order(first: &Context, second: &Context) -> Result<()> {
    second.refuse_in_capture("work of another stream")?;
    // Who waits for the second stream alone would not hear of them.
    first.look_at_reports()?;
    // An event belongs to the device that is current when it is made, and is recorded there.
    first.bind()?;
    let mark = Mark::new()?;
    mark.record(first.stream())?;
    second.bind()?;
    second.stream().wait(&mark)
}
