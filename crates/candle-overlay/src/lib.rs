//! Derives a candle-core with a ROCm device from the pristine crates.io release.
//!
//! candle's `Device` and `Storage` are closed enums: a device cannot be added from outside. It has, however, three of
//! them, and whatever upstream says of Metal can be said of ROCm in the same place. So [`pristine`] finds the
//! release and proves by its checksum that it is that release; [`mod@derive`] walks its sources and writes a Rocm arm,
//! variant, method or name beside each of Metal's, puts our hand-written glue where Metal's own code would be, and
//! lists what it could not decide; [`mod@front`] puts functions of ours before candle-nn's; [`output`] writes the result.
//!
//! Nothing of candle lies in this repository. The crate compiles nothing; [`package`] is what the build scripts of `crates/candle-core` and
//! `crates/candle-nn` call, and tells cargo what there is to tell.

mod arms;
pub mod derive;
mod fill;
pub mod front;
pub mod moved;
pub mod output;
mod overrides;
pub mod package;
pub mod page;
pub mod pristine;
mod rules;
mod text;
pub mod upstream;
