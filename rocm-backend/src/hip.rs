//! HIP behind safe types. The only folder of this crate that may contain `unsafe`.
//!
//! rocm-rs's raw bindings are the authority on types and signatures; its own safe layer is not used, because
//! it double-frees streams and lets host memory die under a running copy.

pub(crate) mod blas;
pub(crate) mod bytes;
pub(crate) mod ccl;
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod launch;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod miopen;
pub(crate) mod module;
pub(crate) mod peer;
pub(crate) mod pool;
pub(crate) mod query;
pub(crate) mod rand;
pub(crate) mod reports;
#[cfg(feature = "compile")]
pub(crate) mod rtc;
pub(crate) mod staging;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod sys;
