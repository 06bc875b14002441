//! Measured times of calls, and what they say: bandwidth, ratios of two devices, rows that got slower. Everything here is a pure
//! function of a record; who measures is not said here.

mod compare;
pub mod cost;
mod record;
mod render;
mod work;

pub use compare::{Pair, Ratios, Slower, TOLERANCE, geometric_mean, ratios, slower};
pub use record::{BENCH_VERSION, BenchRun, Ceilings, Measured, ReadError, Row, Times};
pub use render::{csv, json, markdown, parse, text};
pub use work::{LARGE, Work};
