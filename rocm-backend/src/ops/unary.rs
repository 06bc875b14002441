//! Functions of one tensor.

use crate::hip::launch::elementwise as launch;
use crate::kernel::{Kernel, Unary, UnaryParam};
use crate::{DynBuffer, Result, Scalar, View};

/// `op(x)` for each element.
///
/// # Errors
/// `Error::Unsupported` where the kernel is not there for the dtype, `Error::View` for a view that leaves its buffer,
/// `Error::OutOfMemory`, `Error::Hip`, `Error::DeviceFault`.
pub fn unary(op: Unary, x: View<'_>) -> Result<DynBuffer> {
    run(op.kernel(), None, x)
}

/// `op(x, param)` for each element; `param` is rounded to the dtype.
///
/// # Errors
/// As [`unary`].
pub fn unary_param(op: UnaryParam, param: f64, x: View<'_>) -> Result<DynBuffer> {
    run(op.kernel(), Some(param), x)
}

fn run(kernel: Kernel, param: Option<f64>, x: View<'_>) -> Result<DynBuffer> {
    let dtype = x.buffer().dtype();
    kernel.supports(dtype)?;
    let x = x.check(kernel.name)?;
    let mut out = DynBuffer::uninit(x.buffer().device(), dtype, x.numel())?;
    let param = param.map(|param| Scalar::from_f64(dtype, param));
    launch::map(kernel, param.as_slice(), &[x], &mut out, 0, &[])?;
    Ok(out)
}
