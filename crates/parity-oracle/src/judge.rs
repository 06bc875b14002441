//! Turns one outcome, the right answer and the reference's outcome into a verdict.
//!
//! Every backend, the reference included, is judged against the oracle. Never runs anything, and knows no known
//! failures: those are applied afterwards.

use std::collections::BTreeSet;

use parity_model::op::{Copies, Op, Random};
use parity_model::{Case, HostTensor, Metrics, Outcome, Refusal, Verdict};

use crate::expected::{Expected, logical};
use crate::forms;
use crate::metrics::{against_oracle, against_reference, error};
use crate::ops::random;
use crate::sample::{self, Distribution};

/// The judgement on one outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Error against the oracle, when a value of the right dtype and shape came back.
    pub vs_oracle: Option<Metrics>,
    /// Error against the reference, when both gave one; its limits are the oracle's.
    pub vs_reference: Option<Metrics>,
    /// Why, in one line, for anything but a pass.
    pub note: Option<String>,
}

impl Judgement {
    /// As it should be, with nothing to measure.
    const PASS: Judgement = Judgement {
        verdict: Verdict::Pass,
        vs_oracle: None,
        vs_reference: None,
        note: None,
    };

    fn of(verdict: Verdict, note: impl Into<String>) -> Judgement {
        Judgement {
            verdict,
            vs_oracle: None,
            vs_reference: None,
            note: Some(note.into()),
        }
    }
}

/// With fewer different inputs than this, an output that is all alike may be an accident of the seed.
const TRUST_FROM: usize = 32;

/// An output of fewer elements that each come from many inputs may be all alike by accident.
const COMPOUND_FROM: usize = 8;

/// Judges what a backend did with `case`. `inputs` are the base tensors from [`Case::inputs`]; `reference` is what the
/// reference backend did, `None` when it is the reference that is judged.
///
/// # Panics
/// When `inputs` are not the case's.
pub fn judge(
    case: &Case,
    expected: &Expected,
    inputs: &[HostTensor],
    reference: Option<&Outcome>,
    got: &Outcome,
) -> Judgement {
    match got {
        Outcome::Ran(_) if let Some(asked) = case.refusal() => Judgement::of(
            Verdict::Mismatch,
            format!("it computed something, and is to refuse this as {}", class(asked)),
        ),
        Outcome::Refused { refusal, message } if let Some(asked) = case.refusal() => {
            judge_asked_refusal(asked, *refusal, message)
        }
        Outcome::Ran(output) if case.check.compares_forms() => {
            judge_forms(case, expected, inputs, reference, output)
        }
        Outcome::Ran(output) => judge_value(case, expected, inputs, reference, output),
        Outcome::Refused { refusal, message } => judge_refusal(reference, *refusal, message),
        Outcome::Crashed { how, stderr } => match last_words(stderr) {
            None => Judgement::of(Verdict::Crash, how),
            Some(last) => Judgement::of(Verdict::Crash, format!("{how}: {last}")),
        },
        Outcome::TimedOut { limit_ms } => {
            Judgement::of(Verdict::Timeout, format!("no answer in {limit_ms} ms"))
        }
        Outcome::Missing { reason } => Judgement::of(Verdict::NotRun, reason),
    }
}

/// The judgement on a refusal where that is the right answer. Backends have words and classes of their own for invalid
/// arguments; that it is an error, and no panic or fault, and no claim that the op is missing, is what counts.
fn judge_asked_refusal(asked: Refusal, refusal: Refusal, message: &str) -> Judgement {
    let agrees = refusal == asked || (asked, refusal) == (Refusal::Invalid, Refusal::Other);
    if agrees {
        return Judgement::PASS;
    }
    let verdict = match refusal {
        Refusal::DeviceFault => Verdict::Crash,
        Refusal::Unsupported => Verdict::Unsupported,
        Refusal::Invalid | Refusal::Panic | Refusal::Other => Verdict::Mismatch,
    };
    let note = format!(
        "it is to refuse this as {}, and {}: {message}",
        class(asked),
        class(refusal)
    );
    Judgement::of(verdict, note)
}

fn class(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Unsupported => "unsupported",
        Refusal::Invalid => "refused as invalid",
        Refusal::Panic => "panicked",
        Refusal::DeviceFault => "device fault",
        Refusal::Other => "failed",
    }
}

/// The last line that says something of the crash: what the runtime adds about backtraces is left out.
fn last_words(stderr: &str) -> Option<&str> {
    let of_backtraces = |line: &&str| line.starts_with("skipping backtrace") || line.starts_with("note: ");
    let mut lines = stderr.trim().lines().rev();
    lines.find(|line| !of_backtraces(line))
}

fn judge_refusal(reference: Option<&Outcome>, refusal: Refusal, message: &str) -> Judgement {
    let alike = matches!(reference, Some(Outcome::Refused { refusal: theirs, .. }) if *theirs == refusal);
    let verdict = match refusal {
        Refusal::Unsupported | Refusal::Invalid | Refusal::Panic | Refusal::Other if alike => {
            Verdict::ErrorParity
        }
        Refusal::Unsupported => Verdict::Unsupported,
        // A fault is the device's crash, whoever else has one.
        Refusal::DeviceFault => Verdict::Crash,
        Refusal::Invalid | Refusal::Panic | Refusal::Other => Verdict::Mismatch,
    };
    Judgement::of(verdict, format!("{}: {message}", class(refusal)))
}

fn judge_value(
    case: &Case,
    expected: &Expected,
    inputs: &[HostTensor],
    reference: Option<&Outcome>,
    output: &HostTensor,
) -> Judgement {
    if let Some(note) = form(expected, output) {
        return Judgement::of(Verdict::Mismatch, note);
    }
    if let Op::Random(op) = case.op {
        return judge_sample(case, op, expected, reference, output);
    }
    let args = logical(case, inputs);
    let metrics = against_oracle(expected, &args, output);
    let theirs = match reference {
        Some(Outcome::Ran(theirs)) if form(expected, theirs).is_none() => Some(theirs),
        Some(_) | None => None,
    };
    let vs_reference = theirs.map(|theirs| against_reference(expected, &args, theirs, output));
    let (verdict, note) = if metrics.outside > 0 {
        let note = format!(
            "{} of {} elements are outside the limit",
            metrics.outside, metrics.elements
        );
        (Verdict::Mismatch, Some(note))
    } else if let Some(note) = vacuous(expected, &args).filter(|_| !constant(case.op)) {
        (Verdict::Untrusted, Some(note))
    } else {
        verdict_inside(
            reference,
            theirs.map(|theirs| against_oracle(expected, &args, theirs)),
        )
    };
    Judgement {
        verdict,
        vs_oracle: Some(metrics),
        vs_reference,
        note,
    }
}

/// Compares the outputs of both forms of a call with each other.
fn judge_forms(
    case: &Case,
    expected: &Expected,
    inputs: &[HostTensor],
    reference: Option<&Outcome>,
    output: &HostTensor,
) -> Judgement {
    let args = logical(case, inputs);
    // The error of the first form against the second; `None` where the output is not two of the right form.
    let compare = |output: &HostTensor| match (form(expected, output), Case::unstack(output)) {
        (None, Some([whole, parts])) => Some(against_oracle(
            &forms::by_parts(case, expected, &parts),
            &args,
            &whole,
        )),
        (Some(_), _) | (None, None) => None,
    };
    let Some(metrics) = compare(output) else {
        let note = form(expected, output).unwrap_or_else(|| "it is not the output of two forms".to_owned());
        return Judgement::of(Verdict::Mismatch, note);
    };
    let (verdict, note) = match metrics.outside {
        0 => verdict_inside(
            reference,
            reference.and_then(|reference| match reference {
                Outcome::Ran(theirs) => compare(theirs),
                _ => None,
            }),
        ),
        outside => {
            let note = format!(
                "{outside} of {} elements differ {}",
                metrics.elements,
                forms::between(case.check)
            );
            (Verdict::Mismatch, Some(note))
        }
    };
    Judgement {
        verdict,
        vs_oracle: Some(metrics),
        vs_reference: None,
        note,
    }
}

/// The judgement on two draws of random numbers, which have the right form.
fn judge_sample(
    case: &Case,
    op: Random,
    expected: &Expected,
    reference: Option<&Outcome>,
    output: &HostTensor,
) -> Judgement {
    let (distribution, seeded) = (
        Distribution::of(op, &case.params, expected.dtype),
        random::seeded(op),
    );
    if let Some(fault) = sample::fault(distribution, seeded, output) {
        return Judgement::of(Verdict::Mismatch, fault);
    }
    if output.len() / 2 < sample::LEAST {
        let note = format!(
            "fewer than {} numbers prove nothing about their distribution",
            sample::LEAST
        );
        return Judgement::of(Verdict::Untrusted, note);
    }
    let theirs = match reference {
        Some(Outcome::Ran(theirs)) if form(expected, theirs).is_none() => {
            sample::fault(distribution, seeded, theirs)
        }
        Some(_) | None => None,
    };
    match theirs {
        Some(fault) => Judgement::of(Verdict::ReferenceSuspect, format!("the reference: {fault}")),
        None => Judgement::PASS,
    }
}

/// The verdict on a value inside the limit: it depends on whether the reference is right as well.
fn verdict_inside(reference: Option<&Outcome>, theirs: Option<Metrics>) -> (Verdict, Option<String>) {
    match (reference, theirs) {
        (None, _) => (Verdict::Pass, None),
        (Some(_), Some(theirs)) if theirs.outside == 0 => (Verdict::Pass, None),
        (Some(_), Some(theirs)) => {
            let note = format!(
                "the reference is outside the limit at {} elements",
                theirs.outside
            );
            (Verdict::ReferenceSuspect, Some(note))
        }
        (Some(Outcome::Ran(_)), None) => (
            Verdict::ReferenceSuspect,
            Some("the reference's dtype or shape is wrong".to_owned()),
        ),
        (Some(Outcome::Refused { message, .. }), None) => (
            Verdict::ReferenceSuspect,
            Some(format!("the reference refused: {message}")),
        ),
        (Some(Outcome::Crashed { how, .. }), None) => (
            Verdict::ReferenceSuspect,
            Some(format!("the reference crashed: {how}")),
        ),
        // The reference gave no opinion; its own column says so.
        (Some(Outcome::TimedOut { .. } | Outcome::Missing { .. }), None) => (Verdict::Pass, None),
    }
}

/// What is wrong with the dtype, the shape or the size of an output.
fn form(expected: &Expected, output: &HostTensor) -> Option<String> {
    if output.dtype != expected.dtype {
        return Some(format!("dtype is {}, expected {}", output.dtype, expected.dtype));
    }
    if output.shape != expected.shape {
        return Some(format!(
            "shape is {:?}, expected {:?}",
            output.shape, expected.shape
        ));
    }
    let bytes = output.len() * output.dtype.size();
    if output.bytes.len() != bytes {
        return Some(format!("{} bytes of data, expected {bytes}", output.bytes.len()));
    }
    None
}

/// Whether the right answer is one number over and over, whatever the argument holds.
fn constant(op: Op) -> bool {
    matches!(op, Op::Copies(Copies::Full | Copies::Zeros | Copies::Ones))
}

/// Why a pass would prove nothing: an output of zeros only, or of copies of its first element only,
/// would be inside the limits too, although the inputs vary.
fn vacuous(expected: &Expected, args: &[HostTensor]) -> Option<String> {
    let varied = if expected.elementwise {
        varied(args)
    } else {
        expected.elements.len() >= COMPOUND_FROM && varied_each(args)
    };
    if !varied {
        return None;
    }
    let passes = |constant: u64| {
        let inside = |element: &crate::Element| {
            error(
                expected.dtype,
                expected.bitwise,
                element.bits,
                constant,
                element.limit,
            )
            .inside
        };
        expected.elements.iter().all(inside)
    };
    if passes(0) {
        return Some("an output of zeros would pass too: the values or the limit prove nothing".to_owned());
    }
    let constant = expected.elements[0].bits;
    passes(constant)
        .then(|| "a constant output would pass too: the values or the limit prove nothing".to_owned())
}

/// Whether the op saw so many different inputs that an output of equal elements is not an accident. One argument
/// that is the same everywhere may rightly decide: everything is below 9, and 0 divided by anything is 0.
fn varied(args: &[HostTensor]) -> bool {
    let constant = |arg: &HostTensor| (1..arg.len()).all(|i| arg.bits(i) == arg.bits(0));
    let mut distinct = BTreeSet::new();
    !args.iter().any(constant)
        && (0..args[0].len()).any(|i| {
            distinct.insert(args.iter().map(|arg| arg.bits(i)).collect::<Vec<_>>());
            distinct.len() >= TRUST_FROM
        })
}

/// Whether every argument by itself holds enough elements and enough different numbers.
fn varied_each(args: &[HostTensor]) -> bool {
    let distinct = |arg: &HostTensor| (0..arg.len()).map(|i| arg.bits(i)).collect::<BTreeSet<_>>().len();
    args.iter()
        .all(|arg| arg.len() >= COMPOUND_FROM && distinct(arg) >= TRUST_FROM.min(arg.len() / 2))
}

#[cfg(test)]
mod tests;
