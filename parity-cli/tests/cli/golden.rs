//! Recorded outputs: what was recorded stands beside what runs, and nothing else ever does.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Run, parity, timeless, unary};

/// A folder with specs, and a recording of the ROCm backend's outputs on the software GPU.
struct Recorded {
    dir: TempDir,
}

impl Recorded {
    fn new() -> Recorded {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("op-specs")).unwrap();
        let recorded = Recorded { dir };
        recorded.specs("\"exp\", \"neg\"");
        recorded
            .parity(&["golden", "record", "--backend", "rocm", "--name", "soft"])
            .exits(0);
        recorded
    }

    fn specs(&self, ops: &str) {
        fs::write(self.path().join("op-specs/unary.toml"), unary(ops, "")).unwrap();
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn parity(&self, args: &[&str]) -> Run {
        parity(args, self.path(), &[("ROCM_DRIVER", "soft")])
    }

    fn against(&self, more: &[&str]) -> Run {
        let args = [
            "run",
            "--backend",
            "rocm",
            "--against",
            "golden:soft",
            "--format",
            "json",
        ];
        self.parity(&[&args[..], more].concat())
    }
}

#[test]
fn what_was_recorded_is_the_first_column_and_the_measure_of_the_others() {
    let recorded = Recorded::new();
    recorded.parity(&["golden", "verify"]).exits(0);
    let run: Value = serde_json::from_str(&recorded.against(&[]).exits(0).stdout).unwrap();
    assert_eq!(run["reference"], "golden:soft");
    let columns: Vec<_> = run["backends"].as_array().unwrap().iter().collect();
    assert_eq!(columns.len(), 3);
    assert!(
        columns[0]["level"]
            .as_str()
            .unwrap()
            .starts_with("isa, recorded 20")
    );
    for case in run["cases"].as_array().unwrap() {
        let results = case["results"].as_array().unwrap();
        assert!(results.iter().all(|result| result["verdict"] == "pass"), "{case}");
        assert!(
            results[0]["vs_reference"].is_null(),
            "a recording has nothing to be measured by"
        );
        assert_eq!(
            results[2]["vs_reference"]["max_ulp"], 0.0,
            "the same device computes the same bits"
        );
    }
}

#[test]
fn a_flipped_bit_is_caught_and_the_file_named() {
    let recorded = Recorded::new();
    for file in ["manifest.json", "entries.jsonl.gz", "values.safetensors.gz"] {
        let path = recorded.path().join("golden/soft").join(file);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        fs::write(&path, bad).unwrap();
        recorded
            .parity(&["golden", "verify", "soft"])
            .exits(65)
            .complains(file);
        recorded.against(&[]).exits(65).complains(file);
        fs::write(&path, good).unwrap();
    }
    recorded.against(&[]).exits(0);
}

#[test]
fn a_case_that_was_not_recorded_is_not_run_and_fails() {
    let recorded = Recorded::new();
    recorded.specs("\"exp\", \"neg\", \"sin\"");
    let run: Value = serde_json::from_str(&recorded.against(&[]).exits(100).stdout).unwrap();
    let verdicts = |op: &str| {
        let cases = run["cases"].as_array().unwrap().iter();
        let verdicts = cases
            .filter(|case| case["op"] == op)
            .map(|case| &case["results"][0]["verdict"]);
        verdicts
            .map(|verdict| verdict.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(verdicts("sin"), ["not-run"; 2]);
    assert_eq!(verdicts("exp"), ["pass"; 2]);
}

#[test]
fn cases_that_were_not_recorded_are_left_out_on_request_and_counted_in_the_record() {
    let recorded = Recorded::new();
    let before = timeless(&recorded.against(&["--recorded-only"]).exits(0).stdout);
    assert!(before.get("not_recorded").is_none(), "{before}");
    recorded.specs("\"exp\", \"neg\", \"sin\"");
    recorded
        .against(&["--recorded-only", "--out", "run.json"])
        .exits(0);
    let after = timeless(&fs::read_to_string(recorded.path().join("run.json")).unwrap());
    assert_eq!(after["not_recorded"], 2);
    assert_eq!(after["cases"], before["cases"]);
    let page = recorded.parity(&["report", "run.json"]).exits(0).stdout;
    let last = "ok: none of 12 results fails the run; 2 selected cases are not recorded and were left out\n";
    assert!(page.ends_with(last), "{page}");
}

#[test]
fn where_nothing_was_recorded_nothing_is_left_to_run() {
    let recorded = Recorded::new();
    recorded.specs("\"sin\"");
    recorded
        .against(&["--recorded-only"])
        .exits(4)
        .complains("none of the 2 selected cases is recorded in golden:soft");
}

#[test]
fn cases_that_were_not_recorded_are_counted_and_are_not_stale() {
    let recorded = Recorded::new();
    let verified = recorded.parity(&["golden", "verify"]).exits(0).stdout;
    assert!(!verified.contains("not recorded"), "{verified}");
    recorded.specs("\"exp\", \"neg\", \"sin\"");
    let verified = recorded.parity(&["golden", "verify"]).exits(0).stdout;
    assert!(verified.contains("  ok: every file has its digest"), "{verified}");
    assert!(
        verified.contains("  2 of the 6 cases of the specs are not recorded (2 of tier quick)"),
        "{verified}"
    );
}

#[test]
fn where_nothing_is_recorded_verify_says_how_to_record() {
    let nothing = tempfile::tempdir().unwrap();
    fs::create_dir(nothing.path().join("op-specs")).unwrap();
    fs::write(nothing.path().join("op-specs/unary.toml"), unary("\"exp\"", "")).unwrap();
    parity(&["golden", "verify"], nothing.path(), &[])
        .exits(4)
        .complains("parity golden record --name NAME");
}

#[test]
fn after_a_case_that_was_not_recorded_comes_a_look_at_the_recording() {
    let recorded = Recorded::new();
    recorded.specs("\"exp\", \"neg\", \"sin\"");
    let line = recorded.against(&[]).exits(100).stderr;
    assert!(line.contains("next: parity golden verify soft"), "{line}");
}

#[test]
fn what_fails_in_a_recording_is_no_reason_to_change_a_list() {
    let recorded = Recorded::new();
    recorded.specs("\"exp\", \"neg\", \"sin\"");
    let findings = recorded.path().join("findings");
    fs::create_dir(&findings).unwrap();
    let findings = ["--findings", "findings"];
    recorded
        .against(&[&["--out", "run.json"][..], &findings].concat())
        .exits(100);
    let update = [
        "baseline",
        "update",
        "run.json",
        "--backend",
        "golden:soft",
        "--reason",
        "r",
    ];
    recorded
        .parity(&[&update[..], &findings].concat())
        .exits(64)
        .complains("holds recorded outputs");
    assert_eq!(fs::read_dir(recorded.path().join("findings")).unwrap().count(), 0);
}

#[test]
fn a_recorded_case_that_the_specs_have_dropped_is_named_and_can_be_left_out() {
    let recorded = Recorded::new();
    let before = timeless(&recorded.against(&["--ops", "exp"]).exits(0).stdout);
    recorded.specs("\"exp\"");
    let verified = recorded.parity(&["golden", "verify"]).exits(100).stdout;
    for words in [
        "no spec has it any more: unary/neg:f32:[8,9]:contiguous:uniform(-2,2)\n",
        "  no spec has 2 of the recorded cases any more: parity golden prune soft leaves them out\n",
    ] {
        assert!(verified.contains(words), "{verified}");
    }
    let pruned = recorded.parity(&["golden", "prune", "soft"]).exits(0).stdout;
    assert!(pruned.contains("2 cases are left out of "), "{pruned}");
    recorded.parity(&["golden", "verify"]).exits(0);
    let after = timeless(&recorded.against(&[]).exits(0).stdout);
    assert_eq!(after["cases"], before["cases"], "the others answer as before");
    let again = recorded.parity(&["golden", "prune", "soft"]).exits(0).stdout;
    assert!(again.contains("nothing was left out"), "{again}");
}

#[test]
fn another_seed_is_compared_with_nothing() {
    let recorded = Recorded::new();
    recorded
        .against(&["--seed", "7"])
        .exits(65)
        .complains("recorded with --seed 0, and this run has --seed 7");
}

#[test]
fn a_bundle_that_is_not_there_is_named_with_those_that_are() {
    let recorded = Recorded::new();
    recorded
        .parity(&["run", "--against", "golden:hard"])
        .exits(66)
        .complains("there is soft")
        .complains("parity golden record --name hard");
}

#[test]
fn a_bundle_has_the_same_names_wherever_it_is_named() {
    let recorded = Recorded::new();
    for name in ["soft", "golden:soft"] {
        let verified = recorded.parity(&["golden", "verify", name]).exits(0);
        assert!(
            verified.stdout.starts_with("golden:soft: "),
            "{}",
            verified.stdout
        );
        let args = ["run", "--backend", "rocm", "--against", name, "--format", "json"];
        let run: Value = serde_json::from_str(&recorded.parity(&args).exits(0).stdout).unwrap();
        assert_eq!(run["reference"], "golden:soft");
        assert_eq!(run["repro_args"][0], "--against golden:soft");
    }
}
