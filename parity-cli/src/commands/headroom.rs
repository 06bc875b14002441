//! `parity headroom`: the limits of a stored run that are nearly used up, and those that are hardly used.

use std::fmt::Write;

use parity_report::share_text;
use parity_run::{
    headroom::{LimitUse, limits},
    records::{self, Stored},
};
use serde_json::{Value, json};

use crate::{
    args::HeadroomArgs,
    columns::columns,
    exit::{Exit, Failure},
};

/// A limit used beyond this share has no room left for another input, compiler or card.
const TIGHT: f64 = 0.8;

/// A limit used below this share would let an error a hundred times as large pass.
const LOOSE: f64 = 0.01;

pub(crate) fn headroom(args: &HeadroomArgs) -> Result<Exit, Failure> {
    let stored = records::read(&args.run)?;
    let limits = limits(&stored.run);
    if limits.is_empty() {
        let message = format!("{} holds no result that agrees and has a value", stored.path);
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    args.page
        .put(|| page(&stored, &limits), || figures(&stored, &limits))?;
    Ok(Exit::Ok)
}

/// Every limit, also those that the page leaves out.
fn figures(stored: &Stored, limits: &[LimitUse<'_>]) -> Value {
    let limit = |limit: &LimitUse<'_>| {
        let (backend, case) = limit.worst;
        json!({
            "op": limit.op,
            "dtype": limit.dtype,
            "limit": limit.limit,
            "exact": limit.is_exact(),
            "results": limit.results,
            "used": limit.used,
            "backend": backend,
            "case": case,
        })
    };
    json!({ "run": stored.path, "limits": limits.iter().map(limit).collect::<Vec<_>>() })
}

fn page(stored: &Stored, limits: &[LimitUse<'_>]) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_page(&mut page, stored, limits);
    page
}

fn write_page(page: &mut String, stored: &Stored, limits: &[LimitUse<'_>]) -> std::fmt::Result {
    let exact = limits.iter().filter(|limit| limit.is_exact()).count();
    writeln!(
        page,
        "{}: {} limits, one for each op, dtype and source; {exact} are exact and have no room to speak of",
        stored.path,
        limits.len()
    )?;
    let mut tight: Vec<_> = limits.iter().filter(|limit| limit.used > TIGHT).collect();
    tight.sort_by(|a, b| b.used.total_cmp(&a.used));
    section(page, "used more than 80 %: another input may be outside", &tight)?;
    let (unused, mut loose): (Vec<_>, Vec<_>) = limits
        .iter()
        .filter(|limit| limit.used < LOOSE && !limit.is_exact())
        .partition(|limit| limit.used == 0.0);
    loose.sort_by(|a, b| a.used.total_cmp(&b.used));
    section(
        page,
        "used less than 1 %: an error a hundred times as large would pass",
        &loose,
    )?;
    section(
        page,
        "not used at all: every result was exact here, which another library need not be",
        &unused,
    )
}

fn section(page: &mut String, title: &str, limits: &[&LimitUse<'_>]) -> std::fmt::Result {
    writeln!(page, "\n{title}: {}", limits.len())?;
    let row = |limit: &&LimitUse<'_>| {
        let (backend, case) = limit.worst;
        let plural = if limit.results == 1 { "" } else { "s" };
        let mut row = vec![
            format!("{} {}", limit.op, limit.dtype),
            share(limit.used),
            format!("{} result{plural}", limit.results),
            limit.limit.to_owned(),
        ];
        if limit.used > 0.0 {
            row.push(format!("most on {backend}: {case}"));
        }
        row
    };
    page.push_str(&columns("  ", &limits.iter().map(row).collect::<Vec<_>>()));
    Ok(())
}

/// As in the tables, but small shares are told apart.
fn share(used: f64) -> String {
    match used {
        used if used > 0.0 && used < LOOSE => format!("{:.1e}%", used * 100.0),
        used => share_text(used),
    }
}
