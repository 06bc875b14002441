//! Stored runs, records and journals. What cannot be used is an error that says which file it is, what was expected and
//! how to get that.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
};

use flate2::read::GzDecoder;
use parity_model::record::RunRecord;
use parity_report::json::{self, ReadError};

use crate::{error::Error, journal, names::look_up};

/// A stored run and the name of its file.
#[derive(Debug)]
pub struct Stored {
    /// The file, as messages name it.
    pub path: String,
    /// What it holds.
    pub run: RunRecord,
}

impl Stored {
    /// The column of the backend with this name.
    ///
    /// # Errors
    /// The run has no such column.
    pub fn column(&self, backend: &str) -> Result<usize, Error> {
        let columns = self.run.backends.iter().enumerate();
        let names = columns.map(|(column, info)| (info.backend.as_str(), column));
        look_up(&format!("backend of {}", self.path), backend, names)
    }
}

impl Stored {
    /// A column as a run that has no other, under another name, for [`changes`](crate::changes::changes) with a column of that name.
    ///
    /// # Errors
    /// The run has no such column.
    pub fn alone(&self, name: &str, other: &str) -> Result<Stored, Error> {
        let place = self.column(name)?;
        let mut run = self.run.clone();
        run.backends = vec![self.run.backends[place].clone()];
        other.clone_into(&mut run.backends[0].backend);
        for case in &mut run.cases {
            case.results = case.results.get(place).cloned().into_iter().collect();
        }
        Ok(Stored {
            path: format!("{} {name}", self.path),
            run,
        })
    }
}

/// Reads the run stored in a file, which gzip may have compressed. Of a journal, the cases without a result are `not-run`.
///
/// # Errors
/// A file that cannot be read, or that holds no run.
pub fn read(path: &Path) -> Result<Stored, Error> {
    let name = path.display().to_string();
    let bytes = bytes(path)?;
    if journal::is_journal(&bytes) {
        let (journal, _) = journal::parse(&name, &bytes)?;
        let run = journal::record(&name, &journal)?;
        return Ok(Stored { path: name, run });
    }
    let text = String::from_utf8(bytes).map_err(|error| Error::read(path)(std::io::Error::other(error)))?;
    match json::parse(&text) {
        Ok(run) => Ok(Stored { path: name, run }),
        Err(error) => {
            let help = match error {
                ReadError::Malformed(_) => {
                    "`parity run --format json --out FILE` writes one, `parity run --journal FILE` a journal"
                }
                ReadError::Version { .. } => "repeat the run with this parity",
                ReadError::Incomplete(_) => "repeat the run: a part of this file is lost",
            };
            Err(Error::Data(format!("{name}: {error}; {help}")))
        }
    }
}

/// The text of a file that may be compressed by gzip.
///
/// # Errors
/// The file cannot be read, or it does not hold UTF-8.
pub fn text(path: &Path) -> Result<String, Error> {
    String::from_utf8(bytes(path)?).map_err(|error| Error::read(path)(std::io::Error::other(error)))
}

/// What a file holds, which gzip may have compressed.
///
/// # Errors
/// The file cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, Error> {
    first(path, u64::MAX)
}

/// The first bytes of what a file holds: enough to tell what it is.
///
/// # Errors
/// The file cannot be read.
pub fn start(path: &Path) -> Result<Vec<u8>, Error> {
    first(path, 64)
}

fn first(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let read = || {
        let mut file = BufReader::new(File::open(path)?);
        let mut bytes = Vec::new();
        if file.fill_buf()?.starts_with(&GZIP) {
            GzDecoder::new(file).take(limit).read_to_end(&mut bytes)?;
        } else {
            file.take(limit).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    read().map_err(Error::read(path))
}

/// Refuses two runs that have not computed the same inputs.
///
/// # Errors
/// Their seeds differ.
pub fn same_inputs(before: &Stored, after: &Stored) -> Result<(), Error> {
    let (a, b) = (before.run.seed, after.run.seed);
    if a == b {
        return Ok(());
    }
    Err(Error::Data(format!(
        "{} has seed {a} and {} has seed {b}: their inputs differ, so their results say nothing of each other; repeat \
         one of the runs with the other's --seed",
        before.path, after.path
    )))
}
