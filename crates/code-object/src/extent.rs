//! How long a file in memory is: HIP's functions get a pointer and no length.
//!
//! Only numbers of headers are looked at; whoever reads the file checks everything else.

use crate::Error;
use crate::bytes::Bytes;

/// Bytes to look at first. No code object and no bundle is shorter.
pub const LEAST: usize = 64;
/// A file may be this long; headers that say more are broken.
const MOST: u64 = 1 << 32;
const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// A section without bytes in the file.
const SHT_NOBITS: u32 = 8;

/// What the first bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The file has these bytes and no more.
    Whole,
    /// It has so many bytes at least, more than were looked at.
    AtLeast(usize),
    /// Its header does not say: it ends where what decompresses it says. [`crate::bundle::unpack`] takes the memory that it lies in.
    Unsaid,
}

/// How far the file goes on of which `start` is the beginning: of [`LEAST`] bytes at first, then of as many as the answer says.
/// Each answer asks for more bytes than the one before, so that it ends.
///
/// ```
/// use code_object::extent::{self, Extent};
/// // An ELF file whose section headers end 100 bytes after the ELF header.
/// let mut file = vec![0; 164];
/// file[..6].copy_from_slice(b"\x7fELF\x02\x01");
/// file[40] = 100; // where they begin
/// file[58] = 64; // bytes of each
/// file[60] = 1; // one of them
/// assert_eq!(extent::of(&file[..extent::LEAST]), Ok(Extent::AtLeast(164)));
/// assert_eq!(extent::of(&file), Ok(Extent::Whole));
/// ```
///
/// # Errors
/// [`Error::Malformed`] for what is neither an ELF file of 64 bits nor a bundle, for headers that name more than 4 GiB, and for a
/// compressed bundle of an unknown version.
pub fn of(start: &[u8]) -> Result<Extent, Error> {
    let bytes = Bytes::new("file in memory", 0, start);
    let end = if start.starts_with(b"\x7fELF\x02\x01") {
        elf(&bytes)?
    } else if start.starts_with(BUNDLE) {
        bundle(&bytes)?
    } else if start.starts_with(b"CCOB") {
        match bytes.u16(4)? {
            1 => return Ok(Extent::Unsaid),
            2 => u64::from(bytes.u32(8)?),
            3 => bytes.u64(8)?,
            version => {
                let expected = "version 1, 2 or 3 of a compressed bundle";
                return Err(bytes.wrong(4, expected, format!("version {version}")));
            }
        }
    } else {
        return Err(bytes.wrong(0, "an ELF file of 64 bits or a bundle", "other bytes"));
    };
    if end > MOST {
        return Err(bytes.wrong(0, format!("at most {MOST} bytes"), format!("{end} bytes")));
    }
    match end as usize > start.len() {
        true => Ok(Extent::AtLeast(end as usize)),
        false => Ok(Extent::Whole),
    }
}

/// Whether a range was looked at; else its end is the answer for now.
fn beyond(bytes: &Bytes<'_>, end: u64) -> Option<u64> {
    (end > bytes.data.len() as u64).then_some(end)
}

/// The end of an ELF file, or of its header tables while they are not there.
fn elf(bytes: &Bytes<'_>) -> Result<u64, Error> {
    let mut end = LEAST as u64;
    let mut tables = Vec::new();
    for (offset_at, size_at, least) in [(32, 54, 56), (40, 58, 64)] {
        let (offset, size) = (bytes.u64(offset_at)?, bytes.u16(size_at)?);
        let count = bytes.u16(size_at + 2)?;
        if count > 0 && size != least {
            return Err(bytes.wrong(size_at, format!("headers of {least} bytes"), format!("{size}")));
        }
        let after = offset.saturating_add(u64::from(size) * u64::from(count));
        end = end.max(after);
        tables.push((offset, u64::from(size), u64::from(count)));
    }
    if let Some(end) = beyond(bytes, end) {
        return Ok(end);
    }
    let [
        (segments, segment, segment_count),
        (sections, section, section_count),
    ] = tables[..]
    else {
        return Ok(end);
    };
    for index in 0..segment_count {
        let at = segments + index * segment;
        end = end.max(bytes.u64(at + 8)?.saturating_add(bytes.u64(at + 32)?));
    }
    for index in 0..section_count {
        let at = sections + index * section;
        if bytes.u32(at + 4)? != SHT_NOBITS {
            end = end.max(bytes.u64(at + 24)?.saturating_add(bytes.u64(at + 32)?));
        }
    }
    Ok(end)
}

/// The end of a bundle, or of its next header while that is not there.
fn bundle(bytes: &Bytes<'_>) -> Result<u64, Error> {
    let mut at = BUNDLE.len() as u64;
    let count = bytes.u64(at)?;
    at += 8;
    let mut end = at;
    for _ in 0..count {
        let header = at.saturating_add(24);
        if let Some(end) = beyond(bytes, header) {
            return Ok(end);
        }
        let (offset, size, name) = (bytes.u64(at)?, bytes.u64(at + 8)?, bytes.u64(at + 16)?);
        end = end
            .max(offset.saturating_add(size))
            .max(header.saturating_add(name));
        at = header.saturating_add(name);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows the answers through a file with other bytes after it.
    fn len_of(file: &[u8]) -> Result<usize, Error> {
        let mut len = LEAST;
        loop {
            match of(&file[..len])? {
                Extent::Whole => return Ok(len),
                Extent::Unsaid => return Ok(0),
                Extent::AtLeast(more) => {
                    assert!(more > len);
                    len = more;
                }
            }
        }
    }

    #[test]
    fn the_length_of_a_real_elf_file_is_its_size() {
        // The test program itself: linked by the host's linker, with the section headers at its end.
        let mut file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let size = file.len();
        file.extend([0; 100]);
        assert_eq!(len_of(&file), Ok(size));
    }

    #[test]
    fn a_bundle_ends_with_its_last_entry() {
        let mut file = BUNDLE.to_vec();
        file.extend(2_u64.to_le_bytes());
        for (offset, size, name) in [
            (4096_u64, 10_u64, "host"),
            (5000, 300, "hipv4-amdgcn-amd-amdhsa--gfx1100"),
        ] {
            for number in [offset, size, name.len() as u64] {
                file.extend(number.to_le_bytes());
            }
            file.extend(name.bytes());
        }
        file.resize(6000, 0);
        assert_eq!(len_of(&file), Ok(5300));
    }

    #[test]
    fn a_compressed_bundle_says_its_length_from_version_2_on() {
        let mut file = b"CCOB\x02\x00\x01\x00".to_vec();
        file.extend(100_u32.to_le_bytes());
        file.resize(200, 0);
        assert_eq!(len_of(&file), Ok(100));
        file[4] = 3;
        assert_eq!(len_of(&file), Ok(100));
        file[4] = 1;
        assert_eq!(len_of(&file), Ok(0));
        file[4] = 9;
        assert!(len_of(&file).unwrap_err().to_string().contains("version 9"));
    }

    #[test]
    fn other_bytes_and_headers_that_point_far_away_are_refused() {
        assert!(of(&[0; 64]).is_err());
        let mut header = [0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(of(&header), Ok(Extent::Whole));
        header[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(of(&header).is_err());
    }
}
