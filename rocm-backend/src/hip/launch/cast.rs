//! Launches casts: one input, a result of another dtype. Which value becomes which, the kernels say.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use super::{Args, Grid, common_context, layout_in_packs, pack_len};
use crate::view::{self, Region};
use crate::{DynBuffer, Result, module};

const OP: &str = "cast";

/// Converts a region's elements to `out`'s dtype; they go to `out`, from its start.
pub(crate) fn cast(x: &Region<'_>, out: &mut DynBuffer) -> Result<()> {
    let (from, to) = (x.buffer().dtype(), out.dtype());
    let context = common_context(OP, [x.buffer(), &*out].into_iter())?;
    view::check(OP, out.len(), &[x.numel()], &[1], 0)?;
    let op = format!("{OP}_{from}");
    let function = module::named(&context, "cast", &format!("{op}_{to}"), &op, to)?;
    if x.numel() == 0 {
        return Ok(());
    }
    let dtypes = [from, to];
    let (num_dims, table, in_packs) = layout_in_packs(&context, x.dims(), &[x.strides()], pack_len(&dtypes))?;
    let mut args = Args::default();
    args.walk(x.numel(), num_dims, table.as_ref())
        .element(x.buffer(), x.offset())
        .element(out, 0);
    let grid = Grid::over_packs(x.numel(), in_packs, &dtypes);
    // SAFETY: `cast_<from>_<to>(numel, num_dims, info, inp, out)` reads `from` and writes `to`, the buffers' dtypes. The
    // region lies inside its buffer, `out` has room for `numel` results. `table` lives to the end of this function.
    unsafe { args.submit(&op, &context, &function, grid) }
}
