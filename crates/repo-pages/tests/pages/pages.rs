//! The pages of reports/: what each cell says, and that it follows from the record, the code objects and the sources.

use std::collections::BTreeMap;

use parity_model::{Verdict, record::RunRecord};
use parity_report::json;
use repo_pages::{Arg, CodeObject, Material, Page, Sources};
use sha2::{Digest as _, Sha256};

use crate::common::{case, has_line, pass, result, run};

fn pages(run: &RunRecord, objects: &[CodeObject], sources: &Sources) -> Vec<Page> {
    let material = Material {
        run,
        models: None,
        coverage: None,
        objects,
        sources,
    };
    repo_pages::pages(&material).unwrap()
}

fn page(name: &str, run: &RunRecord, objects: &[CodeObject], sources: &Sources) -> String {
    let mut pages = pages(run, objects, sources).into_iter();
    pages.find(|page| page.name == name).unwrap().text
}

#[track_caller]
fn has_lines(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(has_line(page, line), "{line}\nis not in\n{page}");
    }
}

/// `exp` for f32: one case by the contiguous path, one by both; for f16 by a library's model.
fn traced() -> RunRecord {
    let mut run = run();
    run.cases.clear();
    let mut add = |dtype: &str, layout: &str, steps: &[&str], verdict| {
        let mut got = result(verdict, Some(1.0), None);
        got.served_by = steps.iter().map(|step| (*step).to_owned()).collect();
        let mut case = case("exp", dtype, vec![pass(0.0), got]);
        case.layout = layout.to_owned();
        run.cases.push(case);
    };
    add("f32", "contiguous", &["uexp_f32:contiguous"], Verdict::Pass);
    add(
        "f32",
        "transposed",
        &["hipMemcpyAsync", "uexp_f32:contiguous", "uexp_f32:strided"],
        Verdict::Mismatch,
    );
    add("f16", "contiguous", &["rocblas_exp (model)"], Verdict::Pass);
    add("f16", "contiguous", &[], Verdict::Pass);
    run.planned = run.cases.len();
    run
}

fn object() -> CodeObject {
    let walk = [
        Arg::Value(8),
        Arg::Value(8),
        Arg::Pointer,
        Arg::Pointer,
        Arg::Pointer,
    ];
    let kernels: BTreeMap<_, _> = [
        ("uexp_f32", walk.to_vec()),
        ("ulog_f32", walk[..4].to_vec()),
        ("utwice_f32", vec![Arg::Pointer, Arg::Value(4)]),
    ]
    .map(|(name, args)| (name.to_owned(), args))
    .into();
    CodeObject {
        module: "unary".to_owned(),
        target: "gfx1100".to_owned(),
        kernels,
        resources: BTreeMap::new(),
    }
}

/// A candle and a backend with one function each, and a launch that names a kernel.
fn sources() -> Sources {
    let mut sources = Sources::default();
    for (path, text) in [
        (
            "candle-core-0.11.1/src/backend.rs",
            "pub trait BackendStorage {\n    fn unary_impl(&self);\n    fn matmul(&self);\n    fn cmp(&self);\n}\n",
        ),
        (
            "candle-core-0.11.1/src/cuda_backend/mod.rs",
            "// fn unary_impl\nimpl BackendStorage for CudaStorage {\n    fn unary_impl(&self) {\n        run()\n    }\n    \
             fn matmul(&self) {\n        crate::bail!(\"no\")\n    }\n}\n",
        ),
        (
            "crates/candle-core/glue/rocm/storage.rs",
            "impl BackendStorage for RocmStorage {\n\n    fn unary_impl(&self) {\n    }\n}\n",
        ),
        (
            "rocm-backend/src/hip/launch/unary.rs",
            "//! Launches.\npub(crate) fn exp() {\n    named(\"uexp\");\n}\n",
        ),
        (
            "rocm-backend/src/hip/sys.rs",
            "symbols! { hip_slots, HIP, rocm_rs::hip::bindings;\n    Required status hipInit;\n    Optional status hipFree;\n}\n\
             #[cfg(test)]\n    Required blas rocblas_none;\n",
        ),
    ] {
        sources.add(path, text);
    }
    sources
}

#[test]
fn every_line_of_a_table_has_as_many_cells_as_its_header() {
    let mut run = traced();
    run.cases[1].results[1].note = Some("a | b".to_owned());
    for page in pages(&run, &[object()], &sources()) {
        let mut columns = None;
        for line in page.text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            if !line.starts_with('|') {
                columns = None;
            } else if *columns.get_or_insert(bars) != bars {
                panic!("{}: {line}", page.name);
            }
        }
    }
}

#[test]
fn every_page_names_the_record_and_the_rules_it_was_made_of() {
    let run = run();
    let digest = Sha256::digest(json::render(&run).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut again = run.clone();
    again.seconds += 1.0;
    for page in pages(&run, &[object()], &sources()) {
        let first = page.text.lines().next().unwrap();
        assert!(first.contains(&digest) && first.contains(&run.specs), "{first}");
        let of_another = self::page(page.name, &again, &[object()], &sources());
        assert!(!of_another.contains(&digest), "{}", page.name);
    }
}

#[test]
fn components_are_counted_per_backend_and_never_across_levels() {
    let page = page("components.md", &run(), &[], &sources());
    has_lines(
        &page,
        &[
            "| component | cpu (host) | rocm (isa) |",
            "| unary | 100 % (3/3) | 33.3 % (1/3) |",
            "| Storage | 3 | 2 | 1 | 1 |",
            "| unary | 2 | 3 | 3 | 100 % | 0.50 25% | | | | | |",
            "| unary | 2 | 3 | 1 | 33.3 % | inf >1000% | 1 | | 1 | | |",
            "## cpu (host)",
            "## rocm (isa)",
        ],
    );
}

#[test]
fn components_count_the_known_failures_that_the_reference_shares() {
    let known = || result(Verdict::KnownFailure, Some(9.0), Some("candle's own"));
    let mut ours = known();
    ours.vs_reference = pass(0.0).vs_oracle;
    let mut run = run();
    run.cases = vec![
        case("exp", "f32", vec![pass(0.5), pass(0.5)]),
        case("log", "f32", vec![known(), ours]),
    ];
    run.planned = run.cases.len();
    let page = |run: &RunRecord| page("components.md", run, &[], &Sources::default());
    let rows = [
        "| rocm (isa) | 1 | 1 | 100 % (2/2) |",
        "| unary | 2 | 2 | 1 | 50.0 % | 0.50 25% | 1 | 1 | | | |",
    ];
    has_lines(&page(&run), &rows);
    assert!(page(&run).contains("A known failure is shared where"));
    run.cases.truncate(1);
    assert!(
        !page(&run).contains("A known failure is shared where"),
        "the control: none is shared"
    );
}

#[test]
fn coverage_tells_what_was_not_run_from_what_means_nothing() {
    let page = page("coverage.md", &run(), &[], &Sources::default());
    let row = page.lines().find(|line| line.starts_with("| log "));
    let cells: Vec<_> = row.unwrap().split('|').map(str::trim).collect();
    assert_eq!(cells[2], "-", "log means nothing for u8");
    assert_eq!(cells[9], "not run", "log means something for f16");
    assert_eq!(cells[10], "1/1 0.50 25%");
    assert!(page.contains(": 2 of "), "{page}");
}

#[test]
fn coverage_names_the_lines_of_both_implementations_and_what_was_executed_of_them() {
    let page = page("coverage.md", &run(), &[], &sources());
    let row = |name: &str| {
        let mut lines = page.lines();
        lines
            .find(|line| line.starts_with(&format!("| `{name}` ")))
            .unwrap()
    };
    for (name, cells) in [
        (
            "unary_impl",
            &[
                "`candle-core-0.11.1/src/cuda_backend/mod.rs:3`",
                "[storage.rs](../crates/candle-core/glue/rocm/storage.rs) `fn unary_impl`",
                "implemented 3/3 0.50 25%",
                "partial 1/3 inf >1000%, 1 failing, 1 known",
                "; partly f16 f32",
            ][..],
        ),
        (
            "matmul",
            &[
                "refuses, `candle-core-0.11.1/src/cuda_backend/mod.rs:6`",
                "absent",
            ],
        ),
        ("cmp", &["absent ", " absent "]),
    ] {
        for cell in cells {
            assert!(row(name).contains(cell), "{cell}\nis not in\n{}", row(name));
        }
    }
    assert!(!row("cmp").contains("implemented"), "nothing ran of it");
}

#[test]
fn signatures_compare_arguments_and_count_cases_by_path_and_layout() {
    let page = page("signatures.md", &traced(), &[object()], &Sources::default());
    has_lines(
        &page,
        &[
            "| unary | 123 | 1 | 1 | 121 | 3 | 1 | 1 | 1 |",
            "| `uexp_f32` | `u64 u64 *u64 *f32 *f32` | same | 2 | 1 | 2 | 1 |",
            "| `ulog_f32` | `u64 u64 *u64 *f32 *f32` | `8 8 * *` | | | | |",
            "| `utwice_f32` | - | `* 4` | | | | |",
            "| `uexp_f64` | `u64 u64 *u64 *f64 *f64` | missing | | | | |",
            "| kernel | contiguous | transposed |",
            "| `uexp` | 1 | 1 |",
        ],
    );
}

#[test]
fn providers_are_told_by_what_ran_and_a_model_is_no_kernel() {
    let page = page("providers.md", &traced(), &[], &sources());
    has_lines(
        &page,
        &[
            "| own kernel | isa | 2 | 1 | 1 | 1 |",
            "| rocBLAS | model | 1 | 1 | 1 | 1 |",
            "| MIOpen | - | 0 | 0 | 0 | 0 |",
            "| HIP runtime | isa | 1 | 0 | 1 | 1 |",
            "| exp | `hipMemcpyAsync` `rocblas_exp` `uexp` | 2 | 1 | | | 1 | | 1 |",
            "| HIP runtime | 1 | 1 | `hipInit` |",
            "| rocBLAS | 0 | 0 | none |",
        ],
    );
    let untold = self::page("providers.md", &run(), &[], &Sources::default());
    assert!(
        untold.contains("No backend of this run tells what computed its results."),
        "{untold}"
    );
}

#[test]
fn what_models_answered_stands_apart_from_what_was_executed() {
    let (run, models, sources) = (run(), traced(), Sources::default());
    let mut material = Material {
        run: &run,
        models: None,
        coverage: None,
        objects: &[],
        sources: &sources,
    };
    let providers = |material: &Material<'_>| {
        let mut pages = repo_pages::pages(material).unwrap().into_iter();
        pages.find(|page| page.name == "providers.md").unwrap().text
    };
    assert!(!providers(&material).contains("models"));
    material.models = Some(&models);
    let page = providers(&material);
    let (above, below) = page.split_once("# With models of the libraries\n").unwrap();
    assert!(above.contains("No backend of this run tells"), "{above}");
    has_lines(
        below,
        &[
            "## rocm (isa), models: providers",
            "| rocBLAS | model | 1 | 1 | 1 | 1 |",
        ],
    );
}

#[test]
fn kernels_say_where_they_are_launched_and_whether_this_run_did() {
    let page = page("kernels.md", &traced(), &[object()], &sources());
    let link = "[unary.rs](../rocm-backend/src/hip/launch/unary.rs) `fn exp`";
    has_lines(
        &page,
        &[
            &format!("| `uexp` | f32 | bf16 f16 f64 f8_e4m3 | | {link} | 1/1 | 2 | 1 |"),
            "| `utwice` | | | f32 | | 0/1 | 0 | 0 |",
            "| unary | 123 | 2 | 121 | 1 | 3 |",
        ],
    );
    assert!(page.contains("Missing in sort: `asort_asc_bf16`"), "{page}");
}

#[test]
fn the_pages_of_a_stored_run_are_those_of_the_live_one() {
    let live = traced();
    let stored = json::parse(&json::render(&live).unwrap()).unwrap();
    assert_eq!(
        pages(&stored, &[object()], &sources()),
        pages(&live, &[object()], &sources())
    );
}

#[test]
fn components_count_the_failures_that_the_reference_shares() {
    let known = || result(Verdict::KnownFailure, Some(9.0), Some("candle's own"));
    let mut ours = known();
    ours.vs_reference = pass(0.0).vs_oracle;
    let mut run = run();
    run.cases = vec![
        case("exp", "f32", vec![pass(0.5), pass(0.5)]),
        case("log", "f32", vec![known(), ours]),
    ];
    run.planned = run.cases.len();
    let page = page("components.md", &run, &[], &Sources::default());
    assert!(page.contains("A known failure is shared where"), "{page}");
    has_lines(
        &page,
        &["| unary | 2 | 2 | 1 | 50.0 % | 0.50 25% | 1 | 1 | | | |"],
    );
}

/// One file that people attach and mail: `parity report --format html` of the repository's own record.
#[test]
fn the_html_page_of_the_ci_tier_is_no_larger_than_two_megabytes() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/index.html");
    let bytes = std::fs::metadata(page).unwrap().len();
    assert!((500_000..=2_000_000).contains(&bytes), "{bytes} bytes");
}
