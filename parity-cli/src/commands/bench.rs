//! `parity bench`: what calls take, measured.

use std::{fmt::Write, time::Duration};

use parity_bench::{BenchRun, Row, TOLERANCE, slower};
use parity_run::bench::{self, Settings};

use crate::{
    args::{BenchArgs, BenchFormat},
    exit::{Exit, Failure},
    output::{complain, formless, print, write},
    settings,
};

pub(crate) fn bench(args: BenchArgs) -> Result<Exit, Failure> {
    let base = args.against.as_deref().map(bench::read).transpose()?;
    let (format, out) = (args.format, args.out.clone());
    let run = match &args.render {
        Some(path) => bench::read(path)?,
        None => bench::measure(&settings_of(args)?, told)?,
    };
    let page = match format {
        BenchFormat::Text => parity_bench::text(&run),
        BenchFormat::Json => parity_bench::json(&run).map_err(formless)?,
        BenchFormat::Csv => parity_bench::csv(&run),
        BenchFormat::Markdown => parity_bench::markdown(&run),
    };
    match &out {
        None => print(&page)?,
        Some(path) => write(path, &page)?,
    }
    let Some(base) = base else { return Ok(Exit::Ok) };
    let (text, worse) = compared(&base, &run);
    // A page of JSON on stdout stays one.
    match out {
        None if format != BenchFormat::Text => complain(text.trim_end()),
        _ => print(&text)?,
    }
    Ok(if worse { Exit::Failed } else { Exit::Ok })
}

fn settings_of(args: BenchArgs) -> Result<Settings, Failure> {
    let devices = args.backend.iter().map(|word| parity_run::names::device(word));
    let devices = devices.collect::<Result<Vec<_>, _>>()?;
    for (at, device) in devices.iter().enumerate() {
        if devices[..at].iter().any(|other| other.name() == device.name()) {
            let message = format!("{} is named twice in --backend", device.name());
            return Err(Failure::new(Exit::Usage, message));
        }
    }
    let limit = Duration::try_from_secs_f64(args.timeout)
        .ok()
        .filter(|limit| !limit.is_zero());
    let limit = limit.ok_or_else(|| {
        let message = format!("--timeout {} is no time: expected seconds above 0", args.timeout);
        Failure::new(Exit::Usage, message)
    })?;
    let mut select = args.select;
    if args.quick {
        select.tier = Some(parity_model::Tier::Quick.name().to_owned());
    }
    let mut pace = Settings::pace(args.quick);
    if let Some(samples) = args.samples {
        pace.samples = samples as usize;
    }
    Ok(Settings {
        devices,
        selection: settings::selection(select)?,
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
