//! From executions to a record: the oracle's verdict, then what the user's lists and options make of it.

use parity_exec::Execution;
use parity_model::{
    Case, CaseId, Outcome, Verdict,
    known::KnownFailures,
    record::{CaseRecord, CaseResult},
};
use parity_oracle::{Expected, expected, judge};

/// What a verdict depends on besides the outcome.
pub(crate) struct Judge<'a> {
    /// Seed of the run.
    pub(crate) seed: u64,
    /// The columns, the reference first.
    pub(crate) backends: Vec<&'static str>,
    pub(crate) known: &'a KnownFailures,
    /// Whether a result that the CPU helped to compute fails.
    pub(crate) no_fallback: bool,
}

/// A case with what it should give.
struct Brief<'a> {
    case: &'a Case,
    id: CaseId,
    inputs: &'a [parity_model::HostTensor],
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
        let columns = executions.into_iter().zip(&self.backends).enumerate();
        let results = columns
            .map(|(column, (execution, backend))| {
                self.result(
                    &brief,
                    backend,
                    reference.as_ref().filter(|_| column > 0),
                    execution,
                )
            })
            .collect();
        let layouts: Vec<_> = case.args.iter().map(|arg| arg.layout.name()).collect();
        CaseRecord {
            id: brief.id.to_string(),
            family: case.op.family().name().to_owned(),
            op: case.op.name().to_owned(),
            dtype: case.dtype.name().to_owned(),
            layout: layouts.join(","),
            values: case.values.to_string(),
            limit: want.limit,
            results,
        }
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
        CaseResult {
            verdict,
            vs_oracle: judged.vs_oracle,
            vs_reference: judged.vs_reference,
            note,
            fallbacks: execution.fallbacks,
            millis: execution.millis,
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_exec::Backend;

    use super::*;

    /// The verdict on a right answer to `unary/neg` that needed a fallback, or not.
    fn verdict(no_fallback: bool, fallbacks: &[&str]) -> (Verdict, Option<String>) {
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
            known: &KnownFailures::default(),
            no_fallback,
        };
        let fallbacks = fallbacks.iter().map(|op| (*op).to_owned()).collect();
        let execution = Execution {
            outcome: Outcome::Ran(answer),
            fallbacks,
            millis: 0.0,
        };
        let result = judge.record(&case, vec![execution]).results.remove(0);
        (result.verdict, result.note)
    }

    #[test]
    fn a_fallback_fails_only_where_it_is_refused() {
        assert_eq!(verdict(true, &[]).0, Verdict::Pass);
        assert_eq!(verdict(false, &["neg"]).0, Verdict::Pass);
        let refused = (Verdict::Fallback, Some("computed on the CPU: neg".to_owned()));
        assert_eq!(verdict(true, &["neg"]), refused);
    }
}
