//! From executions to a record: the oracle's verdict, then what the user's lists and options make of it.

use parity_exec::Execution;
use parity_model::{
    Case, CaseId, HostTensor, Metrics, Outcome, Verdict,
    findings::Findings,
    record::{CaseRecord, CaseResult},
};
use parity_oracle::{Expected, expected, index_of, judge, value_text};
use parity_report::agrees;

use crate::golden::Golden;

/// What a verdict depends on besides the outcome.
pub(crate) struct Judge<'a> {
    /// The columns that run, the reference first.
    pub(crate) backends: Vec<&'a str>,
    /// Recorded outputs, a column before those that run.
    pub(crate) golden: Option<&'a Golden>,
    pub(crate) findings: &'a Findings,
    /// Whether a result that the CPU helped to compute fails.
    pub(crate) no_fallback: bool,
}

/// A case with its inputs and with what it should give.
pub struct Prepared<'a> {
    /// The case.
    pub case: &'a Case,
    /// Its id.
    pub id: CaseId,
    /// The base tensors.
    pub inputs: Vec<HostTensor>,
    /// The oracle's answer.
    pub want: Expected,
}

impl Prepared<'_> {
    /// Derives the inputs from the run's seed, and computes the answer.
    pub fn of(case: &Case, seed: u64) -> Prepared<'_> {
        let inputs = case.inputs(seed);
        Prepared {
            id: case.id(),
            want: expected(case, &inputs),
            case,
            inputs,
        }
    }
}

impl Judge<'_> {
    /// Judges one case on every backend.
    pub(crate) fn record(&self, prepared: &Prepared<'_>, executions: &[Execution]) -> CaseRecord {
        // The reference is judged too, but not against itself.
        let reference = executions.first().map(|execution| &execution.outcome);
        let recorded = self
            .golden
            .map(|golden| golden.execution(&prepared.id, &prepared.inputs, &prepared.want));
        let recorded_outcome = recorded.as_ref().map(|execution| &execution.outcome);
        let columns = executions.iter().zip(&self.backends).enumerate();
        let mut results: Vec<_> = columns
            .map(|(column, (execution, backend))| {
                let reference = reference.filter(|_| column > 0);
                let distance = self.distance(prepared, recorded_outcome, &execution.outcome);
                let measure = recorded_outcome.or(reference);
                let alike = measure.is_some_and(|theirs| same_answer(theirs, &execution.outcome));
                let mut result = self.result(prepared, backend, reference, execution);
                if let Some(distance) = distance {
                    result.vs_reference = distance;
                }
                result.as_reference = alike && !agrees(result.verdict) && result.vs_reference.is_none();
                result
            })
            .collect();
        if let (Some(golden), Some(execution)) = (self.golden, &recorded) {
            let result = self.result(prepared, golden.backend(), reference, execution);
            let vs_reference = None;
            results.insert(
                0,
                CaseResult {
                    vs_reference,
                    ..result
                },
            );
        }
        CaseRecord::of(prepared.case, prepared.want.limit.clone(), results)
    }

    /// The error against what was recorded, which takes the place of the error against the reference. Verdicts are as
    /// without it: a recording adds a measure, not a judge.
    fn distance(
        &self,
        prepared: &Prepared<'_>,
        recorded: Option<&Outcome>,
        outcome: &Outcome,
    ) -> Option<Option<Metrics>> {
        let recorded = recorded?;
        let judged = judge(
            prepared.case,
            &prepared.want,
            &prepared.inputs,
            Some(recorded),
            outcome,
        );
        Some(judged.vs_reference)
    }

    fn result(
        &self,
        prepared: &Prepared<'_>,
        backend: &str,
        reference: Option<&Outcome>,
        execution: &Execution,
    ) -> CaseResult {
        let judged = judge(
            prepared.case,
            &prepared.want,
            &prepared.inputs,
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
        let (verdict, known) = self.findings.apply(backend, prepared.case, verdict);
        if let Some(known) = known {
            note = Some(if verdict == Verdict::UnexpectedPass {
                format!("listed as a known failure: {}", known.note())
            } else {
                known.note()
            });
        }
        let words: Vec<_> = [note, execution.remark.clone()].into_iter().flatten().collect();
        let note = (!words.is_empty()).then(|| words.join("; "));
        CaseResult {
            verdict,
            vs_oracle: judged.vs_oracle,
            vs_reference: judged.vs_reference,
            note,
            as_reference: false,
            fallbacks: execution.fallbacks.clone(),
            served_by: execution.served_by.clone(),
            millis: execution.millis,
        }
    }
}

/// Whether two backends gave the same answer: the same bits, or a refusal of the same class, whatever its words.
fn same_answer(theirs: &Outcome, ours: &Outcome) -> bool {
    match (theirs, ours) {
        (Outcome::Ran(theirs), Outcome::Ran(ours)) => theirs == ours,
        (Outcome::Refused { refusal: theirs, .. }, Outcome::Refused { refusal: ours, .. }) => theirs == ours,
        (Outcome::Ran(_) | Outcome::Refused { .. }, _)
        | (Outcome::Crashed { .. } | Outcome::TimedOut { .. } | Outcome::Missing { .. }, _) => false,
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
    use std::time::Duration;

    use parity_exec::Backend;
    use parity_model::Refusal;

    use super::*;

    const CASE: &str = "unary/neg:f32:[4]:contiguous:uniform(1,2)";

    /// The right answer to the case.
    fn right() -> HostTensor {
        let mut answer = CASE.parse::<Case>().unwrap().inputs(0).remove(0);
        // The sign is the top bit of the last of an element's four little-endian bytes.
        let signs = answer.bytes.iter_mut().skip(3).step_by(4);
        signs.for_each(|byte| *byte ^= 0x80);
        answer
    }

    /// A judge of backends with these names.
    fn judge_of<'a>(backends: &[&'a str], findings: &'a Findings) -> Judge<'a> {
        Judge {
            backends: backends.to_vec(),
            golden: None,
            findings,
            no_fallback: false,
        }
    }

    /// The verdict on a right answer to `unary/neg` that needed a fallback, or not; `again` makes what a second run
    /// gave instead, if it did.
    fn judged(
        no_fallback: bool,
        fallbacks: &[&str],
        again: impl FnOnce(HostTensor) -> Option<Outcome>,
        remark: Option<&str>,
    ) -> (Verdict, Option<String>) {
        let case: Case = CASE.parse().unwrap();
        let answer = right();
        let findings = Findings::default();
        let judge = Judge {
            no_fallback,
            ..judge_of(&[Backend::REFERENCE.name()], &findings)
        };
        let again = again(answer.clone());
        let fallbacks = fallbacks.iter().map(|op| (*op).to_owned()).collect();
        let execution = Execution {
            fallbacks,
            again,
            remark: remark.map(str::to_owned),
            ..executed(Outcome::Ran(answer))
        };
        let prepared = Prepared::of(&case, 0);
        let result = judge.record(&prepared, &[execution]).results.remove(0);
        (result.verdict, result.note)
    }

    fn executed(outcome: Outcome) -> Execution {
        Execution::seen(outcome, Duration::ZERO)
    }

    #[test]
    fn whatever_a_worker_did_is_called_by_its_name() {
        let changed = |change: fn(&mut HostTensor)| {
            let mut answer = right();
            change(&mut answer);
            Outcome::Ran(answer)
        };
        let refused = |refusal| Outcome::Refused {
            refusal,
            message: "its words".to_owned(),
        };
        let crashed = |how: &str| Outcome::Crashed {
            how: how.to_owned(),
            stderr: "its words".to_owned(),
        };
        let missing = Outcome::Missing {
            reason: "its words".to_owned(),
        };
        for (outcome, verdict, words) in [
            (changed(|_| {}), Verdict::Pass, ""),
            (
                changed(|answer| answer.bytes[0] ^= 1),
                Verdict::Mismatch,
                "1 of 4 elements",
            ),
            (
                changed(|answer| answer.bytes.fill(0xff)),
                Verdict::Mismatch,
                "4 of 4 elements",
            ),
            (
                changed(|answer| answer.shape = vec![2, 2]),
                Verdict::Mismatch,
                "shape is [2, 2]",
            ),
            (
                refused(Refusal::Unsupported),
                Verdict::Unsupported,
                "unsupported: its words",
            ),
            (refused(Refusal::Panic), Verdict::Mismatch, "panicked: its words"),
            (
                refused(Refusal::DeviceFault),
                Verdict::Crash,
                "device fault: its words",
            ),
            (crashed("SIGSEGV"), Verdict::Crash, "SIGSEGV: its words"),
            (
                crashed("out of memory, SIGABRT"),
                Verdict::Crash,
                "out of memory, SIGABRT: its words",
            ),
            (
                Outcome::TimedOut { limit_ms: 300 },
                Verdict::Timeout,
                "no answer in 300 ms",
            ),
            (missing, Verdict::NotRun, "its words"),
        ] {
            let findings = Findings::default();
            let judge = judge_of(&[Backend::REFERENCE.name()], &findings);
            let case = CASE.parse().unwrap();
            let record = judge.record(&Prepared::of(&case, 0), &[executed(outcome.clone())]);
            let CaseResult {
                verdict: found, note, ..
            } = &record.results[0];
            assert_eq!(*found, verdict, "{outcome:?}: {note:?}");
            assert!(note.as_deref().unwrap_or_default().starts_with(words), "{note:?}");
        }
    }

    /// Whether the record says of the second of two backends that it fails as the reference does.
    fn as_reference(id: &str, outcomes: [Outcome; 2]) -> bool {
        let case: Case = id.parse().unwrap();
        let findings = Findings::default();
        let judge = judge_of(&[Backend::REFERENCE.name(), "other"], &findings);
        let executions = outcomes.map(executed);
        judge.record(&Prepared::of(&case, 0), &executions).results[1].as_reference
    }

    #[test]
    fn an_answer_that_has_no_measure_is_compared_with_the_references() {
        // To be refused as invalid.
        let id = "pool/max_pool2d(2,2,0,0):f32:[2,3,6,8]:contiguous:ints(1,9)@invalid";
        let refused = |refusal, message: &str| Outcome::Refused {
            refusal,
            message: message.to_owned(),
        };
        let panicked = || refused(Refusal::Panic, "divided by zero");
        let elsewhere = refused(Refusal::Panic, "divided by zero, at another line");
        assert!(as_reference(id, [panicked(), elsewhere]));
        assert!(!as_reference(
            id,
            [panicked(), refused(Refusal::DeviceFault, "trap")]
        ));
        // The right refusal is not a failure, even if others refuse too.
        let invalid = || refused(Refusal::Invalid, "a stride of zero");
        assert!(!as_reference(id, [invalid(), invalid()]));
        let tensor = |byte: u8| {
            Outcome::Ran(HostTensor {
                dtype: parity_model::DType::U8,
                shape: vec![1],
                bytes: vec![byte],
            })
        };
        assert!(as_reference(id, [tensor(1), tensor(1)]));
        assert!(!as_reference(id, [tensor(1), tensor(2)]));
        let died = || Outcome::Crashed {
            how: "signal: 11 (SIGSEGV)".to_owned(),
            stderr: String::new(),
        };
        assert!(
            !as_reference(id, [died(), died()]),
            "two deaths are not an answer"
        );
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
