//! The reader of case ids.

use super::{Arg, BadCaseId, Case, Check, LimitSpec, Tier};
use crate::op::{Family, Role};
use crate::{DType, Layout, Op, values};

/// `exp` and no parameters, or `affine(2,-1)` and two.
fn parse_op(text: &str) -> Result<(Op, Vec<f64>), String> {
    let (name, params) = match text.split_once('(') {
        None => (text, vec![]),
        Some((name, rest)) => {
            let list = rest
                .strip_suffix(')')
                .ok_or("the closing parenthesis of the parameters is missing")?;
            let parse = |text: &str| {
                text.parse::<f64>()
                    .map_err(|_| format!("parameter `{text}` is not a number"))
            };
            (name, list.split(',').map(parse).collect::<Result<_, _>>()?)
        }
    };
    Ok((name.parse::<Op>().map_err(|e| e.to_string())?, params))
}

/// The name in an id of an op of a program's own that this process does not know.
fn own_name<'t>(family: &str, op: &'t str) -> Option<&'t str> {
    let name = op.split('(').next().unwrap_or(op);
    (family == Family::Own.name() && name.parse::<Op>().is_err()).then_some(name)
}

/// `[2,3],[2,3]`.
fn parse_shapes(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or_else(|| format!("`{text}` is not a list of shapes like [2,3],[2,3]"))?;
    let dim = |text: &str| {
        text.parse::<usize>()
            .map_err(|_| format!("`{text}` is not a dimension"))
    };
    let shape = |text: &str| match text {
        "" => Ok(vec![]),
        dims => dims.split(',').map(dim).collect(),
    };
    inner.split("],[").map(shape).collect()
}

impl std::str::FromStr for Case {
    type Err = BadCaseId;

    fn from_str(text: &str) -> Result<Self, BadCaseId> {
        parse_case(text).map_err(|why| BadCaseId {
            text: text.to_owned(),
            why,
        })
    }
}

fn parse_case(text: &str) -> Result<Case, String> {
    let (text, check) = match text.split_once('@') {
        None => (text, Check::Value),
        Some((text, check)) => (
            text,
            check.parse().map_err(|e: crate::op::UnknownName| e.to_string())?,
        ),
    };
    let parts: Vec<&str> = text.split(':').collect();
    let [op, dtype, shapes, layouts, values] = parts[..] else {
        return Err("expected family/op:dtype:shapes:layouts:values".to_owned());
    };
    let (family, op) = op
        .split_once('/')
        .ok_or("the family is missing, as in unary/exp")?;
    let (op, params) = parse_op(op).map_err(|why| match own_name(family, op) {
        Some(name) => format!(
            "this program has registered no op `{name}` of its own; the program that has, plans the run and serves as its worker"
        ),
        None => why,
    })?;
    if family.parse::<Family>() != Ok(op.family()) {
        return Err(format!(
            "`{op}` is of the family `{}`, not `{family}`",
            op.family()
        ));
    }
    let dtypes: Vec<DType> = dtype
        .split(',')
        .map(str::parse)
        .collect::<Result<_, crate::dtype::UnknownDType>>()
        .map_err(|e| e.to_string())?;
    let shapes = parse_shapes(shapes)?;
    let layouts: Vec<Layout> = layouts
        .split(',')
        .map(str::parse)
        .collect::<Result<_, crate::op::UnknownName>>()
        .map_err(|e| e.to_string())?;
    let arity = op.arity();
    if shapes.len() != arity || layouts.len() != arity {
        return Err(format!(
            "`{op}` takes {arity} arguments: as many shapes, as many layouts"
        ));
    }
    if dtypes.len() != 1 && dtypes.len() != arity {
        return Err(format!(
            "`{op}` takes {arity} arguments: one dtype for all of them, or as many dtypes"
        ));
    }
    let dtype_of = |i: usize| *dtypes.get(i).unwrap_or(&dtypes[0]);
    let first_data = op.roles().iter().position(|role| *role == Role::Data);
    let args = shapes.into_iter().zip(layouts).enumerate();
    let arg = |(i, (shape, layout))| Arg {
        shape,
        layout,
        dtype: dtype_of(i),
    };
    let args = args.map(arg).collect();
    let dtype = dtype_of(first_data.unwrap_or(0));
    let values = values.parse().map_err(|e: values::BadValueSet| e.to_string())?;
    let case = Case {
        op,
        params,
        dtype,
        args,
        values,
        check,
        tier: Tier::Quick,
        limit: LimitSpec::Derived,
        timeout: None,
        isolated: false,
        tags: vec![],
    };
    case.check()?;
    Ok(case)
}
