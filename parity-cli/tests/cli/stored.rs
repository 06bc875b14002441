//! `parity diff`, `gate` and `headroom`, on a real record and on copies of it with one thing changed.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Run, Specs, parity, unary};

/// A record of four unary and two binary cases on the CPU, in `a.json`.
pub(crate) struct Stored {
    pub(crate) specs: Specs,
    pub(crate) record: Value,
}

const BINARY: &str = r#"family = "binary"
[[group]]
ops = ["add"]
dtypes = ["f32"]
shapes = [[8, 9]]
layouts = ["contiguous", "transposed"]
values = ["uniform(-2,2)"]
tier = "quick"
"#;

impl Stored {
    pub(crate) fn new() -> Stored {
        let specs = Specs::new(&[("a.toml", BINARY), ("b.toml", &unary("\"exp\", \"log\"", ""))]);
        let run = specs
            .parity(&["run", "--backend", "cpu", "--format", "json"])
            .exits(0);
        let record = serde_json::from_str(&run.stdout).unwrap();
        let stored = Stored { specs, record };
        stored.store("a.json", |_| {});
        stored
    }

    /// Stores the record with something changed.
    pub(crate) fn store(&self, name: &str, change: impl Fn(&mut Value)) {
        let mut record = self.record.clone();
        change(&mut record);
        fs::write(self.specs.path(name), record.to_string()).unwrap();
    }

    /// Stores the record with other verdicts, each named by its case.
    fn verdicts(&self, name: &str, verdicts: &[(usize, &str)]) {
        self.store(name, |record| {
            for (case, verdict) in verdicts {
                record["cases"][case]["results"][0]["verdict"] = json!(verdict);
            }
        });
    }

    /// Stores the record with another figure of case 5.
    fn figure(&self, name: &str, figure: &str, value: f64) {
        self.store(name, |record| {
            record["cases"][5]["results"][0]["vs_oracle"][figure] = json!(value);
        });
    }

    pub(crate) fn id(&self, case: usize) -> &str {
        self.record["cases"][case]["id"].as_str().unwrap()
    }

    pub(crate) fn parity(&self, args: &[&str]) -> Run {
        parity(args, &self.specs.path(""), &[])
    }

    fn diff(&self, before: &str, after: &str) -> Run {
        self.parity(&["diff", before, after])
    }

    fn verdicts_of(&self, before: &str, after: &str) -> Run {
        self.parity(&["diff", "--verdicts", before, after])
    }

    fn gate(&self, record: &str, more: &[&str]) -> Run {
        self.parity(&[&["gate", record, "--backend", "cpu"], more].concat())
    }
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "`{text}` is not in\n{page}");
}

#[test]
fn a_run_is_no_worse_than_itself() {
    let page = Stored::new().diff("a.json", "a.json").exits(0).stdout;
    shows(&page, "6 results say the same\nok: nothing got worse");
}

#[test]
fn what_breaks_one_way_is_fixed_the_other_way() {
    let stored = Stored::new();
    stored.verdicts(
        "b.json",
        &[(0, "mismatch"), (1, "known-failure"), (2, "reference-suspect")],
    );
    let page = stored.diff("a.json", "b.json").exits(100).stdout;
    shows(&page, "broken: 2\n");
    shows(&page, &format!("  pass to mismatch on cpu: {}", stored.id(0)));
    shows(
        &page,
        &format!("again: parity run --backend cpu --case '{}'", stored.id(0)),
    );
    shows(
        &page,
        &format!("  pass to known-failure on cpu: {}", stored.id(1)),
    );
    shows(&page, "changed: 1\n");
    shows(&page, "WORSE: 2 of 6 results");
    let page = stored.diff("b.json", "a.json").exits(0).stdout;
    shows(&page, "fixed: 2\n");
    shows(&page, "ok: nothing got worse");
}

#[test]
fn an_error_that_grew_tenfold_is_worse_although_it_passes() {
    let stored = Stored::new();
    stored.figure("small.json", "max_ulp", 3.0);
    stored.figure("grown.json", "max_ulp", 30.0);
    let page = stored.diff("small.json", "grown.json").exits(100).stdout;
    shows(&page, "grew: 1\n  3.00 ULP (");
    shows(&page, ") to 30.00 ULP (");
    stored.figure("nearly.json", "max_ulp", 29.0);
    stored.diff("small.json", "nearly.json").exits(0);
}

#[test]
fn by_verdict_alone_an_error_that_grew_is_no_difference() {
    let stored = Stored::new();
    stored.figure("small.json", "max_ulp", 3.0);
    stored.figure("grown.json", "max_ulp", 30.0);
    let page = stored.verdicts_of("small.json", "grown.json").exits(0).stdout;
    shows(&page, "6 results say the same\nok: no verdict differs");
}

#[test]
fn by_verdict_alone_a_verdict_that_differs_is_refused_in_either_direction() {
    let stored = Stored::new();
    stored.verdicts("b.json", &[(0, "reference-suspect"), (1, "mismatch")]);
    for (a, b, words) in [
        ("a.json", "b.json", "pass to reference-suspect"),
        ("b.json", "a.json", "mismatch to pass"),
    ] {
        let page = stored.verdicts_of(a, b).exits(100).stdout;
        shows(&page, words);
        shows(&page, "DIFFERENT: 2 of 6 results");
    }
}

#[test]
fn by_verdict_alone_a_result_of_one_run_only_is_refused_in_either_direction() {
    let stored = Stored::new();
    stored.store("fewer.json", |record| {
        record["cases"].as_array_mut().unwrap().truncate(4);
        record["planned"] = json!(4);
    });
    for (a, b) in [("a.json", "fewer.json"), ("fewer.json", "a.json")] {
        let page = stored.verdicts_of(a, b).exits(100).stdout;
        shows(&page, "DIFFERENT: 2 of 6 results");
    }
    let let_go = |a, b| stored.parity(&["diff", "--verdicts", "--allow-gone", a, b]);
    let_go("a.json", "fewer.json").exits(0);
    let_go("fewer.json", "a.json").exits(100);
    stored.verdicts("b.json", &[(0, "reference-suspect")]);
    let_go("b.json", "fewer.json").exits(100);
}

/// Gives a record a second column, `other`, whose result of the first case has another verdict.
fn add_column(record: &mut Value) {
    let mut column = record["backends"][0].clone();
    column["backend"] = json!("other");
    record["backends"].as_array_mut().unwrap().push(column);
    for (at, case) in record["cases"].as_array_mut().unwrap().iter_mut().enumerate() {
        let mut result = case["results"][0].clone();
        if at == 0 {
            result["verdict"] = json!("mismatch");
        }
        case["results"].as_array_mut().unwrap().push(result);
    }
}

#[test]
fn columns_are_those_of_one_run_or_one_of_each_run() {
    let stored = Stored::new();
    stored.store("two.json", add_column);
    let of = |runs: &[&str], columns| {
        stored.parity(&[&["diff", "--verdicts"], runs, &["--columns", columns]].concat())
    };
    let page = of(&["two.json"], "cpu,other").exits(100).stdout;
    shows(&page, "DIFFERENT: 1 of 6 results");
    // Of `two.json` one column alone is compared: without a selection the other would be new.
    of(&["a.json", "two.json"], "cpu,cpu").exits(0);
    let page = of(&["a.json", "two.json"], "cpu,other").exits(100).stdout;
    shows(&page, "pass to mismatch on other");
    let words = of(&["a.json", "two.json"], "other,cpu").exits(64).stderr;
    shows(&words, "unknown backend of a.json `other`");
    of(&["a.json", "two.json"], "cpu").exits(64);
}

#[test]
fn results_that_are_gone_are_worse_unless_that_is_allowed() {
    let stored = Stored::new();
    stored.store("fewer.json", |record| {
        record["cases"].as_array_mut().unwrap().truncate(4);
        record["planned"] = json!(4);
    });
    let page = stored.diff("a.json", "fewer.json").exits(100).stdout;
    shows(&page, &format!("gone: 2\n  was pass on cpu: {}", stored.id(4)));
    stored
        .parity(&["diff", "a.json", "fewer.json", "--allow-gone"])
        .exits(0);
    let page = stored.diff("fewer.json", "a.json").exits(0).stdout;
    shows(&page, &format!("new: 2\n  pass on cpu: {}", stored.id(4)));
}

#[test]
fn runs_of_other_seeds_or_layouts_are_refused() {
    let stored = Stored::new();
    stored.store("seed.json", |record| record["seed"] = json!(9));
    let run = stored.diff("a.json", "seed.json").exits(65);
    run.complains("a.json has seed 0 and seed.json has seed 9")
        .complains("--seed");
    stored.store("old.json", |record| record["version"] = json!(1));
    let run = stored.diff("old.json", "a.json").exits(65);
    run.complains("old.json: the record has layout version 1")
        .complains("repeat the run");
    stored
        .gate("a.json", &["--min", "99", "--against", "seed.json"])
        .exits(65);
}

#[test]
fn a_gate_passes_at_its_bar_and_blocks_below_with_the_reason() {
    let stored = Stored::new();
    let page = stored
        .gate("a.json", &["--min", "100", "--per-family", "100"])
        .exits(0)
        .stdout;
    shows(&page, "PASS: 100.00 % >= 100 %");
    stored.verdicts("b.json", &[(5, "mismatch")]);
    stored.gate("b.json", &["--min", "83.33"]).exits(0);
    let page = stored.gate("b.json", &["--min", "83.34"]).exits(100).stdout;
    shows(
        &page,
        "BLOCKED, all families: 83.33 % < 83.34 %: 1 of 6 executed do not agree",
    );
    shows(&page, &format!("  mismatch: {}", stored.id(5)));
    shows(
        &page,
        &format!("again: parity run --backend cpu --case '{}'", stored.id(5)),
    );
    let page = stored
        .gate("b.json", &["--min", "80", "--per-family", "80"])
        .exits(100)
        .stdout;
    shows(
        &page,
        "BLOCKED, unary: 75.00 % < 80 %: 1 of 4 executed do not agree",
    );
    assert!(!page.contains("BLOCKED, binary"), "{page}");
}

#[test]
fn agreement_is_pass_error_parity_and_reference_suspect_and_nothing_else() {
    let stored = Stored::new();
    stored.verdicts(
        "b.json",
        &[
            (0, "error-parity"),
            (1, "reference-suspect"),
            (2, "known-failure"),
        ],
    );
    let page = stored.gate("b.json", &["--min", "100"]).exits(100).stdout;
    shows(&page, "5/6");
    shows(&page, "1 known-failure");
    stored.store("c.json", |record| {
        record["cases"][0]["results"][0]["fallbacks"] = json!(["add"]);
    });
    let page = stored.gate("c.json", &["--min", "100"]).exits(100).stdout;
    shows(&page, "1 by CPU fallback");
}

#[test]
fn what_was_not_executed_never_passes() {
    let stored = Stored::new();
    let all: Vec<_> = (0..6).map(|case| (case, "not-run")).collect();
    stored.verdicts("none.json", &all);
    let page = stored.gate("none.json", &["--min", "1"]).exits(100).stdout;
    shows(&page, "nothing was executed, which is never a pass");
    stored.verdicts("some.json", &all[..1]);
    let page = stored.gate("some.json", &["--min", "1"]).exits(100).stdout;
    shows(&page, "1 of 6 planned cases were never executed");
    stored.verdicts("family.json", &all[..2]);
    let page = stored
        .gate("family.json", &["--min", "1", "--per-family", "1"])
        .exits(100)
        .stdout;
    shows(&page, "BLOCKED, binary: nothing was executed");
}

#[test]
fn a_new_failure_blocks_whatever_the_share_and_an_old_one_does_not() {
    let stored = Stored::new();
    stored.verdicts("old.json", &[(5, "mismatch")]);
    stored.verdicts("new.json", &[(4, "crash"), (5, "mismatch")]);
    let against = |record: &str, base: &str| stored.gate(record, &["--min", "1", "--against", base]);
    against("old.json", "old.json").exits(0);
    let page = against("new.json", "old.json").exits(100).stdout;
    shows(&page, "BLOCKED, new failures, which old.json does not have: 1");
    shows(&page, &format!("  crash: {}", stored.id(4)));
    assert!(!page.contains(&format!("  mismatch: {}", stored.id(5))), "{page}");
}

#[test]
fn a_gate_that_cannot_be_asked_says_what_was_expected() {
    let stored = Stored::new();
    for bar in ["0", "100.5", "NaN"] {
        let run = stored.gate("a.json", &["--min", bar]).exits(64);
        run.complains("is not a percentage above 0 and at most 100");
    }
    let run = stored.parity(&["gate", "a.json", "--backend", "rocm", "--min", "99"]);
    run.exits(64)
        .complains("unknown backend of a.json `rocm`: expected one of cpu");
    stored.store("shard.json", |record| {
        record["shard"] =
            json!({"index": 1, "of": 2, "planned": 9, "plan": "", "places": [0, 1, 2, 3, 4, 5]});
    });
    let run = stored.gate("shard.json", &["--min", "99"]).exits(65);
    run.complains("shard.json is shard 1/2").complains("parity merge");
}

#[test]
fn headroom_shows_limits_nearly_used_up_and_limits_hardly_used() {
    let stored = Stored::new();
    let page = |used: f64| {
        stored.figure("b.json", "limit_used", used);
        stored.parity(&["headroom", "b.json"]).exits(0).stdout
    };
    let row = |page: &str, section: &str| {
        let lines = page.lines().skip_while(|line| !line.starts_with(section)).skip(1);
        let mut rows = lines.take_while(|line| !line.is_empty());
        rows.find(|line| line.contains("log f32")).map(str::to_owned)
    };
    let tight = row(&page(0.95), "used more than 80 %").unwrap();
    shows(&tight, "95%");
    shows(&tight, "2 ULP: worst of ocml 2, CUDA 1, glibc 1");
    shows(&tight, stored.id(5));
    for section in ["used more than 80 %", "used less than 1 %", "not used at all"] {
        assert_eq!(row(&page(0.5), section), None);
    }
    // A limit is loose where no case of its group uses more: the other case is half used, and then is not.
    let both = |other: f64| {
        stored.store("b.json", |record| {
            for (case, used) in [(4, other), (5, 0.001)] {
                record["cases"][case]["results"][0]["vs_oracle"]["limit_used"] = json!(used);
            }
        });
        stored.parity(&["headroom", "b.json"]).exits(0).stdout
    };
    shows(&row(&both(0.002), "used less than 1 %").unwrap(), "2.0e-1%");
    assert_eq!(row(&both(0.5), "used less than 1 %"), None);
}

#[test]
fn headroom_and_gate_say_the_same_as_json_and_into_a_file() {
    let stored = Stored::new();
    stored.figure("b.json", "limit_used", 0.95);
    let read = |run: Run| serde_json::from_str::<Value>(&run.stdout).unwrap();
    let limits = read(
        stored
            .parity(&["headroom", "b.json", "--format", "json"])
            .exits(0),
    );
    let log = |limit: &&Value| limit["op"] == "log" && limit["used"] == json!(0.95);
    let log = limits["limits"].as_array().unwrap().iter().find(log).unwrap();
    assert_eq!(
        (&log["case"], &log["backend"]),
        (&json!(stored.id(5)), &json!("cpu"))
    );
    stored.verdicts("c.json", &[(5, "mismatch")]);
    let passes = read(
        stored
            .gate("a.json", &["--min", "99", "--format", "json"])
            .exits(0),
    );
    assert_eq!(
        (&passes["passes"], &passes["blocked"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(passes["families"]["binary"]["agreed"], json!(2));
    let blocked = read(
        stored
            .gate("c.json", &["--min", "99", "--format", "json"])
            .exits(100),
    );
    assert_eq!(blocked["passes"], json!(false));
    assert_eq!(blocked["blocked"][0]["cases"][0]["id"], json!(stored.id(5)));
    // Into a file goes what is printed otherwise, the next command with it.
    for args in [
        ["headroom", "c.json"].as_slice(),
        &["gate", "c.json", "--backend", "cpu", "--min", "99"],
    ] {
        let printed = stored.parity(args);
        let written = stored.parity(&[args, &["--out", "page.txt"]].concat());
        assert_eq!((written.stdout.as_str(), written.code), ("", printed.code));
        assert_eq!(
            fs::read_to_string(stored.specs.path("page.txt")).unwrap(),
            printed.stdout
        );
    }
}

#[test]
fn a_trend_has_every_family_of_every_run() {
    let stored = Stored::new();
    // A run in which half of the binary cases no longer agree, then one without the family.
    stored.verdicts("b.json", &[(0, "mismatch")]);
    stored.store("c.json", |record| {
        record["cases"].as_array_mut().unwrap().drain(..2);
        record["planned"] = json!(4);
    });
    let trend = |more: &[&str]| {
        let args = [&["trend", "a.json", "b.json", "c.json", "--backend", "cpu"], more].concat();
        stored.parity(&args).exits(0).stdout
    };
    let row = |page: &str, family: &str| {
        let name = format!("cpu {family} ");
        let mut rows = page.lines().filter(|line| line.starts_with(&name));
        rows.next().map(str::to_owned).unwrap()
    };
    let text = trend(&[]);
    shows(&row(&text, "binary"), "█▁");
    shows(&row(&text, "binary"), "100.00 % → 50.00 %");
    shows(&row(&text, "unary"), "▅▅▅");
    shows(&row(&text, "all"), "100.00 %");

    let json: Value = serde_json::from_str(&trend(&["--format", "json"])).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 3);
    assert_eq!(json["families"][0]["family"], "binary");
    assert_eq!(json["families"][0]["score"], json!([100.0, 50.0, null]));

    trend(&["--format", "svg", "--out", "trend.svg"]);
    let svg = fs::read_to_string(stored.specs.path("trend.svg")).unwrap();
    shows(&svg, "<title>binary, score: 100.00 %, 50.00 %, -</title>");
    assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());

    // A report shows the trend of what it compares, here of its only column.
    let report =
        |more: &[&str]| stored.parity(&[&["report", "b.json", "--earlier", "a.json"], more].concat());
    let shown = report(&["--format", "html"]).exits(0).stdout;
    assert_eq!(shown.matches("<h2>Trend</h2>").count(), 1);
    shows(&shown, "<title>binary, score: 100.00 %, ");
    shows(&report(&[]).exits(0).stdout, "binary ");
    report(&["--format", "csv"])
        .exits(64)
        .complains("--earlier is for text and html");
    let plain = stored
        .parity(&["report", "b.json", "--format", "html"])
        .exits(0)
        .stdout;
    assert!(!plain.contains("Trend"));

    // One run has no trend, and a run without the backend none of it.
    stored.parity(&["trend", "a.json"]).exits(64);
    stored
        .parity(&["trend", "a.json", "b.json"])
        .exits(64)
        .complains("backend of a.json");
}

#[test]
fn a_record_that_gzip_compressed_is_read() {
    let specs = Specs::unary("\"exp\"", "");
    let args = ["run", "--backend", "cpu", "--format", "json", "--out", "run.json"];
    specs.parity(&args).exits(0);
    let report = |name: &str| parity(&["report", name], &specs.path(""), &[]);
    let plain = report("run.json").exits(0).stdout;
    let gzip = std::process::Command::new("gzip")
        .arg(specs.path("run.json"))
        .status();
    assert!(gzip.unwrap().success());
    assert_eq!(report("run.json.gz").exits(0).stdout, plain);
    // The control: a compressed file that is cut off.
    let bytes = fs::read(specs.path("run.json.gz")).unwrap();
    fs::write(specs.path("run.json.gz"), &bytes[..bytes.len() / 2]).unwrap();
    report("run.json.gz")
        .exits(66)
        .complains("cannot read run.json.gz");
}
