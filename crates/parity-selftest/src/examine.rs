//! What the judge makes of every wrong output of one case.

use parity_model::{Case, HostTensor, Outcome, Verdict};
use parity_oracle::{Element, Expected, expected, judge};

use crate::perturbation::{PERTURBATIONS, Perturbation};
use crate::subject::Subject;

/// How the judge took wrong outputs that differ from the right one in at least one bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Not passed: a mismatch.
    pub mismatch: usize,
    /// Not passed: the case proves nothing and says so.
    pub untrusted: usize,
    /// Passed.
    pub survived: usize,
}

impl Counts {
    /// Outputs that the judge did not pass.
    pub fn killed(&self) -> usize {
        self.mismatch + self.untrusted
    }

    /// Outputs in all.
    pub fn applicable(&self) -> usize {
        self.killed() + self.survived
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.mismatch += other.mismatch;
        self.untrusted += other.untrusted;
        self.survived += other.survived;
    }
}

/// The judge's verdicts on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// On the right output: a pass, or untrusted. A mismatch too where no output could fail: the oracle has no answer at a place, or one
    /// within a limit that is not finite, or without a source.
    pub right: Verdict,
    /// On the wrong ones, one entry for each of [`PERTURBATIONS`].
    pub wrong: Vec<Counts>,
}

/// Makes the wrong outputs of `case` on the inputs for `seed`, and has each judged. `wanted` says of a place in
/// [`PERTURBATIONS`] whether its outputs are to be made.
///
/// # Panics
/// When the case is not from a spec or an id.
pub fn examine(case: &Case, seed: u64, wanted: impl Fn(usize) -> bool) -> Examination {
    if !case.check.compares_forms() {
        let subject = Subject::new(case, seed);
        return examine_by(&subject, &subject.expected, wanted, |outcome| {
            judge(case, &subject.expected, &subject.inputs, None, outcome).verdict
        });
    }
    // The fault shows in one form and not in the other.
    let plain = case.plain();
    let subject = Subject::new(&plain, seed);
    let expected = expected(case, &subject.inputs);
    examine_by(&subject, &expected, wanted, |outcome| {
        let both = match outcome {
            Outcome::Ran(wrong) => Case::stack(wrong, &subject.right)
                .map_or_else(|reason| Outcome::Missing { reason }, Outcome::Ran),
            other => other.clone(),
        };
        judge(case, &expected, &subject.inputs, None, &both).verdict
    })
}

/// Whether there is an answer to every place, and a limit to each that an output can be beyond.
fn can_fail(expected: &Expected) -> bool {
    let finite = |element: &Element| element.limit.ulp.is_finite() && element.limit.abs.is_finite();
    expected.elements.len() == expected.shape.iter().product::<usize>()
        && expected.elements.iter().all(finite)
        && !expected.limit.is_empty()
}

fn examine_by(
    subject: &Subject<'_>,
    expected: &Expected,
    wanted: impl Fn(usize) -> bool,
    verdict: impl Fn(&Outcome) -> Verdict,
) -> Examination {
    let refused = subject.case.must_refuse();
    let right = match subject.case.refusal() {
        Some(refusal) => Outcome::Refused {
            refusal,
            message: "it is to be refused".to_owned(),
        },
        None => Outcome::Ran(subject.right.clone()),
    };
    // Where nothing is right to compute, which wrong thing is computed makes no difference.
    let differs = |wrong: &HostTensor| refused || wrong.bytes != subject.right.bytes;
    let count = |(i, perturbation): (usize, &Perturbation)| {
        let mut counts = Counts::default();
        if refused && perturbation.name != ACCEPTED || !wanted(i) {
            return counts;
        }
        for wrong in (perturbation.make)(subject).into_iter().filter(differs) {
            match verdict(&Outcome::Ran(wrong)) {
                Verdict::Untrusted => counts.untrusted += 1,
                verdict if verdict.fails_run() => counts.mismatch += 1,
                _ => counts.survived += 1,
            }
        }
        counts
    };
    Examination {
        right: match can_fail(expected) {
            true => verdict(&right),
            false => Verdict::Mismatch,
        },
        wrong: PERTURBATIONS.iter().enumerate().map(count).collect(),
    }
}

/// The one perturbation of a case that is to be refused.
const ACCEPTED: &str = "bad-id-accepted";

#[cfg(test)]
mod tests;
