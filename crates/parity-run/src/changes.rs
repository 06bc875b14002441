//! What became of every result between two runs. Whether that is bad enough is the caller's to say.

use std::collections::BTreeMap;

use parity_model::{
    Metrics, Verdict,
    record::{CaseRecord, CaseResult, RunRecord},
};
use parity_report::agrees;

/// An error this many times the earlier one has grown.
const GROWTH: f64 = 10.0;

/// What an exact result counts as, in ULP: the expected value is rounded itself, so that nothing below half a unit shows.
const EXACT: f64 = 0.5;

/// What two results have to have in common to say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The verdict, who computed it, and an error of the same size.
    All,
    /// The verdict, whatever the error.
    Verdict,
}

/// How a result differs from that of the earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeClass {
    /// It is worse: it agreed and does not, or failed as known and fails otherwise.
    Broken,
    /// It agrees as before, with an error ten times the earlier one or more.
    Grew,
    /// Only the earlier run has it.
    Gone,
    /// Only the later run has it.
    New,
    /// It is better.
    Fixed,
    /// It is as good as before, with another verdict.
    Changed,
}

impl ChangeClass {
    /// Every class, the worst first.
    pub const ALL: [ChangeClass; 6] = [
        ChangeClass::Broken,
        ChangeClass::Grew,
        ChangeClass::Gone,
        ChangeClass::New,
        ChangeClass::Fixed,
        ChangeClass::Changed,
    ];

    /// The word the page uses.
    pub const fn name(self) -> &'static str {
        match self {
            ChangeClass::Broken => "broken",
            ChangeClass::Grew => "grew",
            ChangeClass::Gone => "gone",
            ChangeClass::New => "new",
            ChangeClass::Fixed => "fixed",
            ChangeClass::Changed => "changed",
        }
    }
}

/// One result that differs.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// How it differs.
    pub class: ChangeClass,
    /// The column.
    pub backend: &'a str,
    /// The later run's case, or the earlier one's where it is gone.
    pub case: &'a CaseRecord,
    /// The earlier run's result.
    pub before: Option<&'a CaseResult>,
    /// The later run's result.
    pub after: Option<&'a CaseResult>,
}

impl Change<'_> {
    /// Whether something got worse. A result that is gone counts only where it agreed.
    pub fn is_worse(&self) -> bool {
        match self.class {
            ChangeClass::Broken | ChangeClass::Grew => true,
            ChangeClass::Gone => self.before.is_some_and(|before| agrees(before.verdict)),
            ChangeClass::New => self.is_new_failure(),
            ChangeClass::Fixed | ChangeClass::Changed => false,
        }
    }

    /// Whether the later run fails here and the earlier did not.
    pub fn is_new_failure(&self) -> bool {
        let fails = |result: &CaseResult| result.verdict.fails_run();
        self.after.is_some_and(fails) && !self.before.is_some_and(fails)
    }
}

/// All that differs, and how much does not.
pub struct Changes<'a> {
    /// In the later run's order; what is gone comes last.
    pub list: Vec<Change<'a>>,
    /// Results that both runs have and that say the same.
    pub same: usize,
}

/// A case on a backend.
type ResultKey<'a> = (&'a str, &'a str);

fn results(run: &RunRecord) -> impl Iterator<Item = (ResultKey<'_>, (&CaseRecord, &CaseResult))> {
    run.cases.iter().flat_map(|case| {
        let columns = run.backends.iter().zip(&case.results);
        columns.map(move |(info, result)| ((case.id.as_str(), info.backend.as_str()), (case, result)))
    })
}

/// Compares two runs of the same seed.
pub fn changes<'a>(before: &'a RunRecord, after: &'a RunRecord, measure: Measure) -> Changes<'a> {
    let earlier: BTreeMap<_, _> = results(before).collect();
    let later: BTreeMap<_, _> = results(after).collect();
    let (mut list, mut same) = (Vec::new(), 0);
    for (key, (case, result)) in results(after) {
        let old = earlier.get(&key);
        let class = match old {
            None => Some(ChangeClass::New),
            Some((old_case, old)) => class_of((old_case, old), (case, result), measure),
        };
        match class {
            None => same += 1,
            Some(class) => list.push(Change {
                class,
                backend: key.1,
                case,
                before: old.map(|(_, old)| *old),
                after: Some(result),
            }),
        }
    }
    let gone = results(before).filter(|(key, _)| !later.contains_key(key));
    list.extend(gone.map(|((_, backend), (case, result))| Change {
        class: ChangeClass::Gone,
        backend,
        case,
        before: Some(result),
        after: None,
    }));
    Changes { list, same }
}

fn class_of(
    before: (&CaseRecord, &CaseResult),
    after: (&CaseRecord, &CaseResult),
    measure: Measure,
) -> Option<ChangeClass> {
    let ((old_case, old), (new_case, new)) = (before, after);
    let same_limit = old_case.limit == new_case.limit;
    let grew = match (&old.vs_oracle, &new.vs_oracle) {
        (Some(old), Some(new)) => grew(old, new, same_limit),
        (None, _) | (_, None) => false,
    };
    let changed = old.verdict != new.verdict;
    match (rank(old), rank(new)) {
        _ if measure == Measure::Verdict && !changed => None,
        (old, new) if new < old => Some(ChangeClass::Broken),
        (old, new) if new > old => Some(ChangeClass::Fixed),
        (Rank::Agrees | Rank::AgreesByFallback, _) if grew && measure == Measure::All => {
            Some(ChangeClass::Grew)
        }
        _ => changed.then_some(ChangeClass::Changed),
    }
}

/// Whether the error of a result that agrees has become [`GROWTH`] times what it was.
fn grew(old: &Metrics, new: &Metrics, same_limit: bool) -> bool {
    let in_ulp = new.max_ulp >= GROWTH * old.max_ulp.max(EXACT);
    let in_limits = same_limit && old.limit_used > 0.0 && new.limit_used >= GROWTH * old.limit_used;
    in_ulp || in_limits
}

/// How good a result is, from the worst up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Fails,
    FailsAsKnown,
    AgreesByFallback,
    Agrees,
}

fn rank(result: &CaseResult) -> Rank {
    match result.verdict {
        Verdict::KnownFailure => Rank::FailsAsKnown,
        verdict if verdict.fails_run() => Rank::Fails,
        _ if result.fallbacks.is_empty() => Rank::Agrees,
        _ => Rank::AgreesByFallback,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(verdict: Verdict, max_ulp: f64, limit_used: f64) -> CaseResult {
        CaseResult {
            vs_oracle: Some(Metrics {
                elements: 4,
                outside: 0,
                max_ulp,
                max_abs: 0.0,
                max_rel: Some(0.0),
                limit_used,
                worst: None,
            }),
            ..CaseResult::of(verdict)
        }
    }

    fn case(limit: &str) -> CaseRecord {
        CaseRecord {
            id: "unary/neg:f32:[4]:contiguous:any".to_owned(),
            family: "unary".to_owned(),
            op: "neg".to_owned(),
            dtype: "f32".to_owned(),
            layout: "contiguous".to_owned(),
            values: "any".to_owned(),
            limit: limit.to_owned(),
            results: vec![],
        }
    }

    #[track_caller]
    fn check(before: &CaseResult, after: &CaseResult, want: Option<ChangeClass>) {
        let case = case("4 ULP: a source");
        assert_eq!(class_of((&case, before), (&case, after), Measure::All), want);
    }

    #[test]
    fn agreement_known_failure_and_failure_stand_in_this_order() {
        let of = |verdict| result(verdict, 0.0, 0.0);
        let [pass, known, crash] = [Verdict::Pass, Verdict::KnownFailure, Verdict::Crash].map(of);
        check(&pass, &pass, None);
        check(&pass, &known, Some(ChangeClass::Broken));
        check(&known, &crash, Some(ChangeClass::Broken));
        check(&crash, &known, Some(ChangeClass::Fixed));
        check(&known, &pass, Some(ChangeClass::Fixed));
        check(&crash, &of(Verdict::Mismatch), Some(ChangeClass::Changed));
        check(&pass, &of(Verdict::ReferenceSuspect), Some(ChangeClass::Changed));
        let mut fallen = of(Verdict::Pass);
        fallen.fallbacks.push("neg".to_owned());
        check(&pass, &fallen, Some(ChangeClass::Broken));
        check(&fallen, &pass, Some(ChangeClass::Fixed));
    }

    #[test]
    fn an_error_has_grown_from_ten_times_on_and_exact_counts_as_half_a_unit() {
        let pass = |ulp, used| result(Verdict::Pass, ulp, used);
        check(&pass(0.0, 0.0), &pass(4.9, 0.9), None);
        check(&pass(0.0, 0.0), &pass(5.0, 0.9), Some(ChangeClass::Grew));
        check(&pass(1.0, 0.3), &pass(9.9, 0.9), None);
        check(&pass(1.0, 0.3), &pass(10.0, 0.9), Some(ChangeClass::Grew));
        check(&pass(90.0, 0.01), &pass(90.0, 0.1), Some(ChangeClass::Grew));
        let failed = |ulp| result(Verdict::Mismatch, ulp, 2.0);
        check(&failed(1.0), &failed(100.0), None);
    }

    #[test]
    fn by_verdict_alone_no_error_and_no_fallback_is_a_change() {
        let case = case("4 ULP: a source");
        let pass = result(Verdict::Pass, 0.0, 0.0);
        let change = |after: &CaseResult| class_of((&case, &pass), (&case, after), Measure::Verdict);
        assert_eq!(change(&result(Verdict::Pass, 1e6, 0.9)), None);
        let mut fallen = pass.clone();
        fallen.fallbacks.push("neg".to_owned());
        assert_eq!(change(&fallen), None);
        let suspect = result(Verdict::ReferenceSuspect, 1e6, 0.9);
        assert_eq!(change(&suspect), Some(ChangeClass::Changed));
    }

    #[test]
    fn shares_of_different_limits_are_not_compared() {
        let (old, new) = (result(Verdict::Pass, 1.0, 0.05), result(Verdict::Pass, 1.0, 0.5));
        let class_of = |after: &str| class_of((&case("a"), &old), (&case(after), &new), Measure::All);
        assert_eq!((class_of("a"), class_of("b")), (Some(ChangeClass::Grew), None));
    }
}
