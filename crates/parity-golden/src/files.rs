//! The files of a bundle: read and written whole, with errors that name them.

use std::{
    fs,
    io::{Read, Write},
    path::Path,
};

use flate2::{Compression, GzBuilder, read::GzDecoder};

use crate::{digest, error::BundleError};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const ENTRIES: &str = "entries.jsonl.gz";
pub(crate) const VALUES: &str = "values.safetensors.gz";

/// No file of a bundle unpacks to more: a damaged length must not take the machine's memory.
const MAX_UNPACKED: u64 = 1 << 30;

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, BundleError> {
    fs::read(path).map_err(|error| BundleError::io("read", path, &error))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BundleError> {
    fs::write(path, bytes).map_err(|error| BundleError::io("write", path, &error))
}

/// Compresses and writes; the same bytes give the same file. Returns the file's SHA-256 and its length.
pub(crate) fn pack(path: &Path, bytes: &[u8]) -> Result<(String, u64), BundleError> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    let packed = packed.map_err(|error| BundleError::io("write", path, &error))?;
    write(path, &packed)?;
    Ok((digest::of_bytes(&packed), packed.len() as u64))
}

/// Reads and unpacks a file that must have the SHA-256 `expected`.
pub(crate) fn unpack(path: &Path, expected: &str) -> Result<Vec<u8>, BundleError> {
    let packed = read(path)?;
    let found = digest::of_bytes(&packed);
    if found != expected {
        return Err(BundleError::Changed {
            path: path.display().to_string(),
            expected: expected.to_owned(),
            found,
        });
    }
    let mut bytes = Vec::new();
    let mut unpacker = GzDecoder::new(packed.as_slice()).take(MAX_UNPACKED);
    let read = unpacker.read_to_end(&mut bytes);
    read.map_err(|error| BundleError::malformed(path, format!("it does not unpack: {error}")))?;
    Ok(bytes)
}
