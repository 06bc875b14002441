//! What an error of candle's NVIDIA side means for the case and for those after it. candle wraps the driver's errors in
//! boxes of a private type, so their text is all there is to go by.

use parity_model::Refusal;

/// Errors after which every later call in the process fails with the same one: the CUDA driver API's documentation calls
/// them unrecoverable, "the process must be terminated and relaunched".
const STICKY: [&str; 10] = [
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
];

/// What candle says where it has no kernel: it asks the driver for a kernel by name, or knows that it has none, or finds
/// its table of kernels without an arm for the dtype ("dtype mismatch" is said of two tensors of one dtype as well).
const UNSUPPORTED: [&str; 6] = [
    "CUDA_ERROR_NOT_FOUND",
    "missing kernel",
    "unsupported dtype",
    "dtype mismatch in",
    "not supported on cuda",
    "ids should be",
];

/// The class of an error of candle's CUDA backend, by its words.
pub(crate) fn classify(words: &str) -> Refusal {
    let has = |marks: &[&str]| marks.iter().any(|mark| words.contains(mark));
    if has(&STICKY) {
        Refusal::DeviceFault
    } else if has(&UNSUPPORTED) {
        Refusal::Unsupported
    } else {
        Refusal::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_outlives_its_case_is_a_fault_of_the_device() {
        let words = "DriverError(CUDA_ERROR_ASSERT, \"device-side assert triggered\")";
        assert_eq!(classify(words), Refusal::DeviceFault);
    }

    #[test]
    fn a_kernel_that_is_not_there_is_unsupported() {
        let words = "DriverError(CUDA_ERROR_NOT_FOUND, \"named symbol not found\")";
        assert_eq!(classify(words), Refusal::Unsupported);
        assert_eq!(
            classify("internal error 'dtype mismatch in binary op'"),
            Refusal::Unsupported
        );
    }

    #[test]
    fn an_error_of_one_call_is_neither() {
        let words = "DriverError(CUDA_ERROR_INVALID_VALUE, \"invalid argument\")";
        assert_eq!(classify(words), Refusal::Other);
    }
}
