//! Opens the device of each backend, and says what it is.

use candle_core::{Device, rocm_backend::trace};
use parity_model::record::BackendInfo;

#[cfg(feature = "cuda")]
use super::library;
use super::{Backend, CANDLE_SOURCES, CandleRunner, refusal::words};

/// What is computed by a real card.
pub(super) const HARDWARE: &str = "hardware";

pub(super) fn cpu_info() -> BackendInfo {
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

#[cfg(feature = "cuda")]
pub(super) fn open_cuda(ordinal: usize) -> Result<CandleRunner, String> {
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
pub(super) fn open_cuda(_: usize) -> Result<CandleRunner, String> {
    Err(
        "this parity was built without CUDA; build it with `--features cuda`, which needs the CUDA toolkit \
         (nvcc) at build time and an NVIDIA GPU at run time"
            .to_owned(),
    )
}

pub(super) fn open_rocm(ordinal: usize) -> Result<CandleRunner, String> {
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
