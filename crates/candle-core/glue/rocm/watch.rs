//! Watching the ops of a program: each op that a ROCm device computes is computed again by candle's CPU backend, of the same
//! inputs, in the op's own dtype and in f64. [`watch_ops`] begins it and [`take_watched`] tells what was seen.
//!
//! Beside that, every result keeps what it would be had the whole program been computed in f64 since the watch began: the
//! distance from that is an error's growth. Whole numbers are always the device's own, so that a choice that it makes, such as
//! the largest of several, is the same in both.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use super::{RocmError, RocmStorage};
use crate::{CpuStorage, DType, Error, Layout, Result, Shape, backend::BackendStorage as _};

static IS_ON: AtomicBool = AtomicBool::new(false);
static SEEN: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// An op that was watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Its name.
    pub op: &'static str,
    /// Which of its forms: the dtype that a cast makes, the format of quantized weights. Empty for others.
    pub form: &'static str,
    /// Its parameters in the order of candle's arguments; those of candle-nn's fused ops are not told.
    pub params: Vec<f64>,
    /// The shapes of its inputs.
    pub inputs: Vec<Vec<usize>>,
    /// Their strides.
    pub strides: Vec<Vec<usize>>,
    /// The places of their first elements.
    pub offsets: Vec<usize>,
    /// The dtypes of its inputs.
    pub dtypes: Vec<DType>,
    /// Elements of the result.
    pub elements: usize,
    /// The largest distance of an element of the device's result from the CPU's in f64, for equal inputs. Infinite where one
    /// is a number and the other is not. Whole numbers are compared with the CPU's own.
    pub device: f64,
    /// The same for the CPU's result in the op's dtype. 0 where the CPU does not have the op in that dtype.
    pub cpu: f64,
    /// What roundings are relative to: the largest sum of absolute terms where the op is a sum, else the largest element.
    pub scale: f64,
    /// The largest distance from the program in f64. None for whole numbers, and where that program is lost.
    pub drift: Option<f64>,
    /// The largest element of the program in f64, or of the CPU's result in f64.
    pub magnitude: f64,
    /// FNV-1a of the elements' bits as f64.
    pub digest: u64,
    /// Why nothing was compared, where nothing was.
    pub skipped: Option<String>,
}

/// Begins or ends the watch of all ROCm devices of this process, and forgets what was seen. It takes time: every op is
/// computed four times and all its tensors are downloaded.
pub fn watch_ops(on: bool) {
    seen().clear();
    IS_ON.store(on, Ordering::Relaxed);
}

/// The ops since the watch began or this was called last, in their order.
pub fn take_watched() -> Vec<Watched> {
    std::mem::take(&mut *seen())
}

fn seen() -> MutexGuard<'static, Vec<Watched>> {
    // A list is whole at every moment, so a panic elsewhere cannot have left it half-written.
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the host computes of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Its result in the op's dtype.
    Narrow,
    /// Its result in f64.
    Wide,
    /// In f64, of the absolute values of its inputs: of a sum of products, the sum of the terms' magnitudes.
    Magnitude,
    /// In f64, of what its inputs are in the program in f64.
    Program,
}

impl Pass {
    /// The dtype of a result that is `dtype` on the device.
    pub(crate) fn dtype(self, dtype: DType) -> DType {
        match self {
            Pass::Wide | Pass::Magnitude | Pass::Program if dtype.is_float() => DType::F64,
            _ => dtype,
        }
    }
}

/// What an op's roundings are relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    /// The sum of the magnitudes of its terms.
    Sum,
    /// The largest element of its result.
    Plain,
    /// The largest element of its result or of its inputs: a difference is formed on the way.
    Norm,
}

/// An op's name, its form and its parameters.
#[derive(Clone, Copy)]
pub(crate) struct WatchedOp<'a> {
    name: &'static str,
    form: &'static str,
    params: &'a [f64],
}

impl WatchedOp<'_> {
    /// The op in this form.
    pub(crate) fn of(self, form: &'static str) -> Self {
        WatchedOp { form, ..self }
    }
}

impl From<&'static str> for WatchedOp<'_> {
    fn from(name: &'static str) -> Self {
        WatchedOp {
            name,
            form: "",
            params: &[],
        }
    }
}

impl<'a, const N: usize> From<(&'static str, &'a [f64; N])> for WatchedOp<'a> {
    fn from((name, params): (&'static str, &'a [f64; N])) -> Self {
        WatchedOp {
            name,
            form: "",
            params,
        }
    }
}

impl<'a> From<(&'static str, &'a [f64])> for WatchedOp<'a> {
    fn from((name, params): (&'static str, &'a [f64])) -> Self {
        WatchedOp {
            name,
            form: "",
            params,
        }
    }
}

/// An operand.
pub(crate) type Operand<'a> = (&'a RocmStorage, &'a Layout);

/// What the host computes of an op, from its inputs.
type Host<'a> = &'a dyn Fn(&[CpuStorage], Pass) -> Result<CpuStorage>;

/// Runs an op that makes a storage.
pub(crate) fn op<'a>(
    call: impl Into<WatchedOp<'a>>,
    kind: OpKind,
    operands: &[Operand<'_>],
    device: impl FnOnce() -> Result<RocmStorage>,
    host: impl Fn(&[CpuStorage], Pass) -> Result<CpuStorage>,
) -> Result<RocmStorage> {
    let call = call.into();
    refuse_kept(call.name, operands.iter().map(|(x, _)| *x))?;
    let mut out = device()?;
    if IS_ON.load(Ordering::Relaxed) {
        look(call, kind, operands, &mut out, &host)?;
    }
    Ok(out)
}

/// Refuses an op on elements that nothing computes with.
fn refuse_kept<'a>(op: &'static str, operands: impl IntoIterator<Item = &'a RocmStorage>) -> Result<()> {
    match operands.into_iter().find_map(RocmStorage::kept) {
        None => Ok(()),
        Some(dtype) => Err(Error::Rocm(RocmError::Unsupported { op, dtype }).bt()),
    }
}

/// Runs an op that makes a storage and says its shape, or does not run it.
pub(crate) fn answer(
    name: &'static str,
    operands: &[Operand<'_>],
    device: impl FnOnce() -> Result<Option<(RocmStorage, Shape)>>,
    host: impl Fn(&[CpuStorage]) -> Result<(CpuStorage, Shape)>,
) -> Result<Option<(RocmStorage, Shape)>> {
    refuse_kept(name, operands.iter().map(|(x, _)| *x))?;
    let Some((mut out, shape)) = device()? else {
        return Ok(None);
    };
    if IS_ON.load(Ordering::Relaxed) {
        look(
            name.into(),
            OpKind::Norm,
            operands,
            &mut out,
            &|inputs: &[CpuStorage], pass| match host(inputs) {
                // candle-nn's norms have no f64 on the CPU: their f32 stands for it.
                Err(_) if pass != Pass::Narrow => {
                    let inputs: Vec<CpuStorage> = inputs.iter().map(single).collect();
                    widen(&host(&inputs)?.0)
                }
                result => Ok(result?.0),
            },
        )?;
    }
    Ok(Some((out, shape)))
}

/// Runs an op that changes a storage.
pub(crate) fn change<'a>(
    call: impl Into<WatchedOp<'a>>,
    to: &mut RocmStorage,
    operands: &[Operand<'_>],
    device: impl FnOnce(&mut RocmStorage) -> Result<()>,
    host: impl Fn(&mut CpuStorage, &[CpuStorage], Pass) -> Result<()>,
) -> Result<()> {
    let call = call.into();
    refuse_kept(call.name, operands.iter().map(|(x, _)| *x).chain([&*to]))?;
    if !IS_ON.load(Ordering::Relaxed) {
        return device(to);
    }
    let before = to.download()?;
    let program = in_program(to, &before)?;
    device(to)?;
    look(call, OpKind::Plain, operands, to, &|inputs: &[CpuStorage], pass| {
        let mut result = match pass {
            Pass::Narrow => before.clone(),
            Pass::Wide | Pass::Magnitude => widen(&before)?,
            Pass::Program => program.clone(),
        };
        host(&mut result, inputs, pass)?;
        Ok(result)
    })
}

/// Compares what the device made of the operands with what the host makes of them.
fn look(
    call: WatchedOp<'_>,
    kind: OpKind,
    operands: &[Operand<'_>],
    out: &mut RocmStorage,
    host: Host<'_>,
) -> Result<()> {
    let result = out.download()?;
    let inputs = operands
        .iter()
        .map(|(x, _)| x.download())
        .collect::<Result<Vec<_>>>()?;
    let pairs = operands.iter().zip(&inputs);
    let program = pairs
        .map(|((x, _), host)| in_program(x, host))
        .collect::<Result<Vec<_>>>()?;
    let found = floats(&result);
    let mut watched = Watched {
        op: call.name,
        form: call.form,
        params: call.params.to_vec(),
        inputs: operands
            .iter()
            .map(|(_, layout)| layout.dims().to_vec())
            .collect(),
        strides: operands
            .iter()
            .map(|(_, layout)| layout.stride().to_vec())
            .collect(),
        offsets: operands.iter().map(|(_, layout)| layout.start_offset()).collect(),
        dtypes: operands.iter().map(|(x, _)| x.dtype()).collect(),
        elements: found.len(),
        device: 0.0,
        cpu: 0.0,
        scale: 0.0,
        drift: None,
        magnitude: 0.0,
        digest: digest(&found),
        skipped: None,
    };
    if watched.dtypes.is_empty() {
        watched.dtypes.push(out.dtype());
        watched.inputs.push(vec![found.len()]);
        watched.strides.push(vec![1]);
        watched.offsets.push(0);
    }
    // What a refusal of the CPU's may panic about is a matter of its dtypes: all of that is an error here.
    let narrow = host(&inputs, Pass::Narrow);
    if !result.dtype().is_float() {
        match narrow {
            Ok(narrow) => watched.device = distance(&found, &floats(&narrow)),
            Err(error) => watched.skipped = Some(first_line(&error)),
        }
        seen().push(watched);
        return Ok(());
    }
    let wide_inputs = inputs.iter().map(widen).collect::<Result<Vec<_>>>()?;
    match host(&wide_inputs, Pass::Wide) {
        Err(error) => watched.skipped = Some(first_line(&error)),
        Ok(wide) => {
            let wide = floats(&wide);
            watched.device = distance(&found, &wide);
            watched.cpu = narrow.map_or(0.0, |narrow| distance(&floats(&narrow), &wide));
            watched.magnitude = largest(&wide);
            watched.scale = match kind {
                OpKind::Plain => watched.magnitude,
                OpKind::Norm => wide_inputs
                    .iter()
                    .map(|x| largest(&floats(x)))
                    .fold(watched.magnitude, f64::max),
                OpKind::Sum => {
                    let absolute: Vec<CpuStorage> = wide_inputs.iter().map(absolute).collect();
                    largest(&floats(&host(&absolute, Pass::Magnitude)?))
                }
            };
        }
    }
    if let Ok(program) = host(&program, Pass::Program) {
        let exact = floats(&program);
        if exact.len() == found.len() {
            watched.drift = Some(distance(&found, &exact));
            watched.magnitude = largest(&exact);
            out.set_program(Some(Arc::new(program)));
        }
    }
    seen().push(watched);
    Ok(())
}

/// What a storage is in the program in f64: what was kept, or else what it is.
fn in_program(storage: &RocmStorage, host: &CpuStorage) -> Result<CpuStorage> {
    match storage.program() {
        Some(kept) => Ok(CpuStorage::clone(kept)),
        None => widen(host),
    }
}

/// Floats as f64; whole numbers as they are.
fn widen(host: &CpuStorage) -> Result<CpuStorage> {
    if !host.dtype().is_float() {
        return Ok(host.clone());
    }
    Ok(CpuStorage::F64(floats(host)))
}

/// f64 as f32; everything else as it is.
fn single(host: &CpuStorage) -> CpuStorage {
    match host {
        CpuStorage::F64(values) => CpuStorage::F32(values.iter().map(|value| *value as f32).collect()),
        other => other.clone(),
    }
}

fn absolute(host: &CpuStorage) -> CpuStorage {
    match host {
        CpuStorage::F64(values) => CpuStorage::F64(values.iter().map(|value| value.abs()).collect()),
        other => other.clone(),
    }
}

/// The elements as f64. Those of formats that are stored as bytes have no meaning here and are left out.
fn floats(host: &CpuStorage) -> Vec<f64> {
    match host {
        CpuStorage::U8(values) => values.iter().map(|value| f64::from(*value)).collect(),
        CpuStorage::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        CpuStorage::I16(values) => values.iter().map(|value| f64::from(*value)).collect(),
        CpuStorage::I32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        CpuStorage::I64(values) => values.iter().map(|value| *value as f64).collect(),
        CpuStorage::BF16(values) => values.iter().map(|value| value.to_f64()).collect(),
        CpuStorage::F16(values) => values.iter().map(|value| value.to_f64()).collect(),
        CpuStorage::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        CpuStorage::F64(values) => values.clone(),
        CpuStorage::F8E4M3(values) => values.iter().map(|value| value.to_f64()).collect(),
        CpuStorage::F6E2M3(_) | CpuStorage::F6E3M2(_) | CpuStorage::F4(_) | CpuStorage::F8E8M0(_) => vec![],
    }
}

fn largest(values: &[f64]) -> f64 {
    let finite = values
        .iter()
        .map(|value| value.abs())
        .filter(|value| value.is_finite());
    finite.fold(0.0, f64::max)
}

fn distance(found: &[f64], wanted: &[f64]) -> f64 {
    if found.len() != wanted.len() {
        return f64::INFINITY;
    }
    let apart = |(found, wanted): (&f64, &f64)| {
        if found == wanted || (found.is_nan() && wanted.is_nan()) {
            0.0
        } else if found.is_finite() && wanted.is_finite() {
            (found - wanted).abs()
        } else {
            f64::INFINITY
        }
    };
    found.iter().zip(wanted).map(apart).fold(0.0, f64::max)
}

fn digest(values: &[f64]) -> u64 {
    let bytes = values.iter().flat_map(|value| value.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn first_line(error: &crate::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
