//! Functions of one tensor.

use crate::hip::launch::elementwise as launch;
use crate::kernel::{Family, Kernel};
use crate::{Buffer, Result, Scalar, View};

/// `f(x)` for each element. `kernel` is `uexp`, `ulog`, `usqrt`, …
///
/// # Errors
/// `Error::Unsupported` for a kernel that is not there for the dtype, `Error::Invalid` for a view that leaves its
/// buffer, `Error::OutOfMemory`, `Error::Hip`, `Error::DeviceFault`.
pub fn unary(kernel: &str, x: View<'_>) -> Result<Buffer> {
    run(Family::Unary, kernel, None, x)
}

/// `f(x, param)` for each element. `kernel` is `upowf` or `uelu`; `param` is rounded to the dtype.
///
/// # Errors
/// As [`unary`].
pub fn unary_param(kernel: &str, param: f64, x: View<'_>) -> Result<Buffer> {
    run(Family::UnaryParam, kernel, Some(param), x)
}

fn run(family: Family, kernel: &str, param: Option<f64>, x: View<'_>) -> Result<Buffer> {
    let dtype = x.buffer.dtype();
    let kernel = Kernel::find(family, kernel, dtype)?;
    let x = x.check(kernel.name)?;
    let mut out = Buffer::new(x.buffer().device(), dtype, x.numel())?;
    let param = param.map(|param| Scalar::from_f64(dtype, param));
    launch::map(kernel, param.as_slice(), &[x], &mut out, 0, &[])?;
    Ok(out)
}
