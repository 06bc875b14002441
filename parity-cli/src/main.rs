//! The `parity` command.
fn main() {}
