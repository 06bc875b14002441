//! Custom ops that run on the device: candle-nn's fused ops and candle's argsort.
//!
//! Their types are private and say nothing of ROCm, so they are known by [`std::any::type_name`], and what they keep to
//! themselves is found out by asking them ([`probe`](super::probe)). A name that is not in the tables here, as when a
//! release moves a type, means only that the op runs on the CPU and is counted: see [`super::fallbacks`].
//!
//! What candle's CPU refuses is refused here with the same kind of error: for rows that are not contiguous, and for dtypes
//! it has no rows of.

use std::{cell::Cell, sync::LazyLock};

use rocm_backend::ops::{self, Unary};

use super::{
    RocmStorage,
    probe::{self, Memory},
    watch::{self, Operand},
};
use crate::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Layout, Result, Shape, backend::BackendStorage as _,
    bail,
};

/// A result, or none when the op has no implementation here.
type Answer = Result<Option<(RocmStorage, Shape)>>;

/// Runs `op` if it is one of ours.
pub(crate) fn op1<C: CustomOp1 + ?Sized>(op: &C, x: &RocmStorage, layout: &Layout) -> Answer {
    watch::answer(
        op.name(),
        &[(x, layout)],
        || kernel1(op, x, layout),
        |host| op.cpu_fwd(&host[0], layout),
    )
}

fn kernel1<C: CustomOp1 + ?Sized>(op: &C, x: &RocmStorage, layout: &Layout) -> Answer {
    let out = match std::any::type_name::<C>() {
        "candle_nn::ops::Sigmoid" => ops::unary(Unary::Sigmoid, x.view(layout))?,
        "candle_nn::ops::SoftmaxLastDim" => {
            check(op.name(), &[(x, layout)])?;
            ops::softmax_last_dim(x.view(layout))?
        }
        "candle_core::sort::ArgSort" => {
            check_contiguous(&[(x, layout)])?;
            ops::argsort(x.view(layout), is_ascending(op, layout)?)?
        }
        _ => return Ok(None),
    };
    Ok(Some((x.beside(out), layout.shape().clone())))
}

/// Runs `op` if it is one of ours.
pub(crate) fn op2<C: CustomOp2 + ?Sized>(op: &C, x: Operand<'_>, alpha: Operand<'_>) -> Answer {
    watch::answer(
        op.name(),
        &[x, alpha],
        || kernel2(op, x, alpha),
        |host| op.cpu_fwd(&host[0], x.1, &host[1], alpha.1),
    )
}

fn kernel2<C: CustomOp2 + ?Sized>(op: &C, x: Operand<'_>, alpha: Operand<'_>) -> Answer {
    static ONE: LazyLock<(CpuStorage, Layout)> = LazyLock::new(|| (CpuStorage::F32(vec![1.0]), row(1)));
    thread_local! {
        static MEMORY: Cell<Memory> = Cell::default();
    }
    if std::any::type_name::<C>() != "candle_nn::ops::RmsNorm" {
        return Ok(None);
    }
    check(op.name(), &[x, alpha])?;
    let ask = |probes: &[f32]| {
        let (one, weights) = &*ONE;
        let (x, rows) = (
            CpuStorage::F32(probes.to_vec()),
            Layout::contiguous((probes.len(), 1)),
        );
        floats(op.cpu_fwd(&x, &rows, one, weights)?.0)
    };
    let mut memory = MEMORY.take();
    let eps = probe::known_eps(probe::rms_formula, &mut memory, ask);
    MEMORY.set(memory);
    let Some(eps) = eps? else {
        return Ok(None);
    };
    let out = ops::rms_norm(view(x), view(alpha), eps)?;
    Ok(Some((x.0.beside(out), x.1.shape().clone())))
}

/// Runs `op` if it is one of ours.
pub(crate) fn op3<C: CustomOp3 + ?Sized>(
    op: &C,
    x: Operand<'_>,
    second: Operand<'_>,
    third: Operand<'_>,
) -> Answer {
    watch::answer(
        op.name(),
        &[x, second, third],
        || kernel3(op, x, second, third),
        |host| op.cpu_fwd(&host[0], x.1, &host[1], second.1, &host[2], third.1),
    )
}

fn kernel3<C: CustomOp3 + ?Sized>(op: &C, x: Operand<'_>, second: Operand<'_>, third: Operand<'_>) -> Answer {
    let run = match std::any::type_name::<C>() {
        "candle_nn::ops::LayerNorm" => return layer_norm(op, x, second, third),
        "candle_nn::rotary_emb::RotaryEmb" => ops::rope,
        "candle_nn::rotary_emb::RotaryEmbI" => ops::rope_i,
        "candle_nn::rotary_emb::RotaryEmbThd" => ops::rope_thd,
        _ => return Ok(None),
    };
    check(op.name(), &[x, second, third])?;
    let out = run(view(x), view(second), view(third))?;
    Ok(Some((x.0.beside(out), x.1.shape().clone())))
}

fn layer_norm<C: CustomOp3 + ?Sized>(
    op: &C,
    x: Operand<'_>,
    alpha: Operand<'_>,
    beta: Operand<'_>,
) -> Answer {
    static ONES: LazyLock<([CpuStorage; 2], Layout)> =
        LazyLock::new(|| ([1.0, 0.0].map(|number| CpuStorage::F32(vec![number; 2])), row(2)));
    thread_local! {
        static MEMORY: Cell<Memory> = Cell::default();
    }
    check(op.name(), &[x, alpha, beta])?;
    let ask = |probes: &[f32]| {
        let ([ones, zeros], row) = &*ONES;
        // One row after the other: candle hands several to other threads.
        let ask = |&x: &f32| -> Result<f32> {
            let x = CpuStorage::F32(vec![x, -x]);
            let row = floats(op.cpu_fwd(&x, row, ones, row, zeros, row)?.0)?;
            Ok(row.first().copied().unwrap_or(f32::NAN))
        };
        probes.iter().map(ask).collect()
    };
    let mut memory = MEMORY.take();
    let eps = probe::known_eps(probe::layer_formula, &mut memory, ask);
    MEMORY.set(memory);
    let Some(eps) = eps? else {
        return Ok(None);
    };
    let out = ops::layer_norm(view(x), view(alpha), view(beta), eps)?;
    Ok(Some((x.0.beside(out), x.1.shape().clone())))
}

/// The direction of an argsort. It sorts rows of a length that it has from its tensor's last dimension, so the probe is
/// such a row.
fn is_ascending<C: CustomOp1 + ?Sized>(op: &C, layout: &Layout) -> Result<bool> {
    let len = layout.dims().last().copied().unwrap_or_default();
    if layout.shape().elem_count() == 0 || len == 1 {
        return Ok(true);
    }
    match op.cpu_fwd(&CpuStorage::U8(probe::unsorted_row(len)), &row(len))? {
        (CpuStorage::U32(order), _) => Ok(probe::is_ascending(&order)),
        (other, _) => bail!(
            "{} gives positions of {:?}; expected u32",
            op.name(),
            other.dtype()
        ),
    }
}

fn row(len: usize) -> Layout {
    Layout::contiguous(len)
}

fn floats(rows: CpuStorage) -> Result<Vec<f32>> {
    match rows {
        CpuStorage::F32(rows) => Ok(rows),
        other => bail!("rows of f32 gave some of {:?}", other.dtype()),
    }
}

fn view<'a>((storage, layout): Operand<'a>) -> rocm_backend::View<'a> {
    storage.view(layout)
}

/// Refuses what candle's CPU refuses of rows: dtypes that differ, dtypes other than floats, and gaps.
fn check(op: &str, operands: &[Operand<'_>]) -> Result<()> {
    let mut dtypes = operands.iter().map(|(storage, _)| storage.dtype());
    let is_float = |dtype: DType| matches!(dtype, DType::BF16 | DType::F16 | DType::F32 | DType::F64);
    let first = dtypes.clone().next();
    if !dtypes.all(|dtype| is_float(dtype) && Some(dtype) == first) {
        let dtypes: Vec<DType> = operands.iter().map(|(storage, _)| storage.dtype()).collect();
        bail!("unsupported dtype for {op} {dtypes:?}");
    }
    check_contiguous(operands)
}

fn check_contiguous(operands: &[Operand<'_>]) -> Result<()> {
    if !operands.iter().all(|(_, layout)| layout.is_contiguous()) {
        bail!("input has to be contiguous");
    }
    Ok(())
}
