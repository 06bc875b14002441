//! Which cases of the specs a run has. A selection of nothing is an error, never an empty success.

use std::{collections::BTreeSet, path::PathBuf};

use parity_model::{Case, CaseId, DType, Family, Layout, Op, Tier, glob};
use regex::Regex;

use crate::{error::Error, names::look_up, specs};

/// Which cases of which specs.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The directory of specs; `None` for the nearest `op-specs` above the working directory, or above the program.
    pub spec_dir: Option<PathBuf>,
    /// Which of their cases.
    pub which: Which,
}

/// Which cases.
#[derive(Clone, Debug)]
pub enum Which {
    /// These, in this order.
    Ids(Vec<CaseId>),
    /// All that match.
    Matching(Box<Criteria>),
}

impl Default for Which {
    fn default() -> Which {
        Which::Matching(Box::default())
    }
}

/// An op, or all ops of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ops {
    /// This one.
    One(Op),
    /// All of this family.
    Family(Family),
}

impl Ops {
    pub(crate) fn have(self, op: Op) -> bool {
        match self {
            Ops::One(one) => op == one,
            Ops::Family(family) => op.family() == family,
        }
    }
}

impl std::fmt::Display for Ops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Ops::One(op) => op.name(),
            Ops::Family(family) => family.name(),
        })
    }
}

/// What a case must be; an empty list asks for nothing. By default, every case of the tier `ci` and below.
#[derive(Clone, Debug)]
pub struct Criteria {
    /// One of these ops, or an op of one of these families.
    pub ops: Vec<Ops>,
    /// One of these dtypes.
    pub dtypes: Vec<DType>,
    /// An argument with one of these layouts.
    pub layouts: Vec<Layout>,
    /// This tier, or a cheaper one.
    pub tier: Tier,
    /// One of these tags of spec groups.
    pub tags: Vec<String>,
    /// One of these patterns matches the id; `*` matches any run of characters.
    pub globs: Vec<String>,
    /// The expression matches the id.
    pub regex: Option<Regex>,
}

impl Default for Criteria {
    fn default() -> Criteria {
        Criteria {
            ops: vec![],
            dtypes: vec![],
            layouts: vec![],
            tier: Tier::Ci,
            tags: vec![],
            globs: vec![],
            regex: None,
        }
    }
}

impl Selection {
    /// The cases with these ids, in the specs or not.
    ///
    /// # Errors
    /// A text that is not the id of a case.
    pub fn of_ids<S: AsRef<str>>(ids: &[S]) -> Result<Selection, Error> {
        let ids = ids.iter().map(|id| id.as_ref().parse().map_err(Error::settings));
        Ok(Selection {
            spec_dir: None,
            which: Which::Ids(ids.collect::<Result<_, _>>()?),
        })
    }

    /// The selected cases, in the order of ids; ids in the given order.
    ///
    /// # Errors
    /// Specs that are not there or wrong, a tag that they lack, or a selection that no case matches.
    pub fn cases(&self) -> Result<Vec<Case>, Error> {
        let dir = specs::find(self.spec_dir.as_deref())?;
        self.which.select(&specs::load(&dir)?)
    }

    /// Whether every case of the default tier is wanted.
    pub fn is_whole(&self) -> bool {
        match &self.which {
            Which::Ids(_) => false,
            Which::Matching(criteria) => criteria.is_whole(),
        }
    }
}

impl Which {
    /// The selected ones of all cases.
    pub(crate) fn select(&self, all: &[Case]) -> Result<Vec<Case>, Error> {
        match self {
            Which::Ids(ids) => ids.iter().map(|id| by_id(all, id)).collect(),
            Which::Matching(criteria) => {
                known_tags(all, &criteria.tags)?;
                let selected: Vec<_> = all.iter().filter(|case| criteria.admit(case)).cloned().collect();
                if selected.is_empty() {
                    return Err(Error::Nothing(format!(
                        "no case matches: the specs hold {} cases, and none is {criteria}",
                        all.len()
                    )));
                }
                Ok(selected)
            }
        }
    }
}

/// The specs' case, with the specs' limit; for an id of no spec, the case the id describes, with a derived limit.
fn by_id(all: &[Case], id: &CaseId) -> Result<Case, Error> {
    match all.iter().find(|case| case.id() == *id) {
        Some(case) => Ok(case.clone()),
        None => id.as_str().parse().map_err(Error::settings),
    }
}

/// Refuses a tag that no case has.
fn known_tags(all: &[Case], tags: &[String]) -> Result<(), Error> {
    let known: BTreeSet<&str> = all
        .iter()
        .flat_map(|case| &case.tags)
        .map(String::as_str)
        .collect();
    if let (Some(tag), true) = (tags.first(), known.is_empty()) {
        return Err(Error::Settings(format!(
            "unknown tag `{tag}`: no group of the specs has tags; `tags = [..]` gives it some"
        )));
    }
    for tag in tags {
        look_up("tag", tag, known.iter().map(|known| (*known, ())))?;
    }
    Ok(())
}

impl Criteria {
    fn is_whole(&self) -> bool {
        let no_form = self.ops.is_empty() && self.dtypes.is_empty() && self.layouts.is_empty();
        let no_id = self.tags.is_empty() && self.globs.is_empty() && self.regex.is_none();
        no_form && no_id && self.tier >= Tier::Ci
    }

    fn admit(&self, case: &Case) -> bool {
        let any = |list_is_empty: bool, found: bool| list_is_empty || found;
        case.tier <= self.tier
            && any(self.ops.is_empty(), self.ops.iter().any(|ops| ops.have(case.op)))
            && any(self.dtypes.is_empty(), self.dtypes.contains(&case.dtype))
            && any(
                self.tags.is_empty(),
                case.tags.iter().any(|tag| self.tags.contains(tag)),
            )
            && any(
                self.layouts.is_empty(),
                case.args.iter().any(|arg| self.layouts.contains(&arg.layout)),
            )
            && self.names(case)
    }

    /// Whether the patterns over ids admit a case; without one, its id is not made.
    fn names(&self, case: &Case) -> bool {
        if self.globs.is_empty() && self.regex.is_none() {
            return true;
        }
        let id = case.id();
        let matched = |glob: &String| glob::matches(glob, id.as_str());
        (self.globs.is_empty() || self.globs.iter().any(matched))
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.is_match(id.as_str()))
    }
}

impl std::fmt::Display for Criteria {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "in tier {} or below", self.tier)?;
        let lists = [
            ("an op of", names(&self.ops)),
            ("of dtype", names(&self.dtypes)),
            ("of layout", names(&self.layouts)),
            ("tagged", names(&self.tags)),
            ("like", names(&self.globs)),
        ];
        for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
            write!(f, ", {what} {names}")?;
        }
        if let Some(regex) = &self.regex {
            write!(f, ", matched by `{regex}`")?;
        }
        Ok(())
    }
}

fn names<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(" or ")
}
