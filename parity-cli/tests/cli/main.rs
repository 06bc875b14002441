//! The `parity` binary, run as a user runs it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod common;
mod doctor;
mod explain;
mod mutation;
mod rocm;
mod run;
mod selftest;
mod shards;
mod stored;
mod usage;
