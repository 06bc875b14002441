//! Why a launch did not happen, or did not end.

use crate::Target;
use crate::fault::Fault;
use crate::isa::DecodeError;

/// Why a launch did not happen, or did not end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The code is for another processor.
    #[error("kernel `{kernel}` is compiled for {target}, which is not executed here")]
    UnsupportedTarget {
        /// Kernel name.
        kernel: String,
        /// What it was compiled for.
        target: Target,
    },
    /// The kernel asks for something that this device does not offer.
    #[error("kernel `{kernel}` needs {what}, which the software GPU does not offer")]
    Unsupported {
        /// Kernel name.
        kernel: String,
        /// What it needs.
        what: String,
    },
    /// The workgroup is too large, or empty.
    #[error("kernel `{kernel}`: a workgroup of {block:?} work-items, allowed are 1 to {limit} in all")]
    BlockSize {
        /// Kernel name.
        kernel: String,
        /// Work-items asked for.
        block: [u32; 3],
        /// Work-items allowed.
        limit: u32,
    },
    /// The grid is empty, or has more work-items in a dimension than 32 bits count.
    #[error(
        "kernel `{kernel}`: a grid of {grid:?} workgroups; each dimension needs one, and less than 2^32 work-items, on RDNA4 \
         at most 2^16 workgroups in y and in z"
    )]
    GridSize {
        /// Kernel name.
        kernel: String,
        /// Workgroups asked for.
        grid: [u32; 3],
    },
    /// Static and dynamic LDS together are too large.
    #[error("kernel `{kernel}`: {requested} bytes of LDS, a workgroup has at most {limit}")]
    Lds {
        /// Kernel name.
        kernel: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes allowed.
        limit: u32,
    },
    /// The explicit arguments do not have the size that the kernel declares.
    #[error("kernel `{kernel}`: {got} bytes of arguments, the kernel declares {expected}")]
    KernargSize {
        /// Kernel name.
        kernel: String,
        /// Bytes given.
        got: usize,
        /// Bytes up to the end of the last explicit argument.
        expected: u32,
    },
    /// The kernel's code could not be decoded.
    #[error("kernel `{kernel}`: {source}")]
    Decode {
        /// Kernel name.
        kernel: String,
        /// What and where.
        source: DecodeError,
    },
    /// A dispatch packet that no kernel can be launched by.
    #[error("kernel `{kernel}`: its dispatch packet at {address:#x} {what}")]
    Packet {
        /// Kernel name.
        kernel: String,
        /// Guest address of the packet.
        address: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Too many host threads launch at the same time.
    #[error("kernel `{kernel}`: too many launches run at the same time")]
    Busy {
        /// Kernel name.
        kernel: String,
    },
    /// The kernel ran and faulted. When several workgroups would, it is the first of them.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}
