//! The record as a page of text: provenance, a table per family and backend, totals, failures with their repro.

use std::fmt::Write;

use comfy_table::{CellAlignment, Color, ContentArrangement, Table, presets};
use parity_model::{
    Verdict,
    record::{BackendInfo, CaseRecord, RunRecord},
};

use crate::{
    Shared, Totals,
    cells::{Cell, distinct, families, grid},
    facts::{Found, error_text, known_failures, left_out_text, part_text, repro, results},
};

/// How the page is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Columns to wrap tables at; `None` for as wide as they are.
    pub width: Option<u16>,
    /// Whether to color with ANSI escapes. Color never says what the words do not.
    pub color: bool,
    /// Failures to spell out; the rest is counted.
    pub max_failures: usize,
}

/// Renders the page.
pub fn render(run: &RunRecord, options: &Options) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_page(&mut page, run, options);
    page
}

fn write_page(page: &mut String, run: &RunRecord, options: &Options) -> std::fmt::Result {
    write_header(page, run)?;
    for family in families(run) {
        for (column, backend) in run.backends.iter().enumerate() {
            writeln!(
                page,
                "\n{family} on {} (passed/run, worst error in ULP, worst share of a limit used)",
                backend.backend
            )?;
            writeln!(page, "{}", table(run, family, column, options))?;
        }
    }
    write_totals(page, run)?;
    write_known(page, run)?;
    write_failures(page, run, options)
}

fn write_header(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    let commit = run
        .commit
        .as_deref()
        .map(|commit| format!(" ({commit})"))
        .unwrap_or_default();
    writeln!(
        page,
        "parity {}{commit}, candle-core {}",
        run.parity_version, run.candle_version
    )?;
    writeln!(
        page,
        "started {}, took {:.1} s; seed {}; {} cases{}",
        run.started,
        run.seconds,
        run.seed,
        run.planned,
        part_text(run)
    )?;
    let name_width = run
        .backends
        .iter()
        .map(|backend| backend.backend.len())
        .max()
        .unwrap_or(0);
    for backend in &run.backends {
        let role = if backend.backend == run.reference {
            "; the reference"
        } else {
            ""
        };
        writeln!(
            page,
            "  {:name_width$}  {}{role}",
            backend.backend,
            describe(backend)
        )?;
    }
    Ok(())
}

/// Device, target, driver, level and, where that is another, the host in one line.
pub fn describe(backend: &BackendInfo) -> String {
    let target = if backend.target.is_empty() {
        String::new()
    } else {
        format!(", target {}", backend.target)
    };
    let host = backend.host.as_ref().map(|host| format!(", at {host}"));
    format!(
        "{}{target}, driver {}, level {}{}",
        backend.device,
        backend.driver,
        backend.level,
        host.unwrap_or_default()
    )
}

fn table(run: &RunRecord, family: &str, column: usize, options: &Options) -> Table {
    let grid = grid(run, family, column);
    let mut table = Table::new();
    // Nothing may be asked of the terminal: the page is a function of its arguments.
    table.load_style(presets::UTF8_FULL_CONDENSED).force_no_tty();
    if options.color {
        table.enforce_styling();
    }
    if let Some(width) = options.width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table.set_header([""].into_iter().chain(grid.dtypes.iter().copied()));
    for (op, cells) in grid.rows {
        let cells = cells
            .iter()
            .map(|cell| cell.as_ref().map_or_else(|| text_cell("-"), show));
        table.add_row(std::iter::once(text_cell(op)).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn text_cell(text: &str) -> comfy_table::Cell {
    comfy_table::Cell::new(text)
}

/// `24/24 0.98 49%`, and a line for every verdict that is not a pass.
fn show(cell: &Cell) -> comfy_table::Cell {
    let mut text = format!("{}/{}", cell.totals.count(Verdict::Pass), cell.totals.run());
    if let Some(worst) = cell.worst {
        text.push(' ');
        text.push_str(&error_text(worst));
    }
    for (verdict, count) in cell
        .totals
        .given()
        .filter(|(verdict, _)| *verdict != Verdict::Pass)
    {
        text.push_str(&format!("\n{count} {}", verdict.name()));
    }
    if cell.score.by_fallback > 0 {
        text.push_str(&format!("\n{} by CPU fallback", cell.score.by_fallback));
    }
    let all_passed = cell.score.by_fallback == 0 && cell.totals.count(Verdict::Pass) == cell.totals.all();
    let color = match (cell.totals.failing() > 0, all_passed) {
        (true, _) => Color::Red,
        (false, true) => Color::Green,
        (false, false) => Color::Yellow,
    };
    comfy_table::Cell::new(text).fg(color)
}

fn write_totals(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    writeln!(page)?;
    for (column, backend) in run.backends.iter().enumerate() {
        let results = run.cases.iter().filter_map(|case| case.results.get(column));
        let totals = Totals::of(results);
        let parts: Vec<_> = totals
            .given()
            .map(|(verdict, count)| format!("{count} {}", verdict.name()))
            .collect();
        writeln!(
            page,
            "{}: {} planned = {}",
            backend.backend,
            run.planned,
            parts.join(" + ")
        )?;
        if let Some(shared) = Shared::of(run, column) {
            writeln!(page, "  {shared}")?;
        }
        let fallen: Vec<_> = fallbacks(run, column).collect();
        if !fallen.is_empty() {
            let ops = distinct(fallen.iter().flat_map(|ops| ops.iter().map(String::as_str)));
            writeln!(
                page,
                "  {} computed by CPU fallback: {}",
                fallen.len(),
                ops.join(", ")
            )?;
        }
        if let Some((case, used)) = nearest_limit(run, column) {
            writeln!(
                page,
                "  nearest to its limit, {:.0}% used: {} ({})",
                used * 100.0,
                case.id,
                case.limit
            )?;
        }
    }
    Ok(())
}

/// The ops that fell back, for every result of which the CPU computed a part.
fn fallbacks(run: &RunRecord, column: usize) -> impl Iterator<Item = &[String]> {
    let results = run.cases.iter().filter_map(move |case| case.results.get(column));
    results
        .map(|result| result.fallbacks.as_slice())
        .filter(|ops| !ops.is_empty())
}

/// The passing case with the least headroom; none where every result is exact.
fn nearest_limit(run: &RunRecord, column: usize) -> Option<(&CaseRecord, f64)> {
    let used = run.cases.iter().filter_map(|case| {
        let result = case
            .results
            .get(column)
            .filter(|result| result.verdict == Verdict::Pass)?;
        Some((case, result.vs_oracle.as_ref()?.limit_used))
    });
    used.filter(|(_, used)| *used > 0.0)
        .reduce(|worst, other| if other.1 > worst.1 { other } else { worst })
}

/// Known failures, counted by backend and reason.
fn write_known(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    let reasons = known_failures(run);
    if !reasons.is_empty() {
        writeln!(page, "\nKnown failures")?;
    }
    for reason in reasons {
        let count = reason.cases.len();
        writeln!(page, "  {}, {count} of them: {}", reason.backend, reason.text)?;
    }
    Ok(())
}

fn write_failures(page: &mut String, run: &RunRecord, options: &Options) -> std::fmt::Result {
    let failures: Vec<_> = results(run)
        .filter(|found| found.result.verdict.fails_run())
        .collect();
    let all = run.planned * run.backends.len();
    let (red, green, plain) = if options.color {
        ("\x1b[31m", "\x1b[32m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    if all == 0 {
        return writeln!(page, "\n{red}FAILED{plain}: nothing ran");
    }
    if failures.is_empty() {
        let left_out = left_out_text(run);
        return writeln!(
            page,
            "\n{green}ok{plain}: none of {all} results fails the run{left_out}"
        );
    }
    writeln!(page, "\nFailures")?;
    for Found {
        case,
        backend,
        result,
    } in failures.iter().take(options.max_failures)
    {
        writeln!(
            page,
            "  {red}{}{plain} on {backend}: {}",
            result.verdict.name(),
            case.id
        )?;
        if let Some(note) = &result.note {
            writeln!(page, "    {}", note.trim_end().replace('\n', "\n    "))?;
        }
        writeln!(page, "    limit: {}", case.limit)?;
        writeln!(page, "    again: {}", repro(run, &case.id, backend))?;
    }
    if let Some(more @ 1..) = failures.len().checked_sub(options.max_failures) {
        writeln!(page, "  and {more} more; the JSON output has them all")?;
    }
    let (count, left_out) = (failures.len(), left_out_text(run));
    writeln!(page, "\n{red}FAILED{plain}: {count} of {all} results{left_out}")
}
