//! One worker process: started, given its jobs, read to its end, and ended when its time is over.

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use zoo_protocol::{MAX_REPLY, Reply, Request, read_replies};

/// The file name of the worker program, which lies beside `parity`.
pub const WORKER: &str = "parity-zoo-worker";

/// How often a wait looks whether the worker has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// The most of a worker's stderr that is kept, from its end.
const LAST_WORDS: usize = 2000;

/// How workers are started.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// How long one worker may run.
    pub limit: Duration,
    /// Threads of a worker's own pool.
    pub threads: usize,
}

/// How a worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, after its last reply.
    Whole,
    /// Its time was over.
    Timeout,
    /// It died: the status, and the end of its stderr.
    Died(String),
}

/// Starts a worker with `env` on top of the inherited environment, has it do its jobs, and gives its replies: those that it
/// made before it ended, however that was.
///
/// # Errors
/// The process could not be started, or wrote something else than a reply: the words.
pub fn ask(
    worker: &Worker,
    env: &[(String, String)],
    request: &Request,
) -> Result<(Vec<Reply>, Ending), String> {
    let mut command = Command::new(&worker.program);
    command
        .env("RAYON_NUM_THREADS", worker.threads.max(1).to_string())
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|why| format!("cannot start {}: {why}", worker.program.display()))?;
    let jobs = serde_json::to_vec(request).map_err(|why| format!("a job has no JSON form: {why}"))?;
    // A worker that is gone already has closed its stdin; how it ended says more.
    let stdin = child.stdin.take();
    let feeder = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&jobs)));
    let stdout = child.stdout.take();
    let said = thread::spawn(move || read(stdout, MAX_REPLY));
    let stderr = child.stderr.take();
    let cried = thread::spawn(move || read(stderr, MAX_REPLY));
    let ending = wait(&mut child, worker.limit);
    let _ = feeder.join();
    let bytes = said.join().unwrap_or_default();
    let words = cried.join().unwrap_or_default();
    let replies = read_replies(&bytes).map_err(|why| why.to_string())?;
    let ending = match ending {
        Ending::Died(status) => Ending::Died(format!("{status}{}", tail(&words))),
        other => other,
    };
    Ok((replies, ending))
}

/// Waits for the end of a worker, and brings it about when the time is over.
fn wait(child: &mut Child, limit: Duration) -> Ending {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ending::Whole,
            Ok(Some(status)) => return Ending::Died(status.to_string()),
            Err(why) => return Ending::Died(why.to_string()),
            Ok(None) if start.elapsed() >= limit => {
                // Either it ends now, or it has ended by itself in this moment.
                let _ = child.kill();
                let _ = child.wait();
                return Ending::Timeout;
            }
            Ok(None) => thread::sleep(GLANCE),
        }
    }
}

/// What a pipe holds, as far as it may be read. What is beyond is read and dropped, so that the worker does not wait.
fn read(pipe: Option<impl Read>, limit: u64) -> Vec<u8> {
    let mut bytes = vec![];
    let Some(mut pipe) = pipe else { return bytes };
    // A pipe that breaks has said what it said.
    let _ = pipe.by_ref().take(limit).read_to_end(&mut bytes);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    bytes
}

/// The end of what was written to stderr, after a separator.
fn tail(words: &[u8]) -> String {
    let words = String::from_utf8_lossy(words);
    let words = words.trim();
    let mut from = words.len().saturating_sub(LAST_WORDS);
    while !words.is_char_boundary(from) {
        from += 1;
    }
    match &words[from..] {
        "" => String::new(),
        words => format!("; its last words were: {words}"),
    }
}
