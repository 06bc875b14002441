//! Patterns over case ids that match some cases and no others, as few as a greedy choice finds.

use std::collections::BTreeSet;

use parity_model::glob;

/// Parts of an id that a pattern may leave open, those first that say least about a failure's cause.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Shapes,
    Layouts,
    Params,
    Values,
    Dtypes,
}

const PARTS: [Part; 5] = [
    Part::Shapes,
    Part::Layouts,
    Part::Params,
    Part::Values,
    Part::Dtypes,
];

/// Patterns that match every id of `wanted` and none of the other ids of `all`. A pattern that would match one id alone is
/// that id.
pub(super) fn patterns(wanted: &BTreeSet<&str>, all: &[String]) -> Vec<String> {
    let mut open: Vec<u32> = (0..1 << PARTS.len()).collect();
    open.sort_by_key(|mask| (std::cmp::Reverse(mask.count_ones()), *mask));
    let mut left = wanted.clone();
    let mut found = Vec::new();
    while let Some(id) = left.first().copied() {
        let op = op_of(id);
        let near: Vec<&str> = all
            .iter()
            .map(String::as_str)
            .filter(|other| op_of(other) == op)
            .collect();
        let fits = |pattern: &String| {
            near.iter()
                .all(|other| wanted.contains(other) || !glob::matches(pattern, other))
        };
        let several =
            |pattern: &String| left.iter().filter(|other| glob::matches(pattern, other)).count() > 1;
        let general = open
            .iter()
            .map(|mask| pattern(id, *mask))
            .find(|pattern| fits(pattern) && several(pattern));
        let chosen = general.unwrap_or_else(|| id.to_owned());
        left.retain(|other| !glob::matches(&chosen, other));
        found.push(chosen);
    }
    found
}

/// `unary/relu`.
fn op_of(id: &str) -> &str {
    id.split([':', '(']).next().unwrap_or(id)
}

/// The id with the parts of `mask` left open; neighbours share a star.
fn pattern(id: &str, mask: u32) -> String {
    let open = |part: Part| {
        PARTS
            .iter()
            .zip(0..)
            .any(|(other, bit)| *other == part && mask & (1 << bit) != 0)
    };
    let parts: Vec<&str> = id.split(':').collect();
    let [op, dtypes, shapes, layouts, values] = parts[..] else {
        return id.to_owned();
    };
    let op = match op.split_once('(') {
        Some((name, _)) if open(Part::Params) => format!("{name}(*)"),
        _ => op.to_owned(),
    };
    let rest = [
        (Part::Dtypes, dtypes),
        (Part::Shapes, shapes),
        (Part::Layouts, layouts),
        (Part::Values, values),
    ];
    let mut words = vec![op.as_str()];
    for (part, word) in rest {
        match (open(part), words.last()) {
            (true, Some(&"*")) => {}
            (true, _) => words.push("*"),
            (false, _) => words.push(word),
        }
    }
    words.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(wanted: &[&str], others: &[&str]) -> Vec<String> {
        let all: Vec<String> = wanted.iter().chain(others).map(|id| (*id).to_owned()).collect();
        let found = patterns(&wanted.iter().copied().collect(), &all);
        for id in &all {
            let matched = found.iter().any(|pattern| glob::matches(pattern, id));
            assert_eq!(matched, wanted.contains(&id.as_str()), "{id} and {found:?}");
        }
        found
    }

    #[test]
    fn a_pattern_is_as_wide_as_the_failures_and_no_wider() {
        let wanted = [
            "unary/relu:f16:[9]:contiguous:nan",
            "unary/relu:f32:[9]:contiguous:nan",
            "unary/relu:f32:[3,5]:transposed:nan",
        ];
        assert_eq!(of(&wanted, &[]), ["unary/relu:*"]);
        assert_eq!(
            of(&wanted, &["unary/relu:f32:[9]:contiguous:any"]),
            ["unary/relu:*:nan"]
        );
        let others = [
            "unary/relu:f64:[9]:contiguous:nan",
            "unary/relu:f32:[9]:contiguous:any",
        ];
        assert_eq!(
            of(&wanted, &others),
            ["unary/relu:f16:[9]:contiguous:nan", "unary/relu:f32:*:nan"]
        );
    }

    #[test]
    fn parameters_are_left_open_between_their_parentheses() {
        let wanted = [
            "reduce/max(0):f32:[9]:contiguous:nan",
            "reduce/max(1):f32:[3,9]:contiguous:nan",
        ];
        let others = ["reduce/max(0):f32:[9]:contiguous:any"];
        assert_eq!(of(&wanted, &others), ["reduce/max(*):*:nan"]);
    }

    #[test]
    fn a_single_case_is_named_in_full() {
        let one = "unary/relu:f16:[9]:contiguous:nan";
        assert_eq!(of(&[one], &["unary/exp:f16:[9]:contiguous:nan"]), [one]);
    }

    #[test]
    fn another_op_whose_name_begins_alike_is_not_meant() {
        let wanted = [
            "unary/gelu:f16:[9]:contiguous:nan",
            "unary/gelu:f32:[9]:contiguous:nan",
        ];
        assert_eq!(
            of(&wanted, &["unary/gelu_erf:f32:[9]:contiguous:nan"]),
            ["unary/gelu:*"]
        );
    }
}
