//! Where the fields of an encoding are that a mutant changes.

use super::super::instruction::{Format, Isa};
use super::Field;

/// The opcode field of a format.
pub(super) fn opcode_field(isa: Isa, format: Format) -> Field {
    match format {
        Format::Sop1 => (0, 8, 8),
        Format::Sop2 => (0, 23, 7),
        Format::Sopc | Format::Sopp => (0, 16, 7),
        Format::Sopk => (0, 23, 5),
        Format::Vop1 => (0, 9, 8),
        Format::Vop2 => (0, 25, 6),
        Format::Vopc => (0, 17, 8),
        Format::Vop3 => (0, 16, 10),
        Format::Vop3p | Format::Mai => (0, 16, 7),
        Format::Vopd => (0, 22, 4),
        Format::Vopd3 => (0, 18, 6),
        Format::Ds => match isa {
            Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 | Isa::Gfx125 => (0, 18, 8),
            Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 => (0, 17, 8),
        },
        Format::Flat | Format::Scratch | Format::Global | Format::Mubuf if isa.is_gfx12() => (0, 14, 8),
        Format::Mubuf if isa == Isa::Rdna2 => (0, 18, 8),
        Format::Flat | Format::Scratch | Format::Global | Format::Mubuf => (0, 18, 7),
        Format::Smem if isa.is_gfx12() => (0, 13, 6),
        Format::Smem => (0, 18, 8),
    }
}

/// The fields of the sources, in the order of the operands; a vector register alone fits into 8 bits from bit 9.
pub(super) fn source_fields(format: Format) -> &'static [Field] {
    match format {
        Format::Sop1 => &[(0, 0, 8)],
        Format::Sop2 | Format::Sopc => &[(0, 0, 8), (0, 8, 8)],
        Format::Vop1 => &[(0, 0, 9)],
        Format::Vop2 | Format::Vopc | Format::Vopd => &[(0, 0, 9), (0, 9, 8)],
        Format::Vopd3 => &[(0, 0, 9), (1, 16, 8)],
        Format::Vop3 | Format::Vop3p => &[(1, 0, 9), (1, 9, 9), (1, 18, 9)],
        Format::Sopk
        | Format::Sopp
        | Format::Smem
        | Format::Mai
        | Format::Ds
        | Format::Flat
        | Format::Scratch
        | Format::Global
        | Format::Mubuf => &[],
    }
}

/// The offset field of a format, and its sign.
pub(super) fn offset_field(isa: Isa, format: Format) -> Option<Field> {
    match format {
        Format::Flat | Format::Scratch | Format::Global if isa.is_gfx12() => Some((2, 8, 24)),
        Format::Flat | Format::Scratch | Format::Global if isa == Isa::Rdna2 => Some((0, 0, 12)),
        Format::Flat | Format::Scratch | Format::Global => Some((0, 0, 13)),
        Format::Ds => Some((0, 0, 16)),
        Format::Smem => Some((1, 0, 21)),
        Format::Mubuf if isa.is_gfx12() => Some((2, 8, 24)),
        Format::Mubuf => Some((0, 0, 12)),
        _ => None,
    }
}

/// A key for the format.
pub(super) fn format_word(format: Format) -> &'static str {
    match format {
        Format::Sop1 => "SOP1",
        Format::Sop2 => "SOP2",
        Format::Sopc => "SOPC",
        Format::Sopk => "SOPK",
        Format::Sopp => "SOPP",
        Format::Smem => "SMEM",
        Format::Vop1 => "VOP1",
        Format::Vop2 => "VOP2",
        Format::Vopc => "VOPC",
        Format::Vop3 => "VOP3",
        Format::Vop3p => "VOP3P",
        Format::Mai => "MAI",
        Format::Vopd => "VOPD",
        Format::Vopd3 => "VOPD3",
        Format::Ds => "DS",
        Format::Flat => "FLAT",
        Format::Scratch => "SCRATCH",
        Format::Global => "GLOBAL",
        Format::Mubuf => "MUBUF",
    }
}
