//! The `parity` command: does this backend compute what the others compute? All of it is the library's.

fn main() -> std::process::ExitCode {
    parity_cli::main(std::env::args_os())
}
