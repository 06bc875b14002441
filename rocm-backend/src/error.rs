//! Why a call on the ROCm backend failed: one enum, with a variant for what a caller can tell apart. candle's errors are not
//! here; the glue wraps these.

use std::fmt;

use crate::{Attempt, DType};

/// Every failure of this crate. Nothing here panics on bad input or on a failing device.
///
/// [`Error::is_invalid`] tells the caller's mistakes from what the machine could not do.
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
    /// The driver has no device of this number.
    #[error("there is no ROCm device {ordinal}: {driver} has {count}")]
    NoDevice {
        /// The number asked for.
        ordinal: usize,
        /// How many devices the driver has.
        count: usize,
        /// The driver's name.
        driver: &'static str,
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
    /// A file that `ROCM_CODE_OBJECTS` names cannot be read.
    #[error("ROCM_CODE_OBJECTS: cannot read {path}: {reason}")]
    Replacement {
        /// The file.
        path: String,
        /// What the operating system says.
        reason: String,
    },
    /// Source that does not compile, in the compiler's words; or no compiler, with how to get one.
    #[error("{0}")]
    Compile(String),
    /// Bytes that are not a code object for the device.
    #[error("{0}")]
    CodeObject(String),
    /// A code object has no such kernel.
    #[error("the code object has no kernel `{name}`; it has {}", listed(kernels))]
    NoKernel {
        /// The name asked for.
        name: String,
        /// The kernels that it has, in order of name.
        kernels: Vec<String>,
    },
    /// A grid, a workgroup or an amount of LDS that the kernel or HIP does not take.
    #[error("{kernel}: {reason}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What is too large, or nothing.
        reason: String,
    },
    /// An argument of a launch that is not what the kernel declares.
    #[error("{kernel}: argument {position}{}: {reason}", named(name.as_ref()))]
    Argument {
        /// The kernel.
        kernel: String,
        /// Which argument, counted from 1.
        position: usize,
        /// The parameter's name, where the code object has it.
        name: Option<String>,
        /// What was declared and what was given.
        reason: String,
    },
    /// A view whose sizes, strides or offset are not valid for its buffer.
    #[error("{op}: the view {dims:?} with strides {strides:?} from element {offset} {fault}")]
    View {
        /// The operation.
        op: String,
        /// The view's sizes.
        dims: Vec<usize>,
        /// The view's strides, in elements.
        strides: Vec<usize>,
        /// Where the view begins.
        offset: usize,
        /// What is wrong with it.
        fault: ViewFault,
    },
    /// Operands whose shapes do not fit the operation or each other.
    #[error("{op}: {reason}")]
    Shape {
        /// The operation.
        op: String,
        /// Which shapes, and what was expected.
        reason: String,
    },
    /// An operand that must be contiguous and is not.
    #[error("{op}: {what} must be contiguous")]
    NotContiguous {
        /// The operation.
        op: String,
        /// The operand.
        what: String,
    },
    /// Elements of another dtype than the operation, or the other operand, has.
    #[error("{op}: elements of {found} where {expected} is expected")]
    DTypes {
        /// The operation.
        op: String,
        /// The dtype it takes here.
        expected: DType,
        /// The dtype it was given.
        found: DType,
    },
    /// Operands of two devices, or of two streams of one.
    #[error("{op}: the buffers are not on one device")]
    Devices {
        /// The operation.
        op: String,
    },
    /// An id that is not a position in the dimension.
    #[error("{op}: {what} {index} at position {position} of the ids is outside a dimension of {bound}")]
    Index {
        /// The operation.
        op: String,
        /// Which ids: `id`, `token`.
        what: &'static str,
        /// The id.
        index: i64,
        /// Where it was found among the ids.
        position: usize,
        /// How many positions there are.
        bound: usize,
    },
    /// Something that a graph cannot have, asked for while one is captured, or of a buffer that one uses.
    #[error("capture of a graph: {0}")]
    Capture(String),
    /// A number that a kernel or the address space has no room for.
    #[error("{op}: {reason}")]
    TooLarge {
        /// The operation.
        op: String,
        /// Which number, and what the room is.
        reason: String,
    },
    /// A parameter outside what it may be: a stride of 0, a scale that is not finite.
    #[error("{op}: {reason}")]
    Parameter {
        /// The operation.
        op: String,
        /// Which parameter, and what it may be.
        reason: String,
    },
    /// A slice of the host with another number of elements or bytes than the buffer needs.
    #[error("{what}: {expected} are needed, {found} were given")]
    Length {
        /// What is counted.
        what: String,
        /// How many are needed.
        expected: usize,
        /// How many were given.
        found: usize,
    },
}

/// What is wrong with a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewFault {
    /// There is not one stride for each dimension.
    Strides,
    /// A contiguous view of more dimensions than [`View::contiguous`](crate::View::contiguous) counts strides for.
    Rank,
    /// The sizes' product is more than a `usize`.
    Uncountable,
    /// It reaches an element that its buffer does not have.
    Outside {
        /// The last element that it reaches.
        element: usize,
        /// How many elements the buffer has.
        len: usize,
    },
    /// The last element that it reaches is more than a `usize`.
    Unreachable,
}

impl fmt::Display for ViewFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewFault::Strides => f.write_str("has not one stride for each dimension"),
            ViewFault::Rank => write!(
                f,
                "has more than {} dimensions; give its strides",
                crate::view::INLINE
            ),
            ViewFault::Uncountable => f.write_str("has more elements than can be counted"),
            ViewFault::Outside { element, len } => {
                write!(f, "reaches element {element} of a buffer of {len}")
            }
            ViewFault::Unreachable => f.write_str("reaches further than can be counted"),
        }
    }
}

impl Error {
    /// Whether the caller's arguments are at fault: with others the call may succeed. What this build or this machine lacks
    /// is not meant, nor what failed on the device.
    pub fn is_invalid(&self) -> bool {
        match self {
            Error::NoDevice { .. }
            | Error::Replacement { .. }
            | Error::CodeObject(_)
            | Error::NoKernel { .. }
            | Error::Launch { .. }
            | Error::Argument { .. }
            | Error::View { .. }
            | Error::Shape { .. }
            | Error::NotContiguous { .. }
            | Error::DTypes { .. }
            | Error::Devices { .. }
            | Error::Index { .. }
            | Error::Capture(_)
            | Error::TooLarge { .. }
            | Error::Parameter { .. }
            | Error::Length { .. } => true,
            Error::Unsupported { .. }
            | Error::Environment(_)
            | Error::Driver { .. }
            | Error::Hip { .. }
            | Error::DeviceFault(_)
            | Error::DeviceLost { .. }
            | Error::OutOfMemory { .. }
            | Error::KernelMissing { .. }
            | Error::Compile(_) => false,
        }
    }

    pub(crate) fn shape(op: &str, reason: impl Into<String>) -> Error {
        let (op, reason) = (op.to_owned(), reason.into());
        Error::Shape { op, reason }
    }

    pub(crate) fn too_large(op: &str, reason: impl Into<String>) -> Error {
        let (op, reason) = (op.to_owned(), reason.into());
        Error::TooLarge { op, reason }
    }

    /// `dims` are together more than a `usize` counts.
    pub(crate) fn uncountable(op: &str, dims: &[usize]) -> Error {
        Error::too_large(op, format!("{dims:?} are more elements than can be counted"))
    }

    pub(crate) fn parameter(op: &str, reason: impl Into<String>) -> Error {
        let (op, reason) = (op.to_owned(), reason.into());
        Error::Parameter { op, reason }
    }

    pub(crate) fn not_contiguous(op: &str, what: &str) -> Error {
        let (op, what) = (op.to_owned(), what.to_owned());
        Error::NotContiguous { op, what }
    }

    /// `Ok` when both dtypes are the same.
    pub(crate) fn unless_same_dtype(op: &str, expected: DType, found: DType) -> Result<(), Error> {
        if expected == found {
            return Ok(());
        }
        let op = op.to_owned();
        Err(Error::DTypes { op, expected, found })
    }
}

/// How many kernels an error lists at most: code objects may hold hundreds.
const LISTED: usize = 12;

fn listed(kernels: &[String]) -> String {
    let first = &kernels[..kernels.len().min(LISTED)];
    match kernels.len() - first.len() {
        0 if first.is_empty() => "none".to_owned(),
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn named(name: Option<&String>) -> String {
    name.map_or_else(String::new, |name| format!(" (`{name}`)"))
}
