//! Streams, what the host does in them, and their capture.

use core::ffi::{c_int, c_uint, c_ulonglong, c_void};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use gfx_emu::Access;
use rocm_rs::hip::bindings as hip;

use super::{HostFunction, In, Out, StreamCallback, address, calls, opaque};
use crate::error::{INVALID_VALUE, NOT_READY, Result};
use crate::event::EVENTS;
use crate::graph::Node;
use crate::memory;
use crate::stream::{self, Stream};
use crate::work::{Callback, Until, Work};

thread_local! {
    /// The mode that `hipThreadExchangeStreamCaptureMode` exchanges.
    static MODE: Cell<c_uint> = const { Cell::new(0) };
}

/// The work of calling a function of the program's.
pub(super) fn call(function: HostFunction, data: usize) -> Result<Work> {
    Ok(Work::Host(callback(function, data)?))
}

/// A function of the program's.
pub(super) fn callback(function: HostFunction, data: usize) -> Result<Callback> {
    let function = function.ok_or(INVALID_VALUE)?;
    Ok(Callback {
        // SAFETY: C's caller gave the function and the data that it is called with.
        call: Arc::new(move || unsafe { function(data) }),
        function: function as usize,
        data,
    })
}

/// What a stream's capture comes after: added to (0), or set (1).
fn update(stream: &Stream, nodes: Vec<Arc<Node>>, flags: c_uint) -> Result {
    match flags {
        0 | 1 => stream.update_capture(nodes, flags == 1),
        _ => Err(INVALID_VALUE),
    }
}

/// A store into memory that kernels see, in a stream.
fn write(stream: usize, place: *mut c_void, value: u64, bytes: u64) -> Result {
    let start = address(place);
    if !start.is_multiple_of(bytes) || memory::is_pageable(start)? {
        return Err(INVALID_VALUE);
    }
    memory::check(start, bytes, Access::Store)?;
    stream::get(stream)?.submit(Work::Write {
        address: start,
        value,
        bytes,
    })
}

/// A wait for a value in memory that kernels see, in a stream.
fn until(stream: usize, until: Until) -> Result {
    if !until.address.is_multiple_of(until.size) || until.condition > 3 || memory::is_pageable(until.address)?
    {
        return Err(INVALID_VALUE);
    }
    memory::check(until.address, until.size, Access::Load)?;
    stream::get(stream)?.submit(Work::Until(until))
}

fn create(place: Out<*mut c_void>, flags: c_uint, priority: c_int) -> Result {
    place.check()?;
    place.put(opaque(stream::create(flags, priority)?))
}

/// Whether a stream is captured, and by which capture.
fn status(stream: &Stream) -> (c_uint, Option<stream::Captured>) {
    let captured = stream.captured();
    let status = match captured {
        Some(ref captured) if captured.is_invalid.load(SeqCst) => {
            hip::hipStreamCaptureStatus_hipStreamCaptureStatusInvalidated
        }
        Some(_) => hip::hipStreamCaptureStatus_hipStreamCaptureStatusActive,
        None => hip::hipStreamCaptureStatus_hipStreamCaptureStatusNone,
    };
    (status, captured)
}

calls! {
    fn hipStreamCreate(place: Out<*mut c_void>) {
        create(place, 0, 0)
    }

    fn hipStreamCreateWithFlags(place: Out<*mut c_void>, flags: c_uint) {
        create(place, flags, 0)
    }

    fn hipStreamCreateWithPriority(place: Out<*mut c_void>, flags: c_uint, priority: c_int) {
        create(place, flags, priority)
    }

    fn hipExtStreamCreateWithCUMask(place: Out<*mut c_void>, _words: c_uint, _mask: *const c_uint) {
        // All units are the host's cores.
        create(place, 0, 0)
    }

    fn hipStreamDestroy(stream: usize) {
        stream::destroy(stream)
    }

    fn hipStreamSynchronize(stream: usize) {
        stream::get(stream)?.wait()
    }

    fn hipStreamQuery(stream: usize) {
        match stream::get(stream)?.is_done()? {
            true => Ok(()),
            false => Err(NOT_READY),
        }
    }

    fn hipStreamGetFlags(stream: usize, flags: Out<c_uint>) {
        if stream == 0 {
            return Err(INVALID_VALUE);
        }
        flags.put(stream::get(stream)?.flags)
    }

    fn hipStreamGetPriority(stream: usize, priority: Out<c_int>) {
        priority.put(stream::get(stream)?.priority)
    }

    fn hipStreamGetDevice(stream: usize, number: Out<c_int>) {
        number.put(stream::get(stream)?.card as c_int)
    }

    fn hipStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) {
        let event = EVENTS.get(event)?;
        stream::get(stream)?.wait_for(&event)
    }

    fn hipLaunchHostFunc(stream: usize, function: HostFunction, data: usize) {
        stream::get(stream)?.submit(call(function, data)?)
    }

    fn hipStreamAddCallback(stream: usize, function: StreamCallback, data: usize, flags: c_uint) {
        let function = function.ok_or(INVALID_VALUE)?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        stream::get(stream)?.submit(Work::Host(Callback {
            // SAFETY: C's caller gave the function and the data that it is called with.
            call: Arc::new(move || unsafe { function(stream, 0, data) }),
            function: function as usize,
            data,
        }))
    }

    fn hipStreamWriteValue32(stream: usize, place: *mut c_void, value: u32, _flags: c_uint) {
        write(stream, place, u64::from(value), 4)
    }

    fn hipStreamWriteValue64(stream: usize, place: *mut c_void, value: u64, _flags: c_uint) {
        write(stream, place, value, 8)
    }

    fn hipStreamWaitValue32(stream: usize, place: *mut c_void, value: u32, flags: c_uint, mask: u32) {
        until(stream, Until { address: address(place), value: u64::from(value), mask: u64::from(mask), condition: flags, size: 4 })
    }

    fn hipStreamWaitValue64(stream: usize, place: *mut c_void, value: u64, flags: c_uint, mask: u64) {
        until(stream, Until { address: address(place), value, mask, condition: flags, size: 8 })
    }

    fn hipStreamBeginCapture(stream: usize, mode: c_uint) {
        if mode > hip::hipStreamCaptureMode_hipStreamCaptureModeRelaxed {
            return Err(INVALID_VALUE);
        }
        stream::get(stream)?.begin_capture()
    }

    fn hipStreamEndCapture(stream: usize, graph: Out<*mut c_void>) {
        graph.check()?;
        graph.put(opaque(stream::get(stream)?.end_capture()?))
    }

    fn hipStreamUpdateCaptureDependencies(stream: usize, nodes: In<usize>, count: usize, flags: c_uint) {
        update(&*stream::get(stream)?, super::graphs::nodes(nodes, count)?, flags)
    }

    fn hipThreadExchangeStreamCaptureMode(mode: Out<c_uint>) {
        let asked = mode.read()?;
        if asked > hip::hipStreamCaptureMode_hipStreamCaptureModeRelaxed {
            return Err(INVALID_VALUE);
        }
        mode.put(MODE.replace(asked))
    }

    fn hipStreamIsCapturing(stream: usize, capturing: Out<c_uint>) {
        capturing.check()?;
        capturing.put(status(&*stream::get(stream)?).0)
    }

    fn hipStreamGetCaptureInfo(stream: usize, capturing: Out<c_uint>, id: Out<c_ulonglong>) {
        let (status, captured) = status(&*stream::get(stream)?);
        capturing.put(status)?;
        if let Some(captured) = captured {
            id.put_if(captured.id);
        }
        Ok(())
    }

    fn hipStreamGetCaptureInfo_v2(
        stream: usize, capturing: Out<c_uint>, id: Out<c_ulonglong>, graph: Out<*mut c_void>, after: Out<*const usize>,
        count: Out<usize>,
    ) {
        let (status, captured) = status(&*stream::get(stream)?);
        capturing.put(status)?;
        let Some(captured) = captured else { return Ok(()) };
        id.put_if(captured.id);
        let last: Vec<usize> = captured.last.iter().map(|node| node.handle()).collect();
        count.put_if(last.len());
        if !graph.is_null() {
            graph.put(opaque(captured.handle))?;
        }
        if !after.is_null() {
            // HIP's list is the runtime's own and stays until the next call; it is a few words each time.
            after.put(Box::leak(last.into_boxed_slice()).as_ptr())?;
        }
        Ok(())
    }
}
