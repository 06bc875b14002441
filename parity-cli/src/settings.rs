//! The command line, checked and completed: words looked up, defaults filled in; and settings as a command line again. What clap made
//! of a line are the structs of `args`, and the engine has none of them.

use std::{
    env,
    fmt::Display,
    io::{self, IsTerminal},
    time::Duration,
};

use parity_run::{Column, Criteria, Selection, Settings, Which, names, quoted};
use regex::Regex;

use crate::{
    args::{ColorChoice, HowArgs, OutputArgs, OutputFormat, SelectArgs, word},
    exit::{Exit, Failure},
    output::{Form, Sink},
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
        spec_dir: args.specs.spec_dir,
        which,
    })
}

fn criteria(args: &SelectArgs) -> Result<Criteria, Failure> {
    let default = Criteria::default();
    let regex = args.regex.as_deref().map(Regex::new).transpose();
    Ok(Criteria {
        ops: each(&args.ops, names::ops)?,
        dtypes: each(&args.dtypes, names::dtype)?,
        layouts: each(&args.layouts, names::layout)?,
        tier: args.tier.as_deref().map_or(Ok(default.tier), names::tier)?,
        tags: args.tags.clone(),
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

/// The first option that selects cases otherwise than by an id.
fn other_selection(args: &SelectArgs) -> Option<&'static str> {
    let options = [
        ("--ops", !args.ops.is_empty()),
        ("--dtypes", !args.dtypes.is_empty()),
        ("--layouts", !args.layouts.is_empty()),
        ("--tags", !args.tags.is_empty()),
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
        findings: args.findings,
        ..default
    })
}

/// Where a report goes, and in which form.
pub(crate) fn sink(args: OutputArgs) -> Sink {
    let mut options = String::new();
    put(&mut options, "format", word(&args.format));
    put(&mut options, "color", word(&args.color));
    args.width
        .iter()
        .for_each(|width| put(&mut options, "width", width));
    args.out
        .iter()
        .for_each(|file| put(&mut options, "out", file.display()));
    let terminal = args.out.is_none() && io::stdout().is_terminal();
    let color = match args.color {
        ColorChoice::Auto => terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        ColorChoice::Always => true,
        ColorChoice::Never => false,
    };
    let form = match args.format {
        OutputFormat::Text => Form::Text(args.width, color),
        OutputFormat::Json => Form::Json,
        OutputFormat::Markdown => Form::Markdown,
        OutputFormat::Csv => Form::Csv,
        OutputFormat::Junit => Form::Junit,
        OutputFormat::Html => Form::Html,
        OutputFormat::Github => Form::Github,
    };
    Sink {
        form,
        file: args.out,
        options,
    }
}

/// The options that give these settings, each after a space and quoted for a shell; those at their defaults are left out.
pub(crate) fn options(settings: &Settings) -> String {
    let default = Settings::default();
    let mut line = selection_options(&settings.selection);
    if settings.columns != default.columns {
        // A command may hold commas, so that each word has an option of its own.
        settings
            .columns
            .iter()
            .for_each(|column| put(&mut line, "backend", column));
    }
    if settings.jobs != default.jobs {
        put(&mut line, "jobs", settings.jobs);
    }
    if settings.case_limit != default.case_limit {
        put(&mut line, "timeout", settings.case_limit.as_secs_f64());
    }
    if let Some(bytes) = settings.memory_limit {
        put(&mut line, "memory-limit", format!("{bytes}B"));
    }
    if let Some(dir) = &settings.findings {
        put(&mut line, "findings", dir.display());
    }
    if settings.recorded_only {
        line.push_str(" --recorded-only");
    }
    for arg in settings.repro_args() {
        line.push(' ');
        line.push_str(&arg);
    }
    line
}

fn selection_options(selection: &Selection) -> String {
    let mut line = String::new();
    match &selection.which {
        Which::Ids(ids) => ids.iter().for_each(|id| put(&mut line, "case", id)),
        Which::Matching(criteria) => {
            for (option, words) in [
                ("ops", list(&criteria.ops)),
                ("dtypes", list(&criteria.dtypes)),
                ("layouts", list(&criteria.layouts)),
                ("tags", list(&criteria.tags)),
            ] {
                if !words.is_empty() {
                    put(&mut line, option, words);
                }
            }
            if criteria.tier != Criteria::default().tier {
                put(&mut line, "tier", criteria.tier);
            }
            criteria
                .globs
                .iter()
                .for_each(|glob| put(&mut line, "case", glob));
            criteria
                .regex
                .iter()
                .for_each(|regex| put(&mut line, "regex", regex));
        }
    }
    line
}

fn list<T: Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

/// Appends an option with its value.
pub(crate) fn put(line: &mut String, option: &str, value: impl Display) {
    line.push_str(&format!(" --{option} {}", quoted(&value.to_string())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    /// The settings that a command line of `parity run` gives.
    fn parsed(line: &[String]) -> Settings {
        let words = ["parity", "run"]
            .into_iter()
            .chain(line.iter().map(String::as_str));
        let Ok(Command::Run(args)) = Command::of_line(words.map(Into::into)) else {
            panic!("`parity run` has no line {line:?}")
        };
        let settings = settings(args.how, selection(args.select).unwrap(), args.jobs).unwrap();
        Settings {
            against: args.against,
            recorded_only: args.recorded_only,
            ..settings
        }
    }

    #[test]
    fn the_options_of_settings_give_these_settings_again() {
        for line in [
            "",
            "--ops unary,add --dtypes f16 --layouts transposed --tags pinned --tier full --regex x",
            "--case unary/*:nan --backend cpu,rocm:gfx942,cuda=exec:a,b --seed 7 --jobs 3 --timeout 0.5 --spec-dir specs",
            "--case unary/exp:f32:[2,3]:contiguous:uniform(-1,1) --backend cpu=exec:x",
            "--no-fallback --deterministic --memory-limit 2GiB --findings k --against card --recorded-only",
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let settings = parsed(&words);
            let again = options(&settings);
            // None of these words holds a blank, so that quotes are all there is to undo.
            let words: Vec<String> = again
                .split_whitespace()
                .map(|word| word.replace('\'', ""))
                .collect();
            assert_eq!(options(&parsed(&words)), again, "{line}");
            let unquoted = words.join(" ");
            let given = line.split(" --").filter(|option| !option.is_empty()).count();
            assert!(
                given == 0 || unquoted.matches("--").count() >= given,
                "{line}: {unquoted}"
            );
        }
        assert_eq!(options(&Settings::default()), "");
    }
}
