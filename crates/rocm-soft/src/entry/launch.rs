//! What a launch and a module are handed by pointers: arguments, and code objects. See entry.rs for what is relied on.

use core::ffi::c_void;
use core::ptr;

use code_object::extent::{self, Extent};

use super::{INVALID_VALUE, bytes};
use crate::device::device;
use crate::error::{self, Result};

/// Keys of `hipModuleLaunchKernel`'s `extra` list (HIP_LAUNCH_PARAM_*).
const EXTRA_POINTER: usize = 1;
const EXTRA_SIZE: usize = 2;
const EXTRA_END: usize = 3;

/// The kernarg bytes of `hipModuleLaunchKernel`.
///
/// # Safety
/// `parameters` is null or has a pointer to each of the kernel's arguments; `extra` is null or a list as HIP
/// asks for.
pub(super) unsafe fn kernarg(
    function: usize,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>> {
    if !extra.is_null() && !parameters.is_null() {
        return Err(INVALID_VALUE);
    }
    if !extra.is_null() {
        // SAFETY: the caller promises the list.
        return unsafe { extra_kernarg(extra) };
    }
    let arguments = device()?.arguments(function)?;
    if parameters.is_null() && !arguments.is_empty() {
        return Err(INVALID_VALUE);
    }
    let end = arguments
        .iter()
        .map(|(offset, size)| offset + size)
        .max()
        .unwrap_or(0);
    let mut kernarg = vec![0; end];
    for (index, (offset, size)) in arguments.into_iter().enumerate() {
        // SAFETY: the caller promises one pointer an argument, each to the argument's size of bytes.
        let argument = unsafe { bytes(*parameters.add(index), size) }?;
        kernarg[offset..offset + size].copy_from_slice(argument);
    }
    Ok(kernarg)
}

/// The kernarg bytes that an `extra` list names: pairs of key and value up to the end key.
///
/// # Safety
/// `extra` is such a list, its buffer is readable for the size it names.
unsafe fn extra_kernarg(extra: *mut *mut c_void) -> Result<Vec<u8>> {
    let (mut pointer, mut size) = (ptr::null(), None);
    // Each of the two keys at most once, then the end.
    for pair in 0..3 {
        // SAFETY: the list goes on until its end key, which was not met yet.
        let key = unsafe { *extra.add(2 * pair) }.addr();
        if key == EXTRA_END {
            break;
        }
        // SAFETY: a key other than the end is followed by a value.
        let value: *const c_void = unsafe { *extra.add(2 * pair + 1) };
        match key {
            EXTRA_POINTER => pointer = value,
            // SAFETY: this key's value points to the size, and the caller promises that it is readable.
            EXTRA_SIZE => size = unsafe { value.cast::<usize>().as_ref() }.copied(),
            _ => return Err(INVALID_VALUE),
        }
    }
    // SAFETY: the caller promises the buffer.
    Ok(unsafe { bytes(pointer, size.ok_or(INVALID_VALUE)?) }?.to_vec())
}

/// The code object that a pointer points to: HIP passes no length, the file's headers say it.
///
/// # Safety
/// `pointer` is null or points to a whole code object or bundle, or to 64 readable bytes that do not look like one.
pub(super) unsafe fn code_object<'a>(pointer: *const c_void) -> Result<&'a [u8]> {
    let mut len = extent::LEAST;
    loop {
        // SAFETY: the caller promises 64 bytes, and more of what says that it has them.
        let start = unsafe { bytes(pointer, len) }?;
        match extent::of(start) {
            Ok(Extent::Whole) => return Ok(start),
            Ok(Extent::AtLeast(more)) => len = more,
            Ok(Extent::Unsaid) => {
                let why = "the header of a compressed bundle of version 1 has no length";
                return Err(error::image(why.to_owned()));
            }
            Err(why) => return Err(error::image(why.to_string())),
        }
    }
}
