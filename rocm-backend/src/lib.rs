//! HIP for Rust, safe and without ROCm at build time: devices, streams, events, device memory, kernels from source or code
//! objects, and the kernels of a tensor library. The same program runs on an AMD GPU and, by the feature `soft`, on one that
//! executes the same code objects in software. This crate knows shapes, strides and dtypes, and nothing of candle: the glue is
//! `crates/candle-core`.
//!
//! ```
//! use rocm_backend::ops::{self, Binary, Reduce, Unary};
//! use rocm_backend::{Device, Result, View};
//!
//! fn main() -> Result<()> {
//!     let device = Device::new(0)?;
//!     let x = device.upload(&[1.0_f32, 4.0, 9.0, 16.0])?; // a `Buffer<f32>`
//!     let roots = ops::unary(Unary::Sqrt, x.view())?; // a `DynBuffer`: its dtype is known at run time
//!     assert_eq!(roots.download::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//!
//!     let rows = View::contiguous(&x, &[2, 2]);
//!     let columns = View::new(&x, &[2, 2], &[1, 2]);
//!     let sum = ops::binary(Binary::Add, rows, columns)?;
//!     let largest = ops::reduce(Reduce::Max, sum.view(), &[0])?.typed::<f32>()?;
//!     assert_eq!(largest.download()?, [32.0]);
//!     Ok(())
//! }
//! ```
//!
//! # Devices and streams
//!
//! A [`Device`] is a GPU and a stream of work on it. Its clones are the same stream; [`Device::new_stream`] gives another one.
//! Everything that is submitted runs in order, and nothing waits but a download, [`Device::synchronize`] and
//! [`Event::synchronize`]. [`Device::record`] marks a point of a stream, [`Device::wait`] has another stream go on after it.
//!
//! [`Device::capture`] makes a [`Graph`] of what a closure submits, which one call submits again.
//!
//! [`comm`] has several devices add up, gather and exchange buffers, by RCCL's functions.
//!
//! # Memory
//!
//! [`Buffer`] holds elements of a host type ([`Element`]), [`DynBuffer`] elements of a [`DType`]; a `Buffer` dereferences to the
//! `DynBuffer` that it is, and [`DynBuffer::typed`] is the way back. Memory that buffers give up is kept for the next ones
//! ([`Allocator`]); [`Device::memory`] tells how much. A buffer belongs to its stream: [`Buffer::move_to`] hands it to another
//! one, [`Buffer::copy_to`] copies it to another GPU.
//!
//! # Operations
//!
//! [`ops`] runs kernels on [`View`]s: a buffer, sizes, strides and an offset. Every view is checked against its buffer before a
//! kernel may touch it. AMD's libraries serve operations where `ROCM_LIBRARIES` allows it ([`Libraries`]), this crate's kernels
//! all others.
//!
//! # Kernels of one's own
//!
//! [`Device::load`] takes a code object, `Device::compile` HIP source. [`Module::kernel`] makes a [`Launch`], whose arguments are
//! checked against what the code object declares: how many, how large, pointers or values. What a kernel does with its pointers
//! nobody can check, so that [`Launch::launch`] is `unsafe`.
//!
//! # Errors
//!
//! [`Error`] is one enum with a variant for what a caller can tell apart. Nothing panics on bad input or on a failing device.
//!
//! # Drivers
//!
//! [`driver`] decides, once a process, who answers the HIP calls: `ROCM_DRIVER=system` is a libamdhip64 of this machine, `soft`
//! the software GPU, `auto` the first where there is a device, else the second. `hsa` is AMD's libamdhip64 over the software GPU,
//! by this workspace's libhsa-runtime64. `nvidia` is an NVIDIA GPU, by its own driver:
//! the kernels compiled for it. [`trace`] tells what computed results.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `soft` | yes | the software GPU |
//! | `nvidia` | no | NVIDIA's GPUs; the build needs libdevice, which is part of a CUDA toolkit |
//! | `compile` | yes | `Device::compile`, and this crate's kernels for targets that are not built in |
//!
//! The build compiles `kernels/*.hip` with a stock clang, for the targets of `ROCM_TARGETS`. For `none`, it compiles none of AMD's, and
//! programs take the kernels from this crate's folder. With `ROCM_PREBUILT_KERNELS=FOLDER` it takes their code objects from there, and no
//! clang is needed.
//!
//! # Examples
//!
//! `examples/01-copy.rs` to `examples/07-random.rs`, in the order in which one would read them.
//!
//! `unsafe` is in `hip/` only; `extern "C"` and assembly in `hip/sys.rs` only.

mod allocator;
mod buffer;
pub mod comm;
mod custom;
mod device;
mod driver;
mod dtype;
mod error;
mod generator;
mod ggml;
mod hip;
mod kernel;
#[cfg(feature = "compile")]
mod late;
mod libraries;
mod module;
pub mod ops;
#[cfg(feature = "nvidia")]
mod ptx;
mod scalar;
pub mod trace;
#[cfg(feature = "soft")]
pub mod trial;
mod usage;
mod view;

pub use allocator::Allocator;
pub use buffer::{AnyBuffer, Buffer, DynBuffer};
pub use custom::{Arg, Dims, Launch, Module};
pub use device::{Device, DeviceInfo, MemoryInfo};
pub use driver::{Attempt, DriverInfo, DriverKind, driver};
pub use dtype::DType;
pub use error::{Error, ViewFault};
pub use ggml::GgmlType;
pub use hip::event::Event;
pub use hip::graph::Graph;
pub use libraries::{Libraries, Library};
pub use rocm_env as environment;
pub use scalar::{Element, Scalar};
pub use view::{View, ViewMut};

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;
