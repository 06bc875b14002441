//! Outputs recorded on a device: compared with, recorded, verified, pruned. A recording is named `golden:cuda-h200`, after a
//! folder of golden/ beside the specs; `parity-golden` reads and writes its files.

mod prune;
mod record;
mod verify;

use std::path::{Path, PathBuf};
use std::time::Duration;

use parity_exec::{CANDLE_VERSION, Execution};
use parity_golden::{Bundle, Manifest};
use parity_model::{
    Case, CaseId, HostTensor, Outcome,
    record::{BackendInfo, RECORDED},
};
use parity_oracle::Expected;

use crate::{error::Error, files, settings::quoted};

pub use prune::{Pruned, prune};
pub use record::{Recorded, record};
pub use verify::{Verified, verify};

/// The folder of bundles, beside the folder of specs.
const DIRECTORY: &str = "golden";

/// A bundle that is a column of a run.
#[derive(Debug)]
pub(crate) struct Golden {
    bundle: Bundle,
    /// The column: `golden:cuda-h200`.
    name: String,
}

impl Golden {
    /// Opens the bundle that `word` names for a run with `seed`.
    pub(crate) fn open(word: &str, spec_dir: &Path, seed: u64) -> Result<Golden, Error> {
        let bundle = Bundle::open(&folder(word, spec_dir)?)?;
        bundle.fits(seed, CANDLE_VERSION).map_err(|stale| {
            let name = plain_name(word);
            Error::Data(format!(
                "--against {name}: {stale}; nothing of it can be compared"
            ))
        })?;
        Ok(Golden {
            bundle,
            name: format!("{RECORDED}{}", plain_name(word)),
        })
    }

    /// The column.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The backend whose outputs they are, and by whose known failures they are judged.
    pub(crate) fn backend(&self) -> &str {
        &self.bundle.manifest().provenance.backend.backend
    }

    /// The column's device: the recorded one, and that it is recorded.
    pub(crate) fn info(&self) -> BackendInfo {
        let recorded = &self.bundle.manifest().provenance;
        BackendInfo {
            backend: self.name.clone(),
            level: format!("{}, recorded {}", recorded.backend.level, recorded.recorded),
            ..recorded.backend.clone()
        }
    }

    /// Leaves the cases alone that the bundle has an entry for, stale or not, and says how many are gone.
    pub(crate) fn keep_recorded(&self, cases: &mut Vec<Case>) -> Result<usize, Error> {
        let selected = cases.len();
        cases.retain(|case| self.bundle.has(&case.id()));
        if cases.is_empty() {
            let name = &self.name;
            return Err(Error::Nothing(format!(
                "none of the {selected} selected cases is recorded in {name}"
            )));
        }
        Ok(selected - cases.len())
    }

    /// What the device did with a case; a case that the bundle does not answer for has not run on it.
    pub(crate) fn execution(&self, id: &CaseId, inputs: &[HostTensor], want: &Expected) -> Execution {
        let outcome = self.bundle.outcome(id, inputs, &want.tensor());
        let outcome = outcome.unwrap_or_else(|stale| Outcome::Missing {
            reason: stale.to_string(),
        });
        Execution::seen(outcome, Duration::ZERO)
    }
}

/// The name of a bundle, which may be given as its column is called.
pub(crate) fn plain_name(word: &str) -> &str {
    word.strip_prefix(RECORDED).unwrap_or(word)
}

/// The folder of a bundle: a name is one in golden/, anything with a slash is a path.
fn folder(word: &str, spec_dir: &Path) -> Result<PathBuf, Error> {
    let name = plain_name(word);
    let dir = match name.contains('/') {
        true => PathBuf::from(name),
        false => bundles(spec_dir).join(name),
    };
    if !name.is_empty() && dir.is_dir() {
        return Ok(dir);
    }
    if let Some(manifest) = carried(name) {
        return Err(Error::Missing(absent(name, &dir, &manifest)));
    }
    let there = names(spec_dir);
    let there = match there.is_empty() {
        true => "none".to_owned(),
        false => there.join(", "),
    };
    Err(Error::Missing(format!(
        "no golden bundle {}; there is {there}; `parity golden record --name {}` makes one",
        dir.display(),
        quoted(name)
    )))
}

/// What this program knows of a bundle whose outputs it does not carry.
fn carried(name: &str) -> Option<Manifest> {
    let wanted = format!("{DIRECTORY}/{name}/manifest.json");
    let (path, text) = files::carried().iter().find(|(path, _)| *path == wanted)?;
    Manifest::parse(Path::new(path), text.as_bytes()).ok()
}

fn absent(name: &str, dir: &Path, manifest: &Manifest) -> String {
    let (device, driver) = (
        &manifest.provenance.backend.device,
        &manifest.provenance.backend.driver,
    );
    let (cases, recorded) = (manifest.cases, &manifest.provenance.recorded);
    format!(
        "the outputs of {name} are not here: {cases} cases of an {device} ({driver}), recorded {recorded}, of which this program carries \
         the manifest alone; copy {DIRECTORY}/{name} of its repository to {}",
        dir.display()
    )
}

/// The folder of all bundles: beside the specs, in the working directory where the specs are built in.
pub fn bundles(spec_dir: &Path) -> PathBuf {
    if files::is_built_in(spec_dir) {
        return PathBuf::from(DIRECTORY);
    }
    let beside = spec_dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    beside.unwrap_or(Path::new(".")).join(DIRECTORY)
}

/// The bundles in it, in order.
fn names(spec_dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(bundles(spec_dir));
    let folders = entries.into_iter().flatten().flatten();
    let mut names: Vec<_> = folders
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
