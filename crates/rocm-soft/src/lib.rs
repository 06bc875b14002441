//! Software ROCm: the HIP entry points, with HIP's signatures and HIP's errors, over the software GPU of
//! `gfx-emu`.
//!
//! One device, or as many as `ROCM_SOFT_DEVICES` lists, each with its memory. Device pointers are guest addresses and
//! handles are numbers; neither is ever dereferenced, so that a wrong one is an error code. Streams execute at submission: when a call returns, its work is done,
//! and every order that HIP promises holds. A stream that is captured keeps its work for a graph instead. A kernel that faults gives `hipErrorLaunchFailure`,
//! [`take_fault`] the whole text; unlike on a card the device goes on working afterwards.
//!
//! Not here: who calls these functions by their C names. `rocm-backend` asks [`symbol`] for addresses and
//! puts them where it would put those of `libamdhip64.so`.

mod blas;
mod device;
mod devices;
mod entry;
mod error;
mod graph;
mod handles;
mod library;
mod miopen;
mod properties;
mod rccl;
mod rocrand;
pub mod trial;

use core::ffi::c_void;
use std::sync::LazyLock;

/// Address of the function that implements a HIP symbol, with the signature that `rocm_rs::hip::bindings`
/// declares; `None` when there is none.
///
/// ```
/// assert!(rocm_soft::symbol("hipModuleLaunchKernel").is_some());
/// assert!(rocm_soft::symbol("hipNoSuchFunction").is_none());
/// ```
pub fn symbol(name: &str) -> Option<*const c_void> {
    let at = |names: &[&str]| names.iter().position(|symbol| *symbol == name);
    at(entry::SYMBOLS)
        .map(|at| entry::addresses()[at])
        .or_else(|| at(entry::graph::SYMBOLS).map(|at| entry::graph::addresses()[at]))
        .or_else(|| at(entry::rocblas::SYMBOLS).map(|at| entry::rocblas::addresses()[at]))
        .or_else(|| at(entry::rocrand::SYMBOLS).map(|at| entry::rocrand::addresses()[at]))
        .or_else(|| at(entry::miopen::SYMBOLS).map(|at| entry::miopen::addresses()[at]))
        .or_else(|| at(entry::rccl::SYMBOLS).map(|at| entry::rccl::addresses()[at]))
}

/// The names of all implemented symbols: HIP's, rocBLAS's, rocRAND's, MIOpen's, RCCL's.
pub fn symbols() -> &'static [&'static str] {
    static ALL: LazyLock<Vec<&str>> = LazyLock::new(|| {
        [
            entry::SYMBOLS,
            entry::graph::SYMBOLS,
            entry::rocblas::SYMBOLS,
            entry::rocrand::SYMBOLS,
            entry::miopen::SYMBOLS,
            entry::rccl::SYMBOLS,
        ]
        .concat()
    });
    &ALL
}

/// Takes the text of the last failed launch or module load of this thread: kernel, instruction,
/// work-item, address, allocation for a fault, and what was expected for a refusal. An error code alone says
/// none of that.
pub fn take_fault() -> Option<String> {
    error::take_detail()
}
