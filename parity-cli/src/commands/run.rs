//! `parity run`: plan, execute, judge, record, report; in a journal on the way, so that a run that is cut off can go on.

use std::{
    mem,
    path::Path,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parity_exec::{
    Backend, CANDLE_VERSION, Execution, Settings, StartError, Stop, Supervisor, WorkerCommand,
};
use parity_model::{
    Case,
    journal::{Header, JOURNAL_VERSION},
    known::KnownFailures,
    record::{RECORD_VERSION, RunRecord, Shard},
};
use parity_report::Totals;

use crate::{
    args::RunArgs,
    digest,
    exit::{Exit, Failure},
    golden::Golden,
    interrupt,
    journal::{Book, Ledger, same_devices, same_run},
    judge::{Brief, Judge},
    known, next,
    output::{Sink, complain},
    place::Station,
    provenance, records,
    select::select,
    settings::{RunSettings, Selection, cores, quoted},
    shard::{Part, Times},
    specs,
};

/// How long a worker may take to open its device: a first use of a real GPU loads code for seconds.
pub(super) const START_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let part = args.shard.as_deref().map(str::parse::<Part>).transpose();
    let part = part.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let sink = Sink::resolve(args.output);
    let settings = RunSettings::resolve(args.how, Selection::resolve(args.select)?, args.jobs)?;
    let settings = settings.against(args.against, args.recorded_only);
    let mut plan = Plan::load(&settings)?;
    if let Some(part) = part {
        let times = args.times.as_deref().map(records::read).transpose()?;
        plan.keep(part, times.map(|stored| Times::of(&stored.run)).as_ref())?;
    }
    let session = Session {
        book: match (&args.journal, &args.resume) {
            (Some(path), _) => Book::new(path)?,
            (None, Some(path)) => Book::resume(path)?,
            (None, None) => Book::None,
        },
        stop: Stop::default(),
    };
    interrupt::listen(&session.stop)?;
    let finished = conduct(&settings, &plan, session, |_, _| {})?;
    let exit = verdict(&finished.record)?;
    sink.put(&finished.record)?;
    if finished.missing == 0 {
        if let Some(line) = next::after_run(&finished.record, sink.stored(), settings.known.as_deref()) {
            complain(line.trim_end());
        }
        return Ok(exit);
    }
    complain(&cut_off(&finished, args.journal.or(args.resume).as_deref()));
    Ok(Exit::Interrupted)
}

/// What to say of a run that was stopped.
fn cut_off(finished: &Finished, journal: Option<&Path>) -> String {
    let planned = finished.record.planned;
    let judged = planned - finished.missing;
    let next = match journal {
        None => "with `--journal FILE` it could go on; this one has to begin again".to_owned(),
        Some(path) => {
            let args = std::env::args_os().skip(1);
            let args = args.map(|arg| arg.to_string_lossy().into_owned());
            format!("go on with: {}", resume_line(args, path))
        }
    };
    format!("interrupted: {judged} of {planned} cases are judged, the others are not-run; {next}")
}

/// The command that goes on with the run that `args` began, or went on with.
fn resume_line(args: impl Iterator<Item = String>, journal: &Path) -> String {
    let mut line = "parity".to_owned();
    let mut is_value = false;
    for arg in args {
        let is_option = ["--journal", "--resume"].into_iter().any(|option| {
            let value = arg.strip_prefix(option);
            value.is_some_and(|value| value.is_empty() || value.starts_with('='))
        });
        if !is_option && !is_value {
            line.push_str(&format!(" {}", quoted(&arg)));
        }
        is_value = is_option && !arg.contains('=');
    }
    format!("{line} --resume {}", quoted(&journal.to_string_lossy()))
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
    /// Recorded outputs: the first column, where there are any.
    golden: Option<Golden>,
    /// [`RunRecord::not_recorded`].
    not_recorded: usize,
    /// [`RunRecord::specs`].
    specs: String,
    shard: Option<Shard>,
}

impl Plan {
    pub(super) fn load(settings: &RunSettings) -> Result<Plan, Failure> {
        let dir = specs::find(settings.selection.spec_dir.as_deref())?;
        let all = specs::load(&dir)?;
        let known = known::load(settings.known.as_deref(), &dir, &all)?;
        let mut cases = select(&all, &settings.selection.which)?;
        let against = settings.against.as_deref();
        let golden = against
            .map(|word| Golden::open(word, &dir, settings.seed))
            .transpose()?;
        let not_recorded = match golden.as_ref().filter(|_| settings.recorded_only) {
            Some(golden) => golden.keep_recorded(&mut cases)?,
            None => 0,
        };
        Ok(Plan {
            golden,
            not_recorded,
            specs: digest::rules(&all, &known),
            all,
            cases,
            known,
            shard: None,
        })
    }

    /// Leaves the part's cases alone.
    fn keep(&mut self, part: Part, times: Option<&Times>) -> Result<(), Failure> {
        let (cases, shard) = part.of(mem::take(&mut self.cases), times)?;
        self.cases = cases;
        self.shard = Some(shard);
        Ok(())
    }
}

/// How the worker of a column is started.
fn station_command(station: &Station, jobs: usize) -> Result<WorkerCommand, Failure> {
    station.command(|| worker_command(station.backend, jobs))
}

/// How the worker of a backend is started here: this binary, with its hidden subcommand.
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
        host: None,
    })
}

/// How a run is kept and ended.
pub(super) struct Session {
    /// Where its journal goes.
    pub(super) book: Book,
    /// Ends it early.
    pub(super) stop: Stop,
}

/// A run that has come to its end, or was stopped.
pub(super) struct Finished {
    pub(super) record: RunRecord,
    /// Cases that were not judged, because the run was stopped.
    pub(super) missing: usize,
}

/// Runs and judges the plan to its end; `watch` sees every case with its executions before they are judged and dropped.
pub(super) fn execute(
    settings: &RunSettings,
    plan: &Plan,
    watch: impl Fn(&Brief<'_>, &[Execution]) + Sync,
) -> Result<RunRecord, Failure> {
    let session = Session {
        book: Book::None,
        stop: Stop::default(),
    };
    conduct(settings, plan, session, watch).map(|finished| finished.record)
}

/// Runs and judges the plan, or what a journal has left of it, until the end or a stop.
fn conduct(
    settings: &RunSettings,
    plan: &Plan,
    session: Session,
    watch: impl Fn(&Brief<'_>, &[Execution]) + Sync,
) -> Result<Finished, Failure> {
    let Session { book, stop } = session;
    let mut header = header(settings, plan);
    if let Book::Old(_, journal) = &book {
        same_run(journal, &header)?;
    }
    let clock = Instant::now();
    let supervisor = supervise(settings, &stop)?;
    header.run.backends.truncate(recorded(plan));
    header.run.backends.extend_from_slice(supervisor.backends());
    if let Book::Old(_, journal) = &book {
        same_devices(journal, &header.run.backends)?;
    }
    let ledger = Ledger::open(book, header, clock, stop)?;
    let places = ledger.to_run();
    let cases: Vec<Case> = places.iter().map(|&place| plan.cases[place].clone()).collect();
    let bar = progress(plan.cases.len());
    bar.inc((plan.cases.len() - cases.len()) as u64);
    let judge = Judge {
        backends: names(settings).collect(),
        golden: plan.golden.as_ref(),
        known: &plan.known,
        no_fallback: settings.no_fallback,
    };
    supervisor.run(
        &cases,
        |index, column| ledger.start(places[index], judge.backends[column]),
        |index, case, executions| {
            let brief = Brief::of(case, settings.seed);
            watch(&brief, &executions);
            ledger.result(places[index], judge.record(&brief, executions));
            bar.inc(1);
        },
    );
    bar.finish_and_clear();
    let journal = ledger.close()?;
    let record = journal.record();
    Ok(Finished {
        record: record.map_err(|error| Failure::new(Exit::Internal, error.to_string()))?,
        missing: journal.missing(),
    })
}

/// Columns that stand before those that run.
fn recorded(plan: &Plan) -> usize {
    usize::from(plan.golden.is_some())
}

fn names(settings: &RunSettings) -> impl Iterator<Item = &'static str> {
    settings.stations.iter().map(|station| station.backend.name())
}

/// Starts a worker for every column.
fn supervise(settings: &RunSettings, stop: &Stop) -> Result<Supervisor, Failure> {
    let stations = settings.stations.iter();
    let commands = stations.map(|station| station_command(station, settings.jobs));
    let supervision = Settings {
        jobs: settings.jobs,
        case_limit: settings.case_limit,
        start_limit: START_LIMIT,
        seed: settings.seed,
        memory_limit: settings.memory_limit,
        twice: settings.deterministic,
        stop: stop.clone(),
    };
    Supervisor::start(commands.collect::<Result<_, _>>()?, supervision).map_err(|error| {
        let exit = match error {
            StartError::Stopped { .. } => Exit::Interrupted,
            StartError::Spawn { .. }
            | StartError::Unavailable { .. }
            | StartError::Version { .. }
            | StartError::Died { .. } => Exit::Unavailable,
        };
        Failure::new(exit, error.to_string())
    })
}

/// What is known of the run before its backends have answered: of those, name and place.
fn header(settings: &RunSettings, plan: &Plan) -> Header {
    let backends = settings.stations.iter().map(Station::info);
    let golden = plan.golden.as_ref();
    let reference = golden.map_or(Backend::REFERENCE.name(), Golden::name);
    Header {
        version: JOURNAL_VERSION,
        plan: digest::plan(&plan.cases),
        cases: plan.cases.iter().map(Case::id).collect(),
        run: RunRecord {
            version: RECORD_VERSION,
            parity_version: provenance::VERSION.to_owned(),
            candle_version: CANDLE_VERSION.to_owned(),
            commit: provenance::commit(),
            started: provenance::now(),
            seconds: 0.0,
            seed: settings.seed,
            specs: plan.specs.clone(),
            shard: plan.shard.clone(),
            reference: reference.to_owned(),
            backends: golden.map(Golden::info).into_iter().chain(backends).collect(),
            repro_args: settings.repro_args.clone(),
            planned: plan.cases.len(),
            not_recorded: plan.not_recorded,
            cases: vec![],
        },
    }
}

/// A bar on stderr; indicatif draws nothing where stderr is no terminal.
pub(super) fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {per_sec}, {eta} left");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_goes_on_with_a_run_is_the_line_that_began_it_with_another_option() {
        let line = |args: &[&str]| {
            let args = args.iter().map(|arg| (*arg).to_owned());
            resume_line(args, Path::new("my run.jsonl"))
        };
        let want = "parity run --ops 'a b' --jobs 2 --resume 'my run.jsonl'";
        for option in [
            &["--journal", "my run.jsonl"][..],
            &["--journal=my run.jsonl"],
            &["--resume", "my run.jsonl"],
        ] {
            let args = [&["run", "--ops", "a b"], option, &["--jobs", "2"]].concat();
            assert_eq!(line(&args), want);
        }
    }
}
