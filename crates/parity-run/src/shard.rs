//! Parts of a plan: which case is in which, and what a record of a part must say.

use std::collections::BTreeMap;

use parity_model::{
    Case,
    record::{CaseRecord, RunRecord, Shard},
};

use crate::{digest, error::Error};

/// Part `index` of `of`, from 1: `2/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    index: usize,
    of: usize,
}

impl std::str::FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Part, Error> {
        let bad = || {
            Error::Settings(format!(
                "bad --shard `{text}`: expected I/N with I from 1 to N, e.g. `2/4` for the second of four parts"
            ))
        };
        let (index, of) = text.split_once('/').ok_or_else(bad)?;
        let (index, of) = (index.parse().map_err(|_| bad())?, of.parse().map_err(|_| bad())?);
        if index == 0 || index > of {
            return Err(bad());
        }
        Ok(Part { index, of })
    }
}

/// What a case costs besides its time on the backends, milliseconds: enough that cases too short to be measured are spread.
const OVERHEAD: f64 = 0.1;

/// How long the cases of an earlier run took.
#[derive(Debug)]
pub struct Times {
    /// Milliseconds on all backends together, by id.
    cases: BTreeMap<String, f64>,
    /// What is taken for a case that did not run then.
    mean: f64,
}

impl Times {
    /// The times of a stored run.
    pub fn of(run: &RunRecord) -> Times {
        let millis = |case: &CaseRecord| case.results.iter().map(|result| result.millis).sum();
        let cases: BTreeMap<_, f64> = run
            .cases
            .iter()
            .map(|case| (case.id.clone(), millis(case)))
            .collect();
        let mean = cases.values().sum::<f64>() / cases.len().max(1) as f64;
        Times { cases, mean }
    }

    fn of_case(&self, id: &str) -> f64 {
        let millis = self.cases.get(id).copied().unwrap_or(self.mean);
        OVERHEAD + if millis.is_finite() { millis } else { self.mean }
    }

    /// The part, from 0, of each of the cases: the longest first, each where there is least to do yet. The same times and
    /// the same cases give the same parts everywhere.
    fn share_out(&self, ids: &[String], parts: usize) -> Vec<usize> {
        let mut order: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(i, id)| (self.of_case(id), id, i))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut loads = vec![0.0; parts];
        let mut owners = vec![0; ids.len()];
        for (millis, _, i) in order {
            let least = (0..parts).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b]));
            // There is at least one part.
            let least = least.unwrap_or(0);
            loads[least] += millis;
            owners[i] = least;
        }
        owners
    }
}

impl Part {
    /// The part's cases of a plan. Without times an id alone decides, so that a case stays in its part when others come or
    /// go; with times the parts take about as long as each other.
    pub(crate) fn of(self, cases: Vec<Case>, times: Option<&Times>) -> Result<(Vec<Case>, Shard), Error> {
        let Part { index, of } = self;
        let (planned, plan) = (cases.len(), digest::plan(&cases));
        let ids: Vec<_> = cases.iter().map(|case| case.id().to_string()).collect();
        let owners = match times {
            None => ids
                .iter()
                .map(|id| (digest::number(id) % of as u64) as usize)
                .collect(),
            Some(times) => times.share_out(&ids, of),
        };
        let kept: Vec<_> = cases
            .into_iter()
            .enumerate()
            .filter(|(i, _)| owners[*i] == index - 1)
            .collect();
        if kept.is_empty() {
            return Err(Error::Nothing(format!(
                "shard {index}/{of} is empty: none of the {planned} selected cases falls into it; use fewer shards"
            )));
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
        let part = |index| Part { index, of: 3 }.of(plan(SIZES), None).unwrap();
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
        let (all, _) = part.of(plan(SIZES), None).unwrap();
        let (fewer, _) = part.of(plan(20..41), None).unwrap();
        let kept = plan(20..41);
        assert!(fewer.iter().all(|case| all.contains(case)));
        assert!(
            all.iter()
                .filter(|case| kept.contains(case))
                .all(|case| fewer.contains(case))
        );
    }

    /// What the case in a place takes: the first as long as all others.
    fn millis(place: usize) -> f64 {
        if place == 0 { 39.0 } else { 1.0 }
    }

    /// The places of two parts that are balanced by those times.
    fn balanced() -> [Vec<usize>; 2] {
        let ids = plan(SIZES).into_iter().map(|case| case.id().to_string());
        let times = Times {
            cases: ids.enumerate().map(|(i, id)| (id, millis(i))).collect(),
            mean: 1.0,
        };
        [1, 2].map(|index| {
            let part = Part { index, of: 2 }.of(plan(SIZES), Some(&times));
            part.unwrap().1.places
        })
    }

    #[test]
    fn with_times_the_parts_take_equally_long() {
        let [a, b] = balanced().map(|places| places.into_iter().map(millis).sum::<f64>());
        assert!((a - b).abs() <= 4.0, "{a} and {b}");
    }

    #[test]
    fn with_times_the_parts_hold_every_case_once() {
        let mut all = balanced().concat();
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn a_case_that_was_never_measured_counts_as_the_mean() {
        let times = Times {
            cases: BTreeMap::from([("known".to_owned(), 3.0)]),
            mean: 3.0,
        };
        assert_eq!(times.of_case("new"), times.of_case("known"));
    }

    #[test]
    fn an_empty_part_is_no_success() {
        let neg = plan(1..2);
        let ends: Vec<_> = (1..=2)
            .map(|index| Part { index, of: 2 }.of(neg.clone(), None))
            .collect();
        let error = ends.into_iter().find_map(Result::err).unwrap();
        assert!(matches!(error, Error::Nothing(_)), "{error}");
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
        assert_eq!("2/4".parse::<Part>().unwrap(), Part { index: 2, of: 4 });
    }
}
