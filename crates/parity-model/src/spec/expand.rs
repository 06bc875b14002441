//! The cases of all files, in an order that depends on nothing but their ids.

use std::collections::BTreeMap;

use super::{SpecError, SpecFile};
use crate::{Case, CaseId};

/// Every case of the files, in the order of ids, byte by byte: which groups cases are written in makes no difference.
///
/// # Errors
/// One for every case that another group already has.
pub fn expand(files: &[SpecFile]) -> Result<Vec<Case>, Vec<SpecError>> {
    let mut all: BTreeMap<CaseId, (&str, &Case)> = BTreeMap::new();
    let mut errors = Vec::new();
    for file in files {
        for group in &file.groups {
            for case in &group.cases {
                let id = case.id();
                if let Some((other, _)) = all.get(&id) {
                    errors.push(SpecError {
                        file: file.name.clone(),
                        span: group.span.clone(),
                        message: format!("case `{id}` exists already"),
                        help: Some(format!(
                            "a group before this one, in {other}, has it: remove it from one of them"
                        )),
                    });
                    continue;
                }
                all.insert(id, (&file.name, case));
            }
        }
    }
    let cases = all.into_values().map(|(_, case)| case.clone());
    if errors.is_empty() {
        Ok(cases.collect())
    } else {
        Err(errors)
    }
}
