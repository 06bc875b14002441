//! A run's journal in a file, JSON lines: written as things happen, read back whole or cut off.
//!
//! A line is handed to the system in one piece before what it announces happens. So it outlives this process, however
//! that ends; not the machine, because nothing waits for the disk.

mod same_run;

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use parity_exec::Stop;
use parity_model::{
    journal::{Header, JOURNAL_VERSION, Journal, Line},
    record::{CaseRecord, RECORD_VERSION, RunRecord},
};
use serde::Serialize;

use crate::error::Error;

pub(crate) use same_run::{same_devices, same_run};

/// How every journal begins, and no record does.
const START: &str = r#"{"journal":"#;

/// Where a run's lines go.
#[derive(Debug, Default)]
pub enum Book {
    /// Nowhere but to this run's own record.
    #[default]
    None,
    /// Into a new file.
    New(JournalFile),
    /// After those of the run to go on with.
    Old(JournalFile, Box<Journal>),
}

/// A file that no other run writes to, and its name in messages.
#[derive(Debug)]
pub struct JournalFile {
    name: String,
    file: File,
    /// Bytes of its whole lines, where it had some.
    whole: usize,
}

impl Book {
    /// A new file, or an empty one.
    ///
    /// # Errors
    /// A file that cannot be made, that holds something, or that another run writes to.
    pub fn new(path: &Path) -> Result<Book, Error> {
        Ok(Book::New(JournalFile::new(path)?))
    }

    /// The file of the run to go on with.
    ///
    /// # Errors
    /// A file that is not there, that holds no journal, or that another run writes to.
    pub fn resume(path: &Path) -> Result<Book, Error> {
        let (mut open, text) = JournalFile::old(path)?;
        let (journal, whole) = parse(&open.name, &text)?;
        open.whole = whole;
        Ok(Book::Old(open, Box::new(journal)))
    }
}

impl JournalFile {
    /// A new file, or an empty one.
    ///
    /// # Errors
    /// A file that cannot be made, that holds something, or that another run writes to.
    pub fn new(path: &Path) -> Result<JournalFile, Error> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let open = JournalFile::of(path, &options, Error::write)?;
        match open.file.metadata() {
            Ok(data) if data.len() == 0 => Ok(open),
            Ok(_) => Err(Error::Busy(format!(
                "{} exists already: `--resume` goes on with the run it holds, another name keeps it",
                open.name
            ))),
            Err(error) => Err(open.failed(error)),
        }
    }

    fn of<F: FnOnce(io::Error) -> Error>(
        path: &Path,
        options: &OpenOptions,
        unopened: impl FnOnce(PathBuf) -> F,
    ) -> Result<JournalFile, Error> {
        let name = path.display().to_string();
        let file = options.open(path).map_err(unopened(path.to_owned()))?;
        match file.try_lock() {
            Ok(()) => Ok(JournalFile { name, file, whole: 0 }),
            Err(TryLockError::WouldBlock) => Err(Error::Busy(format!(
                "another run writes to {name}: wait for its end, or stop it"
            ))),
            Err(TryLockError::Error(error)) => Err(Error::Busy(format!("cannot lock {name}: {error}"))),
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::write(&self.name)(error)
    }

    /// The file of lines to go on with, and its bytes.
    ///
    /// # Errors
    /// A file that cannot be read, or that another run writes to.
    pub fn old(path: &Path) -> Result<(JournalFile, Vec<u8>), Error> {
        let mut options = OpenOptions::new();
        let mut open = JournalFile::of(path, options.read(true).append(true), Error::read)?;
        let mut text = Vec::new();
        let read = open.file.read_to_end(&mut text);
        read.map_err(Error::read(path))?;
        Ok((open, text))
    }

    /// Cuts off what follows the whole lines: a torn line would make the next one a part of it.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn cut(&self, whole: usize) -> Result<(), Error> {
        let cut = self.file.set_len(whole as u64);
        cut.map_err(|error| self.failed(error))
    }

    /// Writes a line in one piece.
    pub(crate) fn line(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec(line)
            .map_err(|error| Error::Internal(format!("a line has no JSON form: {error}")))?;
        self.text(text)
    }

    /// Writes a line's text in one piece.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn text(&mut self, mut text: Vec<u8>) -> Result<(), Error> {
        text.push(b'\n');
        self.file.write_all(&text).map_err(|error| self.failed(error))
    }
}

/// Keeps a run's lines, in memory and in its file. A line that cannot be written stops the run.
pub(crate) struct LiveJournal {
    lines: Mutex<Lines>,
    clock: Instant,
    /// Seconds the run had taken before this process went on with it.
    earlier: f64,
    stop: Stop,
}

struct Lines {
    journal: Journal,
    open: Option<JournalFile>,
    failure: Option<Error>,
}

impl LiveJournal {
    /// Begins with the header, or after the last line of the run to go on with.
    pub(crate) fn open(book: Book, header: Header, clock: Instant, stop: Stop) -> Result<LiveJournal, Error> {
        let (journal, open) = match book {
            Book::None => (Journal::new(header), None),
            Book::New(mut open) => {
                open.line(&Line::Journal(Box::new(header.clone())))?;
                (Journal::new(header), Some(open))
            }
            Book::Old(open, journal) => {
                open.cut(open.whole)?;
                (*journal, Some(open))
            }
        };
        Ok(LiveJournal {
            clock,
            earlier: journal.seconds(),
            stop,
            lines: Mutex::new(Lines {
                journal,
                open,
                failure: None,
            }),
        })
    }

    /// The places to run.
    pub(crate) fn to_run(&self) -> Vec<usize> {
        self.lines().journal.open()
    }

    /// A backend is about to be given a case.
    pub(crate) fn start(&self, place: usize, backend: &str) {
        self.push(Line::Start {
            place,
            backend: backend.to_owned(),
        });
    }

    /// A case has been judged.
    pub(crate) fn result(&self, place: usize, case: CaseRecord) {
        self.push(Line::Result {
            place,
            at: self.seconds(),
            case: Box::new(case),
        });
    }

    /// Ends the run.
    pub(crate) fn close(self) -> Result<Journal, Error> {
        self.push(Line::End {
            seconds: self.seconds(),
        });
        let lines = self.lines.into_inner().unwrap_or_else(PoisonError::into_inner);
        lines.failure.map_or(Ok(lines.journal), Err)
    }

    fn seconds(&self) -> f64 {
        self.earlier + self.clock.elapsed().as_secs_f64()
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: Line) {
        let mut lines = self.lines();
        if lines.failure.is_some() {
            return;
        }
        let written = lines.open.as_mut().map_or(Ok(()), |open| open.line(&line));
        let kept = written.and_then(|()| {
            let kept = lines.journal.push(line);
            kept.map_err(|error| Error::Internal(format!("the journal is mistaken: {error}")))
        });
        if let Err(failure) = kept {
            lines.failure = Some(failure);
            self.stop.request();
        }
    }
}

/// The record of a journal that was read from a file.
pub(crate) fn record(name: &str, journal: &Journal) -> Result<RunRecord, Error> {
    journal
        .record()
        .map_err(|error| corrupt(name, 1, &error.to_string()))
}

/// Whether a file's text is a journal's.
pub(crate) fn is_journal(text: &[u8]) -> bool {
    text.starts_with(START.as_bytes())
}

/// Reads a journal, and how many of its bytes are whole lines: a writer that was killed leaves a torn one at the end.
pub(crate) fn parse(name: &str, text: &[u8]) -> Result<(Journal, usize), Error> {
    let mut lines = text
        .split_inclusive(|byte| *byte == b'\n')
        .enumerate()
        .map_while(|(index, line)| Some((index + 1, line.strip_suffix(b"\n")?)));
    let Some((_, first)) = lines.next() else {
        return Err(Error::Data(format!(
            "{name} holds no run: it ends before the end of its first line; start the run anew"
        )));
    };
    let mut journal = Journal::new(header(name, first)?);
    let mut whole = first.len() + 1;
    for (number, line) in lines {
        let read = serde_json::from_slice::<Line>(line).map_err(|error| error.to_string());
        read.and_then(|line| journal.push(line).map_err(|error| error.to_string()))
            .map_err(|error| corrupt(name, number, &error))?;
        whole += line.len() + 1;
    }
    Ok((journal, whole))
}

fn header(name: &str, line: &[u8]) -> Result<Header, Error> {
    let value: serde_json::Value =
        serde_json::from_slice(line).map_err(|error| corrupt(name, 1, &error.to_string()))?;
    let version = |pointer| value.pointer(pointer).and_then(serde_json::Value::as_u64);
    // The versions first: a journal of another layout should say so rather than name a missing field.
    for (what, pointer, mine) in [
        ("journal", "/journal/version", JOURNAL_VERSION),
        ("record", "/journal/run/version", RECORD_VERSION),
    ] {
        if let Some(found) = version(pointer).filter(|found| *found != u64::from(mine)) {
            return Err(Error::Data(format!(
                "{name}: the {what} has layout version {found}, this parity reads version {mine}; repeat the run with \
                 this parity"
            )));
        }
    }
    match serde_json::from_value(value) {
        Ok(Line::Journal(header)) => Ok(*header),
        Ok(_) => Err(corrupt(name, 1, "it is not a header")),
        Err(error) => Err(corrupt(name, 1, &error.to_string())),
    }
}

fn corrupt(name: &str, number: usize, error: &str) -> Error {
    Error::Data(format!(
        "{name}:{number}: no line of this journal: {error}; the file was damaged after the run: repeat the run"
    ))
}
