//! The files of weights that specs name: where they lie, and whether they are the ones that the specs mean.

use std::{
    fmt::Write as _,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use zoo_protocol::ModelSpec;

use crate::Error;

/// Where a model's file lies.
pub(crate) fn path(model: &ModelSpec, folder: Option<&Path>) -> Option<PathBuf> {
    let file = model.weights.as_ref()?;
    Some(folder.unwrap_or(Path::new("")).join(&file.file))
}

/// Where the calls lie that another program made.
pub(crate) fn calls(model: &ModelSpec, folder: Option<&Path>) -> Option<PathBuf> {
    let calls = model.calls.as_ref()?;
    Some(folder.unwrap_or(Path::new("")).join(&calls.file))
}

/// Reads a model's file once, where it has one.
///
/// # Errors
/// No folder is named, the file cannot be read, or its digest is not the spec's.
pub(crate) fn check(model: &ModelSpec, folder: Option<&Path>) -> Result<(), Error> {
    let (Some(file), Some(path)) = (&model.weights, path(model, folder)) else {
        return Ok(());
    };
    let missing = |why: String| Error::NoWeights {
        model: model.name.clone(),
        path: path.clone(),
        why,
    };
    if folder.is_none() {
        return Err(missing("no folder of weights is named".to_owned()));
    }
    let found = digest(&path).map_err(|why| missing(why.to_string()))?;
    if found != file.sha256.to_ascii_lowercase() {
        return Err(missing(format!("its SHA-256 is {found}, not {}", file.sha256)));
    }
    match calls(model, folder).filter(|calls| !calls.is_file()) {
        None => Ok(()),
        Some(calls) => Err(Error::NoWeights {
            model: model.name.clone(),
            path: calls,
            why: "the calls of another program are not there; `ci/models` makes them".to_owned(),
        }),
    }
}

/// The SHA-256 of a file, in hex.
fn digest(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    let mut text = String::new();
    for byte in hash.finalize() {
        // Writing to a `String` does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
