//! Golden bundles: what a device computed, recorded at the device and carried to machines that lack it.
//!
//! A bundle is a folder of three files. `manifest.json` says what was recorded: device, driver, candle's version, seed, and
//! the digests of the other two. `entries.jsonl.gz` has a line per case: a digest of its inputs and what became of it.
//! `values.safetensors.gz` has the outputs, each once, under its own digest. An output that is the oracle's answer to the bit
//! is kept as its digest alone: whoever replays the case has the answer at hand, and the digest proves that it is the same.
//!
//! Nothing here runs a case or judges one. A bundle never guesses: where its entry does not belong to the case that is
//! asked for (other inputs, another answer), it says [`Stale`] and hands out nothing.

mod bundle;
mod digest;
mod error;
mod files;
mod manifest;
mod recorder;

pub use bundle::Bundle;
pub use error::{BundleError, Stale};
pub use manifest::{MANIFEST_VERSION, Manifest, Provenance};
pub use recorder::{Recorder, Size};
