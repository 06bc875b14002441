//! HIP's entry points over NVIDIA's driver: a program that is written for HIP runs on an NVIDIA GPU, where there is no AMD
//! one. Each function of HIP's interface calls the functions of `libcuda` that do the same; kernels come as PTX, which the
//! driver compiles when a module is loaded.
//!
//! What runs here ran on real parallel hardware, and not on AMD's: a warp has 32 lanes, misaligned accesses trap, and the
//! math library is NVIDIA's. A caller must say so beside its results.
//!
//! Not here: who calls these functions by their C names. `rocm-backend` asks [`symbol`] for addresses and puts them where it
//! would put those of `libamdhip64.so`. rocBLAS's functions are here as well, over cuBLAS, where that can be loaded
//! ([`load_blas`]); rocRAND and MIOpen have no entry points here.

mod blas;
mod cublas;
mod cuda;
mod entry;
mod error;
mod library;
mod properties;

use core::ffi::c_void;
use std::path::Path;

pub use library::Missing;

/// The name of the driver's library, as the dynamic linker searches it.
pub const LIBRARY: &str = "libcuda.so.1";

/// Loads NVIDIA's driver from `path`, for the rest of the process; a second call keeps the first one's. No device is opened.
///
/// # Errors
/// [`Missing`]: the library is not there, or lacks functions.
pub fn load(path: &Path) -> Result<(), Missing> {
    cuda::load(path)
}

/// The names of cuBLAS, as the dynamic linker searches them, newest first. Its interface is the same in all of them.
pub const BLAS_LIBRARIES: &[&str] = &["libcublas.so.13", "libcublas.so.12"];

/// Loads cuBLAS from `path`, for the rest of the process; a second call keeps the first one's. Products need the driver as
/// well ([`load`]).
///
/// # Errors
/// [`Missing`]: the library is not there, or lacks functions.
pub fn load_blas(path: &Path) -> Result<(), Missing> {
    cublas::load(path)
}

/// Address of the function that implements a symbol of HIP or rocBLAS, with the signature that rocm-rs declares; `None`
/// when there is none. Until [`load`] succeeded, those of HIP fail with `hipErrorNotInitialized`; until [`load_blas`] did,
/// those of rocBLAS fail with `rocblas_status_invalid_handle`.
///
/// ```
/// assert!(rocm_nvidia::symbol("hipModuleLaunchKernel").is_some());
/// assert!(rocm_nvidia::symbol("rocblas_gemm_strided_batched_ex").is_some());
/// assert!(rocm_nvidia::symbol("hipNoSuchFunction").is_none());
/// ```
pub fn symbol(name: &str) -> Option<*const c_void> {
    let place = |names: &[&str]| names.iter().position(|symbol| *symbol == name);
    place(entry::SYMBOLS)
        .map(|at| entry::addresses()[at])
        .or_else(|| place(entry::graph::SYMBOLS).map(|at| entry::graph::addresses()[at]))
        .or_else(|| place(blas::SYMBOLS).map(|at| blas::addresses()[at]))
}

/// The names of all implemented symbols, those of HIP first.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    let graphs = entry::graph::SYMBOLS;
    entry::SYMBOLS.iter().chain(graphs).chain(blas::SYMBOLS).copied()
}

/// Takes NVIDIA's own words about the last call of this thread, when it failed: the name and text of CUDA's error or of cuBLAS's status, and what
/// the compiler said of PTX that it refused. HIP's code alone says less.
pub fn take_detail() -> Option<String> {
    error::take_detail()
}
