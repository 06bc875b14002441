//! The manifest of a bundle: where its outputs come from, and what its files must be.

use std::path::Path;

use parity_model::record::BackendInfo;
use serde::{Deserialize, Serialize};

use crate::{digest, error::BundleError, files};

/// Version of the layout of a bundle; bumped when a reader of the old one would misread the new one.
pub const MANIFEST_VERSION: u32 = 1;

/// Where recorded outputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The device, its level, its driver and target, as the run on it reported them.
    pub backend: BackendInfo,
    /// When the recording began, RFC 3339, UTC.
    pub recorded: String,
    /// `parity`'s version.
    pub parity_version: String,
    /// candle-core's version.
    pub candle_version: String,
    /// Commit of the working tree, where known.
    pub commit: Option<String>,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// Digest of the specs and known failures, as in a run's record.
    pub specs: String,
}

/// What a bundle is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`].
    pub version: u32,
    /// Where the outputs come from.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Cases recorded.
    pub cases: usize,
    /// Outputs that are stored in full, each once.
    pub values: usize,
    /// Cases that were recorded as well and have been left out since ([`crate::Bundle::without`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// SHA-256 of `entries.jsonl.gz`.
    pub entries_sha256: String,
    /// SHA-256 of `values.safetensors.gz`.
    pub values_sha256: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over the field's reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A manifest as it is stored: with a digest of itself, so that a change of any figure of it is noticed.
#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    manifest: Manifest,
    /// SHA-256 of the manifest's text without this field.
    sha256: String,
}

impl Manifest {
    fn text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// The file's text.
    fn sealed(&self) -> Result<String, serde_json::Error> {
        let sealed = Sealed {
            manifest: self.clone(),
            sha256: digest::of_bytes(self.text()?.as_bytes()),
        };
        Ok(serde_json::to_string_pretty(&sealed)? + "\n")
    }

    pub(crate) fn write(&self, path: &Path) -> Result<(), BundleError> {
        let text = self
            .sealed()
            .map_err(|error| BundleError::malformed(path, error))?;
        files::write(path, text.as_bytes())
    }

    pub(crate) fn read(path: &Path) -> Result<Manifest, BundleError> {
        Manifest::parse(path, &files::read(path)?)
    }

    /// The manifest with these bytes; `path` names it in errors.
    ///
    /// # Errors
    /// The bytes are not a manifest, the manifest has another version, or somebody changed it after the recording.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Manifest, BundleError> {
        let malformed = |reason: String| BundleError::malformed(path, reason);
        let version = serde_json::from_slice::<Versioned>(bytes)
            .map_err(|error| malformed(format!("no manifest of a golden bundle: {error}")))?
            .version;
        if version != MANIFEST_VERSION {
            return Err(BundleError::Version {
                path: path.display().to_string(),
                found: version,
                expected: MANIFEST_VERSION,
            });
        }
        let sealed: Sealed = serde_json::from_slice(bytes)
            .map_err(|error| malformed(format!("no manifest of a golden bundle: {error}")))?;
        let text = sealed
            .manifest
            .sealed()
            .map_err(|error| malformed(error.to_string()))?;
        if text.as_bytes() != bytes {
            return Err(malformed(
                "the manifest was changed after it was recorded: it does not have the digest that its last line names"
                    .to_owned(),
            ));
        }
        Ok(sealed.manifest)
    }
}

/// Enough of any version's manifest to tell which it is.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}
