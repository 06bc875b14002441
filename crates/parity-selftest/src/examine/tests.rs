//! Every perturbation beside its negative control: a judge and a limit that are blind, which must let it survive.

use parity_model::LimitSpec;

use super::*;

/// Perturbation; a case that notices it; whether a limit can be so wide that the case no longer does. Inputs are so few
/// or so alike that the judge does not distrust such a limit. No limit is wide enough for NaN.
const CONTROLS: &[(&str, &str, bool)] = &[
    ("zeros", EXP, true),
    ("stale", EXP, true),
    ("wave-tail-zero", EXP, true),
    ("wave-tail-stale", EXP, true),
    ("group-tail-zero", EXP, true),
    ("group-tail-stale", EXP, true),
    ("first-lost", EXP, true),
    ("last-lost", EXP, true),
    ("neighbour", EXP, true),
    (
        "row-repeated",
        "unary/exp:f32:[3,4]:contiguous:uniform(-1,1)",
        true,
    ),
    ("transposed", "unary/exp:f32:[3,4]:contiguous:uniform(-1,1)", true),
    ("beyond-limit", EXP, true),
    ("wrong-sign", EXP, true),
    ("nan-dropped", "unary/exp:f32:[9]:contiguous:nan", false),
    ("nan-made", EXP, false),
    (
        "subnormals-flushed",
        "unary/neg:f32:[24]:contiguous:special",
        true,
    ),
    ("narrow-result", EXP, true),
    (
        "f8-overflow-nan",
        "unary/neg:f8e4m3:[24]:contiguous:special",
        false,
    ),
    (
        "strides-ignored",
        "unary/exp:f32:[3,4]:transposed:uniform(-1,1)",
        true,
    ),
    ("offset-ignored", "unary/exp:f32:[9]:offset:uniform(-1,1)", true),
    (
        "broadcast-ignored",
        "unary/exp:f32:[3,4]:broadcast:uniform(-1,1)",
        true,
    ),
    (
        "args-swapped",
        "binary/sub:f32:[9],[9]:contiguous,contiguous:uniform(-1,1)",
        true,
    ),
    (
        "parameter-off-by-one",
        "unary/powf(2):f32:[9]:contiguous:uniform(1,2)",
        true,
    ),
    (
        "dim-off-by-one",
        "reduce/sum(0):f32:[3,3]:contiguous:ints(-9,9)",
        true,
    ),
    (
        "id-off-by-one",
        "indexing/gather(0):f32,u32:[5],[4]:contiguous,contiguous:uniform(-1,1)",
        true,
    ),
    (
        "first-write-wins",
        "indexing/scatter(0):f32,u32,f32:[2],[7],[7]:contiguous,contiguous,contiguous:uniform(-1,1)",
        true,
    ),
    (
        "last-tie",
        "reduce/argmax(1):f32:[2,9]:contiguous:ints(0,1)",
        true,
    ),
    (
        "unstable-sort",
        "sort/argsort_asc:f32:[1,9]:contiguous:ints(0,1)",
        true,
    ),
    (
        "narrow-sums",
        "reduce/sum(1):bf16:[1,1025]:contiguous:ints(1,2)",
        true,
    ),
    (
        "tf32",
        "matmul/matmul:f32:[1,3],[3,1]:contiguous,contiguous:uniform(-1,1)",
        true,
    ),
    (
        "saturates",
        "binary/add:u8:[9],[9]:contiguous,contiguous:any",
        true,
    ),
    ("wraps", "cast/to_u8:f32:[9]:contiguous:uniform(-1000,1000)", true),
    ("truncated", "cast/to_bf16:f32:[9]:contiguous:uniform(-1,1)", true),
    ("rounded", "cast/to_i32:f32:[9]:contiguous:uniform(-9,9)", true),
    (
        "bad-id-accepted",
        "indexing/gather(0):f32,u32:[5],[4]:contiguous,contiguous:ids_beyond",
        false,
    ),
];

const EXP: &str = "unary/exp:f32:[9]:contiguous:uniform(-1,1)";

fn case(id: &str) -> Case {
    id.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn counts(name: &str, examination: &Examination) -> Counts {
    let place = PERTURBATIONS
        .iter()
        .position(|perturbation| perturbation.name == name);
    examination.wrong[place.unwrap()]
}

#[test]
fn every_perturbation_has_a_control() {
    let names: Vec<_> = PERTURBATIONS
        .iter()
        .map(|perturbation| perturbation.name)
        .collect();
    let controlled: Vec<_> = CONTROLS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, controlled);
}

#[test]
fn the_judge_notices_every_perturbation_as_a_mismatch() {
    for (name, id, _) in CONTROLS {
        let examination = examine(&case(id), 0, |_| true);
        assert_eq!(examination.right, Verdict::Pass, "{id}");
        let counts = counts(name, &examination);
        assert!(
            counts.mismatch > 0 && counts.untrusted == 0 && counts.survived == 0,
            "{name}: {counts:?}"
        );
    }
}

#[test]
fn a_blind_judge_lets_every_perturbation_survive() {
    for (name, id, _) in CONTROLS {
        let case = case(id);
        let subject = Subject::new(&case, 0);
        let counts = counts(
            name,
            &examine_by(&subject, &subject.expected, |_| true, |_| Verdict::Pass),
        );
        assert!(counts.survived > 0 && counts.killed() == 0, "{name}: {counts:?}");
    }
}

#[test]
fn a_blind_limit_lets_all_survive_that_a_limit_can() {
    for (name, id, can) in CONTROLS {
        let mut case = case(id);
        case.limit = LimitSpec::Fixed {
            ulp: 1e30,
            abs: 1e300,
            source: "planted".into(),
        };
        let counts = counts(name, &examine(&case, 0, |_| true));
        assert_eq!(counts.survived > 0, *can, "{name}: {counts:?}");
    }
}

#[test]
fn a_blind_limit_on_varied_inputs_is_noticed_as_untrusted() {
    let mut case = case("unary/exp:f32:[99]:contiguous:uniform(-1,1)");
    case.limit = LimitSpec::Fixed {
        ulp: 0.0,
        abs: 9.0,
        source: "planted".into(),
    };
    let examination = examine(&case, 0, |_| true);
    assert_eq!(examination.right, Verdict::Untrusted);
    let counts = counts("stale", &examination);
    assert_eq!((counts.untrusted, counts.killed(), counts.survived), (1, 1, 0));
}

#[test]
fn an_output_that_is_right_after_all_is_inapplicable() {
    // Zero times anything: zeros, from whatever seed, in whatever order.
    let examination = examine(&case("unary/affine(0,0):u8:[40]:offset:any"), 0, |_| true);
    for name in [
        "zeros",
        "stale",
        "wave-tail-zero",
        "neighbour",
        "offset-ignored",
        "wrong-sign",
    ] {
        assert_eq!(counts(name, &examination), Counts::default(), "{name}");
    }
    assert!(counts("beyond-limit", &examination).mismatch > 0, "the control");
}

#[test]
fn every_op_can_be_examined() {
    // One case an op, made from its own table row, would need shapes for each; these are one for each family.
    for id in [
        "where/where_cond:u8,f32,f32:[3,5],[3,5],[3,5]:contiguous,transposed,broadcast:any",
        "conv/conv2d(1,2,1,1):f16:[1,2,5,5],[3,2,3,3]:reversed,stepped:ints(-4,4)",
        "pool/max_pool2d(2,2,1,1):i16:[1,1,4,4]:sliced:any",
        "upsample/upsample_bilinear2d(7,9,1):f32:[1,1,4,5]:transposed:uniform(-1,1)",
        "copy/fill(300,1,1,2):u8:[4,9]:contiguous:any",
        "nn/layer_norm(0.1):bf16:[3,8],[8],[8]:offset,contiguous,offset:uniform(-1,1)",
        "nn/rope_i:f64:[1,2,3,4],[3,2],[3,2]:contiguous,contiguous,contiguous:uniform(-1,1)",
        "binary/add:f32:[0,4],[0,4]:contiguous,sliced:any",
        "unary/exp:f32:[]:contiguous:uniform(-1,1)",
    ] {
        let examination = examine(&case(id), 0, |_| true);
        assert_eq!(examination.right, Verdict::Pass, "{id}");
    }
}

#[test]
fn a_fault_in_one_of_two_forms_is_noticed() {
    for id in [
        "unary/neg:f32:[5,7]:transposed:uniform(-9,9)@layout",
        "copy/copy:i16:[5,7]:contiguous:any@batch",
    ] {
        let examination = examine(&case(id), 0, |_| true);
        assert_eq!(examination.right, Verdict::Pass, "{id}");
        let applicable: usize = examination.wrong.iter().map(Counts::applicable).sum();
        let survived: usize = examination.wrong.iter().map(|counts| counts.survived).sum();
        assert!(applicable > 5, "{id}: {applicable} faults");
        assert_eq!(survived, 0, "{id}");
    }
}

#[test]
fn a_value_in_the_place_of_a_refusal_is_noticed() {
    for id in [
        "unary/exp:i32:[9]:contiguous:ints(0,9)@unsupported",
        "binary/add:f32:[2],[3]:contiguous,contiguous:ints(0,9)@invalid",
    ] {
        let examination = examine(&case(id), 0, |_| true);
        assert_eq!(examination.right, Verdict::Pass, "{id}");
        let killed: usize = examination.wrong.iter().map(Counts::killed).sum();
        assert_eq!(killed, 1, "{id}");
    }
}

#[test]
fn a_right_output_within_a_limit_that_nothing_is_beyond_is_not_passed() {
    let mut case = case(EXP);
    let mut right = |ulp: f64| {
        case.limit = LimitSpec::Fixed {
            ulp,
            abs: 0.0,
            source: "planted".into(),
        };
        examine(&case, 0, |_| false).right
    };
    assert_eq!(
        [right(4.0), right(f64::INFINITY)],
        [Verdict::Pass, Verdict::Mismatch]
    );
}
