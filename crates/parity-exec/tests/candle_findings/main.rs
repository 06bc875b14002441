//! candle 0.11.1's own bugs, one test for each folder of `findings/`: what candle does today next to what is right.
//!
//! These tests pass while candle is wrong. When candle repairs one, its test fails and says so; then the folder goes. Tests
//! of CUDA's findings are compiled with the feature `cuda` and run on an NVIDIA GPU. `page` holds reports/candle-findings.md and
//! the list of the tests to the folders. Nothing here judges a backend of ours: that is the harness's job.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod folders;
mod page;
mod support;
