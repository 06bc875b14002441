//! Runs a plan: every case on every backend, in worker processes, whatever the workers do.
//!
//! The supervisor never computes and never judges; its caller judges each case as its executions come in, so that
//! outputs need not be kept. Results come back in plan order, however the lanes interleaved.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use parity_model::{Case, Outcome, Refusal, record::BackendInfo};

use crate::{
    child::{Child, Execution, StartError, WorkerCommand},
    protocol::Job,
};

/// A worker that fails to come up this often in a row is not tried again.
const MAX_FAILED_STARTS: u32 = 3;

/// How a plan is run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Cases in flight at once; each lane keeps one worker per backend and uses one at a time.
    pub jobs: usize,
    /// Time limit for one case on one backend, for cases without one of their own.
    pub case_limit: Duration,
    /// Time limit for a worker to open its device.
    pub start_limit: Duration,
    /// Seed of the run.
    pub seed: u64,
}

/// A supervisor whose backends have all answered once.
pub struct Supervisor {
    commands: Vec<WorkerCommand>,
    settings: Settings,
    backends: Vec<BackendInfo>,
    /// The workers that answered; they serve the first lane.
    first: Vec<Child>,
}

impl Supervisor {
    /// Starts one worker per backend and learns which device stands behind each.
    ///
    /// # Errors
    /// The first backend that is not available or whose worker does not come up. No case has run by then.
    pub fn start(commands: Vec<WorkerCommand>, settings: Settings) -> Result<Supervisor, StartError> {
        let started: Result<Vec<_>, _> = commands
            .iter()
            .map(|command| Child::start(command, settings.start_limit))
            .collect();
        let (first, backends) = started?.into_iter().unzip();
        Ok(Supervisor {
            commands,
            settings,
            backends,
            first,
        })
    }

    /// The devices behind the backends, in the order of the commands.
    pub fn backends(&self) -> &[BackendInfo] {
        &self.backends
    }

    /// Runs every case on every backend and returns what `judge` made of each, in plan order.
    ///
    /// `judge` gets the case and one execution per backend, in the order of the commands; it is called once per case,
    /// on the lane's thread.
    pub fn run<T: Send>(self, cases: &[Case], judge: impl Fn(&Case, Vec<Execution>) -> T + Sync) -> Vec<T> {
        let Supervisor {
            commands,
            settings,
            first,
            ..
        } = self;
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(cases.len()));
        let work = |mut lane: Lane<'_>| {
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(case) = cases.get(index)
            {
                let judged = judge(case, lane.run(index, case));
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((index, judged));
            }
        };
        thread::scope(|scope| {
            for _ in 1..settings.jobs.min(cases.len()) {
                scope.spawn(|| work(Lane::vacant(&commands, settings)));
            }
            work(Lane::manned(&commands, settings, first));
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|&(index, _)| index);
        done.into_iter().map(|(_, judged)| judged).collect()
    }
}

/// One case at a time, on one worker per backend.
struct Lane<'a> {
    settings: Settings,
    posts: Vec<Post<'a>>,
}

impl<'a> Lane<'a> {
    fn manned(commands: &'a [WorkerCommand], settings: Settings, workers: Vec<Child>) -> Lane<'a> {
        let posts = commands.iter().zip(workers).map(|(command, child)| Post {
            command,
            worker: Some(child),
            failed_starts: 0,
        });
        Lane {
            settings,
            posts: posts.collect(),
        }
    }

    fn vacant(commands: &'a [WorkerCommand], settings: Settings) -> Lane<'a> {
        let posts = commands.iter().map(|command| Post {
            command,
            worker: None,
            failed_starts: 0,
        });
        Lane {
            settings,
            posts: posts.collect(),
        }
    }

    fn run(&mut self, index: usize, case: &Case) -> Vec<Execution> {
        let job = Job {
            id: index as u64,
            case: case.id(),
            seed: self.settings.seed,
        };
        let own = case
            .timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let limit = own.unwrap_or(self.settings.case_limit);
        self.posts
            .iter_mut()
            .map(|post| post.run(&job, limit, self.settings.start_limit))
            .collect()
    }
}

/// The place of one backend's worker in a lane.
struct Post<'a> {
    command: &'a WorkerCommand,
    worker: Option<Child>,
    failed_starts: u32,
}

impl Post<'_> {
    fn run(&mut self, job: &Job, limit: Duration, start_limit: Duration) -> Execution {
        let worker = match self.fill(start_limit) {
            Ok(worker) => worker,
            Err(reason) => {
                return Execution {
                    outcome: Outcome::Missing { reason },
                    fallbacks: vec![],
                    millis: 0.0,
                };
            }
        };
        match worker.run(job, limit) {
            Ok((worker, execution)) => {
                // After a device fault the context is lost: HIP and CUDA repeat the error for every later call.
                let fault = matches!(
                    execution.outcome,
                    Outcome::Refused {
                        refusal: Refusal::DeviceFault,
                        ..
                    }
                );
                self.worker = (!fault).then_some(worker);
                execution
            }
            Err(execution) => execution,
        }
    }

    /// The waiting worker, or a new one.
    fn fill(&mut self, limit: Duration) -> Result<Child, String> {
        if let Some(worker) = self.worker.take() {
            return Ok(worker);
        }
        if self.failed_starts >= MAX_FAILED_STARTS {
            let backend = &self.command.backend;
            return Err(format!(
                "the {backend} worker failed to start {MAX_FAILED_STARTS} times in a row"
            ));
        }
        match Child::start(self.command, limit) {
            Ok((worker, _)) => {
                self.failed_starts = 0;
                Ok(worker)
            }
            Err(error) => {
                self.failed_starts += 1;
                Err(error.to_string())
            }
        }
    }
}
