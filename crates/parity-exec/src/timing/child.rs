//! The process that times calls, as the process that asks for times sees it.

use std::{
    io::{BufReader, Read},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use parity_model::{Case, record::BackendInfo};

use super::{Hello, Pace, Timed, TimingJob};
use crate::frame::{self, FrameError};

/// Bytes of the child's last words that are kept.
const LAST_WORDS: usize = 4096;
/// How long a child that closed its pipe may take to end.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Why nothing was timed.
#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    /// The process could not be created.
    #[error("cannot start `{program}`, which is to time calls: {reason}")]
    Spawn {
        /// The program.
        program: String,
        /// The system's words.
        reason: String,
    },
    /// A device cannot be opened.
    #[error("{0}")]
    Unavailable(String),
    /// The process ended, hung or babbled.
    #[error("{how}{words}")]
    Lost {
        /// What it did.
        how: String,
        /// What it wrote to stderr last, after a line break; empty if nothing.
        words: String,
    },
}

/// A child with open devices, which times one call after the other.
pub struct Timer {
    child: Child,
    jobs: Option<ChildStdin>,
    answers: Receiver<Result<Answer, FrameError>>,
    words: Arc<Mutex<Vec<u8>>>,
    devices: Vec<BackendInfo>,
}

enum Answer {
    Hello(Hello),
    Timed(Vec<Timed>),
    End,
}

impl Timer {
    /// Starts `command`, which is to call [`serve`](super::serve), and waits until it has opened its devices, `limit` at most.
    ///
    /// # Errors
    /// The process cannot be started, a device cannot be opened, or the process ends before it has said so.
    pub fn start(mut command: Command, limit: Duration) -> Result<Timer, TimingError> {
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.map_err(|error| TimingError::Spawn {
            program: command.get_program().to_string_lossy().into_owned(),
            reason: error.to_string(),
        })?;
        let words = Arc::new(Mutex::new(Vec::new()));
        if let Some(stderr) = child.stderr.take() {
            let words = Arc::clone(&words);
            thread::spawn(move || keep_last(stderr, &words));
        }
        let (sender, answers) = channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                let mut input = BufReader::new(stdout);
                let hello = frame::read(&mut input).map(|hello| hello.map_or(Answer::End, Answer::Hello));
                let mut goes_on = matches!(hello, Ok(Answer::Hello(Ok(_))));
                let mut heard = sender.send(hello).is_ok();
                while goes_on && heard {
                    let timed = frame::read(&mut input).map(|timed| timed.map_or(Answer::End, Answer::Timed));
                    goes_on = matches!(timed, Ok(Answer::Timed(_)));
                    heard = sender.send(timed).is_ok();
                }
            });
        }
        let mut timer = Timer {
            jobs: child.stdin.take(),
            child,
            answers,
            words,
            devices: vec![],
        };
        match timer.wait(limit, "opening its devices")? {
            Answer::Hello(Ok(devices)) => timer.devices = devices,
            Answer::Hello(Err(why)) => return Err(TimingError::Unavailable(why)),
            Answer::Timed(_) | Answer::End => {
                return Err(timer.lost("it ended while opening its devices".to_owned()));
            }
        }
        Ok(timer)
    }

    /// The devices, in the order in which they were asked for.
    pub fn devices(&self) -> &[BackendInfo] {
        &self.devices
    }

    /// Times a case on every device, in turn; `limit` at most for all of them.
    ///
    /// # Errors
    /// The process ended or took longer; it is gone then, and a new one has to be started.
    pub fn time(
        &mut self,
        case: &Case,
        seed: u64,
        pace: Pace,
        limit: Duration,
    ) -> Result<Vec<Timed>, TimingError> {
        self.ask(case, seed, Some(pace), limit)
    }

    /// Counts what the launches of a case do on every device, each a software GPU; `limit` at most for all of them.
    ///
    /// # Errors
    /// The process ended or took longer; it is gone then, and a new one has to be started.
    pub fn count(&mut self, case: &Case, seed: u64, limit: Duration) -> Result<Vec<Timed>, TimingError> {
        self.ask(case, seed, None, limit)
    }

    fn ask(
        &mut self,
        case: &Case,
        seed: u64,
        pace: Option<Pace>,
        limit: Duration,
    ) -> Result<Vec<Timed>, TimingError> {
        let job = TimingJob {
            case: case.id(),
            seed,
            pace,
        };
        let sent = match &mut self.jobs {
            Some(jobs) => frame::write(jobs, &job).is_ok(),
            None => false,
        };
        // Where it ended before it was asked, it ended: the reader says how.
        let _ = sent;
        match self.wait(limit, "timing a call")? {
            Answer::Timed(timed) if timed.len() == self.devices.len() => Ok(timed),
            Answer::Timed(_) | Answer::Hello(_) => Err(self.lost("it answered something else".to_owned())),
            Answer::End => {
                let how = self.ended();
                Err(self.lost(how))
            }
        }
    }

    fn wait(&mut self, limit: Duration, doing: &str) -> Result<Answer, TimingError> {
        match self.answers.recv_timeout(limit) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.lost(format!("{doing}: {error}"))),
            Err(RecvTimeoutError::Timeout) => {
                Err(self.lost(format!("{doing} took longer than {} s", limit.as_secs())))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let how = self.ended();
                Err(self.lost(how))
            }
        }
    }

    /// How the process ended, in words.
    fn ended(&mut self) -> String {
        let start = std::time::Instant::now();
        while start.elapsed() < LAST_BREATH {
            match self.child.try_wait() {
                Ok(Some(status)) => return format!("the process that times calls ended: {status}"),
                Ok(None) => thread::sleep(Duration::from_millis(10)),
                Err(error) => return format!("the process that times calls is lost: {error}"),
            }
        }
        "the process that times calls closed its pipe".to_owned()
    }

    fn lost(&mut self, how: String) -> TimingError {
        self.end();
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words).trim().to_owned();
        TimingError::Lost {
            how,
            words: if words.is_empty() {
                words
            } else {
                format!("\n{words}")
            },
        }
    }

    fn end(&mut self) {
        self.jobs = None;
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads to the end and keeps the last bytes.
fn keep_last(mut from: impl Read, into: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..count]);
        let spare = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..spare);
    }
}
