//! Softmax and norms: launches of a workgroup a contiguous row.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::reduce::{Crowds, MOST, row_grid, rows_together, short, whole_packs, workgroup};
use super::{Args, common_context};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, Result, module};

/// Rows of one launch: the kernels take their number from the grid, and HIP wants grid times block below 2^32.
const ROWS_AT_ONCE: usize = 1 << 21;

/// Threads of a workgroup whose row has no room in registers, as `LONG_MOST` of `kernels/norm.h` has it; half as many of f64.
const LONG: usize = 1024;

/// The kernel of the family for as many weights: none, a scale, a scale and a shift. All rows share the weights.
const KERNELS: [&str; 3] = ["softmax", "rmsnorm", "layernorm"];

/// Normalizes the rows that the last dimension of `x` makes. `eps` is the norms'; softmax has none.
pub(crate) fn rows(x: &Region<'_>, weights: &[Region<'_>], eps: f32) -> Result<DynBuffer> {
    let kernel = *KERNELS.get(weights.len()).unwrap_or(&"norm");
    let invalid = |what: String| Err(Error::shape(kernel, what));
    let (device, dtype) = (x.buffer().device(), x.buffer().dtype());
    let buffers = weights.iter().map(Region::buffer);
    let context = common_context(kernel, buffers.chain([x.buffer()]))?;
    let Some(&cols) = x.dims().last() else {
        return invalid("a tensor without dimensions has no rows".to_owned());
    };
    let short = short(x, cols);
    // Packs of a row that a thread holds, as `HELD_WIDE` of `kernels/norm.h` has it.
    let held = if dtype.size_in_bytes() <= 2 { 4 } else { 8 };
    let is_long = weights.is_empty() && whole_packs(x, cols).is_some_and(|packs| packs > MOST * held);
    let suffix = match short {
        Some(_) => "_short",
        None if is_long => "_long",
        None => "",
    };
    let function = module::named(
        &context,
        "reduce",
        &[kernel, suffix, "_", dtype.suffix()].concat(),
        kernel,
        dtype,
    )?;
    for weight in weights {
        Error::unless_same_dtype(kernel, dtype, weight.buffer().dtype())?;
    }
    if let Some(other) = weights.iter().find(|weight| weight.dims() != [cols]) {
        return invalid(format!("rows of {cols} elements, weights of {:?}", other.dims()));
    }
    if x.numel() == 0 {
        return DynBuffer::uninit(device, dtype, 0);
    }
    if !x.is_contiguous() || !weights.iter().all(Region::is_contiguous) {
        return Err(Error::not_contiguous(kernel, "the operands"));
    }
    let Some(number) = u32::try_from(cols).ok().filter(|&cols| cols <= i32::MAX as u32) else {
        let reason = format!("rows of {cols} elements; kernels count in 31 bits");
        return Err(Error::too_large(kernel, reason));
    };

    let out = DynBuffer::uninit(device, dtype, x.numel())?;
    let rows = x.numel() / cols;
    let threads = match short {
        Some(threads) => threads,
        None if is_long && dtype == DType::F64 => LONG / 2,
        None if is_long => LONG,
        None => workgroup(rows, cols, dtype, held, Crowds::of(&context)),
    };
    let together = rows_together(rows, threads);
    let mut first = 0;
    while first < rows {
        // The kernels are not told how many rows there are: those that fill no workgroup come last, one a workgroup.
        let left = rows - first;
        let each = if left < together { 1 } else { together };
        let groups = (left / each).min(ROWS_AT_ONCE / each);
        let mut args = Args::default();
        args.element(x.buffer(), x.offset() + first * cols)
            .element(&out, first * cols);
        for weight in weights {
            args.element(weight.buffer(), weight.offset());
        }
        args.int(number);
        if !weights.is_empty() {
            args.int(threads as u32).f32(eps);
        }
        let grid = row_grid(groups, threads, each);
        // SAFETY: the arguments are the kernel's for so many weights, all of its dtype. Regions lie inside their
        // buffers and are contiguous; each y of a workgroup reads and writes its own row of `cols` elements, which `x` and
        // `out` have, and `cols` elements of each weight.
        unsafe { args.submit(kernel, &context, &function, grid) }?;
        first += groups * each;
    }
    Ok(out)
}
