//! The worker of a backend on this host: how one is started, and what the started program does.

use std::{
    env,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use parity_exec::{BackendDevice, WorkerCommand, serve};

use crate::{
    error::Error,
    names,
    settings::{Settings, cores},
};

/// The arguments that ask a program to serve as a worker, before the backend's name.
const ASKED: [&str; 2] = ["worker", "--backend"];

/// Serves as a worker if that is what this process was started for, and says whether it was.
///
/// Every program that runs a plan calls this before anything else, because the engine starts the program again for each
/// worker, with the arguments `worker --backend NAME`. Or it names another program in
/// [`Settings::worker`](crate::Settings::worker).
///
/// # Errors
/// A name that is not a backend's, and a supervisor that went away.
pub fn serve_if_asked() -> Result<bool, Error> {
    let mut args = env::args_os().skip(1);
    if !ASKED
        .iter()
        .all(|word| args.next().is_some_and(|arg| arg == *word))
    {
        return Ok(false);
    }
    let name = args.next().unwrap_or_default();
    let device = names::device(&name.to_string_lossy())?;
    let leads = |(name, value): &(&str, &str)| {
        let mut entries = rocm_env::ALL.iter();
        let entry = entries.find(|entry| entry.about().name == *name);
        entry
            .and_then(|entry| entry.set_to())
            .is_some_and(|found| found == *value)
    };
    if !device.env().iter().all(leads) {
        // Started by hand or over `ssh`, which hands no variables on. They are read when the driver is loaded, and a
        // process may not change its own.
        let again = Command::new(own_file()?)
            .args(env::args_os().skip(1))
            .envs(device.env().iter().copied())
            .exec();
        return Err(Error::Internal(format!("cannot start the worker again: {again}")));
    }
    serve(|| device.open())?;
    Ok(true)
}

pub(crate) fn own_file() -> Result<PathBuf, Error> {
    env::current_exe()
        .map_err(|error| Error::Internal(format!("cannot find the program's own file: {error}")))
}

/// The variables that lead to a device.
pub(crate) fn variables(device: &BackendDevice) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    device.env().iter().map(owned).collect()
}

/// How the worker of a device is started here for a run: of another candle, where the settings name one.
///
/// # Errors
/// As [`command`].
pub(crate) fn here(device: &BackendDevice, settings: &Settings) -> Result<WorkerCommand, Error> {
    let Some(candle) = &settings.candle else {
        return command(device, settings.jobs, settings.worker.as_deref());
    };
    Ok(WorkerCommand {
        candle: Some(candle.sources().to_owned()),
        ..command(device, settings.jobs, Some(candle.program()))?
    })
}

/// How the worker of a device is started here; `program` is the running one where it is `None`.
///
/// # Errors
/// The running program cannot tell where its own file is.
pub fn command(device: &BackendDevice, jobs: usize, program: Option<&Path>) -> Result<WorkerCommand, Error> {
    let program = program.map_or_else(own_file, |program| Ok(PathBuf::from(program)))?;
    // The lanes fill the cores; a worker's own thread pool gets what is left, unless the user knows better.
    let threads = (cores() / jobs.max(1)).max(1).to_string();
    let mut env = variables(device);
    if env::var_os("RAYON_NUM_THREADS").is_none() {
        env.push(("RAYON_NUM_THREADS".to_owned(), threads));
    }
    Ok(WorkerCommand {
        backend: device.name().to_owned(),
        program,
        args: [ASKED[0], ASKED[1], device.name()].map(str::to_owned).to_vec(),
        env,
        host: None,
        candle: None,
    })
}
