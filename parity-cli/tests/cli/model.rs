//! `parity model`, as far as it goes without the worker that links the networks.

use std::path::Path;

use crate::common::parity;

fn in_checkout(args: &[&str]) -> crate::common::Run {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    parity(args, &checkout, &[])
}

fn model(args: &[&str]) -> crate::common::Run {
    in_checkout(&[&["model"], args].concat())
}

#[test]
fn the_networks_are_listed_with_their_dtypes_and_none_is_run() {
    let list = model(&["--all", "--list"]).exits(0).stdout;
    let llama = "llama (llama): f32, f16, bf16";
    assert!(list.lines().any(|line| line == llama), "{list}");
    assert!(list.lines().count() >= 50, "{list}");
}

#[test]
fn an_unknown_network_is_met_with_the_known_ones() {
    model(&["lama"]).exits(64).complains("unknown model `lama`");
}

#[test]
fn a_network_whose_weights_are_not_there_says_where_they_come_from() {
    let name = "all-minilm-l6-v2";
    model(&[name])
        .exits(66)
        .complains("no folder of weights is named; `ci/models` downloads");
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    model(&[name, "--weights", dir])
        .exits(66)
        .complains("all-minilm-l6-v2.safetensors: No such file");
    std::fs::write(folder.path().join("all-minilm-l6-v2.safetensors"), "other").unwrap();
    model(&[name, "--weights", dir]).exits(66).complains(
        "its SHA-256 is d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, not 53aa51",
    );
}

const STORED: &str = "reports/models-zoo.json";

#[test]
fn a_stored_record_of_networks_is_gated_like_a_run() {
    let gate = ["gate", STORED, "--backend", "rocm:gfx942", "--min"];
    let passed = in_checkout(&[&gate[..], &["98"]].concat()).exits(0).stdout;
    assert!(
        passed.contains("of what candle's CPU can run agree") && passed.contains("chaotic: "),
        "{passed}"
    );
    let blocked = in_checkout(&[&gate[..], &["99.9"]].concat()).exits(100).stdout;
    assert!(blocked.contains("BLOCKED"), "{blocked}");
    let json = in_checkout(&[&gate[..], &["99.9", "--format", "json"]].concat())
        .exits(100)
        .stdout;
    assert!(json.contains("\"passes\": false"), "{json}");
    in_checkout(&["gate", STORED, "--backend", "cuda", "--min", "98"])
        .exits(64)
        .complains("unknown device of the record `cuda`: expected one of rocm:gfx1100, rocm:gfx942");
}

#[test]
fn two_records_of_networks_are_compared_by_their_verdicts() {
    let same = in_checkout(&["diff", STORED, STORED, "--verdicts"])
        .exits(0)
        .stdout;
    assert_eq!(same, "ok: no verdict differs\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later.json");
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(STORED)).unwrap();
    std::fs::write(
        &path,
        text.replacen("\"verdict\": \"agrees\"", "\"verdict\": \"wrong\"", 1),
    )
    .unwrap();
    let later = path.to_str().unwrap();
    let worse = in_checkout(&["diff", STORED, later]).exits(100).stdout;
    assert!(
        worse.contains("agrees (") && worse.contains("to wrong (") && worse.contains("WORSE: 1 of"),
        "{worse}"
    );
    in_checkout(&["diff", STORED, "reports/run.json.gz"])
        .exits(65)
        .complains("reports/run.json.gz holds cases, and the other record holds models");
}

#[test]
fn a_record_of_networks_is_reported_as_text_and_as_junit() {
    let text = in_checkout(&["report", STORED]).exits(0).stdout;
    assert!(
        text.lines()
            .any(|line| line.starts_with("llama ") && line.ends_with("agrees")),
        "{text}"
    );
    let junit = in_checkout(&["report", STORED, "--format", "junit"])
        .exits(0)
        .stdout;
    assert!(junit.contains(r#"<testsuite name="rocm:gfx942""#), "{junit}");
    in_checkout(&["report", STORED, "--format", "csv"])
        .exits(64)
        .complains("a record of models has no form of csv: expected --format text, json, markdown or junit");
}

#[test]
fn a_file_that_holds_something_else_is_no_journal_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "mine, without an end of line").unwrap();
    let name = path.to_str().unwrap();
    model(&["llama", "--journal", name])
        .exits(74)
        .complains("exists already: `--resume` goes on with the run it holds");
    model(&["llama", "--resume", name])
        .exits(65)
        .complains("`parity model --journal FILE` writes a journal");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "mine, without an end of line"
    );
}
