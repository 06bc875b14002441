//! `parity selftest`: faults that are noticed, faults that a blind limit hides, and what each does to the exit code.

use crate::common::{Specs, parity};
use serde_json::Value;

/// Too few inputs for the judge to distrust a limit that lets everything pass.
const FEW: &str = r#"family = "unary"
[[group]]
ops = ["exp"]
dtypes = ["f32"]
shapes = [[9]]
layouts = ["contiguous", "offset"]
values = ["uniform(-2,2)"]
tier = "quick"
"#;

const BLIND: &str = r#"limit = { ulp = 1e9, abs = 1e9, source = "planted" }"#;

/// A pair of the record.
fn pair<'a>(record: &'a Value, fault: &str) -> &'a Value {
    let pairs = record["pairs"].as_array().unwrap();
    pairs.iter().find(|pair| pair["fault"] == fault).unwrap()
}

#[test]
fn sharp_limits_notice_every_fault_and_exit_0() {
    let specs = Specs::new(&[("unary.toml", FEW)]);
    let run = specs.parity(&["selftest", "--min", "100"]).exits(0);
    let row = |fault: &str| {
        run.stdout
            .lines()
            .find(|line| line.trim_start().starts_with(fault))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        row("stale").split_whitespace().collect::<Vec<_>>(),
        ["stale", "2/2", "2/2"]
    );
    assert_eq!(row("offset-ignored").split_whitespace().nth(1), Some("1/1"));
    assert!(
        !run.stdout.contains("no case of the op notices"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("\nok: "), "{}", run.stdout);
}

#[test]
fn until_noticed_says_the_same_of_every_pair_and_counts_no_outputs() {
    for (limit, code) in [("", 0), (BLIND, 100)] {
        let specs = Specs::new(&[("unary.toml", &format!("{FEW}{limit}\n"))]);
        let all = specs.parity(&["selftest"]).exits(code).stdout;
        let brief = specs.parity(&["selftest", "--until-noticed"]).exits(code).stdout;
        let (head, counted) = all.split_once("\n\nwrong outputs noticed").unwrap();
        let said = counted
            .split_once("as a mismatch: ")
            .unwrap()
            .1
            .split_once('\n')
            .unwrap()
            .1;
        assert_eq!(brief, format!("{head}\n{said}"));
    }
}

#[test]
fn a_blind_limit_is_reported_with_a_case_and_exits_100() {
    let specs = Specs::new(&[("unary.toml", &format!("{FEW}{BLIND}\n"))]);
    let run = specs.parity(&["selftest"]).exits(100);
    let survivor = "unary/exp  zeros";
    assert!(
        run.stdout.contains("no case of the op notices: "),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains(survivor), "{}", run.stdout);
    assert!(
        run.stdout
            .contains("passes in unary/exp:f32:[9]:contiguous:uniform(-2,2)"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("\nFAILED: "), "{}", run.stdout);
}

#[test]
fn the_json_form_counts_what_was_noticed_and_names_what_was_not() {
    let specs = Specs::new(&[("unary.toml", &format!("{FEW}{BLIND}\n"))]);
    let run = specs.parity(&["selftest", "--format", "json"]).exits(100);
    let record: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&record["cases"], &record["passes"]), (&2.into(), &false.into()));
    let zeros = pair(&record, "zeros");
    assert_eq!((&zeros["killed"], &zeros["survived"]), (&false.into(), &2.into()));
    assert_eq!(zeros["blind_dtypes"], serde_json::json!(["f32"]));
    let made = pair(&record, "nan-made");
    assert_eq!(
        (&made["killed"], &made["mismatch"]),
        (&true.into(), &2.into()),
        "the control"
    );
    let no_place = record["no_case_has_a_place_for"]["exp"].as_array().unwrap();
    assert!(no_place.contains(&"strides-ignored".into()) && !no_place.contains(&"zeros".into()));
    assert!(record["faults"]["zeros"].is_string());
}

#[test]
fn a_bar_that_is_reached_exits_0() {
    let specs = Specs::new(&[("unary.toml", &format!("{FEW}{BLIND}\n"))]);
    specs.parity(&["selftest", "--min", "1"]).exits(0);
}

#[test]
fn limits_that_prove_nothing_on_varied_inputs_are_counted_apart() {
    let specs = Specs::unary("\"exp\"", BLIND);
    let run = specs.parity(&["selftest", "--format", "json"]).exits(0);
    let record: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(record["right_untrusted"], 2);
    let zeros = pair(&record, "zeros");
    assert_eq!((&zeros["untrusted"], &zeros["mismatch"]), (&2.into(), &0.into()));
}

#[test]
fn a_bar_out_of_range_is_a_usage_error_and_no_case_is_an_error() {
    let specs = Specs::new(&[("unary.toml", FEW)]);
    specs
        .parity(&["selftest", "--min", "0"])
        .exits(64)
        .complains("--min");
    specs.parity(&["selftest", "--dtypes", "f64"]).exits(4);
}

#[test]
fn the_quick_tier_of_the_repositorys_own_specs_passes() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let run = parity(&["selftest", "--tier", "quick", "--min", "98"], &root, &[]).exits(0);
    assert!(run.stdout.contains("0 not passed"), "{}", run.stdout);
}
