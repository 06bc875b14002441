//! Launches upsampling: images of another size, by the nearest element or a mixture of four.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::sync::Arc;

use super::conv::MODULE;
use super::pieces::Pieces;
use super::{Args, Grid, common_context, table};
use crate::hip::context::{Context, LayoutTable};
use crate::hip::module::LoadedKernel;
use crate::view::{self, Region};
use crate::{DynBuffer, Error, Result, module};

/// What every upsampling needs: its context and kernel. `size` is what the last dimensions of `x` become.
fn prepared(
    op: &'static str,
    x: &Region<'_>,
    size: &[usize],
    out: &DynBuffer,
) -> Result<(Arc<Context>, LoadedKernel)> {
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
    let function = module::named(&context, MODULE, &format!("{op}_{}", dtype.suffix()), op, dtype)?;
    Ok((context, function))
}

/// One launch of several: what `info` is, the first elements in `x` and in the result, and its results.
struct Part {
    info: LayoutTable,
    from: usize,
    to: usize,
    results: usize,
}

/// The launches, each of some images of `x`, which become of `size`.
fn parts(
    op: &'static str,
    context: &Arc<Context>,
    x: &Region<'_>,
    size: &[usize],
) -> Result<impl Iterator<Item = Result<Part>>> {
    let (outer, input) = x.dims().split_at(2);
    let image = size.iter().fold(1_usize, |n, &dim| n.saturating_mul(dim));
    let (channels, (&width, rest)) = (outer[1], size.split_last().unwrap_or((&1, &[])));
    let height = rest.first().copied().unwrap_or(1);
    let dims = [outer[0], channels, image];
    let pieces: Vec<_> = Pieces::of(op, &dims, 2, context)?.collect();
    Ok(pieces.into_iter().map(move |piece| {
        let dims = [&piece.dims[..2], input].concat();
        let divided = [width, height, piece.dims[1]];
        Ok(Part {
            info: table(context, &[&dims, x.strides()], &divided, &[])?,
            from: x.offset() + piece.offset(x.strides()),
            to: piece.offset(&[channels.saturating_mul(image), image]),
            results: piece.numel(),
        })
    }))
}

/// The nearest element for each of `size`.
pub(crate) fn nearest(op: &'static str, x: &Region<'_>, size: &[usize], out: &mut DynBuffer) -> Result<()> {
    let (context, function) = prepared(op, x, size, out)?;
    for part in parts(op, &context, x, size)? {
        let part = part?;
        let mut args = Args::default();
        for &number in size {
            args.size(number);
        }
        for (&input, &output) in x.dims()[2..].iter().zip(size) {
            args.f64(per_result(input, output));
        }
        args.table(Some(&part.info))
            .element(x.buffer(), part.from)
            .element(out, part.to);
        // SAFETY: `upsample_nearest1d_<dtype>(l_out, l_scale, info, src, dst)` and `upsample_nearest2d_<dtype>(h_out, w_out,
        // h_scale, w_scale, info, src, dst)` are of the buffers' dtype. The kernel keeps to the region whatever the scale, and
        // `out` has room for the results. `info` lives until the launch is submitted.
        unsafe { args.submit(op, &context, &function, Grid::over(part.results)) }?;
    }
    Ok(())
}

/// Elements of the input for one of the result, rounded up. The kernel multiplies by it: 49 times the nearest number to 2 / 98
/// is below 1, and the element at 1 would not be there. Rounded up it is at most two roundings above, which reach no other element
/// while the input times the result has fewer than 2^50 of them.
fn per_result(input: usize, output: usize) -> f64 {
    let (input, output) = (input as f64, output as f64);
    let nearest = input / output;
    // Exact: the remainder of a quotient that is rounded to nearest is a number of f64.
    if nearest.mul_add(output, -input) < 0.0 {
        nearest.next_up()
    } else {
        nearest
    }
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
    let (context, function) = prepared(op, x, &[h, w], out)?;
    for part in parts(op, &context, x, &[h, w])? {
        let part = part?;
        let mut args = Args::default();
        args.size(w).size(h).int(align_corners.into());
        for scale in scales {
            args.int(scale.is_some().into()).f64(scale.unwrap_or(0.0));
        }
        args.table(Some(&part.info))
            .element(x.buffer(), part.from)
            .element(out, part.to);
        // SAFETY: `upsample_bilinear2d_<dtype>(w_out, h_out, align_corners, has_scale_h, scale_h, has_scale_w, scale_w, info,
        // src, dst)` is of the buffers' dtype, a bool being one byte of 0 or 1. The kernel keeps to the region whatever the
        // scales, and `out` has room for the results. `info` lives until the launch is submitted.
        unsafe { args.submit(op, &context, &function, Grid::over(part.results)) }?;
    }
    Ok(())
}
