//! Tensors of ggml's block formats: to floats, by rows, and multiplied.
//!
//! `blocks` are the bytes as a GGUF file has them, in a buffer of u8, rows one after the other. Products of the ten
//! formats that candle has CUDA kernels for quantize the activations to q8_1 first, in blocks of 32, as CUDA does; the
//! other five formats are turned into f32 and multiplied so. With many rows of activations, where rocBLAS multiplies bf16, weights
//! in blocks of 32 and activations are rounded to that instead: a term is then off by 2⁻⁸ of itself at most, less than q8_1's
//! half step of max|x| / 254 is, and no number of f32 is too large. Weights in blocks of 256, whose quants times the scales of parts
//! of a block have up to 14 bits, are sums of two bf16, so that with activations that bf16 holds the product is as good as that of
//! integers.

use crate::ggml::Weights;
use crate::hip::launch::elementwise::packed;
use crate::hip::launch::quantized::{self as launch, Experts};
use crate::ops::{cast, matmul};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, GgmlType, Result, View};

/// Rows of activations up to which a product is a matrix times each of them; beyond, tiles are faster. As candle.
const MAT_VEC_ROWS: usize = 8;
/// Rows of activations from which on it pays to turn all weights into floats for a library.
const LIBRARY_ROWS: usize = 32;

/// The first `elem_count` weights of `blocks` as f32 or f16, each rounded once to f32 and then to f16.
///
/// # Errors
/// `Error::Shape` when they are not whole blocks or not in `blocks`, `Error::Unsupported` for another dtype; else as
/// [`unary`](super::unary()).
pub fn dequantize(ty: GgmlType, blocks: &DynBuffer, elem_count: usize, to: DType) -> Result<DynBuffer> {
    let weights = Weights::new("dequantize", ty, blocks, 1, elem_count)?;
    let mut out = DynBuffer::uninit(blocks.device(), to, elem_count)?;
    launch::dequantize(&weights, &mut out)?;
    Ok(out)
}

/// `x · wᵀ` for the weights `w` of shape `[n, k]` and activations `x` of `[.., k]`, of f32, f16 or bf16: a result of
/// `[.., n]` in the dtype of `x`. Sums are taken in f32 and rounded once. Activations that are not contiguous are copied first.
///
/// # Errors
/// `Error::Shape` for shapes that do not fit together, `Error::Unsupported` for an `x` of another dtype; else as [`unary`](super::unary()).
pub fn qmatmul(ty: GgmlType, blocks: &DynBuffer, (n, k): (usize, usize), x: View<'_>) -> Result<DynBuffer> {
    const OP: &str = "qmatmul";
    let weights = Weights::new(OP, ty, blocks, n, k)?;
    let copied = copied(OP, x)?;
    let (x, rows) = activations(OP, row_by_row(&copied, x), k)?;
    let (dtype, device) = (x.buffer().dtype(), x.buffer().device());
    if !matches!(dtype, DType::F32 | DType::F16 | DType::BF16) {
        return Err(unsupported(OP, ty, dtype));
    }
    let results = count(OP, &[rows, n])?;
    if results == 0 || k == 0 {
        return DynBuffer::zeros(device, dtype, results);
    }
    if !ty.has_products() {
        return through_floats(&weights, &x, rows);
    }
    if rows >= LIBRARY_ROWS
        && let Some(out) = by_library(&weights, &x, rows)?
    {
        return in_dtype(out, dtype);
    }
    if rows == 1 && launch::fits_lds(k) {
        let mut out = DynBuffer::uninit(device, dtype, results)?;
        launch::mat_vec_floats(&weights, &x, &mut out)?;
        return Ok(out);
    }
    let quantized = launch::quantize(&x, rows, k)?;
    if rows <= MAT_VEC_ROWS {
        let mut out = DynBuffer::uninit(device, dtype, results)?;
        launch::mat_vec(&weights, &quantized, &mut out)?;
        return Ok(out);
    }
    let mut out = DynBuffer::uninit(device, DType::F32, results)?;
    launch::mat_mul(&weights, &quantized, &mut out)?;
    in_dtype(out, dtype)
}

/// `x · wᵀ` for one row of activations, of f32, which are not quantized: candle's `FORCE_DMMV`.
///
/// # Errors
/// As [`qmatmul`]; `Error::Unsupported` for formats without such a kernel.
pub fn dequantize_mat_vec(
    ty: GgmlType,
    blocks: &DynBuffer,
    (n, k): (usize, usize),
    x: View<'_>,
) -> Result<DynBuffer> {
    const OP: &str = "dequantize_mul_mat_vec";
    let weights = Weights::new(OP, ty, blocks, n, k)?;
    let copied = copied(OP, x)?;
    let (x, rows) = activations(OP, row_by_row(&copied, x), k)?;
    let dtype = x.buffer().dtype();
    if dtype != DType::F32 || !ty.has_products() {
        return Err(unsupported(OP, ty, dtype));
    }
    if rows != 1 {
        return Err(Error::shape(
            OP,
            format!("{rows} rows of activations, expected 1"),
        ));
    }
    if n == 0 || k == 0 {
        return DynBuffer::zeros(x.buffer().device(), dtype, n);
    }
    let mut out = DynBuffer::uninit(x.buffer().device(), dtype, n)?;
    launch::dequantize_mat_vec(&weights, &x, &mut out)?;
    Ok(out)
}

/// The rows `ids` (u32) of the weights of shape `[rows, hidden]`, as f32 of `[ids, hidden]`.
///
/// # Errors
/// `Error::Index` for an id that is not below `rows`, `Error::Shape` for shapes that do not fit; else as [`unary`](super::unary()).
pub fn get_rows(
    ty: GgmlType,
    blocks: &DynBuffer,
    (rows, hidden): (usize, usize),
    ids: View<'_>,
) -> Result<DynBuffer> {
    const OP: &str = "get_rows";
    let weights = Weights::new(OP, ty, blocks, rows, hidden)?;
    let copied = copied(OP, ids)?;
    let ids = checked_ids(OP, row_by_row(&copied, ids), rows)?;
    let mut out = DynBuffer::uninit(blocks.device(), DType::F32, count(OP, &[ids.numel(), hidden])?)?;
    if !out.is_empty() {
        launch::get_rows(&weights, &ids, &mut out)?;
    }
    Ok(out)
}

/// A mixture of experts: for each of the `[tokens, topk]` ids (u32) the product of that expert's weights, of `w` with
/// shape `[experts, n, k]`, with the token's activations, of `x` with shape `[tokens, 1, k]` or `[tokens, topk, k]`.
/// `x` is f32, the result is f32 of `[tokens, topk, n]`.
///
/// # Errors
/// `Error::Index` for an id that is not below `experts`, `Error::Shape` for shapes that do not fit; `Error::Unsupported` for
/// formats without such a kernel and for other dtypes of `x`; else as [`unary`](super::unary()).
pub fn indexed_moe(
    ty: GgmlType,
    blocks: &DynBuffer,
    (experts, n, k): (usize, usize, usize),
    x: View<'_>,
    ids: View<'_>,
) -> Result<DynBuffer> {
    const OP: &str = "indexed_moe_forward";
    let (&[tokens, rows_a_token, _], &[id_tokens, topk]) = (x.dims(), ids.dims()) else {
        return Err(shapes(OP, x.dims(), ids.dims()));
    };
    if id_tokens != tokens || (rows_a_token != 1 && rows_a_token != topk) {
        return Err(shapes(OP, x.dims(), ids.dims()));
    }
    let weights = Weights::new(OP, ty, blocks, count(OP, &[experts, n])?, k)?;
    let (copied_x, copied_ids) = (copied(OP, x)?, copied(OP, ids)?);
    let (x, rows) = activations(OP, row_by_row(&copied_x, x), k)?;
    let dtype = x.buffer().dtype();
    if dtype != DType::F32 || !ty.has_experts() {
        return Err(unsupported(OP, ty, dtype));
    }
    let ids = checked_ids(OP, row_by_row(&copied_ids, ids), experts)?;
    let results = count(OP, &[ids.numel(), n])?;
    if results == 0 || k == 0 {
        return DynBuffer::zeros(blocks.device(), dtype, results);
    }
    let quantized = launch::quantize(&x, rows, k)?;
    let mut out = DynBuffer::uninit(blocks.device(), dtype, results)?;
    let shape = Experts {
        rows: n,
        tokens,
        topk,
        rows_a_token,
    };
    launch::indexed_moe(&weights, shape, &quantized, &ids, &mut out)?;
    Ok(out)
}

/// The product in f32, by a library that multiplies bf16, if there is one.
fn by_library(weights: &Weights<'_>, x: &Region<'_>, rows: usize) -> Result<Option<DynBuffer>> {
    if !launch::multiplies_bf16(x.buffer().device()) {
        return Ok(None);
    }
    let mut out = DynBuffer::uninit(x.buffer().device(), DType::F32, rows * weights.rows())?;
    let is_done = launch::by_library("qmatmul", weights, x, rows, &mut out)?;
    Ok(is_done.then_some(out))
}

/// The product through f32 weights and f32 activations.
fn through_floats(weights: &Weights<'_>, x: &Region<'_>, rows: usize) -> Result<DynBuffer> {
    let (n, k) = (weights.rows(), weights.row_len());
    let dtype = x.buffer().dtype();
    let mut floats = DynBuffer::uninit(x.buffer().device(), DType::F32, weights.numel())?;
    launch::dequantize(weights, &mut floats)?;
    let (dims, turned, strides) = ([rows, k], [k, n], [1, k]);
    let transposed = View::new(&floats, &turned, &strides);
    let wide = in_f32(x)?;
    let x = match &wide {
        Some(wide) => View::contiguous(wide, &dims),
        None => View::contiguous(x.buffer(), &dims).at(x.offset()),
    };
    in_dtype(matmul(x, transposed)?, dtype)
}

/// Contiguous elements as f32, unless they are.
fn in_f32(x: &Region<'_>) -> Result<Option<DynBuffer>> {
    if x.buffer().dtype() == DType::F32 {
        return Ok(None);
    }
    cast(
        View::contiguous(x.buffer(), &[x.numel()]).at(x.offset()),
        DType::F32,
    )
    .map(Some)
}

/// `floats` in `dtype`.
fn in_dtype(floats: DynBuffer, dtype: DType) -> Result<DynBuffer> {
    if floats.dtype() == dtype {
        return Ok(floats);
    }
    cast(floats.view(), dtype)
}

/// The elements of a view that is not contiguous, row by row.
fn copied(op: &str, x: View<'_>) -> Result<Option<DynBuffer>> {
    let region = x.check(op)?;
    (region.numel() > 0 && !region.is_contiguous())
        .then(|| packed(&region))
        .transpose()
}

/// The view, or what [`copied`] made of it.
fn row_by_row<'a>(copied: &'a Option<DynBuffer>, x: View<'a>) -> View<'a> {
    copied.as_ref().map_or(x, |copy| View::contiguous(copy, x.dims()))
}

/// Activations, which are contiguous rows of `k`, and how many rows they are.
fn activations<'a>(op: &str, x: View<'a>, k: usize) -> Result<(Region<'a>, usize)> {
    let Some((&last, leading)) = x.dims().split_last().filter(|(last, _)| **last == k) else {
        return Err(Error::shape(
            op,
            format!("activations of {:?} for weights with rows of {k}", x.dims()),
        ));
    };
    let rows = count(op, leading)?;
    count(op, &[rows, last])?;
    Ok((x.check(op)?, rows))
}

/// Ids on the device, each found to be below `bound`. They come to the host for that: the kernels that use them are
/// not told the bound, and a wrong one would read wherever it points.
fn checked_ids<'a>(op: &str, ids: View<'a>, bound: usize) -> Result<Region<'a>> {
    let region = ids.check(op)?;
    Error::unless_same_dtype(op, DType::U32, region.buffer().dtype())?;
    if region.numel() == 0 {
        return Ok(region);
    }
    let all: Vec<u32> = region.buffer().download()?;
    let mut ids = all[region.offset()..][..region.numel()].iter().enumerate();
    match ids.find(|(_, id)| **id as usize >= bound) {
        Some((position, &id)) => Err(Error::Index {
            op: op.to_owned(),
            what: "id",
            index: id.into(),
            position,
            bound,
        }),
        None => Ok(region),
    }
}

fn count(op: &str, dims: &[usize]) -> Result<usize> {
    if dims.contains(&0) {
        return Ok(0);
    }
    let product = dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim));
    product.ok_or_else(|| Error::uncountable(op, dims))
}

fn unsupported(op: &str, ty: GgmlType, dtype: DType) -> Error {
    Error::Unsupported {
        op: format!("{op}_{}", ty.name()),
        dtype,
    }
}

fn shapes(op: &str, x: &[usize], ids: &[usize]) -> Error {
    Error::shape(
        op,
        format!(
            "activations of {x:?} and ids of {ids:?}, expected [tokens, 1 or topk, k] and [tokens, topk]"
        ),
    )
}
