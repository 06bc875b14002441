//! Groups to cases, in an order that depends on nothing but the files.

use std::collections::BTreeMap;

use super::{Group, SpecError, SpecFile};
use crate::{Arg, Case, CaseId, Layout};

/// Every case of the files: files and groups in the order given; within a group ops, parameters, dtypes, shapes,
/// layouts and values, the last one fastest.
///
/// # Errors
/// One for every case that another group already has.
pub fn expand(files: &[SpecFile]) -> Result<Vec<Case>, Vec<SpecError>> {
    let mut first: BTreeMap<CaseId, &str> = BTreeMap::new();
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for file in files {
        for group in &file.groups {
            for case in cases(group) {
                let id = case.id();
                if let Some(other) = first.get(&id) {
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
                first.insert(id, &file.name);
                all.push(case);
            }
        }
    }
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

/// The cases of one group; combinations of a shape and a layout that cannot be are left out.
pub(super) fn cases(group: &Group) -> impl Iterator<Item = Case> {
    let possible =
        |shape: &[usize], layouts: &[Layout]| layouts.iter().all(|layout| layout.plan(shape).is_some());
    let mut cases = Vec::new();
    for &op in &group.ops {
        for params in &group.params {
            for &dtype in &group.dtypes {
                for shape in &group.shapes {
                    for layouts in group.layouts.iter().filter(|layouts| possible(shape, layouts)) {
                        for &values in &group.values {
                            let arg = |&layout: &Layout| Arg {
                                shape: shape.clone(),
                                layout,
                                dtype,
                            };
                            cases.push(Case {
                                op,
                                params: params.clone(),
                                dtype,
                                args: layouts.iter().map(arg).collect(),
                                values,
                                tier: group.tier,
                                limit: group.limit.clone(),
                            });
                        }
                    }
                }
            }
        }
    }
    cases.into_iter()
}
