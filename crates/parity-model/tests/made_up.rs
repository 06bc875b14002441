//! Ids, shapes, layouts, values and specs made up by the thousand: what a case writes it reads back, and no text makes a
//! reader panic.

use parity_model::spec::{self, SpecFile};
use parity_model::{Case, Check, DType, Layout, Op, ValueSet};
use proptest::prelude::*;

const CASES: u32 = 512;

fn one_of<T: Clone + std::fmt::Debug + 'static>(all: &[T]) -> impl Strategy<Value = T> + use<T> {
    proptest::sample::select(all.to_vec())
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    // Every rank, and few enough elements to be filled, with those that layouts put around.
    let small = |shape: &Vec<usize>| shape.iter().map(|extent| extent + 1).product::<usize>() <= 4096;
    let long = proptest::collection::vec(0_usize..4, 0..11);
    prop_oneof![proptest::collection::vec(0_usize..9, 0..4), long].prop_filter("is small", small)
}

/// Numbers as specs have them: whole ones, halves, and some of other sizes.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-9_i32..99).prop_map(f64::from),
        (-9_i32..99).prop_map(|x| f64::from(x) / 2.0),
        any::<f32>()
            .prop_map(f64::from)
            .prop_filter("a number", |x| x.is_finite()),
    ]
}

/// The text of a value set, which need not fit anything.
fn values() -> impl Strategy<Value = String> {
    let words = [
        "any",
        "special",
        "nan",
        "nans",
        "extremes",
        "divzero",
        "exhaustive",
        "numbers",
        "quants",
        "ids_beyond",
        "ids_negative",
        "ids_none",
    ];
    prop_oneof![
        one_of(&words).prop_map(str::to_owned),
        (number(), number()).prop_map(|(a, b)| format!("uniform({},{})", a.min(b), a.max(b))),
        (-99_i64..99, -99_i64..99).prop_map(|(a, b)| format!("ints({},{})", a.min(b), a.max(b))),
        (1_i64..99, 1_i64..99).prop_map(|(a, b)| format!("nonzero({},{})", a.min(b), a.max(b))),
    ]
}

/// Shape, layout and dtype of an argument.
type Argument = (Vec<usize>, Layout, DType);

/// The text of an id, every part of which is of the right kind; whether the parts fit each other is left to chance.
fn id() -> impl Strategy<Value = String> {
    let count = proptest::collection::vec(number(), 0..4);
    let args = proptest::collection::vec((shape(), one_of(&Layout::ALL), one_of(&DType::ALL)), 1..4);
    let parts = (
        one_of(Op::ALL),
        count,
        args,
        values(),
        one_of(&Check::ALL),
        any::<bool>(),
    );
    parts.prop_map(|(op, params, mut args, values, check, fits)| {
        // Half of them have as many arguments and parameters as the op takes, all of one shape and dtype.
        let params: Vec<String> = params.iter().map(f64::to_string).collect();
        let params = match (fits, op.params().len()) {
            (true, 0) => String::new(),
            (true, wanted) => format!("({})", vec!["1"; wanted].join(",")),
            (false, _) if params.is_empty() => String::new(),
            (false, _) => format!("({})", params.join(",")),
        };
        if fits {
            args = vec![args[0].clone(); op.arity()];
        }
        let texts = |text: &dyn Fn(&Argument) -> String| args.iter().map(text).collect::<Vec<_>>().join(",");
        let shapes = texts(&|arg| {
            let extents: Vec<String> = arg.0.iter().map(usize::to_string).collect();
            format!("[{}]", extents.join(","))
        });
        let layouts = texts(&|arg| arg.1.to_string());
        let check = match check {
            Check::Value => String::new(),
            check => format!("@{check}"),
        };
        let dtype = args[0].2;
        format!(
            "{}/{op}{params}:{dtype}:{shapes}:{layouts}:{values}{check}",
            op.family()
        )
    })
}

/// A text with some of its bytes gone, doubled or replaced by others of the language.
fn mutated(text: &'static str) -> impl Strategy<Value = String> {
    let edit = (
        any::<proptest::sample::Index>(),
        0_usize..4,
        one_of(b"[]{}()\",:=#@.-+e09 \nx*\\"),
    );
    proptest::collection::vec(edit, 1..9).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, kind, byte) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, byte),
                2 => bytes[at] = byte,
                _ => bytes.truncate(at),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

const SPEC: &str = r#"
family = "unary"

[[group]]
ops = ["affine", "elu"]
params = [[2, -1], [0.5]]
dtypes = ["f32", "u8"]
shapes = [[], [33], [5, 7, 3]]
layouts = ["contiguous", "transposed"]
values = ["ints(0,9)", "uniform(-1,1)"]
tier = "ci"
skip_impossible = true
limit = { ulp = 4, abs = 1e-6, source = "why" }
"#;

/// Reads a spec and makes its cases; what it says of a broken one is not the question.
fn read(text: &str) -> Option<Vec<Case>> {
    let file: SpecFile = spec::parse("made-up.toml", text).ok()?;
    spec::expand(&[file]).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_case_reads_back_the_id_that_it_writes(text in id()) {
        if let Ok(case) = text.parse::<Case>() {
            let id = case.id();
            let again: Case = id.as_str().parse().expect("a case's own id");
            prop_assert_eq!(again.id(), id);
            prop_assert_eq!((again.op, &again.params, &again.args), (case.op, &case.params, &case.args));
            prop_assert_eq!((again.values, again.check, again.dtype), (case.values, case.check, case.dtype));
        }
    }

    #[test]
    fn a_case_that_is_read_has_inputs_of_its_own_shapes(text in id()) {
        if let Ok(case) = text.parse::<Case>() {
            for (input, arg) in case.inputs(1).iter().zip(&case.args) {
                prop_assert_eq!(input.dtype, arg.dtype, "{}", text);
                prop_assert_eq!(input.bytes.len(), input.len() * input.dtype.size());
            }
            prop_assert_eq!(case.inputs(1), case.inputs(1), "inputs are the id's");
        }
    }

    #[test]
    fn an_id_of_any_text_is_read_or_refused(text in mutated("indexing/gather(1):f16,u32:[2,3],[2,7]:contiguous,contiguous:any")) {
        let _ = text.parse::<Case>();
    }

    #[test]
    fn a_spec_of_any_text_is_read_or_refused(text in mutated(SPEC)) {
        if let Some(cases) = read(&text) {
            for case in cases {
                prop_assert!(case.id().as_str().parse::<Case>().is_ok(), "{}", case.id());
            }
        }
    }

    #[test]
    fn values_read_back_what_they_write(text in values()) {
        if let Ok(values) = text.parse::<ValueSet>() {
            prop_assert_eq!(values.to_string().parse::<ValueSet>(), Ok(values));
        }
    }
}

#[test]
fn what_is_made_up_is_often_a_case() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let read = (0..2000).filter(|_| {
        let made = id().new_tree(&mut runner).expect("ids are made");
        made.current().parse::<Case>().is_ok()
    });
    let count = read.count();
    assert!(count > 20, "only {count} of 2000 are cases");
    assert!(read_all().is_some(), "the spec that is mutated is a spec");
}

fn read_all() -> Option<Vec<Case>> {
    read(
        &SPEC
            .replace("\"affine\", \"elu\"", "\"affine\"")
            .replace(", [0.5]", "")
            .replace(", \"uniform(-1,1)\"", ""),
    )
}
