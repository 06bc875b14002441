//! The schema of the files of op-specs/: op specs and the list of known failures. `op-specs/README.md` says what a schema
//! cannot: which values of a group go together.

use parity_exec::Backend;
use parity_model::{Check, DType, Family, Layout, Op, Tier, Verdict, values::VALUE_SETS};
use serde_json::{Value, json};

use super::{DIALECT, list, object, text, word};

/// The schema of every file of the directory.
pub(super) fn schema() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "parity: an op spec, or a list of known failures",
        "anyOf": [{"$ref": "#/$defs/spec"}, {"$ref": "#/$defs/known_failures"}],
        "$defs": {
            "spec": object("An op spec.", &["family", "group"], &json!({
                "family": word("The family of every op in the file.", Family::ALL, |family| family.name()),
                "group": some("Groups of cases.", &json!({"$ref": "#/$defs/group"})),
            })),
            "group": group(),
            "limit": limit(),
            "shape": list("Dimensions; none is a scalar, and a 0 makes an empty tensor.", &json!({"type": "integer", "minimum": 0})),
            "known_failures": object("Cases that are expected to fail.", &[], &json!({
                "known": list("The entries; of several that match a case, the first counts.", &known()),
            })),
        },
    })
}

/// A list of at least one item, each once.
fn some(description: &str, items: &Value) -> Value {
    json!({"type": "array", "items": items, "minItems": 1, "uniqueItems": true, "description": description})
}

/// Words of a table, separated by commas: one for all arguments, or one for each.
fn one_or_each<'a>(names: impl Iterator<Item = &'a str>) -> Value {
    let names = names.collect::<Vec<_>>().join("|");
    json!({"type": "string", "pattern": format!("^ *({names}) *(, *({names}) *)*$")})
}

fn group() -> Value {
    let dtypes = one_or_each(DType::ALL.iter().map(|dtype| dtype.name()));
    let layouts = one_or_each(Layout::ALL.iter().map(|layout| layout.name()));
    let (asked, refused): (Vec<Check>, Vec<Check>) = Check::ALL
        .into_iter()
        .partition(|check| check.refusal().is_none());
    let required = ["ops", "dtypes", "shapes", "layouts", "values", "tier"];
    object(
        "The cross of its lists.",
        &required,
        &json!({
            "ops": some("The ops.", &word("", Op::ALL, |op| op.name())),
            "params": some("Lists of numbers, one for each parameter of the ops.", &json!({"type": "array", "items": {"type": "number"}})),
            "dtypes": some("Dtypes of the data; of what is to be refused, also one for each argument.", &dtypes),
            "index_dtypes": some("Dtypes of ids or of a condition.", &word("", &DType::ALL, |dtype| dtype.name())),
            "shapes": some("Shapes for all arguments, or lists with one for each.", &json!({
                "anyOf": [{"$ref": "#/$defs/shape"}, {"type": "array", "items": {"$ref": "#/$defs/shape"}}],
            })),
            "layouts": some("Layouts, one for all arguments, or one for each.", &layouts),
            "values": some("What the arguments are filled with.", &json!({"type": "string", "pattern": values()})),
            "checks": some("What is asked of the outputs; the value, if the key is absent.", &word("", &asked, |check| check.name())),
            "refuses": word("The class of error with which the ops are to refuse.", &refused, |check| check.name()),
            "tier": word("Where the cases stand on the ladder; a run of a tier holds those before it.", &Tier::ALL, |tier| tier.name()),
            "skip_impossible": {"type": "boolean", "description": "Whether combinations that cannot be are left out."},
            "limit": {"$ref": "#/$defs/limit"},
            "timeout": {
                "type": "number", "exclusiveMinimum": 0, "maximum": 86400,
                "description": "Seconds a case may take on one backend.",
            },
            "isolated": {"type": "boolean", "description": "Whether every case gets a worker of its own."},
            "tags": some("Words by which the cases can be selected.", &json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"})),
        }),
    )
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

fn known() -> Value {
    let explained: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| verdict.fails_run())
        .collect();
    object(
        "Cases that fail on a backend.",
        &["id", "backend", "verdict", "reason"],
        &json!({
            "id": text("A pattern over case ids: `*` stands for any run of characters, `{a,b}` for `a` or `b`."),
            "except": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "Patterns over ids of cases that it is not about."},
            "backend": word("The backend on which they fail.", &Backend::ALL, |backend| backend.name()),
            "verdict": word("The verdict that is explained.", &explained, |verdict| verdict.name()),
            "may_pass": {"type": "boolean", "description": "Whether a pass is no surprise: the cases fail on some machines only."},
            "reason": {"type": "string", "minLength": 1, "description": "Why they fail."},
            "link": text("An upstream issue."),
        }),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parity_model::spec::GROUP_KEYS;

    use super::*;

    #[test]
    fn a_group_has_the_keys_that_the_reader_knows() {
        let group = group();
        let described: BTreeSet<&str> = group["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(described, BTreeSet::from(GROUP_KEYS));
    }
}
