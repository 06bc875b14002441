//! What cases run on: workers of the engine, or for tests whatever else answers.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use parity_exec::Stop;
use parity_model::{Case, Verdict, findings::Findings};

use crate::{
    column::Column,
    error::Error,
    journal::Book,
    run::{Event, Plan, Session},
    settings::Settings,
    shrink::{NEVER_RAN, how},
};

/// What became of a case on one backend, before findings are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The judgement.
    pub verdict: Verdict,
    /// What the execution came to, in words: a smaller case has to fail so, too.
    pub how: &'static str,
    /// Why, in a line, for anything but a pass.
    pub note: Option<String>,
}

/// Something that runs and judges cases.
pub trait Bench {
    /// The columns, the reference first.
    fn backends(&self) -> Vec<String>;

    /// What became of each case on every column; `None` where the run was stopped before its end.
    ///
    /// # Errors
    /// A backend is not available.
    fn run(&mut self, cases: &[Case]) -> Result<Option<Vec<Vec<Seen>>>, Error>;
}

/// Worker processes of the engine: what dies costs one case.
pub struct Workers {
    settings: Settings,
    plan: Plan,
    stop: Stop,
}

impl Workers {
    /// Workers for the columns of `settings`, whose selection is not looked at.
    pub fn new(settings: Settings, stop: &Stop) -> Workers {
        Workers {
            settings,
            plan: Plan::of(vec![]),
            stop: stop.clone(),
        }
    }
}

impl Bench for Workers {
    fn backends(&self) -> Vec<String> {
        self.settings
            .columns
            .iter()
            .map(|column| Column::name(column).to_owned())
            .collect()
    }

    fn run(&mut self, cases: &[Case]) -> Result<Option<Vec<Vec<Seen>>>, Error> {
        if cases.is_empty() {
            return Ok(Some(vec![]));
        }
        // Findings are looked at later: what a verdict is called must not depend on them.
        debug_assert_eq!(self.plan.findings, Findings::default());
        self.plan.cases = cases.to_vec();
        let columns = self.settings.columns.len();
        let ways = Mutex::new(BTreeMap::new());
        let session = Session {
            book: Book::None,
            stop: self.stop.clone(),
        };
        let finished = self.plan.run(&self.settings, session, |event| {
            if let Event::Judged {
                prepared, executions, ..
            } = event
            {
                let each: Vec<_> = executions
                    .iter()
                    .map(|execution| how(&execution.outcome))
                    .collect();
                let mut ways = ways.lock().unwrap_or_else(PoisonError::into_inner);
                ways.insert(prepared.id.clone(), each);
            }
        })?;
        if finished.missing > 0 {
            return Ok(None);
        }
        let ways = ways.into_inner().unwrap_or_else(PoisonError::into_inner);
        let seen = cases.iter().zip(finished.record.cases).map(|(case, record)| {
            let ways = ways.get(&case.id());
            let one = |(column, result): (usize, parity_model::record::CaseResult)| Seen {
                verdict: result.verdict,
                how: ways
                    .and_then(|ways| ways.get(column))
                    .copied()
                    .unwrap_or(NEVER_RAN),
                note: result.note,
            };
            record
                .results
                .into_iter()
                .take(columns)
                .enumerate()
                .map(one)
                .collect()
        });
        Ok(Some(seen.collect()))
    }
}
