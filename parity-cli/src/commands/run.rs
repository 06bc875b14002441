//! `parity run`: plan, execute, judge, record, report.

use std::{
    mem,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parity_exec::{Backend, CANDLE_VERSION, Execution, Settings, Supervisor, WorkerCommand};
use parity_model::{
    Case,
    known::KnownFailures,
    record::{RECORD_VERSION, RunRecord, Shard},
};
use parity_report::Totals;

use crate::{
    args::RunArgs,
    digest,
    exit::{Exit, Failure},
    judge::Judge,
    known,
    output::Sink,
    provenance,
    select::select,
    settings::{RunSettings, Selection, cores},
    shard::Part,
    specs,
};

/// How long a worker may take to open its device: a first use of a real GPU loads code for seconds.
pub(super) const START_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let part = args.shard.as_deref().map(str::parse::<Part>).transpose();
    let part = part.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let sink = Sink::resolve(args.output);
    let settings = RunSettings::resolve(args.how, Selection::resolve(args.select)?, args.jobs)?;
    let mut plan = Plan::load(&settings)?;
    if let Some(part) = part {
        plan.keep(part)?;
    }
    let record = execute(&settings, &plan, |_, _| {})?;
    let exit = verdict(&record)?;
    sink.put(&record)?;
    Ok(exit)
}

/// How a run ends.
pub(super) fn verdict(record: &RunRecord) -> Result<Exit, Failure> {
    let totals = Totals::of_run(record).map_err(|lost| Failure::new(Exit::Internal, lost))?;
    let failing: usize = totals.iter().map(Totals::failing).sum();
    Ok(if failing == 0 { Exit::Ok } else { Exit::Failed })
}

/// What is run, and what it is judged by.
pub(super) struct Plan {
    pub(super) cases: Vec<Case>,
    pub(super) known: KnownFailures,
    /// Every case of the specs.
    pub(super) all: Vec<Case>,
    /// [`RunRecord::specs`].
    specs: String,
    shard: Option<Shard>,
}

impl Plan {
    pub(super) fn load(settings: &RunSettings) -> Result<Plan, Failure> {
        let dir = specs::find(settings.selection.spec_dir.as_deref())?;
        let all = specs::load(&dir)?;
        let known = known::load(settings.known.as_deref(), &dir, &all)?;
        let cases = select(&all, &settings.selection.which)?;
        Ok(Plan {
            specs: digest::rules(&all, &known),
            all,
            cases,
            known,
            shard: None,
        })
    }

    /// Leaves the part's cases alone.
    fn keep(&mut self, part: Part) -> Result<(), Failure> {
        let (cases, shard) = part.of(mem::take(&mut self.cases))?;
        self.cases = cases;
        self.shard = Some(shard);
        Ok(())
    }
}

/// How the worker of a backend is started: this binary, with its hidden subcommand.
pub(super) fn worker_command(backend: Backend, jobs: usize) -> Result<WorkerCommand, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Internal,
            format!("cannot find parity's own binary: {error}"),
        )
    })?;
    let args = ["worker", "--backend", backend.name()]
        .map(str::to_owned)
        .to_vec();
    // The lanes fill the cores; a worker's own thread pool gets what is left, unless the user knows better.
    let threads = (cores() / jobs.max(1)).max(1).to_string();
    let env = match std::env::var_os("RAYON_NUM_THREADS") {
        Some(_) => vec![],
        None => vec![("RAYON_NUM_THREADS".to_owned(), threads)],
    };
    Ok(WorkerCommand {
        backend: backend.name().to_owned(),
        program,
        args,
        env,
    })
}

/// Runs and judges the plan; `watch` sees every case's executions before they are judged and dropped.
pub(super) fn execute(
    settings: &RunSettings,
    plan: &Plan,
    watch: impl Fn(&Case, &[Execution]) + Sync,
) -> Result<RunRecord, Failure> {
    let cases = &plan.cases;
    let started = provenance::now();
    let clock = Instant::now();
    let commands = settings
        .backends
        .iter()
        .map(|backend| worker_command(*backend, settings.jobs));
    let supervision = Settings {
        jobs: settings.jobs,
        case_limit: settings.case_limit,
        start_limit: START_LIMIT,
        seed: settings.seed,
    };
    let supervisor = Supervisor::start(commands.collect::<Result<_, _>>()?, supervision)
        .map_err(|error| Failure::new(Exit::Unavailable, error.to_string()))?;
    let backends = supervisor.backends().to_vec();
    let bar = progress(cases.len());
    let judge = Judge {
        seed: settings.seed,
        backends: settings.backends.iter().map(|backend| backend.name()).collect(),
        known: &plan.known,
        no_fallback: settings.no_fallback,
    };
    let records = supervisor.run(cases, |case, executions| {
        watch(case, &executions);
        let record = judge.record(case, executions);
        bar.inc(1);
        record
    });
    bar.finish_and_clear();
    Ok(RunRecord {
        version: RECORD_VERSION,
        parity_version: provenance::VERSION.to_owned(),
        candle_version: CANDLE_VERSION.to_owned(),
        commit: provenance::commit(),
        started,
        seconds: clock.elapsed().as_secs_f64(),
        seed: settings.seed,
        specs: plan.specs.clone(),
        shard: plan.shard.clone(),
        reference: Backend::REFERENCE.name().to_owned(),
        backends,
        repro_args: settings.repro_args.clone(),
        planned: cases.len(),
        cases: records,
    })
}

/// A bar on stderr; indicatif draws nothing where stderr is no terminal.
pub(super) fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {per_sec}, {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
