//! Pages as functions of a record, of compiled kernels and of sources; and the pages of this repository.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

#[path = "../../../parity-report/tests/report/common.rs"]
mod common;
mod cost;
mod kernels;
mod pages;
mod readme;
