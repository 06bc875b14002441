//! `parity run`: runs cases, shows how far it is, and writes the report.

use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel_coverage::Collector;
use parity_exec::Execution;
use parity_model::record::{CaseRecord, RunRecord};
use parity_run::{Book, Candle, Event, Finished, Part, Plan, Session, Stop, Times, failing, records};

use crate::{
    args::RunArgs,
    exit::{Exit, Failure},
    interrupt, next,
    output::complain,
    settings::{options, put, selection, settings, sink},
};

pub(crate) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let part = args.shard.as_deref().map(str::parse::<Part>).transpose()?;
    let sink = sink(args.output);
    let mut settings = settings(args.how, selection(args.select)?, args.jobs)?;
    (settings.against, settings.recorded_only) = (args.against, args.recorded_only);
    settings.cover = args.coverage.is_some();
    let build = |given: &String| Candle::build(given, complain);
    settings.candle = args.candle.as_ref().map(build).transpose()?;
    let again = args.journal.as_ref().or(args.resume.as_ref()).map(|journal| {
        let mut line = format!("parity run{}", options(&settings));
        args.shard.iter().for_each(|part| put(&mut line, "shard", part));
        args.times
            .iter()
            .for_each(|run| put(&mut line, "times", run.display()));
        line.push_str(&sink.options);
        put(&mut line, "resume", journal.display());
        line
    });
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
    let noted = Mutex::new(Collector::default());
    let finished = watched(|watch| {
        plan.run(&settings, session, |event| {
            if let Event::Judged { executions, .. } = &event {
                note(&noted, executions);
            }
            watch(&event);
        })
    })?;
    let exit = verdict(&finished.record)?;
    if let Some(path) = &args.coverage {
        let noted = noted.into_inner().unwrap_or_else(PoisonError::into_inner);
        super::coverage::keep(&noted, path, args.resume.is_some())?;
    }
    sink.put(&finished.record)?;
    if finished.missing == 0 {
        if let Some(line) = next::after_run(&finished.record, sink.stored(), settings.findings.as_deref()) {
            complain(line.trim_end());
        }
        return Ok(exit);
    }
    complain(&cut_off(&finished, again.as_deref()));
    Ok(Exit::Interrupted)
}

/// Keeps what executions say of kernels.
fn note(noted: &Mutex<Collector>, executions: &[Execution]) {
    let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
    for execution in executions {
        for loaded in &execution.loaded {
            noted.object(&loaded.id, &loaded.file);
        }
        for covered in &execution.covered {
            // A worker of this version sends a text of digits. Marks that another one sent are not counted.
            let _ = noted.marks(&covered.object, &covered.kernel, &covered.marks);
        }
    }
}

/// What to say of a run that was stopped; `again` is the command that goes on with it, where it keeps a journal.
fn cut_off(finished: &Finished, again: Option<&str>) -> String {
    let planned = finished.record.planned;
    let judged = planned - finished.missing;
    let next = match again {
        None => "with `--journal FILE` it could go on; this one has to begin again".to_owned(),
        Some(command) => format!("go on with: {command}"),
    };
    format!("interrupted: {judged} of {planned} cases are judged, the others are not-run; {next}")
}

/// How a run ends.
pub(super) fn verdict(record: &RunRecord) -> Result<Exit, Failure> {
    Ok(match failing(record)? {
        0 => Exit::Ok,
        _ => Exit::Failed,
    })
}

/// Cases that the bar calls the slowest.
const SLOWEST: usize = 3;

/// What a bar says of the cases judged so far, beside their number.
#[derive(Default)]
struct Tally {
    /// Results that fail the run.
    failing: usize,
    /// Milliseconds and ids of the cases that took longest, the slowest first.
    slowest: Vec<(f64, String)>,
}

impl Tally {
    /// Counts a case, and says whether the bar's words change.
    fn add(&mut self, record: &CaseRecord) -> bool {
        let fails = record.results.iter().filter(|result| result.verdict.fails_run());
        let failing = fails.count();
        self.failing += failing;
        let millis = record.results.iter().map(|result| result.millis);
        let millis = millis.fold(0.0, f64::max);
        let place = self.slowest.partition_point(|(slower, _)| *slower >= millis);
        if place < SLOWEST {
            self.slowest.insert(place, (millis, record.id.clone()));
            self.slowest.truncate(SLOWEST);
        }
        failing > 0 || place < SLOWEST
    }

    fn slowest(&self) -> String {
        let one = |(millis, id): &(f64, String)| format!("{:.2} s {id}", millis / 1e3);
        let cases: Vec<_> = self.slowest.iter().map(one).collect();
        format!("slowest: {}", cases.join(", "))
    }
}

/// Does `work` below a bar that follows the events of a run: how far it is, what fails so far, and what takes long.
pub(super) fn watched<T>(work: impl FnOnce(&(dyn Fn(&Event<'_>) + Sync)) -> T) -> T {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let words = "{bar:40} {pos}/{len} cases, {per_sec}, {eta} left, {prefix} failing\n{wide_msg}";
    bar.set_style(style(words));
    bar.set_prefix("0");
    let tally = Mutex::new(Tally::default());
    let done = work(&|event| match event {
        Event::Begun { planned, judged } => {
            bar.set_length(*planned as u64);
            bar.inc(*judged as u64);
        }
        Event::Judged { record, .. } => {
            bar.inc(1);
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            if tally.add(record) {
                bar.set_prefix(tally.failing.to_string());
                bar.set_message(tally.slowest());
            }
        }
    });
    bar.finish_and_clear();
    done
}

/// A bar on stderr; indicatif draws nothing where stderr is not a terminal.
pub(super) fn progress(cases: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(cases as u64), ProgressDrawTarget::stderr());
    bar.with_style(style("{bar:40} {pos}/{len} cases, {per_sec}, {eta} left"))
}

fn style(words: &str) -> ProgressStyle {
    ProgressStyle::with_template(words).unwrap_or_else(|_| ProgressStyle::default_bar())
}
