//! Code objects: ELF files for AMD GPUs, with an image, symbols, relocations, descriptors and metadata.

use crate::bytes::Bytes;
use crate::descriptor::{DESCRIPTOR_BYTES, KernelDescriptor};
use crate::elf::{self, Elf};
use crate::{Error, Metadata, metadata, msgpack};

/// `e_machine` of AMD GPUs, and `e_type` of linked files.
const EM_AMDGPU: u16 = 224;
const ET_DYN: u16 = 3;
/// `e_ident[EI_OSABI]` of code objects for the HSA runtime, which HIP uses.
const ELFOSABI_AMDGPU_HSA: u8 = 64;
/// `e_ident[EI_ABIVERSION]` of code object versions 4, 5 and 6.
const ABI_VERSIONS: std::ops::RangeInclusive<u8> = 2..=4;
/// The processor within `e_flags`.
const EF_AMDGPU_MACH: u32 = 0xff;
/// Owner and number of the metadata note.
const NOTE_OWNER: &[u8] = b"AMDGPU";
const NT_AMDGPU_METADATA: u32 = 32;

/// Kinds of segments and of sections.
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const SHT_DYNSYM: u32 = 11;
/// Bytes of an entry of the dynamic section, of a symbol and of a relocation.
const DYNAMIC: u64 = 16;
const SYMBOL: u64 = 24;
const RELA: u64 = 24;

/// An image may be this large: device code with its constants and variables.
pub const MAX_IMAGE: u64 = 1 << 28;

/// A linked code object for AMD GPUs.
#[derive(Clone, Debug)]
pub struct CodeObject<'a> {
    elf: Elf<'a>,
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A variable, or a kernel's descriptor.
    Object,
    /// A function.
    Function,
    /// Another kind, or none.
    Other,
}

/// A symbol of the dynamic symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name; the first symbol of a table has none.
    pub name: &'a str,
    /// Address in the image.
    pub address: u64,
    /// Bytes, 0 where the file does not say.
    pub size: u64,
    /// What it names.
    pub kind: SymbolKind,
    /// Whether the file defines it.
    pub is_defined: bool,
}

/// What a relocation writes. `S` is the symbol's address, `A` the addend, `P` the place, `B` the image's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocationKind {
    /// Nothing.
    None,
    /// The low half of `S + A`.
    Abs32Lo,
    /// The high half of `S + A`.
    Abs32Hi,
    /// `S + A` in 64 bits.
    Abs64,
    /// `S + A - P` in 32 bits.
    Rel32,
    /// `S + A - P` in 64 bits.
    Rel64,
    /// `S + A` in 32 bits.
    Abs32,
    /// The low half of `S + A - P`.
    Rel32Lo,
    /// The high half of `S + A - P`.
    Rel32Hi,
    /// `B + A` in 64 bits.
    Relative64,
}

/// One relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where it writes, as an address in the image.
    pub place: u64,
    /// What it writes.
    pub kind: RelocationKind,
    /// Number of the symbol in [`CodeObject::symbols`].
    pub symbol: u32,
    /// The addend.
    pub addend: i64,
}

impl<'a> CodeObject<'a> {
    /// Reads the headers of a linked code object of versions 4 to 6.
    ///
    /// # Errors
    /// [`Error::NotElf`] and [`Error::OtherMachine`] for another file, [`Error::Malformed`] for a broken one.
    pub fn parse(file: &'a [u8]) -> Result<CodeObject<'a>, Error> {
        let elf = Elf::parse(file)?;
        let header = elf.header;
        let other = |field, found: u64, expected| {
            Err(Error::OtherMachine {
                field,
                found,
                expected,
            })
        };
        if header.machine != EM_AMDGPU {
            return other("the ELF machine", header.machine.into(), "224 (EM_AMDGPU)");
        }
        if header.os_abi != ELFOSABI_AMDGPU_HSA {
            return other("the OS ABI", header.os_abi.into(), "64 (HSA); compile for amdhsa");
        }
        if !ABI_VERSIONS.contains(&header.abi_version) {
            let expected = "2 to 4; compile with `-mcode-object-version=5`";
            return other("the ABI version", header.abi_version.into(), expected);
        }
        if header.file_type != ET_DYN {
            return other("the ELF type", header.file_type.into(), "3 (ET_DYN); link it");
        }
        Ok(CodeObject { elf })
    }

    /// The ELF file.
    pub fn elf(&self) -> &Elf<'a> {
        &self.elf
    }

    /// The processor's number, `EF_AMDGPU_MACH`.
    pub fn machine(&self) -> u8 {
        (self.elf.header.flags & EF_AMDGPU_MACH) as u8
    }

    /// The version of code objects: 4, 5 or 6.
    pub fn version(&self) -> u8 {
        self.elf.header.abi_version.saturating_add(2)
    }

    /// The bytes as they lie in memory, from address 0 to the end of the last segment, before relocation.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it would be larger than [`MAX_IMAGE`], or a segment is larger in the file than in memory.
    pub fn image(&self) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        for segment in self.loaded() {
            let entry = Bytes::new("segment", segment.offset, segment.content);
            let end = segment.address.checked_add(segment.memory_size);
            let end = end.filter(|end| *end <= MAX_IMAGE).ok_or_else(|| {
                let found = format!("{} bytes at address {:#x}", segment.memory_size, segment.address);
                entry.wrong(0, format!("an end within {MAX_IMAGE} bytes"), found)
            })?;
            let len = segment.content.len() as u64;
            if len > segment.memory_size {
                let expected = format!("at most the {} bytes that it has in memory", segment.memory_size);
                return Err(entry.wrong(0, expected, format!("{len} bytes")));
            }
            size = size.max(end);
        }
        let mut image = vec![0; size as usize];
        for segment in self.loaded() {
            let start = segment.address as usize;
            image[start..start + segment.content.len()].copy_from_slice(segment.content);
        }
        Ok(image)
    }

    /// The segments of the image.
    pub fn loaded(&self) -> impl Iterator<Item = &elf::Segment<'a>> {
        self.elf
            .segments()
            .iter()
            .filter(|segment| segment.kind == PT_LOAD)
    }

    /// The dynamic symbols; none in a file without a table of them.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a table without names, or a name outside the table of names.
    pub fn symbols(&self) -> Result<Vec<Symbol<'a>>, Error> {
        let sections = self.elf.sections();
        let Some(table) = sections.iter().find(|section| section.kind == SHT_DYNSYM) else {
            return Ok(Vec::new());
        };
        let entries = Bytes::new("symbol table", table.offset, table.content);
        let names = sections.get(table.link as usize).ok_or_else(|| {
            let expected = format!("names in one of the {} sections", sections.len());
            entries.wrong(0, expected, format!("section {}", table.link))
        })?;
        let names = Bytes::new("symbol names", names.offset, names.content);
        (0..table.content.len() as u64 / SYMBOL)
            .map(|index| symbol(&entries.slice("symbol", index * SYMBOL, SYMBOL)?, &names))
            .collect()
    }

    /// The relocations that the loader applies.
    ///
    /// # Errors
    /// [`Error::Malformed`] for tables of another form than RELA, for tables outside the image, for kinds that are not
    /// relocations of data and for places outside the image.
    pub fn relocations(&self) -> Result<Vec<Relocation>, Error> {
        let mut relocations = Vec::new();
        for segment in self
            .elf
            .segments()
            .iter()
            .filter(|segment| segment.kind == PT_DYNAMIC)
        {
            let dynamic = Bytes::new("dynamic section", segment.offset, segment.content);
            // Address and size of the two RELA tables: DT_RELA and DT_JMPREL.
            let mut tables = [[None; 2]; 2];
            for at in (0..segment.content.len() as u64 / DYNAMIC).map(|index| index * DYNAMIC) {
                let value = dynamic.u64(at + 8)?;
                match dynamic.u64(at)? {
                    0 => break,
                    7 => tables[0][0] = Some(value),
                    8 => tables[0][1] = Some(value),
                    23 => tables[1][0] = Some(value),
                    2 => tables[1][1] = Some(value),
                    // DT_RELSZ and DT_RELRSZ.
                    tag @ (18 | 35) if value > 0 => {
                        let found = format!("{value} bytes of a table with tag {tag}");
                        return Err(dynamic.wrong(at, "relocations with addends (DT_RELA)", found));
                    }
                    _ => {}
                }
            }
            for table in tables {
                if let [Some(address), Some(size @ 1..)] = table {
                    self.read_relocations(&dynamic, address, size, &mut relocations)?;
                }
            }
        }
        Ok(relocations)
    }

    fn read_relocations(
        &self,
        dynamic: &Bytes<'a>,
        address: u64,
        size: u64,
        out: &mut Vec<Relocation>,
    ) -> Result<(), Error> {
        let holds = |segment: &&elf::Segment<'a>| {
            let start = address.checked_sub(segment.address);
            start.is_some_and(|start| start < segment.content.len() as u64)
        };
        let segment = self
            .loaded()
            .find(holds)
            .ok_or_else(|| dynamic.wrong(0, "relocations in the image", format!("address {address:#x}")))?;
        let ends = self
            .loaded()
            .map(|segment| segment.address.saturating_add(segment.memory_size));
        let limit = ends.max().unwrap_or(0);
        let segment_bytes = Bytes::new("segment", segment.offset, segment.content);
        let table = segment_bytes.slice("relocations", address - segment.address, size)?;
        for index in 0..size / RELA {
            let entry = table.slice("relocation", index * RELA, RELA)?;
            let (place, info) = (entry.u64(0)?, entry.u64(8)?);
            let kind = relocation_kind(info as u32).ok_or_else(|| {
                entry.wrong(
                    8,
                    "a relocation of data (1 to 6, 10, 11 or 13)",
                    format!("kind {}", info as u32),
                )
            })?;
            let inside = place.checked_add(kind.bytes()).is_some_and(|end| end <= limit);
            if !inside {
                return Err(entry.wrong(0, "a place in the image", format!("address {place:#x}")));
            }
            out.push(Relocation {
                place,
                kind,
                symbol: (info >> 32) as u32,
                addend: entry.u64(16)?.cast_signed(),
            });
        }
        Ok(())
    }

    /// What the metadata notes say: a linked file of several parts may have several.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a file without such a note, and for a note that lacks what its format requires.
    pub fn metadata(&self) -> Result<Metadata, Error> {
        let mut all: Option<Metadata> = None;
        for note in self.elf.notes()? {
            if note.owner != NOTE_OWNER || note.kind != NT_AMDGPU_METADATA {
                continue;
            }
            let bytes = Bytes::new("metadata note", note.offset, note.content);
            let read = metadata::read(&bytes, &msgpack::parse(bytes)?)?;
            match &mut all {
                Some(all) => all.kernels.extend(read.kernels),
                None => all = Some(read),
            }
        }
        all.ok_or_else(|| self.elf.file.wrong(0, "a metadata note (AMDGPU, 32)", "none"))
    }

    /// The kernel descriptor at an address of `image`, which is [`CodeObject::image`].
    ///
    /// # Errors
    /// [`Error::Malformed`] for an address outside the image.
    pub fn descriptor(&self, image: &[u8], address: u64) -> Result<KernelDescriptor, Error> {
        let image = Bytes::new("image", 0, image);
        let bytes = image
            .slice("kernel descriptor", address, DESCRIPTOR_BYTES as u64)?
            .data;
        let bytes = bytes
            .first_chunk()
            .ok_or_else(|| image.wrong(address, "a kernel descriptor", "less"))?;
        Ok(KernelDescriptor::parse(bytes))
    }
}

impl RelocationKind {
    /// Bytes that it writes.
    pub fn bytes(self) -> u64 {
        match self {
            RelocationKind::None => 0,
            RelocationKind::Abs64 | RelocationKind::Rel64 | RelocationKind::Relative64 => 8,
            RelocationKind::Abs32Lo
            | RelocationKind::Abs32Hi
            | RelocationKind::Rel32
            | RelocationKind::Abs32
            | RelocationKind::Rel32Lo
            | RelocationKind::Rel32Hi => 4,
        }
    }
}

impl Relocation {
    /// The bytes that it writes, of which the first [`RelocationKind::bytes`] count, for an image at address `base` and a
    /// symbol at address `symbol` of it.
    pub fn value(&self, base: u64, symbol: u64) -> u64 {
        let addend = self.addend.cast_unsigned();
        let absolute = base.wrapping_add(symbol).wrapping_add(addend);
        let relative = absolute.wrapping_sub(base.wrapping_add(self.place));
        match self.kind {
            RelocationKind::None => 0,
            RelocationKind::Abs64 | RelocationKind::Abs32 | RelocationKind::Abs32Lo => absolute,
            RelocationKind::Abs32Hi => absolute >> 32,
            RelocationKind::Rel64 | RelocationKind::Rel32 | RelocationKind::Rel32Lo => relative,
            RelocationKind::Rel32Hi => relative >> 32,
            RelocationKind::Relative64 => base.wrapping_add(addend),
        }
    }
}

/// By the number of LLVM's `ELFRelocs/AMDGPU.def`; those through a table of addresses are for linkers alone.
fn relocation_kind(number: u32) -> Option<RelocationKind> {
    Some(match number {
        0 => RelocationKind::None,
        1 => RelocationKind::Abs32Lo,
        2 => RelocationKind::Abs32Hi,
        3 => RelocationKind::Abs64,
        4 => RelocationKind::Rel32,
        5 => RelocationKind::Rel64,
        6 => RelocationKind::Abs32,
        10 => RelocationKind::Rel32Lo,
        11 => RelocationKind::Rel32Hi,
        13 => RelocationKind::Relative64,
        _ => return None,
    })
}

fn symbol<'a>(entry: &Bytes<'a>, names: &Bytes<'a>) -> Result<Symbol<'a>, Error> {
    let name = elf::text(names, entry.u32(0)?.into());
    let name = name.ok_or_else(|| {
        let expected = format!("a name in the {} bytes of names", names.data.len());
        entry.wrong(0, expected, "none that ends there")
    })?;
    let info = entry.u16(4)?;
    Ok(Symbol {
        name,
        address: entry.u64(8)?,
        size: entry.u64(16)?,
        kind: match info & 15 {
            1 => SymbolKind::Object,
            2 => SymbolKind::Function,
            _ => SymbolKind::Other,
        },
        is_defined: entry.u16(6)? != 0,
    })
}
