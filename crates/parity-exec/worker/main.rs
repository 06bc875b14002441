//! A worker and nothing else: `parity-worker worker --backend NAME`. `parity run --candle` builds it over another candle, so that
//! only what computes is compiled anew.

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use parity_exec::{BackendDevice, serve};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if stderr is gone.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [worker, option, name] = &args[..] else {
        return Err(USAGE.to_owned());
    };
    if worker != "worker" || option != "--backend" {
        return Err(USAGE.to_owned());
    }
    let device: BackendDevice = name.parse()?;
    serve(|| device.open()).map_err(|error| error.to_string())
}

const USAGE: &str = "expected `worker --backend NAME`; `parity run --candle` starts this program";
