//! Whatever is wrong with flags, specs, lists, records and journals: one error that says what, where and how to mend it,
//! under the exit code that the help documents; nothing runs, and nothing panics.

use std::fs;

use crate::common::{Run, Specs, parity};

/// A well-formed group, to be spoiled line by line.
const GROUP: &str = r#"family = "unary"
[[group]]
ops = ["exp"]
dtypes = ["f32"]
shapes = [[2, 3]]
layouts = ["contiguous"]
values = ["uniform(-1,1)"]
tier = "quick"
"#;

const FINDING: &str = r#"title = "planted"
class = "unexplained"
reason = "r"
matches = [
  { op = ["exp"], backends = ["cpu"], verdict = "mismatch", may_pass = true },
]
"#;

const ID: &str = "unary/exp:f32:[2,3]:contiguous:uniform(-1,1)";

/// A command line that ends with `exit` and says these things. Words are separated by spaces.
type Flags = (&'static str, i32, &'static [&'static str]);

const FLAGS: &[Flags] = &[
    ("shirnk", 64, &["unrecognized subcommand 'shirnk'", "'shrink'"]),
    ("run --frobnicate", 64, &["unexpected argument '--frobnicate'"]),
    (
        "run --ops exq",
        64,
        &["unknown op or family `exq`", "did you mean `exp`?"],
    ),
    (
        "run --ops zzzzzzzzzzzz",
        64,
        &["unknown op or family `zzzzzzzzzzzz`", "`parity list` shows all"],
    ),
    ("run --op=", 64, &["unknown op or family ``"]),
    (
        "run --families unray",
        64,
        &["unknown op or family `unray`", "did you mean `unary`?"],
    ),
    (
        "run --dtypes f23",
        64,
        &["unknown dtype `f23`", "did you mean `f32`?"],
    ),
    (
        "run --layouts sideways",
        64,
        &["unknown layout `sideways`", "expected one of contiguous"],
    ),
    (
        "run --tier weekly",
        64,
        &["unknown tier `weekly`", "expected one of quick, ci"],
    ),
    ("run --tags pined", 64, &["unknown tag `pined`", "tags = [..]"]),
    ("run --regex (", 64, &["bad --regex", "unclosed group"]),
    (
        "run --case unary/exp:f32",
        64,
        &["invalid case id `unary/exp:f32`", "expected family/op:dtype"],
    ),
    (
        "run --case binary/add:f32:[2],[3]:contiguous,contiguous:any",
        64,
        &["same logical shape"],
    ),
    (
        "run --case unary/exp:f32:[99999999999]:contiguous:any",
        64,
        &["more than 4294967296 elements"],
    ),
    (
        "run --case unary/exp:f32:[2]:contiguous:any --dtypes f32",
        64,
        &["cannot be used with --dtypes"],
    ),
    ("run --case *zzz*", 4, &["no case matches", "like *zzz*"]),
    (
        "run --backend cpu --ops log",
        4,
        &["no case matches", "an op of log"],
    ),
    ("run --backend tpu", 64, &["unknown backend `tpu`"]),
    (
        "run --timeout 0",
        64,
        &["--timeout must be a positive number of seconds"],
    ),
    (
        "run --timeout soon",
        64,
        &["invalid value 'soon' for '--timeout <SECONDS>'"],
    ),
    ("run --jobs 0", 64, &["--jobs must be at least 1"]),
    ("run --seed -1", 64, &["'-1'"]),
    ("run --shard 3/2", 64, &["bad --shard `3/2`", "e.g. `2/4`"]),
    (
        "run --format yaml",
        64,
        &["invalid value 'yaml' for '--format <FORMAT>'", "json"],
    ),
    (
        "run --findings gone",
        66,
        &["the directory of findings gone does not exist"],
    ),
    ("explain", 64, &["<CASE>"]),
    (
        "explain unary/exp",
        64,
        &["expected family/op:dtype", "parity list cases"],
    ),
    (
        "shrink unary/exp",
        64,
        &["expected family/op:dtype", "parity list cases"],
    ),
    (
        "shrink unary/exp:f32:[2,3]:contiguous:uniform(-1,1) --runs many",
        64,
        &["invalid value 'many'"],
    ),
    ("list everything", 64, &["unrecognized subcommand 'everything'"]),
    ("list devices --ops exp", 64, &["unexpected argument '--ops'"]),
    ("list backends --tier ci", 64, &["unexpected argument '--tier'"]),
    (
        "run --backend rocm:gfx9",
        64,
        &[
            "unknown device `gfx9` of backend rocm",
            "soft, nvidia, hsa, gfx1100, gfx1151, gfx1200, gfx1201, gfx1030, gfx942",
        ],
    ),
    ("schema nothing", 64, &["invalid value 'nothing'", "specs"]),
    ("completions tcsh", 64, &["invalid value 'tcsh'", "bash"]),
    ("gate gone.json --min 99", 66, &["cannot read gone.json"]),
    (
        "gate gone.json --min 0",
        64,
        &["--min 0 is not a percentage above 0"],
    ),
    ("gate gone.json", 64, &["--min <PERCENT>"]),
    ("diff gone.json", 64, &["<LATER_RUN>"]),
    ("golden verify gone", 66, &["parity golden record --name gone"]),
    (
        "golden record --name ../x --backend rocm",
        64,
        &["a bundle's name is letters, digits"],
    ),
    (
        "golden record --name x --backend cpu",
        64,
        &["a recording takes one backend besides the reference"],
    ),
    ("run --times all.json", 64, &["--shard <I/N>"]),
    ("run --against gone", 66, &["parity golden record --name gone"]),
    ("run --recorded-only", 64, &["--against <NAME>"]),
    (
        "run --memory-limit 10",
        64,
        &["bad --memory-limit `10`", "e.g. 2GiB"],
    ),
    (
        "selftest --min 101",
        64,
        &["--min 101 is not a percentage", "at most 100"],
    ),
    (
        "baseline updat",
        64,
        &["unrecognized subcommand 'updat'", "'update'"],
    ),
    ("baseline update gone.json", 66, &["cannot read gone.json"]),
    ("baseline update gone.json --link x", 64, &["--reason <TEXT>"]),
    ("merge", 64, &["<RUN>"]),
    ("report .", 66, &["cannot read ."]),
];

/// A line of [`GROUP`], what takes its place, and what is said about it.
type Spoiled = (&'static str, &'static str, &'static [&'static str]);

const SPECS: &[Spoiled] = &[
    (
        "family = \"unary\"",
        "family = \"uniary\"",
        &["unknown op family `uniary`", ":1:10", "did you mean `unary`?"],
    ),
    (
        "family = \"unary\"",
        "family = \"unary",
        &[":1:", "the file is not valid TOML here"],
    ),
    (
        "ops = [\"exp\"]",
        "ops = [\"exq\"]",
        &["unknown op `exq`", ":3:8"],
    ),
    (
        "ops = [\"exp\"]",
        "ops = []",
        &["`ops` is empty", ":3:7", "name at least one"],
    ),
    (
        "ops = [\"exp\"]",
        "ops = [\"exp\", \"exp\"]",
        &["names this twice", ":3:15", "remove one"],
    ),
    (
        "ops = [\"exp\"]",
        "ops = [\"add\"]",
        &["`add` is not in the family `unary`", "family = \"binary\""],
    ),
    (
        "ops = [\"exp\"]",
        "ops = 3",
        &["`ops` must be a string, not an integer", ":3:7"],
    ),
    (
        "ops = [\"exp\"]",
        "ops = [\"affine\"]",
        &[
            "`affine` takes 2 parameters, not 0",
            "its parameters are mul, add",
        ],
    ),
    (
        "dtypes = [\"f32\"]",
        "dtypes = [\"i32\"]",
        &["`exp` means nothing for i32", "it takes "],
    ),
    (
        "dtypes = [\"f32\"]",
        "",
        &["missing key `dtypes`", "add dtypes = "],
    ),
    (
        "shapes = [[2, 3]]",
        "shapes = [[2, -3]]",
        &["-3 is not one", ":5:", "sizes are 0 and above"],
    ),
    (
        "layouts = [\"contiguous\"]",
        "layouts = [\"reversed\"]",
        &[
            "layout `reversed` is impossible for the shape [2,3]",
            "skip_impossible",
        ],
    ),
    (
        "layouts = [\"contiguous\"]",
        "layouts = [\"contigous\"]",
        &["unknown layout `contigous`", "did you mean `contiguous`?"],
    ),
    (
        "values = [\"uniform(-1,1)\"]",
        "values = [\"uniform(1,-1)\"]",
        &["invalid value set `uniform(1,-1)`", "the lower one first"],
    ),
    (
        "values = [\"uniform(-1,1)\"]",
        "values = [\"extremes\"]",
        &["is a float dtype: use special", ":7:"],
    ),
    (
        "tier = \"quick\"",
        "tier = 1",
        &["`tier` must be a string, not an integer", ":8:8"],
    ),
    (
        "tier = \"quick\"",
        "tier = \"quick\"\ntolerance = 1",
        &["unknown key `tolerance`", ":9:1", "expected one of ops"],
    ),
    (
        "tier = \"quick\"",
        "tier = \"quick\"\nlimit = { ulp = 1 }",
        &["missing key `source`", ":9:"],
    ),
    (
        "tier = \"quick\"",
        "tier = \"quick\"\nlimit = { ulp = -1, source = \"x\" }",
        &["below zero"],
    ),
    (
        "tier = \"quick\"",
        "tier = \"quick\"\ntimeout = 0",
        &["a case cannot take 0 seconds", ":9:11"],
    ),
    (
        "tier = \"quick\"",
        "tier = \"quick\"\ntags = [\"two words\"]",
        &["`two words` is not a tag", ":9:9"],
    ),
    (
        "tier = \"quick\"",
        "tier = \"quick\"\nchecks = [\"values\"]",
        &["unknown check `values`", "did you mean `value`?"],
    ),
];

const FINDINGS: &[Spoiled] = &[
    (
        "\"exp\"",
        "\"log\"",
        &["row of `exp` matches no case", ":5:3", "remove the row"],
    ),
    (
        "\"exp\"",
        "\"expp\"",
        &["unknown op `expp`", "did you mean `exp`?", ":5:11"],
    ),
    (
        "\"mismatch\"",
        "\"broken\"",
        &["unknown verdict `broken`", ":5:49"],
    ),
    (
        "\"cpu\"",
        "\"cqu\"",
        &["unknown backend `cqu`", "did you mean `cpu`?"],
    ),
    (
        "reason = \"r\"",
        "reason = \" \"",
        &["`reason` must not be empty", ":3:10"],
    ),
    ("reason = \"r\"", "", &["missing key `reason`", "add reason = "]),
    (
        "may_pass = true",
        "may_pass = 1",
        &["`may_pass` must be a boolean, not an integer", ":5:72"],
    ),
    (
        "reason = \"r\"",
        "reason = \"r\"\nwhree = \"w\"",
        &["unknown key `whree`", "did you mean `where`?"],
    ),
];

/// What stands in a file that is to be a stored run, and what is said about it.
const RECORDS: &[(&str, &[&str])] = &[
    ("", &["not a run record", "parity run --format json"]),
    ("{\"version\": 2, \"seed\": 0", &["not a run record", "line 1"]),
    ("[]", &["not a run record"]),
    (
        "{\"version\": 1}",
        &["layout version 1, this parity reads version"],
    ),
    ("{\"version\": 2}", &["missing field"]),
    ("\u{1f}\u{8b}", &["not a run record"]),
    ("{\"journal\":{}}", &["bad.json", "its first line"]),
    ("{\"journal\":\n", &["bad.json", "1"]),
    ("{\"journal\":{\"version\":99}}\n", &["bad.json", "version"]),
];

/// One error, said once, with all of `says`, and nothing on stdout.
#[track_caller]
fn refused(what: &str, run: Run, exit: i32, says: &[&str]) {
    let Run { code, stdout, stderr } = run;
    let page = format!("{what}\n--- stdout\n{stdout}\n--- stderr\n{stderr}");
    assert_eq!(code, exit, "{page}");
    assert_eq!(stdout, "", "{page}");
    let errors = stderr
        .lines()
        .filter(|line| line.starts_with("error"))
        .filter(|line| !line.starts_with("errors: "));
    assert_eq!(errors.count(), 1, "{page}");
    for text in says {
        assert!(stderr.contains(text), "`{text}` is not said\n{page}");
    }
    for text in ["panicked", "RUST_BACKTRACE", "unwrap", "src/"] {
        assert!(!stderr.contains(text), "`{text}` is said\n{page}");
    }
}

#[test]
fn wrong_command_lines_are_refused() {
    let specs = Specs::new(&[("unary.toml", GROUP)]);
    let dir = specs.path("").display().to_string();
    for (line, exit, says) in FLAGS {
        let mut args: Vec<&str> = line.split(' ').collect();
        let selects = ["run", "explain", "shrink", "list", "golden"].contains(&args[0]);
        if selects {
            args.extend(["--spec-dir", &dir]);
        }
        refused(line, parity(&args, &specs.path(""), &[]), *exit, says);
    }
}

#[test]
fn wrong_specs_are_refused_with_their_place() {
    for (line, spoiled, says) in SPECS {
        assert!(GROUP.contains(line), "{line}");
        let specs = Specs::new(&[("bad.toml", &GROUP.replace(line, spoiled))]);
        refused(
            spoiled,
            specs.parity(&["run", "--backend", "cpu"]),
            65,
            &[says, &["bad.toml:", "nothing was run"][..]].concat(),
        );
    }
    let twice = format!("{GROUP}{}", GROUP.replace("family = \"unary\"\n", ""));
    let specs = Specs::new(&[("bad.toml", &twice)]);
    refused(
        "twice",
        specs.parity(&["list", "cases"]),
        65,
        &["exists already", "remove it from one of them", ":9:1"],
    );
}

/// The specs with one finding.
fn specs_with(finding: &str) -> Specs {
    let specs = Specs::new(&[("unary.toml", GROUP)]);
    specs.write_finding("exp", "");
    fs::write(specs.finding("exp"), finding).unwrap();
    specs
}

#[test]
fn wrong_findings_are_refused_with_their_place() {
    for (line, spoiled, says) in FINDINGS {
        assert!(FINDING.contains(line), "{line}");
        refused(
            spoiled,
            specs_with(&FINDING.replace(line, spoiled)).parity(&["run", "--backend", "cpu"]),
            65,
            &[says, &["exp/finding.toml:"][..]].concat(),
        );
    }
}

#[test]
fn wrong_records_and_journals_are_refused_by_every_command_that_reads_them() {
    let specs = Specs::new(&[("unary.toml", GROUP)]);
    for (text, says) in RECORDS {
        fs::write(specs.path("bad.json"), text).unwrap();
        for command in [
            &["report", "bad.json"][..],
            &["gate", "bad.json", "--min", "99"],
            &["diff", "bad.json", "bad.json"],
            &["headroom", "bad.json"],
            &["merge", "bad.json"],
        ] {
            refused(text, parity(command, &specs.path(""), &[]), 65, says);
        }
        refused(text, specs.parity(&["baseline", "update", "bad.json"]), 65, says);
    }
}

#[test]
fn what_is_well_formed_is_not_refused() {
    let specs = specs_with(FINDING);
    specs.parity(&["run", "--backend", "cpu"]).exits(0);
    specs.parity(&["list", "cases", "--case", ID]).exits(0);
}
