//! Products by experts: each row by the matrix of its own expert.

use crate::ggml;
use crate::hip::launch::moe::{self as launch, ExpertWeights, MoeSizes, Operands};
use crate::view::Region;
use crate::{DType, DynBuffer, Error, GgmlType, Result, View};

/// The name in errors.
const OP: &str = "moe_gemm";

/// Which rows meet which experts. Ids are u32, one for each row of the result; they come to the host to be checked.
#[derive(Debug, Clone, Copy)]
pub struct Routes<'a> {
    /// With them, f32, the input has a row for each of the result, and row `t` is multiplied by weight `t`. Without, `topk`
    /// rows of the result share one of the input: row `t / topk`.
    pub topk_weights: Option<View<'a>>,
    /// Row `t = token_ids[i]` of the result is the `i`th to be computed.
    pub token_ids: View<'a>,
    /// By which expert.
    pub expert_ids: View<'a>,
    /// How many experts a token has.
    pub topk: usize,
}

/// What candle-nn's `moe_gemm` computes: row `t` of the result, (`m`, `n`), is a row of `input` times the transposed matrix of
/// its expert of `weights`, (experts, `n`, `k`). bf16, f16 and f32; sums in f32, rounded once. All operands must be contiguous.
///
/// # Errors
/// `Error::Shape`, `Error::DTypes`, `Error::NotContiguous` and `Error::Devices` for operands that do not fit together,
/// `Error::Parameter` for a `topk` of 0 and a token that is named twice, `Error::Index` for ids out of range,
/// `Error::Unsupported` for another dtype; else as [`unary`](super::unary()).
pub fn moe_gemm(input: View<'_>, weights: View<'_>, routes: Routes<'_>) -> Result<DynBuffer> {
    let &[experts, n, k] = weights.dims() else {
        return Err(Error::shape(
            OP,
            format!("weights of {:?}, expected [experts, n, k]", weights.dims()),
        ));
    };
    let dtype = input.buffer().dtype();
    let count = experts.saturating_mul(n).saturating_mul(k);
    let floats = contiguous("weights", weights, dtype, count)?;
    products(input, ExpertWeights::Floats(floats), [experts, n, k], &routes)
}

/// What candle-nn's `moe_gemm_gguf` computes: as [`moe_gemm`] with `input` of f32 and weights of (experts, `n`, `k`) in the
/// block format `ty`, from the start of `blocks`. They become f32 as they are loaded, those of the named experts only.
///
/// # Errors
/// As [`moe_gemm`]; `Error::Shape` when the weights are not whole blocks or not in `blocks`.
pub fn moe_gemm_gguf(
    input: View<'_>,
    ty: GgmlType,
    blocks: &DynBuffer,
    shape: (usize, usize, usize),
    routes: Routes<'_>,
) -> Result<DynBuffer> {
    let (experts, n, k) = shape;
    let dtype = input.buffer().dtype();
    if dtype != DType::F32 {
        return Err(Error::Unsupported {
            op: format!("{OP}_gguf_{}", ty.name()),
            dtype,
        });
    }
    let weights = ggml::Weights::new(OP, ty, blocks, experts.saturating_mul(n), k)?;
    products(input, ExpertWeights::Blocks(weights), [experts, n, k], &routes)
}

fn products(
    input: View<'_>,
    weights: ExpertWeights<'_>,
    [experts, n, k]: [usize; 3],
    routes: &Routes<'_>,
) -> Result<DynBuffer> {
    let &[rows, k_of_input] = input.dims() else {
        return Err(Error::shape(
            OP,
            format!("an input of {:?}, expected [rows, k]", input.dims()),
        ));
    };
    if k_of_input != k {
        return Err(Error::shape(
            OP,
            format!("an input of {:?} for weights with rows of {k}", input.dims()),
        ));
    }
    let dtype = input.buffer().dtype();
    let divisor = if routes.topk_weights.is_some() {
        1
    } else {
        routes.topk
    };
    let m = rows
        .checked_mul(divisor)
        .filter(|_| routes.topk > 0)
        .ok_or_else(|| Error::parameter(OP, format!("{rows} rows with a topk of {}", routes.topk)))?;
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
    let device = input.buffer().device();
    let results = m.checked_mul(n).ok_or_else(|| Error::uncountable(OP, &[m, n]))?;
    if k == 0 {
        return DynBuffer::zeros(device, dtype, results);
    }
    let mut out = DynBuffer::uninit(device, dtype, results)?;
    launch::moe_gemm(&operands, MoeSizes { m, n, k, divisor }, &mut out)?;
    Ok(out)
}

/// Every token is one of `m` and named once, every expert one of `experts`.
fn check_ids(operands: &Operands<'_>, m: usize, experts: usize) -> Result<()> {
    let tokens = checked(&operands.token_ids, "token", m)?;
    checked(&operands.expert_ids, "expert", experts)?;
    let mut named = vec![false; m];
    for token in tokens {
        if std::mem::replace(&mut named[token], true) {
            return Err(Error::parameter(OP, format!("token {token} is named twice")));
        }
    }
    Ok(())
}

/// An operand of `dtype` with `count` contiguous elements.
fn contiguous<'a>(what: &str, view: View<'a>, dtype: DType, count: usize) -> Result<Region<'a>> {
    let region = view.check(OP)?;
    Error::unless_same_dtype(OP, dtype, region.buffer().dtype())?;
    if region.numel() != count {
        return Err(Error::shape(
            OP,
            format!("{what}: {:?}, expected {count} elements", view.dims()),
        ));
    }
    if count > 0 && !region.is_contiguous() {
        return Err(Error::not_contiguous(OP, what));
    }
    Ok(region)
}

/// The ids, each found to be below `bound`.
fn checked(ids: &Region<'_>, what: &'static str, bound: usize) -> Result<Vec<usize>> {
    let all: Vec<u32> = ids.buffer().download()?;
    let mut found = all.iter().skip(ids.offset()).take(ids.numel()).enumerate();
    match found.find(|(_, id)| **id as usize >= bound) {
        Some((position, &id)) => Err(Error::Index {
            op: OP.to_owned(),
            what,
            index: id.into(),
            position,
            bound,
        }),
        None => Ok(all[ids.offset()..][..ids.numel()]
            .iter()
            .map(|id| *id as usize)
            .collect()),
    }
}
