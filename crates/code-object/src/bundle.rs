//! Clang's offload bundles: several code objects in one file, each for a target of its own, and their compressed form.
//!
//! `hipcc` and `clang -x hip` write them unless they get `--no-gpu-bundle-output`; `--offload-compress` compresses them.
//! Layouts: clang, "Clang Offload Bundler", sections "Bundled Binary File Layout" and "Compression and Decompression".

use std::borrow::Cow;
use std::io::Read;

use crate::Error;
use crate::bytes::Bytes;

/// How a bundle begins, and its compressed form.
const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const COMPRESSED: &[u8] = b"CCOB";
/// The triple in front of the processor's name.
const TRIPLE: &str = "amdgcn-amd-amdhsa--";
/// A bundle may be this large.
const MAX_UNPACKED: u64 = 1 << 30;

/// One code object of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its name, such as `hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+` or `host-x86_64-unknown-linux-gnu-`.
    pub id: &'a str,
    /// The file; empty for the host.
    pub content: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The AMD processor with its features, such as `gfx90a:sramecc+`; `None` for an entry of another machine.
    ///
    /// ```
    /// use code_object::bundle::Entry;
    /// let entry = |id| Entry { id, content: &[] };
    /// assert_eq!(entry("hipv4-amdgcn-amd-amdhsa--gfx1100").target(), Some("gfx1100"));
    /// assert_eq!(entry("host-x86_64-unknown-linux--").target(), None);
    /// ```
    pub fn target(&self) -> Option<&'a str> {
        self.id.split_once(TRIPLE).map(|(_, target)| target)
    }
}

/// Whether a file begins as a bundle does, compressed or not.
pub fn is_bundle(file: &[u8]) -> bool {
    file.starts_with(MAGIC) || file.starts_with(COMPRESSED)
}

/// The bundle itself: a plain one as it is, a compressed one (versions 1 to 3, zlib or zstd) decompressed.
///
/// # Errors
/// [`Error::Malformed`] for a header that contradicts itself, for an unknown version or method, for more than a gibibyte,
/// and for data that cannot be decompressed to the size which the header names.
pub fn unpack(file: &[u8]) -> Result<Cow<'_, [u8]>, Error> {
    if !file.starts_with(COMPRESSED) {
        return Ok(Cow::Borrowed(file));
    }
    let bytes = Bytes::new("compressed bundle", 0, file);
    let version = bytes.u16(4)?;
    // Offsets of the file's size, of the size of the content and of the compressed data.
    let (file_size, content_size, data) = match version {
        1 => (None, u64::from(bytes.u32(8)?), 20),
        2 => (Some(u64::from(bytes.u32(8)?)), u64::from(bytes.u32(12)?), 24),
        3 => (Some(bytes.u64(8)?), bytes.u64(16)?, 32),
        _ => return Err(bytes.wrong(4, "version 1, 2 or 3", format!("version {version}"))),
    };
    if content_size > MAX_UNPACKED {
        let expected = format!("at most {MAX_UNPACKED} bytes of content");
        return Err(bytes.wrong(8, expected, format!("{content_size} bytes")));
    }
    // Other bundles may follow.
    let end = file_size.unwrap_or(file.len() as u64);
    let len = end
        .checked_sub(data)
        .ok_or_else(|| bytes.wrong(8, "a size with the header", format!("{end} bytes")))?;
    let packed = bytes.slice("compressed data", data, len)?;
    let method = bytes.u16(6)?;
    // Neither decoder looks beyond the end of its data, which version 1 does not say.
    let content = match method {
        0 => limited(flate2::bufread::ZlibDecoder::new(packed.data), content_size),
        1 => match ruzstd::decoding::StreamingDecoder::new(packed.data) {
            Ok(decoder) => limited(decoder, content_size),
            Err(error) => Err(error.to_string()),
        },
        _ => return Err(bytes.wrong(6, "compression 0 (zlib) or 1 (zstd)", format!("{method}"))),
    };
    let content =
        content.map_err(|found| packed.wrong(0, format!("{content_size} bytes of content"), found))?;
    Ok(Cow::Owned(content))
}

/// Reads to the end, which must come after `size` bytes. Memory is reserved as bytes arrive.
fn limited(reader: impl Read, size: u64) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    reader
        .take(size + 1)
        .read_to_end(&mut content)
        .map_err(|error| error.to_string())?;
    match content.len() as u64 {
        len if len == size => Ok(content),
        len if len > size => Err("more".to_owned()),
        len => Err(format!("{len} bytes")),
    }
}

/// The code objects of a plain bundle, in its order.
///
/// # Errors
/// [`Error::Malformed`] for a file that is not a bundle, and for entries that do not lie in it.
pub fn entries(bundle: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let bytes = Bytes::new("bundle", 0, bundle);
    if !bundle.starts_with(MAGIC) {
        return Err(bytes.wrong(0, "__CLANG_OFFLOAD_BUNDLE__", "other bytes"));
    }
    let mut at = MAGIC.len() as u64;
    let count = bytes.u64(at)?;
    at += 8;
    let mut entries = Vec::new();
    // Each turn takes at least the 24 bytes of an entry's header.
    for _ in 0..count {
        let (offset, size, id_len) = (bytes.u64(at)?, bytes.u64(at + 8)?, bytes.u64(at + 16)?);
        let id = bytes.slice("bundle entry", at + 24, id_len)?;
        entries.push(Entry {
            id: std::str::from_utf8(id.data).map_err(|_| id.wrong(0, "a name in UTF-8", "other bytes"))?,
            content: bytes.slice("bundle content", offset, size)?.data,
        });
        at += 24 + id_len;
    }
    Ok(entries)
}
