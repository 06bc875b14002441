//! `libhsa-runtime64.so.1` over the software GPU: the library that AMD's HIP runtime takes for the driver's.
//!
//! A program that is linked with AMD's own libamdhip64 finds this library in the place of ROCr, by the dynamic linker's path,
//! and its kernels run on [`gfx_emu`]. `gfx exec` sets that up. docs/rocm-programs.md says how to use it.
//!
//! - `abi` is C's side: every function, with its pointers made into numbers, slices and closures.
//! - `runtime` is what the process has one of: cards, `pools` of memory, the `loader`'s code objects.
//! - `queue` carries out packets, each queue in a thread of its own; `launch` has the emulator run a kernel.
//! - `signal`, `event` and `deferred` are how threads wait for each other.
//! - `report` counts what ran.
//!
//! All memory that kernels and the host share is host memory at the same address (`host`): nothing is copied for a launch.
//! Not offered: images, virtual memory handles, memory of other processes, cooperative launches, counters.

mod abi;
mod agent;
mod deferred;
mod event;
mod host;
mod launch;
mod loader;
mod pools;
mod queue;
mod report;
mod runtime;
mod signal;
mod status;
