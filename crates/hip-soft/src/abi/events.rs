//! Events.

use core::ffi::{c_uint, c_void};
use std::sync::Arc;

use rocm_rs::hip::bindings as hip;

use super::{Out, calls, opaque};
use crate::error::{INVALID_VALUE, Result};
use crate::event::{EVENTS, Event};
use crate::{device, stream};

fn create(place: Out<*mut c_void>, flags: c_uint) -> Result {
    place.check()?;
    device::runtime()?;
    let known = hip::hipEventBlockingSync
        | hip::hipEventDisableTiming
        | hip::hipEventInterprocess
        | hip::hipEventDisableSystemFence
        | hip::hipEventReleaseToDevice
        | hip::hipEventReleaseToSystem;
    // Events of several processes are not offered.
    if flags & !known != 0 || flags & hip::hipEventInterprocess != 0 {
        return Err(INVALID_VALUE);
    }
    place.put(opaque(EVENTS.insert(Event::new(flags))))
}

calls! {
    fn hipEventCreate(place: Out<*mut c_void>) {
        create(place, 0)
    }

    fn hipEventCreateWithFlags(place: Out<*mut c_void>, flags: c_uint) {
        create(place, flags)
    }

    fn hipEventDestroy(event: usize) {
        EVENTS.remove(event).map(drop)
    }

    fn hipEventRecord(event: usize, stream: usize) {
        let event: Arc<Event> = EVENTS.get(event)?;
        stream::get(stream)?.record(&event)
    }

    fn hipEventRecordWithFlags(event: usize, stream: usize, _flags: c_uint) {
        let event: Arc<Event> = EVENTS.get(event)?;
        stream::get(stream)?.record(&event)
    }

    fn hipEventSynchronize(event: usize) {
        EVENTS.get(event)?.wait()
    }

    fn hipEventQuery(event: usize) {
        EVENTS.get(event)?.query()
    }

    fn hipEventElapsedTime(milliseconds: Out<f32>, start: usize, stop: usize) {
        milliseconds.check()?;
        let (start, stop) = (EVENTS.get(start)?, EVENTS.get(stop)?);
        milliseconds.put(Event::elapsed(&start, &stop)?)
    }
}
