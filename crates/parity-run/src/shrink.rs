//! From a failing case to the smallest one that fails in the same way, with a test that needs no parity, and a spec of its
//! own.

mod candidates;
mod pin;
mod rust_test;
mod search;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use parity_exec::BackendDevice;
use parity_model::{Case, Outcome, Refusal, Verdict, findings::Findings};

pub(crate) use candidates::size;
pub use pin::pin;
pub use rust_test::rust_test;
pub(crate) use search::Search;
pub use search::Smallest;

use crate::{
    error::Error,
    run::{Event, Plan, Session},
    settings::Settings,
};

/// How a case fails: a smaller one that fails otherwise is another bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureMode {
    verdict: Verdict,
    how: &'static str,
}

impl std::fmt::Display for FailureMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.verdict.name(), self.how)
    }
}

/// What an execution came to, in words.
pub(crate) fn how(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Ran(_) => "a value came back",
        Outcome::Refused { refusal, .. } => match refusal {
            Refusal::Unsupported => "unsupported",
            Refusal::Invalid => "refused as invalid",
            Refusal::Panic => "panicked",
            Refusal::DeviceFault => "device fault",
            Refusal::Other => "failed with an error",
        },
        Outcome::Crashed { .. } => "the worker died",
        Outcome::TimedOut { .. } => "no answer in time",
        Outcome::Missing { .. } => NEVER_RAN,
    }
}

pub(crate) const NEVER_RAN: &str = "never ran";

/// Runs cases on one backend and on the reference. Known failures fail here: they are what is shrunk.
pub struct Shrinker {
    settings: Settings,
    plan: Plan,
    /// The backend's place among the columns.
    column: usize,
}

impl Shrinker {
    /// A shrinker on the one backend of `settings` that is not the reference, or on the reference alone; and the case that
    /// the settings select, of several the last.
    ///
    /// # Errors
    /// Several backends, and specs that cannot be read or are wrong.
    pub fn new(settings: Settings) -> Result<(Shrinker, Case), Error> {
        let column = settings.columns.len().saturating_sub(1);
        if column > 1 {
            let words = "a case is shrunk on one backend besides the reference: name one with --backend";
            return Err(Error::settings(words));
        }
        let mut plan = Plan::load(&settings)?;
        plan.findings = Findings::default();
        let case = plan
            .cases
            .pop()
            .ok_or_else(|| Error::Nothing("no case was selected".to_owned()))?;
        let shrinker = Shrinker {
            settings,
            plan,
            column,
        };
        Ok((shrinker, case))
    }

    /// What it runs by.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The device that a case has to fail on.
    pub fn device(&self) -> &BackendDevice {
        &self.settings.columns[self.column].device
    }

    /// Every case of the specs.
    pub fn all(&self) -> &[Case] {
        &self.plan.all
    }

    /// The plan of one case.
    pub fn plan_of(&mut self, case: &Case) -> &Plan {
        self.plan.cases = vec![case.clone()];
        &self.plan
    }

    /// How a case fails; its verdict where it does not.
    ///
    /// # Errors
    /// The backend is not available.
    pub fn failure_mode(&mut self, case: &Case) -> Result<Result<FailureMode, Verdict>, Error> {
        Ok(self.failure_modes(std::slice::from_ref(case))?.remove(0))
    }

    /// Searches from `start`, which fails as `mode` says, for the smallest case that does; tries at most `budget` cases.
    /// `step` sees every smaller one on the way, with the number of cases tried until then.
    ///
    /// # Errors
    /// The backend is not available, or what `step` gives.
    pub fn smallest<E: From<Error>>(
        &mut self,
        start: Case,
        mode: &FailureMode,
        budget: usize,
        step: impl FnMut(&Case, usize) -> Result<(), E>,
    ) -> Result<Smallest, E> {
        let fails = |cases: &[Case]| {
            let modes = self.failure_modes(cases)?;
            Ok(modes.iter().map(|found| found.as_ref() == Ok(mode)).collect())
        };
        search::smallest(start, budget, fails, step)
    }

    fn failure_modes(&mut self, cases: &[Case]) -> Result<Vec<Result<FailureMode, Verdict>>, Error> {
        self.plan.cases = cases.to_vec();
        let column = self.column;
        let seen = Mutex::new(BTreeMap::new());
        let finished = self.plan.run(&self.settings, Session::default(), |event| {
            if let Event::Judged {
                prepared, executions, ..
            } = event
            {
                let how = executions
                    .get(column)
                    .map_or(NEVER_RAN, |execution| how(&execution.outcome));
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.insert(prepared.id.clone(), how);
            }
        })?;
        let seen = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let modes = cases.iter().zip(&finished.record.cases).map(|(case, record)| {
            let result = record.results.get(column);
            let verdict = result.map_or(Verdict::NotRun, |result| result.verdict);
            let how = seen.get(&case.id()).copied().unwrap_or(NEVER_RAN);
            match verdict.fails_run() {
                true => Ok(FailureMode { verdict, how }),
                false => Err(verdict),
            }
        });
        Ok(modes.collect())
    }
}
