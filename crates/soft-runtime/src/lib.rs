//! What a process has one of on the software GPU: cards, memory, code objects, and a report of what ran.
//!
//! The two libraries that take the place of AMD's stand on it: hsa-soft's libhsa-runtime64 and hip-soft's libamdhip64. C's side is
//! theirs.
//!
//! - [`runtime`] is the process's own: its cards, and what was asked for in the environment.
//! - [`pools`] has memory that kernels and the host share at the same address ([`host`]): nothing is copied for a launch.
//! - [`loader`] has the code objects, [`launch`] runs the kernel of a dispatch packet. AMD's own kernels for copies and fills are not
//!   executed: the host does the same (`blit`).
//! - [`event`] is how threads wait for each other; [`report`] counts what ran, `coverage` notes what of each kernel.

mod blit;
pub mod card;
mod coverage;
pub mod event;
pub mod host;
pub mod launch;
pub mod loader;
pub mod pools;
pub mod report;
pub mod runtime;
pub mod status;
