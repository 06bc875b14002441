//! Writes a bundle: collects what became of every case, and stores each output once.

use std::{collections::BTreeMap, fs, path::Path};

use parity_model::{CaseId, DType, HostTensor, Outcome};
use safetensors::{Dtype, SafeTensorError, tensor::TensorView};

use crate::{
    bundle::{BundleEntry, Kept},
    digest,
    error::BundleError,
    files,
    manifest::{MANIFEST_VERSION, Manifest, Provenance},
};

/// A bundle in the making.
#[derive(Debug, Default)]
pub struct Recorder {
    pub(crate) entries: BTreeMap<String, BundleEntry>,
    pub(crate) values: BTreeMap<String, HostTensor>,
    /// As in [`Manifest`].
    pub(crate) left_out: usize,
}

/// How large a written bundle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Cases.
    pub cases: usize,
    /// Outputs stored in full.
    pub values: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Recorder {
    /// Takes in what the device did with one case. `inputs` are its base tensors; `answer` is the oracle's, rounded to the
    /// output's dtype.
    pub fn add(&mut self, id: &CaseId, inputs: &[HostTensor], answer: &HostTensor, outcome: Outcome) {
        let kept = match outcome {
            Outcome::Ran(output) => {
                let value = digest::of_tensor(&output);
                if output != *answer {
                    self.values.insert(value.clone(), output);
                }
                Kept::Value(value)
            }
            other => Kept::Otherwise(other),
        };
        let inputs = digest::of_inputs(inputs);
        self.entries.insert(id.to_string(), BundleEntry { inputs, kept });
    }

    /// The cases that never ran, of which there is nothing to record.
    pub fn missing(&self) -> Vec<&str> {
        let never_ran = |entry: &BundleEntry| matches!(entry.kept, Kept::Otherwise(Outcome::Missing { .. }));
        let missing = self.entries.iter().filter(|(_, entry)| never_ran(entry));
        missing.map(|(case, _)| case.as_str()).collect()
    }

    /// Writes the bundle into `dir`, which is made where it does not exist.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &Path, provenance: Provenance) -> Result<Size, BundleError> {
        fs::create_dir_all(dir).map_err(|error| BundleError::io("create", dir, &error))?;
        let (entries, values) = (dir.join(files::ENTRIES), dir.join(files::VALUES));
        let lines = self
            .lines()
            .map_err(|error| BundleError::malformed(&entries, error))?;
        let tensors = self
            .tensors()
            .map_err(|error| BundleError::malformed(&values, error))?;
        let (entries_sha256, entries_len) = files::pack(&entries, lines.as_bytes())?;
        let (values_sha256, values_len) = files::pack(&values, &tensors)?;
        let manifest = Manifest {
            version: MANIFEST_VERSION,
            provenance,
            cases: self.entries.len(),
            values: self.values.len(),
            left_out: self.left_out,
            entries_sha256,
            values_sha256,
        };
        manifest.write(&dir.join(files::MANIFEST))?;
        Ok(Size {
            cases: manifest.cases,
            values: manifest.values,
            bytes: entries_len + values_len,
        })
    }

    fn lines(&self) -> Result<String, serde_json::Error> {
        let mut lines = String::new();
        for (case, entry) in &self.entries {
            lines += &serde_json::to_string(&(case, entry))?;
            lines.push('\n');
        }
        Ok(lines)
    }

    fn tensors(&self) -> Result<Vec<u8>, SafeTensorError> {
        let mut views = Vec::with_capacity(self.values.len());
        for (name, tensor) in &self.values {
            let view = TensorView::new(stored_dtype(tensor.dtype), tensor.shape.clone(), &tensor.bytes)?;
            views.push((name, view));
        }
        safetensors::serialize(views, None)
    }
}

/// The format's name for a dtype.
pub(crate) fn stored_dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::U8 => Dtype::U8,
        DType::U32 => Dtype::U32,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::F8E4M3 => Dtype::F8_E4M3,
        DType::BF16 => Dtype::BF16,
        DType::F16 => Dtype::F16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    }
}
