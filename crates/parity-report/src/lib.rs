//! Renders a [`RunRecord`](parity_model::record::RunRecord): tables and pages for people, JSON, CSV and JUnit for programs.
//!
//! Pure functions of the record: no clock, no environment, no terminal. Width and color are arguments, so that a stored
//! run renders to the bytes the live run printed. Deciding an exit code is the command line's job.

mod cells;
mod code_object;
pub mod csv;
mod facts;
mod gfm;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod pages;
mod shared;
mod sources;
pub mod text;
mod totals;
mod trace;

pub use code_object::{Arg, BadCodeObject, CodeObject, Resources};
pub use facts::{SCORE_DEFINITION, Score, agrees, backend_arg, left_out_text, repro, share_text, ulp_text};
pub use shared::Shared;
pub use sources::Sources;
pub use totals::Totals;
