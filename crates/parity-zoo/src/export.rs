//! The ops of a network as cases of `parity run`: the shapes, layouts and parameters that it really has.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::{Case, Layout, Place, View};

use crate::{Bisection, Watched};

/// What a network was found to call.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// The distinct cases, in order of their ids.
    pub cases: Vec<Case>,
    /// Ops that `parity run` has no case for, and how often the network called each.
    pub left_out: BTreeMap<String, usize>,
}

/// The distinct cases of a network whose ops were watched.
pub fn export(found: &Bisection) -> Exported {
    let mut exported = Exported::default();
    let mut ids = BTreeSet::new();
    for step in &found.steps {
        match case(&step.op) {
            Some(case) if ids.insert(case.id()) => exported.cases.push(case),
            Some(_) => {}
            None => *exported.left_out.entry(step.op.op.clone()).or_default() += 1,
        }
    }
    exported.cases.sort_by_key(Case::id);
    exported
}

/// The case that is this op, on numbers of its own.
fn case(op: &Watched) -> Option<Case> {
    let name = name(op)?;
    let operands = op.inputs.iter().zip(op.strides.iter().zip(&op.offsets));
    let mut layouts: Vec<String> = operands
        .map(|(shape, (strides, offset))| layout(shape, strides, *offset).map(|layout| layout.to_string()))
        .collect::<Option<_>>()?;
    let mut shapes: Vec<String> = op
        .inputs
        .iter()
        .map(|shape| format!("{shape:?}").replace(' ', ""))
        .collect();
    let mut dtypes = op.dtypes.clone();
    if op.op == "qmatmul" {
        // The watch does not list the weights, because candle keeps them outside of tensors.
        shapes.push(format!("[{}]", all(op)));
        layouts.push(Layout::Contiguous.to_string());
        dtypes.push("u8".to_owned());
    }
    let dtypes = match dtypes.as_slice() {
        [first, rest @ ..] if rest.iter().all(|dtype| dtype == first) => first.clone(),
        each => each.join(","),
    };
    let (shapes, layouts) = (shapes.join(","), layouts.join(","));
    // Whole numbers and ids have few that suit all ops. Floats are such as networks have.
    let tried = match op.dtypes.first().map(String::as_str) {
        Some("f64" | "f32" | "f16" | "bf16") => ["uniform(-1,1)", "any"],
        _ => ["any", "ints(0,9)"],
    };
    let mut cases = tried.iter().filter_map(|values| {
        format!("{name}:{dtypes}:{shapes}:{layouts}:{values}")
            .parse()
            .ok()
    });
    cases.next()
}

/// The op of the table with its parameters, as an id begins; none for what the table has no row of.
fn name(op: &Watched) -> Option<String> {
    let all = || all(op);
    let rank = op.inputs.first().map_or(0, Vec::len);
    Some(match op.op.as_str() {
        name @ ("exp" | "log" | "sin" | "cos" | "abs" | "neg" | "recip" | "sqr" | "sqrt" | "gelu"
        | "gelu_erf" | "erf" | "relu" | "silu" | "tanh" | "floor" | "ceil" | "round" | "sign") => {
            format!("unary/{name}")
        }
        name @ ("affine" | "powf" | "elu") => format!("unary/{name}({})", all()),
        name @ ("add" | "sub" | "mul" | "div" | "maximum" | "minimum" | "eq" | "ne" | "lt" | "le" | "gt"
        | "ge") => format!("binary/{name}"),
        name @ ("sum" | "min" | "max" | "argmin" | "argmax") => format!("reduce/{name}_keepdim({})", all()),
        "to_dtype" => format!("cast/to_{}", op.form),
        "qmatmul" => format!("quantized/qmatmul_{}", op.form),
        "where_cond" => "where/where_cond".to_owned(),
        "matmul" => "matmul/matmul".to_owned(),
        name @ ("index_select" | "gather" | "index_add") => format!("indexing/{name}({})", all()),
        name @ ("conv1d" | "conv2d") => format!("conv/{name}({},1)", all()),
        "conv_transpose1d" => format!("conv/conv_transpose1d({},1)", all()),
        "conv_transpose2d" => format!("conv/conv_transpose2d({})", all()),
        name @ ("avg_pool2d" | "max_pool2d") => format!("pool/{name}({})", all()),
        name @ ("upsample_nearest1d" | "upsample_nearest2d" | "upsample_bilinear2d") => {
            format!("upsample/{name}({})", all())
        }
        // The tensor is copied as it lies.
        "copy_strided_src" | "copy2d" => "copy/copy".to_owned(),
        "sigmoid" => "nn/sigmoid".to_owned(),
        "softmax-last-dim" => "nn/softmax_last_dim".to_owned(),
        // candle-nn keeps the epsilon to itself; networks have this one or a near one.
        "rms-norm" => "nn/rms_norm(0.00001)".to_owned(),
        "layer-norm" => "nn/layer_norm(0.00001)".to_owned(),
        "rotary-emb" if rank == 4 => "nn/rope".to_owned(),
        "rotary-emb-int" if rank == 4 => "nn/rope_i".to_owned(),
        "rotary-emb-thd" if rank == 4 => "nn/rope_thd".to_owned(),
        _ => return None,
    })
}

/// All parameters, as an id has them.
fn all(op: &Watched) -> String {
    let params: Vec<String> = op.params.iter().map(f64::to_string).collect();
    params.join(",")
}

/// The most elements that a view of an id leaves out at one place.
const ROOM: usize = u8::MAX as usize;

/// The layout of a view: a word where one says it, else the view itself. Where a view leaves out more than an id can say, 255 elements
/// are left out.
fn layout(shape: &[usize], strides: &[usize], offset: usize) -> Option<Layout> {
    let named = Layout::ALL.into_iter().find(|layout| {
        let Some(plan) = layout.plan(shape) else {
            return false;
        };
        let found = plan.strided();
        same(shape, strides, &found.strides) && (offset > 0) == (found.offset > 0)
    });
    if named.is_some() || shape.is_empty() {
        return named.or(Some(Layout::Contiguous));
    }
    let mut dims: Vec<usize> = (0..shape.len()).collect();
    // The slowest first. A dimension of one element has a stride that means nothing.
    dims.sort_by_key(|dim| std::cmp::Reverse(if shape[*dim] == 1 { 0 } else { strides[*dim] }));
    let mut places: Vec<Place> = dims
        .iter()
        .map(|dim| u8::try_from(*dim).map(Place::dense))
        .collect::<Result<_, _>>()
        .ok()?;
    // From the fastest dimension outwards: what lies beside one fills up the stride of the next.
    let mut inner = 1;
    let mut last: Option<(usize, usize)> = None;
    for at in (0..places.len()).rev() {
        let (extent, stride) = (shape[dims[at]], strides[dims[at]]);
        if extent == 1 {
            continue;
        }
        if stride == 0 {
            places[at].repeats = true;
            continue;
        }
        match last {
            None => {
                places[at].step = u8::try_from(stride.min(ROOM)).ok()?;
                inner = stride.min(ROOM);
            }
            Some((before, used)) => {
                let room = (stride / inner).saturating_sub(used).min(ROOM);
                places[before].after = u8::try_from(room).ok()?;
                inner = stride;
            }
        }
        last = Some((at, extent));
    }
    if let (Some((slowest, _)), true) = (last, offset > 0) {
        places[slowest].before = 1;
    }
    View::new(&places).map(Layout::View)
}

/// Whether both say the same of every dimension that has two elements or more.
fn same(shape: &[usize], strides: &[usize], others: &[usize]) -> bool {
    let pairs = strides.iter().zip(others).zip(shape);
    strides.len() == others.len()
        && pairs
            .into_iter()
            .all(|((one, other), extent)| *extent < 2 || one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Dtype, samples};

    fn op(name: &str, params: &[f64], operands: &[(&[usize], &[usize], usize)], dtypes: &[&str]) -> Watched {
        Watched {
            params: params.to_vec(),
            inputs: operands.iter().map(|operand| operand.0.to_vec()).collect(),
            strides: operands.iter().map(|operand| operand.1.to_vec()).collect(),
            offsets: operands.iter().map(|operand| operand.2).collect(),
            dtypes: dtypes.iter().map(|dtype| (*dtype).to_owned()).collect(),
            ..samples::op(name, 0.0, 0.0)
        }
    }

    fn ids(ops: Vec<Watched>) -> (Vec<String>, BTreeMap<String, usize>) {
        let answer = Answer {
            ops,
            ..Answer::default()
        };
        let found = Bisection::of("m", Dtype::F32, samples::device(), &answer);
        let exported = export(&found);
        (
            exported.cases.iter().map(|case| case.id().to_string()).collect(),
            exported.left_out,
        )
    }

    #[test]
    fn ops_become_cases_once_each_and_what_is_no_case_is_counted() {
        let add: (&str, &[f64]) = ("add", &[]);
        let (found, left_out) = ids(vec![
            op(
                add.0,
                add.1,
                &[(&[2, 3], &[3, 1], 0), (&[2, 3], &[0, 1], 0)],
                &["f32", "f32"],
            ),
            op(
                add.0,
                add.1,
                &[(&[2, 3], &[3, 1], 0), (&[2, 3], &[0, 1], 0)],
                &["f32", "f32"],
            ),
            op("affine", &[0.5, 0.0], &[(&[4], &[1], 8)], &["f16"]),
            op(
                "index_select",
                &[0.0],
                &[(&[9, 4], &[4, 1], 0), (&[3], &[1], 0)],
                &["f32", "u32"],
            ),
            op(
                "conv2d",
                &[1.0, 2.0, 1.0],
                &[
                    (&[1, 2, 5, 5], &[50, 25, 5, 1], 0),
                    (&[3, 2, 3, 3], &[18, 9, 3, 1], 0),
                ],
                &["f32", "f32"],
            ),
            Watched {
                form: "q4_0".to_owned(),
                ..op("qmatmul", &[8.0, 32.0], &[(&[2, 32], &[32, 1], 0)], &["f32"])
            },
            op("mystery", &[], &[(&[1], &[1], 0)], &["f32"]),
        ]);
        assert_eq!(
            found,
            [
                "binary/add:f32:[2,3],[2,3]:contiguous,broadcast:uniform(-1,1)",
                "conv/conv2d(1,2,1,1):f32:[1,2,5,5],[3,2,3,3]:contiguous,contiguous:uniform(-1,1)",
                "indexing/index_select(0):f32,u32:[9,4],[3]:contiguous,contiguous:uniform(-1,1)",
                "quantized/qmatmul_q4_0:f32,u8:[2,32],[8,32]:contiguous,contiguous:uniform(-1,1)",
                "unary/affine(0.5,0):f16:[4]:offset:uniform(-1,1)",
            ]
        );
        assert_eq!(left_out, BTreeMap::from([("mystery".to_owned(), 1)]));
    }

    #[test]
    fn a_layout_is_a_word_or_the_view_itself() {
        let text =
            |shape: &[usize], strides: &[usize], offset| layout(shape, strides, offset).unwrap().to_string();
        assert_eq!(text(&[2, 3], &[3, 1], 0), "contiguous");
        assert_eq!(text(&[3, 2], &[1, 3], 0), "transposed");
        assert_eq!(text(&[], &[], 0), "contiguous");
        // Heads of a projection: (tokens, heads, width) seen as (heads, tokens, width).
        assert_eq!(text(&[4, 7, 8], &[8, 32, 1], 0), "view(1.0.2)");
        // The second of three parts of each row.
        assert_eq!(text(&[7, 8], &[24, 1], 8), "view(0b1.1a16)");
        assert_eq!(text(&[5, 4], &[0, 2], 0), "view(1s2.0r)");
    }

    #[test]
    fn a_view_has_the_strides_that_it_was_made_for() {
        for (shape, strides) in [
            ([4, 7, 8], [8, 32, 1]),
            ([2, 3, 4], [48, 8, 2]),
            ([3, 5, 2], [2, 0, 1]),
            ([2, 3, 4], [1, 2, 30]),
        ] {
            let plan = layout(&shape, &strides, 0).unwrap().plan(&shape).unwrap();
            let found = plan.strided().strides;
            assert!(
                same(&shape, &strides, &found),
                "{shape:?} {strides:?} {found:?} {plan:?}"
            );
        }
    }
}
