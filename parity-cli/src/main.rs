//! The `parity` command: does this backend compute what the others compute?
//!
//! The only crate that prints, reads the environment and picks exit codes.

mod args;
mod commands;
mod exit;
mod judge;
mod known;
mod names;
mod output;
mod provenance;
mod select;
mod settings;
mod specs;

fn main() -> std::process::ExitCode {
    commands::main(std::env::args_os()).into()
}
