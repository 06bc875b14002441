//! From executions to a record: the oracle's verdict, then what the user's lists and options make of it.

use parity_exec::Execution;
use parity_model::{
    Case, CaseId, HostTensor, Metrics, Outcome, Verdict,
    known::KnownFailures,
    record::{CaseRecord, CaseResult},
};
use parity_oracle::{Expected, expected, index_of, judge, value_text};

use crate::golden::Golden;

/// What a verdict depends on besides the outcome.
pub(crate) struct Judge<'a> {
    /// Seed of the run.
    pub(crate) seed: u64,
    /// The columns that run, the reference first.
    pub(crate) backends: Vec<&'static str>,
    /// Recorded outputs, a column before those that run.
    pub(crate) golden: Option<&'a Golden>,
    pub(crate) known: &'a KnownFailures,
    /// Whether a result that the CPU helped to compute fails.
    pub(crate) no_fallback: bool,
}

/// A case with what it should give.
struct Brief<'a> {
    case: &'a Case,
    id: CaseId,
    inputs: &'a [HostTensor],
    want: &'a Expected,
}

impl Judge<'_> {
    /// Judges one case on every backend.
    pub(crate) fn record(&self, case: &Case, executions: Vec<Execution>) -> CaseRecord {
        let inputs = case.inputs(self.seed);
        let want = expected(case, &inputs);
        let brief = Brief {
            case,
            id: case.id(),
            inputs: &inputs,
            want: &want,
        };
        // The reference is judged too, but not against itself.
        let reference = executions.first().map(|execution| execution.outcome.clone());
        let recorded = self
            .golden
            .map(|golden| golden.execution(&brief.id, &inputs, &want));
        let recorded_outcome = recorded.as_ref().map(|execution| &execution.outcome);
        let columns = executions.into_iter().zip(&self.backends).enumerate();
        let mut results: Vec<_> = columns
            .map(|(column, (execution, backend))| {
                let reference = reference.as_ref().filter(|_| column > 0);
                let distance = self.distance(&brief, recorded_outcome, &execution.outcome);
                let mut result = self.result(&brief, backend, reference, execution);
                if let Some(distance) = distance {
                    result.vs_reference = distance;
                }
                result
            })
            .collect();
        if let (Some(golden), Some(execution)) = (self.golden, recorded) {
            let result = self.result(&brief, golden.backend(), reference.as_ref(), execution);
            let vs_reference = None;
            results.insert(
                0,
                CaseResult {
                    vs_reference,
                    ..result
                },
            );
        }
        CaseRecord::of(case, want.limit, results)
    }

    /// The error against what was recorded, which takes the place of the error against the reference. Verdicts are as
    /// without it: a recording adds a measure, not a judge.
    fn distance(
        &self,
        brief: &Brief<'_>,
        recorded: Option<&Outcome>,
        outcome: &Outcome,
    ) -> Option<Option<Metrics>> {
        let recorded = recorded?;
        let judged = judge(brief.case, brief.want, brief.inputs, Some(recorded), outcome);
        Some(judged.vs_reference)
    }

    fn result(
        &self,
        brief: &Brief<'_>,
        backend: &str,
        reference: Option<&Outcome>,
        execution: Execution,
    ) -> CaseResult {
        let judged = judge(
            brief.case,
            brief.want,
            brief.inputs,
            reference,
            &execution.outcome,
        );
        let (mut verdict, mut note) = (judged.verdict, judged.note);
        if let Some(again) = &execution.again {
            verdict = Verdict::Nondeterministic;
            note = Some(difference(&execution.outcome, again));
        }
        if self.no_fallback && !execution.fallbacks.is_empty() && !verdict.fails_run() {
            verdict = Verdict::Fallback;
            note = Some(format!("computed on the CPU: {}", execution.fallbacks.join(", ")));
        }
        let (verdict, entry) = self.known.apply(backend, &brief.id, verdict);
        if let Some(entry) = entry {
            let link = entry
                .link
                .as_ref()
                .map(|link| format!(" ({link})"))
                .unwrap_or_default();
            let listed = format!("{}{link}", entry.reason);
            note = Some(match verdict {
                Verdict::UnexpectedPass => format!("listed as a known failure: {listed}"),
                _ => listed,
            });
        }
        let words: Vec<_> = [note, execution.remark].into_iter().flatten().collect();
        let note = (!words.is_empty()).then(|| words.join("; "));
        CaseResult {
            verdict,
            vs_oracle: judged.vs_oracle,
            vs_reference: judged.vs_reference,
            note,
            fallbacks: execution.fallbacks,
            served_by: execution.served_by,
            millis: execution.millis,
        }
    }
}

/// What two runs of a case did differently.
fn difference(first: &Outcome, second: &Outcome) -> String {
    match (first, second) {
        (Outcome::Ran(a), Outcome::Ran(b)) if a.dtype == b.dtype && a.shape == b.shape => {
            let different: Vec<_> = (0..a.len()).filter(|&i| a.bits(i) != b.bits(i)).collect();
            let element = different.first().map_or_else(String::new, |&i| {
                let value = |tensor: &HostTensor| {
                    let (bits, digits) = (tensor.bits(i), 2 * a.dtype.size());
                    format!("{} (0x{bits:0digits$x})", value_text(a.dtype, bits))
                };
                format!(
                    ": element {:?} was {}, then {}",
                    index_of(i, &a.shape),
                    value(a),
                    value(b)
                )
            });
            format!(
                "two runs differ in {} of {} elements{element}",
                different.len(),
                a.len()
            )
        }
        (first, second) => format!("two runs differ: {}, then {}", deed(first), deed(second)),
    }
}

/// What a run of a case did, in a few words.
fn deed(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ran(tensor) => format!("it computed {} {:?}", tensor.dtype, tensor.shape),
        Outcome::Refused { message, .. } => format!("it refused ({message})"),
        Outcome::Crashed { how, .. } => format!("it crashed ({how})"),
        Outcome::TimedOut { limit_ms } => format!("it took more than {limit_ms} ms"),
        Outcome::Missing { reason } => format!("it did not run ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use parity_exec::Backend;
    use parity_model::Refusal;

    use super::*;

    /// The verdict on a right answer to `unary/neg` that needed a fallback, or not; `again` makes what a second run
    /// gave instead, if it did.
    fn judged(
        no_fallback: bool,
        fallbacks: &[&str],
        again: impl FnOnce(HostTensor) -> Option<Outcome>,
        remark: Option<&str>,
    ) -> (Verdict, Option<String>) {
        let case: Case = "unary/neg:f32:[4]:contiguous:uniform(1,2)".parse().unwrap();
        let mut answer = case.inputs(0).remove(0);
        // The sign is the top bit of the last of an element's four little-endian bytes.
        answer
            .bytes
            .iter_mut()
            .skip(3)
            .step_by(4)
            .for_each(|byte| *byte ^= 0x80);
        let judge = Judge {
            seed: 0,
            backends: vec![Backend::REFERENCE.name()],
            golden: None,
            known: &KnownFailures::default(),
            no_fallback,
        };
        let again = again(answer.clone());
        let fallbacks = fallbacks.iter().map(|op| (*op).to_owned()).collect();
        let execution = Execution {
            outcome: Outcome::Ran(answer),
            fallbacks,
            served_by: vec![],
            millis: 0.0,
            again,
            remark: remark.map(str::to_owned),
        };
        let result = judge.record(&case, vec![execution]).results.remove(0);
        (result.verdict, result.note)
    }

    fn verdict(no_fallback: bool, fallbacks: &[&str]) -> (Verdict, Option<String>) {
        judged(no_fallback, fallbacks, |_| None, None)
    }

    #[test]
    fn a_fallback_fails_only_where_it_is_refused() {
        assert_eq!(verdict(true, &[]).0, Verdict::Pass);
        assert_eq!(verdict(false, &["neg"]).0, Verdict::Pass);
        let refused = (Verdict::Fallback, Some("computed on the CPU: neg".to_owned()));
        assert_eq!(verdict(true, &["neg"]), refused);
    }

    #[test]
    fn other_bits_in_a_second_run_are_nondeterminism_with_the_first_element() {
        let flipped = |mut answer: HostTensor| {
            answer.bytes[8] ^= 1;
            Some(Outcome::Ran(answer))
        };
        let (verdict, note) = judged(false, &[], flipped, None);
        assert_eq!(verdict, Verdict::Nondeterministic);
        let note = note.unwrap_or_default();
        assert!(
            note.starts_with("two runs differ in 1 of 4 elements: element [2] was -1.")
                && note.contains(", then -1."),
            "{note}"
        );
        let refusing = |_| {
            Some(Outcome::Refused {
                refusal: Refusal::Other,
                message: "no".to_owned(),
            })
        };
        let (verdict, note) = judged(false, &[], refusing, None);
        assert_eq!(verdict, Verdict::Nondeterministic);
        assert_eq!(
            note.as_deref(),
            Some("two runs differ: it computed f32 [4], then it refused (no)")
        );
    }

    #[test]
    fn a_pass_says_how_it_came_about_where_that_was_not_straight() {
        let passed = judged(false, &[], |_| None, Some("run again"));
        assert_eq!(passed, (Verdict::Pass, Some("run again".to_owned())));
    }
}
