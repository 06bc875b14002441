//! Where the fields of an encoding are that a mutant changes.

use super::super::instruction::{Encoding, Isa};
use super::EncodingField;

/// The opcode field of a format.
pub(super) fn opcode_field(isa: Isa, format: Encoding) -> EncodingField {
    match format {
        Encoding::Sop1 => (0, 8, 8),
        Encoding::Sop2 => (0, 23, 7),
        Encoding::Sopc | Encoding::Sopp => (0, 16, 7),
        Encoding::Sopk => (0, 23, 5),
        Encoding::Vop1 => (0, 9, 8),
        Encoding::Vop2 => (0, 25, 6),
        Encoding::Vopc => (0, 17, 8),
        Encoding::Vop3 => (0, 16, 10),
        Encoding::Vop3p | Encoding::Mai => (0, 16, 7),
        Encoding::Vopd => (0, 22, 4),
        Encoding::Vopd3 => (0, 18, 6),
        Encoding::Ds => match isa {
            Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 | Isa::Gfx125 => (0, 18, 8),
            Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 => (0, 17, 8),
        },
        Encoding::Flat | Encoding::Scratch | Encoding::Global | Encoding::Mubuf if isa.is_gfx12() => {
            (0, 14, 8)
        }
        Encoding::Mubuf if isa == Isa::Rdna2 => (0, 18, 8),
        Encoding::Flat | Encoding::Scratch | Encoding::Global | Encoding::Mubuf => (0, 18, 7),
        Encoding::Smem if isa.is_gfx12() => (0, 13, 6),
        Encoding::Smem => (0, 18, 8),
    }
}

/// The fields of the sources, in the order of the operands; a vector register alone fits into 8 bits from bit 9.
pub(super) fn source_fields(format: Encoding) -> &'static [EncodingField] {
    match format {
        Encoding::Sop1 => &[(0, 0, 8)],
        Encoding::Sop2 | Encoding::Sopc => &[(0, 0, 8), (0, 8, 8)],
        Encoding::Vop1 => &[(0, 0, 9)],
        Encoding::Vop2 | Encoding::Vopc | Encoding::Vopd => &[(0, 0, 9), (0, 9, 8)],
        Encoding::Vopd3 => &[(0, 0, 9), (1, 16, 8)],
        Encoding::Vop3 | Encoding::Vop3p => &[(1, 0, 9), (1, 9, 9), (1, 18, 9)],
        Encoding::Sopk
        | Encoding::Sopp
        | Encoding::Smem
        | Encoding::Mai
        | Encoding::Ds
        | Encoding::Flat
        | Encoding::Scratch
        | Encoding::Global
        | Encoding::Mubuf => &[],
    }
}

/// The offset field of a format, and its sign.
pub(super) fn offset_field(isa: Isa, format: Encoding) -> Option<EncodingField> {
    match format {
        Encoding::Flat | Encoding::Scratch | Encoding::Global if isa.is_gfx12() => Some((2, 8, 24)),
        Encoding::Flat | Encoding::Scratch | Encoding::Global if isa == Isa::Rdna2 => Some((0, 0, 12)),
        Encoding::Flat | Encoding::Scratch | Encoding::Global => Some((0, 0, 13)),
        Encoding::Ds => Some((0, 0, 16)),
        Encoding::Smem => Some((1, 0, 21)),
        Encoding::Mubuf if isa.is_gfx12() => Some((2, 8, 24)),
        Encoding::Mubuf => Some((0, 0, 12)),
        _ => None,
    }
}

/// A key for the format.
pub(super) fn format_word(format: Encoding) -> &'static str {
    match format {
        Encoding::Sop1 => "SOP1",
        Encoding::Sop2 => "SOP2",
        Encoding::Sopc => "SOPC",
        Encoding::Sopk => "SOPK",
        Encoding::Sopp => "SOPP",
        Encoding::Smem => "SMEM",
        Encoding::Vop1 => "VOP1",
        Encoding::Vop2 => "VOP2",
        Encoding::Vopc => "VOPC",
        Encoding::Vop3 => "VOP3",
        Encoding::Vop3p => "VOP3P",
        Encoding::Mai => "MAI",
        Encoding::Vopd => "VOPD",
        Encoding::Vopd3 => "VOPD3",
        Encoding::Ds => "DS",
        Encoding::Flat => "FLAT",
        Encoding::Scratch => "SCRATCH",
        Encoding::Global => "GLOBAL",
        Encoding::Mubuf => "MUBUF",
    }
}
