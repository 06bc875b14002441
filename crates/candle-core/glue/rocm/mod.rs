//! candle's ROCm device: [`RocmDevice`] and [`RocmStorage`] over the `rocm_backend` crate.
//!
//! Kernels, memory and the choice of a driver are `rocm_backend`'s. What is here translates: candle's layouts and
//! dtypes one way, results and errors the other. An op with no ROCm implementation is an error that says so; a
//! custom op with none runs on the CPU, and [`fallbacks`] tells that it did. candle-nn's fused ops have one, and [`fused1`] is
//! the way to give one to an op of one's own.

pub mod comm;
pub(crate) mod custom;
mod device;
mod dtype;
mod error;
mod fallback;
mod fused;
mod moe;
mod paged;
mod probe;
mod scaled;
mod storage;
pub(crate) mod watch;

pub use device::RocmDevice;
pub use error::RocmError;
pub(crate) use fallback::on_cpu;
pub use fallback::{fallbacks, reset_fallbacks};
pub use fused::{fused1, fused2, fused3};
pub use moe::{moe_gemm, moe_gemm_gguf};
pub use paged::{NewTokens, rope_append};
pub use rocm_backend::Graph;
pub use scaled::matmul_f8;
pub use storage::RocmStorage;
pub use watch::{Watched, take_watched, watch_ops};

/// The sources that this crate was derived from: the release's version, or for others `0.11.1, sources 0123456789ab`, the
/// beginning of the SHA-256 of their files.
pub const SOURCES: &str = env!("CANDLE_CORE_SOURCES");

/// Packed elements of F4, F6 or F8E8M0 as a file has them, on a device.
pub(crate) fn packed(
    device: &crate::Device,
    dtype: crate::DType,
    bytes: &[u8],
) -> crate::Result<RocmStorage> {
    let device = device.as_rocm_device()?;
    let bytes = device.backend().upload(bytes)?.untyped();
    RocmStorage::keep(dtype, bytes, device)
}

/// Whether [`crate::Device::rocm_if_available`] gives a ROCm device: an AMD GPU is there, or `ROCM_DRIVER=soft` asks for
/// the software one. A program that can do without a GPU is better off on the CPU than on an unwished emulator.
pub(crate) fn is_available() -> bool {
    use rocm_backend::environment::{DRIVER, Driver};
    let wanted = |driver: &rocm_backend::DriverInfo| match driver.kind() {
        rocm_backend::DriverKind::System | rocm_backend::DriverKind::Nvidia => true,
        rocm_backend::DriverKind::Soft => DRIVER.get() == Ok(&Driver::Soft),
    };
    rocm_backend::driver().is_ok_and(wanted) && rocm_backend::Device::count().is_ok_and(|count| count > 0)
}
