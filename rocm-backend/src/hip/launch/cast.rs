//! Launches casts: one input, a result of another dtype. Which value becomes which, the kernels say.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::pieces::Pieces;
use super::turned;
use super::{Args, Grid, common_context, layout_in_packs, pack_len};
use crate::view::{self, Region};
use crate::{DType, DynBuffer, Result, module};

const OP: &str = "cast";

/// Whether there is a kernel for what is turned.
fn is_turned_pair(from: DType, to: DType) -> bool {
    from != to && [from, to].into_iter().all(turned::serves)
}

/// Converts a region's elements to `out`'s dtype; they go to `out`, from its start.
pub(crate) fn cast(x: &Region<'_>, out: &mut DynBuffer) -> Result<()> {
    let (from, to) = (x.buffer().dtype(), out.dtype());
    let context = common_context(OP, [x.buffer(), &*out].into_iter())?;
    view::check(OP, out.len(), &[x.numel()], &[1], 0)?;
    let op = [OP, "_", from.suffix()].concat();
    let symbol = [&op, "_", to.suffix()].concat();
    let function = module::named(&context, "cast", &symbol, &op, to)?;
    if x.numel() == 0 {
        return Ok(());
    }
    if is_turned_pair(from, to) {
        let name = turned::Name {
            module: "cast",
            op: OP,
            dtypes: &[from.suffix(), "_", to.suffix()].concat(),
        };
        if turned::map(&context, &name, &[], &[*x], (out, 0), &[])? {
            return Ok(());
        }
    }
    let dtypes = [from, to];
    let mut done = 0;
    for piece in Pieces::of_walk(&op, x.dims(), &[x.strides()], &context)? {
        let (num_dims, table, in_packs) =
            layout_in_packs(&context, &piece.dims, &[x.strides()], pack_len(&dtypes))?;
        let mut args = Args::default();
        args.walk(piece.numel(), num_dims, table.as_ref())
            .element(x.buffer(), x.offset() + piece.offset(x.strides()))
            .element(out, done);
        let grid = Grid::over_packs(piece.numel(), in_packs, &dtypes);
        // SAFETY: `cast_<from>_<to>(numel, num_dims, info, inp, out)` reads `from` and writes `to`, the buffers' dtypes. The
        // region lies inside its buffer, and pieces in it; `out` has room for their results. `table` lives until the launch is
        // submitted.
        unsafe { args.submit(&op, &context, &function, grid) }?;
        done += piece.numel();
    }
    Ok(())
}
