//! `parity report --pages`: the pages of reports/, and the check that finds stale ones.

use std::{fs, path::Path};

use crate::common::{Run, Specs, parity, unary};

const PAGES: [&str; 4] = ["status.md", "components.md", "providers.md", "coverage.md"];

/// Specs, a record of them, and the pages of the record.
fn rendered() -> Specs {
    let specs = Specs::unary("\"exp\", \"neg\"", "");
    let args = ["run", "--backend", "cpu", "--output", "json", "--out", "run.json"];
    specs.parity(&args).exits(0);
    let named: Vec<_> = PAGES.iter().map(|page| format!("pages/{page}\n")).collect();
    assert_eq!(report(&specs, &[]).exits(0).stdout, named.concat());
    specs
}

/// `parity report run.json --pages pages {more}`, with the specs for a check.
fn report(specs: &Specs, more: &[&str]) -> Run {
    let args = [&["report", "run.json", "--pages", "pages"], more].concat();
    if more.contains(&"--check") {
        specs.parity(&args)
    } else {
        crate::common::parity(&args, &specs.path(""), &[])
    }
}

#[test]
fn fresh_pages_pass_the_check_and_rendering_them_again_changes_nothing() {
    let specs = rendered();
    let read = || PAGES.map(|page| fs::read_to_string(specs.path("pages").join(page)).unwrap());
    let before = read();
    let checked = report(&specs, &["--check"]).exits(0);
    assert_eq!(checked.stdout, "4 pages are what the record makes them\n");
    report(&specs, &[]).exits(0);
    assert_eq!(read(), before);
}

#[test]
fn a_page_that_was_edited_or_is_gone_fails_the_check_and_is_left_as_it_is() {
    let specs = rendered();
    let page = specs.path("pages").join("status.md");
    let edited = fs::read_to_string(&page).unwrap().replace("| 100 % ", "| 101 % ");
    let edited = edited.replacen("# Parity status", "# Parity status, improved", 1);
    fs::write(&page, &edited).unwrap();
    fs::remove_file(specs.path("pages").join("coverage.md")).unwrap();
    report(&specs, &["--check"])
        .exits(100)
        .complains("status.md:2 is not what is generated")
        .complains("coverage.md")
        .complains("run ci/reports");
    assert_eq!(fs::read_to_string(&page).unwrap(), edited);
    assert!(!specs.path("pages").join("coverage.md").exists());
}

#[test]
fn pages_of_a_run_by_other_specs_fail_the_check() {
    let specs = rendered();
    fs::write(specs.path("unary.toml"), unary("\"exp\"", "")).unwrap();
    report(&specs, &["--check"])
        .exits(100)
        .complains("went by other specs");
}

#[test]
fn a_record_that_gzip_compressed_is_read() {
    let specs = rendered();
    let plain = report(&specs, &["--check"]).exits(0).stdout;
    let gzip = std::process::Command::new("gzip")
        .arg(specs.path("run.json"))
        .status();
    assert!(gzip.unwrap().success());
    let args = ["report", "run.json.gz", "--pages", "pages", "--check"];
    assert_eq!(specs.parity(&args).exits(0).stdout, plain);
    // The control: a compressed file that is cut off.
    let bytes = fs::read(specs.path("run.json.gz")).unwrap();
    fs::write(specs.path("run.json.gz"), &bytes[..bytes.len() / 2]).unwrap();
    specs.parity(&args).exits(66).complains("cannot read run.json.gz");
}

#[test]
fn coverage_points_into_the_sources_it_is_given_and_refuses_a_folder_without_any() {
    let specs = rendered();
    let folder = specs.path("candle-core-0.11.1/src");
    fs::create_dir_all(folder.join("cuda_backend")).unwrap();
    let files = [
        (
            "backend.rs",
            "pub trait BackendStorage {\n    fn unary_impl(&self);\n}\n",
        ),
        (
            "cuda_backend/mod.rs",
            "\nimpl BackendStorage for CudaStorage {\n    fn unary_impl(&self) {\n    }\n}\n",
        ),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    report(&specs, &["--sources", "."]).exits(0);
    let page = fs::read_to_string(specs.path("pages").join("coverage.md")).unwrap();
    assert!(
        page.contains("`candle-core-0.11.1/src/cuda_backend/mod.rs:3`"),
        "{page}"
    );
    report(&specs, &["--sources", "pages"])
        .exits(66)
        .complains("pages holds none of crates/candle-core/glue");
}

#[test]
fn the_readmes_throughput_is_that_of_the_stored_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let record = parity(&["report", "reports/run.json.gz", "--output", "json"], &root, &[]).exits(0);
    let record: serde_json::Value = serde_json::from_str(&record.stdout).unwrap();
    let (cases, seconds) = (
        record["planned"].as_u64().unwrap(),
        record["seconds"].as_f64().unwrap(),
    );
    assert_eq!(record["backends"].as_array().unwrap().len(), 2);
    let cases_text = format!("{},{:03}", cases / 1000, cases % 1000);
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let want = format!(
        "took {seconds:.1} s for {cases_text} cases on the CPU and on the software GPU, on two cores: {:.0} cases/s",
        (cases as f64 / seconds).floor()
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&readme).contains(&want), "README.md does not say: {want}");
}

#[test]
fn the_readmes_three_backends_are_those_of_the_stored_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().to_str().unwrap();
    parity(&["report", "reports/h200.json.gz", "--pages", pages], &root, &[]).exits(0);
    let page = fs::read_to_string(dir.path().join("components.md")).unwrap();
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let section = readme.split("## On three backends").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<_> = section.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20, "both tables are there");
    for row in rows {
        assert!(page.lines().any(|line| line == row), "the run has no {row}");
    }
    assert!(page.contains("2026-11-22T02:36:59Z"), "when it started");
}
