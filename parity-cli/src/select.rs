//! From all cases of the specs to those that were asked for. Nothing selected is an error, never an empty success.

use std::collections::BTreeSet;

use parity_model::{Case, CaseId, glob};

use crate::{
    exit::{Exit, Failure},
    names::look_up,
    settings::{Criteria, Which},
};

/// The selected cases, in the order of ids (ids: in the given order).
pub(crate) fn select(all: &[Case], which: &Which) -> Result<Vec<Case>, Failure> {
    match which {
        Which::Ids(ids) => ids.iter().map(|id| by_id(all, id)).collect(),
        Which::Matching(criteria) => {
            known_tags(all, &criteria.tags)?;
            let selected: Vec<_> = all.iter().filter(|case| criteria.admit(case)).cloned().collect();
            if selected.is_empty() {
                let message = format!(
                    "no case matches: the specs hold {} cases, and none is {criteria}",
                    all.len()
                );
                return Err(Failure::new(Exit::NothingMatched, message));
            }
            Ok(selected)
        }
    }
}

/// The specs' case, with the specs' limit; for an id of no spec, the case the id describes, with a derived limit.
fn by_id(all: &[Case], id: &CaseId) -> Result<Case, Failure> {
    if let Some(case) = all.iter().find(|case| case.id() == *id) {
        return Ok(case.clone());
    }
    id.as_str()
        .parse()
        .map_err(|error| Failure::new(Exit::Usage, format!("{error}")))
}

/// Refuses a tag that no case has.
fn known_tags(all: &[Case], tags: &[String]) -> Result<(), Failure> {
    let known: BTreeSet<&str> = all
        .iter()
        .flat_map(|case| &case.tags)
        .map(String::as_str)
        .collect();
    if let (Some(tag), true) = (tags.first(), known.is_empty()) {
        let message =
            format!("unknown tag `{tag}`: no group of the specs has tags; `tags = [..]` gives it some");
        return Err(Failure::new(Exit::Usage, message));
    }
    tags.iter()
        .try_for_each(|tag| look_up("tag", tag, known.iter().map(|known| (*known, ()))))
}

impl Criteria {
    fn admit(&self, case: &Case) -> bool {
        let any = |list_is_empty: bool, found: bool| list_is_empty || found;
        case.tier <= self.tier
            && any(self.ops.is_empty(), self.ops.contains(&case.op))
            && any(
                self.families.is_empty(),
                self.families.contains(&case.op.family()),
            )
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
            ("of family", names(&self.families)),
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
