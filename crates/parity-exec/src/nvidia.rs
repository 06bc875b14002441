//! What candle says of NVIDIA's side, in parity's terms: which libraries are missing, which driver runs, and what an error
//! means for the case and for those after it. candle wraps the driver's errors in boxes of a private type, so their text is
//! all there is to go by.

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

/// One line for what cudarc panics with when a library is missing; `None` for another panic.
#[cfg(any(feature = "cuda", test))]
pub(crate) fn missing_library(panic: &str) -> Option<String> {
    let (_, rest) = panic.split_once("Unable to dynamically load the \"")?;
    let (library, _) = rest.split_once('"')?;
    let comes_with = match library {
        "cublas" | "cublasLt" | "curand" | "nvrtc" => "the CUDA toolkit",
        _ => "the NVIDIA driver",
    };
    Some(format!(
        "lib{library}.so was not found; it comes with {comes_with}, and LD_LIBRARY_PATH names the folders to look in"
    ))
}

/// The version of the driver's kernel module, from the text of `/proc/driver/nvidia/version`.
#[cfg(any(feature = "cuda", test))]
pub(crate) fn driver_version(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    line.split_whitespace()
        .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'))
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

    #[test]
    fn a_missing_library_is_named_with_where_to_get_it() {
        let panic =
            "Unable to dynamically load the \"curand\" shared library - searched for library names: [..]";
        let said = missing_library(panic).unwrap();
        assert!(said.starts_with("libcurand.so was not found; it comes with the CUDA toolkit"));
        assert_eq!(missing_library("index out of bounds"), None);
    }

    #[test]
    fn the_driver_version_is_read_from_the_modules_own_line() {
        let text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n\
                    GCC version:  gcc version 12.3.0\n";
        assert_eq!(driver_version(text), Some("580.159.04"));
        assert_eq!(driver_version("GCC version: 12.3.0"), None);
    }
}
