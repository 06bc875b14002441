//! `parity model`: whole networks of candle-transformers on a device, judged against the CPU in wider precision.
//!
//! The networks are in `crates/zoo-worker`, a program of its own, because candle-transformers takes long to compile and
//! nothing else of parity needs it. Here are the specs, the supervision of workers, the judge, the record and its pages.

mod bisect;
mod changes;
mod chart;
mod error;
mod export;
mod gate;
mod journal;
mod judge;
mod junit;
mod record;
mod render;
mod run;
#[cfg(test)]
mod samples;
mod specs;
mod supervise;
mod weights;

pub use bisect::{Bisection, Step};
pub use changes::{Changed, Measure, changes};
pub use chart::bisection_html;
pub use error::Error;
pub use export::{Exported, export};
pub use gate::{Gated, gate};
pub use journal::{Begun, Journal, Keep};
pub use judge::{CHOSEN_FACTOR, Judged, Runs, continued, judge, judge_known};
pub use junit::junit;
pub use record::{Continued, ModelResult, ModelVerdict, Record, Texts, VERSION};
pub use render::{bisection, bisection_json, is_record, json, markdown, parse, read, text};
pub use run::{Settings, bisect, plan, run};
pub use specs::{load, select};
pub use supervise::{Ending, WORKER, Worker, ask};
pub use zoo_protocol::{
    Answer, Dtype, Job, Known, ModelSpec, Output, Text, Watched, WeightsFile, WrongWeight,
};
