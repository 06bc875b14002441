//! candle 0.11.1's own bugs on `Device::Cpu`, and in `cuda` on an NVIDIA GPU, one test a finding: what candle does today next to what is right.
//!
//! These tests pass while candle is wrong. When candle repairs one, its test fails and says so; then the test and its
//! section of reports/candle-findings.md go. `page` holds that page and these tests together. Nothing here judges a
//! backend of ours: that is the harness's job.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod accuracy;
mod crashes;
#[cfg(feature = "cuda")]
mod cuda;
mod gradients;
mod page;
mod refused;
mod support;
mod wrong_results;
