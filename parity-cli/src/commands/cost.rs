//! What calls cost on software GPUs: `parity bench` on them, and `parity gate --cost`.

use std::path::Path;

use parity_bench::cost::{self as pages, CostRun, TOLERANCE, Worsening, worse};
use parity_exec::BackendDevice;
use parity_run::cost::{self, CostSettings};
use serde_json::json;

use super::bench::{limit, selection};
use crate::{
    args::{BenchArgs, BenchFormat, PageArgs},
    exit::{Exit, Failure},
    output::{complain, formless, put_page},
};

/// Findings that the gate spells out: with a few kernels that got worse it all stays on one screen.
const SHOWN: usize = 40;

/// Counts, and shows the record.
pub(super) fn count(devices: Vec<BackendDevice>, args: BenchArgs) -> Result<Exit, Failure> {
    let refused = |message: String| Err(Failure::new(Exit::Usage, message));
    if let Some(card) = devices.iter().find(|device| !device.is_software()) {
        return refused(format!(
            "{} is timed and software GPUs are counted: ask for them in two commands",
            card.name()
        ));
    }
    if args.against.is_some() {
        return refused(
            "--against compares times, and software GPUs are counted: write the record with --format json --out RUN, then \
             `parity gate RUN --cost EARLIER_RUN`"
                .to_owned(),
        );
    }
    if args.samples.is_some() {
        return refused(
            "--samples is of times: what a software GPU counts is the same every time".to_owned(),
        );
    }
    let (format, out) = (args.format, args.out.clone());
    let settings = CostSettings {
        devices,
        limit: limit(&args)?,
        seed: args.seed,
        selection: selection(args.quick, args.select)?,
        program: None,
    };
    let run = cost::count(&settings, |done, all, device, row| {
        complain(&format!("{done}/{all} {row} on {device}"));
    })?;
    put(&run, format, out.as_deref())
}

/// Shows a stored record.
pub(super) fn show(run: &CostRun, args: &BenchArgs) -> Result<Exit, Failure> {
    put(run, args.format, args.out.as_deref())
}

fn put(run: &CostRun, format: BenchFormat, out: Option<&Path>) -> Result<Exit, Failure> {
    let page = match format {
        BenchFormat::Text => pages::text(run),
        BenchFormat::Json => pages::json(run).map_err(formless)?,
        BenchFormat::Csv => pages::csv(run),
        BenchFormat::Markdown => pages::markdown(run),
    };
    put_page(out, &page)?;
    Ok(Exit::Ok)
}

/// Blocks a record in which something costs more than in the base.
pub(super) fn gate(run: &Path, base: &Path, percent: Option<f64>, page: &PageArgs) -> Result<Exit, Failure> {
    let percent = percent.unwrap_or(TOLERANCE);
    if !(0.0..=1000.0).contains(&percent) {
        let message = format!("--tolerance {percent} is not a percentage of 0 to 1000, e.g. 2");
        return Err(Failure::new(Exit::Usage, message));
    }
    let (now, then) = (cost::read(run)?, cost::read(base)?);
    let (found, compared) = worse(&then, &now, percent);
    if compared == 0 {
        let message = format!(
            "{}: no row has counters, so that nothing can be compared",
            base.display()
        );
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    let figures = || {
        json!({
            "run": run.display().to_string(),
            "base": base.display().to_string(),
            "tolerance": percent,
            "compared": compared,
            "passes": found.is_empty(),
            "worse": found.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    page.put(|| judged(base, percent, &found, compared), figures)?;
    Ok(if found.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn judged(base: &Path, percent: f64, found: &[Worsening], compared: usize) -> String {
    let mut page = match found.len() {
        0 => format!("PASS: no counter of {compared} rows and devices is worse by more than {percent} %\n"),
        count => format!(
            "BLOCKED, of {compared} rows and devices in {} some cost more than there by over {percent} %, {count} numbers in all\n",
            base.display()
        ),
    };
    let shown = found.iter().take(SHOWN).map(|finding| format!("  {finding}\n"));
    page.extend(shown);
    if let Some(more @ 1..) = found.len().checked_sub(SHOWN) {
        page.push_str(&format!("  and {more} more\n"));
    }
    page
}
