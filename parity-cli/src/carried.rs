//! The specs and findings that the program carries, so that it runs far from a checkout.

use parity_run::files::Carried;

/// Each file's path from the repository's root and its text, as `build.rs` found them.
pub(crate) const FILES: Carried = include!(concat!(env!("OUT_DIR"), "/carried.rs"));
