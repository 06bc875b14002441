//! `parity shrink`: from a failing case to the smallest one that fails in the same way, with a test that needs no parity.

mod candidates;
mod pin;
mod rust_test;
mod search;

use std::{collections::BTreeMap, mem, path::Path, sync::Mutex, sync::PoisonError};

use parity_exec::{Backend, Execution};
use parity_model::{Case, Outcome, Refusal, Verdict, known::KnownFailures};

use super::{
    explain,
    run::{Plan, execute},
};
use crate::{
    args::ShrinkArgs,
    exit::{Exit, Failure},
    next,
    output::{print, write},
    settings::{RunSettings, Selection, Which},
};

pub(crate) fn shrink(args: ShrinkArgs) -> Result<Exit, Failure> {
    let ShrinkArgs {
        case,
        how,
        runs,
        pin,
        test,
        spec_dir,
    } = args;
    let selection = Selection {
        spec_dir,
        which: Which::Ids(vec![explain::case_id(&case)?]),
    };
    let mut bench = Bench::new(RunSettings::resolve(how, selection, None)?)?;
    let (backend, start) = (bench.backend, bench.start()?);
    let name = backend.name();
    let class = match bench.classes(std::slice::from_ref(&start))?.remove(0) {
        Ok(class) => class,
        Err(verdict) => {
            let message = format!(
                "{} does not fail on {name}: {}; `parity run --ops {} --backend {name}` shows cases that do",
                start.id(),
                verdict.name(),
                start.op
            );
            return Err(Failure::new(Exit::NothingMatched, message));
        }
    };
    print(&format!(
        "{class} on {name}\n\n {:>5}  case\n {:>5}  {}\n",
        "runs",
        1,
        start.id()
    ))?;
    let fails = |cases: &[Case]| {
        let classes = bench.classes(cases)?;
        Ok(classes.iter().map(|found| found.as_ref() == Ok(&class)).collect())
    };
    let step = |case: &Case, runs: usize| print(&format!(" {:>5}  {}\n", runs + 1, case.id()));
    let found = search::smallest(start, runs.saturating_sub(1), fails, step)?;
    let end = match found.exhausted {
        true => "no smaller neighbour fails in the same way",
        false => "--runs are used up; more may find a smaller case",
    };
    print(&format!(
        " {:>5}  {end}\n\n{}",
        found.runs + 1,
        bench.page(&found.case)?
    ))?;
    put_test(&found.case, bench.settings.seed, backend, test.as_deref())?;
    if let Some(file) = &pin {
        let why = format!("Found by `parity shrink`: {class} on {name}.");
        put_pin(&found.case, file, &why, &bench)?;
    }
    print(&next::after_shrink(
        &found.case,
        &bench.settings,
        &bench.settings.stations[bench.column].info(),
        pin.is_some(),
    ))?;
    Ok(Exit::Ok)
}

/// Prints the test, or writes it to the file that was asked for.
fn put_test(case: &Case, seed: u64, backend: Backend, file: Option<&Path>) -> Result<(), Failure> {
    match (file, rust_test::render(case, seed, backend)) {
        (None, Ok(test)) => print(&format!("\nAs a test:\n\n{test}")),
        (Some(file), Ok(test)) => {
            write(file, &test)?;
            print(&format!("\ntest written to {}\n", file.display()))
        }
        // The case was found all the same.
        (None, Err(failure)) => print(&format!("\nno test: {}\n", failure.message)),
        (Some(_), Err(failure)) => Err(failure),
    }
}

/// Appends the case to a spec, unless the specs have it.
fn put_pin(case: &Case, file: &Path, why: &str, bench: &Bench) -> Result<(), Failure> {
    if bench.plan.all.iter().any(|other| other.id() == case.id()) {
        return print(&format!("\nnot pinned: the specs have {} already\n", case.id()));
    }
    pin::pin(case, file, why)?;
    print(&format!("\npinned in {}\n", file.display()))
}

/// How a case fails: a smaller one that fails otherwise is another bug.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Class {
    verdict: Verdict,
    how: &'static str,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.verdict.name(), self.how)
    }
}

/// What kind of outcome it was.
fn how(outcome: &Outcome) -> &'static str {
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
        Outcome::Missing { .. } => "never ran",
    }
}

/// Runs cases on the backend in question and on the reference. Known failures fail here: they are what is shrunk.
struct Bench {
    settings: RunSettings,
    plan: Plan,
    backend: Backend,
    /// Its place among the columns.
    column: usize,
}

impl Bench {
    fn new(settings: RunSettings) -> Result<Bench, Failure> {
        let column = settings.stations.len() - 1;
        if column > 1 {
            let message =
                "a case is shrunk on one backend: name one with --backend, besides which the reference runs";
            return Err(Failure::new(Exit::Usage, message));
        }
        let backend = settings.stations[column].backend;
        let mut plan = Plan::load(&settings)?;
        plan.known = KnownFailures::default();
        Ok(Bench {
            settings,
            plan,
            backend,
            column,
        })
    }

    /// The case to begin with.
    fn start(&mut self) -> Result<Case, Failure> {
        let case = mem::take(&mut self.plan.cases).pop();
        case.ok_or_else(|| Failure::new(Exit::NothingMatched, "no case was selected"))
    }

    /// How each case fails; its verdict where it does not.
    fn classes(&mut self, cases: &[Case]) -> Result<Vec<Result<Class, Verdict>>, Failure> {
        self.plan.cases = cases.to_vec();
        let outcomes = Mutex::new(BTreeMap::new());
        let record = execute(&self.settings, &self.plan, |brief, executions: &[Execution]| {
            let how = executions
                .get(self.column)
                .map_or("never ran", |execution| how(&execution.outcome));
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.insert(brief.id.clone(), how);
        })?;
        let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let class = |(case, record): (&Case, &parity_model::record::CaseRecord)| {
            let verdict = record
                .results
                .get(self.column)
                .map_or(Verdict::NotRun, |result| result.verdict);
            let how = outcomes.get(&case.id()).copied().unwrap_or("never ran");
            match verdict.fails_run() {
                true => Ok(Class { verdict, how }),
                false => Err(verdict),
            }
        };
        Ok(cases.iter().zip(&record.cases).map(class).collect())
    }

    /// The page of `parity explain`.
    fn page(&mut self, case: &Case) -> Result<String, Failure> {
        self.plan.cases = vec![case.clone()];
        Ok(explain::pages(&self.settings, &self.plan)?.0)
    }
}
