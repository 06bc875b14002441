//! `parity gate`: passes or blocks by the parity score of one backend in a stored run.

use std::fmt::Write;

use parity_model::record::{BackendInfo, CaseRecord, CaseResult, RunRecord};
use parity_report::{SCORE_DEFINITION, Score, Shared, agrees, left_out_text, repro, text::describe};

use crate::{
    args::GateArgs,
    changes::{Change, Measure, changes},
    columns::columns,
    exit::{Exit, Failure},
    next,
    output::print,
    records::{self, Stored},
};

/// Failing cases that a reason for blocking spells out: with a few reasons it all stays on one screen.
const SHOWN: usize = 5;

pub(crate) fn gate(args: &GateArgs) -> Result<Exit, Failure> {
    let min = percent("--min", args.min)?;
    let per_family = args
        .per_family
        .map(|bar| percent("--per-family", bar))
        .transpose()?;
    let stored = records::read(&args.record)?;
    let base = args.no_new_failures.as_deref().map(records::read).transpose()?;
    if let Some(base) = &base {
        records::same_inputs(base, &stored)?;
    }
    let column = Column::of(&stored, &args.backend)?;
    if let Some(base) = &base {
        Column::of(base, &args.backend)?;
    }
    let mut blocks = column.blocks(min, per_family);
    if let Some(base) = &base {
        blocks.extend(column.new_failures(base));
    }
    print(&column.page(&stored, min, &blocks))?;
    if let Some((case, result)) = blocks.iter().find_map(|block| block.cases.first()) {
        print(&next::explain(&stored.run, case, column.info, result, None))?;
    }
    Ok(if blocks.is_empty() { Exit::Ok } else { Exit::Failed })
}

/// A bar that something can reach and something can miss.
pub(super) fn percent(option: &str, value: f64) -> Result<f64, Failure> {
    if value > 0.0 && value <= 100.0 {
        return Ok(value);
    }
    let message =
        format!("{option} {value} is no bar: expected a percentage above 0 and at most 100, e.g. 99.5");
    Err(Failure::new(Exit::Usage, message))
}

/// One backend's results.
struct Column<'a> {
    run: &'a RunRecord,
    /// Its place among the run's backends.
    column: usize,
    info: &'a BackendInfo,
    results: Vec<(&'a CaseRecord, &'a CaseResult)>,
}

/// A reason for blocking, and cases that show it.
struct Block<'a> {
    reason: String,
    cases: Vec<(&'a CaseRecord, &'a CaseResult)>,
}

impl<'a> Column<'a> {
    fn of(stored: &'a Stored, backend: &str) -> Result<Column<'a>, Failure> {
        let Stored { path, run } = stored;
        if let Some(shard) = &run.shard {
            let (index, of) = (shard.index, shard.of);
            let message = format!(
                "{path} is shard {index}/{of}, a part of a run; merge the parts first: `parity merge SHARDS.. --out FILE`"
            );
            return Err(Failure::new(Exit::BadData, message));
        }
        let column = stored.column(backend)?;
        let result = |case: &'a CaseRecord| Some((case, case.results.get(column)?));
        Ok(Column {
            run,
            column,
            info: &run.backends[column],
            results: run.cases.iter().filter_map(result).collect(),
        })
    }

    fn score(&self) -> Score {
        Score::of(self.results.iter().map(|(_, result)| *result))
    }

    /// Every family with its results, in the order of the plan.
    fn families(&self) -> Vec<(&'a str, Column<'a>)> {
        let mut families: Vec<(&str, Column<'_>)> = Vec::new();
        for &(case, result) in &self.results {
            let place = families.iter().position(|(family, _)| *family == case.family);
            let place = place.unwrap_or_else(|| {
                let empty = Column {
                    results: vec![],
                    ..*self
                };
                families.push((&case.family, empty));
                families.len() - 1
            });
            families[place].1.results.push((case, result));
        }
        families
    }

    /// Every reason for blocking that the record alone gives.
    fn blocks(&self, min: f64, per_family: Option<f64>) -> Vec<Block<'a>> {
        let mut blocks = Vec::new();
        let score = self.score();
        if score.executed > 0 && score.not_run > 0 {
            let not_run = self
                .results
                .iter()
                .filter(|(_, result)| result.verdict == NOT_RUN);
            blocks.push(Block {
                reason: format!(
                    "{} of {} planned cases were never executed, and what did not run is no evidence",
                    score.not_run,
                    self.results.len()
                ),
                cases: not_run.copied().collect(),
            });
        }
        blocks.extend(self.short_of(min, "all families"));
        if let Some(bar) = per_family {
            blocks.extend(
                self.families()
                    .iter()
                    .filter_map(|(family, part)| part.short_of(bar, family)),
            );
        }
        blocks
    }

    /// The reason for blocking if fewer than `bar` percent agree.
    fn short_of(&self, bar: f64, what: &str) -> Option<Block<'a>> {
        let score = self.score();
        if score.executed == 0 {
            return Some(Block {
                reason: format!("{what}: nothing was executed, which is never a pass"),
                cases: vec![],
            });
        }
        let (agreed, executed) = (score.agreed, score.executed);
        if agreed as f64 * 100.0 >= bar * executed as f64 {
            return None;
        }
        let lacking = self
            .results
            .iter()
            .filter(|(_, result)| !counts(result) && result.verdict != NOT_RUN);
        // Failures come first: a known failure has its reason in the list already.
        let (mut cases, known): (Vec<_>, Vec<_>) = lacking
            .copied()
            .partition(|(_, result)| result.verdict.fails_run());
        cases.extend(known);
        Some(Block {
            reason: format!(
                "{what}: {} < {bar} %: {} of {executed} executed do not agree",
                share(score),
                executed - agreed
            ),
            cases,
        })
    }

    /// The reason for blocking if cases fail here that do not fail in `base`.
    fn new_failures(&self, base: &'a Stored) -> Option<Block<'a>> {
        let found = changes(&base.run, self.run, Measure::All);
        let ours = |change: &&Change<'_>| change.backend == self.info.backend && change.is_new_failure();
        let ids: std::collections::BTreeSet<&str> = found
            .list
            .iter()
            .filter(ours)
            .map(|change| change.case.id.as_str())
            .collect();
        let new = self
            .results
            .iter()
            .filter(|(case, _)| ids.contains(case.id.as_str()));
        let cases: Vec<_> = new.copied().collect();
        (!cases.is_empty()).then(|| Block {
            reason: format!("new failures, which {} does not have: {}", base.path, cases.len()),
            cases,
        })
    }

    fn page(&self, stored: &Stored, min: f64, blocks: &[Block<'_>]) -> String {
        let mut page = String::new();
        // Writing to a `String` does not fail.
        let _ = self.write_page(&mut page, stored, min, blocks);
        page
    }

    fn write_page(
        &self,
        page: &mut String,
        stored: &Stored,
        min: f64,
        blocks: &[Block<'_>],
    ) -> std::fmt::Result {
        writeln!(
            page,
            "{}: {} on {}{}",
            stored.path,
            self.info.backend,
            describe(self.info),
            left_out_text(self.run)
        )?;
        let mut rows = vec![row("all families", self.score())];
        rows.extend(
            self.families()
                .iter()
                .map(|(family, part)| row(family, part.score())),
        );
        page.push_str(&columns("  ", &rows));
        if let Some(shared) = Shared::of(self.run, self.column) {
            writeln!(page, "  {shared}")?;
        }
        if blocks.is_empty() {
            return writeln!(
                page,
                "PASS: {} >= {min} %\n\n{SCORE_DEFINITION}",
                share(self.score())
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
                    repro(self.run, &case.id, &self.info.backend)
                )?;
            }
            if let Some(more @ 1..) = block.cases.len().checked_sub(SHOWN) {
                writeln!(page, "  and {more} more")?;
            }
        }
        writeln!(page, "\n{SCORE_DEFINITION}")
    }
}

const NOT_RUN: parity_model::Verdict = parity_model::Verdict::NotRun;

/// Whether a result counts as agreement, as in [`Score`].
fn counts(result: &CaseResult) -> bool {
    agrees(result.verdict) && result.fallbacks.is_empty()
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

/// `99.76 %`, rounded down, so that a bar that was missed never reads as reached.
fn share(score: Score) -> String {
    if score.executed == 0 {
        return "nothing executed".to_owned();
    }
    let parts = score.agreed * 10_000 / score.executed;
    format!("{}.{:02} %", parts / 100, parts % 100)
}
