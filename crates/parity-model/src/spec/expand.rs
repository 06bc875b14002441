//! Groups to cases, in an order that depends on nothing but the files.

use std::collections::BTreeMap;

use super::{Group, SpecError, SpecFile};
use crate::case::shape_text;
use crate::op::{Role, shape};
use crate::{Arg, Case, CaseId, DType, Layout, Op};

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

/// The cases of one group; combinations of shapes with parameters or layouts that cannot be are left out.
pub(super) fn cases(group: &Group) -> impl Iterator<Item = Case> {
    let mut cases = Vec::new();
    for &op in &group.ops {
        for params in group.params.iter().filter(|params| op.takes_params(params.len())) {
            for &dtype in &group.dtypes {
                for index_dtype in index_dtypes(group, op) {
                    for shapes in &group.shapes {
                        let shapes = each(shapes, op.arity());
                        for layouts in &group.layouts {
                            let layouts = each(layouts, op.arity());
                            if impossible(op, params, &shapes, &layouts).is_some() {
                                continue;
                            }
                            let args = args(op, dtype, index_dtype, &shapes, &layouts);
                            cases.extend(group.values.iter().map(|&values| Case {
                                op,
                                params: params.clone(),
                                dtype,
                                args: args.clone(),
                                values,
                                tier: group.tier,
                                limit: group.limit.clone(),
                                timeout: group.timeout,
                            }));
                        }
                    }
                }
            }
        }
    }
    cases.into_iter()
}

/// The dtypes that the ids of `op` take in turn; one turn for an op without.
fn index_dtypes(group: &Group, op: Op) -> Vec<Option<DType>> {
    if op.takes_ids() {
        return group.index_dtypes.iter().copied().map(Some).collect();
    }
    vec![None]
}

/// One item for each argument: a list of one stands for all of them.
pub(super) fn each<T: Clone>(items: &[T], arity: usize) -> Vec<T> {
    match items {
        [one] => vec![one.clone(); arity],
        items => items.to_vec(),
    }
}

/// Why shapes do not go with parameters or layouts.
pub(super) fn impossible(
    op: Op,
    params: &[f64],
    shapes: &[Vec<usize>],
    layouts: &[Layout],
) -> Option<String> {
    let refs: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    if let Err(why) = shape::infer(op, params, &refs) {
        return Some(why);
    }
    let blocks = op
        .roles()
        .iter()
        .zip(layouts)
        .find(|(role, layout)| **role == Role::Blocks && **layout != Layout::Contiguous);
    if let Some((_, layout)) = blocks {
        return Some(format!(
            "layout `{layout}` is impossible for blocks: they are contiguous"
        ));
    }
    let mut pairs = shapes.iter().zip(layouts);
    let (shape, layout) = pairs.find(|(shape, layout)| layout.plan(shape).is_none())?;
    Some(format!(
        "layout `{layout}` is impossible for the shape {}: it needs {}",
        shape_text(shape),
        layout.needs()
    ))
}

fn args(
    op: Op,
    dtype: DType,
    index_dtype: Option<DType>,
    shapes: &[Vec<usize>],
    layouts: &[Layout],
) -> Vec<Arg> {
    let arg = |((role, shape), layout): ((&Role, &Vec<usize>), &Layout)| Arg {
        shape: shape.clone(),
        layout: *layout,
        dtype: match role {
            Role::Data => dtype,
            Role::Condition | Role::Index => index_dtype.unwrap_or(dtype),
            Role::Blocks => DType::U8,
        },
    };
    op.roles().iter().zip(shapes).zip(layouts).map(arg).collect()
}
