//! `parity baseline update`: the list follows what a run shows, and nothing gets into it without a reason.

use std::fs;

use crate::common::{Run, Specs};

/// `relu` drops NaN on candle's CPU backend for every one of these, and is right without NaN.
const RELU: &str = r#"family = "unary"
[[group]]
ops = ["relu"]
dtypes = ["f16", "f32"]
shapes = [[8, 9]]
layouts = ["contiguous", "transposed"]
values = ["nan", "ints(-4,4)"]
tier = "quick"
"#;

fn relu() -> Specs {
    Specs::new(&[("unary.toml", RELU)])
}

/// Runs the specs and stores the record.
fn run(specs: &Specs, exit: i32) -> Run {
    specs
        .parity(&["run", "--backend", "cpu", "--format", "json", "--out", "run.json"])
        .exits(exit)
}

fn update(specs: &Specs, more: &[&str]) -> Run {
    specs.parity(&[&["baseline", "update", "run.json", "--backend", "cpu"], more].concat())
}

fn list(specs: &Specs) -> String {
    fs::read_to_string(specs.path("known-failures.toml")).unwrap()
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "`{text}` is not in\n{page}");
}

#[test]
fn new_failures_need_a_reason_and_then_the_run_passes() {
    let specs = relu();
    run(&specs, 100);
    let refused = update(&specs, &[]).exits(64);
    refused
        .complains("--reason TEXT")
        .complains("+ unary/relu:*:nan on cpu: mismatch; cases: 4");
    assert!(!specs.path("known-failures.toml").exists());
    let page = update(&specs, &["--reason", "it drops NaN", "--dry-run"])
        .exits(0)
        .stdout;
    shows(&page, "would change");
    assert!(!specs.path("known-failures.toml").exists());
    let page = update(&specs, &["--reason", "it drops NaN"]).exits(0).stdout;
    shows(&page, "added: 1, narrowed: 0, removed: 0");
    shows(&page, "next: parity run --backend cpu");
    shows(
        &list(&specs),
        "id = \"unary/relu:*:nan\"\nbackend = \"cpu\"\nverdict = \"mismatch\"\nreason = \"it drops NaN\"\n",
    );
    run(&specs, 0);
    let page = update(&specs, &[]).exits(0).stdout;
    shows(&page, "is up to date");
}

#[test]
fn what_passes_leaves_the_list_and_comments_stay() {
    let specs = relu();
    let entry = |id: &str| {
        format!("[[known]]\nid = \"{id}\"\nbackend = \"cpu\"\nverdict = \"mismatch\"\nreason = \"r\"\n")
    };
    let text = format!(
        "# The head.\n\n# About f16.\n{}\n# About f32.\n{}",
        entry("unary/relu:f16:*"),
        entry("unary/relu:f32:*:nan")
    );
    fs::write(specs.path("known-failures.toml"), &text).unwrap();
    run(&specs, 100);
    let page = update(&specs, &[]).exits(0).stdout;
    shows(
        &page,
        "~ unary/relu:f16:* on cpu: of 4 cases 2 pass and 0 fail in another way; now unary/relu:f16:*:nan",
    );
    assert_eq!(list(&specs), text.replace("relu:f16:*", "relu:f16:*:nan"));
    run(&specs, 0);
}

#[test]
fn an_entry_without_a_case_goes() {
    let specs = relu();
    run(&specs, 100);
    let gone = "[[known]]\nid = \"unary/log:*\"\nbackend = \"rocm\"\nverdict = \"crash\"\nreason = \"r\"\n";
    fs::write(specs.path("known-failures.toml"), gone).unwrap();
    let page = update(&specs, &["--reason", "x"]).exits(0).stdout;
    shows(&page, "- unary/log:* on rocm: it matches no case");
    assert!(!list(&specs).contains("unary/log"), "{}", list(&specs));
}

#[test]
fn a_run_that_another_list_judged_is_refused() {
    let specs = relu();
    run(&specs, 100);
    update(&specs, &["--reason", "x"]).exits(0);
    let before = list(&specs);
    let run = update(&specs, &["--reason", "x"]).exits(65);
    run.complains("was judged by another list")
        .complains("repeat the run");
    assert_eq!(list(&specs), before);
}

#[test]
fn a_failure_that_is_in_no_spec_is_left_out_and_said() {
    let specs = relu();
    let case = "unary/relu:f64:[5]:contiguous:nan";
    specs
        .parity(&[
            "run",
            "--backend",
            "cpu",
            "--case",
            case,
            "--format",
            "json",
            "--out",
            "run.json",
        ])
        .exits(100);
    let page = update(&specs, &["--reason", "x"]).exits(0).stdout;
    shows(
        &page,
        &format!("! {case} fails (mismatch) and is left out: it is in no spec"),
    );
    assert!(!specs.path("known-failures.toml").exists());
}

#[test]
fn an_unknown_backend_or_an_empty_reason_is_a_wrong_command_line() {
    let specs = relu();
    run(&specs, 100);
    update(&specs, &["--reason", " "])
        .exits(64)
        .complains("--reason is empty");
    let run = specs
        .parity(&["baseline", "update", "run.json", "--backend", "rocm"])
        .exits(64);
    run.complains("unknown backend of run.json `rocm`: expected one of cpu");
}
