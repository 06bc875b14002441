//! What `parity model` and its worker say to each other: the model to compute, and what came out. Nothing here judges, and
//! nothing here knows candle, so that the worker links no judge and the command links no network.

mod dtype;
mod frame;
mod job;
mod spec;

pub use dtype::Dtype;
pub use frame::{FrameError, MAX_REPLY, read_replies, write_reply};
pub use job::{Answer, Job, Output, Reply, Request, Watched, WrongWeight};
pub use spec::{Calls, Known, ModelSpec, Text, WeightsFile};
