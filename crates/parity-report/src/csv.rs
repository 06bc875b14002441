//! A run as comma-separated values (RFC 4180, lines ending in LF): a header, then a row per case and backend in plan
//! order. Numbers are printed in full, so that nothing is lost on the way into a spreadsheet.

use parity_model::record::{BackendInfo, CaseRecord, CaseResult, RunRecord};

const HEADER: [&str; 14] = [
    "id",
    "family",
    "op",
    "dtype",
    "layout",
    "backend",
    "level",
    "verdict",
    "worst_ulp",
    "worst_abs",
    "worst_rel",
    "share_of_limit",
    "cpu_fallbacks",
    "note",
];

/// Renders the rows.
///
/// The four error columns are those against the oracle, empty where no value came back; an infinite one reads `inf`.
pub fn render(run: &RunRecord) -> String {
    let mut page = line(&HEADER.map(str::to_owned));
    for case in &run.cases {
        for (backend, result) in run.backends.iter().zip(&case.results) {
            page.push_str(&line(&row(case, backend, result)));
        }
    }
    page
}

fn row(case: &CaseRecord, backend: &BackendInfo, result: &CaseResult) -> [String; HEADER.len()] {
    let error = result.vs_oracle.as_ref();
    [
        case.id.clone(),
        case.family.clone(),
        case.op.clone(),
        case.dtype.clone(),
        case.layout.clone(),
        backend.backend.clone(),
        backend.level.clone(),
        result.verdict.name().to_owned(),
        full(error.map(|error| error.max_ulp)),
        full(error.map(|error| error.max_abs)),
        full(error.and_then(|error| error.max_rel)),
        full(error.map(|error| error.limit_used)),
        result.fallbacks.join(" "),
        result.note.clone().unwrap_or_default(),
    ]
}

/// Every digit, in the notation that needs fewer characters.
fn full(x: Option<f64>) -> String {
    let Some(x) = x else { return String::new() };
    let (plain, scientific) = (x.to_string(), format!("{x:e}"));
    if plain.len() <= scientific.len() {
        plain
    } else {
        scientific
    }
}

fn line(fields: &[String]) -> String {
    let fields: Vec<_> = fields.iter().map(|field| quoted(field)).collect();
    fields.join(",") + "\n"
}

/// The field. One with a comma, a quote or a line break is put in quotes, its own quotes doubled.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
