//! From HIP's status codes to [`Error`].
#![expect(unsafe_code, reason = "asks HIP for the name and text of a status")]

use std::ffi::{CStr, c_char};

use rocm_rs::hip::bindings::{self, hipError_t};

use super::load;
use crate::Error;

/// Statuses of a device that answers nothing any more: after one of them HIP fails every later call of the process.
const LOST: [hipError_t; 6] = [
    bindings::hipError_t_hipErrorECCNotCorrectable,
    bindings::hipError_t_hipErrorIllegalAddress,
    bindings::hipError_t_hipErrorLaunchTimeOut,
    bindings::hipError_t_hipErrorContextIsDestroyed,
    bindings::hipError_t_hipErrorAssert,
    bindings::hipError_t_hipErrorLaunchFailure,
];

/// `Ok` for `hipSuccess`; else the error of the C function `call`. When the software GPU faulted, the error is its
/// account of the fault.
pub(crate) fn check(call: &'static str, code: hipError_t) -> Result<(), Error> {
    if code == bindings::hipError_t_hipSuccess {
        return Ok(());
    }
    Err(match load::take_fault() {
        Some(fault) => Error::DeviceFault(fault),
        None if LOST.contains(&code) => Error::DeviceLost {
            call,
            code,
            text: words(code).1,
        },
        None => error(call, code),
    })
}

/// The same for a function of one of AMD's libraries, in which 0 is success too; `name` is the library's name of the status.
pub(super) fn check_library(
    library: &str,
    call: &'static str,
    code: u32,
    name: impl FnOnce() -> String,
) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    Err(match load::take_fault() {
        Some(fault) => Error::DeviceFault(fault),
        None => Error::Hip {
            call,
            code,
            name: name(),
            text: match load::take_detail() {
                Some(detail) => format!("{library} refused the call; NVIDIA's library: {detail}"),
                None => format!("{library} refused the call"),
            },
        },
    })
}

/// HIP's own words for `code`, as the error of `call`.
pub(crate) fn error(call: &'static str, code: hipError_t) -> Error {
    let (name, text) = words(code);
    Error::Hip {
        call,
        code,
        name,
        text,
    }
}

/// HIP's name of a status and its sentence about it, with NVIDIA's own words where its driver failed.
fn words(code: hipError_t) -> (String, String) {
    let detail = load::take_detail();
    // SAFETY: both functions take a number, any number, and return a static C string.
    let (name, text) = unsafe { (bindings::hipGetErrorName(code), bindings::hipGetErrorString(code)) };
    let text = static_text(text);
    let text = match detail {
        Some(detail) => format!("{text}; NVIDIA's driver: {detail}"),
        None => text,
    };
    (static_text(name), text)
}

/// The static C string that HIP or one of AMD's libraries gave.
pub(super) fn static_text(text: *const c_char) -> String {
    if text.is_null() {
        return "no text".to_owned();
    }
    // SAFETY: not null, and AMD documents these strings as static and terminated.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
