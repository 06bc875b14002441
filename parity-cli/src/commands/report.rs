//! `parity report`: renders a stored run as the live run would have been rendered, or writes the pages of reports/.

use std::{fs, path::Path};

use parity_model::record::RunRecord;
use parity_report::pages::{self, kernels::CodeObject};

use crate::{
    args::ReportArgs,
    exit::{Exit, Failure},
    output::{self, Sink},
    records,
};

pub(crate) fn report(args: ReportArgs) -> Result<Exit, Failure> {
    let run = records::read(&args.record)?.run;
    match &args.pages {
        Some(dir) => write_pages(&run, dir, args.code_objects.as_deref())?,
        None => Sink::resolve(args.output).put(&run)?,
    }
    Ok(Exit::Ok)
}

fn write_pages(run: &RunRecord, dir: &Path, objects: Option<&Path>) -> Result<(), Failure> {
    let objects = objects.map(code_objects).transpose()?.unwrap_or_default();
    fs::create_dir_all(dir)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot make {}: {error}", dir.display())))?;
    for page in pages::pages(run, &objects) {
        let path = dir.join(page.name);
        output::write(&path, &page.text)?;
        output::print(&format!("{}\n", path.display()))?;
    }
    Ok(())
}

/// The code objects of a directory, by name; its other files are none of ours.
fn code_objects(dir: &Path) -> Result<Vec<CodeObject>, Failure> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::new(Exit::NoInput, format!("cannot read {}: {error}", path.display()))
    };
    let entries = fs::read_dir(dir).map_err(|error| unreadable(dir, error))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| unreadable(dir, error))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hsaco"));
    paths.sort();
    if paths.is_empty() {
        let message = format!("{} holds no code object (module.target.hsaco)", dir.display());
        return Err(Failure::new(Exit::NoInput, message));
    }
    let read = |path: &Path| {
        let elf = fs::read(path).map_err(|error| unreadable(path, error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        CodeObject::read(&name, &elf)
            .map_err(|error| Failure::new(Exit::BadData, format!("{}: {error}", path.display())))
    };
    paths.iter().map(|path| read(path)).collect()
}
