//! Where bytes leave the process: reports on stdout or in a file, everything else on stderr.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use parity_model::record::RunRecord;
use parity_report::{csv, github, html, json, junit, markdown, text, trend::Trend};
use serde_json::Value;

use crate::{
    args::{PageArgs, PageFormat},
    columns::columns,
    exit::{Exit, Failure},
};

/// Failures a page of text spells out.
const MAX_FAILURES: usize = 25;

/// Where a report goes, and in which form.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) form: Form,
    pub(crate) file: Option<PathBuf>,
    /// The command line's options that give this sink, each after a space.
    pub(crate) options: String,
}

#[derive(Debug)]
pub(crate) enum Form {
    /// Columns to wrap tables at, and whether to color them.
    Text(Option<u16>, bool),
    Json,
    Markdown,
    Csv,
    Junit,
    Html,
    Github,
}

impl Sink {
    /// Renders a record and writes it.
    pub(crate) fn put(&self, run: &RunRecord) -> Result<(), Failure> {
        self.put_with(run, &[])
    }

    /// The same with the trends of its columns, by name.
    pub(crate) fn put_with(&self, run: &RunRecord, trends: &[(&str, Trend<'_>)]) -> Result<(), Failure> {
        if !trends.is_empty() && !matches!(self.form, Form::Text(..) | Form::Html) {
            let message = "--earlier is for text and html; `parity trend` has the figures as json and svg";
            return Err(Failure::new(Exit::Usage, message));
        }
        let page = match &self.form {
            Form::Text(width, color) => {
                let options = text::Options {
                    width: *width,
                    color: *color,
                    max_failures: MAX_FAILURES,
                };
                let rows = trends.iter().map(|(backend, trend)| {
                    let rows = columns(&format!("{backend} "), &trend.rows());
                    format!("\n{rows}")
                });
                text::render(run, &options) + &rows.collect::<String>()
            }
            Form::Json => json::render(run).map_err(formless)?,
            Form::Markdown => markdown::render(run),
            Form::Csv => csv::render(run),
            Form::Junit => junit::render(run).map_err(formless)?,
            Form::Html => html::render_with(run, trends).map_err(formless)?,
            Form::Github => return self.put_github(run),
        };
        match &self.file {
            None => print(&page),
            Some(path) => write(path, &page),
        }
    }
}

impl Sink {
    /// Annotations go to stdout, where the workflow reads them; the summary to the file asked for, else to the end of the
    /// file of the workflow's step, else to stdout.
    fn put_github(&self, run: &RunRecord) -> Result<(), Failure> {
        print(&github::annotations(run))?;
        let summary = github::summary(run);
        match (&self.file, std::env::var_os("GITHUB_STEP_SUMMARY")) {
            (Some(path), _) => write(path, &summary),
            (None, Some(path)) => append(Path::new(&path), &summary),
            (None, None) => print(&summary),
        }
    }

    /// The file of the JSON record, where that is what goes into a file.
    pub(crate) fn stored(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| matches!(self.form, Form::Json))
    }
}

/// Appends to a file, which is made if it is not there.
fn append(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::new(Exit::Io, format!("cannot write {}: {error}", path.display())))
}

/// No record has a value that a format cannot hold.
pub(crate) fn formless(error: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Internal, format!("the record cannot be rendered: {error}"))
}

/// Writes to the file, or to stdout where none is named.
pub(crate) fn put_page(out: Option<&Path>, text: &str) -> Result<(), Failure> {
    match out {
        None => print(text),
        Some(path) => write(path, text),
    }
}

impl PageArgs {
    /// Writes the page in the form that was asked for.
    pub(crate) fn put(
        &self,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> Value,
    ) -> Result<(), Failure> {
        let page = match self.format {
            PageFormat::Text => text(),
            PageFormat::Json => serde_json::to_string_pretty(&json()).map_err(formless)? + "\n",
        };
        put_page(self.out.as_deref(), &page)
    }
}

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot write {}: {error}", path.display())))
}

/// Writes to stdout. A reader that closes the pipe early, such as `head`, does not make it fail.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Io, format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to stderr; with stderr gone there is nobody left to tell.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
