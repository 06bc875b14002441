//! The one place where backends have names: parsing them, opening their device, telling what stands behind it, and
//! sorting their errors into classes.

#[cfg(any(feature = "cuda", test))]
mod library;

use candle_core::{
    Device, Error, Tensor, Var,
    rocm::{self, RocmError},
    rocm_backend::{
        self,
        environment::{Card, Driver, names},
        trace,
    },
};
use parity_model::{Case, HostTensor, Outcome, Refusal, record::BackendInfo};

use crate::{
    nvidia,
    ops::{self, Scalars},
    tensors::{self, Placement},
    worker::Runner,
};

/// A device parity can run cases on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// candle's CPU backend, the reference.
    Cpu,
    /// candle's CUDA backend; compiled in with the feature `cuda`.
    Cuda,
    /// The ROCm backend: a real AMD GPU, or the software one.
    Rocm,
}

impl Backend {
    /// Every backend, in the order tables show them.
    pub const ALL: [Backend; 3] = [Backend::Cpu, Backend::Cuda, Backend::Rocm];

    /// The backend whose column stands first, and against which the others are also compared.
    pub const REFERENCE: Backend = Backend::Cpu;

    /// The backend that runs when none is asked for.
    pub const DEFAULT: Backend = Backend::Rocm;

    /// The word the command line and tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
            Backend::Rocm => "rocm",
        }
    }

    /// The Rust expression that opens the backend's first device, for sources made of a case.
    pub const fn source(self) -> &'static str {
        match self {
            Backend::Cpu => "Device::Cpu",
            Backend::Cuda => "Device::new_cuda(0)?",
            Backend::Rocm => "Device::new_rocm(0)?",
        }
    }

    /// The environments that lead to the devices the backend may have, one each.
    pub const fn choices(self) -> &'static [&'static [(&'static str, &'static str)]] {
        const SOFT: (&str, &str) = (names::DRIVER, Driver::Soft.word());
        const ROCM: &[&[(&str, &str)]] = &[
            &[(names::DRIVER, Driver::System.word())],
            &[SOFT, (names::SOFT_TARGET, Card::Gfx1100.word())],
            &[SOFT, (names::SOFT_TARGET, Card::Gfx942.word())],
            &[SOFT, (names::SOFT_TARGET, Card::Gfx90a.word())],
        ];
        match self {
            Backend::Cpu | Backend::Cuda => &[&[]],
            Backend::Rocm => ROCM,
        }
    }

    /// Opens the backend's first device.
    ///
    /// # Errors
    /// Why there is none, in one line.
    pub fn open(self) -> Result<CandleRunner, String> {
        match self {
            Backend::Cpu => Ok(CandleRunner::new(Device::Cpu, cpu_info())),
            Backend::Cuda => open_cuda(),
            Backend::Rocm => open_rocm(),
        }
    }
}

/// A name that is no backend's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown backend `{0}`")]
pub struct UnknownBackend(pub String);

impl std::str::FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        let found = Backend::ALL.into_iter().find(|backend| backend.name() == name);
        found.ok_or_else(|| UnknownBackend(name.to_owned()))
    }
}

fn cpu_info() -> BackendInfo {
    BackendInfo {
        backend: Backend::Cpu.name().to_owned(),
        device: format!("host CPU ({})", std::env::consts::ARCH),
        level: "host".to_owned(),
        driver: format!("candle-core {CANDLE_VERSION}"),
        target: String::new(),
        host: None,
    }
}

/// The version of candle-core this crate is built against; a test compares it with the manifest.
pub const CANDLE_VERSION: &str = "0.11.1";

#[cfg(feature = "cuda")]
fn open_cuda() -> Result<CandleRunner, String> {
    let opened = std::panic::catch_unwind(|| Device::new_cuda(0)).map_err(|panic| {
        let said = panic.downcast_ref::<String>().map_or("", String::as_str);
        library::missing_library(said).unwrap_or_else(|| format!("opening the device panicked: {said}"))
    })?;
    let device = opened.map_err(|error| words(&error))?;
    let Device::Cuda(cuda) = &device else {
        return Err("candle opened another device".to_owned());
    };
    let context = cuda.cuda_stream().context().clone();
    let capability = context.compute_capability().map_err(|error| error.to_string())?;
    let module = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let module = library::driver_version(&module).unwrap_or("unknown");
    let info = BackendInfo {
        backend: Backend::Cuda.name().to_owned(),
        device: context.name().map_err(|error| error.to_string())?,
        level: "hardware".to_owned(),
        driver: format!("NVIDIA driver {module}, CUDA {}", env!("PARITY_CUDA_VERSION")),
        target: format!("sm_{}{}", capability.0, capability.1),
        host: None,
    };
    Ok(CandleRunner::new(device, info))
}

#[cfg(not(feature = "cuda"))]
fn open_cuda() -> Result<CandleRunner, String> {
    Err(
        "this parity was built without CUDA; build it with `--features cuda`, which needs the CUDA toolkit \
         (nvcc) at build time and an NVIDIA GPU at run time"
            .to_owned(),
    )
}

fn open_rocm() -> Result<CandleRunner, String> {
    let device = Device::new_rocm(0).map_err(|error| words(&error))?;
    let Device::Rocm(rocm) = &device else {
        return Err("candle opened another device".to_owned());
    };
    let found = rocm.backend().info();
    let info = BackendInfo {
        backend: Backend::Rocm.name().to_owned(),
        device: found.name().to_owned(),
        level: trace::Level::of(found.driver()).to_string(),
        driver: found.driver().to_string(),
        target: found.target().to_owned(),
        host: None,
    };
    Ok(CandleRunner::new(device, info))
}

/// An open candle device.
pub struct CandleRunner {
    device: Device,
    info: BackendInfo,
    /// What computed the last result.
    served_by: Vec<String>,
}

impl Runner for CandleRunner {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    fn run(&mut self, case: &Case, seed: u64) -> Outcome {
        rocm::reset_fallbacks();
        self.served_by.clear();
        self.compute(case, seed).unwrap_or_else(|why| match why {
            NoResult::Refused(error) => Outcome::Refused {
                refusal: classify(&error),
                message: words(&error),
            },
            NoResult::Misuse(reason) => Outcome::Missing { reason },
        })
    }

    fn fallbacks(&self) -> Vec<String> {
        rocm::fallbacks()
            .into_iter()
            .map(|(op, _)| op.to_owned())
            .collect()
    }

    fn served_by(&self) -> Vec<String> {
        self.served_by.clone()
    }
}

/// Why a case gave no value.
enum NoResult {
    /// The backend said no.
    Refused(Error),
    /// What ran, or would have run, is not what the case says. Not a refusal, lest two backends agree on it.
    Misuse(String),
}

impl From<Error> for NoResult {
    fn from(error: Error) -> Self {
        NoResult::Refused(error)
    }
}

impl CandleRunner {
    fn new(device: Device, info: BackendInfo) -> CandleRunner {
        CandleRunner {
            device,
            info,
            served_by: vec![],
        }
    }

    /// What the device has executed since the last call.
    fn take_trace(&self) -> Vec<String> {
        match &self.device {
            Device::Rocm(rocm) => trace::take(rocm.backend())
                .iter()
                .map(ToString::to_string)
                .collect(),
            _ => vec![],
        }
    }

    /// The output of a case; of one that compares two forms of its call, that of both.
    fn compute(&mut self, case: &Case, seed: u64) -> Result<Outcome, NoResult> {
        let inputs = case.inputs(seed);
        let args = self.views(case, &inputs)?;
        // Uploads and views are not the op's.
        self.take_trace();
        let whole = self.call(case, &args);
        self.served_by = self.take_trace();
        let whole = whole?;
        let Some(parts) = case.parts(&inputs) else {
            return Ok(Outcome::Ran(whole));
        };
        let mut outputs = Vec::with_capacity(parts.calls.len());
        for call in &parts.calls {
            let args = call.iter().enumerate().map(|(i, arg)| self.base(case, i, arg));
            outputs.push(self.call(case, &args.collect::<Result<Vec<_>, Error>>()?)?);
        }
        let both = parts.join(&outputs).and_then(|parts| Case::stack(&whole, &parts));
        both.map(Outcome::Ran).map_err(NoResult::Misuse)
    }

    /// The arguments as the case's layouts say, each compared with what its plan promises.
    fn views(&self, case: &Case, inputs: &[HostTensor]) -> Result<Vec<Tensor>, NoResult> {
        let mut args = Vec::with_capacity(case.args.len());
        for (i, (arg, base)) in case.args.iter().zip(inputs).enumerate() {
            let plan = case.plan(i);
            let planned = plan.as_ref().and_then(Placement::of_plan);
            let (Some(plan), Some(planned)) = (plan, planned) else {
                return Err(NoResult::Misuse(format!(
                    "{} is impossible for the shape {:?}",
                    arg.layout, arg.shape
                )));
            };
            let tensor = tensors::view(self.base(case, i, base)?, &plan)?;
            let found = Placement::of_layout(tensor.layout());
            if !planned.agrees_with(&found) {
                return Err(NoResult::Misuse(format!(
                    "candle built another view: planned {planned}; found {found}"
                )));
            }
            args.push(tensor);
        }
        Ok(args)
    }

    /// The tensor under argument `i`: a variable, where the case asks for the gradient by it.
    fn base(&self, case: &Case, i: usize, base: &HostTensor) -> Result<Tensor, Error> {
        let base = tensors::upload(base, &self.device)?;
        if ops::grad::variable(case) == Some(i) {
            return Ok(Var::from_tensor(&base)?.into_inner());
        }
        Ok(base)
    }

    /// The op on `args`, its output copied to the host.
    fn call(&self, case: &Case, args: &[Tensor]) -> Result<HostTensor, NoResult> {
        let result = ops::apply(Scalars::of(case), args)
            .ok_or_else(|| NoResult::Misuse(format!("{} does not take the case's arguments", case.op)))??;
        let result = match ops::grad::variable(case) {
            // The gradient is that of the tensor under the view.
            Some(by) if !args[by].is_variable() => match case.plan(by) {
                Some(plan) => tensors::view(result, &plan)?,
                None => result,
            },
            Some(_) | None => result,
        };
        if !result.device().same_device(&self.device) {
            let place = result.device().location();
            return Err(NoResult::Misuse(format!(
                "the result lies on {place:?}, not on the device under test"
            )));
        }
        tensors::download(&result)?.map_err(NoResult::Misuse)
    }
}

/// The error under candle's wrappers, which add contexts and backtraces.
fn innermost(error: &Error) -> &Error {
    match error {
        Error::WithBacktrace { inner, .. } | Error::WithPath { inner, .. } | Error::Context { inner, .. } => {
            innermost(inner)
        }
        other => other,
    }
}

/// The backend's own words.
fn words(error: &Error) -> String {
    RocmError::of(error).map_or_else(|| innermost(error).to_string(), RocmError::to_string)
}

/// The class of a candle error.
fn classify(error: &Error) -> Refusal {
    if let Some(error) = RocmError::of(error) {
        return classify_rocm(error);
    }
    match innermost(error) {
        Error::UnsupportedDTypeForOp(..) => Refusal::Unsupported,
        Error::Cuda(inner) => nvidia::classify(&inner.to_string()),
        Error::Msg(text) if text.contains("not supported on cuda") => Refusal::Unsupported,
        // candle-nn's fused ops have no variant for it.
        Error::Msg(text) if text.starts_with("unsupported dtype") => Refusal::Unsupported,
        Error::BackwardNotSupported { .. } => Refusal::Unsupported,
        Error::Msg(text) if text.starts_with("cannot seed") => Refusal::Unsupported,
        Error::Msg(text) if text.starts_with("backward not supported") => Refusal::Unsupported,
        Error::UnexpectedDType { .. }
        | Error::DTypeMismatchBinaryOp { .. }
        | Error::DimOutOfRange { .. }
        | Error::DuplicateDimIndex { .. }
        | Error::UnexpectedNumberOfDims { .. }
        | Error::UnexpectedShape { .. }
        | Error::ShapeMismatch { .. }
        | Error::ShapeMismatchBinaryOp { .. }
        | Error::ShapeMismatchCat { .. }
        | Error::ShapeMismatchSplit { .. }
        | Error::OnlySingleDimension { .. }
        | Error::EmptyTensor { .. }
        | Error::NarrowInvalidArgs { .. }
        | Error::Conv1dInvalidArgs { .. }
        | Error::InvalidIndex { .. }
        | Error::BroadcastIncompatibleShapes { .. }
        | Error::MatMulUnexpectedStriding(_)
        | Error::RequiresContiguous { .. } => Refusal::Invalid,
        _ => Refusal::Other,
    }
}

fn classify_rocm(error: &RocmError) -> Refusal {
    match error {
        error if error.is_unsupported() => Refusal::Unsupported,
        RocmError::Backend(error) if error.is_invalid() => Refusal::Invalid,
        RocmError::Backend(rocm_backend::Error::DeviceFault(_)) => Refusal::DeviceFault,
        _ => Refusal::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_candle_version_reports_name_is_the_one_in_the_manifest() {
        let pinned = format!("candle-core = \"={CANDLE_VERSION}\"");
        assert!(include_str!("../../../Cargo.toml").contains(&pinned));
    }

    #[test]
    fn errors_are_sorted_under_whatever_candle_wrapped_round_them() {
        let check = |error: Error, want| assert_eq!(classify(&error.bt().context("in a test")), want);
        check(
            Error::UnsupportedDTypeForOp(candle_core::DType::U8, "exp"),
            Refusal::Unsupported,
        );
        check(
            Error::Cuda("DriverError(CUDA_ERROR_NOT_FOUND)".into()),
            Refusal::Unsupported,
        );
        check(
            Error::Cuda("DriverError(CUDA_ERROR_ILLEGAL_ADDRESS)".into()),
            Refusal::DeviceFault,
        );
        check(
            Error::Rocm(RocmError::NotImplemented { op: "matmul" }),
            Refusal::Unsupported,
        );
        check(
            rocm_backend::Error::DeviceFault("page fault".to_owned()).into(),
            Refusal::DeviceFault,
        );
        check(
            rocm_backend::Error::Devices {
                op: "badd".to_owned(),
            }
            .into(),
            Refusal::Invalid,
        );
        check(Error::Msg("anything".to_owned()), Refusal::Other);
    }
}
