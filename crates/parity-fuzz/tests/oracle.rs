//! The oracle answers whatever is drawn, and its own answer passes its judge.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parity_fuzz::Pool;
use parity_model::{Family, Outcome, Verdict};
use parity_oracle::{expected, judge};

#[test]
fn the_oracle_answers_whatever_is_drawn_and_passes_itself() {
    let count = 6000;
    let Some(pool) = Pool::new(&[], &[]) else {
        unreachable!("there are ops")
    };
    let mut wrong = vec![];
    for number in 0..count {
        let case = pool.case(21, number);
        let id = case.id();
        let judged = catch_unwind(AssertUnwindSafe(|| {
            let inputs = case.inputs(0);
            let want = expected(&case, &inputs);
            let right = match case.refusal() {
                Some(refusal) => Outcome::Refused {
                    refusal,
                    message: String::new(),
                },
                None => Outcome::Ran(want.tensor()),
            };
            judge(&case, &want, &inputs, None, &right)
        }));
        match judged {
            Err(_) => wrong.push(format!("the oracle panics: {id}")),
            // The oracle does not draw; and what proves nothing is not a failure.
            Ok(judged) if judged.verdict.fails_run() && judged.verdict != Verdict::Untrusted => {
                if case.op.family() != Family::Random {
                    wrong.push(format!("{}: {id}: {:?}", judged.verdict.name(), judged.note));
                }
            }
            Ok(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
