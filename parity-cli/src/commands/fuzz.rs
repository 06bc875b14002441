//! `parity fuzz`: random cases of the table of ops for a while, and what fails in groups.

use std::{path::Path, time::Duration};

use parity_model::{Case, findings::Findings};
use parity_run::{
    Column, Selection, Settings, Stop, findings,
    fuzz::{self, FuzzProgress, Journal, Report, Workers},
    names,
    shrink::pin,
    specs,
};

use crate::{
    args::{FuzzArgs, FuzzFormat},
    exit::{Exit, Failure},
    interrupt,
    output::{complain, formless, put_page},
    settings::put,
    size,
};

/// How long a run is that is told nothing.
const MINUTES: f64 = 1.0;

pub(crate) fn fuzz(args: FuzzArgs) -> Result<Exit, Failure> {
    let seconds = |what: &str, seconds: f64| {
        let time = Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|time| !time.is_zero());
        time.ok_or_else(|| Failure::new(Exit::Usage, format!("{what} must be a positive number")))
    };
    let minutes = match (args.minutes, args.cases) {
        (None, Some(_)) => None,
        (minutes, _) => Some(seconds("--minutes", minutes.unwrap_or(MINUTES) * 60.0)?),
    };
    let case_limit = seconds("--timeout", args.timeout)?;
    let memory = args.memory_limit.as_deref();
    let memory_limit = memory
        .map(|text| size::bytes("--memory-limit", text))
        .transpose()?;
    if args.jobs == Some(0) || args.cases == Some(0) {
        return Err(Failure::new(Exit::Usage, "--jobs and --cases must be at least 1"));
    }
    if args
        .rediscover
        .is_some_and(|percent| !(0.0..=100.0).contains(&percent))
    {
        return Err(Failure::new(Exit::Usage, "--rediscover must be from 0 to 100"));
    }
    let default = Settings::default();
    let settings = Settings {
        selection: Selection::default(),
        columns: Column::all(&args.backend)?,
        case_limit,
        jobs: args.jobs.unwrap_or(default.jobs),
        memory_limit,
        ..default
    };
    let wanted = fuzz::FuzzSettings {
        ops: args
            .ops
            .iter()
            .map(|word| names::ops(word))
            .collect::<Result<_, _>>()?,
        dtypes: args
            .dtypes
            .iter()
            .map(|word| names::dtype(word))
            .collect::<Result<_, _>>()?,
        seed: args.seed,
        cases: args.cases,
        time: minutes,
        shrink_runs: args.shrink_runs,
        shrink_groups: args.shrink_groups,
        shrink_known: args.shrink_known,
        excuse: !args.no_known && args.rediscover.is_none(),
        rediscover: args.rediscover,
    };
    let known = match &args.findings {
        Some(dir) => findings::read(dir)?,
        // To see what is found, nothing has to be known.
        None if args.no_known => match specs::find(None) {
            Ok(specs) => findings::read(&findings::directory(None, &specs))?,
            Err(_) => Findings::default(),
        },
        None => findings::read(&findings::directory(None, &specs::find(None)?))?,
    };
    let journal = match (&args.journal, &args.resume) {
        (Some(path), _) => Some(Journal::new(path)?),
        (None, Some(path)) => Some(Journal::resume(path)?),
        (None, None) => None,
    };
    let stop = Stop::default();
    interrupt::listen(&stop)?;
    let mut bench = Workers::new(settings, &stop);
    let report = fuzz::fuzz(&wanted, &mut bench, &known, journal, &stop, told)?;
    let with = with(&args);
    let page = match args.format {
        FuzzFormat::Text => fuzz::text(&report, &with),
        FuzzFormat::Json => {
            let json = serde_json::to_string_pretty(&fuzz::json(&report, &with)).map_err(formless)?;
            json + "\n"
        }
    };
    put_page(args.out.as_deref(), &page)?;
    if let Some(dir) = &args.pin {
        put_pins(&report, dir)?;
    }
    Ok(match (report.stopped, report.passes()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Ok,
        (false, false) => Exit::Failed,
    })
}

fn told(progress: FuzzProgress) {
    match progress {
        FuzzProgress::Round(cases) => complain(&format!("{cases} cases")),
        FuzzProgress::Shrinking(groups) => complain(&format!("looking for smaller cases of {groups} groups")),
    }
}

/// What a repro needs besides the case.
fn with(args: &FuzzArgs) -> String {
    let mut line = String::new();
    if let Some(dir) = &args.findings {
        put(&mut line, "findings", dir.display());
    }
    line
}

/// Writes the smallest case of each group that nothing explains into a spec of its family.
fn put_pins(report: &Report, dir: &Path) -> Result<(), Failure> {
    let made = std::fs::create_dir_all(dir);
    made.map_err(|error| Failure::new(Exit::Io, format!("cannot make {}: {error}", dir.display())))?;
    let mut pinned: Vec<&str> = vec![];
    for (key, group) in report.unexplained() {
        let id = report.smallest(key, group);
        let case = id.parse::<Case>();
        let case = case.map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        if pinned.contains(&id) {
            continue;
        }
        pinned.push(id);
        let why = format!(
            "Found by `parity fuzz --seed {}`: {} ({}) on {}.",
            report.header.seed,
            key.verdict.name(),
            key.how,
            key.backend
        );
        pin(&case, &dir.join(format!("{}.toml", case.op.family())), &why)?;
    }
    complain(&format!("{} cases pinned in {}", pinned.len(), dir.display()));
    Ok(())
}
