//! What every driver that answers HIP's calls needs beside the calls: the last error of a thread with its cause, HIP's names and
//! texts of codes, texts in C's fields, and the definition of entry points with their table ([`hip_entries`](crate::hip_entries)).
//! What a call does is each driver's own.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};

use crate::hip::bindings as hip;
use crate::hip::bindings::hipError_t;

/// The result of an entry point before it becomes a code.
pub type Result<T = ()> = core::result::Result<T, hipError_t>;

thread_local! {
    static LAST: Cell<hipError_t> = const { Cell::new(hip::hipError_t_hipSuccess) };
    static DETAIL: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Remembers a call's error for `hipGetLastError` and gives its code. A success leaves the last error as it is.
pub fn record(result: Result) -> hipError_t {
    match result {
        Ok(()) => hip::hipError_t_hipSuccess,
        Err(code) => {
            LAST.set(code);
            code
        }
    }
}

/// The last error of this thread.
pub fn peek_last() -> hipError_t {
    LAST.get()
}

/// The last error of this thread; the next call gives success.
pub fn take_last() -> hipError_t {
    LAST.replace(hip::hipError_t_hipSuccess)
}

/// Forgets the cause that an earlier call left, lest it be taken for this one's.
pub fn begin() {
    DETAIL.set(None);
}

/// Keeps the cause of this thread's error, in the driver's own words.
pub fn keep(text: String) {
    DETAIL.set(Some(text));
}

/// The cause of this thread's last error, where one was kept. It is told once.
pub fn take_detail() -> Option<String> {
    DETAIL.take()
}

/// HIP's name of a code, as `hipGetErrorName` gives it.
pub fn name(code: hipError_t) -> &'static CStr {
    row(code).map_or(c"hipErrorUnknown", |row| row.1)
}

/// A sentence for a code, as `hipGetErrorString` gives it.
pub fn text(code: hipError_t) -> &'static CStr {
    row(code).map_or(c"unknown error", |row| row.2)
}

/// Writes a text with its terminating NUL, cut off where the field ends.
pub fn put_text(field: &mut [c_char], text: &str) {
    let Some(room) = field.len().checked_sub(1) else {
        return;
    };
    let bytes = text.bytes().take(room).chain([0]);
    for (place, byte) in field.iter_mut().zip(bytes) {
        // C's `char` has a sign on x86-64 and has none on Arm.
        *place = c_char::from_ne_bytes([byte]);
    }
}

/// Defines entry points, their table, and a check at compile time that each has the signature of HIP's declaration. A body under
/// `results` ends in [`Result`] and runs in the caller's `guard`, which makes a code of it; one under `values` gives what C gets.
///
/// The caller has `guard`, `hip` (the bindings), `hipError_t`, `c_void` and whatever the bodies name in scope.
#[macro_export]
macro_rules! hip_entries {
    (
        results { $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)* }
        values { $(fn $raw:ident($($raw_arg:ident: $raw_ty:ty),*) -> $value:ty $raw_body:block)* }
    ) => {
        $(
            unsafe extern "C" fn $name($($arg: $ty),*) -> hipError_t {
                guard(|| $body)
            }
            const _: [unsafe extern "C" fn($($ty),*) -> hipError_t; 2] = [$name, hip::$name];
        )*
        $(
            unsafe extern "C" fn $raw($($raw_arg: $raw_ty),*) -> $value $raw_body
            const _: [unsafe extern "C" fn($($raw_ty),*) -> $value; 2] = [$raw, hip::$raw];
        )*

        /// Names of all entry points.
        pub(crate) const SYMBOLS: &[&str] = &[$(stringify!($name),)* $(stringify!($raw),)*];

        /// Their addresses, in the order of [`SYMBOLS`].
        pub(crate) fn addresses() -> [*const c_void; SYMBOLS.len()] {
            [$($name as *const c_void,)* $($raw as *const c_void,)*]
        }
    };
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
    hipError_t_hipErrorProfilerDisabled c"the profiler is not there";
    hipError_t_hipErrorProfilerNotInitialized c"the profiler was not initialized";
    hipError_t_hipErrorProfilerAlreadyStarted c"the profiler runs already";
    hipError_t_hipErrorProfilerAlreadyStopped c"the profiler does not run";
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
    hipError_t_hipErrorContextAlreadyCurrent c"the context is current already";
    hipError_t_hipErrorMapFailed c"mapping of buffer object failed";
    hipError_t_hipErrorUnmapFailed c"unmapping of buffer object failed";
    hipError_t_hipErrorArrayIsMapped c"the array is mapped";
    hipError_t_hipErrorAlreadyMapped c"the resource is mapped already";
    hipError_t_hipErrorNoBinaryForGpu c"no kernel image is available for execution on the device";
    hipError_t_hipErrorAlreadyAcquired c"the resource is taken already";
    hipError_t_hipErrorNotMapped c"the resource is not mapped";
    hipError_t_hipErrorNotMappedAsArray c"the resource is not mapped to an array";
    hipError_t_hipErrorNotMappedAsPointer c"the resource is not mapped to memory";
    hipError_t_hipErrorECCNotCorrectable c"uncorrectable ECC error encountered";
    hipError_t_hipErrorUnsupportedLimit c"limit is not supported on this architecture";
    hipError_t_hipErrorContextAlreadyInUse c"the context is in use by another thread";
    hipError_t_hipErrorPeerAccessUnsupported c"peer access is not supported between these two devices";
    hipError_t_hipErrorInvalidKernelFile c"invalid kernel file";
    hipError_t_hipErrorInvalidGraphicsContext c"the graphics context is not valid";
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
    hipError_t_hipErrorSetOnActiveProcess c"not possible once the device is in use";
    hipError_t_hipErrorContextIsDestroyed c"context is destroyed";
    hipError_t_hipErrorAssert c"device-side assert triggered";
    hipError_t_hipErrorHostMemoryAlreadyRegistered c"part or all of the requested memory range is already mapped";
    hipError_t_hipErrorHostMemoryNotRegistered c"pointer does not correspond to a registered memory region";
    hipError_t_hipErrorLaunchFailure c"unspecified launch failure";
    hipError_t_hipErrorCooperativeLaunchTooLarge c"too many blocks in cooperative launch";
    hipError_t_hipErrorNotSupported c"operation not supported";
    hipError_t_hipErrorStreamCaptureUnsupported c"not possible while a stream is captured";
    hipError_t_hipErrorStreamCaptureInvalidated c"an earlier error ended the capture of the stream";
    hipError_t_hipErrorStreamCaptureMerge c"two captures would become one";
    hipError_t_hipErrorStreamCaptureUnmatched c"the capture began on another stream";
    hipError_t_hipErrorStreamCaptureUnjoined c"a stream of the capture has work that did not come back to its first stream";
    hipError_t_hipErrorStreamCaptureIsolation c"the capture would depend on work outside of it";
    hipError_t_hipErrorStreamCaptureImplicit c"the null stream would depend on a capture";
    hipError_t_hipErrorCapturedEvent c"the event was recorded in a capture";
    hipError_t_hipErrorStreamCaptureWrongThread c"another thread began the capture";
    hipError_t_hipErrorGraphExecUpdateFailure c"the graph has another shape than what is updated";
    hipError_t_hipErrorInvalidChannelDescriptor c"the channel description is not valid";
    hipError_t_hipErrorInvalidTexture c"the texture is not valid";
    hipError_t_hipErrorUnknown c"unknown error";
    hipError_t_hipErrorRuntimeMemory c"runtime memory call returned error";
    hipError_t_hipErrorRuntimeOther c"runtime call other than memory returned error";
    hipError_t_hipErrorTbd c"unknown error";
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
    fn a_code_is_listed_once() {
        for (i, row) in CODES.iter().enumerate() {
            assert!(CODES[..i].iter().all(|other| other.0 != row.0), "{:?}", row.1);
        }
    }

    #[test]
    fn the_last_error_outlives_a_success_and_is_taken_once() {
        record(Err(hip::hipError_t_hipErrorInvalidValue));
        assert_eq!(record(Ok(())), hip::hipError_t_hipSuccess);
        assert_eq!(peek_last(), hip::hipError_t_hipErrorInvalidValue);
        assert_eq!(take_last(), hip::hipError_t_hipErrorInvalidValue);
        assert_eq!(take_last(), hip::hipError_t_hipSuccess);
    }

    #[test]
    fn a_cause_is_told_once_and_a_new_call_forgets_it() {
        keep("words".to_owned());
        assert_eq!(take_detail().as_deref(), Some("words"));
        assert_eq!(take_detail(), None);
        keep("words".to_owned());
        begin();
        assert_eq!(take_detail(), None);
    }

    #[test]
    fn a_text_is_cut_to_its_field_and_ended() {
        let mut field = [1; 4];
        put_text(&mut field, "abcdef");
        assert_eq!(field, [97, 98, 99, 0]);
        put_text(&mut field, "x");
        assert_eq!(field, [120, 0, 99, 0]);
        put_text(&mut [], "x");
    }
}
