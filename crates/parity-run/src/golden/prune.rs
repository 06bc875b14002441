//! Leaves out what was recorded of cases that the specs have dropped: no device is needed for that.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use parity_golden::{Bundle, Size};

use super::folder;
use crate::{error::Error, specs};

/// What became of a bundle.
pub struct Pruned {
    /// Its folder.
    pub dir: PathBuf,
    /// The cases that were left out, by their ids.
    pub gone: Vec<String>,
    /// How much it is now; `None` where nothing was left out and no file was written.
    pub size: Option<Size>,
}

/// Writes the bundle `word` again without the cases that no spec has any more. What it says of the device and the time of
/// the recording stays; the manifest counts what was left out.
///
/// # Errors
/// Specs or a bundle that cannot be read, a bundle that was changed after it was recorded, and one that cannot be written.
pub fn prune(word: &str, spec_dir: Option<&Path>) -> Result<Pruned, Error> {
    let spec_dir = specs::find(spec_dir)?;
    let ids: BTreeSet<String> = specs::load(&spec_dir)?
        .iter()
        .map(|case| case.id().to_string())
        .collect();
    let dir = folder(word, &spec_dir)?;
    let bundle = Bundle::open(&dir)?;
    let gone: Vec<String> = bundle.orphans(&ids).into_iter().map(str::to_owned).collect();
    let size = if gone.is_empty() {
        None
    } else {
        let provenance = bundle.manifest().provenance.clone();
        let rest = bundle.without(&gone.iter().cloned().collect());
        Some(rest.write(&dir, provenance)?)
    };
    Ok(Pruned { dir, gone, size })
}
