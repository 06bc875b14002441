//! Derives this crate's sources into `gen/`, before they are compiled.
//!
//! Cargo accepts a `[lib] path` that does not exist yet from a path dependency, which this crate is by way of
//! `[patch.crates-io]`; it would not from a workspace member, so the workspace excludes this crate.

fn main() {
    candle_overlay::package::generate(
        &candle_overlay::pristine::CANDLE_CORE,
        candle_overlay::derive::derive,
    );
}
