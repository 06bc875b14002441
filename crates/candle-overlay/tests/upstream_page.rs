//! `reports/upstream.md` lists every test of the pinned releases and no other, and none that fails on the ROCm device.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{fs, path::PathBuf};

use candle_overlay::{
    page::{self, Line},
    pristine::{Places, Source},
    upstream::{SUITES, Tests},
};

fn listed() -> Vec<Line> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../reports/upstream.md");
    page::lines(&fs::read_to_string(path).unwrap())
}

#[test]
fn the_page_lists_the_tests_of_the_pinned_releases() {
    let mut pinned = Vec::new();
    for suite in &SUITES {
        let source = Source::find(suite.release, &Places::from_env(suite.release).unwrap()).unwrap();
        let title = format!("{} {}", suite.release.name, suite.release.version);
        let tests = Tests::of(suite, &source).unwrap().tests;
        pinned.extend(
            tests
                .into_iter()
                .map(|test| (title.clone(), test.file, test.name)),
        );
    }
    assert!(pinned.len() > 200, "{} tests", pinned.len());
    let listed: Vec<_> = listed()
        .into_iter()
        .map(|line| (line.title, line.file, line.test))
        .collect();
    assert_eq!(listed, pinned, "run upstream-tests with --page anew");
}

#[test]
fn what_passes_on_the_cpu_passes_on_rocm_or_says_why_it_does_not_run_there() {
    let failures: Vec<_> = listed().into_iter().filter(Line::is_failure).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
