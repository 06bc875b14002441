//! Reads a bundle, and answers for the cases that it was recorded for.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use parity_model::{CaseId, DType, HostTensor, Outcome};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use crate::{
    digest,
    error::{BundleError, Stale},
    files,
    manifest::Manifest,
    recorder::{Recorder, stored_dtype},
};

/// What is kept of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BundleEntry {
    /// Digest of the base tensors.
    pub(crate) inputs: String,
    #[serde(flatten)]
    pub(crate) kept: Kept,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    /// A value: its digest, which is its name among the stored ones; where it is not among them, it is the oracle's answer.
    Value(String),
    /// A refusal, a crash, a timeout.
    Otherwise(Outcome),
}

/// A bundle whose files are what they were when it was recorded.
#[derive(Debug)]
pub struct Bundle {
    manifest: Manifest,
    entries: BTreeMap<String, BundleEntry>,
    values: BTreeMap<String, HostTensor>,
}

impl Bundle {
    /// Reads the bundle in `dir` and holds every file and every value in it to its digest.
    ///
    /// # Errors
    /// The first file that is missing, changed or malformed.
    pub fn open(dir: &Path) -> Result<Bundle, BundleError> {
        let manifest = Manifest::read(&dir.join(files::MANIFEST))?;
        let entries = read_entries(&dir.join(files::ENTRIES), &manifest)?;
        let values = read_values(&dir.join(files::VALUES), &manifest)?;
        Ok(Bundle {
            manifest,
            entries,
            values,
        })
    }

    /// Where the outputs come from.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether the bundle can answer for a run with this seed and this candle.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn fits(&self, seed: u64, candle_version: &str) -> Result<(), Stale> {
        let recorded = &self.manifest.provenance;
        if recorded.seed != seed {
            return Err(Stale::Seed {
                now: seed,
                recorded: recorded.seed,
            });
        }
        if recorded.candle_version != candle_version {
            return Err(Stale::Candle {
                now: candle_version.to_owned(),
                recorded: recorded.candle_version.clone(),
            });
        }
        Ok(())
    }

    /// What the device did with a case. `inputs` are the case's base tensors, `answer` is the oracle's, rounded to the
    /// output's dtype.
    ///
    /// # Errors
    /// Why what was recorded does not answer for this case.
    pub fn outcome(&self, id: &CaseId, inputs: &[HostTensor], answer: &HostTensor) -> Result<Outcome, Stale> {
        let entry = self.entries.get(id.as_str()).ok_or(Stale::NotRecorded)?;
        let now = digest::of_inputs(inputs);
        if now != entry.inputs {
            return Err(Stale::Inputs {
                now,
                recorded: entry.inputs.clone(),
            });
        }
        match &entry.kept {
            Kept::Otherwise(outcome) => Ok(outcome.clone()),
            Kept::Value(recorded) => match self.values.get(recorded) {
                Some(value) => Ok(Outcome::Ran(value.clone())),
                None => {
                    let now = digest::of_tensor(answer);
                    if now != *recorded {
                        return Err(Stale::Answer {
                            now,
                            recorded: recorded.clone(),
                        });
                    }
                    Ok(Outcome::Ran(answer.clone()))
                }
            },
        }
    }

    /// Whether there is an entry for a case, be it stale.
    pub fn has(&self, id: &CaseId) -> bool {
        self.entries.contains_key(id.as_str())
    }

    /// The recorded cases that are not among `ids`.
    pub fn orphans<'a>(&'a self, ids: &BTreeSet<String>) -> Vec<&'a str> {
        let recorded = self.entries.keys().map(String::as_str);
        recorded.filter(|id| !ids.contains(*id)).collect()
    }

    /// The same recording without the cases `gone`, and without the outputs that no other case has.
    pub fn without(mut self, gone: &BTreeSet<String>) -> Recorder {
        let before = self.entries.len();
        self.entries.retain(|id, _| !gone.contains(id));
        let digest = |entry: &BundleEntry| match &entry.kept {
            Kept::Value(value) => Some(value.clone()),
            Kept::Otherwise(_) => None,
        };
        let had: BTreeSet<String> = self.entries.values().filter_map(digest).collect();
        self.values.retain(|value, _| had.contains(value));
        Recorder {
            left_out: self.manifest.left_out + before - self.entries.len(),
            entries: self.entries,
            values: self.values,
        }
    }
}

fn read_entries(path: &Path, manifest: &Manifest) -> Result<BTreeMap<String, BundleEntry>, BundleError> {
    let bytes = files::unpack(path, &manifest.entries_sha256)?;
    let text = str::from_utf8(&bytes).map_err(|error| BundleError::malformed(path, error))?;
    let mut entries = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let (case, entry): (String, BundleEntry) = serde_json::from_str(line)
            .map_err(|error| BundleError::malformed(path, format!("line {}: {error}", number + 1)))?;
        entries.insert(case, entry);
    }
    if entries.len() != manifest.cases {
        let (found, said) = (entries.len(), manifest.cases);
        let reason = format!("{found} cases, and the manifest says {said}");
        return Err(BundleError::malformed(path, reason));
    }
    Ok(entries)
}

fn read_values(path: &Path, manifest: &Manifest) -> Result<BTreeMap<String, HostTensor>, BundleError> {
    let bytes = files::unpack(path, &manifest.values_sha256)?;
    let stored = SafeTensors::deserialize(&bytes).map_err(|error| BundleError::malformed(path, error))?;
    let mut values = BTreeMap::new();
    for (name, view) in stored.iter() {
        let dtype = DType::ALL
            .into_iter()
            .find(|dtype| stored_dtype(*dtype) == view.dtype());
        let dtype = dtype.ok_or_else(|| {
            BundleError::malformed(path, format!("tensor {name} has a dtype that candle lacks"))
        })?;
        let tensor = HostTensor {
            dtype,
            shape: view.shape().to_vec(),
            bytes: view.data().to_vec(),
        };
        let found = digest::of_tensor(&tensor);
        if found != name {
            let reason = format!("tensor {name} was changed: its digest is {found}");
            return Err(BundleError::malformed(path, reason));
        }
        values.insert(found, tensor);
    }
    if values.len() != manifest.values {
        let (found, said) = (values.len(), manifest.values);
        let reason = format!("{found} tensors, and the manifest says {said}");
        return Err(BundleError::malformed(path, reason));
    }
    Ok(values)
}
