//! What calls cost on software GPUs: `parity bench` on them, and `parity gate --cost`.

use std::{fmt::Write, path::Path};

use parity_bench::cost::{self as pages, CostRun, worse};
use parity_exec::BackendDevice;
use parity_run::cost::{self, Settings};

use super::bench::{limit, selection};
use crate::{
    args::{BenchArgs, BenchFormat},
    exit::{Exit, Failure},
    output::{complain, formless, print, put_page},
};

/// Percent by which a counter may be worse unless something else is asked for: kernels that are compiled anew move by an instruction.
const TOLERANCE: f64 = 2.0;

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
    let settings = Settings {
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
pub(super) fn gate(run: &Path, base: &Path, percent: Option<f64>) -> Result<Exit, Failure> {
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
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = match found.len() {
        0 => writeln!(
            page,
            "PASS: no counter of {compared} rows and devices is worse by more than {percent} %"
        ),
        count => writeln!(
            page,
            "BLOCKED, of {compared} rows and devices in {} some cost more than there by over {percent} %, {count} numbers in all",
            base.display()
        ),
    };
    for finding in found.iter().take(SHOWN) {
        let _ = writeln!(page, "  {finding}");
    }
    if let Some(more @ 1..) = found.len().checked_sub(SHOWN) {
        let _ = writeln!(page, "  and {more} more");
    }
    print(&page)?;
    Ok(if found.is_empty() { Exit::Ok } else { Exit::Failed })
}
