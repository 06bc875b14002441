//! The harness under test: wrong outputs, made from right ones as broken kernels make them, for the judge to notice.
//!
//! A case that lets a wrong output pass checks less than it seems to; an op of which no case notices a kind of fault has a
//! hole in its specs. No backend takes part, and nothing here decides a verdict of a run. Pure, like the oracle.

mod declared;
mod examine;
mod perturbation;
mod subject;
mod tally;
mod wrong;

pub use declared::{DECLARED, Declared};
pub use examine::{Counts, Examination, examine};
pub use perturbation::{PERTURBATIONS, Perturbation};
pub use tally::{Pair, Score, Tally, stale};
