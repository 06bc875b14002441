//! Listings for people and tests: one instruction as text, and what the table covers.

use std::collections::BTreeSet;

use super::decode::{self, Invalid};
use super::instruction::{Isa, Name};
use super::ops::Op;
use super::print;
use super::program::{DecodeError, hex};
use super::tables::{Form, InstructionRow};
use super::unit::Unit;
use crate::Target;

/// Assembly text and size in bytes of the instruction at the start of `code`.
pub fn disassemble(target: Target, code: &[u8]) -> Result<(String, usize), DecodeError> {
    let isa = Isa::of(target).ok_or(DecodeError::Target { target })?;
    match decode::decode(isa, target.lanes(), code) {
        Ok(inst) => Ok((print::print(&inst), usize::from(inst.size))),
        Err(Invalid::Unknown) => Err(DecodeError::Unknown {
            pc: 0,
            words: hex(code, 0, 8),
        }),
        Err(Invalid::Truncated) => Err(DecodeError::End { pc: 0 }),
    }
}

/// One line of [`coverage`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Encoding format as the manual names it; `FLAT` includes FLAT, SCRATCH and GLOBAL, `FLAT to LDS` has
    /// those of RDNA2 and CDNA2 that load into LDS.
    pub format: &'static str,
    /// Opcode field.
    pub opcode: u16,
    /// Mnemonic without encoding suffix and address space.
    pub mnemonic: &'static str,
    /// Address spaces of a FLAT row.
    pub spaces: &'static [&'static str],
    /// Whether it is executed, rather than printed only.
    pub executed: bool,
}

impl Coverage {
    /// Mnemonics with their address space: one, or one for each space of a FLAT row.
    pub fn names(&self) -> Vec<String> {
        match self.spaces {
            [] => vec![self.mnemonic.to_owned()],
            spaces => spaces
                .iter()
                .map(|space| format!("{space}_{}", self.mnemonic))
                .collect(),
        }
    }
}

/// The address spaces of a row of a format.
fn spaces(format: &str, row: &InstructionRow) -> &'static [&'static str] {
    match (format, row.form) {
        ("FLAT", Form::Usual) => &["flat", "scratch", "global"],
        ("FLAT", Form::NotScratch) => &["flat", "global"],
        ("FLAT" | "FLAT to LDS", Form::NotFlat) => &["scratch", "global"],
        ("FLAT", _) => &["global"],
        _ => &[],
    }
}

/// What instructions of all cards are called, with what they do.
pub(crate) fn names() -> impl Iterator<Item = (Name, Op)> {
    let isas = Target::EXECUTABLE.into_iter().filter_map(Isa::of);
    let rows = isas.flat_map(Isa::formats);
    let rows = rows.flat_map(|(format, rows)| rows.iter().map(move |row| (spaces(format, row), row)));
    rows.flat_map(|(spaces, row)| {
        let spaces = if spaces.is_empty() { &[""] } else { spaces };
        let name = |space: &&'static str| Name {
            space,
            mnemonic: row.mnemonic,
        };
        spaces.iter().map(move |space| (name(space), row.op))
    })
}

/// Every instruction in the table of a target; nothing for a target without one.
pub fn coverage(target: Target) -> Vec<Coverage> {
    let formats = Isa::of(target).into_iter().flat_map(Isa::formats);
    let line = |(format, row): (&'static str, &'static InstructionRow)| Coverage {
        format,
        opcode: row.opcode,
        mnemonic: row.mnemonic,
        spaces: spaces(format, row),
        executed: row.op.unit() != Unit::Unsupported,
    };
    let mut seen = BTreeSet::new();
    formats
        .flat_map(|(format, rows)| rows.iter().map(move |row| (*format, row)))
        .filter(|(format, row)| seen.insert((*format, row.opcode)) && row.form != Form::Absent)
        .map(line)
        .collect()
}
