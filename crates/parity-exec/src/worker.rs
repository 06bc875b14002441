//! The child's side: opens a device, then runs one case after another until the pipe ends. The end of the pipe ends a worker
//! that is busy too: on another host no signal of the supervisor's would reach it.
//!
//! A worker derives inputs and computes; it never judges, so that a broken backend cannot vouch for itself.

use std::{
    fs::File,
    io::{self, BufReader, Stdin, Write},
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::Instant,
};

use candle_core::rocm_backend::{
    trace::{self, Loading},
    trial,
};
use parity_model::{
    Case, Outcome, Refusal,
    record::{BackendInfo, KernelCost},
};
use rustix::process::{
    Resource, Rlimit, Signal, getpid, kill_process, set_parent_process_death_signal, setrlimit,
};

use crate::{
    frame::{self, FrameError},
    own,
    protocol::{self, Covered, FromWorker, Job, Loaded, Mutant, Setup},
};

/// What computes a case: an open device, or a test's stand-in.
pub trait Runner {
    /// The device that it computes on.
    fn info(&self) -> BackendInfo;
    /// Runs one case on inputs derived from the run's seed. A panic is caught by the worker.
    fn run(&mut self, case: &Case, seed: u64) -> Outcome;
    /// The ops that the last case ran on the CPU because the device has no kernel for them.
    fn fallbacks(&self) -> Vec<String> {
        vec![]
    }
    /// What computed the last case's result, in words; empty where the backend does not tell.
    fn served_by(&self) -> Vec<String> {
        vec![]
    }
    /// Which instructions of kernels the last case executed, and which code objects were loaded for it.
    fn covered(&mut self) -> (Vec<Covered>, Vec<Loaded>) {
        (vec![], vec![])
    }
    /// Counts what launches do from now on, or no longer.
    fn count(&mut self, _on: bool) {}
    /// What the launches since [`Runner::count`] did, by kernel.
    fn counted(&mut self) -> Vec<KernelCost> {
        vec![]
    }
    /// Plants a fault in a kernel for the cases to come, in the place of the one before; or none.
    ///
    /// # Errors
    /// Why that cannot be done.
    fn plant(&mut self, mutant: Option<&Mutant>) -> Result<(), String> {
        match mutant {
            Some(mutant) => Err(format!(
                "no fault can be planted in {}: this device is not a software GPU",
                mutant.kernel
            )),
            None => Ok(()),
        }
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
    let out = Arc::new(Mutex::new(claim_stdout()?));
    let say = |message: &FromWorker| {
        frame::write(&mut *out.lock().unwrap_or_else(PoisonError::into_inner), message)
    };
    install_panic_hook();

    let mut input = BufReader::new(io::stdin());
    let setup = match frame::read(&mut input) {
        Ok(Some(setup)) => Ok(setup),
        Ok(None) => return Ok(()),
        // Every frame says which version its sender speaks: the answer tells the supervisor.
        Err(error @ FrameError::Version(_)) => Err(error.to_string()),
        Err(error) => return Err(error.into()),
    };
    // Whatever is to be answered: opening the device, then a job.
    let pending = Arc::new(AtomicUsize::new(1));
    let (sender, jobs) = channel();
    let reader = Arc::clone(&pending);
    thread::spawn(move || forward_jobs(input, &sender, &reader));

    // The reader runs by now: without memory for its stack there would be no answer at all.
    let opened = setup.and_then(|setup| prepare(&setup)).and_then(|()| {
        guarded(open).unwrap_or_else(|panic| Err(format!("opening the device panicked: {panic}")))
    });
    let device = opened.as_ref().map(Runner::info).map_err(String::clone);
    let build = protocol::build();
    // Before it is said: who reads it may close the pipe at once, and nothing is pending then.
    pending.fetch_sub(1, Ordering::SeqCst);
    say(&FromWorker::Hello { build, device })?;
    let Ok(mut runner) = opened else { return Ok(()) };
    let loads = Arc::clone(&out);
    trace::watch_loading(move |event| {
        let mut out = loads.lock().unwrap_or_else(PoisonError::into_inner);
        // A supervisor that is gone needs no word; the answer finds that out.
        let _ = frame::write(&mut *out, &FromWorker::Loading(event == Loading::Begins));
    });

    for job in jobs {
        let done = answer(&mut runner, &job?);
        pending.fetch_sub(1, Ordering::SeqCst);
        say(&done)?;
    }
    Ok(())
}

/// Readies the process for its work, before a device is opened.
fn prepare(setup: &Setup) -> Result<(), String> {
    own::agree(&setup.own)?;
    if setup.cover {
        trial::note();
    }
    if let Some(limit) = setup.wave_limit {
        trial::limit_waves(limit);
        trial::hold_to_sizes();
    }
    limit_memory(setup.memory_limit)
}

/// Runs a job, and tells what came of it.
fn answer(runner: &mut impl Runner, job: &Job) -> FromWorker {
    let started = Instant::now();
    runner.count(job.count);
    let outcome = match job.case.as_str().parse::<Case>() {
        Ok(case) => match runner.plant(job.mutant.as_ref()) {
            Ok(()) => guarded(|| runner.run(&case, job.seed)).unwrap_or_else(|message| Outcome::Refused {
                refusal: Refusal::Panic,
                message,
            }),
            Err(reason) => Outcome::Missing { reason },
        },
        Err(error) => Outcome::Missing {
            reason: error.to_string(),
        },
    };
    let millis = started.elapsed().as_secs_f64() * 1e3;
    // An op that was tried on the CPU and refused there has computed no part of anything.
    let fallbacks = if matches!(outcome, Outcome::Ran(_)) {
        runner.fallbacks()
    } else {
        vec![]
    };
    let (covered, loaded) = runner.covered();
    let counted = runner.counted();
    runner.count(false);
    FromWorker::Done {
        id: job.id,
        outcome,
        fallbacks,
        served_by: runner.served_by(),
        covered,
        loaded,
        counted,
        millis,
    }
}

/// Keeps this process from using more than `bytes` of memory of its own: an allocation beyond fails.
///
/// `RLIMIT_DATA` counts what the process may write to. `RLIMIT_AS` would count the address ranges that GPU runtimes reserve
/// as well, which are larger than any memory.
fn limit_memory(bytes: Option<u64>) -> Result<(), String> {
    let Some(bytes) = bytes else { return Ok(()) };
    let limit = Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    setrlimit(Resource::Data, limit)
        .map_err(|error| format!("cannot limit the worker's memory to {bytes} bytes: {error}"))
}

/// Hands jobs on until the pipe ends or turns to garbage. If something is pending then, nobody waits for it any more, and
/// it may never end: the process does.
fn forward_jobs(
    mut input: BufReader<Stdin>,
    sender: &Sender<Result<Job, FrameError>>,
    pending: &AtomicUsize,
) {
    loop {
        match frame::read(&mut input) {
            Ok(Some(job)) => {
                pending.fetch_add(1, Ordering::SeqCst);
                if sender.send(Ok(job)).is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(error) => {
                // A worker that has ended needs no reason.
                let _ = sender.send(Err(error));
                break;
            }
        }
    }
    if pending.load(Ordering::SeqCst) > 0 {
        // It cannot fail: the process is its own.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

/// Takes stdout for frames and points file descriptor 1 at stderr, so that a library's `printf` cannot end up between
/// two frames.
pub(crate) fn claim_stdout() -> io::Result<File> {
    let frames = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(frames))
}

/// One line a panic on stderr, where it is the last word if the process then aborts, and a copy for [`guarded`].
pub(crate) fn install_panic_hook() {
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
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
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
