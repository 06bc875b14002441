//! What has to change in a list of known failures so that it says what a run shows. Pure: reads and writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::{
    Verdict, glob,
    known::{Known, KnownFailures},
    record::CaseResult,
};

use super::patterns::patterns;

/// What is known about one backend.
pub(super) struct Evidence<'a> {
    pub(super) backend: &'a str,
    /// Every case of the specs.
    pub(super) ids: &'a [String],
    /// Cases that were run, with what became of them.
    pub(super) results: &'a [(&'a str, &'a CaseResult)],
}

/// A new entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) pattern: String,
    pub(super) verdict: Verdict,
    /// Cases it explains.
    pub(super) cases: usize,
}

/// What has to change. Entries go by their place in the list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Entries to remove, and why.
    pub(super) removed: Vec<(usize, String)>,
    /// Entries that some of their cases have left, the patterns of the others, and why.
    pub(super) narrowed: Vec<(usize, Vec<String>, String)>,
    pub(super) added: Vec<Added>,
    /// Failures that a list cannot explain.
    pub(super) left: Vec<(String, Verdict)>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.narrowed.is_empty() && self.added.is_empty()
    }
}

/// The entries that are about a case on a backend.
fn about<'k>(known: &'k KnownFailures, backend: &str, id: &str) -> Vec<&'k Known> {
    let about = |entry: &&Known| entry.is_on(backend) && entry.names(id);
    known.entries.iter().filter(about).collect()
}

impl Evidence<'_> {
    /// Whether the run was judged by this list.
    ///
    /// # Errors
    /// A case of which the list says something else.
    pub(super) fn fits(&self, known: &KnownFailures) -> Result<(), String> {
        let fits = |id: &str, verdict: Verdict| {
            let entries = about(known, self.backend, id);
            match verdict {
                Verdict::KnownFailure => !entries.is_empty(),
                Verdict::UnexpectedPass => entries.iter().any(|entry| !entry.may_pass),
                verdict if verdict.fails_run() => entries.iter().all(|entry| entry.verdict != verdict),
                _ => entries.iter().all(|entry| entry.may_pass),
            }
        };
        let mut results = self.results.iter();
        let other = results.find(|(id, result)| !fits(id, result.verdict));
        other.map_or(Ok(()), |(id, _)| Err((*id).to_owned()))
    }

    /// The changes to a list that [`Evidence::fits`].
    pub(super) fn changes(&self, known: &KnownFailures) -> Changes {
        let mut changes = Changes::default();
        let results = self.results.iter();
        let verdicts: BTreeMap<&str, Verdict> = results.map(|(id, result)| (*id, result.verdict)).collect();
        for (i, entry) in known.entries.iter().enumerate() {
            let ids = self.ids.iter().map(String::as_str);
            let cases: Vec<&str> = ids.filter(|id| entry.names(id)).collect();
            if cases.is_empty() {
                changes.removed.push((i, "it matches no case".to_owned()));
            } else if entry.backend == self.backend {
                self.keep(i, entry, &cases, &verdicts, &mut changes);
            }
        }
        self.add(&verdicts, &mut changes);
        changes
    }

    /// What becomes of an entry of which these are the cases.
    fn keep(
        &self,
        i: usize,
        entry: &Known,
        cases: &[&str],
        verdicts: &BTreeMap<&str, Verdict>,
        changes: &mut Changes,
    ) {
        let passes = |id: &str| verdicts.get(id) == Some(&Verdict::UnexpectedPass) && !entry.may_pass;
        let otherwise = |id: &str| verdicts.get(id).is_some_and(|verdict| fails_anew(*verdict));
        let passing = cases.iter().filter(|id| passes(id)).count();
        let failing = cases.iter().filter(|id| otherwise(id)).count();
        if passing + failing == 0 {
            return;
        }
        let stays = |id: &&&str| !passes(id) && !otherwise(id);
        let rest: BTreeSet<&str> = cases.iter().filter(stays).copied().collect();
        let why = format!(
            "of {} cases {passing} pass and {failing} fail in another way",
            cases.len()
        );
        if rest.is_empty() {
            changes.removed.push((i, why));
        } else {
            changes.narrowed.push((i, patterns(&rest, self.ids), why));
        }
    }

    /// The entries that failures need which no entry explains.
    fn add(&self, verdicts: &BTreeMap<&str, Verdict>, changes: &mut Changes) {
        let specs: BTreeSet<&str> = self.ids.iter().map(String::as_str).collect();
        let mut by_verdict: BTreeMap<Verdict, BTreeSet<&str>> = BTreeMap::new();
        for (id, verdict) in verdicts {
            if !verdict.fails_run() || *verdict == Verdict::UnexpectedPass {
                continue;
            }
            if *verdict == Verdict::NotRun || !specs.contains(id) {
                changes.left.push(((*id).to_owned(), *verdict));
            } else {
                by_verdict.entry(*verdict).or_default().insert(id);
            }
        }
        for (verdict, ids) in by_verdict {
            changes
                .added
                .extend(patterns(&ids, self.ids).into_iter().map(|pattern| Added {
                    verdict,
                    cases: ids.iter().filter(|id| glob::matches(&pattern, id)).count(),
                    pattern,
                }));
        }
    }

    /// A case whose result a new list does not explain, if there is one that it could.
    pub(super) fn unexplained(&self, new: &KnownFailures) -> Option<String> {
        let specs: BTreeSet<&str> = self.ids.iter().map(String::as_str).collect();
        let explained = |id: &str, verdict: Verdict| {
            let entries = about(new, self.backend, id);
            match verdict {
                Verdict::NotRun => true,
                Verdict::KnownFailure => !entries.is_empty(),
                verdict if fails_anew(verdict) => {
                    !specs.contains(id) || entries.iter().any(|entry| entry.verdict == verdict)
                }
                _ => entries.iter().all(|entry| entry.may_pass),
            }
        };
        let mut results = self.results.iter();
        let lost = results.find(|(id, result)| !explained(id, result.verdict));
        lost.map(|(id, _)| (*id).to_owned())
    }
}

/// Whether a case fails, and not as an entry says.
fn fails_anew(verdict: Verdict) -> bool {
    verdict.fails_run() && verdict != Verdict::UnexpectedPass && verdict != Verdict::NotRun
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"
[[known]]
id = "unary/relu:*:nan"
backend = "one"
verdict = "mismatch"
reason = "a"

[[known]]
id = "unary/gone:*"
backend = "two"
verdict = "mismatch"
reason = "b"
"#;

    fn known() -> KnownFailures {
        KnownFailures::parse("k.toml", LIST).unwrap()
    }

    fn result(verdict: Verdict) -> CaseResult {
        let json = format!(
            r#"{{"verdict":"{}","vs_oracle":null,"vs_reference":null,"note":null,"fallbacks":[],"served_by":[],"millis":0.0}}"#,
            verdict.name()
        );
        serde_json::from_str(&json).unwrap()
    }

    fn relu(dtype: &str, values: &str) -> String {
        format!("unary/relu:{dtype}:[9]:contiguous:{values}")
    }

    /// The changes that verdicts on `relu` of f16, f32 and f64 with NaN, and of f32 without, ask for.
    fn changes(verdicts: [Verdict; 4]) -> Changes {
        let ids = [
            relu("f16", "nan"),
            relu("f32", "nan"),
            relu("f64", "nan"),
            relu("f32", "any"),
        ];
        let results = verdicts.map(result);
        let results: Vec<_> = ids.iter().map(String::as_str).zip(&results).collect();
        let evidence = Evidence {
            backend: "one",
            ids: &ids,
            results: &results,
        };
        assert_eq!(evidence.fits(&known()), Ok(()));
        evidence.changes(&known())
    }

    use Verdict::{Crash, KnownFailure, Mismatch, NotRun, Pass, UnexpectedPass};

    #[test]
    fn an_entry_that_still_holds_stays_and_one_without_cases_goes() {
        let found = changes([KnownFailure, KnownFailure, KnownFailure, Pass]);
        assert_eq!(found.removed, [(1, "it matches no case".to_owned())]);
        assert!(found.narrowed.is_empty() && found.added.is_empty(), "{found:?}");
    }

    #[test]
    fn an_entry_goes_when_all_its_cases_pass_and_shrinks_when_some_do() {
        let found = changes([UnexpectedPass, UnexpectedPass, UnexpectedPass, Pass]);
        assert_eq!(found.removed[0].0, 0);
        let found = changes([KnownFailure, UnexpectedPass, KnownFailure, Pass]);
        assert_eq!(found.narrowed[0].1, [relu("f16", "nan"), relu("f64", "nan")]);
    }

    #[test]
    fn a_case_that_fails_otherwise_leaves_its_entry_for_a_new_one() {
        let found = changes([KnownFailure, Crash, KnownFailure, Mismatch]);
        assert_eq!(found.narrowed[0].0, 0);
        let added: Vec<_> = found
            .added
            .iter()
            .map(|added| (added.pattern.clone(), added.verdict))
            .collect();
        assert_eq!(
            added,
            [(relu("f32", "any"), Mismatch), (relu("f32", "nan"), Crash)]
        );
    }

    #[test]
    fn what_never_ran_is_no_known_failure() {
        let found = changes([NotRun, KnownFailure, KnownFailure, Pass]);
        assert_eq!(found.left, [(relu("f16", "nan"), NotRun)]);
        assert!(found.added.is_empty() && found.narrowed.is_empty());
    }

    #[test]
    fn a_run_that_was_judged_by_another_list_does_not_fit() {
        let ids = [relu("f32", "nan"), relu("f32", "any")];
        for (verdict, id) in [(Mismatch, 0), (Pass, 0), (KnownFailure, 1), (UnexpectedPass, 1)] {
            let result = result(verdict);
            let results = [(ids[id].as_str(), &result)];
            let evidence = Evidence {
                backend: "one",
                ids: &ids,
                results: &results,
            };
            assert_eq!(
                evidence.fits(&known()),
                Err(ids[id].clone()),
                "{}",
                verdict.name()
            );
        }
    }
}
