//! Where bytes leave the process: reports on stdout or in a file, everything else on stderr.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use parity_model::record::RunRecord;
use parity_report::{csv, github, html, json, junit, markdown, text};

use crate::{
    args::{ColorChoice, Format, OutputArgs},
    exit::{Exit, Failure},
};

/// Failures a page of text spells out.
const MAX_FAILURES: usize = 25;

/// Where a report goes, and in which form.
#[derive(Debug)]
pub(crate) struct Sink {
    form: Form,
    file: Option<PathBuf>,
}

#[derive(Debug)]
enum Form {
    Text(text::Options),
    Json,
    Markdown,
    Csv,
    Junit,
    Html,
    Github,
}

impl Sink {
    pub(crate) fn resolve(args: OutputArgs) -> Sink {
        let terminal = args.out.is_none() && io::stdout().is_terminal();
        let color = match args.color {
            ColorChoice::Auto => {
                terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        let form = match args.output {
            Format::Text => Form::Text(text::Options {
                width: args.width,
                color,
                max_failures: MAX_FAILURES,
            }),
            Format::Json => Form::Json,
            Format::Markdown => Form::Markdown,
            Format::Csv => Form::Csv,
            Format::Junit => Form::Junit,
            Format::Html => Form::Html,
            Format::Github => Form::Github,
        };
        Sink { form, file: args.out }
    }

    /// Renders a record and writes it.
    pub(crate) fn put(&self, run: &RunRecord) -> Result<(), Failure> {
        let page = match &self.form {
            Form::Text(options) => text::render(run, options),
            Form::Json => json::render(run).map_err(formless)?,
            Form::Markdown => markdown::render(run),
            Form::Csv => csv::render(run),
            Form::Junit => junit::render(run).map_err(formless)?,
            Form::Html => html::render(run).map_err(formless)?,
            Form::Github => return self.put_github(run),
        };
        match &self.file {
            None => print(&page),
            Some(path) => write(path, &page),
        }
    }
}

/// Where a workflow's step has its summary: a file to append to.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

impl Sink {
    /// Annotations go to stdout, where the workflow reads them; the summary to the file asked for, else to that of the
    /// step, else to stdout.
    fn put_github(&self, run: &RunRecord) -> Result<(), Failure> {
        print(&github::annotations(run))?;
        let summary = github::summary(run);
        match (&self.file, std::env::var_os(STEP_SUMMARY)) {
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

/// Writes a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text)
        .map_err(|error| Failure::new(Exit::Io, format!("cannot write {}: {error}", path.display())))
}

/// Writes to stdout. A reader that has seen enough, such as `head`, is no failure.
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
