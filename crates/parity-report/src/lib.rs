//! Renders a [`RunRecord`](parity_model::record::RunRecord): tables and pages for people, JSON, CSV and JUnit for programs.
//!
//! Pure functions of the record: no clock, no environment, no terminal. Width and color are arguments, so that a stored
//! run renders to the bytes the live run printed. Deciding an exit code is the command line's job.

pub mod cells;
pub mod csv;
mod facts;
pub mod gfm;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod shared;
pub mod text;
mod totals;
pub mod trend;

pub use facts::{
    SCORE_DEFINITION, Score, agrees, backend_arg, count_text, error_text, left_out_text, repro, share_text,
    ulp_text,
};
pub use shared::{Shared, count as shared_count, section as shared_section};
pub use totals::Totals;
