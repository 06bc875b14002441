//! `parity baseline update`: the findings follow what a run shows, and none comes without a reason.

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

fn finding(specs: &Specs, name: &str) -> String {
    fs::read_to_string(specs.finding(name)).unwrap()
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "`{text}` is not in\n{page}");
}

const UNEXPLAINED: &str = "unexplained-unary";

#[test]
fn new_failures_need_a_reason_and_then_the_run_passes() {
    let specs = relu();
    run(&specs, 100);
    let refused = update(&specs, &[]).exits(64);
    refused
        .complains("--reason TEXT")
        .complains("+ unexplained-unary: op = [\"relu\"], values = [\"nan\"] on cpu: mismatch; cases: 4");
    assert!(!specs.finding(UNEXPLAINED).exists());
    let page = update(&specs, &["--reason", "it drops NaN", "--dry-run"])
        .exits(0)
        .stdout;
    shows(&page, "would change");
    assert!(!specs.finding(UNEXPLAINED).exists());
    let page = update(&specs, &["--reason", "it drops NaN"]).exits(0).stdout;
    shows(&page, "added: 1, narrowed: 0, removed: 0");
    shows(&page, "next: parity run --backend cpu");
    let text = finding(&specs, UNEXPLAINED);
    shows(
        &text,
        "class = \"unexplained\"\nreason = \"Unexplained: it drops NaN\"\n",
    );
    shows(
        &text,
        "  { op = [\"relu\"], values = [\"nan\"], backends = [\"cpu\"], verdict = \"mismatch\" },\n]\n",
    );
    run(&specs, 0);
    let page = update(&specs, &[]).exits(0).stdout;
    shows(&page, "is up to date");
}

#[test]
fn new_failures_go_to_the_folder_that_is_named() {
    let specs = relu();
    run(&specs, 100);
    update(&specs, &["--name", "relu-loses-nan", "--reason", "it drops NaN"]).exits(0);
    shows(&finding(&specs, "relu-loses-nan"), "title = \"it drops NaN\"\n");
    assert!(!specs.finding(UNEXPLAINED).exists());
    run(&specs, 0);
}

#[test]
fn what_passes_leaves_a_finding_and_what_stays_keeps_its_spelling() {
    let specs = relu();
    specs.write_finding(
        "relu",
        "# About f16.\n  { op = [\"relu\"], dtype = [\"f16\"] },\n  # About f32.\n  { op = [\"relu\"],  dtype = [\"f32\"], values = [\"nan\"] }",
    );
    run(&specs, 100);
    let page = update(&specs, &[]).exits(0).stdout;
    shows(
        &page,
        "~ relu: op = [\"relu\"], dtype = [\"f16\"] on cpu: of 4 cases 2 pass and 0 fail in another way; now op = [\"relu\"], dtype = [\"f16\"], \
         values = [\"nan\"]",
    );
    let text = finding(&specs, "relu");
    shows(
        &text,
        "# About f16.\n  { op = [\"relu\"], dtype = [\"f16\"], values = [\"nan\"], backends = [\"cpu\"], verdict = \"mismatch\" },\n  # About f32.\n  \
         { op = [\"relu\"],  dtype = [\"f32\"], values = [\"nan\"] },\n]",
    );
    run(&specs, 0);
}

#[test]
fn a_finding_whose_last_row_goes_goes_with_it() {
    let specs = relu();
    specs.write_finding("passes", "{ op = [\"relu\"], values = [\"ints\"] }");
    specs.write_finding("relu", "{ op = [\"relu\"], values = [\"nan\"] }");
    run(&specs, 100);
    let page = update(&specs, &[]).exits(0).stdout;
    shows(
        &page,
        "- passes: op = [\"relu\"], values = [\"ints\"] on cpu: of 4 cases 4 pass",
    );
    assert!(!specs.finding("passes").parent().unwrap().exists());
    run(&specs, 0);
}

#[test]
fn a_row_without_a_case_goes() {
    let specs = relu();
    run(&specs, 100);
    specs.write_finding(
        "log",
        "{ op = [\"log\"], backends = [\"rocm\"], verdict = \"crash\" }",
    );
    let page = update(&specs, &["--reason", "x"]).exits(0).stdout;
    shows(&page, "- log: op = [\"log\"]: it matches no case");
    assert!(!specs.finding("log").exists());
}

#[test]
fn a_run_that_other_findings_judged_is_refused() {
    let specs = relu();
    run(&specs, 100);
    update(&specs, &["--reason", "x"]).exits(0);
    let before = finding(&specs, UNEXPLAINED);
    let run = update(&specs, &["--reason", "x"]).exits(65);
    run.complains("was judged by other findings")
        .complains("repeat the run");
    assert_eq!(finding(&specs, UNEXPLAINED), before);
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
    assert!(!specs.finding(UNEXPLAINED).exists());
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
