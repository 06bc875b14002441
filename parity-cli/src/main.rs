//! The `parity` command: does this backend compute what the others compute?
//!
//! The only crate that prints, reads the environment and picks exit codes.

mod args;
mod changes;
mod columns;
mod commands;
mod digest;
mod exit;
mod golden;
mod interrupt;
mod journal;
mod judge;
mod known;
mod names;
mod next;
mod output;
mod place;
mod provenance;
mod records;
mod select;
mod settings;
mod shard;
mod size;
mod specs;

fn main() -> std::process::ExitCode {
    commands::main(std::env::args_os()).into()
}
