//! The `parity` command as a library: a program that adds ops of its own to the table is a `parity` with those ops.
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

/// Runs a command line, the program's name first, and says how the process is to end. A program that calls
/// `parity_run::own::OwnOp::register` before has those ops in every command; the same program serves as its worker.
pub fn main(args: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    commands::main(args).into()
}
