//! Which instructions of kernels were executed on the software GPU, and by which outcomes branches were left.
//!
//! 1. A [`Collector`] gets code objects and what was executed of them: from a run's workers, or from the folder of
//!    `ROCM_COVERAGE` ([`Collector::of_folder`]).
//! 2. [`Collector::coverage`] decodes the objects and says for each kernel what was missed: a [`Coverage`], which needs the
//!    objects no more.
//! 3. [`Coverage::add`] merges, [`read`] and [`Coverage::to_json`] store, [`render`] lays out.
//!
//! What an instruction is, the decoder of `gfx-emu` says: those that can be reached from the kernel's first one. Padding
//! between and after them does not count.
//!
//! # The file
//!
//! JSON, or JSON packed by gzip. `format` is `parity-kernel-coverage`, `version` is 1. `objects` has an entry a code object:
//! `id`, the digest of its file; `target`; `files`, the names of sources where it has a line table; and `kernels`. A kernel has
//! its `name`; how many `instructions` it can reach; `branches`, the numbers of those that may be taken or not; `missed`, those
//! that were not executed, and `one_sided`, branches of which an outcome is missing, each by number, byte offset and text;
//! and `lines`: how many instructions in a row are of which line of which of the `files`, with line 0 for none.

mod collect;
mod file;
pub mod render;

pub use collect::{CollectError, Collector};
pub use file::{Branch, Coverage, FORMAT, Kernel, Missed, Object, ReadError, Sums, VERSION, read};
