//! The one place where backends have names: parsing them, opening their device, describing that device, and
//! sorting their errors into classes.

#[cfg(any(feature = "cuda", test))]
mod library;

use candle_core::{
    Device, Error, Tensor, Var,
    rocm::{self, RocmError},
    rocm_backend::{
        self, DriverKind,
        environment::{self, Driver, Entry, names},
        trace, trial,
    },
};
use parity_model::{
    Case, HostTensor, Outcome, Refusal,
    record::{BackendInfo, KernelCost},
};

use crate::{
    nvidia,
    ops::{self, Scalars},
    protocol::{Covered, Loaded, Mutant},
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
    /// The ROCm backend: a real AMD GPU, the software one, or its kernels on an NVIDIA GPU.
    Rocm,
}

impl Backend {
    /// Every backend, in the order tables show them.
    pub const ALL: [Backend; 3] = [Backend::Cpu, Backend::Cuda, Backend::Rocm];

    /// The backend of the first column, with which the others are also compared.
    pub const REFERENCE: Backend = Backend::Cpu;

    /// The backend that runs when none is asked for.
    pub const DEFAULT: Backend = Backend::Rocm;

    /// The software GPU that is broken on purpose when none is asked for.
    pub const SOFT_DEFAULT: &'static str = "rocm:gfx1100";

    /// The word the command line and tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
            Backend::Rocm => "rocm",
        }
    }

    /// The devices that have names, each with the variables that lead to it. Beside these, a backend's devices have
    /// numbers, from 0.
    const fn named(self) -> &'static [(&'static str, &'static [Variable])] {
        match self {
            Backend::Cpu | Backend::Cuda => &[],
            Backend::Rocm => ROCM,
        }
    }

    /// The devices that the backend may have here, without those of a higher number. `hsa` stands for all cards under AMD's
    /// runtime.
    pub fn devices(self) -> Vec<BackendDevice> {
        let device = |word: &str| BackendDevice {
            backend: self,
            name: format!("{}:{word}", self.name()),
        };
        let words = self.named().iter().map(|(word, _)| *word);
        let devices: Vec<_> = words.filter(|word| !word.contains(':')).map(device).collect();
        match devices.is_empty() {
            true => vec![self.into()],
            false => devices,
        }
    }
}

/// A name and a value of the environment.
type Variable = (&'static str, &'static str);

const SYSTEM: &str = Driver::System.word();
const HSA: &str = Driver::Hsa.word();
const SOFT: &str = Driver::Soft.word();
const NVIDIA: &str = Driver::Nvidia.word();

/// The named devices of ROCm: those of a driver, and each card as the software device itself and under AMD's runtime. The words of cards are
/// those of `Card`, which a test holds them to.
macro_rules! rocm {
    ($($card:literal)*) => {
        &[
            (SYSTEM, &[(names::DRIVER, SYSTEM)]),
            (SOFT, &[(names::DRIVER, SOFT)]),
            (NVIDIA, &[(names::DRIVER, NVIDIA)]),
            (HSA, &[(names::DRIVER, HSA)]),
            $(($card, &[(names::DRIVER, SOFT), (names::SOFT_DEVICES, $card)]),)*
            $((concat!("hsa:", $card), &[(names::DRIVER, HSA), (names::SOFT_DEVICES, $card)]),)*
        ]
    };
}

const ROCM: &[(&str, &[Variable])] = rocm! {
    "gfx1100" "gfx1151" "gfx1200" "gfx1201" "gfx1030" "gfx942" "gfx950" "gfx90a" "gfx1250"
};

/// A backend and which of its devices, as the command line and tables name them: `cpu`, `cuda:1`, `rocm:gfx942`. Without a
/// device, the environment chooses; it is the first one that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendDevice {
    backend: Backend,
    name: String,
}

impl From<Backend> for BackendDevice {
    fn from(backend: Backend) -> BackendDevice {
        BackendDevice {
            backend,
            name: backend.name().to_owned(),
        }
    }
}

/// Of a name as tables show it: `rocm:gfx942`. The error is a sentence.
impl std::str::FromStr for BackendDevice {
    type Err = String;

    fn from_str(name: &str) -> Result<BackendDevice, String> {
        let (word, device) = match name.split_once(':') {
            None => (name, None),
            Some((word, device)) => (word, Some(device)),
        };
        let found = Backend::ALL.into_iter().find(|backend| backend.name() == word);
        let backend = found.ok_or_else(|| {
            let known = Backend::ALL.map(Backend::name).join(", ");
            format!("unknown backend `{word}`: expected one of {known}")
        })?;
        match device {
            None => Ok(backend.into()),
            Some(device) => BackendDevice::new(backend, device).map_err(|error| error.to_string()),
        }
    }
}

/// A word that names no device of a backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device `{word}` of backend {backend}: expected {known}")]
pub struct UnknownDevice {
    backend: &'static str,
    word: String,
    known: String,
}

impl BackendDevice {
    /// The backend's device of this name.
    ///
    /// # Errors
    /// The backend has no device of this name. The error lists the names that it has.
    pub fn new(backend: Backend, word: &str) -> Result<BackendDevice, UnknownDevice> {
        let mut names = backend.named().iter().map(|(name, _)| *name);
        // One spelling for each number, as it names a column.
        let number = word
            .parse::<usize>()
            .is_ok_and(|number| number.to_string() == word);
        let numbered = backend != Backend::Cpu;
        if names.any(|name| name == word) || (numbered && number) {
            return Ok(BackendDevice {
                backend,
                name: format!("{}:{word}", backend.name()),
            });
        }
        // A word of two parts is told by its form.
        let plain = backend.named().iter().filter(|(name, _)| !name.contains(':'));
        let names: Vec<_> = plain
            .map(|(name, _)| (*name).to_owned())
            .chain((backend == Backend::Rocm).then(|| format!("{HSA}:CARD with such a card")))
            .chain(numbered.then(|| "a number from 0".to_owned()))
            .collect();
        Err(UnknownDevice {
            backend: backend.name(),
            word: word.to_owned(),
            known: match names.is_empty() {
                true => "none, as it has one device".to_owned(),
                false => names.join(", "),
            },
        })
    }

    /// The real AMD GPU, where the default device may be the software one.
    pub fn hardware() -> BackendDevice {
        BackendDevice {
            backend: Backend::Rocm,
            name: format!("{}:{SYSTEM}", Backend::Rocm.name()),
        }
    }

    /// AMD's own HIP runtime and libraries over the software GPU.
    pub fn amd_over_software() -> BackendDevice {
        BackendDevice {
            backend: Backend::Rocm,
            name: format!("{}:{HSA}", Backend::Rocm.name()),
        }
    }

    /// An NVIDIA GPU that runs the ROCm backend's kernels; never the default device.
    pub fn hip_on_nvidia() -> BackendDevice {
        BackendDevice {
            backend: Backend::Rocm,
            name: format!("{}:{NVIDIA}", Backend::Rocm.name()),
        }
    }

    /// Whether it is a software GPU that is part of this program, by its name, whatever the environment says.
    pub fn is_software(&self) -> bool {
        self.env().contains(&(names::DRIVER, SOFT))
    }

    /// The backend.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The name of its column.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn word(&self) -> Option<&str> {
        self.name.split_once(':').map(|(_, word)| word)
    }

    /// The number of the device among those of its driver.
    fn ordinal(&self) -> usize {
        self.word().and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// The variables that lead a process to the device.
    pub fn env(&self) -> &'static [(&'static str, &'static str)] {
        let named = self.backend.named().iter();
        let mut found = named.filter(|(name, _)| Some(*name) == self.word());
        found.next().map_or(&[], |(_, env)| env)
    }

    /// The Rust expression that opens the device in a process with these variables, for sources made of a case.
    pub fn source(&self) -> String {
        let ordinal = self.ordinal();
        match self.backend {
            Backend::Cpu => "Device::Cpu".to_owned(),
            Backend::Cuda => format!("Device::new_cuda({ordinal})?"),
            Backend::Rocm => format!("Device::new_rocm({ordinal})?"),
        }
    }

    /// Opens the device, in a process whose environment has [`BackendDevice::env`].
    ///
    /// # Errors
    /// Why the device cannot be opened, in one line.
    pub fn open(&self) -> Result<CandleRunner, String> {
        let mut runner = match self.backend {
            Backend::Cpu => Ok(CandleRunner::new(Device::Cpu, cpu_info())),
            Backend::Cuda => open_cuda(self.ordinal()),
            Backend::Rocm => open_rocm(self.ordinal()),
        }?;
        runner.info.selector = self.chosen(&runner.info);
        self.name.clone_into(&mut runner.info.backend);
        Ok(runner)
    }

    /// The name of the opened device where the environment chose it, so that a repro says which one it was.
    fn chosen(&self, found: &BackendInfo) -> Option<String> {
        let named = self.backend.named();
        let choosing: [&dyn Entry; 3] = [
            &environment::DRIVER,
            &environment::SOFT_DEVICES,
            &environment::SOFT_TARGET,
        ];
        if named.is_empty() || self.word().is_some() || !choosing.iter().any(|entry| entry.is_set()) {
            return None;
        }
        let by_amd = environment::DRIVER.get() == Ok(&Driver::Hsa);
        let word = match (found.level == HARDWARE, found.target.starts_with(NVIDIA_TARGETS)) {
            (true, true) => NVIDIA.to_owned(),
            (true, false) => SYSTEM.to_owned(),
            (false, _) if by_amd => format!("{HSA}:{}", found.target),
            (false, _) => found.target.clone(),
        };
        Some(format!("{}:{word}", self.name))
    }
}

/// What is computed by a real card.
const HARDWARE: &str = "hardware";
/// What the targets of NVIDIA's cards begin with.
const NVIDIA_TARGETS: &str = "sm_";

fn cpu_info() -> BackendInfo {
    BackendInfo {
        backend: Backend::Cpu.name().to_owned(),
        device: format!("host CPU ({})", std::env::consts::ARCH),
        level: "host".to_owned(),
        driver: format!("candle-core {CANDLE_SOURCES}"),
        target: String::new(),
        host: None,
        selector: None,
    }
}

/// Whether this build has candle's CUDA backend; it is a feature of the same name.
pub const WITH_CUDA: bool = cfg!(feature = "cuda");

/// The version of candle-core this crate is built against; a test compares it with the manifest.
pub const CANDLE_VERSION: &str = "0.11.1";

/// The sources of the candle-core in this program: [`CANDLE_VERSION`], unless it was built with others.
pub const CANDLE_SOURCES: &str = candle_core::rocm::SOURCES;

#[cfg(feature = "cuda")]
fn open_cuda(ordinal: usize) -> Result<CandleRunner, String> {
    let open = || Device::new_cuda(ordinal).map(|device| (device, cudnn()));
    let opened = std::panic::catch_unwind(open).map_err(|panic| {
        let said = panic.downcast_ref::<String>().map_or("", String::as_str);
        library::missing_library(said).unwrap_or_else(|| format!("opening the device panicked: {said}"))
    })?;
    let (device, cudnn) = opened.map_err(|error| words(&error))?;
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
        level: HARDWARE.to_owned(),
        driver: format!(
            "NVIDIA driver {module}, CUDA {}{cudnn}",
            env!("PARITY_CUDA_VERSION")
        ),
        target: format!("sm_{}{}", capability.0, capability.1),
        host: None,
        selector: None,
    };
    Ok(CandleRunner::new(device, info))
}

/// The library that convolves on CUDA, where candle was built to use it. Panics where there is none, as candle does.
#[cfg(feature = "cudnn")]
fn cudnn() -> String {
    let version = candle_core::cuda_backend::cudarc::cudnn::result::get_version();
    format!(
        ", cuDNN {}.{}.{}",
        version / 10_000,
        version / 100 % 100,
        version % 100
    )
}

#[cfg(all(feature = "cuda", not(feature = "cudnn")))]
fn cudnn() -> &'static str {
    ""
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_: usize) -> Result<CandleRunner, String> {
    Err(
        "this parity was built without CUDA; build it with `--features cuda`, which needs the CUDA toolkit \
         (nvcc) at build time and an NVIDIA GPU at run time"
            .to_owned(),
    )
}

fn open_rocm(ordinal: usize) -> Result<CandleRunner, String> {
    let device = Device::new_rocm(ordinal).map_err(|error| words(&error))?;
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
        selector: None,
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

    fn covered(&mut self) -> (Vec<Covered>, Vec<Loaded>) {
        let covered = trial::take().into_iter().map(|covered| Covered {
            object: covered.object.to_string(),
            kernel: covered.kernel,
            marks: covered
                .marks
                .iter()
                .map(|mark| char::from(b'0' + (mark & 7)))
                .collect(),
        });
        let loaded = trial::take_objects().into_iter().map(|object| Loaded {
            id: object.id.to_string(),
            file: object.file.to_vec(),
        });
        (covered.collect(), loaded.collect())
    }

    fn count(&mut self, on: bool) {
        // What an earlier case left behind is not this one's.
        drop(trial::take_counted());
        trial::count(on);
    }

    fn counted(&mut self) -> Vec<KernelCost> {
        trial::take_counted()
            .into_iter()
            .map(crate::timing::count::cost)
            .collect()
    }

    fn plant(&mut self, mutant: Option<&Mutant>) -> Result<(), String> {
        let is_soft = matches!(&self.device, Device::Rocm(rocm)
            if rocm.backend().info().driver().kind() == DriverKind::Soft);
        if let Some(mutant) = mutant.filter(|_| !is_soft) {
            return Err(format!(
                "no fault can be planted in {}: this device is not one of this program's own software GPUs",
                mutant.kernel
            ));
        }
        trial::plant(mutant.map(|mutant| trial::Mutant {
            object: mutant.object.clone(),
            kernel: mutant.kernel.clone(),
            patch: match &mutant.bytes {
                Some((pc, bytes)) => trial::Patch::Bytes {
                    pc: *pc,
                    bytes: bytes.clone(),
                },
                None => trial::Patch::Flush,
            },
        }));
        Ok(())
    }
}

/// Why a case gave no value.
enum NoResult {
    /// The backend said no.
    Refused(Error),
    /// What ran, or would have run, is not what the case says. Not a refusal: two backends must not agree on it.
    Misuse(String),
}

impl From<Error> for NoResult {
    fn from(error: Error) -> Self {
        NoResult::Refused(error)
    }
}

impl CandleRunner {
    /// The open device, for what is not a case's judged run.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn new(device: Device, info: BackendInfo) -> CandleRunner {
        CandleRunner {
            device,
            info,
            served_by: vec![],
        }
    }

    /// The backend's own words for an error.
    pub(crate) fn words(error: &Error) -> String {
        words(error)
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

    /// The op on `args`, its output copied to the host. Waits for the device: a kernel that was launched before an error, or for a
    /// result without elements, may fail later. That failure is this case's.
    fn call(&self, case: &Case, args: &[Tensor]) -> Result<HostTensor, NoResult> {
        let result = self.called(case, args);
        // A device that is lost has nothing left to do, and says so of whatever it is asked.
        let is_lost =
            matches!(&result, Err(NoResult::Refused(error)) if classify(error) == Refusal::DeviceFault);
        if !is_lost {
            self.device.synchronize()?;
        }
        result
    }

    fn called(&self, case: &Case, args: &[Tensor]) -> Result<HostTensor, NoResult> {
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
        // A tensor whose layout and storage contradict each other is the backend's failure.
        tensors::download(&result)?.map_err(|why| NoResult::Refused(Error::Msg(why)))
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
        // Of the wait for a CUDA stream.
        Error::Wrapped(inner) => nvidia::classify(&inner.to_string()),
        Error::Msg(text) if text.contains("not supported on cuda") => Refusal::Unsupported,
        // candle-nn's fused ops have no variant for it.
        Error::Msg(text) if text.starts_with("unsupported dtype") => Refusal::Unsupported,
        Error::Msg(text) if text.ends_with("not supported for integer dtypes") => Refusal::Unsupported,
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
        RocmError::Backend(rocm_backend::Error::DeviceFault(_) | rocm_backend::Error::DeviceLost { .. }) => {
            Refusal::DeviceFault
        }
        _ => Refusal::Other,
    }
}

#[cfg(test)]
mod tests {
    use candle_core::rocm_backend::environment::Card;

    use super::*;

    #[test]
    fn the_candle_version_reports_name_is_the_one_in_the_manifest() {
        let pinned = format!("candle-core = \"={CANDLE_VERSION}\"");
        assert!(include_str!("../../../Cargo.toml").contains(&pinned));
    }

    #[test]
    fn a_name_is_a_backend_with_or_without_a_device() {
        for name in ["cpu", "rocm", "rocm:gfx942", "cuda:1"] {
            assert_eq!(name.parse::<BackendDevice>().unwrap().name(), name);
        }
        let why = |name: &str| name.parse::<BackendDevice>().unwrap_err();
        assert!(
            why("tpu").contains("expected one of cpu, cuda, rocm"),
            "{}",
            why("tpu")
        );
        assert!(why("cpu:0").contains("unknown device"));
    }

    #[test]
    fn the_kernels_on_an_nvidia_gpu_are_a_device_of_rocm() {
        let device = BackendDevice::new(Backend::Rocm, "nvidia").unwrap();
        assert_eq!(device, BackendDevice::hip_on_nvidia());
        assert_eq!(device.env(), [(names::DRIVER, "nvidia")]);
        assert!(BackendDevice::new(Backend::Rocm, "NVIDIA").is_err());
        assert!(BackendDevice::new(Backend::Cuda, "nvidia").is_err());
    }

    #[test]
    fn each_card_is_a_device_by_itself_and_under_amds_runtime() {
        let device = |word: &str| BackendDevice::new(Backend::Rocm, word).unwrap();
        assert_eq!(device("hsa"), BackendDevice::amd_over_software());
        assert_eq!(device("hsa").env(), [(names::DRIVER, "hsa")]);
        for card in Card::ALL.iter().map(|card| card.word()) {
            let software = [(names::DRIVER, "soft"), (names::SOFT_DEVICES, card)];
            assert_eq!(device(card).env(), software);
            let under_amds = device(&format!("hsa:{card}"));
            assert_eq!(
                under_amds.env(),
                [(names::DRIVER, "hsa"), (names::SOFT_DEVICES, card)]
            );
            assert!(device(card).is_software() && !under_amds.is_software());
        }
        assert_eq!(ROCM.len(), 4 + 2 * Card::ALL.len(), "a card that there is not");
        for word in ["hsa:", "hsa:gfx9", "hsa:0", "soft:gfx942", "hsa:hsa"] {
            let known = BackendDevice::new(Backend::Rocm, word).unwrap_err().to_string();
            assert!(known.contains("hsa:CARD with such a card"), "{known}");
        }
        let listed: Vec<_> = Backend::Rocm
            .devices()
            .iter()
            .map(|device| device.name.clone())
            .collect();
        assert!(listed.contains(&"rocm:hsa".to_owned()), "{listed:?}");
        assert!(!listed.contains(&"rocm:hsa:gfx942".to_owned()), "{listed:?}");
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
            Error::wrap("DriverError(CUDA_ERROR_ASSERT)"),
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
            rocm_backend::Error::DeviceLost {
                call: "hipStreamSynchronize",
                code: 719,
                text: "a kernel failed".to_owned(),
            }
            .into(),
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
