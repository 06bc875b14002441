//! The schemas of what a run writes: its record, and the lines of its journal.

use parity_model::{Verdict, journal::JOURNAL_VERSION, record::RECORD_VERSION};
use serde_json::{Value, json};

use super::{DIALECT, count, list, nullable, object, text, word};

/// The schema of a stored run.
pub(super) fn results() -> Value {
    json!({
        "$schema": DIALECT,
        "title": "parity: the record of a run",
        "$ref": "#/$defs/run",
        "$defs": definitions(),
    })
}

/// The schema of one line of a journal.
pub(super) fn journal() -> Value {
    let line = |kind: &str, body: &Value| object("", &[kind], &json!({kind: body}));
    let place = count("The case's place in the plan, from 0.");
    json!({
        "$schema": DIALECT,
        "title": "parity: a line of a run's journal",
        "oneOf": [
            line("journal", &object("The first line, and only the first.", &["version", "plan", "run", "cases"], &json!({
                "version": {"const": JOURNAL_VERSION},
                "plan": text("SHA-256 of the ids of the plan, in hex."),
                "run": {"$ref": "#/$defs/run"},
                "cases": list("The ids of the planned cases, in order.", &json!({"type": "string"})),
            }))),
            line("start", &object("A backend is about to be given a case.", &["place", "backend"], &json!({
                "place": place,
                "backend": text("The backend."),
            }))),
            line("result", &object("A case has been judged on every backend.", &["place", "at", "case"], &json!({
                "place": place,
                "at": seconds("Seconds since the run began."),
                "case": {"$ref": "#/$defs/case"},
            }))),
            line("end", &object("The run has come to its end, or was told to stop.", &["seconds"], &json!({
                "seconds": seconds("Seconds the run took."),
            }))),
        ],
        "$defs": definitions(),
    })
}

fn seconds(description: &str) -> Value {
    json!({"type": "number", "minimum": 0, "description": description})
}

fn definitions() -> Value {
    json!({"run": run(), "shard": shard(), "backend": backend(), "case": case(), "result": result(), "metrics": metrics(), "number": number()})
}

fn run() -> Value {
    let required = [
        "version",
        "parity_version",
        "candle_version",
        "commit",
        "started",
        "seconds",
        "seed",
        "specs",
        "shard",
        "reference",
        "backends",
        "repro_args",
        "planned",
        "cases",
    ];
    object(
        "A run: where it comes from, and what became of each case.",
        &required,
        &json!({
            "version": {"const": RECORD_VERSION},
            "parity_version": text("parity's own version."),
            "candle_version": text("candle-core's version."),
            "commit": nullable(&text("Commit of the working tree; `-dirty` is appended where it differs.")),
            "started": text("Start of the run, RFC 3339, UTC."),
            "seconds": seconds("Wall time."),
            "seed": count("Seed the inputs derive from."),
            "specs": text("SHA-256 of the specs' meaning and of the findings, in hex."),
            "shard": nullable(&json!({"$ref": "#/$defs/shard"})),
            "reference": text("The reference's backend."),
            "backends": list("The backends that ran, the reference first.", &json!({"$ref": "#/$defs/backend"})),
            "repro_args": list("What repeating a case takes besides backend and case.", &json!({"type": "string"})),
            "planned": count("Cases planned."),
            "not_recorded": count("Cases selected and left out, as they are not recorded; absent where there is none."),
            "cases": list("The cases, in plan order.", &json!({"$ref": "#/$defs/case"})),
        }),
    )
}

fn shard() -> Value {
    object(
        "The part of a plan that the run was.",
        &["index", "of", "planned", "plan", "places"],
        &json!({
            "index": count("Which part, from 1."),
            "of": count("Parts in all."),
            "planned": count("Cases of the whole plan."),
            "plan": text("SHA-256 of the ids of the whole plan, in hex."),
            "places": list("The place of each case in the plan.", &json!({"type": "integer", "minimum": 0})),
        }),
    )
}

fn backend() -> Value {
    object(
        "The device that a column shows.",
        &["backend", "device", "level", "driver", "target"],
        &json!({
            "backend": text("The backend."),
            "device": text("The device's name."),
            "level": {
                "type": "string",
                "pattern": "^(host|hardware|isa|model)(, recorded .+)?$",
                "description": "How results were obtained, and when those of a recording were.",
            },
            "driver": text("The driver and its version."),
            "target": text("The instruction set; empty where it means nothing."),
            "host": text("Where the worker ran; absent where it ran on parity's own host."),
            "selector": text("What --backend calls the device, where the environment chose it."),
        }),
    )
}

fn case() -> Value {
    let required = [
        "id", "family", "op", "dtype", "layout", "values", "limit", "results",
    ];
    object(
        "What became of a case.",
        &required,
        &json!({
            "id": text("The id: the case's filter and its repro."),
            "family": text("The op's family."),
            "op": text("The op."),
            "dtype": text("Dtype of the data."),
            "layout": text("Layout of every argument, separated by commas."),
            "values": text("The value set."),
            "limit": text("The limit, and where it comes from."),
            "results": list("One for each backend, in their order.", &json!({"$ref": "#/$defs/result"})),
        }),
    )
}

fn result() -> Value {
    let metrics = nullable(&json!({"$ref": "#/$defs/metrics"}));
    let words = |description: &str| list(description, &json!({"type": "string"}));
    let required = [
        "verdict",
        "vs_oracle",
        "vs_reference",
        "note",
        "fallbacks",
        "served_by",
        "millis",
    ];
    object(
        "A case on one backend.",
        &required,
        &json!({
            "verdict": word("The judgement.", &Verdict::ALL, |verdict| verdict.name()),
            "vs_oracle": metrics,
            "vs_reference": metrics,
            "note": nullable(&text("Why, for anything but a pass.")),
            "as_reference": {
                "type": "boolean",
                "description": "It does not agree, and is what the reference made of the case: told where vs_reference measures nothing.",
            },
            "fallbacks": words("What of the value the CPU computed for want of a kernel."),
            "served_by": words("What computed the result, where the backend tells."),
            "millis": seconds("Milliseconds on the backend, transfers included."),
        }),
    )
}

fn metrics() -> Value {
    let number = json!({"$ref": "#/$defs/number"});
    let worst = object(
        "The worst element.",
        &["index", "inputs", "expected", "got", "ulp", "limit"],
        &json!({
            "index": list("Its index.", &json!({"type": "integer", "minimum": 0})),
            "inputs": list("The inputs at its place.", &json!({"type": "string"})),
            "expected": text("The right value."),
            "got": text("The value found."),
            "ulp": number,
            "limit": text("The limit there."),
        }),
    );
    let required = ["elements", "outside", "max_ulp", "max_abs", "limit_used", "worst"];
    object(
        "An output's distance from what it should be.",
        &required,
        &json!({
            "elements": count("Elements compared."),
            "outside": count("Elements outside the limit."),
            "max_ulp": number,
            "max_abs": number,
            "max_rel": number,
            "limit_used": number,
            "worst": nullable(&worst),
        }),
    )
}

/// JSON has no infinities.
fn number() -> Value {
    json!({"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "NaN"]}]})
}
