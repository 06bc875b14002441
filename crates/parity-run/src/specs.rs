//! Finds and reads the directory of specs. What is wrong with it comes all at once, each error with its line.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use parity_model::{
    Case,
    spec::{self, SpecError},
};

use crate::{
    error::Error,
    files::{self, BUILT_IN},
};

/// Name of the directory looked for.
const DIRECTORY: &str = "op-specs";

/// Name of the file in it with the sweeps that its specs share.
pub(crate) const SWEEPS: &str = "sweeps.toml";

/// The directory asked for, or the nearest `op-specs` above the working directory, or above the binary, or the one that the
/// program [carries](files::carry).
///
/// # Errors
/// It is not there.
pub fn find(asked: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(dir) = asked {
        return match files::is_dir(dir) {
            true => Ok(dir.to_owned()),
            false => {
                let why = match dir.exists() {
                    true => "is a file: name the directory that it is in",
                    false => "does not exist",
                };
                Err(no_input(format!("the spec directory {} {why}", dir.display())))
            }
        };
    }
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    let starts: Vec<_> = starts.into_iter().flatten().collect();
    let mut tried = starts
        .iter()
        .flat_map(|start| start.ancestors())
        .map(|above| above.join(DIRECTORY));
    let built_in = Path::new(BUILT_IN).join(DIRECTORY);
    let built_in = files::is_dir(&built_in).then_some(built_in);
    tried.find(|dir| dir.is_dir()).or(built_in).ok_or_else(|| {
        let starts: Vec<_> = starts.iter().map(|start| start.display().to_string()).collect();
        no_input(format!(
            "no {DIRECTORY}/ in or above {}; name it with --spec-dir",
            starts.join(" or ")
        ))
    })
}

/// Every case of every spec in `dir`, in the order of ids.
///
/// # Errors
/// A file that cannot be read, or all that is wrong with the specs.
pub fn load(dir: &Path) -> Result<Vec<Case>, Error> {
    let mut sources = Sources::default();
    for path in spec_files(dir)? {
        sources.read(&path)?;
    }
    let texts = sources.texts.iter();
    let texts: Vec<(&str, &str)> = texts.map(|(name, text)| (name.as_str(), text.as_str())).collect();
    spec::read(&texts)
        .and_then(|files| spec::expand(&files))
        .map_err(|errors| sources.failure(errors))
}

fn spec_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |error| {
        no_input(format!(
            "cannot read the spec directory {}: {error}",
            dir.display()
        ))
    };
    let mut paths = Vec::new();
    for path in files::list(dir).map_err(unreadable)? {
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(no_input(format!("no *.toml spec in {}", dir.display())));
    }
    paths.sort();
    Ok(paths)
}

pub(crate) fn no_input(message: String) -> Error {
    Error::Missing(message)
}

/// The text of every file read, for the excerpts of error messages.
#[derive(Default)]
pub(crate) struct Sources {
    texts: BTreeMap<String, String>,
}

impl Sources {
    pub(crate) fn read(&mut self, path: &Path) -> Result<&str, Error> {
        let text = files::read(path).map_err(Error::read(path))?;
        Ok(self
            .texts
            .entry(path.display().to_string())
            .insert_entry(text)
            .into_mut())
    }

    /// The text of a file that was read.
    pub(crate) fn text(&self, path: &Path) -> &str {
        self.texts
            .get(&path.display().to_string())
            .map_or("", String::as_str)
    }

    /// All errors as one, with the lines that they are about.
    pub(crate) fn failure(mut self, errors: Vec<SpecError>) -> Error {
        self.texts
            .retain(|file, _| errors.iter().any(|error| error.file == *file));
        Error::Specs(SpecErrors {
            errors,
            texts: self.texts,
        })
    }
}

/// Everything that is wrong with some specs or findings.
#[derive(Debug)]
pub struct SpecErrors {
    /// In the order of the files.
    pub errors: Vec<SpecError>,
    /// The text of each file.
    texts: BTreeMap<String, String>,
}

impl std::error::Error for SpecErrors {}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in &self.errors {
            write!(f, "{}\n\n", self.show(error))?;
        }
        let (errors, files) = (self.errors.len(), self.texts.len());
        write!(f, "errors: {errors}, files: {files}; nothing was run")
    }
}

impl SpecErrors {
    /// The message, the line, a caret under the place, the help.
    fn show(&self, error: &SpecError) -> String {
        let text = self.texts.get(&error.file).map_or("", String::as_str);
        let end = text.floor_char_boundary(error.span.end);
        let start = text.floor_char_boundary(error.span.start.min(end));
        let place = AnnotationKind::Primary.span(start..end);
        let title = Level::ERROR.primary_title(error.message.as_str());
        let mut group = title.element(Snippet::source(text).path(error.file.as_str()).annotation(place));
        if let Some(help) = &error.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        Renderer::plain().render(&[group])
    }
}
