//! HIP's entry points over NVIDIA's driver: a program that is written for HIP runs on an NVIDIA GPU, where there is no AMD
//! one. Each function of HIP's interface calls the functions of `libcuda` that do the same; kernels come as PTX, which the
//! driver compiles when a module is loaded.
//!
//! What runs here ran on real parallel hardware, and not on AMD's: a warp has 32 lanes, misaligned accesses trap, and the
//! math library is NVIDIA's. A caller must say so beside its results.
//!
//! Not here: who calls these functions by their C names. `rocm-backend` asks [`symbol`] for addresses and puts them where it
//! would put those of `libamdhip64.so`. Functions of AMD's libraries are here as well, over NVIDIA's, where those can be loaded: rocBLAS's over cuBLAS
//! ([`load_blas`]), MIOpen's over cuDNN ([`load_dnn`]), rocRAND's over cuRAND ([`load_rand`]).

mod blas;
mod cublas;
mod cuda;
mod cudnn;
mod curand;
mod entry;
mod error;
mod library;
mod miopen;
mod properties;
mod rocrand;

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

/// The names of cuDNN, as the dynamic linker searches them, newest first. What is called of it has one interface in both.
pub const DNN_LIBRARIES: &[&str] = &["libcudnn.so.9", "libcudnn.so.8"];

/// Loads cuDNN from `path`, for the rest of the process; a second call keeps the first one's. Convolutions need the driver as well
/// ([`load`]).
///
/// # Errors
/// [`Missing`]: the library is not there, or lacks functions.
pub fn load_dnn(path: &Path) -> Result<(), Missing> {
    cudnn::load(path)
}

/// The name of cuRAND, as the dynamic linker searches it. CUDA 11 to 13 have the same.
pub const RAND_LIBRARIES: &[&str] = &["libcurand.so.10"];

/// Loads cuRAND from `path`, for the rest of the process; a second call keeps the first one's. Generators need the driver as well
/// ([`load`]).
///
/// # Errors
/// [`Missing`]: the library is not there, or lacks functions.
pub fn load_rand(path: &Path) -> Result<(), Missing> {
    curand::load(path)
}

/// Address of the function that implements a symbol of HIP, rocBLAS, MIOpen or rocRAND, with the signature that rocm-rs declares; `None`
/// when there is none. Until [`load`] succeeded, those of HIP fail with `hipErrorNotInitialized`; until [`load_blas`] did,
/// those of rocBLAS fail with `rocblas_status_invalid_handle`, and likewise the others.
///
/// ```
/// assert!(rocm_nvidia::symbol("hipModuleLaunchKernel").is_some());
/// assert!(rocm_nvidia::symbol("rocblas_gemm_strided_batched_ex").is_some());
/// assert!(rocm_nvidia::symbol("miopenConvolutionForwardImmediate").is_some());
/// assert!(rocm_nvidia::symbol("hipNoSuchFunction").is_none());
/// ```
pub fn symbol(name: &str) -> Option<*const c_void> {
    let place = |names: &[&str]| names.iter().position(|symbol| *symbol == name);
    place(entry::SYMBOLS)
        .map(|at| entry::addresses()[at])
        .or_else(|| place(entry::graph::SYMBOLS).map(|at| entry::graph::addresses()[at]))
        .or_else(|| place(blas::SYMBOLS).map(|at| blas::addresses()[at]))
        .or_else(|| place(miopen::SYMBOLS).map(|at| miopen::addresses()[at]))
        .or_else(|| place(rocrand::SYMBOLS).map(|at| rocrand::addresses()[at]))
}

/// The names of all implemented symbols, those of HIP first.
pub fn symbols() -> impl Iterator<Item = &'static str> {
    let libraries = [
        entry::graph::SYMBOLS,
        blas::SYMBOLS,
        miopen::SYMBOLS,
        rocrand::SYMBOLS,
    ];
    entry::SYMBOLS
        .iter()
        .chain(libraries.into_iter().flatten())
        .copied()
}

/// Takes NVIDIA's own words about the last call of this thread, when it failed: the name and text of CUDA's error or the status of another library, and what
/// the compiler said of PTX that it refused. HIP's code alone says less.
pub fn take_detail() -> Option<String> {
    error::take_detail()
}
