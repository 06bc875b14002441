//! Jobs: what streams were given, and what each waits for. Threads carry out whatever is ready.
//!
//! A stream's job waits for the one before it; the null stream's for those of all streams that do not say otherwise, and theirs
//! for it; and any job for the events that its stream waits for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;

use crate::error::Result;

/// Something to be done once.
pub(crate) type Job = Box<dyn FnOnce() -> Result + Send>;
/// Threads that carry out jobs. A job may wait for the program, which may wait for another.
const THREADS: usize = 64;

struct Waiting {
    /// How many jobs it waits for still.
    left: usize,
    job: Option<Job>,
    /// The jobs that wait for it.
    then: Vec<u64>,
}

struct Jobs {
    /// Number of the last job.
    last: u64,
    /// Jobs that are not done.
    open: BTreeMap<u64, Waiting>,
    ready: VecDeque<(u64, Job)>,
    threads: usize,
    idle: usize,
    /// Why nothing is carried out any more.
    failed: Option<hipError_t>,
}

static JOBS: Mutex<Jobs> = Mutex::new(Jobs {
    last: 0,
    open: BTreeMap::new(),
    ready: VecDeque::new(),
    threads: 0,
    idle: 0,
    failed: None,
});
/// A job is ready, or done.
static READY: Condvar = Condvar::new();
static DONE: Condvar = Condvar::new();

fn jobs() -> MutexGuard<'static, Jobs> {
    // No job is carried out below the lock: a panic cannot leave it half changed.
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn until_done(guard: MutexGuard<'static, Jobs>) -> MutexGuard<'static, Jobs> {
    DONE.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    /// A new job after those of `after` that are not done; gives its number and how many they are.
    fn open(&mut self, after: &[u64], job: Option<Job>) -> (u64, usize) {
        self.last += 1;
        let number = self.last;
        let after: BTreeSet<u64> = after.iter().copied().collect();
        let mut left = 0;
        for before in after {
            if let Some(before) = self.open.get_mut(&before) {
                before.then.push(number);
                left += 1;
            }
        }
        let then = Vec::new();
        self.open.insert(number, Waiting { left, job, then });
        (number, left)
    }

    /// A job is done: those that waited for it alone are ready.
    fn close(&mut self, number: u64) {
        let Some(done) = self.open.remove(&number) else {
            return;
        };
        for next in done.then {
            let Some(waiting) = self.open.get_mut(&next) else {
                continue;
            };
            waiting.left -= 1;
            if waiting.left == 0
                && let Some(job) = waiting.job.take()
            {
                self.ready.push_back((next, job));
            }
        }
        self.start();
        DONE.notify_all();
    }

    /// Has threads carry out what is ready.
    fn start(&mut self) {
        let more = self.ready.len().saturating_sub(self.idle);
        for _ in 0..more.min(THREADS - self.threads) {
            let worker = std::thread::Builder::new().name("software GPU".to_owned());
            if worker.spawn(work).is_err() {
                break;
            }
            self.threads += 1;
        }
        if !self.ready.is_empty() {
            READY.notify_all();
        }
    }

    fn is_done(&self, number: u64) -> bool {
        !self.open.contains_key(&number)
    }
}

/// Submits a job that waits for others; gives its number.
///
/// # Errors
/// A kernel faulted before, or the host gives no thread to carry jobs out.
pub(crate) fn submit(after: &[u64], job: Job) -> Result<u64> {
    let mut jobs = jobs();
    if let Some(code) = jobs.failed {
        return Err(code);
    }
    let (number, left) = jobs.open(after, Some(job));
    if left == 0
        && let Some(job) = jobs.open.get_mut(&number).and_then(|waiting| waiting.job.take())
    {
        jobs.ready.push_back((number, job));
        jobs.start();
    }
    if jobs.threads == 0 {
        // Nobody must wait for what nobody does.
        jobs.ready.clear();
        jobs.close(number);
        return Err(hip::hipError_t_hipErrorOutOfMemory);
    }
    Ok(number)
}

/// A job that is to be done on this thread by [`Own::carry_out`].
pub(crate) struct Own {
    number: u64,
}

/// Opens a job for this thread to do once those of `after` are done.
pub(crate) fn own(after: &[u64]) -> Result<Own> {
    let mut jobs = jobs();
    match jobs.failed {
        Some(code) => Err(code),
        None => Ok(Own {
            number: jobs.open(after, None).0,
        }),
    }
}

impl Own {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Waits until it can be done, and does it.
    pub(crate) fn carry_out(self, job: impl FnOnce() -> Result) -> Result {
        let mut guard = jobs();
        while guard.open.get(&self.number).is_some_and(|own| own.left > 0) {
            guard = until_done(guard);
        }
        if let Some(code) = guard.failed {
            guard.close(self.number);
            return Err(code);
        }
        drop(guard);
        let result = catch_unwind(AssertUnwindSafe(job));
        jobs().close(self.number);
        result.unwrap_or(Err(hip::hipError_t_hipErrorUnknown))
    }
}

/// Waits until a job is done.
pub(crate) fn wait(number: u64) -> Result {
    let mut guard = jobs();
    while !guard.is_done(number) {
        guard = until_done(guard);
    }
    guard.failed.map_or(Ok(()), Err)
}

/// Waits until every job is done that was submitted by now.
pub(crate) fn drain() -> Result {
    let mut guard = jobs();
    let last = guard.last;
    while guard.open.range(..=last).next().is_some() {
        guard = until_done(guard);
    }
    guard.failed.map_or(Ok(()), Err)
}

/// Whether a job is done.
pub(crate) fn is_done(number: u64) -> Result<bool> {
    let jobs = jobs();
    jobs.failed.map_or(Ok(jobs.is_done(number)), Err)
}

/// Why nothing is carried out any more, if so: a kernel faulted.
pub(crate) fn failure() -> Result {
    jobs().failed.map_or(Ok(()), Err)
}

fn work() {
    let mut guard = jobs();
    loop {
        let Some((number, job)) = guard.ready.pop_front() else {
            guard.idle += 1;
            guard = READY.wait(guard).unwrap_or_else(PoisonError::into_inner);
            guard.idle -= 1;
            continue;
        };
        // After a fault jobs are only closed, so that nobody waits for ever.
        if guard.failed.is_none() {
            drop(guard);
            let result = catch_unwind(AssertUnwindSafe(job));
            guard = jobs();
            if let Err(code) = result.unwrap_or(Err(hip::hipError_t_hipErrorUnknown)) {
                guard.failed.get_or_insert(code);
            }
        }
        guard.close(number);
    }
}
