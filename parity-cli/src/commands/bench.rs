//! `parity bench`: what calls take, measured; on software GPUs what they cost, counted.

use std::{fmt::Write, time::Duration};

use parity_bench::{BenchRun, Row, TOLERANCE, slower};
use parity_exec::BackendDevice;
use parity_run::{
    Selection,
    bench::{self, BenchSettings},
    cost,
};

use crate::{
    args::{BenchArgs, BenchFormat, SelectArgs},
    exit::{Exit, Failure},
    output::{complain, formless, print, put_page},
    settings,
};

pub(crate) fn bench(args: BenchArgs) -> Result<Exit, Failure> {
    let devices = devices(&args)?;
    match &args.render {
        Some(path) => {
            if let Some(run) = cost::read_if_cost(path)? {
                return super::cost::show(&run, &args);
            }
        }
        None if devices.iter().any(BackendDevice::is_software) => return super::cost::count(devices, args),
        None => {}
    }
    let base = args.against.as_deref().map(bench::read).transpose()?;
    let (format, out) = (args.format, args.out.clone());
    let run = match &args.render {
        Some(path) => bench::read(path)?,
        None => bench::measure(&settings_of(devices, args)?, told)?,
    };
    let page = match format {
        BenchFormat::Text => parity_bench::text(&run),
        BenchFormat::Json => parity_bench::json(&run).map_err(formless)?,
        BenchFormat::Csv => parity_bench::csv(&run),
        BenchFormat::Markdown => parity_bench::markdown(&run),
    };
    put_page(out.as_deref(), &page)?;
    let Some(base) = base else { return Ok(Exit::Ok) };
    let (text, worse) = compared(&base, &run);
    // A page of JSON on stdout stays one.
    match out {
        None if format != BenchFormat::Text => complain(text.trim_end()),
        _ => print(&text)?,
    }
    Ok(if worse { Exit::Failed } else { Exit::Ok })
}

/// The devices that are asked for, each once.
fn devices(args: &BenchArgs) -> Result<Vec<BackendDevice>, Failure> {
    let devices = args.backend.iter().map(|word| parity_run::names::device(word));
    let devices = devices.collect::<Result<Vec<_>, _>>()?;
    for (at, device) in devices.iter().enumerate() {
        if devices[..at].iter().any(|other| other.name() == device.name()) {
            let message = format!("{} is named twice in --backend", device.name());
            return Err(Failure::new(Exit::Usage, message));
        }
    }
    Ok(devices)
}

/// What one row may take.
pub(super) fn limit(args: &BenchArgs) -> Result<Duration, Failure> {
    let limit = Duration::try_from_secs_f64(args.timeout)
        .ok()
        .filter(|limit| !limit.is_zero());
    limit.ok_or_else(|| {
        let message = format!("--timeout {} is not a number of seconds above 0", args.timeout);
        Failure::new(Exit::Usage, message)
    })
}

/// The rows that are asked for.
pub(super) fn selection(quick: bool, mut select: SelectArgs) -> Result<Selection, Failure> {
    if quick {
        select.tier = Some(parity_model::Tier::Quick.name().to_owned());
    }
    settings::selection(select)
}

fn settings_of(devices: Vec<BackendDevice>, args: BenchArgs) -> Result<BenchSettings, Failure> {
    let limit = limit(&args)?;
    let mut pace = BenchSettings::pace(args.quick);
    if let Some(samples) = args.samples {
        pace.samples = samples as usize;
    }
    Ok(BenchSettings {
        devices,
        selection: selection(args.quick, args.select)?,
        seed: args.seed,
        pace,
        limit,
        program: None,
    })
}

/// Says that a row is done.
fn told(done: usize, all: usize, row: &Row) {
    let medians =
        (0..row.results.len()).map(
            |column| match row.times(column).and_then(|times| times.median()) {
                Some(median) => format!("{median:.1} µs"),
                None => "–".to_owned(),
            },
        );
    let medians: Vec<String> = medians.collect();
    complain(&format!("{done}/{all} {}: {}", row.label(), medians.join(", ")));
}

/// What is slower than in an earlier measurement, and whether anything is.
fn compared(base: &BenchRun, run: &BenchRun) -> (String, bool) {
    let (found, count) = slower(base, run);
    let mut text = String::new();
    // Writing to a `String` does not fail.
    let _ = writeln!(
        text,
        "\nof {count} rows and devices that {} has too, {} take more than {:.0} % longer",
        base.started,
        found.len(),
        (TOLERANCE - 1.0) * 100.0
    );
    for slower in &found {
        let device = &run.devices[slower.column].backend;
        let _ = writeln!(
            text,
            "  {} on {device}: {:.2} times as long",
            slower.row.label(),
            slower.factor
        );
    }
    (text, !found.is_empty())
}
