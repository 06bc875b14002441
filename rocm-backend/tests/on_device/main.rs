//! Everything that needs a device: the software GPU, or a real one where `ROCM_DRIVER` finds it.

mod copies;
mod device;
mod elementwise;
mod refusals;
mod support;
mod targets;
