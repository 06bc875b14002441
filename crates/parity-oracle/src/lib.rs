//! The judge: what an op's output should be, how far from it an output may lie, and what an outcome therefore means.
//!
//! Pure. It links no backend and runs in no judged process; it gets inputs and outcomes as bytes. The values come from
//! IEEE 754 arithmetic, CORE-MATH's correctly rounded functions and double-double arithmetic, never from a backend.

mod blocks;
mod dd;
mod detail;
mod dot;
mod expected;
mod forms;
mod formula;
mod judge;
mod limit;
mod metrics;
mod numbers;
mod ops;
pub mod own;
mod places;
mod program;
mod quantize;
mod sample;
mod sums;
mod tape;

pub use detail::{Difference, differences, index_of, value_text};
pub use expected::{Element, Expected, expected, output_with};
pub use judge::{Judgement, judge};
pub use limit::Limit;
pub use sums::Sums;
