//! Whether the results of one backend in a stored run are good enough: its parity score, by family too, and what fails
//! that an earlier run has not.

use parity_model::{
    Verdict,
    record::{BackendInfo, CaseRecord, CaseResult, RunRecord},
};
use parity_report::{Score, agrees};

use crate::{
    changes::{Change, Measure, changes},
    error::Error,
    records::{Stored, same_inputs},
};

/// What a backend's results are held to.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Percent of the executed results that must agree.
    pub min: f64,
    /// Percent that must agree in every family by itself.
    pub per_family: Option<f64>,
}

/// A reason for blocking, and cases that show it.
pub struct Block<'a> {
    /// In words.
    pub reason: String,
    /// The worst first.
    pub cases: Vec<(&'a CaseRecord, &'a CaseResult)>,
}

/// The results of the backend, and every reason to block them; `base` is an earlier run, of which every failure may stay.
///
/// # Errors
/// A run without such a backend, a part of a run, or runs of different inputs.
pub fn gate<'a>(
    stored: &'a Stored,
    backend: &str,
    bar: Bar,
    base: Option<&'a Stored>,
) -> Result<(Gated<'a>, Vec<Block<'a>>), Error> {
    if let Some(base) = base {
        same_inputs(base, stored)?;
    }
    let gated = Gated::of(stored, backend)?;
    let mut blocks = gated.blocks(bar);
    if let Some(base) = base {
        Gated::of(base, backend)?;
        blocks.extend(gated.new_failures(base));
    }
    Ok((gated, blocks))
}

/// One backend's results.
pub struct Gated<'a> {
    /// Its run.
    pub run: &'a RunRecord,
    /// Its place among the run's backends.
    pub column: usize,
    /// The backend.
    pub info: &'a BackendInfo,
    /// With their cases, in the order of the plan.
    pub results: Vec<(&'a CaseRecord, &'a CaseResult)>,
}

impl<'a> Gated<'a> {
    fn of(stored: &'a Stored, backend: &str) -> Result<Gated<'a>, Error> {
        let Stored { path, run } = stored;
        if let Some(shard) = &run.shard {
            let (index, of) = (shard.index, shard.of);
            return Err(Error::Data(format!(
                "{path} is shard {index}/{of}, a part of a run; merge the parts first: `parity merge SHARDS.. --out FILE`"
            )));
        }
        let column = stored.column(backend)?;
        let result = |case: &'a CaseRecord| Some((case, case.results.get(column)?));
        Ok(Gated {
            run,
            column,
            info: &run.backends[column],
            results: run.cases.iter().filter_map(result).collect(),
        })
    }

    /// How many agree.
    pub fn score(&self) -> Score {
        Score::of(self.results.iter().map(|(_, result)| *result))
    }

    /// Every family with its results, in the order of the plan.
    pub fn families(&self) -> Vec<(&'a str, Gated<'a>)> {
        let mut families: Vec<(&str, Gated<'_>)> = Vec::new();
        for &(case, result) in &self.results {
            let place = families.iter().position(|(family, _)| *family == case.family);
            let place = place.unwrap_or_else(|| {
                let empty = Gated {
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
    fn blocks(&self, bar: Bar) -> Vec<Block<'a>> {
        let mut blocks = Vec::new();
        let score = self.score();
        if score.executed > 0 && score.not_run > 0 {
            let not_run = self
                .results
                .iter()
                .filter(|(_, result)| result.verdict == Verdict::NotRun);
            blocks.push(Block {
                reason: format!(
                    "{} of {} planned cases were never executed, and a case that did not run shows nothing",
                    score.not_run,
                    self.results.len()
                ),
                cases: not_run.copied().collect(),
            });
        }
        blocks.extend(self.short_of(bar.min, "all families"));
        if let Some(bar) = bar.per_family {
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
            .filter(|(_, result)| !counts(result) && result.verdict != Verdict::NotRun);
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
}

/// Whether a result counts as agreement, as in [`Score`].
fn counts(result: &CaseResult) -> bool {
    agrees(result.verdict) && result.fallbacks.is_empty()
}

/// `99.76 %`, rounded down, so that a bar that was missed never reads as reached.
pub fn share(score: Score) -> String {
    if score.executed == 0 {
        return "nothing executed".to_owned();
    }
    let parts = score.agreed * 10_000 / score.executed;
    format!("{}.{:02} %", parts / 100, parts % 100)
}
