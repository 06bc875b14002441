//! `parity specs`: what the program carries, as files that can be changed.

use std::fs;

use parity_run::files;

use crate::{
    args::{ExportArgs, SpecsArgs, SpecsCommand},
    exit::{Exit, Failure},
    output::{print, write},
};

pub(crate) fn specs(args: &SpecsArgs) -> Result<Exit, Failure> {
    match &args.command {
        SpecsCommand::Export(args) => export(args),
    }
}

fn export(args: &ExportArgs) -> Result<Exit, Failure> {
    // The manifests stay in the program: without outputs `parity golden` cannot use them.
    let files: Vec<_> = files::carried()
        .iter()
        .filter(|(file, _)| file.ends_with(".toml"))
        .collect();
    let there = files
        .iter()
        .map(|(file, _)| args.dir.join(file))
        .find(|path| path.exists());
    if let Some(path) = there {
        let message = format!(
            "{} is there already; nothing was written: name a directory without specs",
            path.display()
        );
        return Err(Failure::new(Exit::Io, message));
    }
    for (file, text) in &files {
        let path = args.dir.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| {
                Failure::new(Exit::Io, format!("cannot make {}: {error}", folder.display()))
            })?;
        }
        write(&path, text)?;
    }
    let dir = args.dir.display();
    print(&format!(
        "{} files in {dir}/op-specs and {dir}/findings\n",
        files.len()
    ))?;
    Ok(Exit::Ok)
}
