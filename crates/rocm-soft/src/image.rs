//! How long an ELF file in memory is: `hipModuleLoadData` gets a pointer and no length.
//!
//! Only numbers of the headers are looked at; `gfx-emu` checks everything else.

/// Bytes of an ELF64 header.
pub(crate) const HEADER_BYTES: usize = 64;
/// A code object may be this long; a header that says more is broken.
const MAX_BYTES: u64 = 1 << 30;
/// Bytes of a section header.
const SECTION_BYTES: usize = 64;
/// Bytes of a program header.
const SEGMENT_BYTES: usize = 56;
/// A section without bytes in the file.
const SHT_NOBITS: u64 = 8;

/// A little-endian number of `bytes` bytes.
fn number(data: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let field = data.get(at..at.checked_add(bytes)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)),
    )
}

/// Offset, entry size and number of entries of a header table.
fn table(header: &[u8], offset_at: usize, size_at: usize, entry: usize) -> Option<(u64, u64)> {
    let (offset, size, count) = (
        number(header, offset_at, 8)?,
        number(header, size_at, 2)?,
        number(header, size_at + 2, 2)?,
    );
    (count == 0 || size == entry as u64).then_some((offset, count))
}

/// How many bytes at least must be read to see both header tables; `None` when this is not an ELF64 file.
pub(crate) fn tables_end(header: &[u8; HEADER_BYTES]) -> Option<usize> {
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (segments, segment_count) = table(header, 32, 54, SEGMENT_BYTES)?;
    let (sections, section_count) = table(header, 40, 58, SECTION_BYTES)?;
    let segments_end = segments.checked_add(segment_count * SEGMENT_BYTES as u64)?;
    let sections_end = sections.checked_add(section_count * SECTION_BYTES as u64)?;
    limit(segments_end.max(sections_end).max(HEADER_BYTES as u64))
}

/// The length of the whole file, from its first [`tables_end`] bytes.
pub(crate) fn file_len(start: &[u8]) -> Option<usize> {
    let mut end = start.len() as u64;
    let (segments, count) = table(start, 32, 54, SEGMENT_BYTES)?;
    for i in 0..count as usize {
        let at = (segments as usize).checked_add(i * SEGMENT_BYTES)?;
        end = end.max(number(start, at + 8, 8)?.checked_add(number(start, at + 32, 8)?)?);
    }
    let (sections, count) = table(start, 40, 58, SECTION_BYTES)?;
    for i in 0..count as usize {
        let at = (sections as usize).checked_add(i * SECTION_BYTES)?;
        if number(start, at + 4, 4)? != SHT_NOBITS {
            end = end.max(number(start, at + 24, 8)?.checked_add(number(start, at + 32, 8)?)?);
        }
    }
    limit(end)
}

fn limit(end: u64) -> Option<usize> {
    usize::try_from(end).ok().filter(|_| end <= MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn len_of(file: &[u8]) -> Option<usize> {
        let end = tables_end(file.first_chunk()?)?;
        file_len(file.get(..end)?)
    }

    #[test]
    fn the_length_of_a_real_elf_file_is_its_size() {
        // The test program itself: linked by the host's linker, with the section headers at its end.
        let mut file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(len_of(&file), Some(file.len()));
        file.extend([0; 100]);
        assert_eq!(len_of(&file), Some(file.len() - 100));
    }

    #[test]
    fn what_is_no_elf_file_has_no_length() {
        assert_eq!(len_of(&[0; 64]), None);
        assert_eq!(
            len_of(b"__CLANG_OFFLOAD_BUNDLE__________________________________________"),
            None
        );
    }

    #[test]
    fn a_header_that_points_far_away_has_no_length() {
        let mut header = [0; HEADER_BYTES];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(tables_end(&header), Some(HEADER_BYTES));
        header[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(tables_end(&header), None);
    }
}
