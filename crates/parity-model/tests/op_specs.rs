//! The specs in `op-specs/`: that they are valid, and that they cover what they are there to cover.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::findings::{FindingText, Findings};
use parity_model::op::Quantized;
use parity_model::spec::SpecFile;
use parity_model::{Case, Check, DType, Family, Layout, LimitSpec, Op, Tier, spec};

fn files() -> Vec<SpecFile> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../op-specs");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the specs are there")
        .map(|entry| entry.expect("a folder lists its files").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).expect("a spec can be read");
        (path.display().to_string(), text)
    };
    let texts: Vec<(String, String)> = paths.iter().map(read).collect();
    let texts: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    spec::read(&texts).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn cases() -> Vec<Case> {
    spec::expand(&files()).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Whether any two shapes and layouts go with an op of the family.
fn elementwise(op: Op) -> bool {
    matches!(
        op.family(),
        Family::Unary | Family::Binary | Family::Cast | Family::Where
    )
}

/// The cases of the default run.
fn ci() -> Vec<Case> {
    cases().into_iter().filter(|case| case.tier <= Tier::Ci).collect()
}

#[test]
fn the_default_run_is_large_enough_to_mean_something_and_small_enough_to_be_run() {
    let count = ci().len();
    // 71,301 on 2026-11-29. A run of 69,999 of them took 88 s on two cores.
    assert!((10_000..=72_000).contains(&count), "{count} cases");
    let elements: usize = ci()
        .iter()
        .map(|case| case.result_shape().iter().product::<usize>())
        .sum();
    // 85 million on 2026-11-29, with which the run took 48 s on two cores, and 42 s with the 80 million and a tenth fewer cases before. The
    // bound is near, so that a new sweep of many elements is noticed here.
    assert!(
        elements < 90_000_000,
        "{elements} elements: the software GPU computes every one"
    );
}

#[test]
fn every_op_runs_with_every_dtype_that_means_something() {
    let seen: BTreeSet<(Op, DType)> = ci().iter().map(|case| (case.op, case.dtype)).collect();
    for &op in Op::ALL {
        for &dtype in op.dtypes() {
            assert!(seen.contains(&(op, dtype)), "{op} of {dtype} is in no case");
        }
    }
}

#[test]
fn every_op_and_dtype_runs_in_the_quick_tier() {
    let quick = cases().into_iter().filter(|case| case.tier == Tier::Quick);
    let quick: BTreeSet<(Op, DType)> = quick.map(|case| (case.op, case.dtype)).collect();
    assert_eq!(
        quick.len(),
        Op::ALL.iter().map(|op| op.dtypes().len()).sum::<usize>()
    );
}

type Pairs = BTreeSet<(Op, DType)>;

/// The pairs of op and dtype that compute something in a case, and those that are declared to be refused.
fn pairs() -> (Pairs, Pairs) {
    let pair = |case: &Case| (case.op, case.dtype);
    let (all, mut run, mut refused) = (ci(), BTreeSet::new(), BTreeSet::new());
    for case in &all {
        match case.check {
            Check::Value => run.insert(pair(case)),
            Check::Unsupported if !case.op.accepts(case.dtype) => refused.insert(pair(case)),
            Check::Unsupported => false,
            Check::Layout | Check::Batch | Check::Invalid => false,
        };
    }
    (run, refused)
}

#[test]
fn every_op_is_run_or_declared_for_every_dtype() {
    let (run, refused) = pairs();
    println!(
        "{} pairs of op and dtype run, {} are declared to be refused",
        run.len(),
        refused.len()
    );
    assert!(run.is_disjoint(&refused), "{:?}", run.intersection(&refused));
    for &op in Op::ALL.iter().filter(|op| primitive(**op)) {
        for dtype in DType::ALL {
            let there = run.contains(&(op, dtype)) || refused.contains(&(op, dtype));
            assert!(
                there || op.accepts(dtype) || OTHERWISE.contains(&op.name()),
                "{op} of {dtype} is not declared"
            );
        }
    }
}

/// Whether the op is neither made of others nor about blocks, which have a format and no dtype.
fn primitive(op: Op) -> bool {
    !matches!(op.family(), Family::Layers | Family::Grad | Family::Quantized)
}

/// Ops made of parts that refuse a dtype in the name of something else, or compute something with it that means nothing.
const OTHERWISE: [&str; 13] = [
    "div_number",
    "round_to",
    "mean_keepdim",
    "mean_all",
    "var_keepdim",
    "norm",
    "selu",
    "leaky_relu",
    "hard_sigmoid",
    "mish",
    "swiglu",
    "softmax",
    "log_softmax",
];

#[test]
fn every_family_compares_views_with_copies_and_a_batch_with_its_parts() {
    let all = ci();
    // Of random numbers no two draws are the same.
    let made_of_others = [Family::Layers, Family::Random, Family::Grad];
    for &family in Family::ALL
        .iter()
        .filter(|family| !made_of_others.contains(family))
    {
        for check in [Check::Layout, Check::Batch] {
            let count = all
                .iter()
                .filter(|case| case.op.family() == family && case.check == check)
                .count();
            assert!(count > 0, "{family} has no case of `{check}`");
        }
    }
}

#[test]
fn every_data_argument_of_every_family_that_takes_views_has_views() {
    let mut seen: BTreeMap<(Family, usize), BTreeSet<Layout>> = BTreeMap::new();
    for case in ci() {
        for (i, arg) in case.args.iter().enumerate() {
            seen.entry((case.op.family(), i)).or_default().insert(arg.layout);
        }
    }
    for ((family, arg), layouts) in seen {
        let views = !matches!(
            family,
            Family::Layers | Family::Random | Family::Grad | Family::Quantized
        );
        assert!(
            layouts.len() > 1 || !views,
            "argument {arg} of {family}: {layouts:?}"
        );
    }
}

#[test]
fn every_file_holds_the_family_it_is_named_after() {
    let files = files();
    for &family in Family::ALL {
        let name = format!("{family}.toml");
        let file = files.iter().find(|file| file.name.ends_with(&format!("/{name}")));
        assert_eq!(file.map(|file| file.family), Some(family), "{name}");
    }
    assert_eq!(files.len(), Family::ALL.len());
}

#[test]
fn ids_and_conditions_have_every_dtype_that_candle_takes() {
    let seen: BTreeSet<(Op, DType, DType)> = ci()
        .iter()
        .filter(|case| case.op.takes_ids())
        .flat_map(|case| case.args.iter().map(|arg| (case.op, case.dtype, arg.dtype)))
        .collect();
    // Kernels for experts take ids of u32 alone.
    let any = |op: &&Op| op.takes_ids() && !matches!(op, Op::Quantized(Quantized::IndexedMoe(_)));
    for &op in Op::ALL.iter().filter(any) {
        for &dtype in op.dtypes() {
            for ids in [DType::U8, DType::U32, DType::I64] {
                assert!(
                    seen.contains(&(op, dtype, ids)),
                    "{op} of {dtype} with ids of {ids}"
                );
            }
        }
    }
}

#[test]
fn every_elementwise_op_runs_in_at_least_five_layouts_and_each_such_family_in_all() {
    let mut per_op: BTreeMap<Op, BTreeSet<Layout>> = BTreeMap::new();
    for case in ci() {
        per_op
            .entry(case.op)
            .or_default()
            .extend(case.args.iter().map(|arg| arg.layout));
    }
    for (op, layouts) in per_op.iter().filter(|(op, _)| elementwise(**op)) {
        assert!(layouts.len() >= 5, "{op}: {layouts:?}");
    }
    for &family in Family::ALL {
        let all: BTreeSet<Layout> = per_op
            .iter()
            .filter(|(op, _)| op.family() == family)
            .flat_map(|(_, layouts)| layouts.clone())
            .collect();
        assert!(
            all.len() == Layout::ALL.len()
                || !Op::ALL.iter().any(|op| op.family() == family && elementwise(*op)),
            "{family}: {all:?}"
        );
    }
}

#[test]
fn sizes_include_nothing_a_scalar_and_the_edges_of_wavefront_workgroup_and_grid() {
    for family in [Family::Unary, Family::Binary, Family::Cast, Family::Where] {
        let shapes: BTreeSet<Vec<usize>> = ci()
            .iter()
            .filter(|case| case.op.family() == family)
            .map(|case| case.result_shape().to_vec())
            .collect();
        for size in [1, 31, 32, 33, 255, 256, 257, 1023, 1025, 65537] {
            assert!(shapes.contains(&vec![size]), "{family}: [{size}]");
        }
        assert!(
            shapes.contains(&vec![])
                && shapes.contains(&vec![0])
                && shapes.iter().any(|shape| shape.len() == 5)
        );
    }
}

#[test]
fn every_id_is_unique_and_parses_back() {
    let cases = cases();
    let ids: BTreeSet<_> = cases.iter().map(Case::id).collect();
    assert_eq!(ids.len(), cases.len());
    for case in &cases {
        let parsed: Case = case.id().as_str().parse().unwrap();
        assert_eq!(parsed.id(), case.id());
        assert_eq!(
            (parsed.op, &parsed.args, parsed.values),
            (case.op, &case.args, case.values)
        );
    }
}

/// The findings of the repository, and the lines of their files.
fn findings() -> (Findings, usize) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../findings");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the findings are there") {
        let path = entry.expect("a folder lists its files").path();
        if path.is_dir() {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a plain name");
            let file = path.join("finding.toml");
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
            files.push((name.to_owned(), file.display().to_string(), text));
        }
    }
    let texts: Vec<_> = files
        .iter()
        .map(|(name, file, text)| FindingText { name, file, text })
        .collect();
    let findings =
        Findings::parse(&texts, &["cpu", "cuda", "rocm"]).unwrap_or_else(|errors| panic!("{errors:#?}"));
    (findings, texts.iter().map(|file| file.text.lines().count()).sum())
}

#[test]
fn the_specs_stay_short() {
    let folders = ["", "bench", "cost"]
        .map(|name| std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../op-specs")).join(name));
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("a folder of specs"));
    let paths = files.map(|entry| entry.expect("an entry").path());
    let specs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let lines: usize = specs
        .map(|path| std::fs::read_to_string(path).expect("text").lines().count())
        .sum();
    assert!((4000..=5000).contains(&lines), "{lines} lines");
}

#[test]
fn every_row_of_a_finding_is_about_a_case() {
    let (findings, lines) = findings();
    assert!(findings.rows().count() > 100 && lines <= 1500, "{lines} lines");
    assert_eq!(findings.stale(&cases()), []);
}

/// The findings without a random case that shows them, and a case of each whose limit is not the specs' own.
fn undrawn_by_habit(findings: &Findings, cases: &[Case]) -> Vec<String> {
    let undrawn = findings.findings.iter().filter(|finding| finding.undrawn);
    undrawn
        .filter_map(|finding| {
            let mut meant = cases
                .iter()
                .filter(|case| finding.rows.iter().any(|row| row.cases.matches(case)));
            let derived = meant.find(|case| case.limit == LimitSpec::Derived);
            derived.map(|case| format!("{}: {}", finding.name, case.id()))
        })
        .collect()
}

#[test]
fn a_finding_that_no_random_case_shows_is_about_limits_of_the_specs() {
    let ((mut findings, _), cases) = (findings(), cases());
    let undrawn = findings.findings.iter().filter(|finding| finding.undrawn);
    assert!(undrawn.count() >= 3);
    assert_eq!(undrawn_by_habit(&findings, &cases), [""; 0]);
    // The check is one: a finding whose limits are derived.
    let relu = findings
        .findings
        .iter_mut()
        .find(|finding| finding.name == "relu-loses-nan");
    relu.expect("the finding is there").undrawn = true;
    assert_eq!(undrawn_by_habit(&findings, &cases).len(), 1);
}
