//! Which of NVIDIA's libraries are missing, and which driver runs: what a device is opened with, in words.

/// One line for what cudarc panics with when a library is missing; `None` for another panic.
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
pub(crate) fn driver_version(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with("NVRM version:"))?;
    line.split_whitespace()
        .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

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
