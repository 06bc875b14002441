//! `parity run --journal` and `--resume`: what a run leaves behind when it is cut off, and what comes of going on with it.

use std::{
    fs::{self, File},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::{Run, Specs, assert_same, copied_specs, finish, parity, shell, timeless, unary};

const OPS: &str = r#""abs", "neg", "exp", "log", "sin", "cos", "sqr", "tanh""#;

/// Specs of 16 cases, and their undisturbed run with its journal.
struct Kept {
    specs: Specs,
    /// The record.
    record: String,
    journal: String,
}

impl Kept {
    fn new() -> Kept {
        let specs = Specs::unary(OPS, "");
        let run = run(
            &specs,
            &["--journal", "run.jsonl", "--format", "json", "--out", "run.json"],
        );
        run.exits(0);
        let read = |name: &str| fs::read_to_string(specs.path(name)).unwrap();
        let (record, journal) = (read("run.json"), read("run.jsonl"));
        Kept {
            specs,
            record,
            journal,
        }
    }

    /// Writes a journal, made of lines of this one's.
    fn write(&self, name: &str, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<_> = self.journal.lines().map(|line| format!("{line}\n")).collect();
        change(&mut lines);
        fs::write(self.specs.path(name), lines.concat()).unwrap();
    }

    fn parity(&self, args: &[&str]) -> Run {
        parity(args, &self.specs.path(""), &[])
    }
}

fn run(specs: &Specs, args: &[&str]) -> Run {
    specs.parity(&[&["run", "--backend", "cpu", "--jobs", "1"], args].concat())
}

fn verdicts(record: &Value) -> Vec<&str> {
    let cases = record["cases"].as_array().unwrap().iter();
    cases
        .map(|case| case["results"][0]["verdict"].as_str().unwrap())
        .collect()
}

#[test]
fn a_journal_has_a_header_a_start_and_a_result_for_every_case_and_an_end() {
    let kept = Kept::new();
    let kinds: Vec<_> = kept
        .journal
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line.as_object().unwrap().keys().next().unwrap().clone()
        })
        .collect();
    let cases = ["start", "result"].repeat(16);
    assert_eq!(kinds, [&["journal"], &cases[..], &["end"]].concat());
}

#[test]
fn a_report_of_the_journal_is_byte_for_byte_that_of_the_live_run() {
    let kept = Kept::new();
    let json = kept.parity(&["report", "run.jsonl", "--format", "json"]).exits(0);
    assert_eq!(json.stdout, kept.record);
    for format in ["text", "markdown", "csv", "junit", "html"] {
        let page = |run: &str| kept.parity(&["report", run, "--format", format]).exits(0).stdout;
        assert_eq!(page("run.jsonl"), page("run.json"), "{format}");
    }
    let live = run(&kept.specs, &["--journal", "text.jsonl"]).exits(0).stdout;
    assert_eq!(kept.parity(&["report", "text.jsonl"]).exits(0).stdout, live);
}

#[test]
fn every_command_that_reads_a_record_reads_a_journal() {
    let kept = Kept::new();
    let page = kept.parity(&["diff", "run.json", "run.jsonl"]).exits(0).stdout;
    assert!(page.contains("16 results say the same"), "{page}");
    let gate = ["gate", "run.jsonl", "--backend", "cpu", "--min", "100"];
    kept.parity(&gate).exits(0);
    let of = |run: &str| {
        let page = kept.parity(&["headroom", run]).exits(0).stdout;
        page.strip_prefix(run).unwrap().to_owned()
    };
    assert_eq!(of("run.jsonl"), of("run.json"));
    for part in ["1", "2"] {
        let journal = format!("{part}.jsonl");
        run(
            &kept.specs,
            &["--shard", &format!("{part}/2"), "--journal", &journal],
        )
        .exits(0);
    }
    let merged = kept.parity(&["merge", "1.jsonl", "2.jsonl"]).exits(0).stdout;
    assert_eq!(timeless(&merged), timeless(&kept.record));
}

#[test]
fn what_a_cut_off_journal_lacks_is_not_run_and_blocks_a_gate() {
    let kept = Kept::new();
    kept.write("cut.jsonl", |lines| lines.truncate(10));
    let cut = kept
        .parity(&["report", "cut.jsonl", "--format", "json"])
        .exits(0)
        .stdout;
    let cut: Value = serde_json::from_str(&cut).unwrap();
    assert_eq!(cut["planned"], 16);
    let want = [["pass"].repeat(4), ["not-run"].repeat(12)].concat();
    assert_eq!(verdicts(&cut), want);
    let note = |case: usize| cut["cases"][case]["results"][0]["note"].as_str().unwrap();
    assert_eq!(note(4), "started, and the run ended before it was judged");
    assert_eq!(note(5), "the run ended before it was started");
    let gate = ["gate", "cut.jsonl", "--backend", "cpu", "--min", "1"];
    let page = kept.parity(&gate).exits(100).stdout;
    assert!(
        page.contains("12 of 16 planned cases were never executed"),
        "{page}"
    );
}

#[test]
fn a_torn_last_line_is_left_out_and_a_damaged_one_before_it_is_an_error_with_its_place() {
    let kept = Kept::new();
    kept.write("torn.jsonl", |lines| {
        lines.truncate(11);
        let half = lines[10].len() / 2;
        lines[10].truncate(half);
    });
    let torn = kept
        .parity(&["report", "torn.jsonl", "--format", "json"])
        .exits(0)
        .stdout;
    let torn: Value = serde_json::from_str(&torn).unwrap();
    assert_eq!(
        verdicts(&torn)
            .iter()
            .filter(|verdict| **verdict == "pass")
            .count(),
        4
    );
    kept.write("damaged.jsonl", |lines| {
        let half = lines[10].len() / 2;
        lines[10].truncate(half);
        lines[10].push('\n');
    });
    for args in [
        &["report", "damaged.jsonl"][..],
        &["gate", "damaged.jsonl", "--min", "1"],
    ] {
        kept.parity(args)
            .exits(65)
            .complains("damaged.jsonl:11: no line of this journal");
    }
    run(&kept.specs, &["--resume", "damaged.jsonl"])
        .exits(65)
        .complains("damaged.jsonl:11:");
    kept.write("twice.jsonl", |lines| lines.insert(3, lines[0].clone()));
    kept.parity(&["report", "twice.jsonl"])
        .exits(65)
        .complains("twice.jsonl:4: no line of this journal: a second header");
    kept.write("newer.jsonl", |lines| {
        lines[0] = lines[0].replacen("\"version\":1", "\"version\":99", 1);
    });
    kept.parity(&["report", "newer.jsonl"])
        .exits(65)
        .complains("layout version 99");
    kept.write("empty.jsonl", |lines| {
        lines.truncate(1);
        lines[0].pop();
    });
    run(&kept.specs, &["--resume", "empty.jsonl"])
        .exits(65)
        .complains("empty.jsonl holds no run");
}

#[test]
fn a_resumed_run_ends_with_the_record_of_an_undisturbed_one() {
    let kept = Kept::new();
    // After the header, after a start, inside of a line, after a result, at the end.
    for (lines, torn) in [(1, 0), (6, 0), (10, 30), (11, 0), (34, 0)] {
        kept.write("cut.jsonl", |all| {
            let next = all.get(lines).map(|line| line[..torn].to_owned());
            all.truncate(lines);
            all.extend(next);
        });
        let args = ["--resume", "cut.jsonl", "--format", "json"];
        let resumed = run(&kept.specs, &args).exits(0).stdout;
        assert_eq!(timeless(&resumed), timeless(&kept.record), "{lines} lines");
        let again = kept.parity(&["report", "cut.jsonl", "--format", "json"]).exits(0);
        assert_eq!(again.stdout, resumed, "{lines} lines");
    }
    let results = |name: &str| {
        let text = fs::read_to_string(kept.specs.path(name)).unwrap();
        text.lines()
            .filter(|line| line.starts_with("{\"result\""))
            .count()
    };
    assert_eq!(
        results("cut.jsonl"),
        16,
        "the last resumed run had nothing to run"
    );
}

#[test]
fn a_resumed_run_repeats_what_crashed_or_ran_out_of_time_and_nothing_else() {
    let kept = Kept::new();
    kept.write("lost.jsonl", |lines| {
        for (line, verdict) in [(2, "crash"), (4, "timeout"), (6, "mismatch")] {
            let planted = format!("\"verdict\":\"{verdict}\"");
            lines[line] = lines[line].replacen("\"verdict\":\"pass\"", &planted, 1);
        }
    });
    let resumed = run(&kept.specs, &["--resume", "lost.jsonl", "--format", "json"]).exits(100);
    let resumed: Value = serde_json::from_str(&resumed.stdout).unwrap();
    let mut want = ["pass"].repeat(16);
    want[2] = "mismatch";
    assert_eq!(verdicts(&resumed), want);
}

#[test]
fn the_journal_of_another_run_is_refused_with_everything_that_differs() {
    let kept = Kept::new();
    run(
        &kept.specs,
        &[
            "--resume",
            "run.jsonl",
            "--seed",
            "5",
            "--ops",
            "exp",
            "--deterministic",
        ],
    )
    .exits(65)
    .complains("the selection of cases: `16 cases, ")
    .complains("the seed: `0` in the journal, `5` now")
    .complains("the options: `` in the journal, `--deterministic` now");
    run(&kept.specs, &["--resume", "run.jsonl", "--shard", "1/2"])
        .exits(65)
        .complains("the part of the plan: `all` in the journal, `1/2 of ");
    let elsewhere = format!("cpu=exec:{} worker --backend cpu", env!("CARGO_BIN_EXE_parity"));
    let args = ["run", "--resume", "run.jsonl", "--backend", &elsewhere];
    kept.specs
        .parity(&args)
        .exits(65)
        .complains("the backends: `cpu` in the journal, `cpu=exec:");
    kept.write("device.jsonl", |lines| {
        lines[0] = lines[0].replacen("host CPU", "another CPU", 1)
    });
    run(&kept.specs, &["--resume", "device.jsonl"])
        .exits(65)
        .complains("the device of cpu: `another CPU");
    fs::write(
        kept.specs.path("unary.toml"),
        unary(OPS, r#"limit = { ulp = 3, source = "planted" }"#),
    )
    .unwrap();
    run(&kept.specs, &["--resume", "run.jsonl"])
        .exits(65)
        .complains("the digest of the specs: `");
    let now = fs::read_to_string(kept.specs.path("run.jsonl")).unwrap();
    assert_eq!(now, kept.journal, "a refusal changes nothing");
}

#[test]
fn a_journal_is_neither_overwritten_nor_shared() {
    let kept = Kept::new();
    run(&kept.specs, &["--journal", "run.jsonl"])
        .exits(74)
        .complains("run.jsonl exists already: `--resume` goes on");
    let other = File::open(kept.specs.path("run.jsonl")).unwrap();
    other.lock().unwrap();
    run(&kept.specs, &["--resume", "run.jsonl"])
        .exits(74)
        .complains("another run writes to run.jsonl");
    drop(other);
    run(&kept.specs, &["--resume", "run.jsonl"]).exits(0);
    run(&kept.specs, &["--resume", "gone.jsonl"])
        .exits(66)
        .complains("cannot read gone.jsonl");
    run(&kept.specs, &["--resume", "run.jsonl", "--journal", "new.jsonl"])
        .exits(64)
        .complains("cannot be used with");
}

/// A directory with the repository's specs.
fn repository() -> Specs {
    let dir = Specs::new(&[]);
    copied_specs(&dir.path("specs"));
    dir
}

/// A run of the repository's own unary cases in `dir`.
fn long(dir: &Specs, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parity"));
    command
        .args([
            "run",
            "--backend",
            "cpu",
            "--ops",
            "unary",
            "--dtypes",
            "f32,f64",
            "--spec-dir",
            "specs",
        ])
        .args(["--format", "json"])
        .args(args)
        .current_dir(dir.path(""));
    command
}

/// Waits until the journal holds what it should.
#[track_caller]
fn wait_for(dir: &Specs, enough: impl Fn(&str) -> bool) {
    let ends_by = Instant::now() + Duration::from_secs(120);
    let read = || fs::read_to_string(dir.path("run.jsonl")).unwrap_or_default();
    while !enough(&read()) {
        assert!(Instant::now() < ends_by, "{}", read());
        thread::sleep(Duration::from_millis(5));
    }
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn ctrl_c_leaves_a_record_and_a_journal_and_the_line_it_says_goes_on() {
    let dir = repository();
    let mut command = long(&dir, &["--journal", "run.jsonl", "--out", "cut.json"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&dir, |journal| journal.matches("{\"result\"").count() >= 20);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    let line = said.split_once("go on with: ").unwrap().1.trim();
    let cut = fs::read_to_string(dir.path("cut.json")).unwrap();
    let report = parity(&["report", "run.jsonl", "--format", "json"], &dir.path(""), &[]).exits(0);
    assert_eq!(report.stdout, cut, "the journal is the record");
    let record: Value = serde_json::from_str(&cut).unwrap();
    let judged = verdicts(&record)
        .iter()
        .filter(|verdict| **verdict != "not-run")
        .count();
    let planned = record["planned"].as_u64().unwrap();
    let count = format!("interrupted: {judged} of {planned} cases are judged");
    assert!(
        judged >= 20 && (judged as u64) < planned && said.contains(&count),
        "{said}"
    );

    let resumed = finish(&mut shell(line, &dir.path("")));
    let undisturbed = finish(&mut long(&dir, &[]));
    assert_eq!(resumed.code, undisturbed.code, "{}", resumed.stderr);
    let resumed = fs::read_to_string(dir.path("cut.json")).unwrap();
    assert_same(&timeless(&resumed), &timeless(&undisturbed.stdout));
}

#[test]
fn a_second_ctrl_c_ends_the_run_at_once() {
    let dir = repository();
    // A record is longer than a pipe that nobody reads.
    let mut command = long(&dir, &["--journal", "run.jsonl"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&dir, |journal| journal.contains("{\"result\""));
    interrupt(&child);
    wait_for(&dir, |journal| journal.contains("{\"end\""));
    thread::sleep(Duration::from_millis(300));
    assert_eq!(
        child.try_wait().unwrap(),
        None,
        "it ended without being asked twice"
    );
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
