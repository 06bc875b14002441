//! The cases as compact and compressed JSON for the page's script: texts that repeat are stored once, exact passes are a zero.

use std::{borrow::Cow, collections::BTreeMap};

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use parity_model::{
    Verdict,
    record::{CaseRecord, CaseResult, RunRecord},
    verdict::Worst,
};
use serde_json::{Value, json};

use crate::{
    cells::{Index, families, grid},
    facts::backend_arg,
};

/// The cells of the maps, in the order the script knows them by.
pub(super) struct Data<'a> {
    run: &'a RunRecord,
    index: Index<'a>,
    cells: Vec<(&'a str, &'a str, &'a str)>,
}

/// Texts, each with the place it got when it first came.
#[derive(Default)]
struct Texts<'a> {
    places: BTreeMap<Cow<'a, str>, usize>,
    texts: Vec<Cow<'a, str>>,
}

impl<'a> Texts<'a> {
    fn place(&mut self, text: impl Into<Cow<'a, str>>) -> usize {
        let text = text.into();
        if let Some(place) = self.places.get(&text) {
            return *place;
        }
        self.places.insert(text.clone(), self.texts.len());
        self.texts.push(text);
        self.texts.len() - 1
    }
}

impl<'a> Data<'a> {
    pub(super) fn of(run: &'a RunRecord) -> Data<'a> {
        let index = Index::of(run);
        let mut cells = Vec::new();
        for family in families(run) {
            let grid = grid(run, family, 0);
            for (op, _) in grid.rows {
                cells.extend(grid.dtypes.iter().map(|dtype| (family, op, *dtype)));
            }
        }
        cells.retain(|(family, op, dtype)| !index.cases(family, op, dtype).is_empty());
        Data { run, index, cells }
    }

    /// The number by which the script knows a cell.
    pub(super) fn number(&self, cell: (&str, &str, &str)) -> Option<usize> {
        self.cells.iter().position(|known| *known == cell)
    }

    /// [`Data::json`] as base64 of gzip, in which nothing can end a `<script>` element.
    pub(super) fn packed(&self) -> Result<String, serde_json::Error> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        serde_json::to_writer(&mut gzip, &self.json())?;
        let bytes = gzip.finish().map_err(serde_json::Error::io)?;
        Ok(BASE64_STANDARD.encode(bytes))
    }

    /// The cases, for the page's script.
    ///
    /// A case is `[id, limit, result of each backend ..]`. Ops share the text that follows `family/op:dtype:` in an
    /// id: the list `ends` has it, and the id is its number in this list. An id with parameters after the op is
    /// `[params, number]`. An id with other dtypes than the cell's is `[params, number, dtypes]`. An id that begins
    /// otherwise is a text.
    ///
    /// A result is the number of what served it for a pass without any error, else
    /// `[verdict, ulp, share of the limit, served, note, worst element, fallbacks]`, with `null` for what is not there: errors where
    /// no value came back, any of the last three. A row ends with the last of these three that is there.
    ///
    /// A worst element is `[index, expected, got, limit, absolute part of the limit, inputs]`. Its limit is the number of a text of
    /// `limits` in which `{}` is the absolute part. Inputs are left out where there are none.
    fn json(&self) -> Value {
        let mut texts = Common::default();
        let mut cells = Vec::new();
        for (family, op, dtype) in &self.cells {
            let cases = self.index.cases(family, op, dtype).iter();
            let cases: Vec<_> = cases.map(|case| case_value(case, &mut texts)).collect();
            cells.push(json!([family, op, dtype, cases]));
        }
        let backends = self.run.backends.iter();
        json!({
            "backends": backends.map(|backend| &backend.backend).collect::<Vec<_>>(),
            "on": self.run.backends.iter().map(backend_arg).collect::<Vec<_>>(),
            "reference": self.run.reference,
            "verdicts": Verdict::ALL.map(Verdict::name),
            "fails": Verdict::ALL.map(Verdict::fails_run),
            "args": self.run.repro_args.join(" "),
            "ends": texts.ends.texts,
            "limits": texts.limits.texts,
            "notes": texts.notes.texts,
            "served": texts.served.texts,
            "cells": cells,
        })
    }
}

/// What many cases have in common.
#[derive(Default)]
struct Common<'a> {
    ends: Texts<'a>,
    limits: Texts<'a>,
    notes: Texts<'a>,
    /// What served a result, in one text.
    served: Texts<'a>,
}

fn case_value<'a>(case: &'a CaseRecord, texts: &mut Common<'a>) -> Value {
    let results = case.results.iter().map(|result| result_value(result, texts));
    let results: Vec<_> = results.collect();
    let id = id_value(case, &mut texts.ends);
    let mut row = vec![id, json!(texts.limits.place(&case.limit))];
    row.extend(results);
    json!(row)
}

/// An id begins with `family/op`, parameters if there are any, and `:dtype:`. Many ids share what follows.
fn id_value<'a>(case: &'a CaseRecord, ends: &mut Texts<'a>) -> Value {
    let start = format!("{}/{}", case.family, case.op);
    let rest = case.id.strip_prefix(&start);
    let rest = rest.and_then(|rest| rest.split_once(':'));
    let parts = rest.and_then(|(params, rest)| Some((params, rest.split_once(':')?)));
    match parts {
        Some(("", (dtypes, end))) if dtypes == case.dtype => json!(ends.place(end)),
        Some((params, (dtypes, end))) if dtypes == case.dtype => json!([params, ends.place(end)]),
        Some((params, (dtypes, end))) => json!([params, ends.place(end), dtypes]),
        None => json!(case.id),
    }
}

fn result_value<'a>(result: &'a CaseResult, texts: &mut Common<'a>) -> Value {
    let error = result.vs_oracle.as_ref();
    let exact = error.is_some_and(|error| error.max_ulp == 0.0 && error.limit_used == 0.0);
    let bare = result.note.is_none() && result.fallbacks.is_empty();
    let served = texts.served.place(result.served_by.join(", "));
    if result.verdict == Verdict::Pass && exact && bare {
        return json!(served);
    }
    let verdict = Verdict::ALL.iter().position(|verdict| *verdict == result.verdict);
    let note = result.note.as_deref().map(|note| json!(texts.notes.place(note)));
    let worst = error.and_then(|error| error.worst.as_ref());
    let worst = worst.map(|worst| worst_value(worst, &mut texts.limits));
    let fallbacks = (!result.fallbacks.is_empty()).then(|| json!(result.fallbacks));
    let mut row = vec![
        json!(verdict),
        json!(error.map(|error| number(error.max_ulp))),
        json!(error.map(|error| number(error.limit_used))),
        json!(served),
    ];
    let rest = [note, worst, fallbacks];
    let said = rest.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    row.extend(rest.into_iter().take(said).map(|value| json!(value)));
    json!(row)
}

/// Most limits differ by their absolute part alone, so that a text with `{}` in its place serves many.
fn worst_value<'a>(worst: &'a Worst, limits: &mut Texts<'a>) -> Value {
    let limit = &worst.limit;
    let parts = limit.rsplit_once(" + ");
    let parts = parts.and_then(|(ulps, rest)| Some((ulps, rest.strip_suffix(" absolute")?)));
    let (text, absolute) = match parts {
        Some((ulps, absolute)) => (Cow::Owned(format!("{ulps} + {{}} absolute")), absolute),
        None => (Cow::Borrowed(limit.as_str()), ""),
    };
    let mut row = vec![
        json!(worst.index),
        json!(worst.expected),
        json!(worst.got),
        json!(limits.place(text)),
        json!(absolute),
    ];
    if !worst.inputs.is_empty() {
        row.push(json!(worst.inputs));
    }
    json!(row)
}

/// A figure with five digits, which is more than the page shows; JSON has no infinities, so those are words.
fn number(x: f64) -> Value {
    let rounded = format!("{x:.4e}").parse::<f64>().unwrap_or(x);
    if rounded.is_finite() {
        json!(rounded)
    } else {
        json!(x.to_string())
    }
}
