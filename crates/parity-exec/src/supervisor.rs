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

use parity_model::{Case, Outcome, Refusal, op::own::signatures, record::BackendInfo};

use crate::{
    child::{Child, Ending, Execution, StartError, WorkerCommand},
    protocol::{Job, Mutant, Setup},
    stop::Stop,
};

/// A worker that fails to come up this often in a row is not tried again.
const MAX_FAILED_STARTS: u32 = 3;

/// What an execution says whose first worker was killed.
const SECOND_RUN: &str = "run again in a fresh worker: the first was killed from outside (SIGKILL)";

/// What a death says that only the second of two runs met.
const SECOND_OF_TWO: &str = "in the second of two runs; the first gave an answer";

/// What a crash says whose first worker was killed, and the second as well.
const KILLED_TWICE: &str = "killed from outside (SIGKILL), as the worker before it; where memory runs out the kernel does that, see `dmesg`";

/// How a plan is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Cases in flight at once; each set keeps one worker per backend and uses one at a time.
    pub jobs: usize,
    /// Time limit for one case on one backend, for cases without one of their own.
    pub case_limit: Duration,
    /// Time limit for a worker to open its device.
    pub start_limit: Duration,
    /// Seed of the run.
    pub seed: u64,
    /// Bytes of memory that a worker may use; `None` for as many as there are.
    pub memory_limit: Option<u64>,
    /// Whether executions tell which instructions of which kernels they executed.
    pub cover: bool,
    /// Instructions that a wave of the software GPU may execute; `None` for as many as ever.
    pub wave_limit: Option<u64>,
    /// Whether every case runs twice on every backend, to see whether it does the same.
    pub twice: bool,
    /// Ends the run early.
    pub stop: Stop,
}

impl Settings {
    fn setup(&self) -> Setup {
        Setup {
            memory_limit: self.memory_limit,
            cover: self.cover,
            wave_limit: self.wave_limit,
            own: signatures(),
        }
    }
}

/// A supervisor whose backends have all answered once.
pub struct Supervisor {
    commands: Vec<WorkerCommand>,
    settings: Settings,
    backends: Vec<BackendInfo>,
    /// The workers that answered; they serve the first set.
    first: Vec<Child>,
}

impl Supervisor {
    /// Starts one worker per backend and learns which device each one uses.
    ///
    /// # Errors
    /// The first backend that is not available or whose worker does not come up. No case has run by then.
    pub fn start(commands: Vec<WorkerCommand>, settings: Settings) -> Result<Supervisor, StartError> {
        let started: Result<Vec<_>, _> = commands.iter().map(|command| start(command, &settings)).collect();
        let (first, backends) = started?.into_iter().unzip();
        Ok(Supervisor {
            commands,
            settings,
            backends,
            first,
        })
    }

    /// The devices of the backends, in the order of the commands.
    pub fn backends(&self) -> &[BackendInfo] {
        &self.backends
    }

    /// Runs every case on every backend and returns what `judge` made of each, in plan order; `None` for a case that was
    /// not finished when the run was stopped.
    ///
    /// `starting` gets the index of a case and of a command before that backend is given the case. `judge` gets the
    /// index, the case and one execution per backend, in the order of the commands. Both are called on the set's thread,
    /// `judge` once per case.
    pub fn run<T: Send>(
        self,
        cases: &[Case],
        starting: impl Fn(usize, usize) + Sync,
        judge: impl Fn(usize, &Case, Vec<Execution>) -> T + Sync,
    ) -> Vec<Option<T>> {
        let Supervisor {
            commands,
            settings,
            first,
            ..
        } = self;
        let next = AtomicUsize::new(0);
        let done = Mutex::new(cases.iter().map(|_| None).collect::<Vec<_>>());
        let work = |mut workers: WorkerSet<'_>| {
            while let index = next.fetch_add(1, Ordering::Relaxed)
                && let Some(case) = cases.get(index)
                && let Some(executions) = workers.run(index, case, |column| starting(index, column))
            {
                let judged = judge(index, case, executions);
                done.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(judged);
            }
            if !settings.stop.requested() {
                workers.slots.iter_mut().for_each(WorkerSlot::vacate);
            }
        };
        let vacant = || commands.iter().map(|_| None).collect();
        thread::scope(|scope| {
            for _ in 1..settings.jobs.min(cases.len()) {
                scope.spawn(|| work(WorkerSet::of(&commands, &settings, vacant())));
            }
            work(WorkerSet::of(
                &commands,
                &settings,
                first.into_iter().map(Some).collect(),
            ));
        });
        done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a worker; one that something outside killed while it started is started again.
fn start(command: &WorkerCommand, settings: &Settings) -> Result<(Child, BackendInfo), StartError> {
    let start = || Child::start(command, settings.start_limit, &settings.setup(), &settings.stop);
    let mut started = start();
    for _ in 1..MAX_FAILED_STARTS {
        if !matches!(started, Err(StartError::Died { killed: true, .. })) {
            break;
        }
        started = start();
    }
    started
}

/// One case at a time, on one worker per backend.
struct WorkerSet<'a> {
    settings: &'a Settings,
    slots: Vec<WorkerSlot<'a>>,
}

impl<'a> WorkerSet<'a> {
    fn of(
        commands: &'a [WorkerCommand],
        settings: &'a Settings,
        workers: Vec<Option<Child>>,
    ) -> WorkerSet<'a> {
        let slots = commands
            .iter()
            .zip(workers)
            .map(|(command, worker)| WorkerSlot::of(command, settings, worker));
        WorkerSet {
            settings,
            slots: slots.collect(),
        }
    }

    /// One execution per backend; `None` when the run is to stop.
    fn run(&mut self, index: usize, case: &Case, starting: impl Fn(usize)) -> Option<Vec<Execution>> {
        let task = Task::of(index as u64, case, None, self.settings);
        let mut executions = Vec::with_capacity(self.slots.len());
        for (column, slot) in self.slots.iter_mut().enumerate() {
            if self.settings.stop.requested() {
                return None;
            }
            starting(column);
            executions.push(slot.run(&task)?);
        }
        Some(executions)
    }
}

/// A case as a slot takes it.
pub(crate) struct Task {
    job: Job,
    limit: Duration,
    /// Whether the worker serves this case alone.
    isolated: bool,
}

impl Task {
    /// A case with a fault planted, or without.
    pub(crate) fn of(id: u64, case: &Case, mutant: Option<Mutant>, settings: &Settings) -> Task {
        let own = case
            .timeout
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Task {
            job: Job {
                id,
                case: case.id(),
                seed: settings.seed,
                mutant,
                count: false,
            },
            limit: own.unwrap_or(settings.case_limit),
            isolated: case.isolated,
        }
    }

    /// The same, and what its launches do is counted.
    pub(crate) fn counted(mut self) -> Task {
        self.job.count = true;
        self
    }
}

/// The place of one backend's worker in a set.
pub(crate) struct WorkerSlot<'a> {
    command: &'a WorkerCommand,
    settings: &'a Settings,
    worker: Option<Child>,
    failed_starts: u32,
}

impl<'a> WorkerSlot<'a> {
    /// The place of a worker that `command` starts, with one in it or none.
    pub(crate) fn of(
        command: &'a WorkerCommand,
        settings: &'a Settings,
        worker: Option<Child>,
    ) -> WorkerSlot<'a> {
        WorkerSlot {
            command,
            settings,
            worker,
            failed_starts: 0,
        }
    }

    /// Runs a case as often as the settings want it; `None` when the run is to stop.
    pub(crate) fn run(&mut self, task: &Task) -> Option<Execution> {
        let first = self.survive(task)?;
        if !self.settings.twice || cost_the_worker(&first.outcome) {
            return Some(first);
        }
        let second = self.survive(task)?;
        Some(if cost_the_worker(&second.outcome) {
            let words = [Some(SECOND_OF_TWO.to_owned()), second.remark];
            Execution {
                remark: Some(words.into_iter().flatten().collect::<Vec<_>>().join("; ")),
                ..second
            }
        } else {
            Execution {
                again: differ(&first.outcome, &second.outcome).then_some(second.outcome),
                ..first
            }
        })
    }

    /// Runs a case; once more in a fresh worker if something outside killed the first.
    fn survive(&mut self, task: &Task) -> Option<Execution> {
        let remark = |execution| Execution {
            remark: Some(SECOND_RUN.to_owned()),
            ..execution
        };
        match self.attempt(task)? {
            Attempt::Over(execution) => Some(execution),
            Attempt::Killed(_) => Some(match self.attempt(task)? {
                Attempt::Over(execution) => remark(execution),
                Attempt::Killed(execution) => Execution {
                    outcome: Outcome::Crashed {
                        how: KILLED_TWICE.to_owned(),
                        // What a killed worker wrote last has nothing to do with its death.
                        stderr: String::new(),
                    },
                    ..execution
                },
            }),
        }
    }

    fn attempt(&mut self, task: &Task) -> Option<Attempt> {
        if task.isolated {
            self.vacate();
        }
        let worker = match self.fill() {
            Ok(worker) => worker,
            Err(Vacancy::Stopped) => return None,
            Err(Vacancy::Failed(reason)) => {
                let outcome = Outcome::Missing { reason };
                return Some(Attempt::Over(Execution::seen(outcome, Duration::ZERO)));
            }
        };
        match worker.run(&task.job, task.limit, &self.settings.stop) {
            Ending::Answered(worker, execution) => {
                // A fault that was planted costs the software GPU nothing.
                let lost = task.job.mutant.is_none() && lost_the_device(&execution.outcome);
                self.worker = (!lost).then_some(worker);
                if task.isolated {
                    self.vacate();
                }
                Some(Attempt::Over(execution))
            }
            Ending::Lost(execution) => Some(Attempt::Over(execution)),
            Ending::Killed(execution) => Some(Attempt::Killed(execution)),
            Ending::Stopped => None,
        }
    }

    /// Lets the waiting worker go, if there is one. It is killed, which takes no time; but a program that leads to it, one that sends it
    /// elsewhere or watches over it, ends by itself.
    fn vacate(&mut self) {
        if let Some(worker) = self.worker.take()
            && self.command.host.is_some()
        {
            worker.end(&self.settings.stop);
        }
    }

    /// The waiting worker, or a new one.
    fn fill(&mut self) -> Result<Child, Vacancy> {
        if let Some(worker) = self.worker.take() {
            return Ok(worker);
        }
        if self.failed_starts >= MAX_FAILED_STARTS {
            let backend = &self.command.backend;
            return Err(Vacancy::Failed(format!(
                "the {backend} worker failed to start {MAX_FAILED_STARTS} times in a row"
            )));
        }
        match start(self.command, self.settings) {
            Ok((worker, _)) => {
                self.failed_starts = 0;
                Ok(worker)
            }
            Err(StartError::Stopped { .. }) => Err(Vacancy::Stopped),
            Err(error) => {
                self.failed_starts += 1;
                Err(Vacancy::Failed(error.to_string()))
            }
        }
    }
}

/// Why a slot has no worker.
enum Vacancy {
    Stopped,
    Failed(String),
}

/// What came of giving a case to one worker.
enum Attempt {
    Over(Execution),
    /// Something outside killed the worker; the execution is a crash.
    Killed(Execution),
}

/// After a device fault the context is lost: HIP and CUDA repeat the error for every later call.
fn lost_the_device(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Refused {
            refusal: Refusal::DeviceFault,
            ..
        }
    )
}

/// Whether an outcome says more about the worker than about the case's value: a second one adds nothing.
fn cost_the_worker(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Crashed { .. } | Outcome::TimedOut { .. } | Outcome::Missing { .. } => true,
        Outcome::Ran(_) | Outcome::Refused { .. } => lost_the_device(outcome),
    }
}

/// Whether two runs of a case did not do the same: other bits, or another class of refusal. The words of a refusal may
/// hold an address.
fn differ(a: &Outcome, b: &Outcome) -> bool {
    match (a, b) {
        (Outcome::Refused { refusal: a, .. }, Outcome::Refused { refusal: b, .. }) => a != b,
        (a, b) => a != b,
    }
}
