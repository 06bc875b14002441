//! Rotary embeddings: launches of a thread a pair.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::pieces::Pieces;
use super::{Args, Grid, PACK, common_context};
use crate::view::Region;
use crate::{DynBuffer, Error, Result, module};

/// Which elements make a pair, and how the four dimensions lie.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pairs {
    /// Batch, head, position, element; pairs half a head dimension apart.
    Halves,
    /// Batch, head, position, element; pairs of neighbours.
    Neighbours,
    /// Batch, position, head, element; pairs half a head dimension apart.
    HalvesThd,
}

impl Pairs {
    fn kernel(self) -> &'static str {
        match self {
            Pairs::Halves => "rope",
            Pairs::Neighbours => "rope_i",
            Pairs::HalvesThd => "rope_thd",
        }
    }
}

/// Turns each pair of `x` by the angle of its position; `cos` and `sin` are the angles'.
pub(crate) fn rotate(pairs: Pairs, x: &Region<'_>, cos: &Region<'_>, sin: &Region<'_>) -> Result<DynBuffer> {
    let kernel = pairs.kernel();
    let invalid = |what: String| Err(Error::shape(kernel, what));
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    let operands = [x, cos, sin];
    let context = common_context(kernel, operands.into_iter().map(Region::buffer))?;
    let symbol = [kernel, "_", dtype.suffix()].concat();
    let function = module::named(&context, "reduce", &symbol, kernel, dtype)?;
    for other in [cos, sin] {
        Error::unless_same_dtype(kernel, dtype, other.buffer().dtype())?;
    }
    let &[b, second, third, d] = x.dims() else {
        return invalid(format!("an input of {:?}; expected four dimensions", x.dims()));
    };
    let (h, t) = match pairs {
        Pairs::Halves | Pairs::Neighbours => (second, third),
        Pairs::HalvesThd => (third, second),
    };
    let fits = |angles: &Region<'_>| match *angles.dims() {
        [positions, half] => positions >= t && half.checked_mul(2) == Some(d),
        [batches, positions, half] => batches == b && positions >= t && half.checked_mul(2) == Some(d),
        _ => false,
    };
    if !fits(cos) || !fits(sin) {
        return invalid(format!(
            "cos of {:?} and sin of {:?} for an input of {:?}; expected {t} positions or more of half a head dimension, \
             for each batch or for all",
            cos.dims(),
            sin.dims(),
            x.dims()
        ));
    }
    if cos.dims().len() != sin.dims().len() {
        return invalid(format!(
            "cos of {:?} and sin of {:?}; expected both for each batch, or both for all",
            cos.dims(),
            sin.dims()
        ));
    }
    if x.numel() == 0 {
        return DynBuffer::uninit(device, dtype, 0);
    }
    if !operands.into_iter().all(Region::is_contiguous) {
        return Err(Error::not_contiguous(kernel, "the operands"));
    }
    // How far apart the angles of two batches lie. The regions hold that many elements: no product overflows.
    let apart = |angles: &Region<'_>| match *angles.dims() {
        [_, positions, half] => positions * half,
        _ => 0,
    };
    let strides = [h * t * d, apart(cos), apart(sin)];
    let [batch, ..] = strides;
    // The kernel takes angles that lie `t` positions apart. Where there are more, each batch gets a launch of its own.
    let is_batched = cos.dims().len() == 3;
    let at_once = !is_batched || strides[1..] == [t * d / 2; 2];
    let stride_b = if is_batched && at_once { batch } else { 0 };
    let out = DynBuffer::uninit(device, dtype, x.numel())?;
    let count = if at_once { b } else { 1 };
    for first in (0..b).step_by(count) {
        let at = strides.map(|stride| first * stride);
        for piece in Pieces::of(kernel, &[count, batch], 1, &context)? {
            let b = piece.numel() / batch;
            let numbers = match pairs {
                Pairs::Halves => vec![b * h, t * d, d, stride_b],
                Pairs::Neighbours => vec![b * h, t * d, stride_b],
                Pairs::HalvesThd => vec![b, t, h, d, stride_b],
            };
            let mut args = Args::default();
            for ((operand, stride), at) in operands.into_iter().zip(strides).zip(at) {
                args.element(operand.buffer(), operand.offset() + at + piece.offset(&[stride]));
            }
            args.element(&out, at[0] + piece.offset(&[batch]));
            for number in numbers {
                // A piece's elements fit 31 bits, and these are factors of their number or 0.
                args.int(number as u32);
            }
            // Whether the kernel will take packs is for it to find out, from the addresses; it strides over any grid.
            let together = match pairs {
                Pairs::Halves | Pairs::HalvesThd => d / 2,
                Pairs::Neighbours => d,
            };
            let in_packs = (together * dtype.size_in_bytes()).is_multiple_of(PACK);
            let grid = Grid::over_packs(piece.numel() / 2, in_packs, &[dtype]);
            // SAFETY: the arguments are the kernel's, all of its dtype. Regions lie inside their buffers and are contiguous.
            // Pairs lie in the first `numel` elements of `x` and `out`, from the piece's first batch on. Angles read are those of the
            // first t positions of the piece's batches: as many as there are where the launch takes several batches.
            unsafe { args.submit(kernel, &context, &function, grid) }?;
        }
    }
    Ok(out)
}
