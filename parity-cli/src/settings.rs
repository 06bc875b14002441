//! The command line, checked and completed: names looked up, defaults filled in. Below here nothing knows clap.

use std::{num::NonZero, path::PathBuf, thread, time::Duration};

use parity_exec::Backend;
use parity_model::{CaseId, DType, Family, Layout, Op, Tier};
use regex::Regex;

use crate::{
    args::{HowArgs, SelectArgs},
    exit::{Exit, Failure},
    names::look_up,
    place::Station,
    size,
};

/// Which cases of which specs.
#[derive(Debug)]
pub(crate) struct Selection {
    /// `None`: the nearest `op-specs`.
    pub(crate) spec_dir: Option<PathBuf>,
    pub(crate) which: Which,
}

/// Which cases.
#[derive(Debug)]
pub(crate) enum Which {
    /// These, in this order.
    Ids(Vec<CaseId>),
    /// All that match.
    Matching(Box<Criteria>),
}

/// What a case must be; an empty list asks for nothing.
#[derive(Debug)]
pub(crate) struct Criteria {
    pub(crate) ops: Vec<Op>,
    pub(crate) families: Vec<Family>,
    pub(crate) dtypes: Vec<DType>,
    pub(crate) layouts: Vec<Layout>,
    /// This tier and those before it.
    pub(crate) tier: Tier,
    /// Whether they are tags at all, the specs know.
    pub(crate) tags: Vec<String>,
    /// Patterns over ids, of which one must match.
    pub(crate) globs: Vec<String>,
    pub(crate) regex: Option<Regex>,
}

impl Selection {
    pub(crate) fn resolve(args: SelectArgs) -> Result<Selection, Failure> {
        let ids: Vec<&String> = args.case.iter().filter(|case| !case.contains('*')).collect();
        let which = if ids.is_empty() {
            Which::Matching(Box::new(Criteria::resolve(&args)?))
        } else {
            if let Some(other) = other_selection(&args) {
                let message = format!(
                    "--case {} cannot be used with {other}: it names one case and leaves nothing to select; a `*` in it \
                     makes it a pattern",
                    ids[0]
                );
                return Err(Failure::new(Exit::Usage, message));
            }
            let ids = ids
                .iter()
                .map(|id| id.parse::<CaseId>())
                .collect::<Result<_, _>>();
            Which::Ids(ids.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?)
        };
        Ok(Selection {
            spec_dir: args.spec_dir,
            which,
        })
    }
}

impl Criteria {
    /// Whether every case of the default tier is wanted.
    pub(crate) fn is_whole(&self) -> bool {
        let no_op = self.ops.is_empty() && self.families.is_empty();
        let no_form = self.dtypes.is_empty() && self.layouts.is_empty();
        let no_id = self.tags.is_empty() && self.globs.is_empty() && self.regex.is_none();
        no_op && no_form && no_id && self.tier >= Tier::Ci
    }

    fn resolve(args: &SelectArgs) -> Result<Criteria, Failure> {
        let mut ops = Vec::new();
        for word in &args.ops {
            ops.extend(look_up("op or family", word, families().chain(single_ops()))?);
        }
        let dtypes = DType::ALL.map(|dtype| (dtype.name(), dtype));
        let layouts = Layout::ALL.map(|layout| (layout.name(), layout));
        let tiers = Tier::ALL.map(|tier| (tier.name(), tier));
        let families = Family::ALL.iter().map(|family| (family.name(), *family));
        let regex = args.regex.as_deref().map(Regex::new).transpose();
        Ok(Criteria {
            ops,
            families: args
                .family
                .iter()
                .map(|word| look_up("family", word, families.clone()))
                .collect::<Result<_, _>>()?,
            dtypes: args
                .dtype
                .iter()
                .map(|word| look_up("dtype", word, dtypes))
                .collect::<Result<_, _>>()?,
            layouts: args
                .layout
                .iter()
                .map(|word| look_up("layout", word, layouts))
                .collect::<Result<_, _>>()?,
            tier: args
                .tier
                .as_deref()
                .map_or(Ok(Tier::Ci), |word| look_up("tier", word, tiers))?,
            tags: args.tag.clone(),
            globs: args.case.clone(),
            regex: regex.map_err(|error| bad_regex(args, &error))?,
        })
    }
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

/// Every family's name, with its ops.
fn families() -> impl Iterator<Item = (&'static str, Vec<Op>)> {
    Family::ALL.iter().map(|&family| {
        let members = Op::ALL
            .iter()
            .copied()
            .filter(|op| op.family() == family)
            .collect();
        (family.name(), members)
    })
}

fn single_ops() -> impl Iterator<Item = (&'static str, Vec<Op>)> {
    Op::ALL.iter().map(|op| (op.name(), vec![*op]))
}

/// The backend called `word`.
pub(crate) fn backend(word: &str) -> Result<Backend, Failure> {
    look_up(
        "backend",
        word,
        Backend::ALL.map(|backend| (backend.name(), backend)),
    )
}

/// Everything a run needs to know.
#[derive(Debug)]
pub(crate) struct RunSettings {
    pub(crate) selection: Selection,
    /// The columns: the reference first, then the others, each backend once.
    pub(crate) stations: Vec<Station>,
    pub(crate) seed: u64,
    pub(crate) case_limit: Duration,
    pub(crate) jobs: usize,
    /// Whether a result that the CPU helped to compute fails.
    pub(crate) no_fallback: bool,
    /// Whether every case runs twice on every backend, and fails if that gives different bits.
    pub(crate) deterministic: bool,
    /// Bytes a worker may use.
    pub(crate) memory_limit: Option<u64>,
    pub(crate) known: Option<PathBuf>,
    /// Recorded outputs to compare with: `golden:NAME`.
    pub(crate) against: Option<String>,
    /// Whether cases that are not recorded there are left out.
    pub(crate) recorded_only: bool,
    /// What a repro needs besides backend and case, quoted for a shell.
    pub(crate) repro_args: Vec<String>,
}

impl RunSettings {
    pub(crate) fn resolve(
        args: HowArgs,
        selection: Selection,
        jobs: Option<usize>,
    ) -> Result<RunSettings, Failure> {
        let stations = Station::all(&args.backend)?;
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
        let mut repro_args = Vec::new();
        if args.seed != 0 {
            repro_args.push(format!("--seed {}", args.seed));
        }
        if args.no_fallback {
            repro_args.push("--no-fallback".to_owned());
        }
        if args.deterministic {
            repro_args.push("--deterministic".to_owned());
        }
        if let Some(dir) = &selection.spec_dir {
            repro_args.push(format!("--spec-dir {}", quoted(&dir.to_string_lossy())));
        }
        Ok(RunSettings {
            selection,
            stations,
            seed: args.seed,
            case_limit,
            jobs: jobs.unwrap_or_else(cores),
            no_fallback: args.no_fallback,
            deterministic: args.deterministic,
            memory_limit,
            known: args.known,
            against: None,
            recorded_only: false,
            repro_args,
        })
    }

    /// The same, compared with recorded outputs: of every selected case, or of those that are recorded.
    pub(crate) fn against(mut self, golden: Option<String>, recorded_only: bool) -> RunSettings {
        if let Some(golden) = &golden {
            self.repro_args.push(format!("--against {}", quoted(golden)));
        }
        self.against = golden;
        // No argument of a repro: the one case that it names is recorded.
        self.recorded_only = recorded_only;
        self
    }
}

/// Cores this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// `word` as one word of a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_only_where_a_shell_would_split_or_expand_it() {
        assert_eq!(quoted("../op-specs"), "../op-specs");
        assert_eq!(quoted("my specs"), "'my specs'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
