//! `parity schema`: the schemas accept what parity reads and writes, and refuse what it does not.

use std::{fs, path::Path};

use regex::Regex;
use serde_json::{Value, json};

use crate::common::{Specs, parity};

fn schema(of: &str) -> Value {
    let run = parity(&["schema", of], Path::new("/"), &[]).exits(0);
    serde_json::from_str(&run.stdout).unwrap()
}

/// What is wrong with a value, each with its place.
fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, value, "$", &mut errors);
    errors
}

/// The part of JSON Schema that the schemas use. A keyword that is not known here fails, so that none goes unheeded.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    for (keyword, rule) in schema.as_object().unwrap() {
        let mut fail = |what: &str| errors.push(format!("{at}: {what}: {value}"));
        let number = || value.as_f64();
        match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => {}
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#").unwrap();
                check(root, root.pointer(name).unwrap(), value, at, errors);
            }
            "type" if !has_type(rule.as_str().unwrap(), value) => fail(&format!("is no {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => fail("is none of the words"),
            "const" if rule != value => fail(&format!("is not {rule}")),
            "pattern"
                if value
                    .as_str()
                    .is_some_and(|text| !Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)) =>
            {
                fail(&format!("does not match {rule}"));
            }
            "minimum" if number().is_some_and(|x| x < rule.as_f64().unwrap()) => fail("is too small"),
            "exclusiveMinimum" if number().is_some_and(|x| x <= rule.as_f64().unwrap()) => {
                fail("is too small")
            }
            "maximum" if number().is_some_and(|x| x > rule.as_f64().unwrap()) => fail("is too large"),
            "minLength" if value.as_str().is_some_and(str::is_empty) => fail("is empty"),
            "minItems" if value.as_array().is_some_and(Vec::is_empty) => fail("is empty"),
            "uniqueItems" => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                if (1..items.len()).any(|i| items[..i].contains(&items[i])) {
                    fail("names something twice");
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{i}]"), errors);
                }
            }
            "required" => {
                let keys = rule.as_array().unwrap().iter().map(|key| key.as_str().unwrap());
                let missing: Vec<_> = keys
                    .filter(|key| value.is_object() && value.get(key).is_none())
                    .collect();
                if !missing.is_empty() {
                    fail(&format!("lacks {missing:?}"));
                }
            }
            "properties" => {
                for (key, of_key) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        check(root, of_key, value, &format!("{at}.{key}"), errors);
                    }
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                let is_other = |key: &String| known.is_none_or(|known| !known.contains_key(key));
                for (key, value) in value
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter(|(key, _)| is_other(key))
                {
                    match rule {
                        Value::Bool(false) => errors.push(format!("{at} has the unknown key {key}")),
                        rule => check(root, rule, value, &format!("{at}.{key}"), errors),
                    }
                }
            }
            "anyOf" | "oneOf" => {
                let fits = |one: &&Value| {
                    let mut wrong = Vec::new();
                    check(root, one, value, at, &mut wrong);
                    wrong.is_empty()
                };
                let count = rule.as_array().unwrap().iter().filter(fits).count();
                if count == 0 || (keyword == "oneOf" && count > 1) {
                    fail(&format!("fits {count} of the forms"));
                }
            }
            "type" | "enum" | "const" | "pattern" | "minimum" | "exclusiveMinimum" | "maximum"
            | "minLength" | "minItems" => {}
            other => panic!("the keyword {other} is not checked"),
        }
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("no type {other}"),
    }
}

/// Every file of op-specs/, as JSON.
fn specs() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../op-specs");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let specs = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let read = |path: std::path::PathBuf| {
        let table: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        (path.display().to_string(), serde_json::to_value(table).unwrap())
    };
    specs.map(read).collect()
}

#[test]
fn every_file_of_the_specs_fits_their_schema() {
    let (schema, specs) = (schema("specs"), specs());
    assert!(specs.len() > 10);
    for (name, spec) in specs {
        assert_eq!(errors(&schema, &spec), [] as [&str; 0], "{name}");
    }
}

#[test]
fn a_spec_that_the_reader_refuses_does_not_fit() {
    let schema = schema("specs");
    let group = json!({
        "ops": ["exp"], "dtypes": ["f32"], "shapes": [[2, 3]], "layouts": ["contiguous"],
        "values": ["uniform(-1,1)"], "tier": "ci",
    });
    let fits = |key: &str, value: Value| {
        let mut group = group.clone();
        group[key] = value;
        errors(&schema, &json!({"family": "unary", "group": [group]})).is_empty()
    };
    assert!(fits("tags", json!(["pinned"])) && fits("shapes", json!([[], [[2], [2]]])));
    assert!(
        fits("layouts", json!(["*,..", "contiguous,{sliced,offset}"]))
            && fits("values", json!({"floats": "any"}))
    );
    assert!(
        fits("params", json!({"dim": [0, 1]}))
            && fits("dtypes", json!(["all", "-f16"]))
            && fits("ops", json!("all"))
    );
    assert!(fits("layouts", json!(["contiguous,sliced"])) && fits("limit", json!({"ulp": 2, "source": "x"})));
    for (key, value) in [
        ("ops", json!([])),
        ("ops", json!(["exq"])),
        ("ops", json!(["exp", "exp"])),
        ("dtypes", json!(["f33"])),
        ("shapes", json!([[-1]])),
        ("layouts", json!(["contiguous,"])),
        ("layouts", json!("{sliced,offset")),
        ("dtypes", json!("-floats")),
        ("params", json!({"dim": "x"})),
        ("with", json!({"sizes": {"ops": ["exp"]}})),
        ("cases", json!([{"sweep": "x"}])),
        ("values", json!(["uniform(1)"])),
        ("tier", json!("sometimes")),
        ("limit", json!({"ulp": 2})),
        ("timeout", json!(0)),
        ("tags", json!(["two words"])),
        ("tolerance", json!(1)),
    ] {
        assert!(!fits(key, value.clone()), "{key} = {value}");
    }
}

#[test]
fn every_finding_fits_the_schema_and_a_wrong_one_does_not() {
    let schema = schema("findings");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../findings");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("finding.toml"));
    let mut count = 0;
    for file in files.filter(|file| file.is_file()) {
        let table: toml::Table = fs::read_to_string(&file).unwrap().parse().unwrap();
        let finding = serde_json::to_value(table).unwrap();
        assert_eq!(errors(&schema, &finding), [] as [&str; 0], "{}", file.display());
        for (key, value) in [
            ("class", json!("fine")),
            ("matches", json!([])),
            ("id", json!("a")),
            ("verdict", json!("pass")),
        ] {
            let mut wrong = finding.clone();
            wrong[key] = value;
            assert_ne!(
                errors(&schema, &wrong),
                [] as [&str; 0],
                "{key} of {}",
                file.display()
            );
        }
        count += 1;
    }
    assert!(count > 100);
}

/// A run with a failure and with figures, as `parity run` stores it, and its journal.
fn run() -> (Value, Vec<Value>) {
    let planted = "limit = { ulp = 0.001, source = \"planted\" }";
    let specs = Specs::unary("\"gelu\", \"exp\"", planted);
    let args = [
        "run",
        "--backend",
        "cpu",
        "--journal",
        "run.jsonl",
        "--format",
        "json",
        "--out",
        "run.json",
    ];
    specs.parity(&args).exits(100);
    let record = serde_json::from_str(&fs::read_to_string(specs.path("run.json")).unwrap()).unwrap();
    let journal = fs::read_to_string(specs.path("run.jsonl")).unwrap();
    (
        record,
        journal
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

#[test]
fn a_stored_run_and_the_lines_of_its_journal_fit_their_schemas() {
    let (record, journal) = run();
    assert_eq!(errors(&schema("results"), &record), [] as [&str; 0]);
    assert!(
        record["cases"][0]["results"][0]["vs_oracle"]["worst"].is_object(),
        "it shows all there is: {record}"
    );
    let schema = schema("journal");
    assert!(journal.len() > 3);
    for line in &journal {
        assert_eq!(errors(&schema, line), [] as [&str; 0]);
    }
}

#[test]
fn the_level_of_recorded_outputs_says_so_and_an_unknown_one_does_not_fit() {
    let (record, _) = run();
    let schema = schema("results");
    let of = |level: &str| {
        let mut other = record.clone();
        other["backends"][0]["level"] = json!(level);
        errors(&schema, &other).len()
    };
    assert_eq!(of("hardware, recorded 2026-11-21T20:23:26Z"), 0);
    assert_eq!(of("hardware, remembered"), 1);
    assert_eq!(of("software"), 1);
}

#[test]
fn another_record_does_not_fit() {
    let (record, journal) = run();
    let (results, lines) = (schema("results"), schema("journal"));
    for change in [
        |record: &mut Value| record["version"] = json!(0),
        |record: &mut Value| record["cases"][0]["results"][0]["verdict"] = json!("fine"),
        |record: &mut Value| record["cases"][0]["extra"] = json!(1),
        |record: &mut Value| drop(record.as_object_mut().unwrap().remove("seed")),
    ] {
        let mut other = record.clone();
        change(&mut other);
        assert_ne!(errors(&results, &other), [] as [&str; 0]);
    }
    assert_ne!(errors(&lines, &json!({"begin": {}})), [] as [&str; 0]);
    assert_ne!(
        errors(&results, &journal[0]),
        [] as [&str; 0],
        "a line is not a record"
    );
}
