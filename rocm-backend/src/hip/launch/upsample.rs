//! Launches upsampling: images of another size, by the nearest element or a mixture of four.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::sync::Arc;

use super::conv::MODULE;
use super::{Args, Grid, common_context, table};
use crate::hip::context::Context;
use crate::hip::module::Function;
use crate::view::{self, Region};
use crate::{DynBuffer, Error, Result, module};

/// What every upsampling needs: its context and kernel, and how many results there are. `size` is what the last
/// dimensions of `x` become.
fn prepared(
    op: &'static str,
    x: &Region<'_>,
    size: &[usize],
    out: &DynBuffer,
) -> Result<(Arc<Context>, Function, usize)> {
    let dtype = out.dtype();
    let (outer, input) = x.dims().split_at_checked(2).unwrap_or_default();
    let results = outer
        .iter()
        .chain(size)
        .try_fold(1_usize, |n, &dim| n.checked_mul(dim));
    let fits = input.len() == size.len() && x.buffer().dtype() == dtype;
    let Some(results) = results.filter(|&results| fits && (results == 0 || x.numel() > 0)) else {
        return Err(Error::shape(op, "the operands do not fit together"));
    };
    view::check(op, out.len(), &[results], &[1], 0)?;
    let context = common_context(op, [x.buffer(), out].into_iter())?;
    let function = module::named(&context, MODULE, &format!("{op}_{dtype}"), op, dtype)?;
    Ok((context, function, results))
}

/// The nearest element for each of `size`.
pub(crate) fn nearest(op: &'static str, x: &Region<'_>, size: &[usize], out: &mut DynBuffer) -> Result<()> {
    let (context, function, results) = prepared(op, x, size, out)?;
    let info = table(&context, &[x.dims(), x.strides()])?;
    let mut args = Args::default();
    for &number in size {
        args.size(number);
    }
    for (&input, &output) in x.dims()[2..].iter().zip(size) {
        args.f64(input as f64 / output as f64);
    }
    args.table(Some(&info))
        .element(x.buffer(), x.offset())
        .element(out, 0);
    // SAFETY: `upsample_nearest1d_<dtype>(l_out, l_scale, info, src, dst)` and `upsample_nearest2d_<dtype>(h_out, w_out,
    // h_scale, w_scale, info, src, dst)` are of the buffers' dtype. The kernel keeps to the region whatever the scale, and
    // `out` has room for the results. `info` lives to the end of this function.
    unsafe { args.submit(op, &context, &function, Grid::over(results)) }
}

/// A mixture of four for each of `h` times `w`; scales are results for one element.
pub(crate) fn bilinear(
    op: &'static str,
    x: &Region<'_>,
    [h, w]: [usize; 2],
    align_corners: bool,
    scales: [Option<f64>; 2],
    out: &mut DynBuffer,
) -> Result<()> {
    let (context, function, results) = prepared(op, x, &[h, w], out)?;
    let info = table(&context, &[x.dims(), x.strides()])?;
    let mut args = Args::default();
    args.size(w).size(h).int(align_corners.into());
    for scale in scales {
        args.int(scale.is_some().into()).f64(scale.unwrap_or(0.0));
    }
    args.table(Some(&info))
        .element(x.buffer(), x.offset())
        .element(out, 0);
    // SAFETY: `upsample_bilinear2d_<dtype>(w_out, h_out, align_corners, has_scale_h, scale_h, has_scale_w, scale_w, info,
    // src, dst)` is of the buffers' dtype, a bool being one byte of 0 or 1. The kernel keeps to the region whatever the
    // scales, and `out` has room for the results. `info` lives to the end of this function.
    unsafe { args.submit(op, &context, &function, Grid::over(results)) }
}
