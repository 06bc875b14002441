//! The `parity` command with this crate's op in its table: `cargo run --example parity -- fuzz --ops own --cases 500`.

#[path = "../tests/op/mod.rs"]
mod op;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = op::register() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    parity_cli::main(std::env::args_os())
}
