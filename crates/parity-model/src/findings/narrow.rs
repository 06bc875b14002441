//! Predicates for given cases: as wide as the cases and no wider. Neither reads nor writes a finding.

use std::collections::{BTreeMap, BTreeSet};

use super::predicate::{Extent, LayoutWord, Predicate, Values};
use crate::op::Role;
use crate::{Case, CaseId};

/// What a case is told from other cases of its op by.
#[derive(Clone, Copy, PartialEq)]
enum Feature {
    Params,
    Dtypes,
    Shapes,
    Layouts,
    Values,
    Check,
}

const PARTS: [Feature; 6] = [
    Feature::Params,
    Feature::Dtypes,
    Feature::Shapes,
    Feature::Layouts,
    Feature::Values,
    Feature::Check,
];

/// Predicates that match every case of `wanted`, and of the other cases of `all` none.
pub fn narrow(wanted: &BTreeSet<CaseId>, all: &[Case]) -> Vec<Predicate> {
    let (mut left, others): (Vec<&Case>, Vec<&Case>) =
        all.iter().partition(|case| wanted.contains(&case.id()));
    let mut found = Vec::new();
    while let Some(case) = left.first().copied() {
        let others: Vec<_> = others.iter().filter(|other| other.op == case.op).collect();
        let fits = |predicate: &Predicate| {
            let several = left.iter().filter(|case| predicate.matches(case)).count() > 1;
            several && !others.iter().any(|other| predicate.matches(other))
        };
        let chosen = masks().map(|mask| predicate(case, mask)).find(fits);
        let chosen = chosen.unwrap_or_else(|| predicate(case, 0));
        left.retain(|case| !chosen.matches(case));
        found.push(chosen);
    }
    merged(found)
}

/// Every choice of parts to leave open, most parts first.
fn masks() -> impl Iterator<Item = u32> {
    let mut masks: Vec<u32> = (0..1 << PARTS.len()).collect();
    masks.sort_by_key(|mask: &u32| std::cmp::Reverse(mask.count_ones()));
    masks.into_iter()
}

/// What holds for the case and for every other one that differs in the parts of `open` alone.
fn predicate(case: &Case, open: u32) -> Predicate {
    let closed = |part: Feature| {
        let mut bits = PARTS.iter().zip(0..);
        !bits.any(|(other, bit)| *other == part && open & (1 << bit) != 0)
    };
    let mut found = Predicate {
        ops: vec![case.op.name().to_owned()],
        ..Predicate::default()
    };
    if closed(Feature::Params) {
        found.params = params(case);
    }
    if closed(Feature::Dtypes) {
        let chosen = |role: &Role| matches!(role, Role::Condition | Role::Index);
        let index = case.op.roles().iter().position(chosen);
        if case.check.refusal().is_some() {
            found.dtypes_of = case.args.iter().map(|arg| vec![arg.dtype]).enumerate().collect();
        } else {
            found.dtypes = vec![case.dtype];
            found.index_dtypes = index.map(|i| case.args[i].dtype).into_iter().collect();
        }
    }
    if closed(Feature::Shapes) {
        let exact = |shape: &Vec<usize>| vec![shape.iter().copied().map(Extent::Is).collect()];
        found.shapes_of = case
            .args
            .iter()
            .map(|arg| exact(&arg.shape))
            .enumerate()
            .collect();
    }
    if closed(Feature::Layouts) {
        let word = |arg: &crate::Arg| vec![LayoutWord::Is(arg.layout)];
        found.layouts_of = case.args.iter().map(word).enumerate().collect();
    }
    if closed(Feature::Values) {
        found.values = vec![Values::Is(case.values)];
    }
    if closed(Feature::Check) || case.check.refusal().is_some() {
        found.checks = vec![case.check];
    }
    found
}

fn params(case: &Case) -> BTreeMap<String, Vec<Vec<f64>>> {
    let names = case.op.params().iter().enumerate();
    let values = names.map(|(i, name)| match name.strip_suffix("..") {
        Some(several) => (several.to_owned(), vec![case.params[i..].to_vec()]),
        None => ((*name).to_owned(), vec![vec![case.params[i]]]),
    });
    values.collect()
}

/// The same cases by fewer predicates: two that differ in one list are one with both lists.
fn merged(mut predicates: Vec<Predicate>) -> Vec<Predicate> {
    let mut i = 0;
    while i < predicates.len() {
        let pairs = (0..i).map(|j| (j, union(&predicates[j], &predicates[i])));
        let Some((j, both)) = pairs.filter_map(|(j, both)| Some((j, both?))).next() else {
            i += 1;
            continue;
        };
        predicates[j] = both;
        predicates.remove(i);
        i = j;
    }
    predicates
}

/// One predicate for what either means, where they differ in one list.
fn union(a: &Predicate, b: &Predicate) -> Option<Predicate> {
    macro_rules! differ_in_one_of {
        ($($list:ident: $joined:expr,)*) => {
            $(if (Predicate { $list: b.$list.clone(), ..a.clone() }) == *b {
                let both = $joined(&a.$list, &b.$list)?;
                return Some(Predicate { $list: both, ..a.clone() });
            })*
        };
    }
    differ_in_one_of! {
        ops: joined,
        dtypes: joined,
        index_dtypes: joined,
        values: joined,
        dtypes_of: of_one,
        layouts_of: of_one,
        shapes_of: of_one,
        params: of_one,
    }
    None
}

/// Both lists as one. An empty list means everything, and so does one that is joined with it.
#[expect(clippy::unnecessary_wraps, reason = "the signature of `of_one`")]
fn joined<T: Clone + PartialEq>(a: &[T], b: &[T]) -> Option<Vec<T>> {
    if a.is_empty() || b.is_empty() {
        return Some(Vec::new());
    }
    let more = b.iter().filter(|item| !a.contains(item));
    Some(a.iter().chain(more).cloned().collect())
}

/// Two tables that differ under one key at most, as one with both lists there; `None` for others.
fn of_one<K: Ord + Clone, T: Clone + PartialEq>(
    a: &BTreeMap<K, Vec<T>>,
    b: &BTreeMap<K, Vec<T>>,
) -> Option<BTreeMap<K, Vec<T>>> {
    let same_keys = a.keys().eq(b.keys());
    let differing = a.iter().zip(b).filter(|((_, a), (_, b))| a != b).count();
    (same_keys && differing <= 1).then(|| {
        let both = a
            .iter()
            .zip(b)
            .filter_map(|((key, a), (_, b))| Some((key.clone(), joined(a, b)?)));
        both.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [&str; 8] = [
        "unary/relu:f16:[9]:contiguous:nan",
        "unary/relu:f32:[9]:contiguous:nan",
        "unary/relu:f32:[3,5]:transposed:nan",
        "unary/relu:f32:[9]:contiguous:any",
        "unary/gelu:f32:[9]:contiguous:nan",
        "reduce/sum(0):f32:[2,3]:contiguous:nan",
        "reduce/sum(0,1):f32:[2,3]:contiguous:nan",
        "unary/gelu:i32:[9]:contiguous:ints(1,9)@unsupported",
    ];

    /// The predicates for the cases at these places, which match them and none of the others.
    fn of(places: &[usize]) -> Vec<String> {
        let all = CASES.map(|id| id.parse::<Case>().unwrap());
        let wanted = places.iter().map(|i| all[*i].id()).collect();
        let found = narrow(&wanted, &all);
        for (i, case) in all.iter().enumerate() {
            let matched = found.iter().any(|predicate| predicate.matches(case));
            assert_eq!(matched, places.contains(&i), "{} and {found:?}", case.id());
        }
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn predicates_are_as_wide_as_the_cases_and_no_wider() {
        assert_eq!(of(&[0, 1, 2, 3]), [r#"op = ["relu"]"#]);
        assert_eq!(of(&[0, 1, 2]), [r#"op = ["relu"], values = ["nan"]"#]);
    }

    #[test]
    fn a_single_case_is_named_in_full() {
        let one = r#"op = ["sum"], dtype = ["f32"], params = { dims = [0] }, shape = { 0 = [[2, 3]] }, layout = { 0 = ["contiguous"] }, values = ["nan"], check = ["value"]"#;
        assert_eq!(of(&[5]), [one]);
        let refused = of(&[7]);
        assert!(refused[0].contains(r#"dtype = { 0 = ["i32"] }"#), "{refused:?}");
        assert!(refused[0].ends_with(r#"check = ["unsupported"]"#), "{refused:?}");
    }

    #[test]
    fn predicates_that_differ_in_one_list_become_one() {
        let both = of(&[1, 4]);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!(
            both[0].starts_with(r#"op = ["relu", "gelu"], dtype = ["f32"]"#),
            "{both:?}"
        );
        let dims = of(&[5, 6]);
        assert_eq!(dims, [r#"op = ["sum"]"#]);
        let two = of(&[0, 2]);
        assert_eq!(two.len(), 2, "dtype, shape and layout differ: {two:?}");
    }
}
