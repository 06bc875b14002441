//! The directory of findings: read, and checked against the specs. What a finding means is said in parity-model.

use std::path::{Path, PathBuf};

use parity_exec::Backend;
use parity_model::{
    Case,
    findings::{FindingText, Findings},
    spec::SpecError,
};

use crate::{
    error::Error,
    files,
    specs::{Sources, no_input},
};

/// Name of the directory, which is beside that of the specs.
const DIRECTORY: &str = "findings";

/// The file of each folder in it.
pub(crate) const FILE: &str = "finding.toml";

/// The directory asked for, or the one beside the specs.
pub fn directory(asked: Option<&Path>, spec_dir: &Path) -> PathBuf {
    match (asked, spec_dir.file_name()) {
        (Some(asked), _) => asked.to_owned(),
        (None, Some(_)) => spec_dir.with_file_name(DIRECTORY),
        (None, None) => spec_dir.join("..").join(DIRECTORY),
    }
}

/// The findings of a directory; the one beside the specs need not be there.
///
/// # Errors
/// A directory or a file that cannot be read, everything that is wrong with the files, and a row that matches no case of any
/// spec: it would silently excuse a case that comes back.
pub fn load(asked: Option<&Path>, spec_dir: &Path, all: &[Case]) -> Result<Findings, Error> {
    let folders = Folders::read(&directory(asked, spec_dir), asked.is_some())?;
    let checked = folders.parse().and_then(|findings| {
        let stale = findings.stale(all);
        if stale.is_empty() {
            Ok(findings)
        } else {
            Err(stale)
        }
    });
    checked.map_err(|errors| folders.sources.failure(errors))
}

/// Reads the findings of a directory, without a look at any spec: for cases that come from none.
///
/// # Errors
/// A directory or a file that cannot be read, and everything that is wrong with the files.
pub fn read(dir: &Path) -> Result<Findings, Error> {
    let folders = Folders::read(dir, true)?;
    folders.parse().map_err(|errors| folders.sources.failure(errors))
}

/// What is in a directory of findings, as text.
#[derive(Default)]
pub(crate) struct Folders {
    /// The name of each folder, and the file in it.
    pub(crate) files: Vec<(String, PathBuf)>,
    pub(crate) sources: Sources,
}

impl Folders {
    /// Reads every `finding.toml`, folders in the order of their names. A directory that is not there holds none, unless it
    /// `must_be`.
    pub(crate) fn read(dir: &Path, must_be: bool) -> Result<Folders, Error> {
        if !files::is_dir(dir) {
            let why = if dir.exists() {
                "is a file: name the directory that it is in"
            } else {
                "does not exist"
            };
            return match must_be || dir.exists() {
                true => Err(no_input(format!(
                    "the directory of findings {} {why}",
                    dir.display()
                ))),
                false => Ok(Folders::default()),
            };
        }
        let unreadable = |error| no_input(format!("cannot read the findings in {}: {error}", dir.display()));
        let mut found = Folders::default();
        for folder in files::list(dir).map_err(unreadable)? {
            if let (true, Some(name)) = (files::is_dir(&folder), folder.file_name()) {
                let name = name.to_string_lossy().into_owned();
                found.files.push((name, folder.join(FILE)));
            }
        }
        found.files.sort();
        for (_, file) in &found.files {
            found.sources.read(file)?;
        }
        Ok(found)
    }

    /// The text of a folder's file.
    pub(crate) fn text(&self, name: &str) -> &str {
        let file = self.files.iter().find(|(folder, _)| folder == name);
        file.map_or("", |(_, file)| self.sources.text(file))
    }

    /// What the files say.
    pub(crate) fn parse(&self) -> Result<Findings, Vec<SpecError>> {
        let texts = self.files.iter().map(|(name, file)| {
            let text = self.sources.text(file);
            (name.as_str(), file.display().to_string(), text)
        });
        parse(&texts.collect::<Vec<_>>())
    }
}

/// Reads texts of findings: of each the folder's name, the file and what is in it.
pub(crate) fn parse(texts: &[(&str, String, &str)]) -> Result<Findings, Vec<SpecError>> {
    let files: Vec<_> = texts
        .iter()
        .map(|(name, file, text)| FindingText { name, file, text })
        .collect();
    let backends: Vec<_> = Backend::ALL.iter().map(|backend| backend.name()).collect();
    Findings::parse(&files, &backends)
}
