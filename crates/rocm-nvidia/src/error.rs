//! Error codes: which of HIP's a code of NVIDIA's driver becomes, HIP's names and texts, and the last error of a thread.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

use crate::cuda::Status;

/// The result of an entry point before it becomes a code.
pub(crate) type Result<T = ()> = core::result::Result<T, hipError_t>;

thread_local! {
    static LAST: Cell<hipError_t> = const { Cell::new(hip::hipError_t_hipSuccess) };
    static DETAIL: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Remembers a call's error for `hipGetLastError` and gives its code. A success leaves the last error as it is.
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

/// Forgets what an earlier call left, lest it be taken for this one's.
pub(crate) fn begin() {
    DETAIL.set(None);
}

/// Keeps the driver's own words about this call.
pub(crate) fn keep(text: String) {
    DETAIL.set(Some(text));
}

/// The driver's own words about this thread's last call, when it failed.
pub(crate) fn take_detail() -> Option<String> {
    DETAIL.take()
}

/// HIP's name of a code, as `hipGetErrorName` gives it.
pub(crate) fn name(code: hipError_t) -> &'static CStr {
    row(code).map_or(c"hipErrorUnknown", |row| row.1)
}

/// A sentence for a code, as `hipGetErrorString` gives it.
pub(crate) fn text(code: hipError_t) -> &'static CStr {
    row(code).map_or(c"unknown error", |row| row.2)
}

/// HIP's code for an error of NVIDIA's driver. One that nobody thought of is `hipErrorUnknown`, never success.
///
/// Most have the same number in both. Those that end the context and have no counterpart are `hipErrorLaunchFailure`, after
/// which a device counts as lost.
pub(crate) fn of_cuda(status: Status) -> hipError_t {
    let same = CODES.iter().find(|row| row.0 == status && row.3 == Origin::Both);
    match (status, same) {
        (_, Some(row)) => row.0,
        // The driver cannot be reached, or is older than what is asked of it.
        (34 | 36 | 803 | 804, _) => hip::hipError_t_hipErrorInsufficientDriver,
        (46 | 102 | 802, _) => hip::hipError_t_hipErrorNoDevice,
        // No compiler for PTX, PTX of a later release, no compilation allowed.
        (221..=223, _) => hip::hipError_t_hipErrorNoBinaryForGpu,
        // NVLink, a contained memory error, the stack, an instruction, an address, the program counter: each ends the context.
        (220 | 226 | 714..=718, _) => hip::hipError_t_hipErrorLaunchFailure,
        (800, _) => hip::hipError_t_hipErrorNotSupported,
        _ => hip::hipError_t_hipErrorUnknown,
    }
}

/// Whether NVIDIA's driver has the code, with this meaning, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Both,
    Hip,
}

type Row = (hipError_t, &'static CStr, &'static CStr, Origin);

fn row(code: hipError_t) -> Option<&'static Row> {
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
    ($($origin:ident $constant:ident $text:literal;)*) => {
        const CODES: &[Row] =
            &[$((hip::$constant, name_of(concat!(stringify!($constant), "\0")), $text, Origin::$origin)),*];
    };
}

codes! {
    Both hipError_t_hipSuccess c"no error";
    Both hipError_t_hipErrorInvalidValue c"invalid argument";
    Both hipError_t_hipErrorOutOfMemory c"out of memory";
    Both hipError_t_hipErrorNotInitialized c"NVIDIA's driver is not loaded or not initialized";
    Both hipError_t_hipErrorDeinitialized c"the driver is shutting down";
    Both hipError_t_hipErrorProfilerDisabled c"the profiler is not there";
    Hip hipError_t_hipErrorInvalidConfiguration c"invalid grid or block";
    Hip hipError_t_hipErrorInvalidPitchValue c"invalid pitch";
    Hip hipError_t_hipErrorInvalidMemcpyDirection c"invalid direction of a copy";
    Hip hipError_t_hipErrorInsufficientDriver c"NVIDIA's driver is too old, or is not the installed one";
    Both hipError_t_hipErrorNoDevice c"no usable NVIDIA GPU";
    Both hipError_t_hipErrorInvalidDevice c"no device of this number";
    Both hipError_t_hipErrorInvalidImage c"the image is no module for this device";
    Both hipError_t_hipErrorInvalidContext c"invalid device context";
    Both hipError_t_hipErrorContextAlreadyCurrent c"the context is current already";
    Both hipError_t_hipErrorMapFailed c"memory cannot be mapped";
    Both hipError_t_hipErrorUnmapFailed c"memory cannot be unmapped";
    Both hipError_t_hipErrorNoBinaryForGpu c"no code for this device, and none can be compiled";
    Both hipError_t_hipErrorECCNotCorrectable c"a memory error that cannot be corrected";
    Both hipError_t_hipErrorUnsupportedLimit c"the device has no such limit";
    Both hipError_t_hipErrorContextAlreadyInUse c"the context is in use by another thread";
    Both hipError_t_hipErrorPeerAccessUnsupported c"one device cannot reach the other's memory";
    Both hipError_t_hipErrorInvalidKernelFile c"the PTX does not compile";
    Both hipError_t_hipErrorInvalidSource c"invalid kernel source";
    Both hipError_t_hipErrorFileNotFound c"file not found";
    Both hipError_t_hipErrorSharedObjectSymbolNotFound c"a shared object lacks a symbol";
    Both hipError_t_hipErrorSharedObjectInitFailed c"a shared object cannot be initialized";
    Both hipError_t_hipErrorOperatingSystem c"a call of the operating system failed";
    Both hipError_t_hipErrorInvalidHandle c"invalid handle";
    Both hipError_t_hipErrorIllegalState c"not possible in the present state";
    Both hipError_t_hipErrorNotFound c"no such name";
    Both hipError_t_hipErrorNotReady c"not ready";
    Both hipError_t_hipErrorIllegalAddress c"a kernel accessed an address where there is no memory";
    Both hipError_t_hipErrorLaunchOutOfResources c"the launch needs more registers or threads than there are";
    Both hipError_t_hipErrorLaunchTimeOut c"a kernel ran too long";
    Both hipError_t_hipErrorPeerAccessAlreadyEnabled c"access to the other device is enabled already";
    Both hipError_t_hipErrorPeerAccessNotEnabled c"access to the other device is not enabled";
    Both hipError_t_hipErrorSetOnActiveProcess c"not possible once the device is in use";
    Both hipError_t_hipErrorContextIsDestroyed c"the context is destroyed";
    Both hipError_t_hipErrorAssert c"an assertion in a kernel failed";
    Both hipError_t_hipErrorHostMemoryAlreadyRegistered c"the host memory is pinned already";
    Both hipError_t_hipErrorHostMemoryNotRegistered c"the host memory is not pinned";
    Both hipError_t_hipErrorLaunchFailure c"a kernel failed";
    Both hipError_t_hipErrorCooperativeLaunchTooLarge c"a cooperative launch has too many blocks";
    Both hipError_t_hipErrorNotSupported c"not supported";
    Both hipError_t_hipErrorStreamCaptureUnsupported c"not possible while a stream is captured";
    Both hipError_t_hipErrorStreamCaptureInvalidated c"an earlier error ended the capture of the stream";
    Hip hipError_t_hipErrorUnknown c"unknown error";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_interfaces_keep_their_number_and_mean_the_same() {
        // Numbers of "CUDA Driver API", enum CUresult.
        for (cuda, name) in [
            (0, c"hipSuccess"),
            (2, c"hipErrorOutOfMemory"),
            (100, c"hipErrorNoDevice"),
            (218, c"hipErrorInvalidKernelFile"),
            (400, c"hipErrorInvalidHandle"),
            (500, c"hipErrorNotFound"),
            (600, c"hipErrorNotReady"),
            (700, c"hipErrorIllegalAddress"),
            (701, c"hipErrorLaunchOutOfResources"),
            (719, c"hipErrorLaunchFailure"),
        ] {
            let code = of_cuda(cuda);
            assert_eq!((code, self::name(code)), (cuda, name));
        }
    }

    #[test]
    fn errors_that_end_a_context_count_as_a_failed_launch() {
        // A stack error, an illegal instruction, a misaligned address, an address space, a program counter.
        for cuda in 714..=718 {
            assert_eq!(of_cuda(cuda), hip::hipError_t_hipErrorLaunchFailure, "{cuda}");
        }
    }

    #[test]
    fn no_error_becomes_a_success_and_one_of_hip_alone_is_not_taken_from_cuda() {
        for cuda in 1..2000 {
            assert_ne!(of_cuda(cuda), hip::hipError_t_hipSuccess, "{cuda}");
        }
        assert_eq!(of_cuda(9), hip::hipError_t_hipErrorUnknown);
        assert_eq!(of_cuda(u32::MAX), hip::hipError_t_hipErrorUnknown);
        assert_eq!(name(12_345), c"hipErrorUnknown");
    }

    #[test]
    fn a_code_is_listed_once() {
        for (i, row) in CODES.iter().enumerate() {
            assert!(CODES[..i].iter().all(|other| other.0 != row.0), "{:?}", row.1);
        }
    }

    #[test]
    fn a_success_keeps_the_last_error_and_taking_it_clears_it() {
        record(Err(hip::hipError_t_hipErrorNotFound));
        assert_eq!(record(Ok(())), hip::hipError_t_hipSuccess);
        assert_eq!(peek_last(), hip::hipError_t_hipErrorNotFound);
        assert_eq!(take_last(), hip::hipError_t_hipErrorNotFound);
        assert_eq!(take_last(), hip::hipError_t_hipSuccess);
        keep("words".to_owned());
        assert_eq!(take_detail().as_deref(), Some("words"));
        keep("words".to_owned());
        begin();
        assert_eq!(take_detail(), None);
    }
}
