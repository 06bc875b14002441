//! Tests of the judge, each with its negative control: the same outcome, broken in one place.

use parity_model::{DType, LimitSpec};

use super::*;
use crate::expected;

const EXP: &str = "unary/exp:f32:[8,8]:transposed:uniform(-10,10)";

struct Setup {
    case: Case,
    inputs: Vec<HostTensor>,
    expected: Expected,
}

impl Setup {
    fn new(id: &str) -> Setup {
        Setup::with_limit(id, LimitSpec::Derived)
    }

    fn with_limit(id: &str, limit: LimitSpec) -> Setup {
        let mut case: Case = id.parse().unwrap();
        case.limit = limit;
        let inputs = case.inputs(0);
        let expected = expected(&case, &inputs);
        Setup {
            case,
            inputs,
            expected,
        }
    }

    /// The right output.
    fn right(&self) -> HostTensor {
        let size = self.expected.dtype.size();
        let bytes = self
            .expected
            .elements
            .iter()
            .flat_map(|e| e.bits.to_le_bytes().into_iter().take(size))
            .collect();
        HostTensor {
            dtype: self.expected.dtype,
            shape: self.expected.shape.clone(),
            bytes,
        }
    }

    /// The right output with bit `bit` of element `i` flipped.
    fn flipped(&self, i: usize, bit: usize) -> HostTensor {
        let mut output = self.right();
        output.bytes[i * output.dtype.size() + bit / 8] ^= 1 << (bit % 8);
        output
    }

    fn judge(&self, reference: Option<&Outcome>, got: &Outcome) -> Judgement {
        judge(&self.case, &self.expected, &self.inputs, reference, got)
    }

    fn alone(&self, output: HostTensor) -> Judgement {
        self.judge(None, &Outcome::Ran(output))
    }
}

fn refused(refusal: Refusal) -> Outcome {
    Outcome::Refused {
        refusal,
        message: "no".into(),
    }
}

#[test]
fn the_right_answer_passes_and_one_flipped_bit_does_not() {
    for id in [
        "unary/neg:f32:[8,8]:transposed:uniform(-10,10)",
        "unary/sqrt:f16:[65536]:contiguous:exhaustive",
        "unary/abs:i64:[64]:stepped:extremes",
        "binary/add:bf16:[8,8],[8,8]:contiguous,broadcast:uniform(-1,1)",
        "binary/lt:u8:[40],[40]:offset,scalar:ints(0,9)",
    ] {
        let setup = Setup::new(id);
        let judgement = setup.alone(setup.right());
        assert_eq!((judgement.verdict, judgement.note), (Verdict::Pass, None), "{id}");
        assert_eq!(judgement.vs_oracle.unwrap().worst, None);
        let judgement = setup.alone(setup.flipped(7, 0));
        assert_eq!(judgement.verdict, Verdict::Mismatch, "{id}");
        assert_eq!(
            judgement.note.unwrap(),
            format!("1 of {} elements are outside the limit", setup.right().len())
        );
    }
}

#[test]
fn an_error_inside_the_limit_passes_and_is_measured() {
    let setup = Setup::new(EXP);
    let judgement = setup.alone(setup.flipped(13, 0));
    assert_eq!(judgement.verdict, Verdict::Pass);
    let metrics = judgement.vs_oracle.unwrap();
    assert_eq!(
        (metrics.max_ulp, metrics.limit_used, metrics.outside),
        (1.0, 0.5, 0)
    );
    let worst = metrics.worst.unwrap();
    assert_eq!(worst.index, [1, 5]);
    assert_eq!(worst.limit, "2 ULP");
    assert_eq!(worst.inputs.len(), 1);
    assert_ne!(worst.expected, worst.got);
    assert_eq!(
        setup.alone(setup.flipped(13, 2)).verdict,
        Verdict::Mismatch,
        "the control: 4 ULP"
    );
}

#[test]
fn dtype_shape_and_size_are_compared_first() {
    let setup = Setup::new(EXP);
    let wrong = |change: fn(&mut HostTensor)| {
        let mut output = setup.right();
        change(&mut output);
        let judgement = setup.alone(output);
        assert_eq!(
            (judgement.verdict, judgement.vs_oracle),
            (Verdict::Mismatch, None)
        );
        judgement.note.unwrap()
    };
    assert_eq!(wrong(|o| o.dtype = DType::U32), "dtype is u32, expected f32");
    assert_eq!(wrong(|o| o.shape = vec![64]), "shape is [64], expected [8, 8]");
    assert_eq!(wrong(|o| o.bytes.truncate(8)), "8 bytes of data, expected 256");
}

#[test]
fn an_empty_output_of_the_right_form_passes() {
    let setup = Setup::new("unary/exp:f32:[0,3]:contiguous:uniform(-1,1)");
    assert_eq!(setup.alone(setup.right()).verdict, Verdict::Pass);
    let mut wrong = setup.right();
    wrong.shape = vec![3, 0];
    assert_eq!(setup.alone(wrong).verdict, Verdict::Mismatch);
}

#[test]
fn the_reference_is_suspect_when_only_it_is_wrong() {
    let setup = Setup::new(EXP);
    let (right, wrong) = (Outcome::Ran(setup.right()), Outcome::Ran(setup.flipped(0, 20)));
    assert_eq!(setup.judge(Some(&right), &right).verdict, Verdict::Pass);
    assert_eq!(
        setup.judge(Some(&wrong), &right).verdict,
        Verdict::ReferenceSuspect
    );
    assert_eq!(setup.judge(Some(&right), &wrong).verdict, Verdict::Mismatch);
    let both = setup.judge(Some(&wrong), &wrong);
    assert_eq!(both.verdict, Verdict::Mismatch, "two wrongs make no right");
    assert_eq!(both.vs_reference.unwrap().outside, 0);
    assert_eq!(
        setup.judge(Some(&refused(Refusal::Panic)), &right).verdict,
        Verdict::ReferenceSuspect
    );
}

#[test]
fn refusals_agree_by_class() {
    use Refusal::{DeviceFault, Invalid, Other, Panic, Unsupported};
    let setup = Setup::new(EXP);
    let right = Outcome::Ran(setup.right());
    for (reference, got, verdict) in [
        (None, Unsupported, Verdict::Unsupported),
        (None, Panic, Verdict::Mismatch),
        (Some(&right), Unsupported, Verdict::Unsupported),
        (Some(&right), Invalid, Verdict::Mismatch),
        (Some(&right), DeviceFault, Verdict::Crash),
        (Some(&refused(Unsupported)), Unsupported, Verdict::ErrorParity),
        (Some(&refused(Invalid)), Invalid, Verdict::ErrorParity),
        (Some(&refused(Other)), Other, Verdict::ErrorParity),
        (Some(&refused(Invalid)), Panic, Verdict::Mismatch),
        (Some(&refused(Panic)), Unsupported, Verdict::Unsupported),
        (Some(&refused(DeviceFault)), DeviceFault, Verdict::Crash),
    ] {
        let judgement = setup.judge(reference, &refused(got));
        assert_eq!(judgement.verdict, verdict, "{got:?} against {reference:?}");
        assert!(judgement.note.unwrap().ends_with(": no"));
    }
}

#[test]
fn deaths_keep_their_words() {
    let setup = Setup::new(EXP);
    let crash = Outcome::Crashed {
        how: "signal 11".into(),
        stderr: "warming up\nboom\n".into(),
    };
    let judgement = setup.judge(None, &crash);
    assert_eq!(
        (judgement.verdict, judgement.note.unwrap().as_str()),
        (Verdict::Crash, "signal 11: boom")
    );
    assert_eq!(
        setup.judge(None, &Outcome::TimedOut { limit_ms: 5 }).verdict,
        Verdict::Timeout
    );
    assert_eq!(
        setup
            .judge(None, &Outcome::Missing { reason: "cut".into() })
            .verdict,
        Verdict::NotRun
    );
}

#[test]
fn a_pass_that_a_constant_output_would_share_is_untrusted() {
    let zeros = Setup::new("unary/floor:f32:[64]:contiguous:uniform(0,1)");
    assert_eq!(zeros.alone(zeros.right()).verdict, Verdict::Untrusted);
    let ones = Setup::new("unary/sign:f32:[64]:contiguous:uniform(1,2)");
    assert_eq!(ones.alone(ones.right()).verdict, Verdict::Untrusted);
    let varied = Setup::new("unary/sign:f32:[64]:contiguous:uniform(-1,1)");
    assert_eq!(varied.alone(varied.right()).verdict, Verdict::Pass, "the control");
}

#[test]
fn a_limit_wide_enough_for_zeros_is_untrusted() {
    let wide = LimitSpec::Fixed {
        ulp: 0.0,
        abs: 11.0,
        source: "too wide on purpose".into(),
    };
    let setup = Setup::with_limit("unary/neg:f32:[64]:contiguous:uniform(-10,10)", wide);
    let judgement = setup.alone(setup.right());
    assert_eq!(judgement.verdict, Verdict::Untrusted);
    assert!(judgement.note.unwrap().starts_with("an output of zeros"));
}

#[test]
fn a_constant_output_for_constant_inputs_is_no_ones_fault() {
    for layouts in ["scalar,scalar", "contiguous,scalar"] {
        let setup = Setup::new(&format!("binary/lt:f32:[64],[64]:{layouts}:uniform(9,10)"));
        assert_eq!(setup.alone(setup.right()).verdict, Verdict::Pass);
    }
}

#[test]
fn bits_are_compared_when_asked_for() {
    let bits = LimitSpec::Bits {
        source: "only the sign bit changes".into(),
    };
    let id = "unary/neg:f16:[65536]:contiguous:exhaustive";
    let setup = Setup::with_limit(id, bits);
    assert_eq!(setup.alone(setup.right()).verdict, Verdict::Pass);
    assert_eq!(
        setup.alone(setup.flipped(0, 15)).verdict,
        Verdict::Mismatch,
        "+0 for -0"
    );
    let numbers = Setup::new(id);
    assert_eq!(
        numbers.alone(numbers.flipped(0, 15)).verdict,
        Verdict::Pass,
        "the control: as numbers they are equal"
    );
}

#[test]
fn an_id_out_of_range_is_to_be_refused_cleanly() {
    let setup = Setup::new("indexing/gather(0):f32,u32:[9],[5]:contiguous,contiguous:ids_beyond");
    let verdict = |got: &Outcome| setup.judge(None, got).verdict;
    assert_eq!(verdict(&refused(Refusal::Invalid)), Verdict::Pass);
    assert_eq!(verdict(&refused(Refusal::Other)), Verdict::Pass);
    assert_eq!(verdict(&refused(Refusal::Panic)), Verdict::Mismatch);
    assert_eq!(verdict(&refused(Refusal::DeviceFault)), Verdict::Crash);
    assert_eq!(verdict(&refused(Refusal::Unsupported)), Verdict::Unsupported);
    assert_eq!(verdict(&Outcome::Ran(setup.right())), Verdict::Mismatch);
}

/// The output of a case that compares two forms, when one element of the first form is another than the second's.
fn one_form_broken(setup: &Setup, bit: usize) -> HostTensor {
    let mut output = setup.right();
    output.bytes[bit / 8] ^= 1 << (bit % 8);
    output
}

#[test]
fn two_forms_pass_when_they_agree_and_the_oracle_that_failed_is_named() {
    for (id, oracle) in [
        (EXP_LAYOUT, "layout invariance"),
        ("unary/abs:i16:[9,8]:transposed:any@layout", "layout invariance"),
        (
            "binary/add:i64:[9,8],[9,8]:contiguous,contiguous:any@batch",
            "batch split",
        ),
        ("reduce/max(1):u8:[9,8]:contiguous:any@batch", "batch split"),
    ] {
        let setup = Setup::new(id);
        assert_eq!(setup.alone(setup.right()).verdict, Verdict::Pass, "{id}");
        let judgement = setup.alone(one_form_broken(&setup, 0));
        assert_eq!(judgement.verdict, Verdict::Mismatch, "{id}: one bit");
        let note = judgement.note.unwrap();
        assert!(note.starts_with("1 of ") && note.contains(oracle), "{note}");
    }
}

const EXP_LAYOUT: &str = "unary/exp:f32:[9,8]:transposed:uniform(-10,10)@layout";

#[test]
fn two_forms_need_no_expected_value() {
    let setup = Setup::new(EXP_LAYOUT);
    let mut zeros = setup.right();
    zeros.bytes.fill(0);
    assert_eq!(setup.alone(zeros).verdict, Verdict::Pass, "both are wrong alike");
    let plain = Setup::new(EXP_LAYOUT.trim_end_matches("@layout"));
    let mut zeros = plain.right();
    zeros.bytes.fill(0);
    assert_eq!(
        plain.alone(zeros).verdict,
        Verdict::Mismatch,
        "the control: the value is checked there"
    );
}

#[test]
fn sums_in_another_order_may_differ_by_twice_their_limit_and_whole_numbers_by_nothing() {
    let sums = Setup::new("reduce/sum(1):f32:[4,999]:stepped:uniform(-1,1)@layout");
    assert_eq!(
        sums.alone(one_form_broken(&sums, 0)).verdict,
        Verdict::Pass,
        "an ULP"
    );
    assert_eq!(
        sums.alone(one_form_broken(&sums, 20)).verdict,
        Verdict::Mismatch,
        "the control: a million ULP"
    );
    let whole = Setup::new("reduce/sum(1):f32:[4,999]:stepped:ints(-4,4)@layout");
    assert_eq!(whole.alone(one_form_broken(&whole, 0)).verdict, Verdict::Mismatch);
    let integers = Setup::new("reduce/sum(1):i32:[4,999]:stepped:ints(-4,4)@layout");
    assert_eq!(
        integers.alone(one_form_broken(&integers, 0)).verdict,
        Verdict::Mismatch
    );
}

#[test]
fn one_form_alone_is_not_two() {
    let setup = Setup::new(EXP_LAYOUT);
    let mut one = setup.right();
    one.shape.remove(0);
    one.bytes.truncate(one.bytes.len() / 2);
    assert_eq!(setup.alone(one).verdict, Verdict::Mismatch);
}

#[test]
fn the_reference_is_suspect_when_its_forms_differ_and_the_backends_do_not() {
    let setup = Setup::new(EXP_LAYOUT);
    let (right, wrong) = (
        Outcome::Ran(setup.right()),
        Outcome::Ran(one_form_broken(&setup, 20)),
    );
    assert_eq!(
        setup.judge(Some(&wrong), &right).verdict,
        Verdict::ReferenceSuspect
    );
    assert_eq!(setup.judge(Some(&right), &right).verdict, Verdict::Pass);
    assert_eq!(setup.judge(Some(&right), &wrong).verdict, Verdict::Mismatch);
}

#[test]
fn a_refusal_passes_in_the_class_that_is_declared_and_in_no_other() {
    use Refusal::{DeviceFault, Invalid, Other, Panic, Unsupported};
    let unsupported = Setup::new("unary/exp:i32:[4]:contiguous:ints(0,9)@unsupported");
    let invalid = Setup::new("binary/add:f32:[2],[3]:contiguous,contiguous:ints(0,9)@invalid");
    for (setup, got, verdict) in [
        (&unsupported, Unsupported, Verdict::Pass),
        (&unsupported, Invalid, Verdict::Mismatch),
        (&unsupported, Other, Verdict::Mismatch),
        (&unsupported, Panic, Verdict::Mismatch),
        (&unsupported, DeviceFault, Verdict::Crash),
        (&invalid, Invalid, Verdict::Pass),
        (&invalid, Other, Verdict::Pass),
        (&invalid, Unsupported, Verdict::Unsupported),
        (&invalid, Panic, Verdict::Mismatch),
    ] {
        let got_too = refused(got);
        assert_eq!(
            setup.judge(None, &got_too).verdict,
            verdict,
            "{}: {got:?}",
            setup.case.id()
        );
        assert_eq!(
            setup.judge(Some(&got_too), &got_too).verdict,
            verdict,
            "{}: {got:?} on both sides",
            setup.case.id()
        );
    }
    let computed = unsupported.alone(unsupported.right());
    assert_eq!(computed.verdict, Verdict::Mismatch);
    assert_eq!(
        computed.note.unwrap(),
        "it computed something, and is to refuse this as unsupported"
    );
}
