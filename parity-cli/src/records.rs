//! Reads stored runs, records and journals, and says of what cannot be used which file it is, what was expected and how to get it.

use std::{fs, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use parity_model::record::RunRecord;
use parity_report::json::{self, ReadError};

use crate::{
    exit::{Exit, Failure},
    journal,
    names::look_up,
};

/// A stored run and the name it goes by in messages.
pub(crate) struct Stored {
    pub(crate) path: String,
    pub(crate) run: RunRecord,
}

impl Stored {
    /// The column of the backend with this name.
    pub(crate) fn column(&self, backend: &str) -> Result<usize, Failure> {
        let columns = self.run.backends.iter().enumerate();
        let names = columns.map(|(column, info)| (info.backend.as_str(), column));
        look_up(&format!("backend of {}", self.path), backend, names)
    }
}

/// Reads the run stored in a file. Of a journal, the cases without a result are `not-run`.
pub(crate) fn read(path: &Path) -> Result<Stored, Failure> {
    let name = path.display().to_string();
    let unreadable =
        |error: &dyn std::fmt::Display| Failure::new(Exit::NoInput, format!("cannot read {name}: {error}"));
    let bytes = bytes(path).map_err(|error| unreadable(&error))?;
    if journal::is_journal(&bytes) {
        let (journal, _) = journal::parse(&name, &bytes)?;
        let run = journal::record(&name, &journal)?;
        return Ok(Stored { path: name, run });
    }
    let text = String::from_utf8(bytes).map_err(|error| unreadable(&error))?;
    match json::parse(&text) {
        Ok(run) => Ok(Stored { path: name, run }),
        Err(error) => {
            let help = match error {
                ReadError::Malformed(_) => {
                    "`parity run --output json --out FILE` writes one, `parity run --journal FILE` a journal"
                }
                ReadError::Version { .. } => "repeat the run with this parity",
                ReadError::Incomplete(_) => "repeat the run: a part of this file is lost",
            };
            Err(Failure::new(Exit::BadData, format!("{name}: {error}; {help}")))
        }
    }
}

/// What a file holds, which gzip may have compressed.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let bytes = fs::read(path)?;
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
    Ok(plain)
}

/// Refuses two runs that have not computed the same inputs.
pub(crate) fn same_inputs(before: &Stored, after: &Stored) -> Result<(), Failure> {
    let (a, b) = (before.run.seed, after.run.seed);
    if a == b {
        return Ok(());
    }
    let message = format!(
        "{} has seed {a} and {} has seed {b}: their inputs differ, so their results say nothing of each other; repeat \
         one of the runs with the other's --seed",
        before.path, after.path
    );
    Err(Failure::new(Exit::BadData, message))
}
