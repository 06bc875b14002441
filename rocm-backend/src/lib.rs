//! A ROCm backend for tensor libraries: HIP devices, device memory and a tensor library's kernels behind safe Rust.
//!
//! It knows shapes, strides and dtypes, and nothing of candle: the candle glue lies in `crates/candle-core`.
//!
//! - [`driver`] decides, once a process, who answers the HIP calls: a real `libamdhip64`, or the software GPU.
//! - [`Device`] and [`Buffer`] own what lives on the GPU; [`View`] says how a kernel walks a buffer. Memory that buffers give
//!   back is kept for the next ones ([`Allocator`]); [`Device::memory`] tells how much.
//! - AMD's libraries serve operations where `ROCM_LIBRARIES` allows it ([`Libraries`]); [`Device::served`] says which did.
//! - [`ops`] runs kernels. Every view is checked against its buffer before a kernel may touch it.
//! - [`Module`] holds kernels of the caller's, [`Launch`] runs them: arguments are checked against the code object.
//!
//! `unsafe` stands in `hip/` only; `extern "C"` and assembly in `hip/sys.rs` only.
#![deny(unsafe_code)]

mod allocator;
mod buffer;
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
mod scalar;
mod served;
mod usage;
mod view;

pub use allocator::Allocator;
pub use buffer::Buffer;
pub use custom::{Arg, Dims, Launch, Module};
pub use device::{Device, DeviceInfo, MemoryInfo};
pub use driver::{Attempt, DriverInfo, DriverKind, Level, driver};
pub use dtype::DType;
pub use error::Error;
pub use ggml::GgmlType;
pub use hip::event::Event;
pub use libraries::{Libraries, Library};
pub use rocm_env as environment;
pub use scalar::Scalar;
pub use served::{Served, Step, Walk};
pub use view::View;

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;
