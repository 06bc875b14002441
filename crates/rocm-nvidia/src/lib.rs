//! HIP's entry points over NVIDIA's driver: a program that is written for HIP runs on an NVIDIA GPU, where there is no AMD
//! one. Each function of HIP's interface calls the functions of `libcuda` that do the same; kernels come as PTX, which the
//! driver compiles when a module is loaded.
//!
//! What runs here ran on real parallel hardware, and not on AMD's: a warp has 32 lanes, misaligned accesses trap, and the
//! math library is NVIDIA's. A caller must say so beside its results.
//!
//! Not here: who calls these functions by their C names. `rocm-backend` asks [`symbol`] for addresses and puts them where it
//! would put those of `libamdhip64.so`. rocBLAS, rocRAND and MIOpen have no entry points here.

mod cuda;
mod entry;
mod error;
mod properties;

use core::ffi::c_void;
use std::path::Path;

pub use cuda::Missing;

/// The name of the driver's library, as the dynamic linker searches it.
pub const LIBRARY: &str = "libcuda.so.1";

/// Loads NVIDIA's driver from `path`, for the rest of the process; a second call keeps the first one's. No device is opened.
///
/// # Errors
/// [`Missing`]: the library is not there, or lacks functions.
pub fn load(path: &Path) -> Result<(), Missing> {
    cuda::load(path)
}

/// Address of the function that implements a HIP symbol, with the signature that `rocm_rs::hip::bindings` declares; `None`
/// when there is none. Until [`load`] succeeded, all of them fail with `hipErrorNotInitialized`.
///
/// ```
/// assert!(rocm_nvidia::symbol("hipModuleLaunchKernel").is_some());
/// assert!(rocm_nvidia::symbol("hipGraphLaunch").is_none());
/// ```
pub fn symbol(name: &str) -> Option<*const c_void> {
    let at = entry::SYMBOLS.iter().position(|symbol| *symbol == name)?;
    Some(entry::addresses()[at])
}

/// The names of all implemented symbols.
pub fn symbols() -> &'static [&'static str] {
    entry::SYMBOLS
}

/// Takes NVIDIA's own words about the last call of this thread, when it failed: the name and text of CUDA's error, and what
/// the compiler said of PTX that it refused. HIP's code alone says less.
pub fn take_detail() -> Option<String> {
    error::take_detail()
}
