//! `parity report`: renders a stored run as the live run would have been rendered; or writes the pages of reports/, or says
//! which of those that stand there are not what they would be made today.

use std::{
    fs,
    path::{Path, PathBuf},
};

use parity_model::record::RunRecord;
use parity_report::{
    CodeObject, Sources,
    pages::{self, Material, Page},
};
use parity_run::{digest, known, records, specs};

use crate::{
    args::ReportArgs,
    exit::{Exit, Failure},
    output::{self, Sink},
};

/// How stale pages are mended.
const AGAIN: &str = "run ci/reports and commit what it writes";

pub(crate) fn report(args: ReportArgs) -> Result<Exit, Failure> {
    let run = records::read(&args.record)?.run;
    let Some(dir) = &args.pages else {
        Sink::resolve(args.output).put(&run)?;
        return Ok(Exit::Ok);
    };
    let objects = args.code_objects.as_deref().map(code_objects).transpose()?;
    let sources = sources(&args.sources, &run.candle_version)?;
    let models = args.models.as_deref().map(records::read).transpose()?;
    let models = models.as_ref().map(|stored| &stored.run);
    let material = Material {
        run: &run,
        models,
        objects: &objects.unwrap_or_default(),
        sources: &sources,
    };
    let pages = pages::pages(&material)
        .map_err(|error| Failure::new(Exit::Internal, format!("the record cannot be rendered: {error}")))?;
    if args.check {
        let runs: Vec<_> = std::iter::once(&run).chain(models).collect();
        return check(&runs, &pages, dir, args.spec_dir.as_deref());
    }
    fs::create_dir_all(dir)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot make {}: {error}", dir.display())))?;
    for page in &pages {
        let path = dir.join(page.name);
        output::write(&path, &page.text)?;
        output::print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Ok)
}

/// Compares the pages that stand in `dir` with those of the records, and the rules of the records with today's.
fn check(runs: &[&RunRecord], pages: &[Page], dir: &Path, spec_dir: Option<&Path>) -> Result<Exit, Failure> {
    let mut stale = Vec::new();
    let spec_dir = specs::find(spec_dir)?;
    let all = specs::load(&spec_dir)?;
    let today = digest::rules(&all, &known::load(None, &spec_dir, &all)?);
    for run in runs.iter().filter(|run| run.specs != today) {
        stale.push(format!(
            "the record of {} went by other specs or known failures than those in {}: SHA-256 {} there, {today} here",
            run.started,
            spec_dir.display(),
            run.specs
        ));
    }
    for page in pages {
        let path = dir.join(page.name);
        match fs::read_to_string(&path) {
            Ok(text) if text == page.text => {}
            Ok(text) => stale.push(difference(&path, &text, &page.text)),
            Err(error) => stale.push(format!("cannot read {}: {error}", path.display())),
        }
    }
    if stale.is_empty() {
        output::print(&format!("{} pages are what the record makes them\n", pages.len()))?;
        return Ok(Exit::Ok);
    }
    let message = format!("reports are stale; {AGAIN}\n  {}", stale.join("\n  "));
    Err(Failure::new(Exit::Failed, message))
}

/// The first line that is another.
fn difference(path: &Path, found: &str, wanted: &str) -> String {
    let number = found
        .lines()
        .zip(wanted.lines())
        .take_while(|(found, wanted)| found == wanted)
        .count();
    format!("{}:{} is not what is generated", path.display(), number + 1)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::NoInput, format!("cannot read {}: {error}", path.display()))
}

/// What lies in a folder, by name.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(dir).map_err(|error| unreadable(dir, &error))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| unreadable(dir, &error))?;
    paths.sort();
    Ok(paths)
}

/// The code objects of a directory; its other files are none of ours.
fn code_objects(dir: &Path) -> Result<Vec<CodeObject>, Failure> {
    let mut paths = entries(dir)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hsaco"));
    if paths.is_empty() {
        let message = format!("{} holds no code object (module.target.hsaco)", dir.display());
        return Err(Failure::new(Exit::NoInput, message));
    }
    let read = |path: &PathBuf| {
        let elf = fs::read(path).map_err(|error| unreadable(path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        CodeObject::read(&name, &elf)
            .map_err(|error| Failure::new(Exit::BadData, format!("{}: {error}", path.display())))
    };
    paths.iter().map(read).collect()
}

/// The sources that pages point into, of the folders below `roots` that hold some.
fn sources(roots: &[PathBuf], candle_version: &str) -> Result<Sources, Failure> {
    let mut sources = Sources::default();
    for root in roots {
        let folders = Sources::folders(candle_version);
        let there: Vec<_> = folders
            .iter()
            .filter(|folder| root.join(folder).is_dir())
            .collect();
        if there.is_empty() {
            let message = format!("{} holds none of {}", root.display(), folders.join(", "));
            return Err(Failure::new(Exit::NoInput, message));
        }
        for folder in there {
            add(&mut sources, &root.join(folder), folder)?;
        }
    }
    Ok(sources)
}

/// The Rust files of a folder, and of the folders in it, under the names that begin with `name`.
fn add(sources: &mut Sources, dir: &Path, name: &str) -> Result<(), Failure> {
    for path in entries(dir)? {
        let name = format!(
            "{name}/{}",
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        if path.is_dir() {
            add(sources, &path, &name)?;
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
            sources.add(name, text);
        }
    }
    Ok(())
}
