//! The dword of sub-dword addressing, which GFX9 and GFX10 have in common.

use super::{Invalid, bits, vgpr};
use crate::isa::WHOLE;
use crate::isa::instruction::{Encoding, Instruction, Operand, Sdwa};
use crate::isa::tables::Form;

/// Sets the parts and the modifiers of an instruction and gives its sources; `source` reads a scalar one.
pub(super) fn operands(
    word: u32,
    vsrc1: u32,
    inst: &mut Instruction,
    source: &mut dyn FnMut(u32) -> Result<Operand, Invalid>,
) -> Result<(Operand, Operand), Invalid> {
    inst.neg = bits(word, 20, 1) as u8 | (bits(word, 28, 1) << 1) as u8;
    inst.abs = bits(word, 21, 1) as u8 | (bits(word, 29, 1) << 1) as u8;
    let select = [bits(word, 16, 3) as u8, bits(word, 24, 3) as u8];
    let extend = bits(word, 19, 1) as u8 | (bits(word, 27, 1) << 1) as u8;
    let (mut dst, mut unused) = (bits(word, 8, 3) as u8, bits(word, 11, 2) as u8);
    if inst.format == Encoding::Vopc {
        (dst, unused) = (WHOLE, 0);
        if bits(word, 15, 1) != 0 && inst.row.form != Form::CmpX {
            inst.dst = source(bits(word, 8, 7))?;
        }
    } else {
        inst.clamp = bits(word, 13, 1) != 0;
        inst.omod = bits(word, 14, 2) as u8;
    }
    let parts = [select[0], select[1], dst];
    if parts.iter().any(|part| *part > WHOLE) || unused > 2 {
        return Err(Invalid::Unknown);
    }
    inst.sdwa = Some(Sdwa {
        select,
        extend,
        dst,
        unused,
    });
    let mut register = |code: u32, is_scalar: u32| match bits(word, is_scalar, 1) {
        0 => Ok(vgpr(code)),
        _ => source(code),
    };
    Ok((register(bits(word, 0, 8), 23)?, register(vsrc1, 31)?))
}
