//! The kill test: a real run of more than 2,000 cases whose workers are killed and stopped at random and have 1 GiB of memory
//! each, of which one case needs more. No case is lost, and going on with the run gives what an undisturbed one gives.
//! `ci/kill` repeats it with other numbers.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::{Run, Specs, assert_same, copied_specs, finish, timeless, unary};

/// At least this many real cases.
const CASES: u64 = 2000;

/// What a worker may use.
const MEMORY: &str = "1GiB";

/// A case that needs more: candle makes a running sum by multiplying with a triangle, here of 17,500 by 17,500 ones.
const HUNGRY: &str = r#"family = "reduce"
[[group]]
ops = ["cumsum"]
params = [[0]]
dtypes = ["f32"]
shapes = [[17500]]
layouts = ["contiguous"]
values = ["ints(-3,3)"]
tier = "ci"
tags = ["hungry"]
timeout = 300
"#;

const HUNGRY_ID: &str = "reduce/cumsum(0):f32:[17500]:contiguous:ints(-3,3)";

/// Workers to kill, half of them before two are stopped.
const KILLS: u32 = 20;

/// Between two attacks.
const PAUSE: Duration = Duration::from_millis(40);

fn parity(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_parity"));
    command
        .args([
            "run",
            "--backend",
            "cpu",
            "--ops",
            "binary,broadcast,cumsum",
            "--format",
            "json",
            "--jobs",
            "2",
        ])
        .args(["--spec-dir", "specs"])
        .args(args)
        .current_dir(dir);
    command
}

/// Kills workers of `run`, and stops two, until the run is over; how often it did each.
fn torment(run: &mut Child, journal: &Path) -> (u32, usize) {
    let (mut kills, mut stopped) = (0, vec![]);
    // When a worker was first seen, and how much was in the journal then: one that is stopped while it opens its device
    // would be waited for as long as a device may take.
    let mut seen: BTreeMap<u32, (Instant, u64)> = BTreeMap::new();
    // Another run of the test kills at other times.
    let seed = std::env::var("PARITY_KILL_SEED").ok();
    let mut random = seed.map_or(0x9e37_79b9_u32, |seed| seed.parse().unwrap());
    let ends_by = Instant::now() + Duration::from_secs(600);
    while run.try_wait().unwrap().is_none() {
        assert!(Instant::now() < ends_by, "the run does not end");
        thread::sleep(PAUSE);
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = fs::metadata(journal).map_or(0, |data| data.len());
        let mut workers = children(run.id());
        workers.retain(|worker| !stopped.contains(worker));
        for worker in &workers {
            seen.entry(*worker).or_insert((Instant::now(), length));
        }
        if workers.is_empty() {
            continue;
        }
        let victim = workers[(random >> 16) as usize % workers.len()];
        let (since, then) = seen[&victim];
        let serves = since.elapsed() > Duration::from_millis(500) && length > then;
        if serves && stopped.len() < 2 {
            signal("-STOP", victim);
            stopped.push(victim);
        } else if kills < KILLS / 2 || (kills < KILLS && stopped.len() == 2) {
            signal("-KILL", victim);
            kills += 1;
        }
    }
    (kills, stopped.len())
}

fn signal(name: &str, process: u32) {
    // The worker may be gone by now.
    let _ = Command::new("kill")
        .args([name, &process.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// The processes that `parent` started.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Behind the name, which may hold anything: the state, and the parent.
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' '));
        fields.and_then(|mut fields| fields.nth(1)) == Some(&parent.to_string())
    };
    ids.filter(is_child).collect()
}

/// How often each verdict was given; they add up to the plan.
#[track_caller]
fn counts(record: &Value) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for case in record["cases"].as_array().unwrap() {
        let verdict = case["results"][0]["verdict"].as_str().unwrap();
        *counts.entry(verdict.to_owned()).or_insert(0) += 1;
    }
    let planned = record["planned"].as_u64().unwrap();
    assert_eq!(counts.values().sum::<u64>(), planned, "{counts:?}");
    assert!(planned >= CASES, "{planned} cases");
    counts
}

/// The record without times, and without what says that a first worker was killed.
fn plain(text: &str) -> Value {
    const REMARK: &str = "run again in a fresh worker: the first was killed from outside (SIGKILL)";
    let mut record = timeless(text);
    for case in record["cases"].as_array_mut().unwrap() {
        let note = &mut case["results"][0]["note"];
        let Some(words) = note.as_str().and_then(|words| words.strip_suffix(REMARK)) else {
            continue;
        };
        *note = match words.strip_suffix("; ") {
            None => Value::Null,
            Some(words) => Value::String(words.to_owned()),
        };
    }
    record
}

#[track_caller]
fn ends(run: Run) -> String {
    assert!([0, 100].contains(&run.code), "{}: {}", run.code, run.stderr);
    run.stdout
}

#[test]
fn a_run_whose_workers_are_killed_loses_no_case_and_is_mended_by_going_on_with_it() {
    let dir = Specs::new(&[]);
    let dir = dir.path("");
    copied_specs(&dir.join("specs"));
    // Near the end of the plan, which is in the order of ids: by then the workers are left alone.
    fs::write(dir.join("specs/zz-hungry.toml"), HUNGRY).unwrap();
    let hard = [
        &["--journal", "run.jsonl", "--out", "hurt.json", "--timeout", "3"][..],
        &["--memory-limit", MEMORY],
    ];
    let mut hurt = parity(&dir, &hard.concat())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (kills, stops) = torment(&mut hurt, &dir.join("run.jsonl"));
    assert!([Some(0), Some(100)].contains(&hurt.wait().unwrap().code()));
    assert!(
        kills >= KILLS / 2 && stops >= 1,
        "{kills} kills and {stops} stops"
    );
    let record: Value = serde_json::from_str(&fs::read_to_string(dir.join("hurt.json")).unwrap()).unwrap();
    let hurt = counts(&record);
    assert!(hurt.contains_key("timeout"), "{hurt:?}");
    let (verdict, note) = hungry(&record);
    assert_eq!(verdict, "crash", "{note}");
    assert!(note.starts_with("out of memory, "), "{note}");

    let resumed = ends(finish(&mut parity(&dir, &["--resume", "run.jsonl"])));
    let undisturbed = ends(finish(&mut parity(&dir, &[])));
    let mended: Value = serde_json::from_str(&resumed).unwrap();
    let after = counts(&mended);
    assert_eq!(hungry(&mended).0, "pass");
    assert_same(&plain(&resumed), &plain(&undisturbed));
    println!(
        "{kills} workers killed, {stops} stopped, {MEMORY} each: {hurt:?}; gone on with, as undisturbed: {after:?}"
    );
}

/// Verdict and note of the case that needs more memory than there is.
fn hungry(record: &Value) -> (String, String) {
    let mut cases = record["cases"].as_array().unwrap().iter();
    let case = cases.find(|case| case["id"] == HUNGRY_ID).unwrap();
    let text = |field: &str| {
        let text = case["results"][0][field].as_str();
        text.unwrap_or_default().to_owned()
    };
    (text("verdict"), text("note"))
}

#[test]
fn a_run_whose_workers_are_starved_loses_no_case_and_is_mended_by_feeding_them() {
    let dir = Specs::new(&[("unary.toml", &unary("\"abs\"", ""))]);
    let dir = dir.path("");
    let hungry = "unary/neg:f64:[3000000]:contiguous:uniform(-1,1)";
    let modest = "unary/neg:f64:[7]:contiguous:uniform(-1,1)";
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_parity"));
        command
            .args(["run", "--backend", "cpu", "--format", "json", "--spec-dir", "."])
            .args(["--case", modest, "--case", hungry])
            .args(args)
            .current_dir(&dir);
        finish(&mut command)
    };
    let starved = run(&["--journal", "run.jsonl", "--memory-limit", "60MiB"]).exits(100);
    assert!(starved.stdout.contains("out of memory, "), "{}", starved.stdout);
    let fed = run(&["--resume", "run.jsonl"]).exits(0).stdout;
    assert_same(&timeless(&fed), &timeless(&run(&[]).exits(0).stdout));
}
