//! `libamdhip64.so.6` and `.7` over the software GPU: HIP's runtime, for programs where no file of AMD's is installed.
//!
//! A program that `hipcc` or clang compiled finds this library by the dynamic linker's path, and its kernels run on [`gfx_emu`].
//! `gfx exec --seam hip` sets that up. docs/rocm-programs.md says how to use it.
//!
//! - `abi` is C's side: every function, with its pointers made into addresses, slices and closures.
//! - `jobs` carries out what streams were given, each job after those that it waits for.
//! - `work` is what a stream or a node of a graph does; `launch` has the arguments of a kernel.
//! - `hostcall` answers kernels that print, allocate or call the host.
//! - `module` finds kernels and variables, those of fat binaries too, which programs register before `main`; `mapped` says where memory
//!   ends in which a file of unknown length lies.
//! - `stream`, `event` and `graph` are what HIP calls so; `memory` knows whose an address is.
//! - `properties` is what a card says of itself.
//!
//! Memory, code objects, launches and the report are [`soft_runtime`]'s.
//! Not offered: images, arrays, virtual memory handles, memory of other processes, cooperative launches.

mod abi;
mod device;
mod error;
mod event;
mod graph;
mod handles;
mod hostcall;
mod jobs;
mod launch;
mod mapped;
mod memory;
mod module;
mod properties;
mod stream;
mod work;
