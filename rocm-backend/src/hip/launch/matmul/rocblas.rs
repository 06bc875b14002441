//! Which products rocBLAS can take as they lie, and how they look to it. It takes matrices by columns, so a row-major
//! product is handed over as that of the transposed matrices in turned order, which lie exactly so.
#![expect(unsafe_code, reason = "calls rocBLAS with the addresses of matrices")]

use std::sync::Arc;

use crate::hip::blas::{self, Gemm, GemmOperand};
use crate::hip::context::Context;
use crate::libraries::computing;
use crate::trace::Level;
use crate::{DynBuffer, Library, Result};

use super::{Matrices, Product};

/// Whether a library multiplies matrices for `context`.
pub(in crate::hip::launch) fn is_there(context: &Context) -> bool {
    match context.info().driver().rocblas() {
        Library::Absent(_) => false,
        Library::System(_) | Library::Model => true,
    }
}

/// Computes `call` for `op` by the library, which [`is_there`]; says whether. False where it has no kernel for the product:
/// nothing was done.
///
/// # Safety
/// As [`blas::Handle::gemm`], for memory of `context`.
pub(in crate::hip::launch) unsafe fn serve(op: &'static str, context: &Context, call: &Gemm) -> Result<bool> {
    // SAFETY: the caller's promise; the handle's stream is the context's one stream.
    let is_done = context.with_rocblas(|handle| unsafe { handle.gemm(call) })?;
    if is_done {
        let driver = context.info().driver();
        let (by, level) = (computing(blas::GEMM, driver), Level::of(driver));
        context.ledger().add(op, by, level);
        context.ledger().trace(&Arc::from(by), None, level);
    }
    Ok(is_done)
}

/// The call that computes `product` to `out`, if rocBLAS can read the operands where they lie.
pub(super) fn call(product: &Product<'_>, out: &DynBuffer) -> Option<Gemm> {
    let Product { m, n, k, batch, .. } = *product;
    Some(Gemm {
        dtype: product.dtype,
        out_dtype: product.dtype,
        m: i32::try_from(n).ok()?,
        n: i32::try_from(m).ok()?,
        k: i32::try_from(k).ok()?,
        batch: i32::try_from(batch).ok()?,
        a: operand(&product.r, [k, n])?,
        b: operand(&product.l, [m, k])?,
        out: out.memory().block().address(),
        out_ld: i32::try_from(n).ok()?,
    })
}

fn operand(matrices: &Matrices<'_>, sizes: [usize; 2]) -> Option<GemmOperand> {
    let (is_transposed, ld) = leading(sizes, matrices.row, matrices.col)?;
    let buffer = matrices.region.buffer();
    let offset = matrices.region.offset() * buffer.dtype().size_in_bytes();
    Some(GemmOperand {
        address: buffer.memory().block().address() + offset,
        is_transposed,
        ld: i32::try_from(ld).ok()?,
        stride: i64::try_from(matrices.common_batch()?).ok()?,
    })
}

/// Of a matrix of `rows` x `cols` elements `row` and `col` apart: whether its columns, not its rows, are runs of adjacent
/// elements, and how far apart those runs lie. None when neither are, or when runs overlap.
fn leading([rows, cols]: [usize; 2], row: usize, col: usize) -> Option<(bool, usize)> {
    // A run's distance means nothing where there is one run only; a library wants it to be long enough all the same.
    let apart = |runs: usize, len: usize, stride: usize| if runs == 1 { len } else { stride };
    let (by_rows, by_cols) = (apart(rows, cols, row), apart(cols, rows, col));
    if (col == 1 || cols == 1) && by_rows >= cols {
        Some((false, by_rows))
    } else if (row == 1 || rows == 1) && by_cols >= rows {
        Some((true, by_cols))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::leading;

    #[test]
    fn runs_of_adjacent_elements_are_found_along_rows_or_columns() {
        assert_eq!(leading([3, 4], 4, 1), Some((false, 4)));
        assert_eq!(
            leading([3, 4], 9, 1),
            Some((false, 9)),
            "rows further apart than they are long"
        );
        assert_eq!(leading([3, 4], 1, 3), Some((true, 3)));
        assert_eq!(leading([3, 4], 1, 8), Some((true, 8)));
    }

    #[test]
    fn the_stride_of_one_row_or_column_means_nothing() {
        assert_eq!(leading([1, 4], 0, 1), Some((false, 4)));
        assert_eq!(
            leading([3, 1], 1, 0),
            Some((false, 1)),
            "a column is as many rows of one"
        );
        assert_eq!(leading([3, 1], 5, 77), Some((false, 5)));
        assert_eq!(leading([1, 4], 77, 6), Some((true, 6)));
        assert_eq!(leading([1, 1], 0, 0), Some((false, 1)));
    }

    #[test]
    fn what_has_no_runs_or_overlapping_ones_is_not_handed_over() {
        assert_eq!(leading([3, 4], 8, 2), None);
        assert_eq!(leading([3, 4], 0, 1), None, "a row repeated");
        assert_eq!(leading([3, 4], 1, 0), None, "a column repeated");
        assert_eq!(leading([3, 4], 3, 1), None, "rows that overlap");
        assert_eq!(leading([3, 1], 0, 1), None);
    }
}
