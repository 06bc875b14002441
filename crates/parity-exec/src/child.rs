//! One worker process as its supervisor sees it: started, given one case at a time, and buried when it dies.
//!
//! Which case comes next, and what a death means for the run, is [`crate::supervisor`]'s.

use std::{
    io::{BufReader, Read},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{self, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use parity_model::{Outcome, record::BackendInfo};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    frame::{self, FrameError},
    protocol::{FromWorker, Job, PROTOCOL},
};

/// How much of a worker's stderr is kept.
const STDERR_TAIL: usize = 4096;

/// A process that closed its pipe is given this long to end by itself, so that its own signal is the one reported.
const LAST_BREATH: Duration = Duration::from_secs(2);

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
    /// The worker died, hung or babbled before it reported its device.
    #[error("the {backend} worker did not come up: {how}{}", said(stderr))]
    Died {
        /// Name of the backend.
        backend: String,
        /// What happened to it.
        how: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
}

/// Starts a worker, learns which device it serves, and ends it.
///
/// # Errors
/// Why the backend is not available.
pub fn probe(command: &WorkerCommand, limit: Duration) -> Result<BackendInfo, StartError> {
    Child::start(command, limit).map(|(_, info)| info)
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
    /// Milliseconds on the backend, transfers included; for a death or a timeout, as the supervisor saw it.
    pub millis: f64,
}

/// A running worker. Dropping it kills its process group.
pub(crate) struct Child {
    process: process::Child,
    stdin: ChildStdin,
    frames: Receiver<Result<FromWorker, FrameError>>,
    stderr: Tail,
}

/// How a worker was lost.
struct Loss {
    how: String,
    stderr: String,
}

impl Child {
    /// Starts a worker and waits for its device.
    pub(crate) fn start(
        command: &WorkerCommand,
        limit: Duration,
    ) -> Result<(Child, BackendInfo), StartError> {
        let child = Child::spawn(command).map_err(|reason| StartError::Spawn {
            backend: command.backend.clone(),
            program: command.program.clone(),
            reason,
        })?;
        let died = |loss: Loss| StartError::Died {
            backend: command.backend.clone(),
            how: loss.how,
            stderr: loss.stderr,
        };
        match child.frames.recv_timeout(limit) {
            Ok(Ok(FromWorker::Hello {
                protocol: PROTOCOL,
                device,
            })) => match device {
                Ok(info) => Ok((child, info)),
                Err(reason) => Err(StartError::Unavailable {
                    backend: command.backend.clone(),
                    reason,
                }),
            },
            Ok(Ok(message)) => Err(died(child.lose(format!("it spoke out of turn: {message:?}")))),
            Ok(Err(error)) => Err(died(child.lose(error.to_string()))),
            Err(RecvTimeoutError::Timeout) => Err(died(child.lose(format!("no answer within {limit:?}")))),
            Err(RecvTimeoutError::Disconnected) => Err(died(child.bury())),
        }
    }

    fn spawn(command: &WorkerCommand) -> Result<Child, String> {
        let mut process = Command::new(&command.program)
            .args(&command.args)
            .envs(command.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
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
            stdin,
            frames,
            stderr: Tail::follow(stderr),
        })
    }

    /// Runs one case. `Err` holds the outcome of a case that cost the worker its life.
    pub(crate) fn run(mut self, job: &Job, limit: Duration) -> Result<(Child, Execution), Execution> {
        let started = Instant::now();
        let seen = |outcome| Execution {
            outcome,
            fallbacks: vec![],
            millis: started.elapsed().as_secs_f64() * 1e3,
        };
        self.stderr.clear();
        // A failed write means a dead worker, and the read below finds out how it died.
        let written = frame::write(&mut self.stdin, job);
        if let Err(error @ (FrameError::Encode(_) | FrameError::TooLong(_))) = written {
            return Ok((
                self,
                seen(Outcome::Missing {
                    reason: format!("the case cannot be sent: {error}"),
                }),
            ));
        }
        let loss = match self.frames.recv_timeout(limit) {
            Ok(Ok(FromWorker::Done {
                id,
                outcome,
                fallbacks,
                millis,
            })) if id == job.id => {
                return Ok((
                    self,
                    Execution {
                        outcome,
                        fallbacks,
                        millis,
                    },
                ));
            }
            Ok(Ok(message)) => self.lose(format!("it spoke out of turn: {message:?}")),
            Ok(Err(error)) => self.lose(error.to_string()),
            Err(RecvTimeoutError::Disconnected) => self.bury(),
            Err(RecvTimeoutError::Timeout) => {
                drop(self);
                let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                return Err(seen(Outcome::TimedOut { limit_ms }));
            }
        };
        Err(seen(Outcome::Crashed {
            how: loss.how,
            stderr: loss.stderr,
        }))
    }

    /// Kills a worker that lost the thread of the conversation.
    fn lose(mut self, how: String) -> Loss {
        self.kill();
        Loss {
            how,
            stderr: self.stderr.finish(),
        }
    }

    /// Finds out how a worker ended that closed its pipe.
    fn bury(mut self) -> Loss {
        let deadline = Instant::now() + LAST_BREATH;
        let how = loop {
            match self.process.try_wait() {
                Ok(Some(status)) => break status.to_string(),
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                Ok(None) => break "it closed its pipe and lived on".to_owned(),
                Err(error) => break format!("its exit status is unknown: {error}"),
            }
        };
        self.lose(how)
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

/// The last [`STDERR_TAIL`] bytes of a worker's stderr, read by a thread of its own so that the worker never blocks.
struct Tail {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Tail {
    fn follow(mut stderr: impl Read + Send + 'static) -> Tail {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                let mut tail = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&chunk[..count]);
                let excess = tail.len().saturating_sub(STDERR_TAIL);
                tail.drain(..excess);
            }
        });
        Tail {
            bytes,
            reader: Some(reader),
        }
    }

    /// Forgets what earlier cases wrote.
    fn clear(&self) {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Waits for the end of the pipe (the process must be dead) and returns the text.
    fn finish(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            // The reader does not panic; if it did, what it had read so far is still there.
            let _ = reader.join();
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}
