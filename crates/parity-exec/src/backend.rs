//! The one place where backends have names, and the devices of each. Below it a device is opened and described, cases run on it, and
//! errors are sorted into classes.

#[cfg(any(feature = "cuda", test))]
mod library;

mod open;
mod refusal;
mod runner;

use candle_core::{
    Device,
    rocm_backend::environment::{self, Driver, Entry, names},
};
use parity_model::record::BackendInfo;

use open::{HARDWARE, cpu_info, open_cuda, open_rocm};
pub use runner::CandleRunner;

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

/// What the targets of NVIDIA's cards begin with.
const NVIDIA_TARGETS: &str = "sm_";

/// Whether this build has candle's CUDA backend; it is a feature of the same name.
pub const WITH_CUDA: bool = cfg!(feature = "cuda");

/// The version of candle-core this crate is built against; a test compares it with the manifest.
pub const CANDLE_VERSION: &str = "0.11.1";

/// The sources of the candle-core in this program: [`CANDLE_VERSION`], unless it was built with others.
pub const CANDLE_SOURCES: &str = candle_core::rocm::SOURCES;

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
}
