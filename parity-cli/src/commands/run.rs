//! `parity run`: runs cases, shows how far it is, and writes the report.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parity_model::record::RunRecord;
use parity_run::{Book, Error, Event, Finished, Part, Plan, Session, Stop, Times, failing, quoted, records};

use crate::{
    args::RunArgs,
    exit::{Exit, Failure},
    interrupt, next,
    output::{Sink, complain},
    settings::{selection, settings},
};

pub(crate) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let part = args.shard.as_deref().map(str::parse::<Part>).transpose();
    let part = part.map_err(Error::from)?;
    let sink = Sink::resolve(args.output);
    let mut settings = settings(args.how, selection(args.select)?, args.jobs)?;
    (settings.against, settings.recorded_only) = (args.against, args.recorded_only);
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
    let finished = watched(|watch| plan.run(&settings, session, |event| watch(&event)))?;
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
    Ok(match failing(record)? {
        0 => Exit::Ok,
        _ => Exit::Failed,
    })
}

/// Does `work` below a bar that follows the events of a run.
pub(super) fn watched<T>(work: impl FnOnce(&(dyn Fn(&Event<'_>) + Sync)) -> T) -> T {
    let bar = progress(0);
    let done = work(&|event| match event {
        Event::Begun { planned, judged } => {
            bar.set_length(*planned as u64);
            bar.inc(*judged as u64);
        }
        Event::Judged { .. } => bar.inc(1),
    });
    bar.finish_and_clear();
    done
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
