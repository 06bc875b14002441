//! Copies and fills between the host's memory and the device's. See entry.rs for what is relied on.

use core::ffi::c_void;
use core::ptr;

use rocm_rs::hip::bindings::{self as hip, hipMemcpyKind, hipStream_t};

use super::{INVALID_VALUE, address, bytes};
use crate::device::device;
use crate::error::Result;
use crate::graph::Work;

/// Device memory to host memory. The host range may be uninitialised, so it is never made a slice.
///
/// # Safety
/// `target` is null or valid for writing `len` bytes.
pub(super) unsafe fn read_out(target: *mut c_void, source: u64, len: usize) -> Result {
    let device = device()?;
    if target.is_null() || !device.covers(source, len) {
        return Err(INVALID_VALUE);
    }
    let mut buffer = vec![0; len.min(1 << 20)];
    let mut done = 0;
    while done < len {
        let part = buffer.len().min(len - done);
        device.read(source + done as u64, &mut buffer[..part])?;
        // SAFETY: `done + part <= len`, which the caller promises is writable; the buffer is ours.
        unsafe { ptr::copy_nonoverlapping(buffer.as_ptr(), target.cast::<u8>().add(done), part) };
        done += part;
    }
    Ok(())
}

/// `hipMemcpy`.
///
/// # Safety
/// Each side that `kind` says is on the host is null or valid for `len` bytes; with `hipMemcpyDefault`, each
/// side that is not device memory.
pub(super) unsafe fn copy(
    target: *mut c_void,
    source: *const c_void,
    len: usize,
    kind: hipMemcpyKind,
) -> Result {
    let device = device()?;
    if len == 0 {
        return Ok(());
    }
    let (to_device, from_device) = match kind {
        hip::hipMemcpyKind_hipMemcpyHostToHost => (false, false),
        hip::hipMemcpyKind_hipMemcpyHostToDevice => (true, false),
        hip::hipMemcpyKind_hipMemcpyDeviceToHost => (false, true),
        hip::hipMemcpyKind_hipMemcpyDeviceToDevice | hip::hipMemcpyKind_hipMemcpyDeviceToDeviceNoCU => {
            (true, true)
        }
        hip::hipMemcpyKind_hipMemcpyDefault => (
            device.covers(address(target), 1),
            device.covers(address(source), 1),
        ),
        _ => return Err(hip::hipError_t_hipErrorInvalidMemcpyDirection),
    };
    match (to_device, from_device) {
        (true, true) => device.copy(address(target), address(source), len),
        // SAFETY: the caller promises that the host side is readable.
        (true, false) => device.write(address(target), unsafe { bytes(source, len) }?),
        // SAFETY: the caller promises that the host side is writable.
        (false, true) => unsafe { read_out(target, address(source), len) },
        (false, false) if target.is_null() || source.is_null() => Err(INVALID_VALUE),
        (false, false) => {
            // SAFETY: neither is null, and the caller promises `len` bytes on both sides; they may overlap.
            unsafe { ptr::copy(source.cast::<u8>(), target.cast::<u8>(), len) };
            Ok(())
        }
    }
}

/// `hipMemcpyAsync`: a copy that is made, or recorded by a stream that records.
///
/// # Safety
/// As [`copy`]; for a stream that records, also whenever its graph is launched.
pub(super) unsafe fn submit_copy(
    target: *mut c_void,
    source: *const c_void,
    len: usize,
    kind: hipMemcpyKind,
    stream: hipStream_t,
) -> Result {
    let work = || Work::Copy {
        target: target.expose_provenance(),
        source: source.expose_provenance(),
        len,
        kind,
    };
    if device()?.record(stream.addr(), work)? {
        return Ok(());
    }
    // SAFETY: the caller promises it.
    unsafe { copy(target, source, len, kind) }
}

/// A fill that is made, or recorded by a stream that records.
pub(super) fn submit_fill(target: *mut c_void, pattern: &[u8], count: usize, stream: hipStream_t) -> Result {
    let work = || Work::Fill {
        target: address(target),
        pattern: pattern.to_vec(),
        count,
    };
    if device()?.record(stream.addr(), work)? {
        return Ok(());
    }
    device()?.fill(address(target), pattern, count)
}
