//! The one place where backends have names: parsing them, opening their device, telling what stands behind it, and
//! sorting their errors into classes.

use candle_core::{
    Device, Error,
    rocm::{self, RocmError},
    rocm_backend,
};
use parity_model::{Case, Outcome, Refusal, record::BackendInfo};

use crate::{
    ops,
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

    /// Opens the backend's first device.
    ///
    /// # Errors
    /// Why there is none, in one line.
    pub fn open(self) -> Result<CandleRunner, String> {
        match self {
            Backend::Cpu => Ok(CandleRunner {
                device: Device::Cpu,
                info: cpu_info(),
            }),
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
    }
}

/// The version of candle-core this crate is built against; a test compares it with the manifest.
pub const CANDLE_VERSION: &str = "0.11.1";

#[cfg(feature = "cuda")]
fn open_cuda() -> Result<CandleRunner, String> {
    let device = Device::new_cuda(0).map_err(|error| error.to_string())?;
    let Device::Cuda(cuda) = &device else {
        return Err("candle opened another device".to_owned());
    };
    let context = cuda.cuda_stream().context().clone();
    let capability = context.compute_capability().map_err(|error| error.to_string())?;
    let info = BackendInfo {
        backend: Backend::Cuda.name().to_owned(),
        device: context.name().map_err(|error| error.to_string())?,
        level: "hardware".to_owned(),
        driver: format!("CUDA, candle-core {CANDLE_VERSION}"),
        target: format!("sm_{}{}", capability.0, capability.1),
    };
    Ok(CandleRunner { device, info })
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
        level: found.driver().level().to_string(),
        driver: found.driver().to_string(),
        target: found.target().to_owned(),
    };
    Ok(CandleRunner { device, info })
}

/// An open candle device.
pub struct CandleRunner {
    device: Device,
    info: BackendInfo,
}

impl Runner for CandleRunner {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    fn run(&mut self, case: &Case, seed: u64) -> Outcome {
        rocm::reset_fallbacks();
        self.compute(case, seed).unwrap_or_else(|stop| match stop {
            Stop::Refused(error) => Outcome::Refused {
                refusal: classify(&error),
                message: words(&error),
            },
            Stop::Misuse(reason) => Outcome::Missing { reason },
        })
    }

    fn fallbacks(&self) -> Vec<String> {
        rocm::fallbacks()
            .into_iter()
            .map(|(op, _)| op.to_owned())
            .collect()
    }
}

/// Why a case gave no value.
enum Stop {
    /// The backend said no.
    Refused(Error),
    /// What ran, or would have run, is not what the case says. Not a refusal, lest two backends agree on it.
    Misuse(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Refused(error)
    }
}

impl CandleRunner {
    fn compute(&self, case: &Case, seed: u64) -> Result<Outcome, Stop> {
        let mut args = Vec::with_capacity(case.args.len());
        for (i, (arg, base)) in case.args.iter().zip(case.inputs(seed)).enumerate() {
            let plan = case.plan(i);
            let planned = plan.as_ref().and_then(Placement::of_plan);
            let (Some(plan), Some(planned)) = (plan, planned) else {
                return Err(Stop::Misuse(format!(
                    "{} is impossible for the shape {:?}",
                    arg.layout, arg.shape
                )));
            };
            let tensor = tensors::view(tensors::upload(&base, &self.device)?, &plan)?;
            let found = Placement::of_layout(tensor.layout());
            if !planned.agrees_with(&found) {
                return Err(Stop::Misuse(format!(
                    "candle built another view: planned {planned}; found {found}"
                )));
            }
            args.push(tensor);
        }
        let result = ops::apply(case.op, &case.params, &args)
            .ok_or_else(|| Stop::Misuse(format!("{} does not take the case's arguments", case.op)))??;
        if !result.device().same_device(&self.device) {
            let place = result.device().location();
            return Err(Stop::Misuse(format!(
                "the result lies on {place:?}, not on the device under test"
            )));
        }
        Ok(Outcome::Ran(tensors::download(&result)?.map_err(Stop::Misuse)?))
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
        // candle loads a CUDA kernel by name; one that was not compiled is "not found".
        Error::Cuda(inner) if inner.to_string().contains("CUDA_ERROR_NOT_FOUND") => Refusal::Unsupported,
        Error::ShapeMismatchBinaryOp { .. }
        | Error::DTypeMismatchBinaryOp { .. }
        | Error::UnexpectedNumberOfDims { .. }
        | Error::UnexpectedShape { .. }
        | Error::DimOutOfRange { .. }
        | Error::InvalidIndex { .. } => Refusal::Invalid,
        _ => Refusal::Other,
    }
}

fn classify_rocm(error: &RocmError) -> Refusal {
    match error {
        error if error.is_unsupported() => Refusal::Unsupported,
        RocmError::Backend(rocm_backend::Error::Invalid(_)) => Refusal::Invalid,
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
            Refusal::Other,
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
            rocm_backend::Error::Invalid("a view outside its buffer".to_owned()).into(),
            Refusal::Invalid,
        );
        check(Error::Msg("anything".to_owned()), Refusal::Other);
    }
}
