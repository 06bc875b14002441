//! `parity gate`: passes or blocks by the parity score of one backend in a stored run.

use std::fmt::Write;

use parity_report::{SCORE_DEFINITION, Score, Shared, left_out_text, repro, text::describe};
use parity_run::{
    gate::{Bar, Block, Gated, gate as judge, share},
    records,
};
use serde_json::{Map, Value, json};

use crate::{
    args::GateArgs,
    columns::columns,
    exit::{Exit, Failure},
    next,
};

/// Failing cases that a reason for blocking spells out: with a few reasons it all stays on one screen.
const SHOWN: usize = 5;

pub(crate) fn gate(args: &GateArgs) -> Result<Exit, Failure> {
    let min = match (&args.cost, args.min) {
        (Some(base), _) => return super::cost::gate(&args.run, base, args.tolerance, &args.page),
        // clap does not require --cost of --tolerance where --min conflicts with --cost.
        (None, _) if args.tolerance.is_some() => {
            let message = "--tolerance needs --cost RUN: the earlier counters to compare with";
            return Err(Failure::new(Exit::Usage, message.to_owned()));
        }
        (None, Some(min)) => min,
        (None, None) => {
            let message = "expected --min PERCENT, or --cost RUN".to_owned();
            return Err(Failure::new(Exit::Usage, message));
        }
    };
    let bar = Bar {
        min: percent("--min", min)?,
        per_family: args
            .per_family
            .map(|bar| percent("--per-family", bar))
            .transpose()?,
    };
    if let Some(record) = super::models::read(&args.run)? {
        return super::models::gate(&record, args, bar.min);
    }
    let stored = records::read(&args.run)?;
    let base = args.against.as_deref().map(records::read).transpose()?;
    let (gated, blocks) = judge(&stored, &args.backend, bar, base.as_ref())?;
    let text = || {
        let first = blocks.iter().find_map(|block| block.cases.first());
        let next = first.map(|(case, result)| next::explain(&stored.run, case, gated.info, result, None));
        page(&gated, &stored.path, bar.min, &blocks) + &next.unwrap_or_default()
    };
    args.page
        .put(text, || figures(&gated, &stored.path, bar, &blocks))?;
    Ok(if blocks.is_empty() { Exit::Ok } else { Exit::Failed })
}

/// A bar that something can reach and something can miss.
pub(super) fn percent(option: &str, value: f64) -> Result<f64, Failure> {
    if value > 0.0 && value <= 100.0 {
        return Ok(value);
    }
    let message = format!("{option} {value} is not a percentage above 0 and at most 100, e.g. 99.5");
    Err(Failure::new(Exit::Usage, message))
}

/// The judgement, with every case that shows a reason for blocking.
fn figures(gated: &Gated<'_>, path: &str, bar: Bar, blocks: &[Block<'_>]) -> Value {
    let score = |score: Score| {
        json!({
            "agreed": score.agreed,
            "executed": score.executed,
            "known": score.known,
            "by_fallback": score.by_fallback,
            "failing": score.failing,
            "not_run": score.not_run,
        })
    };
    let families = gated.families();
    let families = families.iter().map(|(family, part)| {
        let part = score(part.score());
        ((*family).to_owned(), part)
    });
    let block = |block: &Block<'_>| {
        let cases = block.cases.iter().map(
            |(case, result)| json!({ "id": case.id, "verdict": result.verdict.name(), "note": result.note }),
        );
        json!({ "reason": block.reason, "cases": cases.collect::<Vec<_>>() })
    };
    json!({
        "run": path,
        "backend": gated.info.backend,
        "min": bar.min,
        "per_family": bar.per_family,
        "passes": blocks.is_empty(),
        "score": score(gated.score()),
        "families": families.collect::<Map<_, _>>(),
        "blocked": blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

fn page(gated: &Gated<'_>, path: &str, min: f64, blocks: &[Block<'_>]) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_page(&mut page, gated, path, min, blocks);
    page
}

fn write_page(
    page: &mut String,
    gated: &Gated<'_>,
    path: &str,
    min: f64,
    blocks: &[Block<'_>],
) -> std::fmt::Result {
    writeln!(
        page,
        "{}: {} on {}{}",
        path,
        gated.info.backend,
        describe(gated.info),
        left_out_text(gated.run)
    )?;
    let mut rows = vec![row("all families", gated.score())];
    rows.extend(
        gated
            .families()
            .iter()
            .map(|(family, part)| row(family, part.score())),
    );
    page.push_str(&columns("  ", &rows));
    if let Some(shared) = Shared::of(gated.run, gated.column) {
        writeln!(page, "  {shared}")?;
    }
    if blocks.is_empty() {
        return writeln!(
            page,
            "PASS: {} >= {min} %\n\n{SCORE_DEFINITION}",
            share(gated.score())
        );
    }
    for block in blocks {
        writeln!(page, "\nBLOCKED, {}", block.reason)?;
        for (case, result) in block.cases.iter().take(SHOWN) {
            writeln!(page, "  {}: {}", result.verdict.name(), case.id)?;
            if let Some(note) = result.note.as_deref().and_then(|note| note.lines().next()) {
                writeln!(page, "    {note}")?;
            }
            writeln!(
                page,
                "    again: {}",
                repro(gated.run, &case.id, &gated.info.backend)
            )?;
        }
        if let Some(more @ 1..) = block.cases.len().checked_sub(SHOWN) {
            writeln!(page, "  and {more} more")?;
        }
    }
    writeln!(page, "\n{SCORE_DEFINITION}")
}

fn row(what: &str, score: Score) -> Vec<String> {
    let mut row = vec![
        what.to_owned(),
        format!("{}/{}", score.agreed, score.executed),
        share(score),
    ];
    let apart = [
        (score.known, "known-failure"),
        (score.by_fallback, "by CPU fallback"),
        (score.not_run, "not-run"),
        (score.failing, "failing"),
    ];
    let apart = apart.iter().filter(|(count, _)| *count > 0);
    row.push(
        apart
            .map(|(count, what)| format!("{count} {what}"))
            .collect::<Vec<_>>()
            .join(", "),
    );
    row
}
