//! Products by experts: each row by the matrix of its own expert.

use crate::ggml;
use crate::hip::launch::moe::{self as launch, Operands, Sizes, Weights};
use crate::view::Region;
use crate::{Buffer, DType, Error, GgmlType, Result, View};

/// The name in errors.
const OP: &str = "moe_gemm";

/// What candle-nn's `moe_gemm` computes: row `t = token_ids[i]` of the result, (`m`, `n`), is a row of `input` times the
/// transposed matrix of expert `expert_ids[i]` of `weights`, (experts, `n`, `k`). bf16, f16 and f32; sums in f32, rounded
/// once.
///
/// With `topk_weights` (`m` of f32) the input has a row for each of the result, and row `t` is multiplied by weight `t`;
/// without them, `topk` rows of the result share one of the input: row `t / topk`. `token_ids` and `expert_ids` are `m` u32
/// each; they come to the host to be checked. All operands must be contiguous.
///
/// # Errors
/// `Error::Invalid` for shapes, dtypes or devices that do not fit together, a `topk` of 0, ids out of range, and a token that
/// is named twice; `Error::Unsupported` for another dtype; else as [`unary`](super::unary).
pub fn moe_gemm(
    input: View<'_>,
    weights: View<'_>,
    topk_weights: Option<View<'_>>,
    token_ids: View<'_>,
    expert_ids: View<'_>,
    topk: usize,
) -> Result<Buffer> {
    let &[experts, n, k] = weights.dims else {
        return Err(Error::Invalid(format!(
            "{OP}: weights of {:?}, expected [experts, n, k]",
            weights.dims
        )));
    };
    let dtype = input.buffer.dtype();
    if weights.buffer.dtype() != dtype {
        return Err(Error::Invalid(format!(
            "{OP}: an input of {dtype} and weights of {}",
            weights.buffer.dtype()
        )));
    }
    let count = experts.saturating_mul(n).saturating_mul(k);
    let floats = contiguous("weights", weights, dtype, count)?;
    let routes = Routes {
        topk_weights,
        token_ids,
        expert_ids,
        topk,
    };
    products(input, Weights::Floats(floats), [experts, n, k], &routes)
}

/// What candle-nn's `moe_gemm_gguf` computes: as [`moe_gemm`] with `input` of f32 and weights of (experts, `n`, `k`) in the
/// block format `ty`, from the start of `blocks`. They become f32 as they are loaded, those of the named experts only.
///
/// # Errors
/// As [`moe_gemm`]; `Error::Invalid` when the weights are not whole blocks or not in `blocks`.
#[expect(
    clippy::too_many_arguments,
    reason = "candle's signature, so that the two read side by side"
)]
pub fn moe_gemm_gguf(
    input: View<'_>,
    ty: GgmlType,
    blocks: &Buffer,
    shape: (usize, usize, usize),
    topk_weights: Option<View<'_>>,
    token_ids: View<'_>,
    expert_ids: View<'_>,
    topk: usize,
) -> Result<Buffer> {
    let (experts, n, k) = shape;
    let dtype = input.buffer.dtype();
    if dtype != DType::F32 {
        return Err(Error::Unsupported {
            op: format!("{OP}_gguf_{}", ty.name()),
            dtype,
        });
    }
    let weights = ggml::Weights::new(OP, ty, blocks, experts.saturating_mul(n), k)?;
    let routes = Routes {
        topk_weights,
        token_ids,
        expert_ids,
        topk,
    };
    products(input, Weights::Blocks(weights), [experts, n, k], &routes)
}

/// Which rows meet which experts.
struct Routes<'a> {
    topk_weights: Option<View<'a>>,
    token_ids: View<'a>,
    expert_ids: View<'a>,
    topk: usize,
}

fn products(
    input: View<'_>,
    weights: Weights<'_>,
    [experts, n, k]: [usize; 3],
    routes: &Routes<'_>,
) -> Result<Buffer> {
    let &[rows, k_of_input] = input.dims else {
        return Err(Error::Invalid(format!(
            "{OP}: an input of {:?}, expected [rows, k]",
            input.dims
        )));
    };
    if k_of_input != k {
        return Err(Error::Invalid(format!(
            "{OP}: an input of {:?} for weights with rows of {k}",
            input.dims
        )));
    }
    let dtype = input.buffer.dtype();
    let divisor = if routes.topk_weights.is_some() {
        1
    } else {
        routes.topk
    };
    let m = rows
        .checked_mul(divisor)
        .filter(|_| routes.topk > 0)
        .ok_or_else(|| Error::Invalid(format!("{OP}: {rows} rows with a topk of {}", routes.topk)))?;
    let operands = Operands {
        input: contiguous("input", input, dtype, rows.saturating_mul(k))?,
        weights,
        token_ids: contiguous("token ids", routes.token_ids, DType::U32, m)?,
        expert_ids: contiguous("expert ids", routes.expert_ids, DType::U32, m)?,
        topk_weights: match routes.topk_weights {
            Some(weights) => Some(contiguous("topk weights", weights, DType::F32, m)?),
            None => None,
        },
    };
    check_ids(&operands, m, experts)?;
    let device = input.buffer.device();
    let results = m
        .checked_mul(n)
        .ok_or_else(|| Error::Invalid(format!("{OP}: {m} rows of {n} are more than can be counted")))?;
    if k == 0 {
        return device.zeros(dtype, results);
    }
    let mut out = Buffer::new(device, dtype, results)?;
    launch::moe_gemm(&operands, Sizes { m, n, k, divisor }, &mut out)?;
    Ok(out)
}

/// Every token is one of `m` and named once, every expert one of `experts`.
fn check_ids(operands: &Operands<'_>, m: usize, experts: usize) -> Result<()> {
    let tokens = checked(&operands.token_ids, "token", m)?;
    checked(&operands.expert_ids, "expert", experts)?;
    let mut named = vec![false; m];
    for token in tokens {
        if std::mem::replace(&mut named[token], true) {
            return Err(Error::Invalid(format!("{OP}: token {token} is named twice")));
        }
    }
    Ok(())
}

/// An operand of `dtype` with `count` contiguous elements.
fn contiguous<'a>(what: &str, view: View<'a>, dtype: DType, count: usize) -> Result<Region<'a>> {
    let region = view.check(OP)?;
    let found = region.buffer().dtype();
    if found != dtype || region.numel() != count || (count > 0 && !region.is_contiguous()) {
        return Err(Error::Invalid(format!(
            "{OP}: {what}: {:?} of {found} with strides {:?}, expected {count} contiguous elements of {dtype}",
            view.dims, view.strides
        )));
    }
    Ok(region)
}

/// The ids, each found to be below `bound`.
fn checked(ids: &Region<'_>, what: &str, bound: usize) -> Result<Vec<usize>> {
    let bytes = ids.buffer().download()?;
    let words = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word) as usize);
    let found: Vec<usize> = words.skip(ids.offset()).take(ids.numel()).collect();
    match found.iter().find(|id| **id >= bound) {
        Some(id) => Err(Error::Invalid(format!(
            "{OP}: {what} {id} is out of range for {bound}"
        ))),
        None => Ok(found),
    }
}
