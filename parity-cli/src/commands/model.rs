//! `parity model`: runs whole networks on devices and judges them against the CPU in wider precision.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use parity_exec::{Backend, CANDLE_VERSION};
use parity_model::Case;
use parity_run::{Column, JournalFile, Place, cores};
use parity_zoo::{Begun, Bisection, Dtype, Error, Journal, Keep, ModelSpec, Settings, WORKER, Worker};

use super::run::progress;
use crate::{
    args::{ModelArgs, ModelFormat},
    exit::{Exit, Failure},
    output::{print, put_page},
};

/// The folder of specs.
const SPECS: &str = "model-specs";
/// Has candle multiply with the numbers that quantized weights stand for.
const DEQUANTIZED: (&str, &str) = ("CANDLE_DEQUANTIZE_ALL", "1");

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match &error {
            Error::Read { .. } | Error::NoWeights { .. } => Exit::NoInput,
            Error::Data { .. } | Error::Seeds { .. } | Error::OtherRun(_) => Exit::BadData,
            Error::Unkept(_) => Exit::Io,
            Error::Unknown { .. } => Exit::Usage,
            Error::Nothing(_) => Exit::NothingMatched,
            Error::NoWorker(_) | Error::Unavailable { .. } => Exit::Unavailable,
            Error::Formless(_) | Error::Xml(_) => Exit::Internal,
        };
        Failure::new(exit, error.to_string())
    }
}

pub(crate) fn model(args: ModelArgs) -> Result<Exit, Failure> {
    let dtypes = args
        .dtypes
        .iter()
        .map(|word| dtype(word))
        .collect::<Result<Vec<_>, _>>()?;
    let folder = args.spec_dir.clone().map_or_else(find_specs, Ok)?;
    let mut models = parity_zoo::select(parity_zoo::load(&folder)?, &args.models, &dtypes)?;
    // Without a folder of weights all models are those that need none.
    if args.models.is_empty() && args.weights.is_none() && !args.list {
        models.retain(|model| model.weights.is_none());
    }
    if args.list {
        print(&list(&models))?;
        return Ok(Exit::Ok);
    }
    let settings = settings(&args)?;
    if args.bisect {
        return bisect(&args, &models, &settings);
    }
    if let Some(folder) = &args.export_specs {
        return export(folder, &models, &settings);
    }
    if args.format == ModelFormat::Html {
        let message = "--format html shows a bisection: add --bisect, or take --format markdown";
        return Err(Failure::new(Exit::Usage, message));
    }
    let bar = progress(parity_zoo::plan(&models) * settings.devices.len());
    let record = parity_zoo::run(&models, &settings, journal(&args)?, &|_| bar.inc(1));
    bar.finish_and_clear();
    let record = record?;
    let page = match args.format {
        ModelFormat::Text => parity_zoo::text(&record),
        ModelFormat::Json => parity_zoo::json(&record)?,
        ModelFormat::Junit => parity_zoo::junit(&record)?,
        ModelFormat::Markdown | ModelFormat::Html => parity_zoo::markdown(&record),
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(if record.failing() == 0 {
        Exit::Ok
    } else {
        Exit::Failed
    })
}

/// The journal that the command line names.
fn journal(args: &ModelArgs) -> Result<Option<Journal>, Failure> {
    let keep = |mut open: JournalFile| -> Keep {
        Box::new(move |line| open.text(line).map_err(|error| error.to_string()))
    };
    Ok(match (&args.journal, &args.resume) {
        (Some(path), _) => Some(Journal::new(keep(JournalFile::new(path)?))),
        (None, Some(path)) => {
            let (open, bytes) = JournalFile::old(path)?;
            let begun = Begun::read(path, &bytes)?;
            open.cut(begun.whole)?;
            Some(Journal::after(begun, keep(open)))
        }
        (None, None) => None,
    })
}

fn dtype(word: &str) -> Result<Dtype, Failure> {
    let found = Dtype::ALL.iter().find(|dtype| dtype.name() == word);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = Dtype::ALL.iter().map(|dtype| dtype.name()).collect();
        let message = format!("unknown dtype `{word}`: expected one of {}", known.join(", "));
        Failure::new(Exit::Usage, message)
    })
}

fn list(models: &[ModelSpec]) -> String {
    let line = |model: &ModelSpec| {
        let dtypes: Vec<_> = model.dtypes.iter().map(|dtype| dtype.name()).collect();
        format!("{} ({}): {}\n", model.name, model.architecture, dtypes.join(", "))
    };
    models.iter().map(line).collect()
}

/// The nearest folder of specs above the working directory, or above the program.
fn find_specs() -> Result<PathBuf, Failure> {
    let places = [env::current_dir(), env::current_exe()];
    let above = places.iter().flatten().flat_map(|place| place.ancestors());
    let found = above
        .map(|place| place.join(SPECS))
        .find(|folder| folder.is_dir());
    found.ok_or_else(|| {
        let message = format!(
            "there is no {SPECS}/ above the working directory or above the program; name one with --spec-dir"
        );
        Failure::new(Exit::NoInput, message)
    })
}

fn settings(args: &ModelArgs) -> Result<Settings, Failure> {
    let limit = Duration::try_from_secs_f64(args.timeout)
        .ok()
        .filter(|limit| !limit.is_zero());
    let limit =
        limit.ok_or_else(|| Failure::new(Exit::Usage, "--timeout must be a positive number of seconds"))?;
    if args.jobs == Some(0) {
        return Err(Failure::new(Exit::Usage, "--jobs must be at least 1"));
    }
    let jobs = args.jobs.unwrap_or_else(cores);
    let own = env::current_exe();
    let own = own.map_err(|why| {
        Failure::new(
            Exit::Internal,
            format!("cannot find the program's own file: {why}"),
        )
    })?;
    let mut devices = vec![];
    for column in Column::all(&args.backend)? {
        if column.device.backend() == Backend::REFERENCE {
            continue;
        }
        if column.place != Place::Here {
            let message = format!(
                "{} is elsewhere, and models run on this host alone",
                column.device.name()
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        devices.push((
            column.device.name().to_owned(),
            column.device.env().iter().map(owned).collect(),
        ));
    }
    if devices.is_empty() {
        let message = "the reference alone has nothing to be compared with; name another backend";
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(Settings {
        worker: Worker {
            program: own.parent().unwrap_or(Path::new(".")).join(WORKER),
            limit,
            threads: cores() / jobs.max(1),
        },
        devices,
        reference: Backend::REFERENCE.name().to_owned(),
        dequantized: (DEQUANTIZED.0.to_owned(), DEQUANTIZED.1.to_owned()),
        cards: rocm_env::names::SOFT_DEVICES.to_owned(),
        seed: args.seed,
        jobs,
        weights: args.weights.clone(),
        fault: None,
        candle_version: CANDLE_VERSION.to_owned(),
    })
}

/// The ops of one model in its first dtype, watched.
fn watched(what: &str, models: &[ModelSpec], settings: &Settings) -> Result<Bisection, Failure> {
    let [model] = models else {
        return Err(Failure::new(Exit::Usage, format!("{what} takes one model")));
    };
    let Some(dtype) = model.dtypes.first() else {
        return Err(Failure::new(Exit::NothingMatched, "the model has no dtype"));
    };
    Ok(parity_zoo::bisect(model, *dtype, settings)?)
}

/// Writes the cases that a model consists of.
fn export(folder: &Path, models: &[ModelSpec], settings: &Settings) -> Result<Exit, Failure> {
    let found = watched("--export-specs", models, settings)?;
    let exported = parity_zoo::export(&found);
    fs::create_dir_all(folder)
        .map_err(|why| Failure::new(Exit::Io, format!("cannot make {}: {why}", folder.display())))?;
    // Those of another model, or of this one in another dtype, stay, and are not written twice.
    let file = |case: &Case| folder.join(format!("{}.toml", case.op.family()));
    let known = match exported.cases.iter().any(|case| file(case).exists()) {
        true => parity_run::specs::load(folder)?,
        false => vec![],
    };
    let is_new = |case: &&Case| known.iter().all(|other| other.id() != case.id());
    let new: Vec<&Case> = exported.cases.iter().filter(is_new).collect();
    for case in &new {
        parity_run::shrink::pin(case, &file(case), &format!("of {} {}", found.model, found.dtype))?;
    }
    let (cases, calls) = (exported.cases.len(), found.steps.len());
    let mut page = format!(
        "{cases} distinct cases of {calls} ops, {} of them new in {}\n",
        new.len(),
        folder.display()
    );
    for (op, times) in &exported.left_out {
        page.push_str(&format!("no case: {op}, {times} times\n"));
    }
    print(&page)?;
    Ok(Exit::Ok)
}

fn bisect(args: &ModelArgs, models: &[ModelSpec], settings: &Settings) -> Result<Exit, Failure> {
    let found = watched("--bisect", models, settings)?;
    let page = match args.format {
        ModelFormat::Text | ModelFormat::Markdown => parity_zoo::bisection(&found),
        ModelFormat::Json => parity_zoo::bisection_json(&found)?,
        ModelFormat::Html => parity_zoo::bisection_html(&found),
        ModelFormat::Junit => {
            let message = "--format junit is of results: leave --bisect out";
            return Err(Failure::new(Exit::Usage, message));
        }
    };
    put_page(args.out.as_deref(), &page)?;
    Ok(if found.first.is_none() && found.fallbacks.is_empty() {
        Exit::Ok
    } else {
        Exit::Failed
    })
}
