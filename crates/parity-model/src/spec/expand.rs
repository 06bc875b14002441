//! Groups to cases, in an order that depends on nothing but the files.

use std::collections::BTreeMap;

use super::{Group, SpecError, SpecFile};
use crate::case::{no_second_form, shape_text};
use crate::op::{Role, shape};
use crate::{Arg, Case, CaseId, Check, DType, Layout, Op};

/// Every case of the files: files and groups in the order given; within a group ops, parameters, dtypes, shapes,
/// layouts, values and checks, the last one fastest.
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

/// The cases of one group; combinations of shapes with parameters, layouts or checks that cannot be are left
/// out.
pub(super) fn cases(group: &Group) -> impl Iterator<Item = Case> {
    let mut cases = Vec::new();
    for &op in &group.ops {
        for params in group.params.iter().filter(|params| op.takes_params(params.len())) {
            for dtypes in &group.dtypes {
                for index_dtype in index_dtypes(group, op, dtypes) {
                    for shapes in &group.shapes {
                        let shapes = each(shapes, op.arity());
                        for layouts in &group.layouts {
                            let layouts = each(layouts, op.arity());
                            let possible =
                                |check: &Check| impossible(op, params, &shapes, &layouts, *check).is_none();
                            let checks: Vec<Check> = group.checks.iter().copied().filter(possible).collect();
                            if checks.is_empty() {
                                continue;
                            }
                            let args = args(op, dtypes, index_dtype, &shapes, &layouts);
                            let dtype = data_dtype(op, &args);
                            let kinds = group
                                .values
                                .iter()
                                .flat_map(|&values| checks.iter().map(move |&check| (values, check)));
                            cases.extend(kinds.map(|(values, check)| Case {
                                op,
                                params: params.clone(),
                                dtype,
                                args: args.clone(),
                                values,
                                check,
                                tier: group.tier,
                                limit: group.limit.clone(),
                                timeout: group.timeout,
                                isolated: group.isolated,
                                tags: group.tags.clone(),
                            }));
                        }
                    }
                }
            }
        }
    }
    cases.into_iter()
}

/// The dtype of the data: that of the first argument with numbers, or of the only one there is.
fn data_dtype(op: Op, args: &[Arg]) -> DType {
    let first = op.roles().iter().position(|role| *role == Role::Data);
    args[first.unwrap_or(0)].dtype
}

/// The dtypes that the ids of `op` take in turn; one turn for an op without, or where each argument has its own.
fn index_dtypes(group: &Group, op: Op, dtypes: &[DType]) -> Vec<Option<DType>> {
    if op.takes_ids() && dtypes.len() == 1 {
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

/// Why shapes do not go with parameters, layouts or a check. What is to be refused goes against the shape rules or not.
pub(super) fn impossible(
    op: Op,
    params: &[f64],
    shapes: &[Vec<usize>],
    layouts: &[Layout],
    check: Check,
) -> Option<String> {
    let refs: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    if check.refusal().is_none()
        && let Err(why) = shape::infer(op, params, &refs)
    {
        return Some(why);
    }
    if let Some(why) = no_second_form(check, op, params, &refs, layouts) {
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
    dtypes: &[DType],
    index_dtype: Option<DType>,
    shapes: &[Vec<usize>],
    layouts: &[Layout],
) -> Vec<Arg> {
    let dtype = |i: usize, role: Role| match (dtypes, role) {
        (&[dtype], Role::Data) => dtype,
        (&[dtype], Role::Condition | Role::Index) => index_dtype.unwrap_or(dtype),
        (&[_], Role::Blocks) => DType::U8,
        (dtypes, _) => dtypes[i],
    };
    let arg = |i: usize| Arg {
        shape: shapes[i].clone(),
        layout: layouts[i],
        dtype: dtype(i, op.roles()[i]),
    };
    (0..op.arity()).map(arg).collect()
}
