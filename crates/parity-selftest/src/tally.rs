//! Examinations added up: which fault goes unnoticed by every case of an op.

use std::collections::BTreeMap;

use parity_model::{Case, CaseId, DType, Op, Verdict};

use crate::declared::Declared;
use crate::examine::{Counts, Examination};
use crate::perturbation::PERTURBATIONS;

/// An op and a perturbation that at least one of its cases has a place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The op.
    pub op: Op,
    /// The perturbation's name.
    pub perturbation: &'static str,
    /// Outputs of all cases.
    pub counts: Counts,
    /// The dtypes of data in which no case notices it.
    pub blind: Vec<DType>,
    /// A case that let one pass: of a blind dtype, where there is one.
    pub survivor: Option<CaseId>,
    /// Why it is right that none is noticed, where that is declared.
    pub declared: Option<&'static str>,
}

impl Pair {
    /// Whether a case notices it.
    pub fn killed(&self) -> bool {
        self.counts.killed() > 0
    }

    /// Whether no case notices it, and no reason is declared.
    pub fn survives(&self) -> bool {
        !self.killed() && self.declared.is_none()
    }
}

/// How many of `pairs` are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Noticed by a case.
    pub killed: usize,
    /// Noticed by none, for a declared reason.
    pub declared: usize,
    /// Noticed by none.
    pub survived: usize,
}

impl Score {
    /// Counts `pairs`.
    pub fn of(pairs: &[Pair]) -> Score {
        let killed = pairs.iter().filter(|pair| pair.killed()).count();
        let survived = pairs.iter().filter(|pair| pair.survives()).count();
        Score {
            killed,
            declared: pairs.len() - killed - survived,
            survived,
        }
    }

    /// Whether at least `percent` of the pairs are noticed, those with a declared reason left out. Of none, none are.
    pub fn reaches(&self, percent: f64) -> bool {
        let all = self.killed + self.survived;
        all > 0 && self.killed as f64 * 100.0 >= percent * all as f64
    }
}

/// Why a declared entry has to go, if it has: one of `pairs` shows that its fault is noticed; or, where `whole` says that
/// they are those of all cases of all specs, none of them is its.
pub fn stale(entry: &Declared, pairs: &[Pair], whole: bool) -> Option<&'static str> {
    match pairs.iter().find(|pair| entry.is(pair.op, pair.perturbation)) {
        Some(pair) if pair.killed() => Some("a case notices it"),
        None if whole => Some("no case has a place for it"),
        Some(_) | None => None,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cell {
    counts: Counts,
    survivor: Option<CaseId>,
}

/// Examinations of many cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    cells: BTreeMap<(Op, usize, DType), Cell>,
    /// Cases examined.
    pub cases: usize,
    /// Cases whose right output is untrusted.
    pub untrusted: usize,
    /// Cases whose right output is not passed, which none should be.
    pub refused: Vec<CaseId>,
}

impl Tally {
    /// Adds the examination of `case`.
    pub fn add(&mut self, case: &Case, examination: &Examination) {
        self.cases += 1;
        match examination.right {
            Verdict::Untrusted => self.untrusted += 1,
            verdict if verdict.fails_run() => self.refused.push(case.id()),
            _ => {}
        }
        for (i, counts) in examination.wrong.iter().enumerate() {
            if counts.applicable() == 0 {
                continue;
            }
            let cell = self.cells.entry((case.op, i, case.dtype)).or_default();
            cell.counts.add(*counts);
            if counts.survived > 0 && cell.survivor.is_none() {
                cell.survivor = Some(case.id());
            }
        }
    }

    /// The pairs, by op and in the table's order of perturbations.
    pub fn pairs(&self, declared: &[Declared]) -> Vec<Pair> {
        let mut pairs: Vec<Pair> = Vec::new();
        for (&(op, i, dtype), cell) in &self.cells {
            let perturbation = PERTURBATIONS[i].name;
            let known = pairs
                .last()
                .is_some_and(|last| (last.op, last.perturbation) == (op, perturbation));
            if !known {
                let entry = declared.iter().find(|entry| entry.is(op, perturbation));
                pairs.push(Pair {
                    op,
                    perturbation,
                    counts: Counts::default(),
                    blind: Vec::new(),
                    survivor: None,
                    declared: entry.map(|entry| entry.reason),
                });
            }
            let Some(pair) = pairs.last_mut() else { continue };
            pair.counts.add(cell.counts);
            let blind = cell.counts.killed() == 0;
            if pair.survivor.is_none() || blind && pair.blind.is_empty() {
                pair.survivor.clone_from(&cell.survivor);
            }
            pair.blind.extend(blind.then_some(dtype));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examine;

    const REASON: &str = "a reason";

    /// The tally of one case with a limit of its own.
    fn tally(id: &str, limit: parity_model::LimitSpec) -> Tally {
        let mut case: Case = id.parse().unwrap();
        case.limit = limit;
        let mut tally = Tally::default();
        tally.add(&case, &examine(&case, 0, |_| true));
        tally
    }

    #[test]
    fn a_pair_that_no_case_kills_names_a_case_and_its_declared_reason() {
        let id = "unary/exp:f32:[9]:contiguous:uniform(-1,1)";
        let blind = parity_model::LimitSpec::Fixed {
            ulp: 1e30,
            abs: 1e30,
            source: "planted".into(),
        };
        let declared = [Declared {
            op: "exp",
            perturbation: "zeros",
            reason: REASON,
        }];
        let find = |tally: &Tally, name: &str| -> Pair {
            let pairs = tally.pairs(&declared);
            pairs.into_iter().find(|pair| pair.perturbation == name).unwrap()
        };
        let zeros = find(&tally(id, blind.clone()), "zeros");
        assert!(!zeros.killed());
        assert_eq!(zeros.survivor, Some(id.parse().unwrap()));
        assert_eq!(zeros.declared, Some(REASON));
        assert_eq!(find(&tally(id, blind.clone()), "stale").declared, None);
        let pairs = tally(id, blind.clone()).pairs(&declared);
        let score = Score::of(&pairs);
        assert_eq!(
            (score.killed, score.declared),
            (1, 1),
            "NaN is outside every limit"
        );
        assert_eq!(score.killed + score.declared + score.survived, pairs.len());
        assert!(!score.reaches(50.0) && score.reaches(1.0) && !Score::default().reaches(0.0));
        assert_eq!(stale(&declared[0], &pairs, true), None);
        assert!(stale(&declared[0], &[], true).is_some() && stale(&declared[0], &[], false).is_none());
        let sharp = find(&tally(id, parity_model::LimitSpec::Derived), "zeros");
        assert!(sharp.killed() && sharp.survivor.is_none(), "the control");
        assert!(stale(&declared[0], &[sharp], false).is_some(), "the control");
    }
}
