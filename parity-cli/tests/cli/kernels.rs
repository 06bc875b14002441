//! What cases execute of kernels, and kernels that are broken on purpose.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Run, Specs, parity};

const CARD: &str = "rocm:gfx1100";

/// Cases of two kernels, one of them with strides.
fn specs() -> Specs {
    Specs::unary(r#""neg", "sign""#, "")
}

fn covered(specs: &Specs, more: &[&str], file: &Path) -> Run {
    let args = ["run", "--backend", CARD, "--coverage", file.to_str().unwrap()];
    specs.parity(&[&args, more].concat())
}

fn json(files: &[&Path]) -> Value {
    let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let args = [&["coverage", "--format", "json"], files.as_slice()].concat();
    let run = parity(&args, Path::new("."), &[]).exits(0);
    serde_json::from_str(&run.stdout).unwrap()
}

/// Instructions of a kernel that were missed, of a coverage of one object.
fn missed(coverage: &Value, kernel: &str) -> usize {
    let kernels = coverage["objects"][0]["kernels"].as_array().unwrap();
    let found = kernels.iter().find(|found| found["name"] == kernel).unwrap();
    found["missed"].as_array().unwrap().len()
}

#[test]
fn two_workers_note_what_one_does_and_halves_make_the_whole() {
    let specs = specs();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    let (one, two, packed) = (file("one.json"), file("two.json"), file("packed.json.gz"));
    covered(&specs, &["--jobs", "1"], &one).exits(0);
    covered(&specs, &["--jobs", "2"], &two).exits(0);
    covered(&specs, &["--jobs", "2"], &packed).exits(0);
    assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
    assert_eq!(json(&[&one]), json(&[&packed]));
    let (dense, strided) = (file("dense.json"), file("strided.json"));
    covered(&specs, &["--regex", "contiguous"], &dense).exits(0);
    covered(&specs, &["--regex", "transposed"], &strided).exits(0);
    let whole = json(&[&one]);
    assert_eq!(json(&[&dense, &strided]), whole);
    // Each half alone misses what the other walks.
    let all = missed(&whole, "uneg_f32");
    for half in [&dense, &strided] {
        assert!(missed(&json(&[half]), "uneg_f32") > all, "{}", half.display());
    }
}

#[test]
fn the_text_names_kernels_what_they_miss_and_those_that_never_ran() {
    let specs = specs();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("coverage.json");
    covered(&specs, &["--ops", "neg", "--regex", "contiguous"], &file).exits(0);
    let file = file.to_str().unwrap();
    let run = parity(&["coverage", file], dir.path(), &[]).exits(0);
    let line = |start: &str| {
        let found = run.stdout.lines().find(|line| line.starts_with(start));
        found
            .unwrap_or_else(|| panic!("`{start}` is not in\n{}", run.stdout))
            .to_owned()
    };
    assert!(line("gfx1100: ").contains("instructions executed"));
    assert!(!line("gfx1100 uneg_f32:").contains("never launched"));
    assert!(line("gfx1100 usign_f32:").contains("never launched"));
    assert!(run.stdout.contains("never executed: "), "{}", run.stdout);
    let run = parity(&["coverage", file, "--format", "lcov"], dir.path(), &[]).exits(4);
    run.complains("no kernel has a line table");
}

#[test]
fn a_folder_of_rocm_coverage_says_what_the_file_of_the_run_says() {
    let specs = specs();
    let dir = tempfile::tempdir().unwrap();
    let (file, folder) = (dir.path().join("coverage.json"), dir.path().join("folder"));
    let spec_dir = specs.path("");
    let args = ["run", "--backend", CARD, "--jobs", "2", "--coverage"];
    let rest = [file.to_str().unwrap(), "--spec-dir", spec_dir.to_str().unwrap()];
    let env = [("ROCM_COVERAGE", folder.to_str().unwrap())];
    parity(&[&args[..], &rest[..]].concat(), dir.path(), &env).exits(0);
    assert_eq!(json(&[&folder]), json(&[&file]));
    // A line that is none is refused by its place; one that its process did not finish is left out.
    let marks = folder.join("1.marks");
    fs::write(&marks, "digest kernel 01").unwrap();
    assert_eq!(json(&[&folder]), json(&[&file]));
    fs::write(&marks, "digest kernel 09\n").unwrap();
    let run = parity(&["coverage", folder.to_str().unwrap()], dir.path(), &[]).exits(65);
    run.complains("1.marks, line 1: expected are a digest, a kernel and a digit");
}

#[test]
fn what_is_no_coverage_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file.json");
    let name = file.to_str().unwrap();
    let coverage = || parity(&["coverage", name], dir.path(), &[]);
    coverage().exits(66).complains("cannot read");
    for (text, words) in [
        ("{}", "is not a coverage of kernels: missing field"),
        (
            r#"{"format":"other","version":1,"objects":[]}"#,
            "its format is `other`",
        ),
        (
            r#"{"format":"parity-kernel-coverage","version":9,"objects":[]}"#,
            "version 9; this parity knows",
        ),
        (
            r#"{"format":"parity-kernel-coverage","version":1,"objects":[{"id":"0","target":"gfx1100","files":[],"kernels":[
              {"name":"k","instructions":2,"branches":[5],"missed":[],"one_sided":[],"lines":[]}]}]}"#,
            "kernel k: numbers of instructions",
        ),
    ] {
        fs::write(&file, text).unwrap();
        coverage().exits(65).complains(words);
    }
    let empty = r#"{"format":"parity-kernel-coverage","version":1,"objects":[]}"#;
    fs::write(&file, empty).unwrap();
    coverage().exits(4).complains("no code object");
    let out = dir.path().join("none.json");
    let args = ["run", "--backend", "cpu", "--coverage", out.to_str().unwrap()];
    specs()
        .parity(&args)
        .exits(4)
        .complains("no kernel ran on the software GPU");
    assert!(!out.exists());
}

/// `parity selftest --kernels` on a few mutants.
fn broken(specs: &Specs, more: &[&str]) -> Run {
    specs.parity(&[&["selftest", "--kernels", "--backend", CARD], more].concat())
}

#[test]
fn a_draw_of_broken_kernels_is_noticed_and_the_same_seed_draws_the_same() {
    let specs = specs();
    let args = [
        "--samples",
        "40",
        "--seed",
        "1",
        "--min",
        "40",
        "--format",
        "json",
    ];
    let first = broken(&specs, &args).exits(0);
    assert_eq!(broken(&specs, &args).exits(0).stdout, first.stdout);
    let trial: Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!(trial["drawn"], 40);
    let score = &trial["score"];
    let count = |what: &str| score[what].as_u64().unwrap();
    assert_eq!(count("killed") + count("survived") + count("equivalent"), 40);
    assert!(count("killed") > 12, "{score}");
    let kind = |word: &str| {
        let kinds = trial["kinds"].as_array().unwrap();
        kinds.iter().find(|kind| kind["kind"] == word).unwrap()["score"].clone()
    };
    assert_eq!(
        (&kind("wait")["killed"], &kind("wait")["survived"]),
        (&0.into(), &0.into())
    );
    assert!(trial["survivors"].as_array().unwrap().len() as u64 == count("survived"));
    // What is proven to be no fault is not noticed when it runs.
    let distrusted = broken(&specs, &[&args[..], &["--distrust"]].concat()).exits(0);
    assert_eq!(distrusted.stdout, first.stdout);
    // More is asked for than is noticed.
    let all = broken(&specs, &["--samples", "40", "--seed", "1", "--min", "100"]);
    all.exits(if count("survived") == 0 { 0 } else { 100 });
}

#[test]
fn a_lost_carry_is_noticed_at_another_place_of_the_allocations() {
    let views = r#"
family = "where"
[[group]]
ops = "where_cond"
shapes = [[3, 4, 5, 9, 16]]
layouts = "cropped"
dtypes = "f16"
index_dtypes = "u32"
values = "any"
tier = "ci"
"#;
    let specs = Specs::new(&[("where.toml", views)]);
    let draw = [
        "--samples",
        "150",
        "--seed",
        "1",
        "--min",
        "1",
        "--format",
        "json",
    ];
    let trial: Value = serde_json::from_str(&broken(&specs, &draw).exits(0).stdout).unwrap();
    let score = &trial["score"];
    let count = |what: &str| score[what].as_u64().unwrap();
    assert!((1..count("killed")).contains(&count("elsewhere")), "{score}");
}

#[test]
fn what_went_unnoticed_is_tried_again_with_random_cases() {
    let specs = specs();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("first.json");
    let file = file.to_str().unwrap();
    let draw = ["--samples", "60", "--seed", "2", "--min", "1", "--format", "json"];
    broken(&specs, &[&draw[..], &["--out", file]].concat()).exits(0);
    let first: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let survivors = first["survivors"].as_array().unwrap().len();
    assert!(survivors > 0, "{}", first["score"]);
    let again = broken(
        &specs,
        &[&draw[..], &["--survivors-of", file, "--random", "200"]].concat(),
    );
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["drawn"], survivors);
    assert_eq!(again["random"], 200);
    // The cases of the specs noticed none of them the first time.
    assert_eq!(again["score"]["by_random"], again["score"]["killed"]);
    fs::write(
        dir.path().join("other.json"),
        r#"{"survivors": [{"kernel": "k"}]}"#,
    )
    .unwrap();
    let other = dir.path().join("other.json");
    broken(&specs, &["--survivors-of", other.to_str().unwrap()])
        .exits(65)
        .complains("expected what `parity selftest --kernels --format json` writes");
}

#[test]
fn nothing_broken_is_no_pass() {
    let specs = specs();
    let run = broken(&specs, &["--samples", "0", "--min", "1"]).exits(100);
    assert!(
        run.stdout
            .contains("0 killed (0 where allocations lie elsewhere alone, 0 by random cases alone), 0 survived (0 change a result"),
        "{}",
        run.stdout
    );
    let none = specs
        .parity(&["selftest", "--kernels", "no_such*", "--backend", CARD])
        .exits(4);
    none.complains("no selected case runs a kernel that matches `no_such*`");
    broken(&specs, &["--ops", "exp"]).exits(4).complains("no case");
    let cpu = specs
        .parity(&["selftest", "--kernels", "--backend", "cpu"])
        .exits(64);
    cpu.complains("mutants run on one device besides the reference");
}
