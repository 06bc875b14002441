//! Wrong command lines, specs and files: one clear message, the right exit code, and nothing run.

use std::path::Path;

use crate::common::{Specs, parity, unary};

#[test]
fn a_missing_spec_directory_is_named() {
    let run = parity(&["run", "--spec-dir", "/no/such/dir"], Path::new("/"), &[]);
    run.exits(66)
        .complains("error: the spec directory /no/such/dir does not exist");
}

#[test]
fn a_spec_directory_without_specs_is_not_an_empty_success() {
    Specs::new(&[("notes.txt", "")])
        .parity(&["run"])
        .exits(66)
        .complains("no *.toml spec in");
}

#[test]
fn every_mistake_in_every_spec_is_shown_with_its_place_before_anything_runs() {
    let specs = Specs::new(&[
        ("a.toml", "family = \"unary\"\n[[group]]\nops = [\"exq\"]\n"),
        ("b.toml", &unary("\"log\"", "limits = 3")),
    ]);
    let run = specs
        .parity(&["run", "--backend", "cpu"])
        .exits(65)
        .complains("a.toml:3:8")
        .complains("b.toml:9:1");
    let lines: Vec<_> = run.stderr.lines().collect();
    let line = lines
        .iter()
        .position(|line| line.ends_with("| ops = [\"exq\"]"))
        .unwrap();
    let (quoted, underlined) = (lines[line], lines[line + 1]);
    let carets = underlined.find('^').unwrap();
    assert_eq!(&quoted[carets..carets + 5], "\"exq\"", "{}", run.stderr);
    assert!(underlined.contains("^^^^^"), "{}", run.stderr);
    assert!(
        run.stderr.contains("unknown op `exq`") && run.stderr.contains("help: "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("files: 2; nothing was run"), "{}", run.stderr);
    assert_eq!(run.stdout, "");
}

#[test]
fn unknown_words_are_met_with_the_nearest_known_one() {
    let specs = Specs::unary("\"exp\"", "");
    for (args, want) in [
        (
            ["--ops", "exq"],
            "unknown op or family `exq`: did you mean `exp`?",
        ),
        (
            ["--ops", "urany"],
            "unknown op or family `urany`: did you mean `unary`?",
        ),
        (
            ["--backend", "rcom"],
            "unknown backend `rcom`: did you mean `rocm`?",
        ),
        (["--backend", "tpu"], "unknown backend `tpu`: did you mean `cpu`?"),
        (["--dtypes", "f33"], "unknown dtype `f33`: did you mean `f32`?"),
        (
            ["--layouts", "transpose"],
            "unknown layout `transpose`: did you mean `transposed`?",
        ),
        (["--tier", "quik"], "unknown tier `quik`: did you mean `quick`?"),
        (["--filter", "("], "bad --regex `(`: unclosed group"),
        (["--case", "unary/exp:f32"], "invalid case id `unary/exp:f32`"),
        (["--timeout", "0"], "--timeout must be a positive number"),
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--frobnicate", "1"], "unexpected argument '--frobnicate'"),
    ] {
        specs.parity(&["run", args[0], args[1]]).exits(64).complains(want);
    }
}

#[test]
fn a_selection_that_matches_nothing_is_an_error_that_says_what_was_asked() {
    let specs = Specs::unary("\"exp\"", "");
    let run = specs.parity(&["run", "--backend", "cpu", "--ops", "log", "--dtypes", "f16"]);
    run.exits(4)
        .complains("the specs hold 2 cases")
        .complains("an op of log, of dtype f16");
    specs
        .parity(&["list", "cases", "--filter", "sliced"])
        .exits(4)
        .complains("matched by `sliced`");
}

#[test]
fn a_case_and_a_filter_contradict_each_other() {
    let case = "unary/exp:f32:[2]:contiguous:any";
    let run = Specs::unary("\"exp\"", "").parity(&["run", "--case", case, "--ops", "log"]);
    run.exits(64).complains("cannot be used with");
}

#[test]
fn cuda_without_the_feature_says_what_is_missing() {
    if cfg!(feature = "cuda") {
        return;
    }
    let run = Specs::unary("\"exp\"", "").parity(&["run", "--backend", "cuda"]);
    run.exits(69)
        .complains("backend cuda is not available")
        .complains("--features cuda");
}

#[test]
fn rocm_without_a_driver_is_one_error_before_any_case_runs() {
    let specs = Specs::unary("\"exp\"", "");
    let dir = specs.path("");
    let args = [
        "run",
        "--backend",
        "rocm",
        "--spec-dir",
        dir.to_str().unwrap(),
        "--format",
        "json",
    ];
    let nowhere = [
        ("ROCM_DRIVER", "system"),
        ("LD_LIBRARY_PATH", "/nonexistent"),
        ("ROCM_PATH", "/nonexistent"),
    ];
    let run = parity(&args, &dir, &nowhere)
        .exits(69)
        .complains("backend rocm is not available");
    assert_eq!(run.stdout, "");
}

#[test]
fn a_stale_known_failure_is_an_error_with_its_place() {
    let specs = Specs::unary("\"exp\"", "");
    specs.write_finding("log", "{ op = [\"log\"] }");
    let run = specs.parity(&["run", "--backend", "cpu"]).exits(65);
    run.complains("row of `log` matches no case")
        .complains("log/finding.toml:7:3");
}

#[test]
fn a_stored_run_that_is_none_is_refused() {
    let specs = Specs::new(&[("run.json", "{\"version\": 2}"), ("old.json", "{\"version\": 0}")]);
    let report = |name: &str| parity(&["report", name], &specs.path(""), &[]);
    report("gone.json").exits(66).complains("cannot read gone.json");
    report("run.json")
        .exits(65)
        .complains("run.json: not a run record");
    report("old.json").exits(65).complains("layout version 0");
}

#[test]
fn help_lists_the_exit_codes_and_hides_the_worker() {
    for command in [&["-h"][..], &["run", "-h"]] {
        let short = parity(command, Path::new("/"), &[]).exits(0);
        assert!(!short.stdout.contains("Exit codes"), "{}", short.stdout);
    }
    let run = parity(&["--help"], Path::new("/"), &[]).exits(0);
    assert!(
        run.stdout
            .contains("100  the run is complete, and at least one result fails it"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("worker"), "{}", run.stdout);
}

#[test]
fn what_prints_a_page_takes_a_form_and_a_file_for_it() {
    // Of what is not here, `shrink` writes a test, `merge` a record, `man` and `completions` what one format asks for.
    let pages = [
        "run", "report", "explain", "diff", "gate", "bench", "headroom", "trend", "model", "fuzz", "doctor",
        "coverage", "selftest",
    ];
    for command in pages {
        let run = parity(&[command, "--help"], Path::new("/"), &[]).exits(0);
        for option in ["--format <FORMAT>", "--out <FILE>"] {
            assert!(
                run.stdout.contains(option),
                "parity {command} has no {option}:\n{}",
                run.stdout
            );
        }
    }
}
