//! Counts verdicts, and insists that they add up to the plan.

use parity_model::{
    Verdict,
    record::{CaseResult, RunRecord},
};

/// How often each verdict was given on one backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    counts: [usize; Verdict::ALL.len()],
}

impl Totals {
    /// One per backend, in the record's order.
    ///
    /// # Errors
    /// When the verdicts do not add up to the plan, in words: a run that lost a case must not look complete.
    pub fn of_run(run: &RunRecord) -> Result<Vec<Totals>, String> {
        if run.cases.len() != run.planned {
            return Err(format!(
                "{} cases are planned and {} are recorded",
                run.planned,
                run.cases.len()
            ));
        }
        let columns = run.backends.len();
        if let Some(case) = run.cases.iter().find(|case| case.results.len() != columns) {
            let found = case.results.len();
            return Err(format!(
                "{} has {found} results, the run has {columns} backends",
                case.id
            ));
        }
        let column = |index: usize| Totals::of(run.cases.iter().map(move |case| &case.results[index]));
        Ok((0..columns).map(column).collect())
    }

    /// Counts the verdicts of some results.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Totals {
        let mut totals = Totals::default();
        for result in results {
            if let Some(place) = Verdict::ALL.iter().position(|verdict| *verdict == result.verdict) {
                totals.counts[place] += 1;
            }
        }
        totals
    }

    /// Every verdict that was given, with its count, in the order of [`Verdict::ALL`].
    pub fn given(&self) -> impl Iterator<Item = (Verdict, usize)> {
        Verdict::ALL
            .into_iter()
            .zip(self.counts)
            .filter(|(_, count)| *count > 0)
    }

    /// How often `verdict` was given.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.given()
            .find(|(given, _)| *given == verdict)
            .map_or(0, |(_, count)| count)
    }

    /// Results in all.
    pub fn all(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Results that came from running something.
    pub fn run(&self) -> usize {
        self.all() - self.count(Verdict::NotRun)
    }

    /// Results that make the run fail.
    pub fn failing(&self) -> usize {
        self.given()
            .filter(|(verdict, _)| verdict.fails_run())
            .map(|(_, count)| count)
            .sum()
    }
}
