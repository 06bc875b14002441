//! Renders a [`RunRecord`](parity_model::record::RunRecord): the table people read, the JSON programs read.
//!
//! Pure functions of the record: no clock, no environment, no terminal. Width and color are arguments, so that a stored
//! run renders to the bytes the live run printed. Deciding an exit code is the command line's job.

mod cells;
pub mod json;
pub mod text;
mod totals;

pub use totals::Totals;
