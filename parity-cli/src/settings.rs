//! The command line, checked and completed: words looked up, defaults filled in. Below here nothing knows clap.

use std::time::Duration;

use parity_run::{Column, Criteria, Selection, Settings, Which, names};
use regex::Regex;

use crate::{
    args::{HowArgs, SelectArgs},
    exit::{Exit, Failure},
    size,
};

/// Which cases of which specs.
pub(crate) fn selection(args: SelectArgs) -> Result<Selection, Failure> {
    let ids: Vec<&String> = args.case.iter().filter(|case| !case.contains('*')).collect();
    let which = match (ids.first(), other_selection(&args)) {
        (None, _) => Which::Matching(Box::new(criteria(&args)?)),
        (Some(_), None) => Selection::of_ids(&ids)?.which,
        (Some(id), Some(other)) => {
            let message = format!(
                "--case {id} cannot be used with {other}: it names one case and leaves nothing to select; a `*` in it \
                 makes it a pattern"
            );
            return Err(Failure::new(Exit::Usage, message));
        }
    };
    Ok(Selection {
        spec_dir: args.spec_dir,
        which,
    })
}

fn criteria(args: &SelectArgs) -> Result<Criteria, Failure> {
    let mut ops = Vec::new();
    for word in &args.ops {
        ops.extend(names::ops(word)?);
    }
    let default = Criteria::default();
    let regex = args.regex.as_deref().map(Regex::new).transpose();
    Ok(Criteria {
        ops,
        families: each(&args.family, names::family)?,
        dtypes: each(&args.dtype, names::dtype)?,
        layouts: each(&args.layout, names::layout)?,
        tier: args.tier.as_deref().map_or(Ok(default.tier), names::tier)?,
        tags: args.tag.clone(),
        globs: args.case.clone(),
        regex: regex.map_err(|error| bad_regex(args, &error))?,
    })
}

/// Every word looked up.
fn each<T, E>(words: &[String], look_up: impl Fn(&str) -> Result<T, E>) -> Result<Vec<T>, E> {
    words.iter().map(|word| look_up(word)).collect()
}

/// What is wrong with a regular expression, without the picture of it that precedes the words.
fn bad_regex(args: &SelectArgs, error: &regex::Error) -> Failure {
    let words = error.to_string();
    let words = words
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ");
    let regex = args.regex.as_deref().unwrap_or_default();
    Failure::new(
        Exit::Usage,
        format!("bad --regex `{regex}`: {words}; brackets of ids are written \\[ and \\]"),
    )
}

/// The first option that selects cases and is no id.
fn other_selection(args: &SelectArgs) -> Option<&'static str> {
    let options = [
        ("--ops", !args.ops.is_empty()),
        ("--family", !args.family.is_empty()),
        ("--dtype", !args.dtype.is_empty()),
        ("--layout", !args.layout.is_empty()),
        ("--tag", !args.tag.is_empty()),
        ("--tier", args.tier.is_some()),
        ("--regex", args.regex.is_some()),
        ("a pattern", args.case.iter().any(|case| case.contains('*'))),
    ];
    options
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
}

/// On what the selection runs, and how it is judged.
pub(crate) fn settings(
    args: HowArgs,
    selection: Selection,
    jobs: Option<usize>,
) -> Result<Settings, Failure> {
    let default = Settings::default();
    let limit = args.memory_limit.as_deref();
    let memory_limit = limit
        .map(|text| size::bytes("--memory-limit", text))
        .transpose()?;
    let case_limit = Duration::try_from_secs_f64(args.timeout)
        .ok()
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| Failure::new(Exit::Usage, "--timeout must be a positive number of seconds"))?;
    if jobs == Some(0) {
        return Err(Failure::new(Exit::Usage, "--jobs must be at least 1"));
    }
    Ok(Settings {
        selection,
        columns: Column::all(&args.backend)?,
        seed: args.seed,
        case_limit,
        jobs: jobs.unwrap_or(default.jobs),
        no_fallback: args.no_fallback,
        deterministic: args.deterministic,
        memory_limit,
        known: args.known,
        ..default
    })
}
