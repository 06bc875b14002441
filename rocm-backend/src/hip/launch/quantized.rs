//! Launches the kernels of ggml's block formats. `ops/quantized.rs` decides which of them an operation takes.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::ops::Range;

use super::matmul::rocblas;
use super::{Args, Grid, cast, common_context, pack_len, scratch_bytes};
use crate::ggml::Weights;
use crate::hip::blas::{Gemm, GemmOperand};
use crate::view::Region;
use crate::{DType, Device, DynBuffer, Error, GgmlType, Result, module};

const MODULE: &str = "quantized";
/// Work-items that share a row in a product with vectors; the kernels sum over just as many.
const TEAM: usize = 32;
/// Teams in a workgroup, and in one that shares its activations: those of more columns than so many, and of other
/// dtypes than f32. `kernels/quantized_vec.h` has it too.
const TEAMS: usize = 4;
const SHARING_TEAMS: usize = 16;
const FEW_COLUMNS: usize = 4;
/// Rows that a team does in a product with vectors, as `kernels/quantized_dot.h` has it.
const TEAM_ROWS: usize = 2;
/// The same where a team's row of activations is quantized by its workgroup: as many as a workgroup has at most, which quantize it once for
/// many rows of weights.
const MOST_TEAMS: usize = 32;
/// Activations of such a row at most, and bytes of LDS for 32 of them: quants, the sums of their halves and the scale.
const MOST_IN_LDS: usize = 32768;
const UNIT_IN_LDS: usize = 44;
/// How kernels name the number of vectors that they multiply with at once, from one on.
const COLUMNS: [&str; 8] = ["1", "2", "3", "4", "5", "6", "7", "8"];
/// Rows and columns of a workgroup's tile in a product of matrices, and its threads.
const TILE: usize = 64;
const TILE_THREADS: usize = 256;
/// Threads for blocks of 256 weights: a workgroup of one block ends before the next can start.
const BLOCK_THREADS: usize = 256;
/// Blocks that each y of such a workgroup does, as `kernels/quantized_rows.h` has it; where it has one y, it does one block.
const TURNS: usize = 4;
/// Weights of a block of 256.
const BLOCK_WEIGHTS: usize = 256;
/// Threads for quantizing activations, and for rows.
const ROW_THREADS: usize = 256;
/// Workgroups in y and z at most.
const MAX_GRID_YZ: usize = 65535;

/// Rows of activations as q8_1 blocks, contiguous.
#[derive(Debug)]
pub(crate) struct Activations {
    blocks: DynBuffer,
    rows: usize,
    row_len: usize,
    /// What they were.
    dtype: DType,
}

/// The shape of a mixture of experts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Experts {
    /// Of one expert's weights.
    pub(crate) rows: usize,
    pub(crate) tokens: usize,
    /// Experts a token.
    pub(crate) topk: usize,
    /// Rows of activations a token: one, or one for each expert.
    pub(crate) rows_a_token: usize,
}

/// A number as kernels of this module take it.
fn int(op: &str, number: usize) -> Result<u32> {
    match i32::try_from(number) {
        Ok(number) => Ok(number.unsigned_abs()),
        Err(_) => Err(Error::too_large(
            op,
            format!("kernels count in 31 bits, and {number} is more"),
        )),
    }
}

fn mismatch(op: &str) -> Error {
    Error::shape(op, "weights, activations and result do not fit together")
}

/// Whether a row of the two is the same length, and `out` has room for their product.
fn fit(op: &str, weights: &Weights<'_>, x: &Activations, out: &DynBuffer) -> Result<()> {
    let fits = weights.row_len() == x.row_len && x.rows.checked_mul(weights.rows()) == Some(out.len());
    if fits { Ok(()) } else { Err(mismatch(op)) }
}

/// All weights as floats of `out`'s dtype.
pub(crate) fn dequantize(weights: &Weights<'_>, out: &mut DynBuffer) -> Result<()> {
    dequantize_rows(weights, 0..weights.rows(), Floats::One, out)
}

/// What weights become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Floats {
    /// A float of the buffer's dtype.
    One,
    /// Two bf16, whose sum is the weight to 16 bits, as an element of u32: of formats of 256.
    Pair,
}

/// The weights of some rows as floats of `out`'s dtype, or as pairs.
fn dequantize_rows(weights: &Weights<'_>, rows: Range<usize>, to: Floats, out: &mut DynBuffer) -> Result<()> {
    let (ty, numel) = (weights.ty(), rows.len() * weights.row_len());
    let op = format!("dequantize_block_{}", ty.name());
    let context = common_context(&op, [weights.blocks(), &*out].into_iter())?;
    let symbol = match to {
        Floats::One => format!("{op}_{}", out.dtype().suffix()),
        Floats::Pair => format!("{op}_bf16_pair"),
    };
    let function = module::named(&context, MODULE, &symbol, &op, out.dtype())?;
    if out.len() < numel || rows.end > weights.rows() || (to == Floats::Pair && out.dtype() != DType::U32) {
        return Err(mismatch(&op));
    }
    let start = rows.start * weights.row_bytes();
    // Weights that a thread reads at once: as many as a pack of `out` holds, eight at most.
    let step = pack_len(&[out.dtype()]).min(8);
    let mut args = Args::default();
    args.element(weights.blocks(), start).element(out, 0);
    let grid = match ty {
        GgmlType::Q2K | GgmlType::Q3K | GgmlType::Q4K | GgmlType::Q5K | GgmlType::Q6K | GgmlType::Q8K => {
            let blocks = numel / ty.block_len();
            let across = BLOCK_WEIGHTS / step;
            let together = BLOCK_THREADS / across;
            let each = together * TURNS;
            let (groups, rest) = (blocks / each, blocks % each);
            let grid = |groups: usize, together: usize| Grid::new([groups, 1, 1], [across, together, 1]);
            let done = groups * each;
            let mut last = Args::default();
            last.element(weights.blocks(), start + done * ty.block_bytes())
                .element(out, done * ty.block_len());
            // SAFETY: as below, of the blocks behind those that are done several to a workgroup.
            unsafe { last.submit(&op, &context, &function, grid(rest, 1)) }?;
            grid(groups, together)
        }
        GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => {
            args.int(int(&op, numel)?);
            Grid::over(numel)
        }
        // These count weights, the rest blocks.
        GgmlType::Q5_0 | GgmlType::Q5_1 => {
            args.int(int(&op, numel)?);
            Grid::over(numel / step)
        }
        GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q8_0 | GgmlType::Q8_1 => {
            args.int(int(&op, numel / ty.block_len())?);
            Grid::over(numel / step)
        }
    };
    // SAFETY: `dequantize_block_<format>_<dtype>(blocks, out[, count])` reads blocks of rows that `Weights` checked and
    // writes `numel` elements of `out`'s dtype, or pairs, which are as long as it. Of the formats without a count each y of a
    // workgroup does one block, and there are as many as the grid has.
    unsafe { args.submit(&op, &context, &function, grid) }
}

/// Contiguous floats as bf16, each twice, to meet both parts of pairs: elements of u32.
fn twice(x: &Region<'_>) -> Result<DynBuffer> {
    const OP: &str = "twice";
    let dtype = x.buffer().dtype();
    let context = common_context(OP, [x.buffer()].into_iter())?;
    let function = module::named(&context, MODULE, &format!("{OP}_{}", dtype.suffix()), OP, dtype)?;
    let out = DynBuffer::uninit(x.buffer().device(), DType::U32, x.numel())?;
    let mut args = Args::default();
    args.size(x.numel())
        .element(x.buffer(), x.offset())
        .element(&out, 0);
    // SAFETY: `twice_<dtype>(numel, x, out)` reads `numel` contiguous elements of the region and writes as many words.
    unsafe { args.submit(OP, &context, &function, Grid::over(x.numel())) }?;
    Ok(out)
}

/// The rows `ids` as f32. The ids are u32, contiguous, and each was found to be below the number of rows.
pub(crate) fn get_rows(weights: &Weights<'_>, ids: &Region<'_>, out: &mut DynBuffer) -> Result<()> {
    let op = format!("get_rows_{}", weights.ty().name());
    let context = common_context(&op, [weights.blocks(), ids.buffer(), &*out].into_iter())?;
    let function = module::named(&context, MODULE, &op, &op, out.dtype())?;
    let fits = ids.numel().checked_mul(weights.row_len()) == Some(out.len());
    if !fits || out.dtype() != DType::F32 || ids.buffer().dtype() != DType::U32 {
        return Err(mismatch(&op));
    }
    let steps = if weights.ty().block_len() == 1 {
        1
    } else {
        pack_len(&[DType::F32])
    };
    let mut args = Args::default();
    args.element(weights.blocks(), 0)
        .element(ids.buffer(), ids.offset())
        .element(out, 0)
        .size(weights.row_len())
        .size(weights.row_bytes());
    let across = weights.row_len().div_ceil(ROW_THREADS * steps).min(MAX_GRID_YZ);
    let grid = Grid::new(
        [ids.numel(), across, 1],
        [ROW_THREADS.min(weights.row_len().div_ceil(steps)).max(1), 1, 1],
    );
    // SAFETY: `get_rows_<format>(rows, ids, out, row_len, row_bytes)` reads rows that `Weights` checked, by ids below
    // their number, and writes `row_len` f32 for each id, for which `out` has room.
    unsafe { args.submit(&op, &context, &function, grid) }
}

/// `rows` contiguous rows of `row_len` activations as q8_1 blocks.
pub(crate) fn quantize(x: &Region<'_>, rows: usize, row_len: usize) -> Result<Activations> {
    let op = "quantize_q8_1";
    let dtype = x.buffer().dtype();
    let symbol = match dtype {
        DType::F32 => op.to_owned(),
        _ => format!("mmvq_gguf_{op}_{}", dtype.suffix()),
    };
    let (len, bytes) = (GgmlType::Q8_1.block_len(), GgmlType::Q8_1.block_bytes());
    if x.numel() != rows * row_len || !row_len.is_multiple_of(len) || !x.is_contiguous() {
        return Err(mismatch(op));
    }
    let context = common_context(op, [x.buffer()].into_iter())?;
    let function = module::named(&context, MODULE, &symbol, op, dtype)?;
    let blocks = DynBuffer::uninit(x.buffer().device(), DType::U8, x.numel() / len * bytes)?;
    for first in (0..rows).step_by(MAX_GRID_YZ) {
        let mut args = Args::default();
        args.element(x.buffer(), x.offset() + first * row_len)
            .element(&blocks, first * row_len / len * bytes)
            .int(int(op, row_len)?)
            .int(int(op, row_len)?);
        let grid = Grid::new(
            [row_len.div_ceil(ROW_THREADS), (rows - first).min(MAX_GRID_YZ), 1],
            [ROW_THREADS, 1, 1],
        );
        // SAFETY: `quantize_q8_1(x, out, ncols, padded)` reads `ncols` elements of the region's dtype for each of the
        // grid's rows, which the region has, and writes their blocks. `padded` is `ncols`: nothing is read past it.
        unsafe { args.submit(&symbol, &context, &function, grid) }?;
    }
    Ok(Activations {
        blocks,
        rows,
        row_len,
        dtype,
    })
}

/// The product of weights with each of up to eight rows of activations, in the activations' dtype.
pub(crate) fn mat_vec(weights: &Weights<'_>, x: &Activations, out: &mut DynBuffer) -> Result<()> {
    let op = format!("mul_mat_vec_{}_q8_1", weights.ty().name());
    fit(&op, weights, x, out)?;
    let columns = x.rows.checked_sub(1).and_then(|at| COLUMNS.get(at));
    let Some(columns) = columns.filter(|_| out.dtype() == x.dtype) else {
        return Err(mismatch(&op));
    };
    let context = common_context(&op, [weights.blocks(), &x.blocks, &*out].into_iter())?;
    let symbol = match x.dtype {
        DType::F32 => [&op, "_cuda", columns].concat(),
        dtype => {
            let lower = weights.ty().name().to_ascii_lowercase();
            format!("mmvq_gguf_{lower}_{}_plain", dtype.suffix())
        }
    };
    let function = module::named(&context, MODULE, &symbol, &op, x.dtype)?;
    let [ncols, nrows] = [weights.row_len(), weights.rows()];
    let mut args = Args::default();
    args.element(weights.blocks(), 0)
        .element(&x.blocks, 0)
        .element(out, 0)
        .int(int(&op, ncols)?)
        .int(int(&op, nrows)?);
    match x.dtype {
        DType::F32 => args.int(int(&op, ncols)?).int(int(&op, nrows)?),
        _ => args
            .int(int(&op, ncols / GgmlType::Q8_1.block_len())?)
            .int(int(&op, nrows)?)
            .int(int(&op, x.rows)?),
    };
    let teams = match x.dtype {
        DType::F32 if x.rows <= FEW_COLUMNS => TEAMS,
        _ => SHARING_TEAMS,
    };
    let grid = Grid::new([nrows.div_ceil(teams * TEAM_ROWS), 1, 1], [TEAM, teams, 1]);
    // SAFETY: `mul_mat_vec_<format>_q8_1_cuda<columns>(weights, activations, out, ncols, nrows, padded, out_stride)` and
    // `mmvq_gguf_<format>_<dtype>_plain(.., stride in blocks, out_stride, columns)` read `nrows` rows of weights, which
    // `Weights` checked, and as many rows of activations as there are, all of `ncols`; `out` has room for the results.
    unsafe { args.submit(&symbol, &context, &function, grid) }
}

/// Whether [`mat_vec_floats`] takes a row of so many activations.
pub(crate) fn fits_lds(row_len: usize) -> bool {
    row_len <= MOST_IN_LDS
}

/// The product of weights with one contiguous row of activations, in their dtype. Each workgroup quantizes the row to q8_1 for itself:
/// the result is that of [`quantize`] and [`mat_vec`], bit for bit.
pub(crate) fn mat_vec_floats(weights: &Weights<'_>, x: &Region<'_>, out: &mut DynBuffer) -> Result<()> {
    let op = format!("mul_mat_vec_{}", weights.ty().name());
    let [ncols, nrows] = [weights.row_len(), weights.rows()];
    let dtype = x.buffer().dtype();
    let fits = x.numel() == ncols && out.len() == nrows && out.dtype() == dtype;
    if !fits || !fits_lds(ncols) || !x.is_contiguous() {
        return Err(mismatch(&op));
    }
    let context = common_context(&op, [weights.blocks(), x.buffer(), &*out].into_iter())?;
    let symbol = format!("{op}_{}", dtype.suffix());
    let function = module::named(&context, MODULE, &symbol, &op, dtype)?;
    let mut args = Args::default();
    args.element(weights.blocks(), 0)
        .element(x.buffer(), x.offset())
        .element(out, 0)
        .int(int(&op, ncols)?)
        .int(int(&op, nrows)?);
    let units = (context.info().compute_units() as usize).max(1);
    let grid = Grid {
        lds: ncols / GgmlType::Q8_1.block_len() * UNIT_IN_LDS,
        ..Grid::new(
            [nrows.div_ceil(MOST_TEAMS).min(units), 1, 1],
            [TEAM, MOST_TEAMS, 1],
        )
    };
    // SAFETY: `mul_mat_vec_<format>_<dtype>(weights, x, out, ncols, nrows)` reads `nrows` rows of weights, which `Weights` checked, and `ncols`
    // of `x`, and writes `nrows` results. Its workgroups hold a row of quants in their dynamic LDS.
    unsafe { args.submit(&symbol, &context, &function, grid) }
}

/// The product of weights with any number of rows of activations, in f32.
pub(crate) fn mat_mul(weights: &Weights<'_>, x: &Activations, out: &mut DynBuffer) -> Result<()> {
    let op = format!("mul_mat_{}", weights.ty().name());
    fit(&op, weights, x, out)?;
    if out.dtype() != DType::F32 || x.rows.div_ceil(TILE) > MAX_GRID_YZ {
        return Err(mismatch(&op));
    }
    let context = common_context(&op, [weights.blocks(), &x.blocks, &*out].into_iter())?;
    let function = module::named(&context, MODULE, &op, &op, DType::F32)?;
    let [ncols, nrows] = [weights.row_len(), weights.rows()];
    let mut args = Args::default();
    args.element(weights.blocks(), 0)
        .element(&x.blocks, 0)
        .element(out, 0);
    for number in [ncols, nrows, x.rows, ncols, nrows] {
        args.int(int(&op, number)?);
    }
    let grid = Grid::new(
        [nrows.div_ceil(TILE), x.rows.div_ceil(TILE), 1],
        [TILE_THREADS, 1, 1],
    );
    // SAFETY: `mul_mat_<format>(weights, activations, out, ncols, nrows, columns, padded, out_stride)` reads `nrows` rows
    // of weights, which `Weights` checked, and `columns` rows of activations, all of `ncols`; tiles that reach over the
    // edge read the last row again and store nothing. `out` has room for `nrows` times `columns` results.
    unsafe { args.submit(&op, &context, &function, grid) }
}

/// The product of weights with many contiguous rows of activations, to `out` of f32: weights as bf16, some rows of them at a time,
/// times the activations as bf16 by rocBLAS, which [`multiplies_bf16`], for `op`. Weights of blocks of 256 have more bits than one
/// bf16 holds: they are pairs of them, and each activation is there twice. False where rocBLAS has no kernel for it.
pub(crate) fn by_library(
    op: &'static str,
    weights: &Weights<'_>,
    x: &Region<'_>,
    rows: usize,
    out: &mut DynBuffer,
) -> Result<bool> {
    let (ncols, nrows) = (weights.row_len(), weights.rows());
    let fits = rows.checked_mul(ncols) == Some(x.numel()) && rows.checked_mul(nrows) == Some(out.len());
    if !fits || out.dtype() != DType::F32 || !x.is_contiguous() {
        return Err(mismatch(op));
    }
    let context = common_context(op, [weights.blocks(), x.buffer(), &*out].into_iter())?;
    let (floats_as, stored, each) = match weights.ty().block_len() {
        BLOCK_WEIGHTS => (Floats::Pair, DType::U32, 2),
        _ => (Floats::One, DType::BF16, 1),
    };
    let count = |size: usize| i32::try_from(size).ok();
    let (Some(k), Some(n), Some(out_ld)) = (count(ncols * each), count(rows), count(nrows)) else {
        return Ok(false);
    };
    let x = match floats_as {
        Floats::Pair => twice(x)?,
        Floats::One => {
            let mut narrow = DynBuffer::uninit(x.buffer().device(), DType::BF16, x.numel())?;
            cast::cast(x, &mut narrow)?;
            narrow
        }
    };
    let at_once = (scratch_bytes(&context) / (ncols * stored.size_in_bytes())).clamp(1, nrows);
    let mut floats = DynBuffer::uninit(x.device(), stored, at_once * ncols)?;
    for first in (0..nrows).step_by(at_once) {
        let some = at_once.min(nrows - first);
        dequantize_rows(weights, first..first + some, floats_as, &mut floats)?;
        // By columns, as rocBLAS has it: a row of weights is a column, the result is weights transposed times activations.
        let call = Gemm {
            dtype: DType::BF16,
            out_dtype: DType::F32,
            m: count(some).unwrap_or(out_ld),
            n,
            k,
            batch: 1,
            a: GemmOperand {
                address: floats.memory().block().address(),
                is_transposed: true,
                ld: k,
                stride: 0,
            },
            b: GemmOperand {
                address: x.memory().block().address(),
                is_transposed: false,
                ld: k,
                stride: 0,
            },
            out: out.memory().block().address() + first * out.dtype().size_in_bytes(),
            out_ld,
        };
        // SAFETY: `some` rows of `k` bf16 lie where the kernel above wrote them, `rows` of activations in `x`, and `out`
        // has `rows` rows of `nrows` results, of which this call writes `some` each, from number `first` on.
        if !unsafe { rocblas::serve(op, &context, &call) }? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether rocBLAS is there, on a device that multiplies bf16 faster than f32: CDNA from its first on, RDNA from its third on,
/// NVIDIA's.
pub(crate) fn multiplies_bf16(device: &Device) -> bool {
    let prefixes = ["gfx908", "gfx90a", "gfx94", "gfx95", "gfx11", "gfx12", "sm_"];
    let target = device.info().target();
    prefixes.iter().any(|prefix| target.starts_with(prefix)) && rocblas::is_there(device.context())
}

/// The product of weights with one contiguous row of f32, which stays f32.
pub(crate) fn dequantize_mat_vec(weights: &Weights<'_>, x: &Region<'_>, out: &mut DynBuffer) -> Result<()> {
    let op = "dequantize_mul_mat_vec";
    let ty = weights.ty();
    let [ncols, nrows] = [weights.row_len(), weights.rows()];
    let floats = [x.buffer().dtype(), out.dtype()] == [DType::F32; 2];
    if x.numel() != ncols || out.len() != nrows || !floats || !x.is_contiguous() {
        return Err(mismatch(op));
    }
    let context = common_context(op, [weights.blocks(), x.buffer(), &*out].into_iter())?;
    let symbol = match ty.block_len() {
        32 => format!("{op}_{}_cuda", ty.name()),
        _ => format!("{op}_{}", ty.name().to_ascii_lowercase()),
    };
    let function = module::named(&context, MODULE, &symbol, op, DType::F32)?;
    let mut args = Args::default();
    args.element(weights.blocks(), 0)
        .element(x.buffer(), x.offset())
        .element(out, 0)
        .int(int(op, ncols)?);
    if ty != GgmlType::Q5K {
        args.int(int(op, nrows)?);
    }
    // SAFETY: `dequantize_mul_mat_vec_<format>(weights, y, out, ncols[, nrows])` does one row a workgroup of one team: it
    // reads that row of weights, which `Weights` checked, and `ncols` of `y`, and writes one of `nrows` results.
    unsafe { args.submit(&symbol, &context, &function, Grid::of(nrows, TEAM)) }
}

/// Products with experts' weights. `weights` are all experts' rows; the ids are u32, contiguous, and each was found to be
/// below the number of experts.
pub(crate) fn indexed_moe(
    weights: &Weights<'_>,
    shape: Experts,
    x: &Activations,
    ids: &Region<'_>,
    out: &mut DynBuffer,
) -> Result<()> {
    let Experts {
        rows,
        tokens,
        topk,
        rows_a_token,
    } = shape;
    let op = "indexed_moe_forward";
    let name = match weights.ty().block_len() {
        256 => weights.ty().name().to_ascii_lowercase().replace('_', ""),
        _ => weights.ty().name().to_owned(),
    };
    let symbol = format!("{op}_{name}_q8_1");
    let fits = weights.row_len() == x.row_len
        && x.rows == tokens * rows_a_token
        && (rows_a_token == 1 || rows_a_token == topk)
        && ids.numel() == tokens * topk
        && out.len() == tokens * topk * rows
        && tokens <= MAX_GRID_YZ
        && topk <= MAX_GRID_YZ
        && ids.buffer().dtype() == DType::U32;
    if !fits || [x.dtype, out.dtype()] != [DType::F32; 2] {
        return Err(mismatch(op));
    }
    let buffers = [weights.blocks(), &x.blocks, ids.buffer(), &*out];
    let context = common_context(op, buffers.into_iter())?;
    let function = module::named(&context, MODULE, &symbol, op, DType::F32)?;
    let mut args = Args::default();
    args.element(weights.blocks(), 0)
        .element(&x.blocks, 0)
        .element(ids.buffer(), ids.offset())
        .element(out, 0);
    for number in [rows, x.row_len, tokens, topk, x.row_len, rows_a_token] {
        args.int(int(op, number)?);
    }
    let grid = Grid::new([rows.div_ceil(TEAMS), tokens, topk], [TEAM, TEAMS, 1]);
    // SAFETY: `indexed_moe_forward_<format>_q8_1(weights, activations, ids, out, nrows, ncols, tokens, topk, padded,
    // rows_a_token)` reads rows of the experts named by the ids, which are below their number, rows of activations by
    // token and choice, of which there are as many as it was told, and writes `nrows` results for each id.
    unsafe { args.submit(&symbol, &context, &function, grid) }
}
