//! The list of known failures: read, checked against the specs, applied to judged results.

use std::path::Path;

use parity_model::{Case, CaseId, known::KnownFailures};

use crate::{
    error::Error,
    specs::{KNOWN_FAILURES, Sources},
};

/// The list asked for; else the one in the spec directory; else an empty one.
///
/// # Errors
/// A list that cannot be read, and an entry that matches no case of any spec: it would silently excuse a case that comes
/// back.
pub fn load(asked: Option<&Path>, spec_dir: &Path, all: &[Case]) -> Result<KnownFailures, Error> {
    let beside = spec_dir.join(KNOWN_FAILURES);
    let path = match asked {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => return Ok(KnownFailures::default()),
    };
    let mut sources = Sources::default();
    let text = sources.read(path)?;
    let parsed = KnownFailures::parse(&path.display().to_string(), text);
    let known = match parsed {
        Ok(known) => known,
        Err(errors) => return Err(sources.failure(errors)),
    };
    let ids: Vec<CaseId> = all.iter().map(Case::id).collect();
    let stale = known.stale(ids.iter());
    if stale.is_empty() {
        Ok(known)
    } else {
        Err(sources.failure(stale))
    }
}
