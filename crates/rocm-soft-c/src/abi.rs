//! C's side: raw pointers become slices and addresses here, and nowhere else in this crate. What is asked of the caller
//! is documented in `include/rocm_soft.h`; the safety comments rely on it. No panic crosses into C.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers; the header says what is relied on"
)]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gfx_emu::Memory;

use crate::run::{self, Failure, Request, Status};

/// Mapped host buffers: exposed address and length.
static MAPPED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
/// What a mapped address must be a multiple of, for the kernel's atomics.
const MAP_ALIGN: usize = 8;
/// Bytes copied back at a time.
const PIECE: usize = 64 * 1024;

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Runs a call's body, keeps its text for `gfx_last_error` and gives its status.
fn guard(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(body));
    let internal = || Failure::new(Status::Internal, "a bug of this library: it panicked");
    let result = result.unwrap_or_else(|_| Err(internal()));
    let (status, text) = match result {
        Ok(()) => (0, None),
        // Nothing of ours has a NUL in its text; the kernel's name is ours too.
        Err(failure) => (failure.status as c_int, CString::new(failure.text).ok()),
    };
    LAST.set(text);
    status
}

fn argument(text: impl std::fmt::Display) -> Failure {
    Failure::new(Status::Argument, text)
}

fn mapped() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    // One insertion or removal at a time: a panic cannot leave it half done.
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A caller's bytes.
///
/// # Safety
/// `pointer` is null, or valid for reading `len` bytes that do not change while the result is used.
unsafe fn bytes<'a>(what: &str, pointer: *const c_void, len: usize) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || isize::try_from(len).is_err() {
        return Err(argument(format!("{what}: {len} bytes at {pointer:p}")));
    }
    // SAFETY: not null, not longer than any object, and the caller promises the rest.
    Ok(unsafe { core::slice::from_raw_parts(pointer.cast(), len) })
}

/// Three numbers of the caller.
///
/// # Safety
/// `pointer` is null or readable for three numbers.
unsafe fn sizes(what: &str, pointer: *const u32) -> Result<[u32; 3], Failure> {
    // SAFETY: the caller promises it; an array has the alignment of its elements.
    let sizes = unsafe { pointer.cast::<[u32; 3]>().as_ref() };
    sizes.copied().ok_or_else(|| argument(format!("{what} is null")))
}

/// Makes the mapped buffers part of `memory`, with the host's content.
///
/// # Safety
/// Each is readable for its length and not written meanwhile.
unsafe fn copy_in(memory: &mut Memory, buffers: &BTreeMap<usize, usize>) -> Result<(), Failure> {
    for (address, len) in buffers {
        memory
            .map(*address as u64, *len as u64)
            .map_err(|error| Failure::new(Status::Refused, error))?;
        // SAFETY: the caller of `gfx_map` promises that the buffer lives until it is unmapped.
        let host = unsafe { bytes("a mapped buffer", ptr::with_exposed_provenance(*address), *len) }?;
        let copied = memory.write(*address as u64, host);
        copied.map_err(|error| Failure::new(Status::Internal, error))?;
    }
    Ok(())
}

/// Brings what the kernel changed back to the host. Pieces that did not change are not written: a buffer that kernels only
/// read may be read-only.
///
/// # Safety
/// Each is readable for its length, writable where the kernel changed it, and not accessed meanwhile.
unsafe fn copy_out(memory: &Memory, buffers: &BTreeMap<usize, usize>) -> Result<(), Failure> {
    let mut piece = vec![0; PIECE];
    for (address, len) in buffers {
        for from in (0..*len).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(len - from)];
            let read = memory.read((address + from) as u64, piece);
            read.map_err(|error| Failure::new(Status::Internal, error))?;
            let host = ptr::with_exposed_provenance_mut::<u8>(address + from);
            // SAFETY: inside a mapped buffer, as promised. The slice ends before the copy below.
            let same = unsafe { core::slice::from_raw_parts(host, piece.len()) } == piece;
            if !same {
                // SAFETY: as above, and the kernel changed it; the piece is ours.
                unsafe { ptr::copy_nonoverlapping(piece.as_ptr(), host, piece.len()) };
            }
        }
    }
    Ok(())
}

/// See the header.
///
/// # Safety
/// `target` is null or a text; `code` and `kernarg` are readable for their lengths; `grid` and `block` are null or have
/// three numbers; mapped buffers are alive and nobody else accesses them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn gfx_run(
    target: *const c_char,
    code: *const c_void,
    code_len: usize,
    grid: *const u32,
    block: *const u32,
    kernarg: *const c_void,
    kernarg_len: usize,
    rsrc2: u32,
    scratch_bytes_per_lane: u32,
) -> c_int {
    guard(|| {
        if target.is_null() {
            return Err(argument("target is null"));
        }
        // SAFETY: the caller promises that these are what they should be; `target` is not null.
        let (target, code, kernarg, grid, block) = unsafe {
            (
                CStr::from_ptr(target),
                bytes("code", code, code_len)?,
                bytes("kernarg", kernarg, kernarg_len)?,
                sizes("grid", grid)?,
                sizes("block", block)?,
            )
        };
        let target = target.to_str().map_err(|_| argument("target is not text"))?;
        let request = Request {
            target,
            code,
            grid,
            block,
            kernarg,
            rsrc2,
            scratch: scratch_bytes_per_lane,
        };
        // Held to the end: no buffer is unmapped under a kernel.
        let buffers = mapped();
        let mut memory = run::memory(&request);
        // SAFETY: the caller promises that mapped buffers are alive and left alone.
        unsafe { copy_in(&mut memory, &buffers) }?;
        let outcome = run::run(&request, &mut memory);
        // SAFETY: the same.
        unsafe { copy_out(&memory, &buffers) }?;
        outcome
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn gfx_map(pointer: *mut c_void, len: usize) -> c_int {
    guard(|| {
        let mut buffers = mapped();
        let address = pointer.expose_provenance();
        let end = address.checked_add(len).filter(|_| !pointer.is_null() && len > 0);
        let end = end.ok_or_else(|| argument(format!("no {len} bytes can be mapped at {pointer:p}")))?;
        if !address.is_multiple_of(MAP_ALIGN) {
            return Err(argument(format!("{pointer:p} is not a multiple of {MAP_ALIGN}")));
        }
        let below = buffers.range(..end).next_back();
        if let Some((base, size)) = below.filter(|(base, size)| **base + **size > address) {
            let text =
                format!("{len} bytes at {pointer:p} overlap the buffer mapped at {base:#x} of {size} bytes");
            return Err(argument(text));
        }
        buffers.insert(address, len);
        Ok(())
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn gfx_unmap(pointer: *mut c_void) -> c_int {
    guard(|| {
        let removed = mapped().remove(&pointer.addr());
        removed
            .map(|_| ())
            .ok_or_else(|| argument(format!("{pointer:p} is not the start of a mapped buffer")))
    })
}

/// See the header.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn gfx_last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ref().map_or(c"no error".as_ptr(), |text| text.as_ptr()))
}
