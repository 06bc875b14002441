//! Listings for people and tests: one instruction as text, and what the table covers.

use super::decode::{self, Invalid};
use super::ops::Op;
use super::print;
use super::program::{DecodeError, hex};
use super::tables::{self, Form, Row};

/// Assembly text and size in bytes of the RDNA3 instruction at the start of `code`.
pub fn disassemble(code: &[u8]) -> Result<(String, usize), DecodeError> {
    match decode::decode(code) {
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
    /// Encoding format as the manual names it; `FLAT` stands for FLAT, SCRATCH and GLOBAL.
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

/// Every instruction of the RDNA3 table.
pub fn coverage() -> Vec<Coverage> {
    let formats: [(&str, &'static [Row]); 15] = [
        ("SOP1", tables::SOP1),
        ("SOP2", tables::SOP2),
        ("SOPC", tables::SOPC),
        ("SOPK", tables::SOPK),
        ("SOPP", tables::SOPP),
        ("SMEM", tables::SMEM),
        ("VOP1", tables::VOP1),
        ("VOP2", tables::VOP2),
        ("VOPC", tables::VOPC),
        ("VOP3", tables::VOP3),
        ("VOP3P", tables::VOP3P),
        ("VOPD", tables::VOPD),
        ("DS", tables::DS),
        ("FLAT", tables::FLAT),
        ("MUBUF", tables::MUBUF),
    ];
    let line = |(format, row): (&'static str, &'static Row)| Coverage {
        format,
        opcode: row.opcode,
        mnemonic: row.mnemonic,
        spaces: match (format, row.form) {
            ("FLAT", Form::Usual) => &["flat", "scratch", "global"],
            ("FLAT", Form::NotScratch) => &["flat", "global"],
            ("FLAT", _) => &["global"],
            _ => &[],
        },
        executed: !row.op.is_printed_only(),
    };
    formats
        .into_iter()
        .flat_map(|(format, rows)| rows.iter().map(move |row| (format, row)))
        .map(line)
        .collect()
}

impl Op {
    /// Whether instructions with this operation are decoded and printed, and a fault when executed.
    pub(crate) fn is_printed_only(self) -> bool {
        matches!(
            self,
            Op::Unsupported
                | Op::UnsupportedB32
                | Op::UnsupportedB64
                | Op::UnsupportedS64
                | Op::SSubvectorLoopBegin
                | Op::SSubvectorLoopEnd
        )
    }
}
