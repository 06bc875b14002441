//! Whole runs of the binary on the CPU backend: what is written, what is repeated, what fails.

use std::{fs, path::Path};

use crate::common::{Specs, finish, parity, shell, unary, write_finding};
use serde_json::Value;

/// A limit that candle's `gelu` breaks somewhere in 72 elements: it rounds after every step.
const IMPOSSIBLE: &str = r#"limit = { ulp = 0.001, source = "planted" }"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_run_that_passes_exits_0_and_its_json_is_all_there_is_on_stdout() {
    let specs = Specs::unary("\"abs\", \"neg\"", "");
    let run = specs
        .parity(&["run", "--backend", "cpu", "--format", "json", "--seed", "5"])
        .exits(0);
    let record = json(&run.stdout);
    assert_eq!(record["planned"], 4);
    assert_eq!(record["seed"], 5);
    assert_eq!(record["candle_version"], "0.11.1");
    let ids: Vec<_> = record["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids[0], "unary/abs:f32:[8,9]:contiguous:uniform(-2,2)");
    let listed = specs.parity(&["list", "cases"]).exits(0).stdout;
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        ids,
        "list and run agree on the plan"
    );
    assert_eq!(run.stderr, "");
}

#[test]
fn a_stored_run_renders_to_the_bytes_the_live_run_printed() {
    let specs = Specs::unary("\"abs\", \"gelu\"", IMPOSSIBLE);
    let stored = specs.path("run.json");
    let stored = stored.to_str().unwrap();
    specs
        .parity(&["run", "--backend", "cpu", "--format", "json", "--out", stored])
        .exits(100);
    let again = parity(&["report", stored, "--format", "json"], &specs.path(""), &[]).exits(0);
    assert_eq!(again.stdout, fs::read_to_string(stored).unwrap());
    let text = parity(&["report", stored], &specs.path(""), &[]).exits(0).stdout;
    assert!(
        text.contains("unary on cpu") && text.contains("FAILED: "),
        "{text}"
    );
}

#[test]
fn a_planted_failure_fails_the_run_and_its_repro_line_works_as_printed() {
    let specs = Specs::unary("\"gelu\"", IMPOSSIBLE);
    let run = specs.parity(&["run", "--backend", "cpu"]).exits(100);
    let again = run
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("again: "))
        .unwrap();
    assert!(
        again.starts_with("parity run --backend cpu --case 'unary/gelu:f32:[8,9]:"),
        "{again}"
    );

    let repeated = finish(&mut shell(again, Path::new("/"))).exits(100);
    assert!(
        repeated.stdout.contains("limit: ") && repeated.stdout.contains("planted"),
        "{}",
        repeated.stdout
    );
    assert!(
        repeated.stdout.contains("1 planned = 1 mismatch"),
        "{}",
        repeated.stdout
    );
}

#[test]
fn a_known_failure_passes_the_run_and_a_listed_pass_fails_it() {
    let specs = Specs::new(&[
        ("a.toml", &unary("\"gelu\"", IMPOSSIBLE)),
        ("b.toml", &unary("\"abs\"", "")),
    ]);
    let findings = tempfile::tempdir().unwrap();
    let run_with = |op: &str| {
        write_finding(findings.path(), "planted", &format!("{{ op = [\"{op}\"] }}"));
        specs.parity(&[
            "run",
            "--backend",
            "cpu",
            "--findings",
            findings.path().to_str().unwrap(),
        ])
    };
    let explained = run_with("gelu").exits(0).stdout;
    assert!(
        explained.contains("cpu: 4 planned = 2 pass + 2 known-failure"),
        "{explained}"
    );
    assert!(
        explained.contains("cpu, 2 of them: planted: planted"),
        "{explained}"
    );

    let unexplained = run_with("abs").exits(100).stdout;
    assert!(
        unexplained.contains("2 mismatch + 2 unexpected-pass"),
        "{unexplained}"
    );
}

#[test]
fn the_same_seed_gives_the_same_judgements_on_any_number_of_workers() {
    let specs = Specs::unary("\"exp\", \"log\", \"sin\", \"cos\", \"tanh\"", "");
    let cases = |jobs: &str| {
        let run = specs.parity(&["run", "--backend", "cpu", "--format", "json", "--jobs", jobs]);
        let mut cases = json(&run.stdout)["cases"].take();
        for case in cases.as_array_mut().unwrap() {
            for result in case["results"].as_array_mut().unwrap() {
                result["millis"].take();
            }
        }
        cases
    };
    assert_eq!(cases("1"), cases("4"));
}

#[test]
fn a_run_that_asks_for_it_runs_every_case_twice_and_its_repro_does_too() {
    let specs = Specs::unary("\"gelu\"", IMPOSSIBLE);
    let args = ["run", "--backend", "cpu", "--deterministic"];
    let page = specs.parity(&args).exits(100).stdout;
    assert!(page.contains("2 planned = 2 mismatch"), "{page}");
    assert!(page.contains(" --deterministic"), "{page}");
}

#[test]
fn a_case_that_needs_more_memory_than_there_is_says_so_and_costs_no_other() {
    let specs = Specs::unary("\"abs\"", "");
    let (large, small) = (
        "unary/neg:f64:[3000000]:contiguous:uniform(-1,1)",
        "unary/neg:f64:[7]:contiguous:uniform(-1,1)",
    );
    let run = |limit: &str| {
        let args = ["run", "--backend", "cpu", "--case", large, "--case", small];
        specs.parity(&[&args[..], &["--memory-limit", limit]].concat())
    };
    let page = run("60MiB").exits(100).stdout;
    assert!(page.contains("2 planned = 1 pass + 1 crash"), "{page}");
    assert!(
        page.contains("out of memory, ") && page.contains("memory allocation of "),
        "{page}"
    );
    run("1GiB").exits(0);
    run("much")
        .exits(64)
        .complains("bad --memory-limit `much`: expected a whole number");
}

#[test]
fn an_id_of_no_spec_runs_with_a_derived_limit() {
    let id = "unary/neg:f64:[7]:offset:uniform(-1,1)";
    let run = Specs::unary("\"exp\"", "")
        .parity(&["run", "--backend", "cpu", "--case", id])
        .exits(0);
    assert!(run.stdout.contains("cpu: 1 planned = 1 pass"), "{}", run.stdout);
}
