//! The judge: what an op's output should be, how far from it an output may lie, and what an outcome therefore means.
//!
//! Pure. It links no backend and runs in no judged process; it gets inputs and outcomes as bytes. The values come from
//! IEEE 754 arithmetic, CORE-MATH's correctly rounded functions and double-double arithmetic, never from a backend.

mod answer;
mod arithmetic;
mod ball;
mod blocks;
mod bound;
mod dd;
mod detail;
mod dot;
mod each;
mod expected;
mod forms;
mod integer;
mod judge;
mod layers;
mod limit;
mod metrics;
mod numbers;
mod places;
mod program;
mod quantize;
mod real;
mod sample;
mod tape;

pub use arithmetic::Arithmetic;
pub use detail::{Difference, differences, index_of, value_text};
pub use expected::{Element, Expected, expected, expected_with};
pub use judge::{Judgement, judge};
pub use limit::Limit;
