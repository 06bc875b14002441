//! A launch of a caller's kernel in the making, and its check against what the kernel declares. It is submitted in
//! hip/launch/custom.rs.

use std::fmt;
use std::sync::Arc;

use float8::F8E4M3;
use half::{bf16, f16};

use super::Module;
use super::image::{ParamKind, Signature};
use crate::buffer::sealed::Sealed as _;
use crate::hip::launch::Grid;
use crate::hip::module::LoadedKernel;
use crate::{Buffer, DynBuffer, Error, Result, Scalar};

/// LDS of a workgroup, in bytes: what every AMD GPU with HIP has.
const LDS: usize = 64 << 10;

/// A kernel about to be launched: how many workgroups of how many threads, and the arguments. [`Launch::launch`] checks
/// them against the kernel's own declaration and submits it.
#[must_use = "nothing runs before `launch`"]
pub struct Launch<'a> {
    pub(crate) name: String,
    pub(crate) function: LoadedKernel,
    pub(crate) module: Module,
    pub(crate) grid: Grid,
    pub(crate) args: Vec<Arg<'a>>,
    signature: Arc<Signature>,
}

/// A kernel's argument: a buffer, shared or exclusive and perhaps from an element on, or a value.
///
/// Made by `From`, from `&Buffer`, `&mut Buffer`, `(&Buffer, usize)` and `(&mut Buffer, usize)` (the first element), the same of
/// [`DynBuffer`], every number of 8 to 64 bits, `bool`, and [`Scalar`]. A struct by value cannot be passed.
#[derive(Debug)]
pub struct Arg<'a>(pub(crate) ArgKind<'a>);

#[derive(Debug)]
pub(crate) enum ArgKind<'a> {
    Read(&'a DynBuffer, usize),
    Write(&'a mut DynBuffer, usize),
    /// The bytes in the low end of a word, how many, and their type.
    Value(u64, usize, &'static str),
}

/// Sizes in x, y and z, made from one number, two or three; those left out are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dims([usize; 3]);

impl From<usize> for Dims {
    fn from(x: usize) -> Dims {
        Dims([x, 1, 1])
    }
}

impl From<[usize; 2]> for Dims {
    fn from([x, y]: [usize; 2]) -> Dims {
        Dims([x, y, 1])
    }
}

impl From<[usize; 3]> for Dims {
    fn from(sizes: [usize; 3]) -> Dims {
        Dims(sizes)
    }
}

impl<'a> From<&'a DynBuffer> for Arg<'a> {
    fn from(buffer: &'a DynBuffer) -> Arg<'a> {
        Arg(ArgKind::Read(buffer, 0))
    }
}

impl<'a> From<&'a mut DynBuffer> for Arg<'a> {
    fn from(buffer: &'a mut DynBuffer) -> Arg<'a> {
        Arg(ArgKind::Write(buffer, 0))
    }
}

impl<'a, T> From<&'a Buffer<T>> for Arg<'a> {
    fn from(buffer: &'a Buffer<T>) -> Arg<'a> {
        Arg(ArgKind::Read(buffer, 0))
    }
}

impl<'a, T> From<&'a mut Buffer<T>> for Arg<'a> {
    fn from(buffer: &'a mut Buffer<T>) -> Arg<'a> {
        Arg(ArgKind::Write(buffer.dyn_mut(), 0))
    }
}

impl<'a, T> From<(&'a Buffer<T>, usize)> for Arg<'a> {
    fn from((buffer, first): (&'a Buffer<T>, usize)) -> Arg<'a> {
        Arg(ArgKind::Read(buffer, first))
    }
}

impl<'a, T> From<(&'a mut Buffer<T>, usize)> for Arg<'a> {
    fn from((buffer, first): (&'a mut Buffer<T>, usize)) -> Arg<'a> {
        Arg(ArgKind::Write(buffer.dyn_mut(), first))
    }
}

impl<'a> From<(&'a DynBuffer, usize)> for Arg<'a> {
    fn from((buffer, first): (&'a DynBuffer, usize)) -> Arg<'a> {
        Arg(ArgKind::Read(buffer, first))
    }
}

impl<'a> From<(&'a mut DynBuffer, usize)> for Arg<'a> {
    fn from((buffer, first): (&'a mut DynBuffer, usize)) -> Arg<'a> {
        Arg(ArgKind::Write(buffer, first))
    }
}

impl From<Scalar> for Arg<'_> {
    fn from(value: Scalar) -> Self {
        let dtype = value.dtype();
        let word = u64::from_le_bytes(value.to_kernel_arg());
        Arg(ArgKind::Value(word, dtype.size_in_bytes(), dtype.suffix()))
    }
}

/// Host types that are a kernel's by their bytes.
macro_rules! values {
    ($($host:ty, |$v:ident| $bytes:expr;)*) => {$(
        impl From<$host> for Arg<'_> {
            fn from($v: $host) -> Self {
                let (mut word, bytes) = ([0; 8], $bytes);
                word[..bytes.len()].copy_from_slice(&bytes);
                Arg(ArgKind::Value(u64::from_le_bytes(word), bytes.len(), stringify!($host)))
            }
        }
    )*};
}

values! {
    bool, |v| [u8::from(v)];
    u8, |v| v.to_le_bytes();
    i8, |v| v.to_le_bytes();
    u16, |v| v.to_le_bytes();
    i16, |v| v.to_le_bytes();
    u32, |v| v.to_le_bytes();
    i32, |v| v.to_le_bytes();
    u64, |v| v.to_le_bytes();
    i64, |v| v.to_le_bytes();
    usize, |v| v.to_le_bytes();
    isize, |v| v.to_le_bytes();
    bf16, |v| v.to_le_bytes();
    f16, |v| v.to_le_bytes();
    f32, |v| v.to_le_bytes();
    f64, |v| v.to_le_bytes();
    F8E4M3, |v| [v.to_bits()];
}

impl Arg<'_> {
    /// The buffer and the first element, unless it is a value.
    fn buffer(&self) -> Option<(&DynBuffer, usize)> {
        match &self.0 {
            ArgKind::Read(buffer, first) => Some((buffer, *first)),
            ArgKind::Write(buffer, first) => Some((buffer, *first)),
            ArgKind::Value(..) => None,
        }
    }
}

impl fmt::Display for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ArgKind::Read(buffer, _) => write!(f, "a buffer of {}", buffer.dtype()),
            ArgKind::Write(buffer, _) => write!(f, "a mutable buffer of {}", buffer.dtype()),
            ArgKind::Value(_, 1, name) => write!(f, "{name}, 1 byte"),
            ArgKind::Value(_, size, name) => write!(f, "{name}, {size} bytes"),
        }
    }
}

impl<'a> Launch<'a> {
    pub(crate) fn new(
        module: Module,
        name: &str,
        function: LoadedKernel,
        signature: Arc<Signature>,
    ) -> Launch<'a> {
        Launch {
            name: name.to_owned(),
            function,
            module,
            grid: Grid::of(1, 1),
            args: Vec::with_capacity(signature.params.len()),
            signature,
        }
    }

    /// How many workgroups run: HIP's `gridDim`.
    pub fn grid(mut self, workgroups: impl Into<Dims>) -> Launch<'a> {
        self.grid.blocks = workgroups.into().0;
        self
    }

    /// How many threads a workgroup has: HIP's `blockDim`.
    pub fn workgroup(mut self, threads: impl Into<Dims>) -> Launch<'a> {
        self.grid.threads = threads.into().0;
        self
    }

    /// LDS of a workgroup beside what the kernel declares, in bytes: its `extern __shared__` array.
    pub fn dynamic_lds(mut self, bytes: usize) -> Launch<'a> {
        self.grid.lds = bytes;
        self
    }

    /// The next argument, in the order of the kernel's declaration.
    pub fn arg(mut self, arg: impl Into<Arg<'a>>) -> Launch<'a> {
        self.args.push(arg.into());
        self
    }

    /// All that can be known before the kernel runs.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_shape()?;
        let (declared, given) = (self.signature.params.len(), self.args.len());
        (0..declared.max(given)).try_for_each(|i| self.check_argument(i))
    }

    fn check_shape(&self) -> Result<()> {
        let Grid {
            blocks, threads, lds, ..
        } = self.grid;
        let refuse = |reason: String| {
            let kernel = self.name.clone();
            Err(Error::Launch { kernel, reason })
        };
        if blocks.contains(&0) || threads.contains(&0) {
            return refuse(format!(
                "a grid of {blocks:?} workgroups of {threads:?} threads has no thread; HIP launches none"
            ));
        }
        let allowed = self.signature.max_threads;
        let count = threads.iter().try_fold(1, |all: usize, &n| all.checked_mul(n));
        if count.is_none_or(|count| count > allowed) {
            return refuse(format!(
                "a workgroup of {threads:?} threads; the kernel is compiled for {allowed} at most"
            ));
        }
        let declared = self.signature.static_lds;
        if declared.checked_add(lds).is_none_or(|all| all > LDS) {
            return refuse(format!(
                "{lds} bytes of dynamic LDS and {declared} of the kernel's own; a workgroup has {LDS}"
            ));
        }
        Ok(())
    }

    /// Checks argument `i`, counted from 0, of those declared and those given.
    fn check_argument(&self, i: usize) -> Result<()> {
        let (param, arg) = (self.signature.params.get(i), self.args.get(i));
        let refuse = |reason: String| {
            Err(Error::Argument {
                kernel: self.name.clone(),
                position: i + 1,
                name: param.and_then(|param| param.name.clone()),
                reason,
            })
        };
        let (param, arg) = match (param, arg) {
            (Some(param), Some(arg)) => (param, arg),
            (Some(param), None) => return refuse(format!("the kernel declares {param}; nothing was given")),
            (None, Some(arg)) => {
                let declared = self.signature.params.len();
                return refuse(format!(
                    "the kernel declares {declared} arguments; {arg} was given beyond"
                ));
            }
            (None, None) => return Ok(()),
        };
        let fits = match (&param.kind, &arg.0) {
            (ParamKind::Value, ArgKind::Value(_, size, _)) => *size == param.size,
            (ParamKind::Pointer, ArgKind::Read(..) | ArgKind::Write(..)) => true,
            _ => false,
        };
        if !fits {
            return refuse(format!("the kernel declares {param}; {arg} was given"));
        }
        match arg.buffer() {
            Some((buffer, _)) if !buffer.device().same(self.module.device()) => refuse(
                "the buffer lives on another device than the module, or on another handle of it".to_owned(),
            ),
            Some((buffer, first)) if first > buffer.len() => refuse(format!(
                "element {first} of a buffer of {} elements is asked for",
                buffer.len()
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Launch({} over {:?} with {:?})",
            self.name, self.grid, self.args
        )
    }
}
