//! A run for a step of a GitHub workflow: commands that annotate the step with its failures, and the markdown of its
//! summary. Where each goes, the command line decides.

use std::fmt::Write;

use parity_model::record::RunRecord;

use crate::{
    Score, Shared, Totals,
    cells::families,
    facts::{Found, count_text, planned_text, repro, results},
    gfm::{Table, code, words},
};

/// Errors of a step that GitHub shows; it drops what comes after them.
const ANNOTATED: usize = 10;

/// Failures in a summary, which GitHub cuts off at 1 MiB.
const LISTED: usize = 100;

/// One `::error` for each of the first failures, and a `::notice` where there are more.
pub fn annotations(run: &RunRecord) -> String {
    let mut text = String::new();
    let failing: Vec<_> = failures(run).collect();
    for found in failing.iter().take(ANNOTATED) {
        let title = format!("parity: {} on {}", found.result.verdict.name(), found.backend);
        let note = found
            .result
            .note
            .as_deref()
            .unwrap_or("no reason was recorded")
            .trim_end();
        let again = repro(run, &found.case.id, found.backend);
        let message = format!("{}\n{note}\nagain: {again}", found.case.id);
        text.push_str(&command("error", &title, &message));
    }
    if let Some(more @ 1..) = failing.len().checked_sub(ANNOTATED) {
        text.push_str(&command(
            "notice",
            "parity",
            &format!("failures besides those annotated: {more}; see the summary"),
        ));
    }
    if executed(run) == 0 {
        text.push_str(&command(
            "error",
            "parity",
            "nothing was executed, which is never a pass",
        ));
    }
    text
}

/// The summary: what ran, how much of it agrees, and the failures with their repro commands.
pub fn summary(run: &RunRecord) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_summary(&mut page, run);
    page
}

/// A workflow command on one line.
fn command(name: &str, title: &str, message: &str) -> String {
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{name} title={title}::{}\n", escaped(message))
}

/// Text as the value of a workflow command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn failures(run: &RunRecord) -> impl Iterator<Item = Found<'_>> {
    results(run).filter(|found| found.result.verdict.fails_run())
}

fn executed(run: &RunRecord) -> usize {
    Score::of(results(run).map(|found| found.result)).executed
}

fn write_summary(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    let failing: Vec<_> = failures(run).collect();
    let head = match (executed(run), failing.len()) {
        (0, _) => "nothing was executed".to_owned(),
        (_, 0) => "all results pass or fail as known".to_owned(),
        (_, count) => format!("{} failing", count_text(count)),
    };
    writeln!(page, "## Parity: {head}\n")?;
    writeln!(
        page,
        "{}, seed {}, parity {} ({}), candle-core {}\n",
        planned_text(run),
        run.seed,
        run.parity_version,
        code(run.commit.as_deref().unwrap_or("no commit")),
        run.candle_version
    )?;
    write_backends(page, run)?;
    write_families(page, run)?;
    if failing.is_empty() {
        return Ok(());
    }
    writeln!(page, "<details open><summary>Failures</summary>\n")?;
    let mut table = Table::new(["case", "backend", "verdict", "why", "again"]);
    for found in failing.iter().take(LISTED) {
        table.row([
            code(&found.case.id),
            found.backend.to_owned(),
            found.result.verdict.name().to_owned(),
            words(found.result.note.as_deref().unwrap_or("no reason was recorded")),
            code(&repro(run, &found.case.id, found.backend)),
        ]);
    }
    writeln!(page, "{}", table.render())?;
    if let Some(more @ 1..) = failing.len().checked_sub(LISTED) {
        writeln!(page, "and {} more\n", count_text(more))?;
    }
    writeln!(page, "</details>")
}

fn write_backends(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    let mut table = Table::new(["backend", "device", "level", "agree", "executed", "verdicts"]);
    for (column, info) in run.backends.iter().enumerate() {
        let of = || run.cases.iter().filter_map(move |case| case.results.get(column));
        let score = Score::of(of());
        let verdicts: Vec<_> = Totals::of(of())
            .given()
            .map(|(verdict, count)| format!("{} {}", count_text(count), verdict.name()))
            .collect();
        let shared = Shared::of(run, column).map(|shared| format!("; {shared}"));
        let device = [info.device.as_str(), info.target.as_str()].join(" ");
        table.row([
            info.backend.clone(),
            device.trim().to_owned(),
            info.level.clone(),
            score.percent(),
            count_text(score.executed),
            verdicts.join(", ") + &shared.unwrap_or_default(),
        ]);
    }
    writeln!(page, "{}", table.render())
}

fn write_families(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    let names = run.backends.iter().map(|info| info.backend.clone());
    let mut table = Table::new(std::iter::once("family".to_owned()).chain(names));
    for family in families(run) {
        let cell = |column: usize| {
            let cases = run.cases.iter().filter(|case| case.family == family);
            let score = Score::of(cases.filter_map(|case| case.results.get(column)));
            format!("{}/{}", count_text(score.agreed), count_text(score.executed))
        };
        let cells = (0..run.backends.len()).map(cell);
        table.row(std::iter::once(family.to_owned()).chain(cells));
    }
    writeln!(page, "{}", table.render())
}
