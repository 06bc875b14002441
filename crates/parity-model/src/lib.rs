//! The domain's words: what a spec says, what a case is, what happened when it ran, and what that means.
//!
//! Pure: no IO, no candle, no clock, no environment. Everything that crosses a process boundary or lands in a file is
//! defined here and is `serde`-serialisable. Running cases is `parity-exec`'s job, judging them `parity-oracle`'s,
//! rendering them `parity-report`'s.

pub mod case;
pub mod dtype;
pub mod findings;
pub mod float;
pub mod glob;
pub mod journal;
pub mod layout;
pub mod near;
pub mod number;
pub mod op;
mod ops;
pub mod outcome;
pub mod record;
pub mod spec;
pub mod tensor;
pub mod values;
pub mod verdict;

pub use case::{Arg, BadCaseId, Case, CaseId, Check, LimitSpec, Parts, Tier};
pub use dtype::DType;
pub use layout::{Layout, Place, View, ViewPlan, ViewStep};
pub use op::{Family, Op};
pub use outcome::{Outcome, Refusal};
pub use tensor::HostTensor;
pub use values::ValueSet;
pub use verdict::{Metrics, Verdict};
