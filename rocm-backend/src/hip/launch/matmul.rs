//! Matrix products: by rocBLAS where there is one that can read the operands as they lie; else by the tiled kernel, or
//! for one to four rows or columns by the matrix-vector kernel.
#![expect(
    unsafe_code,
    reason = "submits kernels and library calls with the addresses of their arguments"
)]

pub(super) mod rocblas;

use std::sync::Arc;

use super::{Args, Grid, common_context, layout};
use crate::hip::context::{Context, LayoutTable};
use crate::hip::module::LoadedKernel;
use crate::trace::Level;
use crate::view::{self, Region};
use crate::{DType, DynBuffer, Error, Result, module};

/// The name in errors.
const OP: &str = "matmul";
/// Results along a side of the tile of a workgroup of one wave, and of one of four, as `kernels/gemm.h` has them.
const WAVE_TILE: usize = 32;
const TILE: usize = 2 * WAVE_TILE;
const TILE_WAVES: usize = 4;
/// Threads of a matrix-vector workgroup, there as well.
const LINE: usize = 256;
/// Rows or columns that the matrix-vector kernel takes at most.
const FEW: usize = 4;
/// Adjacent bytes that the lanes of one row of a matrix-vector product read at once.
const SEGMENT: usize = 64;
/// Threads that a matrix-vector product should have where its matrix allows it: enough to occupy a GPU.
const OCCUPANCY: usize = 1 << 14;
/// Workgroups in a dimension of the grid at most: HIP's limit in y and z. Kernels stride over the grid.
const MAX_GRID: usize = (1 << 16) - 1;

/// A batch of matrices: strides in elements.
#[derive(Debug, Clone, Copy)]
struct Matrices<'a> {
    region: Region<'a>,
    /// How many of the leading dimensions count matrices.
    batch_rank: usize,
    row: usize,
    col: usize,
}

/// A product of two batches of matrices that fit together.
pub(crate) struct Product<'a> {
    l: Matrices<'a>,
    r: Matrices<'a>,
    batch: usize,
    m: usize,
    n: usize,
    k: usize,
    dtype: DType,
    context: Arc<Context>,
    gemm: LoadedKernel,
    gemv: LoadedKernel,
}

impl<'a> Matrices<'a> {
    fn new(region: Region<'a>) -> Result<Matrices<'a>> {
        match *region.strides() {
            [ref batch @ .., row, col] => Ok(Matrices {
                region,
                batch_rank: batch.len(),
                row,
                col,
            }),
            _ => Err(Error::shape(OP, format!("{:?} are not matrices", region.dims()))),
        }
    }

    fn batch_dims(&self) -> &[usize] {
        &self.region.dims()[..self.batch_rank]
    }

    fn batch_strides(&self) -> &[usize] {
        &self.region.strides()[..self.batch_rank]
    }

    /// Whether every matrix of the batch is the same one.
    fn is_one(&self) -> bool {
        self.batch_dims()
            .iter()
            .zip(self.batch_strides())
            .all(|(&dim, &stride)| dim == 1 || stride == 0)
    }

    /// The one stride of all rows of all matrices, if they lie so.
    fn common_row(&self) -> Option<usize> {
        let dims = self.region.dims().split_last()?.1;
        common_stride(dims, self.region.strides().split_last()?.1)
    }

    /// The one stride of all matrices, if they lie so.
    fn common_batch(&self) -> Option<usize> {
        common_stride(self.batch_dims(), self.batch_strides())
    }

    /// Number and place of the first elements of the matrices, for a kernel.
    fn batch(&self, context: &Arc<Context>) -> Result<(usize, Option<LayoutTable>)> {
        let (dims, table) = layout(context, self.batch_dims(), &[self.batch_strides()])?;
        let count = self.batch_dims().iter().product::<usize>();
        if table.is_some() && count > context.most() {
            let reason = format!("{count} matrices; kernels count {}", context.most());
            return Err(Error::too_large(OP, reason));
        }
        Ok((dims, table))
    }
}

/// The one stride with which all elements of `dims` can be walked in order. Of a single element, any.
fn common_stride(dims: &[usize], strides: &[usize]) -> Option<usize> {
    match view::layout_table(dims, &[strides]).as_deref() {
        None => Some(1),
        Some(&[_, stride]) => usize::try_from(stride).ok(),
        Some(_) => None,
    }
}

impl<'a> Product<'a> {
    /// `l` of `[.., m, k]` times `r` of `[.., k, n]`, in batches of `b`; finds the kernels. The caller has compared the
    /// shapes.
    pub(crate) fn new(
        l: Region<'a>,
        r: Region<'a>,
        (b, m, n, k): (usize, usize, usize, usize),
    ) -> Result<Product<'a>> {
        let dtype = l.buffer().dtype();
        let context = common_context(OP, [l.buffer(), r.buffer()].into_iter())?;
        // The kernels are of floats. compute-sanitizer reports a program that asks NVIDIA's driver for a kernel that is not there.
        if !matches!(dtype, DType::BF16 | DType::F16 | DType::F32 | DType::F64) {
            return Err(Error::Unsupported {
                op: OP.to_owned(),
                dtype,
            });
        }
        let kernel = |name: &str| {
            let symbol = format!("{name}_{}", dtype.suffix());
            module::named(&context, "gemm", &symbol, OP, dtype)
        };
        let (gemm, gemv) = (kernel("gemm")?, kernel("gemv")?);
        let mut product = Product {
            l: Matrices::new(l)?,
            r: Matrices::new(r)?,
            batch: b,
            m,
            n,
            k,
            dtype,
            context,
            gemm,
            gemv,
        };
        product.fold_batch();
        Ok(product)
    }

    /// Matrices that are all multiplied by the same one make one of all their rows: the results lie alike.
    fn fold_batch(&mut self) {
        if let (true, Some(row)) = (self.r.is_one(), self.l.common_row()) {
            self.m *= self.batch;
            self.batch = 1;
            self.l.row = row;
            (self.l.batch_rank, self.r.batch_rank) = (0, 0);
        }
    }
}

/// Computes `product`.
pub(crate) fn run(product: &Product<'_>, out: &mut DynBuffer) -> Result<()> {
    let results = product.batch * product.m * product.n;
    if out.dtype() != product.dtype || out.len() != results {
        return Err(Error::shape(
            OP,
            format!("{results} results of {} for {out:?}", product.dtype),
        ));
    }
    common_context(OP, [product.l.region.buffer(), &*out].into_iter())?;
    if results == 0 {
        return Ok(());
    }
    let context = &product.context;
    if rocblas::is_there(context)
        && let Some(call) = rocblas::call(product, out)
    {
        // SAFETY: the operands lie inside their buffers, with the strides that the call is made of, and `out` has
        // `batch * m * n` elements, which nothing else uses: it is borrowed mutably.
        let is_done = unsafe { rocblas::serve(OP, context, &call) }?;
        if is_done {
            return Ok(());
        }
    }
    let by = native(product, out)?;
    let level = Level::of_kernels(context.info().driver());
    context.ledger().add(OP, by, level);
    Ok(())
}

/// Computes `product` with this crate's own kernels; the name of that which served.
fn native(product: &Product<'_>, out: &mut DynBuffer) -> Result<&'static str> {
    let Product { l, r, m, n, .. } = product;
    if *n <= FEW && n <= m {
        let columns = Vectors {
            matrix: (l.row, l.col),
            vectors: (r.row, r.col),
            out: (*n, 1),
        };
        gemv(product, [*m, *n], l, r, columns, out)?;
        Ok("gemv")
    } else if *m <= FEW {
        // As the transposed product, whose columns are the rows of this one.
        let rows = Vectors {
            matrix: (r.col, r.row),
            vectors: (l.col, l.row),
            out: (1, *n),
        };
        gemv(product, [*n, *m], r, l, rows, out)?;
        Ok("gemv")
    } else {
        gemm(product, out)?;
        Ok("gemm")
    }
}

fn gemm(product: &Product<'_>, out: &mut DynBuffer) -> Result<()> {
    let sizes = [product.m, product.n, product.k, product.batch];
    let operands = [&product.l, &product.r];
    tiles(OP, (&product.context, &product.gemm), sizes, operands, out, &[])
}

/// A product of f8_e4m3 with scales of rows and of columns, f32: one each, or one for all, whose stride is 0.
pub(crate) struct Scaled<'a> {
    pub(crate) l: Region<'a>,
    pub(crate) r: Region<'a>,
    pub(crate) scales: [(Region<'a>, usize); 2],
    /// Rows, columns, what is summed over, and how many products.
    pub(crate) sizes: [usize; 4],
}

/// Computes `op`, whose shapes the caller has compared, in `out`'s dtype.
pub(crate) fn scaled(name: &str, op: &Scaled<'_>, out: &mut DynBuffer) -> Result<()> {
    let regions = [&op.l, &op.r, &op.scales[0].0, &op.scales[1].0];
    let buffers = regions.into_iter().map(Region::buffer).chain([&*out]);
    let context = common_context(name, buffers)?;
    let (from, to) = (op.l.buffer().dtype(), out.dtype());
    let symbol = format!("gemm_{}_{}", from.suffix(), to.suffix());
    let function = module::named(&context, "scaled", &symbol, name, to)?;
    let operands = [&Matrices::new(op.l)?, &Matrices::new(op.r)?];
    tiles(name, (&context, &function), op.sizes, operands, out, &op.scales)
}

/// Launches a kernel of `kernels/gemm.h`: `out` is m by n results of each product, and lists with their steps end its arguments.
fn tiles(
    op: &str,
    (context, function): (&Arc<Context>, &LoadedKernel),
    [m, n, k, batch]: [usize; 4],
    [l, r]: [&Matrices<'_>; 2],
    out: &mut DynBuffer,
    lists: &[(Region<'_>, usize)],
) -> Result<()> {
    let (l_dims, l_table) = l.batch(context)?;
    let (r_dims, r_table) = r.batch(context)?;
    let mut args = Args::default();
    args.size(m).size(n).size(k);
    args.walk(batch, l_dims, l_table.as_ref())
        .element(l.region.buffer(), l.region.offset());
    args.size(l.row).size(l.col);
    args.size(r_dims)
        .table(r_table.as_ref())
        .element(r.region.buffer(), r.region.offset());
    args.size(r.row).size(r.col).element(out, 0);
    for (list, step) in lists {
        args.element(list.buffer(), list.offset()).size(*step);
    }
    // Of a large tile half of the waves would have nothing to do.
    let is_narrow = m <= WAVE_TILE || n <= WAVE_TILE;
    let (tile, waves) = if is_narrow {
        (WAVE_TILE, 1)
    } else {
        (TILE, TILE_WAVES)
    };
    let grid = Grid::new(
        [n.div_ceil(tile), m.div_ceil(tile), batch].map(|groups| groups.min(MAX_GRID)),
        [waves * context.info().warp_size() as usize, 1, 1],
    )
    .striding();
    // SAFETY: the arguments are the kernel's, of its dtypes, and so are the workgroups' one or four waves. The kernel reads elements of
    // both regions, which lie inside their buffers, and writes `batch * m * n` elements, which `out` has; a list has an element for each
    // row or column, or one and a step of 0. The tables live to the end of this function.
    unsafe { args.submit(op, context, function, grid) }
}

/// How a product is made of a matrix and a few vectors: pairs of strides. Those of the matrix are of its rows and k, of
/// the vectors k and their number, of the result its rows and the vectors' number.
struct Vectors {
    matrix: (usize, usize),
    vectors: (usize, usize),
    out: (usize, usize),
}

fn gemv(
    product: &Product<'_>,
    [rows, count]: [usize; 2],
    matrix: &Matrices<'_>,
    vectors: &Matrices<'_>,
    strides: Vectors,
    out: &mut DynBuffer,
) -> Result<()> {
    let Product {
        batch, k, context, ..
    } = product;
    let along_k = strides.matrix.1 == 1;
    let lanes = lanes(
        rows.saturating_mul(*batch),
        *k,
        if along_k {
            SEGMENT / product.dtype.size_in_bytes()
        } else {
            1
        },
    );
    let (matrix_dims, matrix_table) = matrix.batch(context)?;
    let (vectors_dims, vectors_table) = vectors.batch(context)?;
    let mut args = Args::default();
    args.size(rows).size(count).size(*k);
    args.walk(*batch, matrix_dims, matrix_table.as_ref())
        .element(matrix.region.buffer(), matrix.region.offset());
    args.size(strides.matrix.0).size(strides.matrix.1);
    args.size(vectors_dims)
        .table(vectors_table.as_ref())
        .element(vectors.region.buffer(), vectors.region.offset());
    args.size(strides.vectors.0).size(strides.vectors.1);
    args.element(out, 0).size(strides.out.0).size(strides.out.1);
    args.int(lanes.ilog2()).int(along_k.into());
    let grid = Grid::new(
        [rows.div_ceil(LINE / lanes), 1, *batch].map(|groups| groups.min(MAX_GRID)),
        [LINE, 1, 1],
    )
    .striding();
    // SAFETY: the arguments are gemv's, of its dtype; `lanes` is a power of two up to LINE. The kernel reads elements of
    // both regions, which lie inside their buffers, and writes `batch * rows * count` elements, which `out` has. The
    // tables live to the end of this function.
    unsafe { args.submit(OP, context, &product.gemv, grid) }
}

/// Lanes that share a row of `k` elements: `wanted`, more when there are few `rows`, fewer when there is little k. A power
/// of two up to [`LINE`].
fn lanes(rows: usize, k: usize, wanted: usize) -> usize {
    let mut lanes = wanted;
    while lanes < LINE && rows.saturating_mul(lanes) < OCCUPANCY && k / lanes > 32 {
        lanes *= 2;
    }
    while lanes > 1 && lanes > k {
        lanes /= 2;
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_a_power_of_two_that_fits_row_and_workgroup() {
        for rows in [1, 7, 1 << 20] {
            for k in [1, 2, 3, 17, 100, 5000, usize::MAX] {
                for wanted in [1, 8, 16, 32] {
                    let lanes = lanes(rows, k, wanted);
                    assert!(
                        lanes.is_power_of_two() && lanes <= LINE && lanes <= k,
                        "{rows} {k} {wanted}"
                    );
                }
            }
        }
        assert_eq!(lanes(1 << 20, 1000, 1), 1, "many rows need no help");
        assert_eq!(lanes(4, 1 << 20, 1), LINE);
        assert_eq!(lanes(1 << 20, 1000, 16), 16);
    }
}
