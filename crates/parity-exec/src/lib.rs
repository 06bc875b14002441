//! Runs cases on backends, in processes of their own, and hands back what happened.
//!
//! The parent side is [`Supervisor`]: it starts workers, feeds them cases, and survives their crashes, hangs and
//! babble. The child side is [`serve`]: it opens a device and computes. This is the only crate that names candle, and
//! `backend` the only module that names backends. Nothing here judges: an outcome is what happened, not what it means.

mod backend;
mod child;
mod frame;
mod nvidia;
mod ops;
pub mod own;
mod protocol;
pub mod source;
mod stop;
mod supervisor;
mod tensors;
pub mod timing;
mod trial;
mod worker;

pub use backend::{
    Backend, BackendDevice, CANDLE_SOURCES, CANDLE_VERSION, CandleRunner, UnknownDevice, WITH_CUDA,
};
pub use candle_core::rocm_backend::trial::{UNDECLARED, has_sizes};
pub use child::{Execution, StartError, WorkerCommand, probe};
pub use protocol::{Covered, Loaded, Mutant, PROTOCOL};
pub use stop::Stop;
pub use supervisor::{Settings, Supervisor};
pub use trial::Bench;
pub use worker::{Runner, WorkerError, serve};
