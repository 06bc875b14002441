//! Smaller neighbours of a case, and what smaller means. Pure: nothing is run, and which neighbours are cases at all is
//! the model's to say.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::{Case, Check, DType, Layout, ValueSet, op::Role};

/// How large a case is, the most important measure first: elements of all arguments, their dimensions, the check,
/// layouts in table order, dtypes, values, parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size {
    elements: usize,
    dimensions: usize,
    /// 1 where more is asked than the value.
    checks: u8,
    layouts: usize,
    dtypes: usize,
    values: (u8, u64),
    params: u64,
}

/// Dtypes, the plainest first: those whose literals everybody reads.
const DTYPES: [DType; 10] = [
    DType::F32,
    DType::F64,
    DType::I64,
    DType::U32,
    DType::U8,
    DType::I32,
    DType::I16,
    DType::F16,
    DType::BF16,
    DType::F8E4M3,
];

fn place<T: PartialEq>(list: &[T], item: &T) -> usize {
    list.iter().position(|other| other == item).unwrap_or(list.len())
}

/// How far a layout is from contiguous: its place in the table; views come after it.
fn intricacy(layout: Layout) -> usize {
    match layout {
        Layout::View(view) => Layout::ALL.len() + view.complexity(),
        named => place(&Layout::ALL, &named),
    }
}

/// The size of a case.
pub(crate) fn size(case: &Case) -> Size {
    let args = &case.args;
    Size {
        elements: args.iter().map(|arg| arg.shape.iter().product::<usize>()).sum(),
        dimensions: args.iter().map(|arg| arg.shape.len()).sum(),
        checks: u8::from(case.check != Check::Value),
        layouts: args.iter().map(|arg| intricacy(arg.layout)).sum(),
        dtypes: args.iter().map(|arg| place(&DTYPES, &arg.dtype)).sum(),
        values: plainness(case.values),
        // Positive floats are ordered as their bits are.
        params: case
            .params
            .iter()
            .map(|p| p.abs() + p.fract().abs())
            .sum::<f64>()
            .to_bits(),
    }
}

/// How plain the numbers of a set are: its kind, then how far it reaches.
fn plainness(values: ValueSet) -> (u8, u64) {
    let reach = |lo: f64, hi: f64| (hi - lo + lo.abs().max(hi.abs())).to_bits();
    match values {
        ValueSet::Ints { lo, hi } => (0, reach(lo as f64, hi as f64)),
        ValueSet::Nonzero { lo, hi } => (1, reach(lo as f64, hi as f64)),
        ValueSet::Nan | ValueSet::Nans | ValueSet::OnlyNan => (2, 0),
        ValueSet::Uniform { lo, hi } => (3, reach(lo, hi)),
        ValueSet::Geometric { lo, hi } => (4, reach(lo, hi)),
        ValueSet::Special | ValueSet::Extremes | ValueSet::Ties | ValueSet::Peaks => (5, 0),
        ValueSet::Any => (6, 0),
        ValueSet::Numbers => (7, 0),
        ValueSet::Exhaustive => (8, 0),
        // Sets that ask for one thing; nothing is plainer.
        _ => (0, 0),
    }
}

/// Every neighbour of `case` that is a case and smaller, the smallest first.
pub(crate) fn candidates(case: &Case) -> Vec<Case> {
    let bound = size(case);
    let mut found = BTreeMap::new();
    let moves = [
        extents(case),
        fewer_dimensions(case),
        layouts(case),
        dtypes(case),
        values(case),
        params(case),
        vec![case.plain()],
    ];
    for candidate in moves.into_iter().flatten() {
        let candidate = possible_layouts(candidate);
        let size = size(&candidate);
        if size < bound && candidate.check().is_ok() {
            found.insert((size, candidate.id()), candidate);
        }
    }
    found.into_values().collect()
}

/// The case with contiguous arguments where its layouts cannot be.
fn possible_layouts(mut case: Case) -> Case {
    for arg in &mut case.args {
        if arg.layout.plan(&arg.shape).is_none() {
            arg.layout = Layout::Contiguous;
        }
    }
    case
}

/// A dimension of an argument.
type ArgDim = (usize, usize);

/// Dimensions that may have to change together.
fn ties(case: &Case) -> BTreeSet<Vec<ArgDim>> {
    let extent = |&(arg, dim): &ArgDim| case.args[arg].shape[dim];
    let ranks = case.args.iter().map(|arg| arg.shape.len()).enumerate();
    let all: Vec<ArgDim> = ranks
        .flat_map(|(arg, rank)| (0..rank).map(move |dim| (arg, dim)))
        .collect();
    let mut ties = BTreeSet::new();
    for (i, one) in all.iter().enumerate() {
        ties.insert(vec![*one]);
        for other in &all[i + 1..] {
            if extent(one) == extent(other) {
                ties.insert(vec![*one, *other]);
            }
        }
        let rank = |arg: usize| case.args[arg].shape.len();
        let alike = all.iter().filter(|other| extent(other) == extent(one));
        let same_dim = alike.clone().filter(|other| other.1 == one.1);
        let same_from_behind = alike
            .clone()
            .filter(|other| rank(other.0) - other.1 == rank(one.0) - one.1);
        ties.insert(alike.clone().copied().collect());
        ties.insert(same_dim.copied().collect());
        ties.insert(same_from_behind.copied().collect());
    }
    ties
}

/// Extents to try instead of `extent`: the least, whole blocks, then ever less than half of it taken away.
fn smaller(extent: usize, block: usize) -> Vec<usize> {
    let mut list = vec![1, 2, 3, block, 2 * block];
    let mut cut = extent / 2;
    while cut > 0 {
        list.push(extent - cut);
        cut /= 2;
    }
    list.retain(|other| (1..extent).contains(other));
    list.sort_unstable();
    list.dedup();
    list
}

/// Smaller extents, of one dimension or of several at once.
fn extents(case: &Case) -> Vec<Case> {
    let block = case.op.block_format().map_or(1, |format| format.block_len());
    let mut found = Vec::new();
    for tie in ties(case) {
        let extent = case.args[tie[0].0].shape[tie[0].1];
        for new in smaller(extent, block) {
            let mut candidate = case.clone();
            for (arg, dim) in &tie {
                candidate.args[*arg].shape[*dim] = new;
            }
            // Halves go with their wholes: the angles of a rotary embedding.
            let mut halved = candidate.clone();
            for shape in halved.args.iter_mut().map(|arg| &mut arg.shape) {
                let halves = shape.iter_mut().filter(|other| **other * 2 == extent);
                halves.for_each(|other| *other = new.div_ceil(2));
            }
            found.extend([candidate, halved]);
        }
        // Groups of channels: with one group, there are as many channels as a group has.
        for (i, groups) in case
            .params
            .iter()
            .enumerate()
            .filter(|(_, groups)| **groups > 1.0)
        {
            let mut candidate = case.clone();
            candidate.params[i] = 1.0;
            for (arg, dim) in &tie {
                candidate.args[*arg].shape[*dim] = extent / *groups as usize;
            }
            found.push(candidate);
        }
    }
    found
}

/// Whether parameter `i` names a dimension.
fn names_dimension(case: &Case, i: usize) -> bool {
    let names = case.op.params();
    let name = names.get(i).or(names.last());
    name.is_some_and(|name| matches!(name.trim_end_matches(".."), "dim" | "dims"))
}

/// One dimension less, of every argument or of one. Parameters that name a later one follow.
fn fewer_dimensions(case: &Case) -> Vec<Case> {
    let ranks: Vec<usize> = case.args.iter().map(|arg| arg.shape.len()).collect();
    let mut found = Vec::new();
    for dim in 0..ranks.iter().copied().max().unwrap_or(0) {
        let having: Vec<usize> = (0..ranks.len()).filter(|arg| ranks[*arg] > dim).collect();
        let alone = having.iter().map(|arg| vec![*arg]);
        for args in alone.chain([having.clone()]) {
            let mut candidate = case.clone();
            for arg in args {
                candidate.args[arg].shape.remove(dim);
                if let Layout::View(view) = candidate.args[arg].layout {
                    candidate.args[arg].layout = view.without(dim).map_or(Layout::Contiguous, Layout::View);
                }
            }
            let params = candidate.params.iter().enumerate();
            let kept = params.filter(|(i, param)| !(names_dimension(case, *i) && **param == dim as f64));
            candidate.params = kept
                .map(
                    |(i, param)| match names_dimension(case, i) && *param > dim as f64 {
                        true => param - 1.0,
                        false => *param,
                    },
                )
                .collect();
            found.push(candidate);
        }
    }
    // Fewer dimensions to sum over.
    for i in 0..case.params.len() {
        let mut candidate = case.clone();
        candidate.params.remove(i);
        found.push(candidate);
    }
    found
}

/// Plainer layouts, of one argument or of all.
fn layouts(case: &Case) -> Vec<Case> {
    let mut plain = case.clone();
    plain
        .args
        .iter_mut()
        .for_each(|arg| arg.layout = Layout::Contiguous);
    let mut found = vec![plain];
    for (i, arg) in case.args.iter().enumerate() {
        let plainer = Layout::ALL[..place(&Layout::ALL, &arg.layout)].to_vec();
        let simpler = match arg.layout {
            Layout::View(view) => view.simpler().into_iter().map(Layout::View).collect(),
            _ => vec![],
        };
        for layout in plainer.into_iter().chain(simpler) {
            let mut candidate = case.clone();
            candidate.args[i].layout = layout;
            found.push(candidate);
        }
    }
    found
}

/// Plainer dtypes, of the data or of the ids.
fn dtypes(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    for dtype in DTYPES {
        let (mut data, mut ids) = (case.clone(), case.clone());
        data.dtype = dtype;
        for (i, role) in case.op.roles().iter().enumerate() {
            match role {
                Role::Data => data.args[i].dtype = dtype,
                Role::Condition | Role::Index => ids.args[i].dtype = dtype,
                Role::Blocks => {}
            }
        }
        found.extend([data, ids]);
    }
    found
}

/// Plainer values.
fn values(case: &Case) -> Vec<Case> {
    let ints = [(0, 1), (1, 2), (-1, 1), (-2, 2), (-4, 4), (-9, 9), (0, 255)];
    let uniform = [(0.0, 1.0), (1.0, 2.0), (-1.0, 1.0), (-4.0, 4.0), (-10.0, 10.0)];
    let mut sets: Vec<ValueSet> = Vec::new();
    sets.extend(ints.map(|(lo, hi)| ValueSet::Ints { lo, hi }));
    sets.extend(ints.map(|(lo, hi)| ValueSet::Nonzero { lo, hi }));
    sets.extend(uniform.map(|(lo, hi)| ValueSet::Uniform { lo, hi }));
    sets.extend([
        ValueSet::Nan,
        ValueSet::Special,
        ValueSet::Extremes,
        ValueSet::Any,
    ]);
    match case.values {
        ValueSet::Uniform { lo, hi } => {
            let middle = ((lo + hi) / 2.0 * 64.0).round() / 64.0;
            let halves = [(lo, middle), (middle, hi), (lo.ceil(), hi.floor())];
            let halves = halves.into_iter().filter(|(lo, hi)| lo < hi);
            sets.extend(halves.map(|(lo, hi)| ValueSet::Uniform { lo, hi }));
        }
        ValueSet::Ints { lo, hi } if hi - lo > 1 => {
            let middle = lo + (hi - lo) / 2;
            sets.extend([(lo, middle), (middle, hi)].map(|(lo, hi)| ValueSet::Ints { lo, hi }));
        }
        _ => {}
    }
    let with = |values| Case {
        values,
        ..case.clone()
    };
    sets.into_iter().map(with).collect()
}

/// Parameters nearer to 0 and to whole numbers.
fn params(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    for (i, param) in case.params.iter().enumerate() {
        for new in [0.0, 1.0, 2.0, param.trunc(), (param / 2.0).trunc(), param - 1.0] {
            let mut candidate = case.clone();
            candidate.params[i] = new;
            found.push(candidate);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(id: &str) -> Vec<String> {
        let case: Case = id.parse().unwrap();
        candidates(&case)
            .iter()
            .map(|case| case.id().to_string())
            .collect()
    }

    #[track_caller]
    fn offers(id: &str, smaller: &str) {
        assert!(
            ids(id).contains(&smaller.to_owned()),
            "{smaller} is not among {:#?}",
            ids(id)
        );
    }

    #[test]
    fn every_candidate_is_a_case_and_smaller() {
        for id in [
            "unary/relu:bf16:[65,257]:transposed:special",
            "binary/add:f16:[3,5],[3,5]:sliced,broadcast:any",
            "conv/conv2d(1,2,1,2):f32:[2,4,9,9],[6,2,3,3]:contiguous,transposed:uniform(-1,1)",
            "indexing/gather(1):f16,i64:[2,3],[2,7]:contiguous,contiguous:any",
            "quantized/qmatmul_q4_K:f32,u8:[9,512],[3,512]:contiguous,contiguous:quants",
        ] {
            let case: Case = id.parse().unwrap();
            let found = candidates(&case);
            assert!(!found.is_empty(), "{id}");
            for candidate in found {
                assert_eq!(candidate.check(), Ok(()), "{}", candidate.id());
                assert!(size(&candidate) < size(&case), "{}", candidate.id());
            }
        }
    }

    #[test]
    fn dimensions_that_belong_together_shrink_together() {
        offers(
            "matmul/matmul:f32:[7,5],[5,3]:contiguous,contiguous:any",
            "matmul/matmul:f32:[7,1],[1,3]:contiguous,contiguous:any",
        );
        offers(
            "nn/rope:f32:[1,2,3,8],[3,4],[3,4]:contiguous,contiguous,contiguous:uniform(-1,1)",
            "nn/rope:f32:[1,2,3,2],[3,1],[3,1]:contiguous,contiguous,contiguous:uniform(-1,1)",
        );
        offers(
            "conv/conv1d(0,1,1,2):f32:[1,4,9],[6,2,3]:contiguous,contiguous:ints(-4,4)",
            "conv/conv1d(0,1,1,1):f32:[1,2,9],[6,2,3]:contiguous,contiguous:ints(-4,4)",
        );
        offers(
            "quantized/dequantize_q4_0:u8:[2,128]:contiguous:any",
            "quantized/dequantize_q4_0:u8:[2,32]:contiguous:any",
        );
    }

    #[test]
    fn a_dimension_goes_with_the_parameters_that_count_it() {
        offers(
            "reduce/max(2):f32:[2,3,4]:contiguous:any",
            "reduce/max(1):f32:[3,4]:contiguous:any",
        );
        offers(
            "reduce/sum(0,2):f32:[2,3,4]:contiguous:any",
            "reduce/sum(1):f32:[3,4]:contiguous:any",
        );
    }

    #[test]
    fn a_layout_that_no_longer_can_be_becomes_contiguous() {
        offers(
            "unary/exp:f32:[2,3]:transposed:any",
            "unary/exp:f32:[3]:contiguous:any",
        );
    }

    #[test]
    fn what_is_smallest_has_no_neighbour() {
        assert_eq!(ids("unary/neg:f32:[]:contiguous:ints(0,1)"), [] as [&str; 0]);
    }
}
