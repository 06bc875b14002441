//! One worker process as its supervisor sees it: started, given one case at a time, and buried when it dies.
//!
//! Which case comes next, and what a death means for the run, is [`crate::supervisor`]'s.

use std::{
    io::{self, BufReader, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{self, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parity_model::{
    Outcome,
    record::{BackendInfo, KernelCost},
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use crate::{
    frame::{self, FrameError},
    protocol::{self, Covered, FromWorker, Job, Loaded, Setup},
    stop::Stop,
};

/// How much of the beginning of a worker's stderr is kept for a case. The allocator's message, for example, comes
/// before a backtrace that may be long.
const STDERR_HEAD: usize = 1024;

/// How much of its end is kept.
const STDERR_TAIL: usize = 4096;

/// A process that closed its pipe is given this long to end by itself, so that its own signal is the one reported; and
/// whatever holds a dead worker's stderr open this long to let go of it.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// How long a program that leads to a worker may take to end once the worker has: it may write a report then, as compute-sanitizer
/// and profilers do.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// How long the loading of kernels may take within one case, beside the case's own time. A module takes clang half a minute, and a
/// machine that is busy several.
const LOAD_LIMIT: Duration = Duration::from_secs(600);

/// How often a wait looks whether the run is to stop.
const GLANCE: Duration = Duration::from_millis(50);

/// What Rust's and C++'s allocators write before they end the process.
const OUT_OF_MEMORY: [&str; 2] = ["memory allocation of ", "std::bad_alloc"];

/// How to start a worker for one backend.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// Name of the backend, as tables show it.
    pub backend: String,
    /// The program, usually `parity` itself.
    pub program: PathBuf,
    /// Its arguments, e.g. `worker --backend rocm`.
    pub args: Vec<String>,
    /// Variables set on top of the inherited environment.
    pub env: Vec<(String, String)>,
    /// Where the worker runs, if the program only leads there, such as `ssh`: goes into [`BackendInfo::host`].
    pub host: Option<String>,
    /// The sources of candle-core that the worker was built with, where it was built to have others than this program's.
    pub candle: Option<String>,
}

/// Why a worker could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The process could not be created.
    #[error("cannot start the {backend} worker `{}`: {reason}", program.display())]
    Spawn {
        /// Name of the backend.
        backend: String,
        /// The program tried.
        program: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The worker runs, and its device does not.
    #[error("backend {backend} is not available: {reason}")]
    Unavailable {
        /// Name of the backend.
        backend: String,
        /// The backend's own words.
        reason: String,
    },
    /// The worker is of another parity.
    #[error("the {backend} worker is of another parity: {how}; install the same one at both ends")]
    Version {
        /// Name of the backend.
        backend: String,
        /// What differs.
        how: String,
    },
    /// The run was stopped before the worker had answered.
    #[error("the run was stopped while the {backend} worker started")]
    Stopped {
        /// Name of the backend.
        backend: String,
    },
    /// The worker died, hung or babbled before it reported its device.
    #[error("the {backend} worker did not come up: {how}{}", said(stderr))]
    Died {
        /// Name of the backend.
        backend: String,
        /// What happened to it.
        how: String,
        /// The end of what it wrote to stderr.
        stderr: String,
        /// Whether something outside killed it.
        killed: bool,
    },
}

/// Starts a worker, learns which device it serves, and ends it.
///
/// # Errors
/// Why the backend is not available.
pub fn probe(command: &WorkerCommand, limit: Duration) -> Result<BackendInfo, StartError> {
    Child::start(command, limit, &Setup::default(), &Stop::default()).map(|(_, info)| info)
}

fn said(stderr: &str) -> String {
    if stderr.is_empty() {
        String::new()
    } else {
        format!("; its last words were:\n{stderr}")
    }
}

/// What a backend did with one case, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// What happened.
    pub outcome: Outcome,
    /// Ops that ran on the CPU because the device has no kernel for them.
    pub fallbacks: Vec<String>,
    /// What computed the result, where the backend tells.
    pub served_by: Vec<String>,
    /// What the case executed of kernels, where that is asked for; of the last attempt, with all code objects.
    pub covered: Vec<Covered>,
    /// The code objects that were loaded for it.
    pub loaded: Vec<Loaded>,
    /// What its launches did, where that is asked for; see [`crate::Bench::count`].
    pub counted: Vec<KernelCost>,
    /// Milliseconds on the backend, transfers included; for a death or a timeout, as the supervisor saw it.
    pub millis: f64,
    /// What the case did when it ran a second time, if it was to and that was something else.
    pub again: Option<Outcome>,
    /// What the outcome does not tell: how it came about.
    pub remark: Option<String>,
}

impl Execution {
    /// What was seen of a case that no worker has answered.
    pub fn seen(outcome: Outcome, time: Duration) -> Execution {
        Execution {
            outcome,
            fallbacks: vec![],
            served_by: vec![],
            covered: vec![],
            loaded: vec![],
            counted: vec![],
            millis: time.as_secs_f64() * 1e3,
            again: None,
            remark: None,
        }
    }
}

/// How a case ended for its worker.
pub(crate) enum Ending {
    /// The worker answered, and takes the next case.
    Answered(Child, Execution),
    /// The worker is gone, and the case cost it its life.
    Lost(Execution),
    /// Something outside killed the worker. The execution is a crash, if nothing better comes.
    Killed(Execution),
    /// The run was stopped, and the worker killed.
    Stopped,
}

/// What came of waiting for a message.
enum Wait {
    Message(FromWorker),
    Garbage(FrameError),
    /// The pipe has ended.
    Closed,
    TimedOut,
    Stopped,
}

/// A running worker. Dropping it kills its process group.
pub(crate) struct Child {
    process: process::Child,
    /// `None` once the worker is told to end.
    stdin: Option<ChildStdin>,
    frames: Receiver<Result<FromWorker, FrameError>>,
    stderr: Tail,
}

/// How a worker was lost.
struct Loss {
    how: String,
    stderr: String,
    /// Whether it died of a SIGKILL that was not the supervisor's.
    killed: bool,
}

impl Child {
    /// Starts a worker and waits for its device.
    pub(crate) fn start(
        command: &WorkerCommand,
        limit: Duration,
        setup: &Setup,
        stop: &Stop,
    ) -> Result<(Child, BackendInfo), StartError> {
        let backend = || command.backend.clone();
        let mut child = Child::spawn(command).map_err(|reason| StartError::Spawn {
            backend: backend(),
            program: command.program.clone(),
            reason,
        })?;
        // A failed write means a dead worker, and the read below finds out how it died.
        let _ = child.tell(setup);
        let candle = command.candle.as_deref();
        let wanted = candle.map_or_else(protocol::build, protocol::build_with);
        let loss = match child.wait(limit, stop) {
            Wait::Message(FromWorker::Hello { build, .. }) if build != wanted => {
                let how = format!("it is {build}; this is {wanted}");
                return Err(StartError::Version {
                    backend: backend(),
                    how,
                });
            }
            Wait::Message(FromWorker::Hello { device, .. }) => {
                return match device {
                    Ok(info) => {
                        let host = command.host.clone();
                        let backend = command.backend.clone();
                        Ok((
                            child,
                            BackendInfo {
                                backend,
                                host,
                                ..info
                            },
                        ))
                    }
                    Err(reason) => Err(StartError::Unavailable {
                        backend: backend(),
                        reason,
                    }),
                };
            }
            Wait::Garbage(error @ FrameError::Version(_)) => {
                return Err(StartError::Version {
                    backend: backend(),
                    how: error.to_string(),
                });
            }
            Wait::Stopped => return Err(StartError::Stopped { backend: backend() }),
            Wait::Message(message) => child.lose(format!("it spoke out of turn: {message:?}")),
            Wait::Garbage(error) => child.lose(error.to_string()),
            Wait::TimedOut => child.lose(format!("no answer within {limit:?}")),
            Wait::Closed => child.bury(),
        };
        Err(StartError::Died {
            backend: backend(),
            how: loss.how,
            stderr: loss.stderr,
            killed: loss.killed,
        })
    }

    fn spawn(command: &WorkerCommand) -> Result<Child, String> {
        let mut process = Command::new(&command.program)
            .args(&command.args)
            .envs(command.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What a worker says goes into records, which are to be the same for every user. A backtrace after
            // each of candle's errors would not be the same. The panic hook names the place.
            .env("RUST_BACKTRACE", "0")
            .env("RUST_LIB_BACKTRACE", "0")
            // Its own group, so that whatever it starts dies with it.
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            return Err("its pipes were not created".to_owned());
        };
        let (sender, frames) = channel();
        // Detached: it ends with the pipe, that is, with the process group.
        thread::spawn(move || forward_frames(stdout, &sender));
        Ok(Child {
            process,
            stdin: Some(stdin),
            frames,
            stderr: Tail::follow(stderr),
        })
    }

    fn tell(&mut self, message: &impl Serialize) -> Result<(), FrameError> {
        self.stdin
            .as_mut()
            .map_or(Ok(()), |stdin| frame::write(stdin, message))
    }

    /// Closes the pipe of a worker that waits, and gives it and the program that leads to it time to end by themselves.
    pub(crate) fn end(mut self, stop: &Stop) {
        self.stdin = None;
        // It is killed where it did not end, or where that is not known.
        let _ = self.ended_within(LAST_WORDS, || stop.requested());
    }

    /// How the process ended, which is waited for until the limit or until the wait is given up.
    fn ended_within(
        &mut self,
        limit: Duration,
        given_up: impl Fn() -> bool,
    ) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.process.try_wait()?;
            if status.is_some() || given_up() || Instant::now() >= deadline {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the next message.
    fn wait(&self, limit: Duration, stop: &Stop) -> Wait {
        let started = Instant::now();
        loop {
            if stop.requested() {
                return Wait::Stopped;
            }
            let left = limit.saturating_sub(started.elapsed());
            match self.frames.recv_timeout(left.min(GLANCE)) {
                Ok(Ok(message)) => return Wait::Message(message),
                Ok(Err(error)) => return Wait::Garbage(error),
                Err(RecvTimeoutError::Disconnected) => return Wait::Closed,
                Err(RecvTimeoutError::Timeout) if left <= GLANCE => return Wait::TimedOut,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits for what a worker says of a case, and says which limit it was given: the case's own, or that of loads. What is spent of
    /// either is summed.
    fn wait_for_case(&self, limit: Duration, stop: &Stop) -> (Wait, Duration) {
        let limits = [limit, LOAD_LIMIT];
        let mut left = limits;
        let mut loading = false;
        loop {
            let of = usize::from(loading);
            let begun = Instant::now();
            match self.wait(left[of], stop) {
                Wait::Message(FromWorker::Loading(begins)) => loading = begins,
                other => return (other, limits[of]),
            }
            left[of] = left[of].saturating_sub(begun.elapsed());
        }
    }

    /// Runs one case.
    pub(crate) fn run(mut self, job: &Job, limit: Duration, stop: &Stop) -> Ending {
        let started = Instant::now();
        let seen = |outcome| Execution::seen(outcome, started.elapsed());
        self.stderr.clear();
        // A failed write means a dead worker, and the read below finds out how it died.
        let written = self.tell(job);
        if let Err(error @ (FrameError::Encode(_) | FrameError::TooLong(_))) = written {
            let reason = format!("the case cannot be sent: {error}");
            return Ending::Answered(self, seen(Outcome::Missing { reason }));
        }
        let (ended, limit) = self.wait_for_case(limit, stop);
        let loss = match ended {
            Wait::Message(FromWorker::Done {
                id,
                outcome,
                fallbacks,
                served_by,
                covered,
                loaded,
                counted,
                millis,
            }) if id == job.id => {
                let execution = Execution {
                    outcome,
                    fallbacks,
                    served_by,
                    covered,
                    loaded,
                    counted,
                    millis,
                    again: None,
                    remark: None,
                };
                return Ending::Answered(self, execution);
            }
            Wait::Stopped => return Ending::Stopped,
            Wait::TimedOut => {
                drop(self);
                let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                return Ending::Lost(seen(Outcome::TimedOut { limit_ms }));
            }
            Wait::Message(message) => self.lose(format!("it spoke out of turn: {message:?}")),
            Wait::Garbage(error) => self.lose(error.to_string()),
            Wait::Closed => self.bury(),
        };
        let Loss { how, stderr, killed } = loss;
        let execution = seen(Outcome::Crashed { how, stderr });
        if killed {
            Ending::Killed(execution)
        } else {
            Ending::Lost(execution)
        }
    }

    /// Kills a worker that lost the thread of the conversation.
    fn lose(mut self, how: String) -> Loss {
        self.kill();
        let stderr = self.stderr.finish();
        let starved = OUT_OF_MEMORY.iter().any(|words| stderr.contains(words));
        Loss {
            how: if starved {
                format!("out of memory, {how}")
            } else {
                how
            },
            stderr,
            killed: false,
        }
    }

    /// Finds out how a worker ended that closed its pipe.
    fn bury(mut self) -> Loss {
        let status = match self.ended_within(LAST_BREATH, || false) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err("it closed its pipe and lived on".to_owned()),
            Err(error) => Err(format!("its exit status is unknown: {error}")),
        };
        let killed = matches!(&status, Ok(status) if status.signal() == Some(Signal::KILL.as_raw()));
        let how = status.as_ref().map_or_else(String::clone, ExitStatus::to_string);
        Loss {
            killed,
            ..self.lose(how)
        }
    }

    /// Kills the whole process group and collects the process. Harmless on a dead one.
    fn kill(&mut self) {
        let group = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // An error means that the group is gone, which is what was asked for.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads frames until the pipe ends or turns to garbage.
fn forward_frames(stdout: impl Read, sender: &Sender<Result<FromWorker, FrameError>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let (message, last) = match frame::read(&mut stdout) {
            Ok(Some(message)) => (Ok(message), false),
            Ok(None) => return,
            Err(error) => (Err(error), true),
        };
        if sender.send(message).is_err() || last {
            return;
        }
    }
}

/// The first [`STDERR_HEAD`] and the last [`STDERR_TAIL`] bytes of a worker's stderr, read by a thread of its own so that the
/// worker never blocks.
struct Tail {
    kept: Arc<Mutex<Kept>>,
    reader: Option<JoinHandle<()>>,
}

impl Tail {
    fn follow(mut stderr: impl Read + Send + 'static) -> Tail {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.add(&chunk[..count]);
            }
        });
        Tail {
            kept,
            reader: Some(reader),
        }
    }

    /// Forgets what earlier cases wrote.
    fn clear(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }

    /// Waits for the end of the pipe (the process must be dead) and returns the text. A child of
    /// it that left its process group may hold the pipe open: the wait ends after [`LAST_BREATH`].
    fn finish(&mut self) -> String {
        let deadline = Instant::now() + LAST_BREATH;
        let reading = |reader: &JoinHandle<()>| !reader.is_finished() && Instant::now() < deadline;
        while self.reader.as_ref().is_some_and(reading) {
            thread::sleep(Duration::from_millis(1));
        }
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

/// The beginning and the end of a stream.
#[derive(Default)]
struct Kept {
    /// The beginning, then the end.
    bytes: Vec<u8>,
    /// Whether something between them was dropped.
    cut: bool,
}

impl Kept {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let excess = self.bytes.len().saturating_sub(STDERR_HEAD + STDERR_TAIL);
        if excess > 0 {
            self.bytes.drain(STDERR_HEAD..STDERR_HEAD + excess);
            self.cut = true;
        }
    }

    fn text(&self) -> String {
        let text = |bytes| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if !self.cut {
            return text(&self.bytes);
        }
        let (head, tail) = self.bytes.split_at(STDERR_HEAD);
        format!("{}\n[..]\n{}", text(head), text(tail))
    }
}
