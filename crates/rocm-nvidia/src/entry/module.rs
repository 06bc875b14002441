//! Modules as the driver takes them: code that it loads or compiles, and lists of a kernel's arguments.

use core::ffi::c_void;
use core::ptr;

use rocm_rs::hip::bindings::hipModule_t;

use super::{INVALID_VALUE, done};
use crate::cuda::{self, Cuda, Handle};
use crate::error::{self, Result};

/// Bytes of the log of a PTX compilation.
const LOG_BYTES: usize = 8 << 10;
/// Keys of `hipModuleLaunchKernel`'s `extra` list (HIP_LAUNCH_PARAM_*); the driver's are the same but for the end, 0.
const EXTRA_POINTER: usize = 1;
const EXTRA_SIZE: usize = 2;
const EXTRA_END: usize = 3;

/// The driver's form of an `extra` list: pairs of key and value up to the end key.
///
/// # Safety
/// `extra` is such a list.
pub(super) unsafe fn extra_list(extra: *mut *mut c_void) -> Result<[*mut c_void; 5]> {
    let mut list = [ptr::null_mut(); 5];
    // Each of the two keys at most once, then the end, which is the driver's null.
    for pair in 0..3 {
        // SAFETY: the list goes on until its end key, which was not met yet.
        let key = unsafe { *extra.add(2 * pair) };
        match key.addr() {
            EXTRA_END => return Ok(list),
            EXTRA_POINTER | EXTRA_SIZE if pair < 2 => {
                list[2 * pair] = key;
                // SAFETY: a key other than the end is followed by a value.
                list[2 * pair + 1] = unsafe { *extra.add(2 * pair + 1) };
            }
            _ => return Err(INVALID_VALUE),
        }
    }
    Err(INVALID_VALUE)
}

/// Loads a module. What the driver's compiler says of PTX that it refuses is kept.
///
/// # Safety
/// `image` is PTX that ends with a NUL, or a whole file of device code.
pub(super) unsafe fn load_module(cuda: &Cuda, image: *const c_void) -> Result<hipModule_t> {
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = [cuda::JIT_ERROR_LOG, cuda::JIT_ERROR_LOG_BYTES];
    // A number where the driver's list has a pointer is the pointer's own bits.
    let mut values = [
        log.as_mut_ptr().cast::<c_void>(),
        ptr::without_provenance_mut(LOG_BYTES),
    ];
    let mut module: Handle = ptr::null_mut();
    // SAFETY: the image is the caller's promise; the log has as many bytes as is said, and two options have two values.
    let status = unsafe {
        (cuda.cuModuleLoadDataEx)(
            &raw mut module,
            image,
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let loaded = done(cuda, status);
    if loaded.is_err() {
        let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        if !text.trim().is_empty() {
            let words = error::take_detail().unwrap_or_default();
            error::keep(format!("{words}\n{}", text.trim()));
        }
    }
    loaded.map(|()| module.cast())
}
