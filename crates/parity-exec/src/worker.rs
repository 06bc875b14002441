//! The child's side: opens a device, then runs one case after another until the pipe ends.
//!
//! A worker derives inputs and computes; it never judges, so that a broken backend cannot vouch for itself.

use std::{
    fs::File,
    io::{self, BufReader, Write},
    panic::{self, AssertUnwindSafe},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use parity_model::{Case, Outcome, Refusal, record::BackendInfo};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::{
    frame::{self, FrameError},
    protocol::{FromWorker, Job, PROTOCOL},
};

/// What computes a case: an open device, or a test's stand-in.
pub trait Runner {
    /// The device behind it.
    fn info(&self) -> BackendInfo;
    /// Runs one case on inputs derived from the run's seed. A panic is caught by the worker.
    fn run(&mut self, case: &Case, seed: u64) -> Outcome;
    /// The ops that the last case ran on the CPU because the device has no kernel for them.
    fn fallbacks(&self) -> Vec<String> {
        vec![]
    }
}

/// Why a worker stopped before its supervisor closed the pipe.
#[derive(Debug, thiserror::Error)]
#[error("the worker lost its supervisor: {0}")]
pub struct WorkerError(String);

impl From<FrameError> for WorkerError {
    fn from(error: FrameError) -> Self {
        WorkerError(error.to_string())
    }
}

impl From<io::Error> for WorkerError {
    fn from(error: io::Error) -> Self {
        WorkerError(error.to_string())
    }
}

/// The last panic: message and place. The hook runs on whichever thread panicked, hence a global.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Serves jobs from stdin, answers on what was stdout, returns when the pipe ends.
///
/// `open` opens the device; its error text goes to the supervisor, which reports it.
///
/// # Errors
/// When a pipe breaks or a frame cannot be read.
pub fn serve<R: Runner>(open: impl FnOnce() -> Result<R, String>) -> Result<(), WorkerError> {
    // A supervisor that is killed takes its workers along, hung ones too.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    let mut out = claim_stdout()?;
    install_panic_hook();

    let opened = guarded(open).unwrap_or_else(|panic| Err(format!("opening the device panicked: {panic}")));
    let device = opened.as_ref().map(Runner::info).map_err(String::clone);
    frame::write(
        &mut out,
        &FromWorker::Hello {
            protocol: PROTOCOL,
            device,
        },
    )?;
    let Ok(mut runner) = opened else { return Ok(()) };

    let mut input = BufReader::new(io::stdin().lock());
    while let Some(Job { id, case, seed }) = frame::read(&mut input)? {
        let started = Instant::now();
        let outcome = match case.as_str().parse::<Case>() {
            Ok(case) => guarded(|| runner.run(&case, seed)).unwrap_or_else(|message| Outcome::Refused {
                refusal: Refusal::Panic,
                message,
            }),
            Err(error) => Outcome::Missing {
                reason: error.to_string(),
            },
        };
        let millis = started.elapsed().as_secs_f64() * 1e3;
        frame::write(
            &mut out,
            &FromWorker::Done {
                id,
                outcome,
                fallbacks: runner.fallbacks(),
                millis,
            },
        )?;
    }
    Ok(())
}

/// Takes stdout for frames and points file descriptor 1 at stderr, so that a library's `printf` cannot end up between
/// two frames.
fn claim_stdout() -> io::Result<File> {
    let frames = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(frames))
}

/// One line a panic on stderr, where it is the last word if the process then aborts, and a copy for [`guarded`].
fn install_panic_hook() {
    panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map(|place| format!(", at {place}"))
            .unwrap_or_default();
        let message = format!("{}{place}", payload_text(info.payload()));
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(io::stderr(), "panicked: {message}");
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
    }));
}

/// Runs `work`; a panic comes back as its text.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let hooked = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        hooked.unwrap_or_else(|| payload_text(payload.as_ref()).to_owned())
    })
}

fn payload_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
