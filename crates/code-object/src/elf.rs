//! ELF files of 64 bits, little-endian: header, segments, sections and notes. It knows nothing of GPUs.

use crate::Error;
use crate::bytes::Bytes;

/// Bytes of the file header and of an entry of each table.
const HEADER: u64 = 64;
const SEGMENT: u64 = 56;
const SECTION: u64 = 64;
/// How a 64-bit little-endian ELF file begins.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// A segment, or a section, of notes.
const PT_NOTE: u32 = 4;
const SHT_NOTE: u32 = 7;
/// A section without bytes in the file.
const SHT_NOBITS: u32 = 8;
/// A name may be this long: many symbols may name the same one, and each is read.
const MAX_NAME: usize = 1 << 16;

/// An ELF file whose headers were read. All that they name lies in the file.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    pub(crate) file: Bytes<'a>,
    pub(crate) header: Header,
    segments: Vec<Segment<'a>>,
    sections: Vec<Section<'a>>,
}

/// What the file header says, apart from where the tables are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) os_abi: u8,
    pub(crate) abi_version: u8,
    pub(crate) file_type: u16,
    pub(crate) machine: u16,
    pub(crate) flags: u32,
}

/// A segment: a part of the memory image, or of what loaders read.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`: 1 for code, 2 where it is written to, 4 where it is read.
    pub flags: u32,
    /// Address in the image.
    pub address: u64,
    /// Bytes in the image; those that the file lacks are zero.
    pub memory_size: u64,
    /// Offset in the file.
    pub offset: u64,
    /// The bytes in the file.
    pub content: &'a [u8],
}

/// A section: a part of the file for linkers and debuggers.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its name; empty where the file has no table of names.
    pub name: &'a str,
    /// `sh_type`.
    pub kind: u32,
    /// Number of the section that belongs to this one; of a symbol table, its names.
    pub link: u32,
    /// Offset in the file.
    pub offset: u64,
    /// The bytes in the file; none where the section has memory alone.
    pub content: &'a [u8],
}

/// A note: bytes for a reader that knows its owner and its number.
#[derive(Clone, Copy, Debug)]
pub struct Note<'a> {
    /// Who defines the numbers, without the zero at its end.
    pub owner: &'a [u8],
    /// `n_type`.
    pub kind: u32,
    /// Offset of the content in the file.
    pub offset: u64,
    /// The content.
    pub content: &'a [u8],
}

impl<'a> Elf<'a> {
    /// Reads the headers of a file and checks that all they name lies in it.
    ///
    /// # Errors
    /// [`Error::NotElf`] for another kind of file, [`Error::Malformed`] for one that is cut off or contradicts itself.
    pub fn parse(file: &'a [u8]) -> Result<Elf<'a>, Error> {
        let bytes = Bytes::new("file", 0, file);
        if !file.starts_with(MAGIC) || (file.len() as u64) < HEADER {
            let found = if crate::bundle::is_bundle(file) {
                "a clang offload bundle; compile with `--no-gpu-bundle-output`, or unpack it".to_owned()
            } else {
                let first: Vec<String> = file.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
                format!("{} bytes that begin with {}", file.len(), first.join(" "))
            };
            return Err(Error::NotElf { found });
        }
        let header = bytes.slice("ELF header", 0, HEADER)?;
        let mut elf = Elf {
            file: bytes,
            header: Header {
                os_abi: file[7],
                abi_version: file[8],
                file_type: header.u16(16)?,
                machine: header.u16(18)?,
                flags: header.u32(48)?,
            },
            segments: Vec::new(),
            sections: Vec::new(),
        };
        for entry in table(&bytes, &header, "program headers", [32, 54], SEGMENT)? {
            elf.segments.push(segment(&bytes, &entry)?);
        }
        let mut names = Vec::new();
        for entry in table(&bytes, &header, "section headers", [40, 58], SECTION)? {
            names.push((entry, entry.u32(0)?));
            elf.sections.push(section(&bytes, &entry)?);
        }
        let table = elf.sections.get(usize::from(header.u16(62)?)).copied();
        if let Some(table) = table {
            let table = Bytes::new("section names", table.offset, table.content);
            for (section, (entry, at)) in elf.sections.iter_mut().zip(names) {
                section.name = text(&table, at.into()).ok_or_else(|| {
                    entry.wrong(0, "the offset of a name", format!("{at} of {}", table.data.len()))
                })?;
            }
        }
        Ok(elf)
    }

    /// The segments, in the order of the file.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// The sections, in the order of the file.
    pub fn sections(&self) -> &[Section<'a>] {
        &self.sections
    }

    /// The first section of that name.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The notes of all segments; those of the sections in a file without segments.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a note that reaches out of its segment.
    pub fn notes(&self) -> Result<Vec<Note<'a>>, Error> {
        let segments = self.segments.iter().filter(|segment| segment.kind == PT_NOTE);
        let mut parts: Vec<_> = segments
            .map(|segment| (segment.offset, segment.content))
            .collect();
        if self.segments.is_empty() {
            let sections = self.sections.iter().filter(|section| section.kind == SHT_NOTE);
            parts.extend(sections.map(|section| (section.offset, section.content)));
        }
        let mut notes = Vec::new();
        for (offset, content) in parts {
            read_notes(Bytes::new("notes", offset, content), &mut notes)?;
        }
        Ok(notes)
    }
}

/// The entries of a header table. The header has its offset at the first of `fields`, and entry size and count at the second.
fn table<'a>(
    file: &Bytes<'a>,
    header: &Bytes<'a>,
    part: &'static str,
    fields: [u64; 2],
    size: u64,
) -> Result<Vec<Bytes<'a>>, Error> {
    let (offset, entry_size, count) = (
        header.u64(fields[0])?,
        header.u16(fields[1])?,
        header.u16(fields[1] + 2)?,
    );
    if count > 0 && u64::from(entry_size) != size {
        let expected = format!("{part} of {size} bytes each");
        return Err(header.wrong(fields[1], expected, format!("{entry_size} bytes")));
    }
    let count = if offset == 0 { 0 } else { u64::from(count) };
    let table = file.slice(part, offset, count * size)?;
    (0..count)
        .map(|index| table.slice(part, index * size, size))
        .collect()
}

fn segment<'a>(file: &Bytes<'a>, entry: &Bytes<'a>) -> Result<Segment<'a>, Error> {
    let content = file.slice("segment", entry.u64(8)?, entry.u64(32)?)?;
    Ok(Segment {
        kind: entry.u32(0)?,
        flags: entry.u32(4)?,
        address: entry.u64(16)?,
        memory_size: entry.u64(40)?,
        offset: content.offset,
        content: content.data,
    })
}

fn section<'a>(file: &Bytes<'a>, entry: &Bytes<'a>) -> Result<Section<'a>, Error> {
    let kind = entry.u32(4)?;
    let size = if kind == SHT_NOBITS { 0 } else { entry.u64(32)? };
    // A section without bytes may name any offset.
    let offset = if size == 0 { 0 } else { entry.u64(24)? };
    let content = file.slice("section", offset, size)?;
    Ok(Section {
        name: "",
        kind,
        link: entry.u32(40)?,
        offset: content.offset,
        content: content.data,
    })
}

/// The text at `at` of a table of names, up to the zero at its end.
pub(crate) fn text<'a>(table: &Bytes<'a>, at: u64) -> Option<&'a str> {
    let rest = table.data.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().take(MAX_NAME).position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

fn read_notes<'a>(notes: Bytes<'a>, out: &mut Vec<Note<'a>>) -> Result<(), Error> {
    let padded = |len: u32| u64::from(len).next_multiple_of(4);
    let mut at = 0;
    // Each turn takes at least the 12 bytes of a note's header.
    while at < notes.data.len() as u64 {
        let (owner_len, len, kind) = (notes.u32(at)?, notes.u32(at + 4)?, notes.u32(at + 8)?);
        let owner = notes.slice("note", at + 12, owner_len.into())?.data;
        let content = notes.slice("note", at + 12 + padded(owner_len), len.into())?;
        out.push(Note {
            owner: owner.strip_suffix(b"\0").unwrap_or(owner),
            kind,
            offset: content.offset,
            content: content.data,
        });
        at += 12 + padded(owner_len) + padded(len);
    }
    Ok(())
}
