//! The engine of parity: selects cases of the specs, runs them on backends, judges every result, and keeps the record.
//!
//! The `parity` command is one program over this library; a test of one's own crate is another. Neither a report is laid
//! out here nor an exit code picked: `parity-report` renders a [`RunRecord`], and the variants of [`Error`] say who has to
//! act.
//!
//! # A run
//!
//! 1. [`Settings`] say which cases ([`Selection`]), on what ([`Column`]), and judged how.
//! 2. [`Plan::load`] reads the specs and the findings, and selects. [`Plan::keep`] leaves one part of several alone.
//! 3. [`Plan::run`] starts a worker process for each column and hands it one case after the other. It judges each outcome
//!    against the oracle, tells [`Event`]s, and writes the journal of the [`Session`].
//! 4. [`Finished`] holds the record. [`Finished::failing`] counts the results that fail the run.
//!
//! ```standalone_crate
//! use parity_run::{Column, Error, Plan, Selection, Session, Settings, serve_if_asked};
//!
//! fn main() -> Result<(), Error> {
//!     if serve_if_asked()? {
//!         return Ok(());
//!     }
//!     let settings = Settings {
//!         selection: Selection::of_ids(&["unary/neg:f32:[2,3]:transposed:uniform(-1,1)"])?,
//!         columns: Column::all(&["cpu"])?,
//!         ..Settings::default()
//!     };
//!     let finished = Plan::load(&settings)?.run(&settings, Session::default(), |_| {})?;
//!     assert_eq!(finished.failing()?, 0, "{finished}");
//!     Ok(())
//! }
//! ```
//!
//! # Workers
//!
//! A case that crashes or hangs must cost one case and not the run, and what is judged must not reach its judge. So a
//! backend computes in a process of its own. The engine starts the running program again, with the arguments
//! `worker --backend NAME`; a program that runs plans therefore calls [`serve_if_asked`] first, as above. A test with
//! Rust's own harness cannot do that. Either it says `harness = false` in Cargo.toml, as
//! `examples/in_your_tests.rs` of this crate does, or it names a program that can in [`Settings::worker`]: the `parity`
//! command, or a binary of its own with `serve_if_asked` in it (`env!("CARGO_BIN_EXE_NAME")`).
//!
//! # Ops of one's own
//!
//! [`own`] adds ops to the table, so that a program which runs plans tests what its crate computes: see `docs/own-ops.md`.
//!
//! # Stored runs
//!
//! [`records::read`] reads a record or a journal. [`changes`] compares two of them, [`gate`] says whether one is good
//! enough, [`merge`] puts parts together, [`headroom`] shows how much of the limits was used, [`baseline`] brings the
//! findings in line.
//!
//! # One case
//!
//! [`shrink`] finds the smallest case that fails in the same way, tells it as a Rust test, and puts it into a spec.
//! [`fuzz`] runs random cases of the table of ops, groups what fails, and shrinks it. [`golden`] records what a device
//! computes, for machines that lack it. [`selftest`] breaks right outputs, and [`mutants`] kernels, to see whether the cases
//! notice.
//!
//! # Errors
//!
//! [`Error`] has a variant for each who has to act: who wrote the settings, the specs or a file, or who looks after the machine.
//! A verdict is not an error. A run in which cases fail is [`Finished`], and [`Finished::failing`] counts them.
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `cuda` | no | candle's CUDA backend as a column; the build needs nvcc and the CUDA toolkit |
//! | `cudnn` | no | `cuda`, with convolutions by cuDNN |
//! | `nvidia` | no | the device `rocm:nvidia`; the build needs libdevice, which is part of a CUDA toolkit |

pub mod baseline;
pub mod bench;
mod candle;
pub mod changes;
mod column;
pub mod cost;
pub mod digest;
mod error;
pub mod files;
pub mod findings;
pub mod fuzz;
pub mod gate;
pub mod golden;
pub mod headroom;
mod journal;
mod judge;
pub mod merge;
pub mod mutants;
pub mod names;
pub mod own;
pub mod provenance;
pub mod records;
mod run;
mod selection;
pub mod selftest;
mod settings;
mod shard;
pub mod shrink;
pub mod specs;
pub mod worker;

pub use candle::Candle;
pub use column::{Column, Host, Place};
pub use error::Error;
pub use journal::{Book, JournalFile};
pub use judge::Prepared;
pub use parity_exec::{Backend, Stop};
pub use parity_model::record::RunRecord;
pub use run::{Event, Finished, Plan, START_LIMIT, Session, failing};
pub use selection::{Criteria, Ops, Selection, Which};
pub use settings::{Settings, cores, quoted};
pub use shard::{Part, Times};
pub use worker::serve_if_asked;
