//! From a row of lists to its cases: the cross of the lists, less what cannot be.

use super::dtypes::Choice;
use super::row::SpecRow;
use super::shapes::complete;
use crate::case::{no_second_form, shape_text};
use crate::op::{Role, shape};
use crate::{Arg, Case, Check, DType, Layout, Op};

/// A row whose lists cross to more cases is a mistake: crossing them would not end.
pub(super) const MOST_CASES: usize = 1 << 20;

/// The cases of a row. Combinations that cannot be are reported, or, where the row says so, left out.
pub(super) fn cross(row: &SpecRow<'_, '_>) -> Vec<Case> {
    let arrangements = arrangements(row);
    check_dtypes(row);
    check_ids(row);
    let mut cases = Vec::new();
    for call in &arrangements {
        for dtypes in row.dtypes_of(call.op) {
            for index_dtype in index_dtypes(row, call.op, &dtypes) {
                let args = args(call, &dtypes, index_dtype);
                let dtype = data_dtype(call.op, &args);
                let values = row.values.of(dtype);
                if values.is_empty() {
                    row.error("values", &format!("`values` has no word for {dtype}"), "add one");
                    return vec![];
                }
                let asked = values
                    .iter()
                    .flat_map(|values| call.checks.iter().map(move |check| (values, check)));
                cases.extend(asked.map(|(&values, &check)| Case {
                    op: call.op,
                    params: call.params.clone(),
                    dtype,
                    args: args.clone(),
                    values,
                    check,
                    tier: row.tier,
                    limit: row.limit.clone(),
                    timeout: row.timeout,
                    isolated: row.isolated,
                    tags: row.tags.clone(),
                }));
            }
        }
    }
    check_values(row, &cases);
    cases
}

/// An op with parameters, shapes and layouts, and the checks that are possible for it.
struct Arrangement {
    op: Op,
    params: Vec<f64>,
    shapes: Vec<Vec<usize>>,
    layouts: Vec<Layout>,
    checks: Vec<Check>,
}

/// Which of a row's lists a combination is made of.
struct Combination {
    /// The place of the item in its list: of shapes, of layouts, of checks.
    places: [usize; 3],
    /// Why it cannot be, if it cannot.
    why_not: Option<String>,
}

/// Every possible call. Parameters, shapes, layouts and checks that cannot be are reported.
fn arrangements(row: &SpecRow<'_, '_>) -> Vec<Arrangement> {
    let mut tries = Tries {
        row,
        possible: vec![],
        combinations: vec![],
        room: MOST_CASES,
    };
    for &op in &row.ops {
        // An op that takes none of the dtypes has no part in the row.
        let dtypes = row.dtypes_of(op).len();
        if dtypes == 0 {
            continue;
        }
        let each = dtypes * row.index_dtypes.len().max(1) * row.values.most() * row.checks.len();
        match row.params.of(op) {
            Ok(params) => params.iter().for_each(|params| tries.shapes(op, params, each)),
            Err(wrong) => row.error_in_params(&wrong),
        }
    }
    if tries.room == 0 {
        let message = format!("the lists of the group cross to more than {MOST_CASES} cases");
        row.error("", &message, "split the group, and leave out what need not meet");
        return vec![];
    }
    check_possible(row, &tries.combinations);
    tries.possible
}

/// The calls of a row, as they are found.
struct Tries<'t, 'r, 'i> {
    row: &'t SpecRow<'r, 'i>,
    possible: Vec<Arrangement>,
    combinations: Vec<Combination>,
    /// How many more cases the row may have.
    room: usize,
}

impl Tries<'_, '_, '_> {
    /// Tries every shape and layout with an op and parameters, of which a layout gives `each` cases.
    fn shapes(&mut self, op: Op, params: &[f64], each: usize) {
        for (s, given) in self.row.shapes.iter().enumerate() {
            let shapes = match complete(op, params, given) {
                Ok(shapes) => shapes,
                Err(why) => {
                    self.row.error("shapes", &why, "name the shapes of all arguments");
                    continue;
                }
            };
            let from = self.possible.len();
            for (l, pattern) in self.row.layouts.iter().enumerate() {
                self.room = self.room.saturating_sub(pattern.most().saturating_mul(each));
                if self.room == 0 {
                    return;
                }
                for layouts in pattern.layouts(op, &shapes) {
                    let checks = self.checks(op, params, &shapes, &layouts, [s, l]);
                    // Patterns may overlap.
                    let is_new = self.possible[from..].iter().all(|other| other.layouts != layouts);
                    if !checks.is_empty() && is_new {
                        self.possible.push(Arrangement {
                            op,
                            params: params.to_vec(),
                            shapes: shapes.clone(),
                            layouts,
                            checks,
                        });
                    }
                }
            }
        }
    }

    /// The checks that are possible for a call; those that are not are kept with the reason.
    fn checks(
        &mut self,
        op: Op,
        params: &[f64],
        shapes: &[Vec<usize>],
        layouts: &[Layout],
        [s, l]: [usize; 2],
    ) -> Vec<Check> {
        let mut possible = Vec::new();
        for (c, &check) in self.row.checks.iter().enumerate() {
            let why_not = impossible(op, params, shapes, layouts, check);
            if why_not.is_none() {
                possible.push(check);
            }
            let places = [s, l, c];
            self.combinations.push(Combination { places, why_not });
        }
        possible
    }
}

/// The dtype of the data: that of the first argument with numbers, or of the only one there is.
fn data_dtype(op: Op, args: &[Arg]) -> DType {
    let first = op.roles().iter().position(|role| *role == Role::Data);
    args[first.unwrap_or(0)].dtype
}

/// The dtypes that the ids of `op` take in turn; one turn for an op without, or where each argument has its own.
fn index_dtypes(row: &SpecRow<'_, '_>, op: Op, dtypes: &[DType]) -> Vec<Option<DType>> {
    if op.takes_ids() && dtypes.len() == 1 {
        return row.index_dtypes.iter().copied().map(Some).collect();
    }
    vec![None]
}

fn args(call: &Arrangement, dtypes: &[DType], index_dtype: Option<DType>) -> Vec<Arg> {
    let dtype = |i: usize, role: Role| match (dtypes, role) {
        (&[dtype], Role::Data) => dtype,
        (&[dtype], Role::Condition | Role::Index) => index_dtype.unwrap_or(dtype),
        (&[_], Role::Blocks) => DType::U8,
        (dtypes, _) => dtypes[i],
    };
    let arg = |i: usize| Arg {
        shape: call.shapes[i].clone(),
        layout: call.layouts[i],
        dtype: dtype(i, call.op.roles()[i]),
    };
    (0..call.op.arity()).map(arg).collect()
}

/// Why shapes do not go with parameters, layouts or a check. What is to be refused goes against the shape rules or not.
fn impossible(
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

fn check_dtypes(row: &SpecRow<'_, '_>) {
    let removes = row
        .dtypes
        .iter()
        .any(|choice| matches!(choice, Choice::Without(_)));
    if removes && !row.dtypes.iter().any(|choice| matches!(choice, Choice::Class(_))) {
        let message = "there is no class of dtypes to leave one out of";
        row.error("dtypes", message, "`-f16` goes with `floats`, `ints` or `all`");
    }
    for op in row.ops.iter().filter(|_| !row.refused()) {
        let named = row.dtypes_of(*op).into_iter().flatten();
        for dtype in named.filter(|dtype| !op.accepts(*dtype)) {
            let takes: Vec<&str> = op.dtypes().iter().map(|dtype| dtype.name()).collect();
            let message = format!("`{op}` means nothing for {dtype}");
            row.error("dtypes", &message, &format!("it takes {}", takes.join(", ")));
        }
    }
}

fn check_ids(row: &SpecRow<'_, '_>) {
    let given = !row.index_dtypes.is_empty();
    // Where each argument has a dtype of its own, so have the ids.
    let own = row
        .dtypes
        .iter()
        .all(|choice| matches!(choice, Choice::Each(dtypes) if dtypes.len() > 1));
    for op in row
        .ops
        .iter()
        .filter(|op| op.takes_ids() != given && (given || !own))
    {
        let (message, help) = if given {
            (
                format!("`{op}` takes no ids and no condition"),
                "remove `index_dtypes`, or give the op a group of its own",
            )
        } else {
            (
                format!("`{op}` takes ids or a condition, and their dtypes are missing"),
                "add index_dtypes = [\"u32\"]",
            )
        };
        row.error("index_dtypes", &message, help);
    }
    let float = row
        .index_dtypes
        .iter()
        .find(|dtype| dtype.is_float() && !row.refused());
    if let Some(dtype) = float {
        let message = format!("ids and conditions are integers, not {dtype}");
        row.error("index_dtypes", &message, "use u8, u32, i16, i32 or i64");
    }
}

/// Reports shapes, layouts and checks that cannot be: every combination, or, where the row leaves out those that cannot be,
/// those that are in none.
fn check_possible(row: &SpecRow<'_, '_>, all: &[Combination]) {
    const KEYS: [&str; 3] = ["shapes", "layouts", "checks"];
    if !row.skip_impossible {
        let mut seen = Vec::new();
        for why in all.iter().filter_map(|combination| combination.why_not.as_ref()) {
            if seen.contains(&why) {
                continue;
            }
            let about = if why.starts_with("layout") {
                1
            } else if why.starts_with("check") {
                2
            } else {
                0
            };
            row.error(
                KEYS[about],
                why,
                "skip_impossible = true leaves such combinations out",
            );
            seen.push(why);
        }
        return;
    }
    let shape = |i: usize| {
        let shapes: Vec<String> = row.shapes[i].iter().map(|shape| shape_text(shape)).collect();
        format!(
            "shape {} is possible in no combination of the group",
            shapes.join(",")
        )
    };
    let layout = |i: usize| {
        format!(
            "layout `{}` is possible for no shape of the group",
            row.layouts[i]
        )
    };
    let check = |i: usize| format!("check `{}` is possible for no call of the group", row.checks[i]);
    let (shapes, layouts, checks) = (row.shapes.len(), row.layouts.len(), row.checks.len());
    let lists: [(usize, &dyn Fn(usize) -> String); 3] =
        [(shapes, &shape), (layouts, &layout), (checks, &check)];
    for (list, (count, message)) in lists.into_iter().enumerate() {
        for i in 0..count {
            let with = all.iter().filter(|combination| combination.places[list] == i);
            let why_not: Option<Vec<&String>> =
                with.map(|combination| combination.why_not.as_ref()).collect();
            // One in no combination at all: the parameters are wrong, which has been reported.
            if let Some(why) = why_not.and_then(|why_not| why_not.last().copied()) {
                row.error(KEYS[list], &message(i), why);
            }
        }
    }
}

/// Reports what is wrong with the cases themselves. Each cause is reported once.
fn check_values(row: &SpecRow<'_, '_>, cases: &[Case]) {
    let refused = row.refused();
    let mut seen = Vec::new();
    for case in cases.iter().filter(|case| refused || case.op.accepts(case.dtype)) {
        // Dtypes, parameters, shapes and layouts have been reported by then; an id of a float dtype too.
        let ids = case
            .args
            .iter()
            .all(|arg| arg.dtype == case.dtype || !arg.dtype.is_float());
        if (ids || refused)
            && let Err(message) = case.check()
            && !seen.contains(&message)
        {
            row.error("values", &message, "split the group, or choose other values");
            seen.push(message);
        }
    }
}
