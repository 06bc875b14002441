//! `parity shrink`: from a failing case to the smallest one that fails in the same way, with a test that needs no parity.

use std::path::Path;

use parity_model::Case;
use parity_run::shrink::{Shrinker, pin, rust_test};

use super::explain;
use crate::{
    args::ShrinkArgs,
    exit::{Exit, Failure},
    next,
    output::{print, write},
    settings::settings,
};

pub(crate) fn shrink(args: ShrinkArgs) -> Result<Exit, Failure> {
    let selection = explain::one_case(&args.case, args.specs.spec_dir)?;
    let (mut shrinker, start) = Shrinker::new(settings(args.how, selection, None)?)?;
    let name = shrinker.device().name().to_owned();
    let mode = match shrinker.failure_mode(&start)? {
        Ok(mode) => mode,
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
    let id = start.id();
    print(&format!(
        "{mode} on {name}\n\n {:>5}  case\n {:>5}  {id}\n",
        "runs", 1
    ))?;
    let step = |case: &Case, runs: usize| print(&format!(" {:>5}  {}\n", runs + 1, case.id()));
    let found = shrinker.smallest(start, &mode, args.runs.saturating_sub(1), step)?;
    let end = match found.exhausted {
        true => "no smaller neighbour fails in the same way",
        false => "--runs are used up; more may find a smaller case",
    };
    let settings = shrinker.settings().clone();
    let (page, _) = explain::pages(&settings, shrinker.plan_of(&found.case))?;
    print(&format!(" {:>5}  {end}\n\n{page}", found.runs + 1))?;
    put_test(&found.case, &shrinker, args.out.as_deref())?;
    if let Some(file) = &args.pin {
        let why = format!("Found by `parity shrink`: {mode} on {name}.");
        put_pin(&found.case, file, &why, shrinker.all())?;
    }
    print(&next::after_shrink(&found.case, &settings, args.pin.is_some()))?;
    Ok(Exit::Ok)
}

/// Prints the test, or writes it to the file that was asked for.
fn put_test(case: &Case, shrinker: &Shrinker, file: Option<&Path>) -> Result<(), Failure> {
    match (file, rust_test(case, shrinker.settings().seed, shrinker.device())) {
        (None, Ok(test)) => print(&format!("\nAs a test:\n\n{test}")),
        (Some(file), Ok(test)) => {
            write(file, &test)?;
            print(&format!("\ntest written to {}\n", file.display()))
        }
        // The case was found all the same.
        (None, Err(error)) => print(&format!("\nno test: {error}\n")),
        (Some(_), Err(error)) => Err(error.into()),
    }
}

/// Appends the case to a spec, unless the specs have it.
fn put_pin(case: &Case, file: &Path, why: &str, all: &[Case]) -> Result<(), Failure> {
    if all.iter().any(|other| other.id() == case.id()) {
        return print(&format!("\nnot pinned: the specs have {} already\n", case.id()));
    }
    pin(case, file, why)?;
    print(&format!("\npinned in {}\n", file.display()))
}
