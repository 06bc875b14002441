//! Software ROCm: the HIP entry points, with HIP's signatures and HIP's errors, over the software GPU of
//! `gfx-emu`.
//!
//! One device. Device pointers are guest addresses and handles are numbers; neither is ever dereferenced, so
//! that a wrong one is an error code. Streams execute at submission: when a call returns, its work is done,
//! and every order that HIP promises holds. A kernel that faults gives `hipErrorLaunchFailure`,
//! [`take_fault`] the whole text; unlike on a card the device goes on working afterwards.
//!
//! Not here: who calls these functions by their C names. `rocm-backend` asks [`symbol`] for addresses and
//! puts them where it would put those of `libamdhip64.so`.

mod blas;
mod device;
mod entry;
mod error;
mod handles;
mod image;
mod properties;

use core::ffi::c_void;

/// Address of the function that implements a HIP symbol, with the signature that `rocm_rs::hip::bindings`
/// declares; `None` when there is none.
///
/// ```
/// assert!(rocm_soft::symbol("hipModuleLaunchKernel").is_some());
/// assert!(rocm_soft::symbol("hipGraphLaunch").is_none());
/// ```
pub fn symbol(name: &str) -> Option<*const c_void> {
    entry::SYMBOLS
        .iter()
        .position(|symbol| *symbol == name)
        .map(|index| entry::addresses()[index])
}

/// The names of all implemented symbols.
pub fn symbols() -> &'static [&'static str] {
    entry::SYMBOLS
}

/// The text behind the last failed launch or module load of this thread, and forgets it: kernel, instruction,
/// work-item, address, allocation for a fault, and what was expected for a refusal. An error code alone says
/// none of that.
pub fn take_fault() -> Option<String> {
    error::take_detail()
}
