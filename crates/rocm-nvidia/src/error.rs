//! Which of HIP's error codes a code of NVIDIA's driver becomes.

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

pub(crate) use rocm_rs::driver::{
    Result, begin, keep, name, peek_last, record, take_detail, take_last, text,
};

use crate::library::Status;

/// HIP's code for an error of NVIDIA's driver. One that nobody thought of is `hipErrorUnknown`, never success.
///
/// Most have the same number in both. Those that end the context and have no counterpart are `hipErrorLaunchFailure`, after
/// which a device counts as lost.
pub(crate) fn of_cuda(status: Status) -> hipError_t {
    let same = BOTH.iter().find(|code| **code == status);
    match (status, same) {
        (_, Some(code)) => *code,
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

/// Codes that NVIDIA's driver has too, with the same number and meaning.
const BOTH: &[hipError_t] = &[
    hip::hipError_t_hipSuccess,
    hip::hipError_t_hipErrorInvalidValue,
    hip::hipError_t_hipErrorOutOfMemory,
    hip::hipError_t_hipErrorNotInitialized,
    hip::hipError_t_hipErrorDeinitialized,
    hip::hipError_t_hipErrorProfilerDisabled,
    hip::hipError_t_hipErrorNoDevice,
    hip::hipError_t_hipErrorInvalidDevice,
    hip::hipError_t_hipErrorInvalidImage,
    hip::hipError_t_hipErrorInvalidContext,
    hip::hipError_t_hipErrorContextAlreadyCurrent,
    hip::hipError_t_hipErrorMapFailed,
    hip::hipError_t_hipErrorUnmapFailed,
    hip::hipError_t_hipErrorNoBinaryForGpu,
    hip::hipError_t_hipErrorECCNotCorrectable,
    hip::hipError_t_hipErrorUnsupportedLimit,
    hip::hipError_t_hipErrorContextAlreadyInUse,
    hip::hipError_t_hipErrorPeerAccessUnsupported,
    hip::hipError_t_hipErrorInvalidKernelFile,
    hip::hipError_t_hipErrorInvalidSource,
    hip::hipError_t_hipErrorFileNotFound,
    hip::hipError_t_hipErrorSharedObjectSymbolNotFound,
    hip::hipError_t_hipErrorSharedObjectInitFailed,
    hip::hipError_t_hipErrorOperatingSystem,
    hip::hipError_t_hipErrorInvalidHandle,
    hip::hipError_t_hipErrorIllegalState,
    hip::hipError_t_hipErrorNotFound,
    hip::hipError_t_hipErrorNotReady,
    hip::hipError_t_hipErrorIllegalAddress,
    hip::hipError_t_hipErrorLaunchOutOfResources,
    hip::hipError_t_hipErrorLaunchTimeOut,
    hip::hipError_t_hipErrorPeerAccessAlreadyEnabled,
    hip::hipError_t_hipErrorPeerAccessNotEnabled,
    hip::hipError_t_hipErrorSetOnActiveProcess,
    hip::hipError_t_hipErrorContextIsDestroyed,
    hip::hipError_t_hipErrorAssert,
    hip::hipError_t_hipErrorHostMemoryAlreadyRegistered,
    hip::hipError_t_hipErrorHostMemoryNotRegistered,
    hip::hipError_t_hipErrorLaunchFailure,
    hip::hipError_t_hipErrorCooperativeLaunchTooLarge,
    hip::hipError_t_hipErrorNotSupported,
    hip::hipError_t_hipErrorStreamCaptureUnsupported,
    hip::hipError_t_hipErrorStreamCaptureInvalidated,
];

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
}
