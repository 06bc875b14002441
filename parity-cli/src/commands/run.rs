//! `parity run`: plan, execute, judge, record, report.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parity_exec::{Backend, CANDLE_VERSION, Settings, Supervisor, WorkerCommand};
use parity_model::{
    Case,
    known::KnownFailures,
    record::{RECORD_VERSION, RunRecord},
};
use parity_report::Totals;

use crate::{
    args::RunArgs,
    exit::{Exit, Failure},
    judge::Judge,
    known, provenance,
    select::select,
    settings::{RunSettings, cores},
    specs,
};

/// How long a worker may take to open its device: a first use of a real GPU loads code for seconds.
pub(super) const START_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let settings = RunSettings::resolve(args)?;
    let dir = specs::find(settings.selection.spec_dir.as_deref())?;
    let all = specs::load(&dir)?;
    let known = known::load(settings.known.as_deref(), &dir, &all)?;
    let cases = select(&all, &settings.selection.which)?;

    let record = execute(&settings, &cases, &known)?;
    let totals = Totals::of_run(&record).map_err(|lost| Failure::new(Exit::Internal, lost))?;
    settings.sink.put(&record)?;
    let failing: usize = totals.iter().map(Totals::failing).sum();
    Ok(if failing == 0 { Exit::Ok } else { Exit::Failed })
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

fn execute(settings: &RunSettings, cases: &[Case], known: &KnownFailures) -> Result<RunRecord, Failure> {
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
        known,
        no_fallback: settings.no_fallback,
    };
    let records = supervisor.run(cases, |case, executions| {
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
        reference: Backend::REFERENCE.name().to_owned(),
        backends,
        repro_args: settings.repro_args.clone(),
        planned: cases.len(),
        cases: records,
    })
}

/// A bar on stderr; indicatif draws nothing where stderr is no terminal.
fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {per_sec}, {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
