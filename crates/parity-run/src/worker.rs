//! The worker of a backend on this host: how one is started, and what the started program does.

use std::{
    env,
    path::{Path, PathBuf},
};

use parity_exec::{Backend, WorkerCommand, serve};

use crate::{error::Error, names, settings::cores};

/// The arguments that ask a program to serve as a worker, before the backend's name.
const ASKED: [&str; 2] = ["worker", "--backend"];

/// Serves as a worker if that is what this process was started for, and says whether it was.
///
/// Every program that runs a plan calls this before anything else, because the engine starts the program again for each
/// worker, with the arguments `worker --backend NAME`. Or it names another program in
/// [`Settings::worker`](crate::Settings::worker).
///
/// # Errors
/// A name that is no backend's, and a supervisor that went away.
pub fn serve_if_asked() -> Result<bool, Error> {
    let mut args = env::args_os().skip(1);
    if !ASKED
        .iter()
        .all(|word| args.next().is_some_and(|arg| arg == *word))
    {
        return Ok(false);
    }
    let name = args.next().unwrap_or_default();
    let backend = names::backend(&name.to_string_lossy())?;
    serve(|| backend.open())?;
    Ok(true)
}

/// How the worker of a backend is started here; `program` is the running one where it is `None`.
///
/// # Errors
/// The running program cannot tell where its own file is.
pub fn command(backend: Backend, jobs: usize, program: Option<&Path>) -> Result<WorkerCommand, Error> {
    let own = || env::current_exe();
    let program = program.map_or_else(own, |program| Ok(PathBuf::from(program)));
    let program =
        program.map_err(|error| Error::Internal(format!("cannot find the program's own file: {error}")))?;
    // The lanes fill the cores; a worker's own thread pool gets what is left, unless the user knows better.
    let threads = (cores() / jobs.max(1)).max(1).to_string();
    let env = match env::var_os("RAYON_NUM_THREADS") {
        Some(_) => vec![],
        None => vec![("RAYON_NUM_THREADS".to_owned(), threads)],
    };
    Ok(WorkerCommand {
        backend: backend.name().to_owned(),
        program,
        args: [ASKED[0], ASKED[1], backend.name()].map(str::to_owned).to_vec(),
        env,
        host: None,
    })
}
