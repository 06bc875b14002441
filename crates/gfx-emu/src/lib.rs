//! A software AMD GPU: loads code objects compiled for real cards and executes their machine code.
//!
//! It knows no HIP and no tensors; `rocm-soft` puts the HIP entry points over it, `gfx-tool` a command line.
//!
//! # A launch
//!
//! 1. [`CodeObject::load`] reads a code object, as clang writes it for one of [`Target::EXECUTABLE`]. Waves have 32 or 64 lanes,
//!    as the kernel's descriptor says. ([`CodeObject::bare`] takes machine code without a file around it.)
//! 2. [`Memory`] is the device's memory. [`CodeObject::place`] puts the image into it, [`Memory::alloc`] and
//!    [`Memory::write`] the caller's buffers.
//! 3. [`launch`] runs the workgroups of one [`Dispatch`], each to its end or to the first [`Fault`]. A fault names the
//!    instruction, the work-item and, where the kernel was compiled with `-g`, the source line.
//! 4. [`Memory::read`] gives the results back.
//!
//! [`launch_packet`] takes a dispatch packet of HSA's in the place of a [`Dispatch`].
//!
//! ```
//! use gfx_emu::{BARE_KERNEL, CodeObject, Dispatch, LaunchOptions, Memory, Target, launch};
//!
//! // Each work-item stores the square of its number.
//! let words: [u32; 9] = [
//!     0xf404_0080, 0xf800_0000, // s_load_b64 s[2:3], s[0:1], null    the one argument, a pointer
//!     0xbf89_fc07,              // s_waitcnt lgkmcnt(0)
//!     0x3002_0082,              // v_lshlrev_b32 v1, 2, v0
//!     0x1604_0100,              // v_mul_u32_u24 v2, v0, v0
//!     0xdc6a_0000, 0x0002_0201, // global_store_b32 v1, v2, s[2:3]
//!     0xbfb0_0000,              // s_endpgm
//!     0xbfb0_0000,
//! ];
//! let machine_code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
//! // Two SGPRs hold the address of the arguments, which are one pointer.
//! let code = CodeObject::bare(Target::Gfx1100, &machine_code, 2 << 1, 0, 8)?;
//!
//! let mut memory = Memory::new(1 << 20);
//! let placement = code.place(&mut memory)?;
//! let squares = memory.alloc(4 * 40)?;
//! let dispatch = Dispatch {
//!     kernel: code.kernel(BARE_KERNEL).ok_or("no kernel")?,
//!     placement,
//!     grid: [1, 1, 1],
//!     block: [40, 1, 1],
//!     dynamic_lds: 0,
//!     kernarg: &squares.to_le_bytes(),
//! };
//! let stats = launch(&code, &dispatch, &memory, &LaunchOptions::default())?;
//! assert_eq!((stats.waves, stats.instructions), (2, 12));
//!
//! let mut last = [0; 4];
//! memory.read(squares + 4 * 39, &mut last)?;
//! assert_eq!(u32::from_le_bytes(last), 39 * 39);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a launch can be asked for
//!
//! | [`LaunchOptions`] | |
//! |---|---|
//! | [`sanitize`](LaunchOptions::sanitize) | a fault at the first read of memory that was never written, race, or barrier that not all waves reach |
//! | [`cover`](LaunchOptions::cover) | notes which instructions are executed, for [`CodeObject::take_marks`] |
//! | [`count`](LaunchOptions::count) | counts what costs time on a card; [`Resources`] says how many waves a SIMD holds |
//! | [`flip`](LaunchOptions::flip) | makes the results of one instruction wrong |
//! | [`compiling`](LaunchOptions::compiling) | when kernels are compiled to the host's machine code, where that has AVX-512 |
//!
//! [`trace`] shows what each instruction of one wave does, [`Probe`] runs a few instructions on a wave of its own, [`disassemble`]
//! prints one, and [`coverage`] lists those that are known. [`Prover`] says of a changed instruction that no launch can show the change.
//!
//! # What is modelled
//!
//! Instructions, registers, LDS, and device memory with the bounds of each allocation. Not modelled: what is in caches, timing, missing
//! waits. Results of race-free kernels do not depend on the number of host threads, nor on the host's floating-point environment.
//!
//! # Errors
//!
//! [`LoadError`] and [`DecodeError`] are of code objects, [`LaunchError`] of launches: a dispatch that cannot be, what the emulator
//! does not execute, by name, or the first [`Fault`] of a wave. Nothing panics on a wrong code object or a wrong kernel.
//!
//! # Features
//!
//! None.

mod code;
mod cost;
mod cover;
mod exec;
mod fault;
mod flip;
mod fp;
mod isa;
mod launch;
mod lines;
mod memory;
mod mutant;
mod prove;
mod sanitize;
mod target;
mod wave;

pub use code::{BARE_KERNEL, CodeObject, Global, Kernel, LoadError, Placement};
pub use code_object::{Arg as KernelArg, ArgKind, KernelDescriptor};
pub use cost::{Counters, Limit, Resources};
pub use cover::{Listed, covered};
pub use exec::jit::Compiling;
pub use exec::{Probe, Probe64, WaveProbe};
pub use fault::{Access, Decision, Fault, FaultKind, MemoryFault, Place};
pub use flip::{Flip, NoResult};
pub use isa::{Coverage, DecodeError, MutationKind, coverage, disassemble};
pub use launch::{
    Dispatch, LaunchError, LaunchOptions, LaunchStats, Limits, Packet, Step, TimeLimit, Trace, launch,
    launch_packet, trace,
};
pub use memory::{FreeError, MapError, Memory, OutOfMemory};
pub use mutant::{Mutation, Patch, PatchError};
pub use prove::{Prover, Reason};
pub use target::Target;
