//! `parity explain`: the page says what was computed, on what, and why it was judged so.

use serde_json::Value;

use crate::common::{Run, Specs, parity};

/// A limit that candle's `gelu` breaks somewhere in 72 elements: it rounds after every step.
const IMPOSSIBLE: &str = r#"limit = { ulp = 0.001, source = "planted" }"#;
const GELU: &str = "unary/gelu:f32:[8,9]:transposed:uniform(-2,2)";

fn explain(specs: &Specs, id: &str) -> Run {
    specs.parity(&["explain", id, "--backend", "cpu"])
}

#[track_caller]
fn shows(page: &str, text: &str) {
    assert!(page.contains(text), "`{text}` is not in\n{page}");
}

#[test]
fn a_case_of_the_specs_is_explained_from_its_definition_to_its_repro() {
    let page = explain(&Specs::unary("\"gelu\"", IMPOSSIBLE), GELU)
        .exits(100)
        .stdout;
    shows(&page, "unary/gelu: 0.5 x (1 + tanh(");
    shows(&page, "tier quick; seed 0");
    shows(
        &page,
        "f32 [8, 9] transposed: dims [8, 9], strides [1, 8], offset 0, in a storage of [9, 8]",
    );
    shows(&page, "uniform(-2,2): ");
    shows(&page, "limit   0.001 ULP: planted");
    shows(&page, "verdict  mismatch");
    shows(&page, "elements are outside the limit");
    shows(
        &page,
        &format!("parity run --backend cpu --case '{GELU}' --spec-dir "),
    );
}

#[test]
fn as_json_it_is_the_record_that_a_run_of_the_case_makes() {
    let specs = Specs::unary("\"gelu\"", IMPOSSIBLE);
    let explained = specs
        .parity(&["explain", GELU, "--backend", "cpu", "--format", "json"])
        .exits(100);
    let run = specs
        .parity(&["run", "--backend", "cpu", "--case", GELU, "--format", "json"])
        .exits(100);
    // Of the rest of a result, times differ.
    let judged = |text: &str| {
        let record = serde_json::from_str::<Value>(text).unwrap();
        let case = record["cases"][0].clone();
        let result = &case["results"][0];
        [&case["id"], &result["verdict"], &result["vs_oracle"]].map(Value::clone)
    };
    assert_eq!(judged(&explained.stdout), judged(&run.stdout));
    let page = explain(&specs, GELU).exits(100).stdout;
    let written = specs
        .parity(&["explain", GELU, "--backend", "cpu", "--out", "page.txt"])
        .exits(100);
    // How long a case took is in one line of the page.
    let untimed = |page: &str| {
        let lines = page.lines().filter(|line| !line.starts_with("  verdict "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(written.stdout, "");
    let file = std::fs::read_to_string(specs.path("page.txt")).unwrap();
    assert_eq!(untimed(&file), untimed(&page));
}

#[test]
fn the_first_element_shown_is_the_worst_of_the_record() {
    let specs = Specs::unary("\"gelu\"", IMPOSSIBLE);
    let page = explain(&specs, GELU).exits(100).stdout;
    let run = specs.parity(&["run", "--backend", "cpu", "--case", GELU, "--format", "json"]);
    let record: Value = serde_json::from_str(&run.exits(100).stdout).unwrap();
    let worst = &record["cases"][0]["results"][0]["vs_oracle"]["worst"];
    let row = page
        .lines()
        .skip_while(|line| !line.trim_start().starts_with("index "))
        .nth(1)
        .unwrap();
    let index: Vec<usize> = serde_json::from_value(worst["index"].clone()).unwrap();
    assert!(
        row.trim_start().starts_with(&format!("{index:?}")),
        "{row}\n{worst}"
    );
    for field in ["expected", "got"] {
        shows(row, worst[field].as_str().unwrap());
    }
    shows(row, worst["inputs"][0].as_str().unwrap());
    assert!(row.ends_with('!'), "{row} is outside");
}

#[test]
fn a_case_of_no_spec_says_so_and_a_pass_has_its_reason() {
    let page = explain(
        &Specs::unary("\"exp\"", ""),
        "unary/neg:f64:[7]:offset:uniform(-1,1)",
    )
    .exits(0)
    .stdout;
    shows(&page, "in no spec, so that its limit is the oracle's own");
    shows(&page, "strides [1], offset 1, in a storage of [8]");
    shows(&page, "verdict  pass");
    shows(&page, "every element is inside its limit");
    assert!(
        !page.lines().any(|line| line.ends_with('!')),
        "nothing is outside\n{page}"
    );
}

#[test]
fn arguments_are_explained_by_their_roles() {
    let id = "where/where_cond:u8,f32,f32:[2,3],[2,3],[2,3]:contiguous,transposed,broadcast:any";
    let page = explain(&Specs::unary("\"exp\"", ""), id).exits(0).stdout;
    shows(
        &page,
        "input   0: u8 [2, 3] contiguous: dims [2, 3], strides [3, 1], offset 0",
    );
    shows(&page, "a condition, about half of it zero: ");
    shows(
        &page,
        "input   2: f32 [2, 3] broadcast: dims [2, 3], strides [0, 1], offset 0, in a storage of [1, 3]",
    );
    let page = explain(
        &Specs::unary("\"exp\"", ""),
        "reduce/sum(0,2):f32:[2,3,4]:contiguous:ints(-4,4)",
    )
    .exits(0)
    .stdout;
    shows(&page, "params  dims = 0, dims = 2");
}

#[test]
fn a_known_failure_is_shown_with_its_place_and_its_reason() {
    let specs = Specs::unary("\"gelu\"", IMPOSSIBLE);
    specs.write_finding("gelu", "{ op = [\"gelu\"] }");
    let page = explain(&specs, GELU).exits(0).stdout;
    shows(&page, "verdict  known-failure");
    shows(&page, "why      gelu: planted");
    shows(
        &page,
        "gelu/finding.toml:7 explains mismatch\n           it rounds",
    );
    // The row explains a mismatch; it says nothing of a case that gives no value.
    specs.write_finding("gelu", "{ op = [\"gelu\"], verdict = \"crash\" }");
    let page = explain(&specs, GELU).exits(100).stdout;
    shows(&page, "verdict  mismatch");
    shows(&page, "explains crash\n           it rounds");
}

#[test]
fn the_seed_decides_the_inputs() {
    let specs = Specs::unary("\"exp\"", "");
    let page = |seed: &str| {
        let id = "unary/exp:f32:[8,9]:contiguous:uniform(-2,2)";
        specs
            .parity(&["explain", id, "--backend", "cpu", "--seed", seed])
            .exits(0)
            .stdout
    };
    let inputs = |page: &str| {
        page.lines()
            .find(|line| line.contains("uniform(-2,2): "))
            .unwrap()
            .to_owned()
    };
    assert_ne!(inputs(&page("1")), inputs(&page("2")));
    shows(&page("7"), "--seed 7");
}

#[test]
fn a_bad_id_is_met_with_the_way_to_a_good_one() {
    let run = parity(&["explain", "unary/exp:f32"], &std::env::temp_dir(), &[]);
    run.exits(64)
        .complains("expected family/op:dtype")
        .complains("parity list cases");
}
