//! Stored records and journals of `parity model`, for the commands that read stored runs.

use std::path::Path;

use parity_run::records;
use parity_zoo::{Measure, Record, changes};

use crate::{
    args::{DiffArgs, DiffFormat, GateArgs, OutputFormat, ReportArgs, word},
    exit::{Exit, Failure},
    output::put_page,
};

/// Changes that the page spells out.
const SHOWN: usize = 50;

/// The record, if that is what the file holds.
pub(super) fn read(path: &Path) -> Result<Option<Record>, Failure> {
    if !parity_zoo::is_record(&records::start(path)?) {
        return Ok(None);
    }
    Ok(Some(parity_zoo::parse(path, &records::bytes(path)?)?))
}

/// Another record beside the first, which holds models.
fn beside(path: &Path) -> Result<Record, Failure> {
    read(path)?.ok_or_else(|| {
        let message = format!(
            "{} holds cases, and the other record holds models",
            path.display()
        );
        Failure::new(Exit::BadData, message)
    })
}

fn usage<T>(message: &str) -> Result<T, Failure> {
    Err(Failure::new(Exit::Usage, message))
}

pub(super) fn report(record: &Record, args: &ReportArgs) -> Result<Exit, Failure> {
    if !args.earlier.is_empty() {
        return usage("--earlier shows how scores of ops went; `parity diff` compares two records of models");
    }
    let page = match args.output.format {
        OutputFormat::Text => parity_zoo::text(record),
        OutputFormat::Json => parity_zoo::json(record)?,
        OutputFormat::Markdown => parity_zoo::markdown(record),
        OutputFormat::Junit => parity_zoo::junit(record)?,
        OutputFormat::Csv | OutputFormat::Html | OutputFormat::Github => {
            let format = word(&args.output.format);
            return usage(&format!(
                "a record of models has no form of {format}: expected --format text, json, markdown or junit"
            ));
        }
    };
    put_page(args.output.out.as_deref(), &page)?;
    Ok(Exit::Ok)
}

pub(super) fn gate(record: &Record, args: &GateArgs, min: f64) -> Result<Exit, Failure> {
    if args.per_family.is_some() {
        return usage("--per-family is of ops, and this is a record of models");
    }
    let base = args.against.as_deref().map(beside).transpose()?;
    let gated = parity_zoo::gate(record, &args.backend, min, base.as_ref())?;
    args.page.put(|| gated.text(), || gated.json())?;
    Ok(if gated.passes() { Exit::Ok } else { Exit::Failed })
}

pub(super) fn diff(before: &Record, args: &DiffArgs) -> Result<Exit, Failure> {
    let (Some(after), []) = (&args.after, args.columns.as_slice()) else {
        return usage("--columns compares the backends of a run of ops; of models name two records");
    };
    if args.format != DiffFormat::Text {
        return usage("differences of two records of models are text: leave --format out");
    }
    let after = beside(after)?;
    let measure = if args.verdicts {
        Measure::Verdict
    } else {
        Measure::All
    };
    let found = changes(before, &after, measure)?;
    if found.is_empty() && after.results.is_empty() {
        return Err(Failure::new(
            Exit::NothingMatched,
            "neither record holds a result",
        ));
    }
    let refused = found.iter().filter(|change| match measure {
        _ if args.allow_gone && change.is_gone() => false,
        Measure::Verdict => true,
        Measure::All => change.is_worse(),
    });
    let refused = refused.count();
    let mut page: String = found
        .iter()
        .take(SHOWN)
        .map(|change| format!("{}\n", change.text()))
        .collect();
    if let Some(more @ 1..) = found.len().checked_sub(SHOWN) {
        page.push_str(&format!("and {more} more\n"));
    }
    page.push_str(&match (measure, refused) {
        (Measure::All, 0) => "ok: nothing got worse\n".to_owned(),
        (Measure::All, worse) => format!("WORSE: {worse} of {} results\n", after.results.len()),
        (Measure::Verdict, 0) => "ok: no verdict differs\n".to_owned(),
        (Measure::Verdict, other) => format!("DIFFERENT: {other} of {} results\n", after.results.len()),
    });
    put_page(args.out.as_deref(), &page)?;
    Ok(if refused == 0 { Exit::Ok } else { Exit::Failed })
}
