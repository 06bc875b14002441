//! A record as text, JSON and markdown, and a bisection as text. Pure functions of what they show.

use std::{fmt::Write as _, path::Path};

use crate::{
    Bisection, Error, Step, journal,
    judge::CHOSEN_FACTOR,
    record::{Continued, ModelResult, ModelVerdict, Other, Record, Texts, VERSION},
};

/// Columns of the bars that show an error's growth, and the decades that they stand for.
const BAR: usize = 32;

/// The record as JSON.
///
/// # Errors
/// A value that JSON does not have.
pub fn json(record: &Record) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(record).map_err(Error::Formless)?;
    text.push('\n');
    Ok(text)
}

/// Whether a file with these first bytes holds a record of models, or a journal.
pub fn is_record(start: &[u8]) -> bool {
    let fields = start.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    journal::is_journal(start) || fields.is_some_and(|fields| fields.starts_with(br#""zoo_version""#))
}

/// A stored record, or the results that a journal has.
///
/// # Errors
/// A file that cannot be read, or holds another form.
pub fn read(path: &Path) -> Result<Record, Error> {
    let bytes = std::fs::read(path).map_err(|why| Error::Read {
        path: path.to_owned(),
        why,
    })?;
    parse(path, &bytes)
}

/// The record in a file that holds these bytes.
///
/// # Errors
/// They have another form.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Record, Error> {
    if journal::is_journal(bytes) {
        return journal::record(path, bytes);
    }
    let wrong = |why: String| Error::Data {
        path: path.to_owned(),
        why,
    };
    let record: Record = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    if record.zoo_version != VERSION {
        let found = record.zoo_version;
        return Err(wrong(format!(
            "a record of models of version {found}; this parity reads {VERSION}"
        )));
    }
    Ok(record)
}

/// The columns of tables.
const HEAD: [&str; 11] = [
    "model",
    "dtype",
    "steps",
    "device",
    "level",
    "reference",
    "max error",
    "CPU's own",
    "limit used",
    "time",
    "verdict",
];

fn row(result: &ModelResult) -> [String; 11] {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1e}"));
    let used = match (result.error, result.limit) {
        (Some(error), Some(limit)) if limit > 0.0 => format!("{:.0}%", error / limit * 100.0),
        (Some(0.0), _) => "0%".to_owned(),
        _ => "-".to_owned(),
    };
    let dash = |text: &str| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text.to_owned()
        }
    };
    [
        result.model.clone(),
        result.dtype.to_string(),
        result.outputs.to_string(),
        result.backend.clone(),
        result.level.clone(),
        dash(&result.reference),
        number(result.error),
        number(result.own),
        used,
        format!("{:.1} s", result.seconds),
        result.verdict.word().to_owned(),
    ]
}

/// The results that have a message.
fn told(record: &Record) -> Vec<&ModelResult> {
    let told = record.results.iter().filter(|result| result.message.is_some());
    told.collect()
}

/// How texts go on, a line each.
fn texts(record: &Record) -> Vec<String> {
    let of = |run: &Continued| {
        let (same, tokens) = (run.same, run.tokens);
        match run.first_other {
            None => format!("all {tokens} tokens"),
            Some(first) => format!(
                "{same} of {tokens} tokens (not token {first}; up to {:.1e} of the largest logit apart)",
                run.gap
            ),
        }
    };
    let line = |result: &ModelResult| {
        let Texts { device, reference } = result.text.as_ref()?;
        Some(format!(
            "{} {} on {}: of another program's text {} are the device's likeliest, {} the reference's",
            result.model,
            result.dtype,
            result.backend,
            of(device),
            of(reference)
        ))
    };
    let texts = record.results.iter().filter_map(line);
    texts.chain(record.results.iter().filter_map(other)).collect()
}

/// How near another program is, in words.
fn other(result: &ModelResult) -> Option<String> {
    let Other {
        program,
        error,
        limit,
        device,
    } = result.other.as_ref()?;
    let number = |value: &Option<f64>| {
        value.map_or_else(|| "infinitely far".to_owned(), |value| format!("{value:.1e}"))
    };
    Some(format!(
        "{} {} on {}: {program} is {} from the reference, where the limit is {}, and {} from the device",
        result.model,
        result.dtype,
        result.backend,
        number(error),
        number(limit),
        number(device)
    ))
}

/// The record for a terminal.
pub fn text(record: &Record) -> String {
    let mut page = table(&record.results.iter().map(row).collect::<Vec<_>>());
    let told = told(record);
    if !told.is_empty() {
        page.push('\n');
    }
    for result in told {
        let words = result.message.as_deref().unwrap_or_default();
        let (verdict, model) = (result.verdict.word(), &result.model);
        put(
            &mut page,
            format_args!(
                "{verdict}: {model} {} on {}: {words}",
                result.dtype, result.backend
            ),
        );
    }
    for line in texts(record) {
        put(&mut page, format_args!("{line}"));
    }
    page.push('\n');
    page.push_str(&summary(record));
    page.push('\n');
    page
}

/// Counts of verdicts in one line.
fn summary(record: &Record) -> String {
    let counts = ModelVerdict::ALL
        .iter()
        .filter_map(|verdict| match record.count(*verdict) {
            0 => None,
            count => Some(format!("{count} {}", verdict.word())),
        });
    let counts: Vec<_> = counts.collect();
    let total = record.results.len();
    let missing = match record.missing {
        0 => String::new(),
        missing => format!("; the run was cut off, {missing} more are missing"),
    };
    format!(
        "{total} results in {:.0} s: {}{missing}",
        record.seconds,
        counts.join(", ")
    )
}

/// Rows under the head, each column as wide as its widest cell.
fn table(rows: &[[String; 11]]) -> String {
    let mut widths = HEAD.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let mut page = String::new();
    let mut line = |cells: &[String; 11]| {
        let cells: Vec<_> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        put(&mut page, format_args!("{}", cells.join("  ").trim_end()));
    };
    line(&HEAD.map(str::to_owned));
    rows.iter().for_each(&mut line);
    page
}

/// Adds a line. Writing to a `String` does not fail.
fn put(page: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(page, "{line}");
}

/// The record as a page of the repository. Times are left out: they are the machine's.
pub fn markdown(record: &Record) -> String {
    let mut page = String::new();
    let out = &mut page;
    put(out, format_args!("# Models\n"));
    put(
        out,
        format_args!(
            "Networks of candle-transformers {} on each device, from a stored run of `parity model` with seed {}. Weights and \
             inputs are made of names and the seed, but for the models of model-specs/trained.toml, whose weights others trained. The reference is the same network on the CPU in wider precision: `f64`, \
             but for what a network computes in f32 whatever it is told; `f32` for narrower dtypes of networks that do not run in f64; `f32, nudged` where there is only the CPU's own f32 \
             run; `dequantized` for quantized weights, which are then multiplied in f32. *CPU's own* is the largest distance of \
             three CPU runs from the reference: one with the weights themselves, two with a quarter of the weights a unit in \
             the last place off. The limit is {CHOSEN_FACTOR} times that, and a few roundings. Distances are the largest of any \
             element, relative to the reference's largest element, of the result that used most of its limit.\n",
            record.candle_version, record.seed
        ),
    );
    for verdict in ModelVerdict::ALL
        .iter()
        .filter(|verdict| record.count(**verdict) > 0)
    {
        put(
            out,
            format_args!(
                "- **{}** ({}): {}",
                verdict.word(),
                record.count(*verdict),
                verdict.meaning()
            ),
        );
    }
    put(out, format_args!(""));
    for info in &record.backends {
        put(
            out,
            format_args!(
                "- `{}`: {}, {}, level {}",
                info.backend, info.device, info.driver, info.level
            ),
        );
    }
    put(
        out,
        format_args!(
            "\n| model | network | dtype | weights | steps | device | level | reference | max error | CPU's own | limit used | argmax | \
             kernels | verdict |"
        ),
    );
    put(
        out,
        format_args!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"),
    );
    for result in &record.results {
        let [
            model,
            dtype,
            steps,
            device,
            level,
            reference,
            error,
            own,
            used,
            _,
            verdict,
        ] = row(result);
        let argmax = match result.same_argmax {
            Some(true) => "same",
            Some(false) => "other",
            None => "-",
        };
        put(
            out,
            format_args!(
                "| {model} | {} | {dtype} | {} | {steps} | {device} | {level} | {reference} | {error} | {own} | {used} | {argmax} | {} | \
                 {verdict} |",
                result.architecture, result.parameters, result.kernels
            ),
        );
    }
    let (told, texts) = (told(record), texts(record));
    if !told.is_empty() || !texts.is_empty() {
        put(out, format_args!("\n## In words\n"));
    }
    for line in texts {
        put(out, format_args!("- {line}"));
    }
    for result in told {
        let words = result
            .message
            .as_deref()
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default();
        put(
            out,
            format_args!(
                "- {} {} on {}: {words}",
                result.model, result.dtype, result.backend
            ),
        );
    }
    page
}

/// A bisection for a terminal: the verdict, then every op with its error for equal inputs, its limit, and the growth of the
/// distance from a model that is computed in f64 throughout.
pub fn bisection(found: &Bisection) -> String {
    let mut page = String::new();
    let out = &mut page;
    let (model, dtype, steps) = (&found.model, found.dtype, found.steps.len());
    match found
        .first
        .and_then(|place| Some((place, found.steps.get(place)?)))
    {
        None => {
            let compared = found
                .steps
                .iter()
                .filter(|step| step.op.skipped.is_none())
                .count();
            put(
                out,
                format_args!(
                    "{model} {dtype} on {}: no op is outside its limit; {compared} of {steps} ops were compared",
                    found.backend.backend
                ),
            );
        }
        Some((place, step)) => put(
            out,
            format_args!(
                "{model} {dtype} on {}: op {place} of {steps}, `{}` of {}, is the first outside its limit: {:.2e} from f64, the \
                 CPU {:.2e}, limit {:.2e}",
                found.backend.backend,
                step.op.op,
                operands(step),
                step.op.device,
                step.op.cpu,
                step.limit
            ),
        ),
    }
    for (op, count) in &found.fallbacks {
        put(out, format_args!("ran on the CPU: {op}, {count} times"));
    }
    put(
        out,
        format_args!(
            "\n   op  {:<22} {:>9} {:>9} {:>9}  drift from f64, 1e-9 to 1",
            "name", "error", "CPU's", "limit"
        ),
    );
    for (place, step) in found.steps.iter().enumerate() {
        let op = &step.op;
        let mark = if step.is_outside { '!' } else { ' ' };
        let drift = op.drift.map(|drift| drift / op.magnitude.max(f64::MIN_POSITIVE));
        let figures = match &op.skipped {
            Some(why) => format!("{:>29}", why.chars().take(29).collect::<String>()),
            None => format!("{:>9.1e} {:>9.1e} {:>9.1e}", op.device, op.cpu, step.limit),
        };
        put(
            out,
            format_args!(
                "{mark}{place:>4}  {:<22} {figures}  {:<BAR$} {}",
                op.op,
                bar(drift),
                operands(step)
            ),
        );
    }
    page
}

/// A bisection as JSON.
///
/// # Errors
/// A value that JSON does not have.
pub fn bisection_json(found: &Bisection) -> Result<String, Error> {
    let mut text = serde_json::to_string_pretty(found).map_err(Error::Formless)?;
    text.push('\n');
    Ok(text)
}

/// The operands of an op: `f32[1,7,32] f32[32,32]`.
pub(crate) fn operands(step: &Step) -> String {
    let each = step.op.inputs.iter().zip(&step.op.dtypes);
    let words: Vec<_> = each
        .map(|(shape, dtype)| format!("{dtype}{shape:?}").replace(' ', ""))
        .collect();
    words.join(" ")
}

/// A bar whose length is the logarithm of a relative distance.
fn bar(drift: Option<f64>) -> String {
    let Some(drift) = drift.filter(|drift| drift.is_finite() && *drift > 0.0) else {
        return String::new();
    };
    #[expect(clippy::cast_precision_loss, reason = "a bar is short")]
    let most = BAR as f64;
    let length = ((drift.log10() + 9.0) / 9.0 * most).clamp(1.0, most);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and a bar's length"
    )]
    let length = length.round() as usize;
    "#".repeat(length)
}
