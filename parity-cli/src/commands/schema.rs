//! `parity schema`: JSON Schemas of the files parity reads and writes, filled from the model's tables. Tests hold them to
//! the specs and to what a run writes; nothing is validated here.

mod findings;
mod results;
mod specs;

use serde_json::{Value, json};

use crate::{
    args::{SchemaArgs, SchemaOf},
    exit::{Exit, Failure},
    output::print,
};

/// The dialect the schemas are written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

pub(crate) fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.of {
        SchemaOf::Specs => specs::schema(),
        SchemaOf::Findings => findings::schema(),
        SchemaOf::Results => results::results(),
        SchemaOf::Journal => results::journal(),
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::new(Exit::Internal, format!("the schema has no JSON form: {error}")))?;
    print(&format!("{text}\n"))?;
    Ok(Exit::Ok)
}

/// A string, with what it says.
fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// An integer from 0 on.
fn count(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

/// One of a table's names.
fn word<T>(description: &str, table: &[T], name: impl Fn(&T) -> &'static str) -> Value {
    let names: Vec<_> = table.iter().map(name).collect();
    json!({"type": "string", "enum": names, "description": description})
}

/// An array of `items`.
fn list(description: &str, items: &Value) -> Value {
    json!({"type": "array", "items": items, "description": description})
}

/// `schema`, or null.
fn nullable(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// An object of these keys and no others; the `required` ones must be there.
fn object(description: &str, required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
