//! The `parity` command: does this backend compute what the others compute?
//!
//! Parses arguments, prints, and picks exit codes; what it asks for is done by `parity-run`.

mod args;
mod carried;
mod columns;
mod commands;
mod exit;
mod interrupt;
mod next;
mod output;
mod settings;
mod size;

fn main() -> std::process::ExitCode {
    commands::main(std::env::args_os()).into()
}
