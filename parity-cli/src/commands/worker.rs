//! `parity worker`: the hidden child side of a run.

use parity_exec::serve;

use crate::{
    args::WorkerArgs,
    exit::{Exit, Failure},
    settings::backend,
};

pub(crate) fn worker(args: &WorkerArgs) -> Result<Exit, Failure> {
    let backend = backend(&args.backend)?;
    serve(|| backend.open()).map_err(|error| Failure::new(Exit::Io, error.to_string()))?;
    Ok(Exit::Ok)
}
