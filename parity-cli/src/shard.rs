//! Parts of a plan: which case is in which, and what a record of a part must say.

use parity_model::{Case, record::Shard};

use crate::{
    digest,
    exit::{Exit, Failure},
};

/// Part `index` of `of`, from 1: `2/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    index: usize,
    of: usize,
}

/// A text that names no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadPart(String);

impl std::fmt::Display for BadPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BadPart(text) = self;
        write!(
            f,
            "bad --shard `{text}`: expected I/N with I from 1 to N, e.g. `2/4` for the second of four parts"
        )
    }
}

impl std::str::FromStr for Part {
    type Err = BadPart;

    fn from_str(text: &str) -> Result<Part, BadPart> {
        let bad = || BadPart(text.to_owned());
        let (index, of) = text.split_once('/').ok_or_else(bad)?;
        let (index, of) = (index.parse().map_err(|_| bad())?, of.parse().map_err(|_| bad())?);
        if index == 0 || index > of {
            return Err(bad());
        }
        Ok(Part { index, of })
    }
}

impl Part {
    /// The part's cases of a plan. An id alone decides, so that a case stays in its part when others come or go.
    pub(crate) fn of(self, cases: Vec<Case>) -> Result<(Vec<Case>, Shard), Failure> {
        let Part { index, of } = self;
        let (planned, plan) = (cases.len(), digest::plan(&cases));
        let mine = |case: &Case| digest::number(case.id().as_str()) % of as u64 == (index - 1) as u64;
        let kept: Vec<_> = cases
            .into_iter()
            .enumerate()
            .filter(|(_, case)| mine(case))
            .collect();
        if kept.is_empty() {
            let message = format!(
                "shard {index}/{of} is empty: none of the {planned} selected cases falls into it; use fewer shards"
            );
            return Err(Failure::new(Exit::NothingMatched, message));
        }
        let (places, cases) = kept.into_iter().unzip();
        let shard = Shard {
            index,
            of,
            planned,
            plan,
            places,
        };
        Ok((cases, shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases of these sizes.
    fn plan(sizes: std::ops::Range<usize>) -> Vec<Case> {
        let id = |size| format!("unary/neg:f32:[{size}]:contiguous:uniform(1,2)");
        sizes.map(|size| id(size).parse().unwrap()).collect()
    }

    const SIZES: std::ops::Range<usize> = 1..41;

    #[test]
    fn the_parts_hold_every_case_once() {
        let part = |index| Part { index, of: 3 }.of(plan(SIZES)).unwrap();
        let mut places: Vec<usize> = (1..=3).flat_map(|index| part(index).1.places).collect();
        places.sort_unstable();
        assert_eq!(places, (0..40).collect::<Vec<_>>());
        let (cases, shard) = part(2);
        for (case, place) in cases.iter().zip(shard.places) {
            assert_eq!(*case, plan(SIZES)[place]);
        }
    }

    #[test]
    fn a_case_stays_in_its_part_when_others_go() {
        let part = Part { index: 1, of: 2 };
        let (all, _) = part.of(plan(SIZES)).unwrap();
        let (fewer, _) = part.of(plan(20..41)).unwrap();
        let kept = plan(20..41);
        assert!(fewer.iter().all(|case| all.contains(case)));
        assert!(
            all.iter()
                .filter(|case| kept.contains(case))
                .all(|case| fewer.contains(case))
        );
    }

    #[test]
    fn an_empty_part_is_no_success() {
        let neg = plan(1..2);
        let ends: Vec<_> = (1..=2)
            .map(|index| Part { index, of: 2 }.of(neg.clone()))
            .collect();
        let failure = ends.into_iter().find_map(Result::err).unwrap();
        assert_eq!(failure.exit, Exit::NothingMatched);
    }

    #[test]
    fn a_bad_part_is_met_with_a_good_one() {
        for text in ["", "3", "0/2", "3/2", "1/x", "-1/2", "1/0", "1/2/3"] {
            let message = text.parse::<Part>().unwrap_err().to_string();
            assert!(
                message.contains(&format!("`{text}`")) && message.contains("2/4"),
                "{message}"
            );
        }
        assert_eq!("2/4".parse(), Ok(Part { index: 2, of: 4 }));
    }
}
