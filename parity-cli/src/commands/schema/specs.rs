//! The schema of the files of op-specs/: op specs and sweeps. `op-specs/README.md` says what a schema
//! cannot: which values of a group go together.

use parity_model::spec::{DEFAULT_KEYS, GROUP_KEYS, PART_KEYS, ROW_KEYS};
use parity_model::{Check, DType, Family, Layout, Op, Tier, values::VALUE_SETS};
use serde_json::{Value, json};

use super::{DIALECT, list, object, text, word};

/// The schema of every file of the directory.
pub(super) fn schema() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "parity: an op spec, or the sweeps that specs share",
        "anyOf": [{"$ref": "#/$defs/spec"}, {"$ref": "#/$defs/sweeps"}],
        "$defs": {
            "spec": object("An op spec.", &["family", "group"], &json!({
                "family": word("The family of every op in the file.", Family::NAMED, |family| family.name()),
                "defaults": object("What every row of the file has that says nothing else.", &[], &keys(&[&DEFAULT_KEYS])),
                "group": some("Groups of cases.", &json!({"$ref": "#/$defs/group"})),
                "sweep": {"$ref": "#/$defs/sweep"},
            })),
            "sweeps": object("Sweeps for every spec of the directory.", &["sweep"], &json!({"sweep": {"$ref": "#/$defs/sweep"}})),
            "sweep": {
                "type": "object",
                "description": "Sweeps, by name: each has parts, by name.",
                "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/part"}},
            },
            "part": object("Lists of a row, in a sweep.", &[], &keys(&[&DEFAULT_KEYS, &PART_KEYS])),
            "row": object("The cross of its lists.", &[], &keys(&[&DEFAULT_KEYS, &PART_KEYS, &ROW_KEYS])),
            "group": object("A row, or several that share what the group says.", &[],
                &keys(&[&DEFAULT_KEYS, &PART_KEYS, &ROW_KEYS, &GROUP_KEYS])),
            "limit": limit(),
            "shape": list("Dimensions; none is a scalar, and a 0 makes an empty tensor.", &json!({"type": "integer", "minimum": 0})),
        },
    })
}

/// A list of at least one item, each once.
fn some(description: &str, items: &Value) -> Value {
    json!({"type": "array", "items": items, "minItems": 1, "uniqueItems": true, "description": description})
}

/// One item, or a list of at least one, each once.
fn one_or_some(description: &str, items: &Value) -> Value {
    json!({"anyOf": [items, some(description, items)], "description": description})
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join("|")
}

/// The keys of these lists, each with its schema.
fn keys(lists: &[&[&str]]) -> Value {
    let all = every_key();
    let named = lists
        .concat()
        .into_iter()
        .map(|key| (key.to_owned(), all[key].clone()));
    Value::Object(named.collect())
}

/// Every key of a row, a group or a part of a sweep.
fn every_key() -> Value {
    let dtype = names(DType::ALL.iter().map(|dtype| dtype.name()));
    let dtypes = format!("^(floats|ints|all|-({dtype})| *({dtype}) *(, *({dtype}) *)*)$");
    let layout = names(Layout::ALL.iter().map(|layout| layout.name()));
    // A view is spelled out: view(1b2.0s3.2r).
    let layout = format!("{layout}|view\\([0-9bars.]+\\)");
    let layout = format!("(\\*|{layout}|\\{{ *({layout}) *(, *({layout}) *)*\\}})");
    let layouts = format!("^ *{layout} *(, *{layout} *)*(, *\\.\\. *)?$");
    let (asked, refused): (Vec<Check>, Vec<Check>) = Check::ALL
        .into_iter()
        .partition(|check| check.refusal().is_none());
    let op = word("", &Op::all(), |op| op.name());
    let set = one_or_some("", &json!({"type": "string", "pattern": values()}));
    let number = json!({"type": "number"});
    let numbers = json!({"type": "array", "items": number});
    let by_name = json!({
        "type": "object",
        "additionalProperties": {"anyOf": [number, numbers, {"type": "array", "items": numbers}]},
    });
    let part = text("The name of a part of the sweep.");
    json!({
        "ops": {
            "anyOf": [{"const": "all"}, one_or_some("", &op)],
            "description": "The ops; `all` stands for every op of the family.",
        },
        "except": one_or_some("Ops of the list that the row is not about.", &op),
        "params": {
            "anyOf": [by_name, some("", &json!({"anyOf": [by_name, numbers]}))],
            "description": "Parameters by name, or lists of numbers, one for each parameter of the ops.",
        },
        "dtypes": one_or_some(
            "Dtypes or classes of dtypes of the data; of what is to be refused, also one for each argument.",
            &json!({"type": "string", "pattern": dtypes}),
        ),
        "index_dtypes": one_or_some("Dtypes of ids or of a condition.", &word("", &DType::ALL, |dtype| dtype.name())),
        "shapes": some("Shapes for all arguments, or lists with those of the first arguments or of all.", &json!({
            "anyOf": [{"$ref": "#/$defs/shape"}, {"type": "array", "items": {"$ref": "#/$defs/shape"}}],
        })),
        "layouts": one_or_some(
            "Layouts or patterns of layouts, one for all arguments, or one for each.",
            &json!({"type": "string", "pattern": layouts}),
        ),
        "values": {
            "anyOf": [set, {"type": "object", "additionalProperties": set}],
            "description": "What the arguments are filled with, for all dtypes or by dtype or class.",
        },
        "checks": one_or_some("What is asked of the outputs; the value, if the key is absent.", &word("", &asked, |check| check.name())),
        "refuses": word("The class of error with which the ops are to refuse.", &refused, |check| check.name()),
        "tier": word("Where the cases stand on the ladder; a run of a tier holds those before it.", &Tier::ALL, |tier| tier.name()),
        "skip_impossible": {"type": "boolean", "description": "Whether combinations that cannot be are left out."},
        "limit": {"$ref": "#/$defs/limit"},
        "timeout": {
            "type": "number", "exclusiveMinimum": 0, "maximum": 86400,
            "description": "Seconds a case may take on one backend.",
        },
        "isolated": {"type": "boolean", "description": "Whether every case gets a worker of its own."},
        "tags": one_or_some("Words by which the cases can be selected.", &json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"})),
        "cases": some("Rows, each with what the group says where they say nothing.", &json!({"$ref": "#/$defs/row"})),
        "sweep": text("The name of a sweep: the group has a row for each of its parts."),
        "without": one_or_some("Parts of the sweep that the group does not have.", &part),
        "with": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/part"},
            "description": "Other lists for parts of the sweep, by the part's name.",
        },
    })
}

/// A pattern for the texts of value sets, made of the list of their spellings.
fn values() -> String {
    let spelling = |text: &str| match text.split_once('(') {
        None => text.to_owned(),
        Some((word, _)) => format!("{word}\\([^(),]+,[^(),]+\\)"),
    };
    let spellings: Vec<_> = VALUE_SETS.split(", ").map(spelling).collect();
    format!("^({})$", spellings.join("|"))
}

fn limit() -> Value {
    let number = |description: &str| json!({"type": "number", "minimum": 0, "description": description});
    object(
        "How far outputs may be from the right ones, in the place of the derived limit.",
        &["source"],
        &json!({
            "ulp": number("Units in the last place of the output's dtype."),
            "abs": number("Absolute part."),
            "bits": {"type": "boolean", "description": "Whether the bits are compared."},
            "source": text("Where the figures are from."),
        }),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_that_the_reader_knows_is_described() {
        let all = every_key();
        let described: BTreeSet<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
        let known = [DEFAULT_KEYS.as_slice(), &PART_KEYS, &ROW_KEYS, &GROUP_KEYS].concat();
        assert_eq!(described, known.into_iter().collect());
    }
}
