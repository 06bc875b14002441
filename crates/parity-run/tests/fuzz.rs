//! Negative controls of `parity fuzz`: a backend that computes with the oracle and is wrong for one layout, one size, one parameter,
//! one dtype or one kind of values. A run with a fixed seed finds each, and shrinks it to a case that shows it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

use std::{cell::Cell, collections::BTreeMap};

use parity_exec::Stop;
use parity_model::{
    Case, Check, DType, HostTensor, Layout, Outcome, Refusal, ValueSet, findings::Findings, layout::Strided,
};
use parity_oracle::{expected, judge};
use parity_run::{
    Error,
    fuzz::{Bench, FuzzSettings, Journal, ROUND, Report, Seen, fuzz},
    names,
};

/// Where a planted bug shows.
type Shows = fn(&Case) -> bool;

/// How the argument of a number lies.
fn lies(case: &Case, argument: usize) -> Strided {
    case.plan(argument).unwrap().strided()
}

fn extents(case: &Case) -> &[usize] {
    &case.args[0].shape
}

fn elements(case: &Case) -> usize {
    extents(case).iter().product()
}

/// Whether a long dimension of an argument has stride 0.
fn repeats(case: &Case, argument: usize) -> bool {
    let view = lies(case, argument);
    view.dims
        .iter()
        .zip(&view.strides)
        .any(|(dim, stride)| *dim > 1 && *stride == 0)
}

/// The stride of the last dimension, where there are several elements along it.
fn inner(case: &Case, argument: usize) -> usize {
    let view = lies(case, argument);
    match (view.dims.last(), view.strides.last()) {
        (Some(dim), Some(stride)) if *dim > 1 => *stride,
        _ => 1,
    }
}

/// What is planted: a name, the ops that are fuzzed, and where it shows.
const PLANTED: [(&str, &str, Shows); 25] = [
    // Layouts.
    ("a repeated last dimension", "unary", |case| inner(case, 0) == 0),
    ("a right side with a step of three", "binary", |case| {
        inner(case, 1) == 3
    }),
    ("four dimensions out of order", "reduce", |case| {
        let view = lies(case, 0);
        extents(case).len() >= 4 && elements(case) > 4 && !view.strides.is_sorted_by(|a, b| a >= b)
    }),
    (
        "a left side that is transposed and starts inside",
        "matmul",
        |case| lies(case, 0).offset > 0 && inner(case, 0) > 1,
    ),
    ("a condition that repeats", "where_cond", |case| repeats(case, 0)),
    ("ids with gaps", "index_select", |case| inner(case, 1) > 1),
    ("a start that is not a whole pack", "copy", |case| {
        !lies(case, 0).offset.is_multiple_of(4) && inner(case, 0) == 1
    }),
    // Sizes.
    ("more elements than 4096", "unary", |case| elements(case) > 4096),
    ("long rows", "softmax_last_dim", |case| {
        extents(case).last().is_some_and(|row| *row > 1024)
    }),
    ("rows of one more than a workgroup", "sort", |case| {
        extents(case).last() == Some(&257)
    }),
    ("nothing to add", "cat", |case| elements(case) == 0),
    ("many short rows", "reduce", |case| {
        extents(case).len() == 2 && extents(case)[0] > 1000 && extents(case)[1] < 4
    }),
    ("whole tiles", "matmul", |case| {
        elements(case) > 0 && extents(case).last().is_some_and(|k| k % 64 == 0)
    }),
    // Parameters.
    ("a dilation of three", "conv2d", |case| case.params[2] == 3.0),
    ("one over a root", "powf", |case| case.params[0] == -0.5),
    ("windows with holes between them", "unfold", |case| {
        case.params[2] > case.params[1]
    }),
    ("windows that miss elements", "avg_pool2d", |case| {
        case.params[2] > case.params[0]
    }),
    // Dtypes.
    ("small integers to 8 bits", "to_f8e4m3", |case| {
        case.dtype == DType::I16
    }),
    ("ids in 8 bits", "gather", |case| case.args[1].dtype == DType::U8),
    ("16-bit floats", "affine", |case| case.dtype == DType::BF16),
    // Values.
    ("NaN", "relu", |case| case.values == ValueSet::Nan),
    ("both ends of the integers", "maximum", |case| {
        case.values == ValueSet::Extremes && case.dtype == DType::I64
    }),
    ("a division by zero", "div", |case| {
        case.values == ValueSet::DivZero && case.dtype == DType::U8
    }),
    // Refusals.
    ("an id beyond the end", "index_add", |case| {
        case.values == ValueSet::IdsBeyond
    }),
    ("inner dimensions that differ", "matmul", |case| {
        case.check == Check::Invalid
    }),
];

/// A reference that is right, and a backend with a bug; after `rounds` it is not available any more.
struct Mock {
    shows: Shows,
    rounds: Cell<usize>,
}

impl Mock {
    fn new(shows: Shows) -> Mock {
        Mock {
            shows,
            rounds: Cell::new(usize::MAX),
        }
    }

    /// The right outcome.
    fn right(case: &Case, want: &parity_oracle::Expected) -> Outcome {
        match case.refusal() {
            Some(refusal) => Outcome::Refused {
                refusal,
                message: "so it is".to_owned(),
            },
            None => Outcome::Ran(want.tensor()),
        }
    }

    fn seen(&self, case: &Case) -> Vec<Seen> {
        let inputs = case.inputs(0);
        let want = expected(case, &inputs);
        let right = Mock::right(case, &want);
        let bug = match (self.shows)(case) {
            true => wrong(&right),
            false => right.clone(),
        };
        let judged = [
            judge(case, &want, &inputs, None, &right),
            judge(case, &want, &inputs, Some(&right), &bug),
        ];
        judged
            .map(|judged| Seen {
                verdict: judged.verdict,
                how: "a value came back",
                note: judged.note,
            })
            .to_vec()
    }
}

impl Bench for Mock {
    fn backends(&self) -> Vec<String> {
        ["cpu", "rocm"].map(str::to_owned).to_vec()
    }

    fn run(&mut self, cases: &[Case]) -> Result<Option<Vec<Vec<Seen>>>, Error> {
        if self.rounds.get() == 0 {
            return Err(Error::Internal("the lights went out".to_owned()));
        }
        self.rounds.set(self.rounds.get() - 1);
        Ok(Some(cases.iter().map(|case| self.seen(case)).collect()))
    }
}

/// The last element made another one; a refusal made a value; nothing where there is nothing to spoil.
fn wrong(right: &Outcome) -> Outcome {
    let Outcome::Ran(tensor) = right else {
        return Outcome::Ran(HostTensor {
            dtype: DType::U8,
            shape: vec![1],
            bytes: vec![0],
        });
    };
    let mut tensor = tensor.clone();
    let size = tensor.dtype.size();
    let at = tensor.bytes.len().saturating_sub(size);
    // 1.0 and -NaN, or two integers: whatever was right, one of them is far from it.
    let other = tensor.bytes[at..].iter().all(|byte| *byte == 0xff);
    tensor.bytes[at..].fill(if other { 0x38 } else { 0xff });
    Outcome::Ran(tensor)
}

fn settings(ops: &str, seed: u64, cases: u64) -> FuzzSettings {
    FuzzSettings {
        ops: vec![names::ops(ops).unwrap()],
        dtypes: vec![],
        seed,
        cases: Some(cases),
        time: None,
        shrink_runs: 200,
        shrink_groups: 1,
        shrink_known: false,
        excuse: true,
        rediscover: None,
    }
}

fn run(settings: &FuzzSettings, mock: &mut Mock, journal: Option<Journal>) -> Result<Report, Error> {
    fuzz(
        settings,
        mock,
        &Findings::default(),
        journal,
        &Stop::default(),
        |_| {},
    )
}

#[test]
fn every_planted_bug_is_found_and_shrunk_to_a_case_that_shows_it() {
    let mut missed = vec![];
    for (name, ops, shows) in PLANTED {
        let mut cases = 512;
        let report = loop {
            let report = run(&settings(ops, 11, cases), &mut Mock::new(shows), None).unwrap();
            if !report.passes() || cases >= 2 * ROUND {
                break report;
            }
            cases *= 2;
        };
        let Some((key, group)) = report.unexplained().next() else {
            missed.push(name);
            continue;
        };
        assert_eq!(key.backend, "rocm", "{name}: the reference is right");
        for shrunk in &report.shrunk {
            let small: Case = shrunk.case.parse().unwrap();
            assert!(shows(&small), "{name}: {}", shrunk.case);
        }
        assert!(
            group.case.parse::<Case>().is_ok_and(|case| shows(&case)),
            "{name}: {}",
            group.case
        );
    }
    assert_eq!(missed, [""; 0], "not found in {} cases", 2 * ROUND);
}

#[test]
fn a_backend_that_is_right_passes() {
    for ops in ["unary", "matmul", "indexing", "copy", "where"] {
        let report = run(&settings(ops, 5, 1000), &mut Mock::new(|_| false), None).unwrap();
        let found: Vec<_> = report.unexplained().collect();
        assert!(report.passes(), "{found:#?}");
        assert_eq!(
            (report.cases, report.groups.verdicts["rocm"].values().sum::<u64>()),
            (1000, 1000)
        );
    }
}

#[test]
fn a_run_that_was_cut_off_goes_on_and_loses_nothing() {
    let shows: Shows = |case| case.dtype == DType::F16 || case.args[0].layout == Layout::Transposed;
    let wanted = FuzzSettings {
        shrink_groups: 0,
        ..settings("abs", 3, 2 * ROUND + 100)
    };
    let whole = run(&wanted, &mut Mock::new(shows), None).unwrap();
    assert!(!whole.passes());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fuzz.journal");
    let mut dying = Mock::new(shows);
    dying.rounds = Cell::new(1);
    let error = run(&wanted, &mut dying, Some(Journal::new(&path).unwrap())).unwrap_err();
    assert!(error.to_string().contains("the lights went out"), "{error}");
    // The writer was killed in the middle of a line.
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice(br#"{"round":{"from":40"#);
    std::fs::write(&path, text).unwrap();
    let again = run(
        &wanted,
        &mut Mock::new(shows),
        Some(Journal::resume(&path).unwrap()),
    )
    .unwrap();
    assert_eq!(again.groups, whole.groups);
    assert_eq!((again.cases, again.rounds), (whole.cases, whole.rounds));
    // What is complete stays so, and another seed is another run.
    let idle = run(
        &wanted,
        &mut Mock::new(|_| panic!("nothing is left to run")),
        Some(Journal::resume(&path).unwrap()),
    );
    assert_eq!(idle.unwrap().groups, whole.groups);
    let other = FuzzSettings { seed: 4, ..wanted };
    let error = run(
        &other,
        &mut Mock::new(shows),
        Some(Journal::resume(&path).unwrap()),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the seed: `3` in the journal, `4` now"),
        "{error}"
    );
    assert!(Journal::new(&path).is_err(), "a journal is not written over");
}

#[test]
fn a_finding_explains_what_its_rows_for_drawn_cases_say_and_nothing_else() {
    let text = |row: &str| {
        format!(
            "title = \"t\"\nclass = \"unexplained\"\nreason = \"Unexplained.\"\nbackends = [\"rocm\"]\nverdict = \"mismatch\"\n\
             matches = [{{ op = [\"relu\"] }}]\nfuzz = [{row}]\n"
        )
    };
    let findings = |row: &str| {
        let text = text(row);
        let file = parity_model::findings::FindingText {
            name: "f",
            file: "f",
            text: &text,
        };
        Findings::parse(&[file], &["cpu", "rocm"]).unwrap()
    };
    let shows: Shows = |case| case.dtype == DType::F16 && case.refusal() != Some(Refusal::Invalid);
    let wanted = FuzzSettings {
        shrink_groups: 0,
        ..settings("abs", 3, 2000)
    };
    let with = |known: &Findings| {
        fuzz(
            &wanted,
            &mut Mock::new(shows),
            known,
            None,
            &Stop::default(),
            |_| {},
        )
        .unwrap()
    };
    let explained = with(&findings(r#"{ op = ["abs"], dtype = ["f16"] }"#));
    assert!(
        explained.passes(),
        "{:#?}",
        explained.unexplained().collect::<Vec<_>>()
    );
    let counts: &BTreeMap<String, u64> = &explained.groups.verdicts["rocm"];
    assert!(
        counts["known-failure"] > 50 && !counts.contains_key("mismatch"),
        "{counts:?}"
    );
    for row in [
        r#"{ op = ["abs"], dtype = ["f32"] }"#,
        r#"{ op = ["abs"], dtype = ["f16"], backends = ["cpu"] }"#,
    ] {
        assert!(!with(&findings(row)).passes(), "{row}");
    }
}

#[test]
fn findings_are_found_again_where_their_op_is_drawn_and_missed_by_name_where_it_is_not() {
    let finding = |name: &'static str, op: &str, backend: &str| {
        let text = format!(
            "title = \"t\"\nclass = \"unexplained\"\nreason = \"Unexplained.\"\nbackends = [\"{backend}\"]\n\
             verdict = \"mismatch\"\nmatches = [{{ op = [\"relu\"] }}]\nfuzz = [{{ op = [\"{op}\"] }}]\n"
        );
        (name, text)
    };
    // `elsewhere` is about another backend, so that no run here could show it. `of-the-specs` says that no random case does.
    let texts = [
        finding("of-abs", "abs", "rocm"),
        finding("of-neg", "neg", "rocm"),
        finding("elsewhere", "abs", "cuda"),
        (
            "of-the-specs",
            "title = \"t\"\nclass = \"unexplained\"\nreason = \"Unexplained.\"\nbackends = [\"rocm\"]\nverdict = \"mismatch\"\n\
             matches = [{ op = [\"neg\"], dtype = [\"f32\"] }]\nfuzz = []\n"
                .to_owned(),
        ),
    ];
    let files = texts
        .iter()
        .map(|(name, text)| parity_model::findings::FindingText {
            name,
            file: name,
            text,
        });
    let known = Findings::parse(&files.collect::<Vec<_>>(), &["cpu", "rocm", "cuda"]).unwrap();
    let shows: Shows = |case| case.dtype == DType::F16;
    let with = |ops: &[&str], least: f64| {
        let wanted = FuzzSettings {
            ops: ops.iter().map(|op| names::ops(op).unwrap()).collect(),
            excuse: false,
            rediscover: Some(least),
            shrink_groups: 0,
            ..settings("abs", 3, 2000)
        };
        let mut mock = Mock::new(shows);
        fuzz(&wanted, &mut mock, &known, None, &Stop::default(), |_| {}).unwrap()
    };
    let both = with(&["abs", "neg"], 100.0);
    assert_eq!(both.sought, ["of-abs", "of-neg"]);
    assert!(both.passes() && both.missing().next().is_none(), "{both:#?}");
    // What fails is shown, and excused by nothing.
    assert!(both.groups.found["of-neg"].alone > 10);
    assert!(both.unexplained().count() > 0);
    let one = with(&["abs"], 90.0);
    assert_eq!(one.missing().collect::<Vec<_>>(), ["of-neg"]);
    assert_eq!(one.share(), 50.0);
    assert!(!one.passes());
    let page = parity_run::fuzz::text(&one, "");
    assert!(page.contains("not found: of-neg\n"), "{page}");
    assert!(
        page.contains("50.0 % of the findings were found again, and 90 % have to be"),
        "{page}"
    );
    assert!(with(&["abs"], 50.0).passes());
}
