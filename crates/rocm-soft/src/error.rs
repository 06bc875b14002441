//! Which of HIP's error codes a refusal of the emulator gets.

use gfx_emu::{LaunchError, LoadError};
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

pub(crate) use rocm_rs::driver::{Result, keep, name, peek_last, record, take_detail, take_last, text};

/// Keeps the text and gives the code of a refused or faulted launch.
pub(crate) fn launch(error: &LaunchError) -> hipError_t {
    keep(error.to_string());
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
    keep(text);
    hip::hipError_t_hipErrorInvalidImage
}

/// Keeps `text` and gives the code of a file that cannot be written.
pub(crate) fn unwritten(text: String) -> hipError_t {
    keep(text);
    hip::hipError_t_hipErrorOperatingSystem
}

/// Keeps `text` and gives the code of an argument that no launch is declared to have.
pub(crate) fn undeclared(text: String) -> hipError_t {
    keep(text);
    hip::hipError_t_hipErrorInvalidValue
}

/// Keeps `text` and gives the code of a code object for another processor.
pub(crate) fn other_target(text: String) -> hipError_t {
    keep(text);
    hip::hipError_t_hipErrorNoBinaryForGpu
}
