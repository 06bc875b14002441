//! Why a call on the ROCm backend failed.

use crate::{Attempt, DType};

/// Every failure of this crate. Nothing here panics on bad input or on a failing device.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operation exists nowhere, or not for this dtype.
    #[error("rocm has no kernel for `{op}` on {dtype}")]
    Unsupported {
        /// The kernel asked for, by its name without the dtype: `uexp`.
        op: String,
        /// The dtype asked for.
        dtype: DType,
    },
    /// An environment variable has a value that it cannot have.
    #[error(transparent)]
    Environment(#[from] rocm_env::UnknownValue),
    /// No driver as `ROCM_DRIVER` asks for.
    #[error("{reason}{}", crate::driver::render(tried))]
    Driver {
        /// What was asked for and why it cannot be had.
        reason: String,
        /// Every library looked for, with what came of it.
        tried: Vec<Attempt>,
    },
    /// A HIP call returned an error.
    #[error("{call} failed: {name} ({code}): {text}")]
    Hip {
        /// The C function.
        call: &'static str,
        /// HIP's number for the error.
        code: u32,
        /// HIP's name for the error, as `hipErrorInvalidValue`.
        name: String,
        /// HIP's sentence about it.
        text: String,
    },
    /// A kernel faulted on the software GPU: which one, where, and why.
    #[error("{0}")]
    DeviceFault(String),
    /// Arguments that do not fit together, as a view that reaches outside its buffer.
    #[error("{0}")]
    Invalid(String),
    /// Source that does not compile, in the compiler's words; or no compiler, with how to get one.
    #[error("{0}")]
    Compile(String),
    /// An earlier kernel or a fault of the hardware ended the device for this process.
    #[error(
        "{call}: the device is lost ({text}, {code}): an earlier kernel failed, and HIP runs nothing more in this process; \
         buffers may be dropped, a new process starts afresh"
    )]
    DeviceLost {
        /// The C function that came to know.
        call: &'static str,
        /// HIP's number for the error.
        code: u32,
        /// HIP's sentence about it.
        text: String,
    },
    /// The device has no room, even after cached blocks were given back.
    #[error(
        "device {ordinal} is out of memory: {requested} bytes asked for, {free} of {total} bytes free after {released} \
         cached bytes were released; this process holds {live} bytes in {blocks} blocks, the largest of {largest} bytes"
    )]
    OutOfMemory {
        /// The device.
        ordinal: usize,
        /// Bytes asked for.
        requested: usize,
        /// Bytes free on the device.
        free: usize,
        /// Bytes of the device.
        total: usize,
        /// Cached bytes that were given back to HIP before the last attempt.
        released: usize,
        /// Bytes that buffers of this process hold on the device.
        live: usize,
        /// In how many blocks.
        blocks: usize,
        /// Bytes of the largest of them.
        largest: usize,
    },
    /// The kernels of this build were not compiled for the device's target.
    #[error(
        "the `{module}` kernels are not built for {target} (built for: {built}); build rocm-backend with this target"
    )]
    KernelMissing {
        /// The device's target, as `gfx1100`.
        target: String,
        /// The kernel module, as `unary`.
        module: &'static str,
        /// The targets in this build.
        built: String,
    },
}
