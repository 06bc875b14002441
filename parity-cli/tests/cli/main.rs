//! The `parity` binary, run as a user runs it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod baseline;
mod bench;
mod carried;
mod common;
mod cost;
mod doctor;
mod documents;
mod explain;
mod findings;
mod golden;
mod journal;
mod kernels;
mod killed;
mod malformed;
mod model;
mod mutation;
mod pull_request;
mod remote;
mod rocm;
mod run;
mod schema;
mod selftest;
mod shards;
mod shrink;
mod stored;
mod terminal;
mod transcript;
mod usage;
