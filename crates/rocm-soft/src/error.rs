//! HIP's error codes: their names and texts, the last error of a thread, and which code a refusal gets.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;

use gfx_emu::{LaunchError, LoadError};
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

/// The result of an entry point before it becomes a code.
pub(crate) type Result<T = ()> = core::result::Result<T, hipError_t>;

thread_local! {
    static LAST: Cell<hipError_t> = const { Cell::new(hip::hipError_t_hipSuccess) };
    static DETAIL: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Remembers a call's error for `hipGetLastError` and gives its code. A success leaves the last error as it
/// is.
pub(crate) fn record(result: Result) -> hipError_t {
    match result {
        Ok(()) => hip::hipError_t_hipSuccess,
        Err(code) => {
            LAST.set(code);
            code
        }
    }
}

/// The last error of this thread.
pub(crate) fn peek_last() -> hipError_t {
    LAST.get()
}

/// The last error of this thread; the next call gives success.
pub(crate) fn take_last() -> hipError_t {
    LAST.replace(hip::hipError_t_hipSuccess)
}

/// The text of this thread's last launch or load error.
pub(crate) fn take_detail() -> Option<String> {
    DETAIL.take()
}

/// Keeps the text and gives the code of a refused or faulted launch.
pub(crate) fn launch(error: &LaunchError) -> hipError_t {
    DETAIL.set(Some(error.to_string()));
    match error {
        LaunchError::UnsupportedTarget { .. } => hip::hipError_t_hipErrorNoBinaryForGpu,
        LaunchError::Unsupported { .. } => hip::hipError_t_hipErrorNotSupported,
        LaunchError::BlockSize { block: sizes, .. } | LaunchError::GridSize { grid: sizes, .. } => {
            if sizes.contains(&0) {
                hip::hipError_t_hipErrorInvalidValue
            } else {
                hip::hipError_t_hipErrorInvalidConfiguration
            }
        }
        LaunchError::Lds { .. } | LaunchError::KernargSize { .. } | LaunchError::Packet { .. } => {
            hip::hipError_t_hipErrorInvalidValue
        }
        LaunchError::Decode { .. } => hip::hipError_t_hipErrorInvalidKernelFile,
        LaunchError::Busy { .. } => hip::hipError_t_hipErrorLaunchOutOfResources,
        LaunchError::Fault(_) => hip::hipError_t_hipErrorLaunchFailure,
    }
}

/// Keeps the text and gives the code of a refused code object.
pub(crate) fn load(error: &LoadError) -> hipError_t {
    image(error.to_string())
}

/// Keeps `text` and gives the code of an image that this device's loader does not take as a code object.
pub(crate) fn image(text: String) -> hipError_t {
    DETAIL.set(Some(text));
    hip::hipError_t_hipErrorInvalidImage
}

/// Keeps `text` and gives the code of a file that cannot be written.
pub(crate) fn unwritten(text: String) -> hipError_t {
    DETAIL.set(Some(text));
    hip::hipError_t_hipErrorOperatingSystem
}

/// Keeps `text` for a caller that asks for the cause of this thread's last error.
pub(crate) fn keep(text: String) {
    DETAIL.set(Some(text));
}

/// Keeps `text` and gives the code of a code object for another processor.
pub(crate) fn other_target(text: String) -> hipError_t {
    DETAIL.set(Some(text));
    hip::hipError_t_hipErrorNoBinaryForGpu
}

/// HIP's name of a code, as `hipGetErrorName` gives it.
pub(crate) fn name(code: hipError_t) -> &'static CStr {
    row(code).map_or(c"hipErrorUnknown", |row| row.1)
}

/// A sentence for a code, as `hipGetErrorString` gives it.
pub(crate) fn text(code: hipError_t) -> &'static CStr {
    row(code).map_or(c"unknown error", |row| row.2)
}

fn row(code: hipError_t) -> Option<&'static (hipError_t, &'static CStr, &'static CStr)> {
    CODES.iter().find(|row| row.0 == code)
}

/// The name without bindgen's prefix, from a text that ends in a NUL.
const fn name_of(constant: &'static str) -> &'static CStr {
    let (_, name) = constant.as_bytes().split_at("hipError_t_".len());
    match CStr::from_bytes_with_nul(name) {
        Ok(name) => name,
        Err(_) => panic!("the macro ends each name with one NUL"),
    }
}

macro_rules! codes {
    ($($constant:ident $text:literal;)*) => {
        /// Code, name, text.
        const CODES: &[(hipError_t, &CStr, &CStr)] =
            &[$((hip::$constant, name_of(concat!(stringify!($constant), "\0")), $text)),*];
    };
}

codes! {
    hipError_t_hipSuccess c"no error";
    hipError_t_hipErrorInvalidValue c"invalid argument";
    hipError_t_hipErrorOutOfMemory c"out of memory";
    hipError_t_hipErrorNotInitialized c"initialization error";
    hipError_t_hipErrorDeinitialized c"driver shutting down";
    hipError_t_hipErrorInvalidConfiguration c"invalid configuration argument";
    hipError_t_hipErrorInvalidPitchValue c"invalid pitch argument";
    hipError_t_hipErrorInvalidSymbol c"invalid device symbol";
    hipError_t_hipErrorInvalidDevicePointer c"invalid device pointer";
    hipError_t_hipErrorInvalidMemcpyDirection c"invalid copy direction for memcpy";
    hipError_t_hipErrorInsufficientDriver c"driver version is insufficient for runtime version";
    hipError_t_hipErrorMissingConfiguration c"missing configuration for the launch";
    hipError_t_hipErrorPriorLaunchFailure c"unspecified launch failure in prior launch";
    hipError_t_hipErrorInvalidDeviceFunction c"invalid device function";
    hipError_t_hipErrorNoDevice c"no ROCm-capable device is detected";
    hipError_t_hipErrorInvalidDevice c"invalid device ordinal";
    hipError_t_hipErrorInvalidImage c"device kernel image is invalid";
    hipError_t_hipErrorInvalidContext c"invalid device context";
    hipError_t_hipErrorMapFailed c"mapping of buffer object failed";
    hipError_t_hipErrorUnmapFailed c"unmapping of buffer object failed";
    hipError_t_hipErrorNoBinaryForGpu c"no kernel image is available for execution on the device";
    hipError_t_hipErrorECCNotCorrectable c"uncorrectable ECC error encountered";
    hipError_t_hipErrorUnsupportedLimit c"limit is not supported on this architecture";
    hipError_t_hipErrorPeerAccessUnsupported c"peer access is not supported between these two devices";
    hipError_t_hipErrorInvalidKernelFile c"invalid kernel file";
    hipError_t_hipErrorInvalidSource c"device kernel image is invalid";
    hipError_t_hipErrorFileNotFound c"file not found";
    hipError_t_hipErrorSharedObjectSymbolNotFound c"shared object symbol not found";
    hipError_t_hipErrorSharedObjectInitFailed c"shared object initialization failed";
    hipError_t_hipErrorOperatingSystem c"OS call failed or operation not supported on this OS";
    hipError_t_hipErrorInvalidHandle c"invalid resource handle";
    hipError_t_hipErrorIllegalState c"the operation cannot be performed in the present state";
    hipError_t_hipErrorNotFound c"named symbol not found";
    hipError_t_hipErrorNotReady c"device not ready";
    hipError_t_hipErrorIllegalAddress c"an illegal memory access was encountered";
    hipError_t_hipErrorLaunchOutOfResources c"too many resources requested for launch";
    hipError_t_hipErrorLaunchTimeOut c"the launch timed out and was terminated";
    hipError_t_hipErrorPeerAccessAlreadyEnabled c"peer access is already enabled";
    hipError_t_hipErrorPeerAccessNotEnabled c"peer access has not been enabled";
    hipError_t_hipErrorContextIsDestroyed c"context is destroyed";
    hipError_t_hipErrorAssert c"device-side assert triggered";
    hipError_t_hipErrorHostMemoryAlreadyRegistered c"part or all of the requested memory range is already mapped";
    hipError_t_hipErrorHostMemoryNotRegistered c"pointer does not correspond to a registered memory region";
    hipError_t_hipErrorLaunchFailure c"unspecified launch failure";
    hipError_t_hipErrorCooperativeLaunchTooLarge c"too many blocks in cooperative launch";
    hipError_t_hipErrorNotSupported c"operation not supported";
    hipError_t_hipErrorUnknown c"unknown error";
    hipError_t_hipErrorRuntimeMemory c"runtime memory call returned error";
    hipError_t_hipErrorRuntimeOther c"runtime call other than memory returned error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_constant_without_its_prefix() {
        assert_eq!(name(hip::hipError_t_hipSuccess), c"hipSuccess");
        assert_eq!(
            name(hip::hipError_t_hipErrorNoBinaryForGpu),
            c"hipErrorNoBinaryForGpu"
        );
        assert_eq!(
            (name(77_777), text(77_777)),
            (c"hipErrorUnknown", c"unknown error")
        );
    }

    #[test]
    fn the_last_error_outlives_a_success_and_is_taken_once() {
        record(Err(hip::hipError_t_hipErrorInvalidValue));
        record(Ok(()));
        assert_eq!(peek_last(), hip::hipError_t_hipErrorInvalidValue);
        assert_eq!(take_last(), hip::hipError_t_hipErrorInvalidValue);
        assert_eq!(take_last(), hip::hipError_t_hipSuccess);
    }
}
