//! Reads stored runs, and says of what cannot be used which file it is, what was expected and how to get it.

use std::{fs, path::Path};

use parity_model::record::RunRecord;
use parity_report::json::{self, ReadError};

use crate::exit::{Exit, Failure};

/// A stored run and the name it goes by in messages.
pub(crate) struct Stored {
    pub(crate) path: String,
    pub(crate) run: RunRecord,
}

/// Reads the run stored in a file.
pub(crate) fn read(path: &Path) -> Result<Stored, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::new(Exit::NoInput, format!("cannot read {name}: {error}")))?;
    match json::parse(&text) {
        Ok(run) => Ok(Stored { path: name, run }),
        Err(error) => {
            let help = match error {
                ReadError::Malformed(_) => "`parity run --output json --out FILE` writes one",
                ReadError::Version { .. } => "repeat the run with this parity",
                ReadError::Incomplete(_) => "repeat the run: a part of this file is lost",
            };
            Err(Failure::new(Exit::BadData, format!("{name}: {error}; {help}")))
        }
    }
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
