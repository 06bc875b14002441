//! Source lines of machine code, from the DWARF line table that clang writes with `-g`.
//!
//! Looked up when a fault is reported, never before. Debug information that cannot be read gives no line and no error.

use std::collections::BTreeMap;

use code_object::Elf;
use gimli::{EndianSlice, LittleEndian};

/// Sections that a line table and its names need.
const SECTIONS: [&str; 6] = [
    ".debug_abbrev",
    ".debug_addr",
    ".debug_info",
    ".debug_line",
    ".debug_line_str",
    ".debug_str",
];

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The debug sections of a code object.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    sections: BTreeMap<&'static str, Vec<u8>>,
}

impl Lines {
    /// Of an ELF file; without debug information it finds no line.
    pub(crate) fn of(file: &Elf<'_>) -> Lines {
        let content = |name| file.section(name).map_or(&[][..], |section| section.content);
        let sections = SECTIONS.into_iter().map(|name| (name, content(name).to_vec()));
        Lines {
            sections: sections.collect(),
        }
    }

    /// `file:line` of the instruction at an address of the image.
    pub(crate) fn at(&self, address: u64) -> Option<String> {
        self.search(address).ok()?
    }

    fn search(&self, address: u64) -> gimli::Result<Option<String>> {
        let section = |id: gimli::SectionId| -> gimli::Result<Reader<'_>> {
            let bytes = self.sections.get(id.name()).map_or(&[][..], Vec::as_slice);
            Ok(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(section)?;
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            if let Some(found) = in_unit(&dwarf, &unit, address)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

fn in_unit(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    address: u64,
) -> gimli::Result<Option<String>> {
    let Some(program) = unit.line_program.clone() else {
        return Ok(None);
    };
    let mut rows = program.rows();
    // The row that began last: it reaches to the next one.
    let mut open: Option<(u64, Option<u64>, u64)> = None;
    while let Some((header, row)) = rows.next_row()? {
        if let Some((start, Some(line), file)) = open
            && (start..row.address()).contains(&address)
        {
            let name = header.file(file).map(|file| file.path_name());
            let name = name.map(|name| dwarf.attr_string(unit, name)).transpose()?;
            let name = name.map_or("?".into(), |name| name.to_string_lossy().into_owned());
            return Ok(Some(format!("{name}:{line}")));
        }
        let line = row.line().map(std::num::NonZero::get);
        open = (!row.end_sequence()).then(|| (row.address(), line, row.file_index()));
    }
    Ok(None)
}
