//! `parity bench` on candle's CPU backend: that rows are measured and stored, never how long anything takes.

use std::path::Path;

use serde_json::Value;

use crate::common::{Specs, parity, unary};

const ROWS: &str = "\"neg\", \"exp\"";

fn tiny() -> Specs {
    Specs::new(&[("unary.toml", &unary(ROWS, ""))])
}

#[test]
fn every_row_of_the_specs_is_measured_and_stored() {
    let specs = tiny();
    let file = specs.path("run.json");
    let stored = file.to_str().unwrap();
    let args = [
        "bench",
        "--backend",
        "cpu",
        "--samples",
        "3",
        "--format",
        "json",
        "--out",
        stored,
    ];
    specs.parity(&args).exits(0);
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(record["version"], 1);
    assert_eq!(record["devices"][0]["level"], "host");
    assert!(record["ceilings"][0]["copy_gb"].as_f64().unwrap() > 0.0);
    let rows = record["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{rows:?}");
    for row in rows {
        let times = &row["results"][0]["times"];
        assert_eq!(times["micros"].as_array().unwrap().len(), 3, "{row}");
        assert_eq!(row["bytes"], 8 * 9 * 4 * 2, "{row}");
    }
    for (format, want) in [
        ("text", "4 rows on 1 device"),
        ("csv", "case,device,"),
        ("markdown", "| row |"),
    ] {
        let args = ["bench", "--render", stored, "--format", format];
        let page = parity(&args, &specs.path(""), &[]).exits(0).stdout;
        assert!(page.contains(want), "{format}: {page}");
    }
}

#[test]
fn a_row_that_got_slower_fails_and_one_that_did_not_passes() {
    let specs = tiny();
    let (now, then) = (specs.path("now.json"), specs.path("then.json"));
    let [stored, base] = [&now, &then].map(|path| path.to_str().unwrap());
    let args = [
        "bench",
        "--backend",
        "cpu",
        "--samples",
        "1",
        "--ops",
        "neg",
        "--format",
        "json",
        "--out",
        stored,
    ];
    specs.parity(&args).exits(0);
    let mut record: Value = serde_json::from_str(&std::fs::read_to_string(&now).unwrap()).unwrap();
    let micros = record["rows"][0]["results"][0]["times"]["micros"][0]
        .as_f64()
        .unwrap();
    for (factor, code) in [(1.0, 0), (0.5, 100), (2.0, 0)] {
        record["rows"][0]["results"][0]["times"]["micros"] = vec![micros * factor].into();
        std::fs::write(&then, record.to_string()).unwrap();
        let run = parity(
            &["bench", "--render", stored, "--against", base],
            &specs.path(""),
            &[],
        );
        run.exits(code);
    }
}

#[test]
fn the_software_gpu_has_no_speed() {
    let specs = tiny();
    // By the variable it is found when it is open.
    let dir = specs.path("");
    let args = ["bench", "--backend", "rocm", "--spec-dir", dir.to_str().unwrap()];
    let run = parity(&args, &dir, &[("ROCM_DRIVER", "soft")]);
    let run = run
        .exits(64)
        .complains("of level isa: the time that it takes says nothing about a card");
    assert!(!run.stdout.contains("µs"), "{}", run.stdout);
    // By its name it is counted.
    let run = specs.parity(&["bench", "--backend", "rocm:gfx1100"]).exits(0);
    assert!(
        run.stdout.contains("bound") && !run.stdout.contains("µs"),
        "{}",
        run.stdout
    );
    for (option, value, complaint) in [
        ("--samples", "3", "--samples is of times"),
        ("--against", "x.json", "parity gate RUN --cost EARLIER_RUN"),
    ] {
        let args = ["bench", "--backend", "rocm:gfx1100", option, value];
        specs.parity(&args).exits(64).complains(complaint);
    }
}

#[test]
fn what_cannot_be_measured_is_named() {
    let specs = tiny();
    specs
        .parity(&["bench", "--backend", "cpu,cpu"])
        .exits(64)
        .complains("cpu is named twice");
    specs
        .parity(&["bench", "--backend", "rocm:nvidia,rocm:gfx1100"])
        .exits(64)
        .complains("rocm:nvidia is timed and software GPUs are counted");
    specs
        .parity(&["bench", "--backend", "rocm:nvidia,rocm:system"])
        .exits(64)
        .complains("cannot be open in one process");
    specs
        .parity(&["bench", "--backend", "cpu", "--timeout", "0"])
        .exits(64)
        .complains("--timeout 0 is not a number of seconds above 0");
    specs
        .parity(&["bench", "--backend", "cpu", "--ops", "add"])
        .exits(4)
        .complains("no case matches");
    let run = parity(&["bench", "--render", "/no/such.json"], Path::new("/"), &[]);
    run.exits(66).complains("cannot read /no/such.json");
    std::fs::write(specs.path("bad.json"), "{\"version\": 9}").unwrap();
    let bad = specs.path("bad.json");
    let run = parity(&["bench", "--render", bad.to_str().unwrap()], Path::new("/"), &[]);
    run.exits(65).complains("version 9, expected 1");
}

#[test]
fn the_rows_that_are_measured_by_default_are_all_cases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = parity(&["list", "cases", "--spec-dir", "op-specs/bench"], &root, &[]).exits(0);
    assert!(listed.stdout.lines().count() >= 150, "{}", listed.stdout);
}
