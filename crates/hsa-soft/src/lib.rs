//! `libhsa-runtime64.so.1` over the software GPU: the library that AMD's HIP runtime takes for the driver's.
//!
//! A program that is linked with AMD's own libamdhip64 finds this library in the place of ROCr, by the dynamic linker's path,
//! and its kernels run on [`gfx_emu`]. `gfx exec` sets that up. docs/rocm-programs.md says how to use it.
//!
//! - `abi` is C's side: every function, with its pointers made into numbers, slices and closures.
//! - `agent` is what cards and pools say of themselves.
//! - `queue` carries out packets, each queue in a thread of its own.
//! - `words` are HSA's for its codes.
//! - `signal` and `deferred` are how threads wait for each other.
//!
//! Memory, code objects, launches and the report are [`soft_runtime`]'s. All memory that kernels and the host share is host memory at
//! the same address: nothing is copied for a launch.
//! Not offered: images, memory of other processes, cooperative launches, counters.

mod abi;
mod agent;
mod deferred;
mod queue;
mod signal;
mod words;
