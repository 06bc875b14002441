//! What has to change in findings so that they say what a run shows. Pure: reads and writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::{
    Case, CaseId, Family, Verdict,
    findings::{Findings, Known, Predicate, narrow},
    record::CaseResult,
};

/// What is known about one backend.
pub(super) struct Evidence<'a> {
    pub(super) backend: &'a str,
    /// Every case of the specs.
    pub(super) all: &'a [Case],
    /// Cases that were run, with what became of them.
    pub(super) results: Vec<(Case, &'a CaseResult)>,
}

/// A row of a finding, by the places of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowAt {
    pub(super) finding: usize,
    pub(super) row: usize,
}

/// A new row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Added {
    pub(super) family: Family,
    pub(super) predicate: Predicate,
    pub(super) verdict: Verdict,
    /// Cases it explains.
    pub(super) cases: usize,
}

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowChange {
    /// No case of the specs is meant: it goes, for every backend.
    Stale,
    /// None of its cases fails so on the backend any more: it is no longer about the backend.
    Left,
    /// Some of its cases still fail so on the backend, and these predicates mean them.
    Narrowed(Vec<Predicate>),
}

/// What has to change.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BaselineChanges {
    /// Rows that change, and why.
    pub(super) rows: BTreeMap<RowAt, (RowChange, String)>,
    pub(super) added: Vec<Added>,
    /// Failures that no finding can explain.
    pub(super) left: Vec<(CaseId, Verdict)>,
}

impl BaselineChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.added.is_empty()
    }
}

/// Every row with its place.
pub(super) fn rows(findings: &Findings) -> impl Iterator<Item = (RowAt, Known<'_>)> {
    findings.findings.iter().enumerate().flat_map(|(i, finding)| {
        let rows = finding.rows.iter().enumerate();
        rows.map(move |(row, of)| (RowAt { finding: i, row }, Known { finding, row: of }))
    })
}

impl Evidence<'_> {
    /// Whether the run was judged by these findings.
    ///
    /// # Errors
    /// A case of which the findings say something else.
    pub(super) fn fits(&self, findings: &Findings) -> Result<(), CaseId> {
        let fits = |case: &Case, verdict: Verdict| {
            let mut about = findings.about(self.backend, case);
            match verdict {
                Verdict::KnownFailure => about.next().is_some(),
                Verdict::UnexpectedPass => about.any(|known| !known.row.may_pass),
                verdict if verdict.fails_run() => about.all(|known| known.row.verdict != verdict),
                _ => about.all(|known| known.row.may_pass),
            }
        };
        let mut results = self.results.iter();
        let other = results.find(|(case, result)| !fits(case, result.verdict));
        other.map_or(Ok(()), |(case, _)| Err(case.id()))
    }

    /// The changes to findings that [`Evidence::fits`].
    pub(super) fn changes(&self, findings: &Findings) -> BaselineChanges {
        let mut changes = BaselineChanges::default();
        let verdicts: BTreeMap<CaseId, Verdict> = self
            .results
            .iter()
            .map(|(case, result)| (case.id(), result.verdict))
            .collect();
        for (at, known) in rows(findings) {
            let cases: Vec<CaseId> = self
                .all
                .iter()
                .filter(|case| known.row.cases.matches(case))
                .map(Case::id)
                .collect();
            let change = if cases.is_empty() {
                Some((RowChange::Stale, "it matches no case".to_owned()))
            } else if known.row.is_about(self.backend) {
                self.keep(known, &cases, &verdicts)
            } else {
                None
            };
            changes.rows.extend(change.map(|change| (at, change)));
        }
        self.add(&verdicts, &mut changes);
        changes
    }

    /// What becomes of a row about the backend, of which these are the cases.
    fn keep(
        &self,
        known: Known<'_>,
        cases: &[CaseId],
        verdicts: &BTreeMap<CaseId, Verdict>,
    ) -> Option<(RowChange, String)> {
        let passes = |id: &CaseId| verdicts.get(id) == Some(&Verdict::UnexpectedPass) && !known.row.may_pass;
        let otherwise = |id: &CaseId| verdicts.get(id).is_some_and(|verdict| fails_anew(*verdict));
        let passing = cases.iter().filter(|id| passes(id)).count();
        let failing = cases.iter().filter(|id| otherwise(id)).count();
        if passing + failing == 0 {
            return None;
        }
        let stays = |id: &&CaseId| !passes(id) && !otherwise(id);
        let rest: BTreeSet<CaseId> = cases.iter().filter(stays).cloned().collect();
        let why = format!(
            "of {} cases {passing} pass and {failing} fail in another way",
            cases.len()
        );
        let change = match rest.is_empty() {
            true => RowChange::Left,
            false => RowChange::Narrowed(narrow(&rest, self.all)),
        };
        Some((change, why))
    }

    /// The rows that failures need which no row explains.
    fn add(&self, verdicts: &BTreeMap<CaseId, Verdict>, changes: &mut BaselineChanges) {
        let specs: BTreeMap<CaseId, Family> = self
            .all
            .iter()
            .map(|case| (case.id(), case.op.family()))
            .collect();
        let mut by_cause: BTreeMap<(Family, Verdict), BTreeSet<CaseId>> = BTreeMap::new();
        for (id, verdict) in verdicts {
            if !verdict.fails_run() || *verdict == Verdict::UnexpectedPass {
                continue;
            }
            match specs.get(id).filter(|_| *verdict != Verdict::NotRun) {
                Some(family) => by_cause
                    .entry((*family, *verdict))
                    .or_default()
                    .insert(id.clone()),
                None => {
                    changes.left.push((id.clone(), *verdict));
                    false
                }
            };
        }
        for ((family, verdict), ids) in by_cause {
            for predicate in narrow(&ids, self.all) {
                let cases = self.all.iter().filter(|case| predicate.matches(case)).count();
                changes.added.push(Added {
                    family,
                    predicate,
                    verdict,
                    cases,
                });
            }
        }
    }

    /// A case whose result new findings do not explain, if there is one that they could.
    pub(super) fn unexplained(&self, new: &Findings) -> Option<CaseId> {
        let specs: BTreeSet<CaseId> = self.all.iter().map(Case::id).collect();
        let explained = |case: &Case, verdict: Verdict| {
            let mut about = new.about(self.backend, case);
            match verdict {
                Verdict::NotRun => true,
                Verdict::KnownFailure => about.next().is_some(),
                verdict if fails_anew(verdict) => {
                    !specs.contains(&case.id()) || about.any(|known| known.row.verdict == verdict)
                }
                _ => about.all(|known| known.row.may_pass),
            }
        };
        let mut results = self.results.iter();
        let lost = results.find(|(case, result)| !explained(case, result.verdict));
        lost.map(|(case, _)| case.id())
    }
}

/// Whether a case fails, and not as a row says.
fn fails_anew(verdict: Verdict) -> bool {
    verdict.fails_run() && verdict != Verdict::UnexpectedPass && verdict != Verdict::NotRun
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELU: &str = r#"
title = "relu"
class = "unexplained"
reason = "a"
matches = [
  { op = ["relu"], values = ["nan"], backends = ["cpu"], verdict = "mismatch" },
  { op = ["log"], backends = ["rocm"], verdict = "mismatch" },
]
"#;

    fn findings() -> Findings {
        crate::findings::parse(&[("relu", "relu.toml".to_owned(), RELU)]).unwrap()
    }

    fn result(verdict: Verdict) -> CaseResult {
        let json = format!(
            r#"{{"verdict":"{}","vs_oracle":null,"vs_reference":null,"note":null,"fallbacks":[],"served_by":[],"millis":0.0}}"#,
            verdict.name()
        );
        serde_json::from_str(&json).unwrap()
    }

    fn relu(dtype: &str, values: &str) -> Case {
        format!("unary/relu:{dtype}:[9]:contiguous:{values}")
            .parse()
            .unwrap()
    }

    /// The changes that verdicts on `relu` of f16, f32 and f64 with NaN, and of f32 without, ask for.
    fn changes(verdicts: [Verdict; 4]) -> BaselineChanges {
        let all = [
            relu("f16", "nan"),
            relu("f32", "nan"),
            relu("f64", "nan"),
            relu("f32", "any"),
        ];
        let results = verdicts.map(result);
        let evidence = Evidence {
            backend: "cpu",
            all: &all,
            results: all.iter().cloned().zip(&results).collect(),
        };
        assert_eq!(evidence.fits(&findings()), Ok(()));
        evidence.changes(&findings())
    }

    const NAN: RowAt = RowAt { finding: 0, row: 0 };
    const GONE: RowAt = RowAt { finding: 0, row: 1 };

    use Verdict::{Crash, KnownFailure, Mismatch, NotRun, Pass, UnexpectedPass};

    #[test]
    fn a_row_that_still_holds_stays_and_one_without_cases_goes() {
        let found = changes([KnownFailure, KnownFailure, KnownFailure, Pass]);
        assert_eq!(found.rows.keys().collect::<Vec<_>>(), [&GONE]);
        assert_eq!(found.rows[&GONE].0, RowChange::Stale);
        assert!(found.added.is_empty(), "{found:?}");
    }

    #[test]
    fn a_row_goes_when_all_its_cases_pass_and_shrinks_when_some_do() {
        let found = changes([UnexpectedPass, UnexpectedPass, UnexpectedPass, Pass]);
        assert_eq!(found.rows[&NAN].0, RowChange::Left);
        let found = changes([KnownFailure, UnexpectedPass, KnownFailure, Pass]);
        let RowChange::Narrowed(predicates) = &found.rows[&NAN].0 else {
            panic!("{found:?}")
        };
        assert_eq!(
            predicates.len(),
            1,
            "they differ in the dtype alone: {predicates:?}"
        );
        assert!(
            predicates[0].to_string().contains(r#"dtype = ["f16", "f64"]"#),
            "{predicates:?}"
        );
    }

    #[test]
    fn a_case_that_fails_otherwise_leaves_its_row_for_a_new_one() {
        let found = changes([KnownFailure, Crash, KnownFailure, Mismatch]);
        assert!(matches!(found.rows[&NAN].0, RowChange::Narrowed(_)));
        let added: Vec<_> = found
            .added
            .iter()
            .map(|added| (added.verdict, added.cases))
            .collect();
        assert_eq!(added, [(Mismatch, 1), (Crash, 1)]);
        assert!(found.added.iter().all(|added| added.family == Family::Unary));
    }

    #[test]
    fn what_never_ran_is_no_known_failure() {
        let found = changes([NotRun, KnownFailure, KnownFailure, Pass]);
        assert_eq!(found.left, [(relu("f16", "nan").id(), NotRun)]);
        assert!(found.added.is_empty() && !found.rows.contains_key(&NAN));
    }

    #[test]
    fn a_run_that_was_judged_by_other_findings_does_not_fit() {
        let all = [relu("f32", "nan"), relu("f32", "any")];
        for (verdict, i) in [(Mismatch, 0), (Pass, 0), (KnownFailure, 1), (UnexpectedPass, 1)] {
            let result = result(verdict);
            let evidence = Evidence {
                backend: "cpu",
                all: &all,
                results: vec![(all[i].clone(), &result)],
            };
            assert_eq!(evidence.fits(&findings()), Err(all[i].id()), "{}", verdict.name());
        }
    }
}
