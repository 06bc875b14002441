//! The schema of a `finding.toml`. `findings/README.md` says what a schema cannot: which keys go together.

use parity_exec::Backend;
use parity_model::{
    Check, DType, Family, Verdict,
    findings::{Class, LayoutWord},
};
use serde_json::{Value, json};

use super::{DIALECT, object, text, word};

/// The schema of a finding.
pub(super) fn schema() -> Value {
    let mut schema = object(
        "A finding.",
        &["title", "class", "reason", "matches"],
        &json!({
            "title": text("The mistake in a line."),
            "class": word("What sort of mistake it is.", &Class::ALL, |class| class.name()),
            "backends": backends(),
            "verdict": verdict(),
            "reason": text("What candle does, and why the cases fail."),
            "right": text("What is right, and who says so."),
            "where": text("Where in candle's sources it is."),
            "elsewhere": text("How other backends behave."),
            "fix": text("How candle could mend it."),
            "link": text("An upstream issue."),
            "matches": some("The cases that fail, and how.", &row()),
            "fuzz": rows_or_none("Cases outside of the specs that may fail for it; none where no random case does.", &row()),
        }),
    );
    schema["$schema"] = json!(DIALECT);
    schema["title"] = json!("parity: a finding");
    schema["$defs"] = json!({ "predicate": object("What cases have.", &[], &predicate()) });
    schema
}

fn some(description: &str, items: &Value) -> Value {
    json!({"type": "array", "items": items, "minItems": 1, "uniqueItems": true, "description": description})
}

fn rows_or_none(description: &str, items: &Value) -> Value {
    json!({"type": "array", "items": items, "uniqueItems": true, "description": description})
}

fn backends() -> Value {
    some(
        "The backends on which the cases fail.",
        &word("", &Backend::ALL, |backend| backend.name()),
    )
}

fn verdict() -> Value {
    let explained: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.fails_run())
        .collect();
    word("The verdict that is explained.", &explained, |verdict| {
        verdict.name()
    })
}

/// The keys of a predicate.
fn predicate() -> Value {
    let names = |classes: &[&'static str], names: Vec<&'static str>| json!({"enum": names.iter().chain(classes).collect::<Vec<_>>()});
    let dtypes = names(
        &["floats", "ints"],
        DType::ALL.iter().map(|dtype| dtype.name()).collect(),
    );
    let layouts = names(&[], LayoutWord::all().iter().map(|word| word.name()).collect());
    let layouts = json!({"anyOf": [layouts, {"type": "string", "pattern": "^view\\("}]});
    let size = json!({"type": "integer", "minimum": 0});
    let number = json!({"type": "number"});
    let shapes = json!({"type": "array", "items": {"type": "array", "items": {"anyOf": [size, {"enum": ["*", ".."]}, {"type": "string", "pattern": "^>[0-9]+$"}]}}});
    let numbers = json!({"type": "array", "items": {"anyOf": [number, {"type": "array", "items": number}]}});
    json!({
        "op": some("Names of ops; one that ends in `*` stands for all that begin so.", &json!({"type": "string"})),
        "family": some("Families, any op of which is meant.", &word("", Family::NAMED, |family| family.name())),
        "dtype": by_argument("Dtypes of the data, or of single arguments.", &dtypes),
        "index_dtype": some("Dtypes of the ids or the condition.", &dtypes),
        "params": json!({"type": "object", "additionalProperties": numbers, "description": "Values of parameters, by name."}),
        "rank": some("Ranks of the first argument.", &size),
        "shape": json!({"type": "object", "additionalProperties": shapes, "description": "Shapes of single arguments; `*` is any extent, `..` any number of dimensions."}),
        "empty": {"type": "boolean", "description": "Whether some argument has no element."},
        "layout": by_argument("Layouts of some argument, or of single ones.", &layouts),
        "values": some("Value sets, or names of sets with any bounds.", &json!({"type": "string"})),
        "check": some("What is asked of the output; value, layout or batch, if the key is absent.", &word("", &Check::ALL, |check| check.name())),
        "except": some("Cases that are not meant.", &json!({"$ref": "#/$defs/predicate"})),
    })
}

/// A row: the keys of its predicate and those of its own.
fn row() -> Value {
    let mut row = object("Cases that fail with one verdict.", &[], &predicate());
    row["properties"]["backends"] = backends();
    row["properties"]["verdict"] = verdict();
    row["properties"]["may_pass"] = json!({"type": "boolean", "description": "Whether the cases may pass as well: some machines or builds alone fail."});
    row
}

/// Words for some argument, or a table of words by the number of the argument.
fn by_argument(description: &str, items: &Value) -> Value {
    let words = json!({"type": "array", "items": items, "minItems": 1, "uniqueItems": true});
    let table = json!({"type": "object", "additionalProperties": words});
    json!({"anyOf": [words, table], "description": description})
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parity_model::findings::{FINDING_KEYS, PREDICATE_KEYS, ROW_KEYS};

    use super::*;

    fn keys(properties: &Value) -> BTreeSet<String> {
        properties.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_keys_are_those_that_the_reader_knows() {
        let set = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(keys(&schema()["properties"]), set(&FINDING_KEYS));
        assert_eq!(keys(&predicate()), set(&PREDICATE_KEYS));
        assert_eq!(
            keys(&row()["properties"]),
            set(&[&PREDICATE_KEYS[..], &ROW_KEYS].concat())
        );
    }
}
