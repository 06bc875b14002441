//! What tells the time of a device's work.

use std::time::Instant;

use candle_core::{Device, Result, rocm_backend};

use crate::backend::CandleRunner;

/// The clock of one device.
pub(super) enum Clock {
    /// The host's, between two moments at which the device has nothing to do.
    Wall(Device),
    /// Events in the stream that candle's CUDA backend submits to.
    #[cfg(feature = "cuda")]
    Cuda(std::sync::Arc<candle_core::cuda_backend::cudarc::driver::CudaStream>),
    /// Events in the stream of the ROCm backend.
    Rocm(rocm_backend::Device),
}

impl Clock {
    /// The device's own clock, where it has one.
    pub(super) fn of(device: &Device) -> std::result::Result<Clock, String> {
        device
            .synchronize()
            .map_err(|error| CandleRunner::words(&error))?;
        Ok(match device {
            Device::Rocm(rocm) => Clock::Rocm(rocm.backend().clone()),
            #[cfg(feature = "cuda")]
            Device::Cuda(cuda) => Clock::Cuda(cuda.cuda_stream()),
            other => Clock::Wall(other.clone()),
        })
    }

    /// Microseconds from the beginning of `work` to its end, as the device sees them.
    pub(super) fn time(&self, work: impl FnOnce() -> Result<()>) -> std::result::Result<f64, String> {
        let candle = |error: candle_core::Error| CandleRunner::words(&error);
        match self {
            Clock::Wall(device) => {
                let start = Instant::now();
                work().and_then(|()| device.synchronize()).map_err(candle)?;
                Ok(start.elapsed().as_secs_f64() * 1e6)
            }
            #[cfg(feature = "cuda")]
            Clock::Cuda(stream) => {
                use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags;
                let mark = || {
                    let event = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
                    event.map_err(|error| error.to_string())
                };
                let start = mark()?;
                work().map_err(candle)?;
                let end = mark()?;
                let millis = start.elapsed_ms(&end).map_err(|error| error.to_string())?;
                Ok(f64::from(millis) * 1e3)
            }
            Clock::Rocm(device) => {
                let words = |error: rocm_backend::Error| error.to_string();
                let start = device.record().map_err(words)?;
                work().map_err(candle)?;
                let end = device.record().map_err(words)?;
                Ok(end.since(&start).map_err(words)?.as_secs_f64() * 1e6)
            }
        }
    }
}
