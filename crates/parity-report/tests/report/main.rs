//! Reports as functions of a record.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

mod browser;
mod common;
mod formats;
mod github;
mod render;
mod shared;
