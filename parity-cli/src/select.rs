//! From all cases of the specs to those that were asked for. Nothing selected is an error, never an empty success.

use parity_model::{Case, CaseId};

use crate::{
    exit::{Exit, Failure},
    settings::{Criteria, Which},
};

/// The selected cases, in the specs' order (ids: in the given order).
pub(crate) fn select(all: &[Case], which: &Which) -> Result<Vec<Case>, Failure> {
    match which {
        Which::Ids(ids) => ids.iter().map(|id| by_id(all, id)).collect(),
        Which::Matching(criteria) => {
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

impl Criteria {
    fn admit(&self, case: &Case) -> bool {
        let any = |list_is_empty: bool, found: bool| list_is_empty || found;
        case.tier <= self.tier
            && any(self.ops.is_empty(), self.ops.contains(&case.op))
            && any(self.dtypes.is_empty(), self.dtypes.contains(&case.dtype))
            && any(
                self.layouts.is_empty(),
                case.args.iter().any(|arg| self.layouts.contains(&arg.layout)),
            )
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.is_match(case.id().as_str()))
    }
}

impl std::fmt::Display for Criteria {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "in tier {} or below", self.tier)?;
        let lists = [
            ("an op of", names(&self.ops)),
            ("of dtype", names(&self.dtypes)),
            ("of layout", names(&self.layouts)),
        ];
        for (what, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
            write!(f, ", {what} {names}")?;
        }
        if let Some(filter) = &self.filter {
            write!(f, ", matched by `{filter}`")?;
        }
        Ok(())
    }
}

fn names<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(" or ")
}
