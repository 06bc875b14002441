//! Source lines of machine code, from the DWARF line table that clang writes with `-g`.
//!
//! Looked up when a fault is reported, never before. Debug information that cannot be read gives no line and no error.

use std::collections::btree_map::{BTreeMap, Entry};
use std::ops::Range;
use std::sync::Arc;

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

    /// The line of every address; none where the debug information cannot be read.
    pub(crate) fn rows(&self) -> LineTable {
        let mut rows = LineTable::default();
        if self.collect(&mut rows).is_err() {
            return LineTable::default();
        }
        rows.0.sort_by_key(|row| row.0.start);
        rows
    }

    fn collect(&self, rows: &mut LineTable) -> gimli::Result<()> {
        let dwarf = self.dwarf()?;
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let Some(program) = unit.line_program.clone() else {
                continue;
            };
            let mut names: BTreeMap<u64, Arc<str>> = BTreeMap::new();
            let mut all = program.rows();
            let mut open: Option<(u64, Option<u64>, Arc<str>)> = None;
            while let Some((header, row)) = all.next_row()? {
                if let Some((start, Some(line), file)) = open.take()
                    && start < row.address()
                {
                    rows.0.push((start..row.address(), file, line));
                }
                if row.end_sequence() {
                    continue;
                }
                let index = row.file_index();
                let name = match names.entry(index) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(new) => {
                        Arc::clone(new.insert(Arc::from(path(&dwarf, &unit, header, index)?)))
                    }
                };
                let line = row.line().map(std::num::NonZero::get);
                open = Some((row.address(), line, name));
            }
        }
        Ok(())
    }

    fn dwarf(&self) -> gimli::Result<gimli::Dwarf<Reader<'_>>> {
        gimli::Dwarf::load(|id: gimli::SectionId| -> gimli::Result<Reader<'_>> {
            let bytes = self.sections.get(id.name()).map_or(&[][..], Vec::as_slice);
            Ok(EndianSlice::new(bytes, LittleEndian))
        })
    }

    fn search(&self, address: u64) -> gimli::Result<Option<String>> {
        let dwarf = self.dwarf()?;
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

/// The path of a file of a line table, with its directory.
fn path(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    header: &gimli::LineProgramHeader<Reader<'_>>,
    index: u64,
) -> gimli::Result<String> {
    let Some(file) = header.file(index) else {
        return Ok("?".to_owned());
    };
    let name = dwarf.attr_string(unit, file.path_name())?;
    let name = name.to_string_lossy().into_owned();
    let Some(directory) = file.directory(header).filter(|_| !name.starts_with('/')) else {
        return Ok(name);
    };
    let directory = dwarf.attr_string(unit, directory)?;
    Ok(format!("{}/{name}", directory.to_string_lossy()))
}

/// Ranges of addresses with their file and line, in order.
#[derive(Debug, Default)]
pub(crate) struct LineTable(Vec<(Range<u64>, Arc<str>, u64)>);

impl LineTable {
    /// File and line of an address of the image.
    pub(crate) fn at(&self, address: u64) -> Option<(String, u64)> {
        let after = self.0.partition_point(|(range, ..)| range.start <= address);
        let (range, file, line) = self.0.get(after.checked_sub(1)?)?;
        range.contains(&address).then(|| (file.to_string(), *line))
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
