//! The list of known failures: read, checked against the specs, applied to judged results.

use std::path::Path;

use parity_model::{Case, CaseId, known::KnownFailures};

use crate::{
    exit::Failure,
    specs::{KNOWN_FAILURES, Sources},
};

/// The list asked for; else the one in the spec directory; else an empty one.
///
/// An entry that matches no case of any spec is an error: it would silently excuse a case that comes back.
pub(crate) fn load(asked: Option<&Path>, spec_dir: &Path, all: &[Case]) -> Result<KnownFailures, Failure> {
    let beside = spec_dir.join(KNOWN_FAILURES);
    let path = match asked {
        Some(path) => path,
        None if beside.is_file() => &beside,
        None => return Ok(KnownFailures::default()),
    };
    let mut sources = Sources::default();
    let text = sources.read(path)?;
    let parsed = KnownFailures::parse(&path.display().to_string(), text);
    let known = parsed.map_err(|errors| sources.failure(&errors))?;
    let ids: Vec<CaseId> = all.iter().map(Case::id).collect();
    let stale = known.stale(ids.iter());
    if stale.is_empty() {
        Ok(known)
    } else {
        Err(sources.failure(&stale))
    }
}
