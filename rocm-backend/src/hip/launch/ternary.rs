//! Launches `where`: a condition and two values of one shape, the values of one dtype.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::pieces::Pieces;
use super::turned;
use super::{Args, Grid, common_context, layout_in_packs, pack_len};
use crate::view::{self, Region};
use crate::{DType, DynBuffer, Error, Result, module};

const OP: &str = "where";

/// `cond != 0 ? t : f` for each element; the results go to `out`, from its start.
pub(crate) fn where_cond(
    cond: &Region<'_>,
    t: &Region<'_>,
    f: &Region<'_>,
    out: &mut DynBuffer,
) -> Result<()> {
    let operands = [cond, t, f];
    let (chooser, dtype) = (cond.buffer().dtype(), out.dtype());
    for value in [t, f] {
        Error::unless_same_dtype(OP, dtype, value.buffer().dtype())?;
    }
    if operands.iter().any(|operand| operand.dims() != cond.dims()) {
        return Err(Error::shape(OP, "the operands are not of one shape"));
    }
    let buffers = operands.map(Region::buffer).into_iter();
    let context = common_context(OP, buffers.chain([&*out]))?;
    view::check(OP, out.len(), &[cond.numel()], &[1], 0)?;
    let op = format!("{OP}_{chooser}");
    let function = module::named(
        &context,
        "ternary",
        &format!("{op}_{}", dtype.suffix()),
        &op,
        dtype,
    )?;
    if cond.numel() == 0 {
        return Ok(());
    }
    if chooser == DType::U8 && turned::serves(dtype) {
        let name = turned::Name {
            module: "ternary",
            op: OP,
            dtypes: &[chooser.suffix(), "_", dtype.suffix()].concat(),
        };
        if turned::map(
            &context,
            &name,
            &[],
            &operands.map(|operand| *operand),
            (out, 0),
            &[],
        )? {
            return Ok(());
        }
    }
    let strides = operands.map(Region::strides);
    let dtypes = [chooser, dtype];
    let mut done = 0;
    for piece in Pieces::of_walk(&op, cond.dims(), &strides, &context)? {
        let (num_dims, table, in_packs) =
            layout_in_packs(&context, &piece.dims, &strides, pack_len(&dtypes))?;
        let mut args = Args::default();
        args.walk(piece.numel(), num_dims, table.as_ref());
        for operand in operands {
            args.element(
                operand.buffer(),
                operand.offset() + piece.offset(operand.strides()),
            );
        }
        args.element(out, done);
        let grid = Grid::over_packs(piece.numel(), in_packs, &dtypes);
        // SAFETY: `where_<cond>_<dtype>(numel, num_dims, info, cond, t, f, out)` is of the buffers' dtypes, checked above.
        // Regions lie inside their buffers, and pieces in them; `out` has room for their results. `table` lives until the
        // launch is submitted.
        unsafe { args.submit(&op, &context, &function, grid) }?;
        done += piece.numel();
    }
    Ok(())
}
