//! A software AMD GPU: loads code objects compiled for real cards and executes their machine code.
//!
//! It knows no HIP and no tensors; `rocm-soft` puts the HIP entry points over it. The way of a launch:
//! [`CodeObject::load`] reads the ELF file, [`CodeObject::place`] puts its image into device [`Memory`], and
//! [`launch`] runs the workgroups of one [`Dispatch`], each to its end or to the first [`Fault`].
//!
//! Not modelled: caches, timing, missing waits, occupancy. Results of race-free kernels do not depend on the
//! number of host threads, nor on the host's floating-point environment.

mod code;
mod exec;
mod fault;
mod fp;
mod isa;
mod launch;
mod lines;
mod memory;
mod sanitize;
mod target;
mod wave;

pub use code::{BARE_KERNEL, CodeObject, Global, Kernel, LoadError, Placement};
pub use code_object::{Arg as KernelArg, ArgKind, KernelDescriptor};
pub use exec::{Probe, Probe64, WaveProbe};
pub use fault::{Access, Decision, Fault, FaultKind, MemoryFault, Place};
pub use isa::{Coverage, DecodeError, coverage, disassemble};
pub use launch::{Dispatch, LaunchError, LaunchOptions, LaunchStats, Limits, Step, Trace, launch, trace};
pub use memory::{FreeError, MapError, Memory, OutOfMemory};
pub use target::Target;
