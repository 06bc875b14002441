//! `parity diff`: what got better and what got worse between two stored runs, or which verdicts they do not share.

mod markdown;

use std::fmt::Write;

use parity_model::record::{BackendInfo, CaseResult, RunRecord};
use parity_report::{left_out_text, repro, share_text, ulp_text};
use parity_run::{
    changes::{Change, ChangeClass, Changes, Measure, changes},
    records::{self, Stored},
};

use crate::{
    args::{DiffArgs, DiffFormat},
    exit::{Exit, Failure},
    next,
    output::put_page,
};

/// Changes of a kind that the page spells out.
const SHOWN: usize = 25;

pub(crate) fn diff(args: &DiffArgs) -> Result<Exit, Failure> {
    if let Some(record) = super::models::read(&args.before)? {
        return super::models::diff(&record, args);
    }
    let before = records::read(&args.before)?;
    let [before, after] = match (&args.after, args.columns.as_slice()) {
        (Some(after), []) => [before, records::read(after)?],
        (Some(after), [a, b]) => [before.alone(a, b)?, records::read(after)?.alone(b, b)?],
        (None, [a, b]) => [before.alone(a, b)?, before.alone(b, b)?],
        _ => {
            return Err(Failure::new(
                Exit::Usage,
                "--columns takes two columns, such as cpu,rocm",
            ));
        }
    };
    records::same_inputs(&before, &after)?;
    let measure = if args.verdicts {
        Measure::Verdict
    } else {
        Measure::All
    };
    let found = changes(&before.run, &after.run, measure);
    if found.same == 0 && found.list.is_empty() {
        let message = format!("neither {} nor {} holds a result", before.path, after.path);
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    let refused = |change: &Change<'_>| match measure {
        _ if args.allow_gone && change.class == ChangeClass::Gone => false,
        Measure::All => change.is_worse(),
        Measure::Verdict => true,
    };
    let refused: Vec<_> = found.list.iter().filter(|change| refused(change)).collect();
    let all = found.same + found.list.len();
    let outcome = match (measure, refused.len()) {
        (Measure::All, 0) => "ok: nothing got worse".to_owned(),
        (Measure::All, worse) => format!("WORSE: {worse} of {all} results"),
        (Measure::Verdict, 0) => "ok: no verdict differs".to_owned(),
        (Measure::Verdict, other) => format!("DIFFERENT: {other} of {all} results"),
    };
    let page = match args.format {
        DiffFormat::Markdown => rendered(markdown::write_page, &before, &after, &found, &outcome),
        DiffFormat::Text => {
            let mut page = rendered(write_page, &before, &after, &found, &outcome);
            let first = refused
                .iter()
                .find_map(|change| Some((change, later(&after.run, change)?)));
            if let Some((change, (info, result))) = first {
                page.push_str(&next::explain(&after.run, change.case, info, result, None));
            }
            page
        }
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(if refused.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

/// The device and the result of a change in the later run; `None` for a result that is gone.
fn later<'a>(run: &'a RunRecord, change: &Change<'a>) -> Option<(&'a BackendInfo, &'a CaseResult)> {
    let result = change.after?;
    let mut backends = run.backends.iter();
    Some((backends.find(|info| info.backend == change.backend)?, result))
}

/// Writes the differences of two runs in a format, with the last line of the command.
type Writer = fn(&mut String, &Stored, &Stored, &Changes<'_>, &str) -> std::fmt::Result;

fn rendered(writer: Writer, before: &Stored, after: &Stored, found: &Changes<'_>, outcome: &str) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = writer(&mut page, before, after, found, outcome);
    page
}

fn write_page(
    page: &mut String,
    before: &Stored,
    after: &Stored,
    found: &Changes<'_>,
    outcome: &str,
) -> std::fmt::Result {
    write_runs(page, before, after)?;
    for class in ChangeClass::ALL {
        let list: Vec<_> = found.list.iter().filter(|change| change.class == class).collect();
        if !list.is_empty() {
            writeln!(page, "\n{}: {}", class.name(), list.len())?;
        }
        for change in list.iter().take(SHOWN) {
            write_change(page, &after.run, change)?;
        }
        if let Some(more @ 1..) = list.len().checked_sub(SHOWN) {
            writeln!(page, "  and {more} more")?;
        }
    }
    writeln!(page, "\n{} results say the same\n{outcome}", found.same)
}

/// Which runs these are, and what else differs between them.
fn write_runs(page: &mut String, before: &Stored, after: &Stored) -> std::fmt::Result {
    for Stored { path, run } in [before, after] {
        let commit = run.commit.as_deref().unwrap_or("no commit");
        let (version, started, planned) = (&run.parity_version, &run.started, run.planned);
        let left_out = left_out_text(run);
        writeln!(
            page,
            "{path}: parity {version} ({commit}), {started}, {planned} cases{left_out}"
        )?;
    }
    let [old, new] = [before, after].map(|stored| &stored.run.candle_version);
    if old != new {
        writeln!(page, "the candle is another: candle-core {old}; now {new}")?;
    }
    for line in surroundings(before, after) {
        writeln!(page, "{line}")?;
    }
    Ok(())
}

/// What differs between two runs besides their results and the candle, a line each.
fn surroundings(before: &Stored, after: &Stored) -> Vec<String> {
    let mut lines = Vec::new();
    if before.run.specs != after.run.specs {
        lines.push("the specs or the findings have changed in between".to_owned());
    }
    for new in &after.run.backends {
        let old = before.run.backends.iter().find(|old| old.backend == new.backend);
        if let Some(old) = old.filter(|old| *old != new) {
            let [old, new] = [old, new].map(parity_report::text::describe);
            lines.push(format!("the device has changed in between: {old}; now {new}"));
        }
    }
    lines
}

fn write_change(page: &mut String, run: &RunRecord, change: &Change<'_>) -> std::fmt::Result {
    let Change {
        class, backend, case, ..
    } = change;
    let verdict = |result: Option<&CaseResult>| result.map_or("-", |result| result.verdict.name());
    let (old, new) = (verdict(change.before), verdict(change.after));
    let what = match class {
        ChangeClass::Grew => format!("{} to {}", error(change.before), error(change.after)),
        ChangeClass::New => new.to_owned(),
        ChangeClass::Gone => format!("was {old}"),
        ChangeClass::Broken | ChangeClass::Fixed | ChangeClass::Changed => format!("{old} to {new}"),
    };
    writeln!(page, "  {what} on {backend}: {}", case.id)?;
    let explained = matches!(
        class,
        ChangeClass::Broken | ChangeClass::New | ChangeClass::Changed
    );
    let note = change
        .after
        .filter(|_| explained)
        .and_then(|result| result.note.as_ref());
    if let Some(note) = note {
        writeln!(page, "    {}", note.trim_end().replace('\n', "\n    "))?;
    }
    if change.is_worse() && change.after.is_some() {
        writeln!(page, "    again: {}", repro(run, &case.id, backend))?;
    }
    Ok(())
}

/// `1.00 ULP (25%)`.
fn error(result: Option<&CaseResult>) -> String {
    match result.and_then(|result| result.vs_oracle.as_ref()) {
        None => "no value".to_owned(),
        Some(error) => format!(
            "{} ULP ({} of a limit)",
            ulp_text(error.max_ulp),
            share_text(error.limit_used)
        ),
    }
}
