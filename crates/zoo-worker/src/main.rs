//! The worker of `parity model`: reads jobs from stdin, computes each network on one device, writes what came out to stdout.
//! It judges nothing.

mod calls;
mod context;
mod files;
mod networks;
mod serve;
mod weights;

use std::process::ExitCode;

fn main() -> ExitCode {
    match serve::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            use std::io::Write as _;
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "error: {why}");
            ExitCode::FAILURE
        }
    }
}
