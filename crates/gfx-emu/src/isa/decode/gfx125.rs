//! The form of GFX12.5 (gfx1250) for two operations in one instruction: three words, three sources each, and their signs.
//!
//! Field layout: what LLVM 23's disassembler makes of each bit.

use super::{InstructionWords, Invalid, LITERAL, WIDE_LITERAL, bits, scalar, vgpr};
use crate::isa::instruction::{Encoding, Instruction, Operand};
use crate::isa::ops::{Kind, Op};
use crate::isa::tables::{Form, InstructionRow};

/// The row of an opcode: those of the form with two words are most of them.
fn row(words: &InstructionWords<'_>, opcode: u32) -> Result<&'static InstructionRow, Invalid> {
    let own = words.isa.row("VOPD3", opcode);
    match own.map_or_else(|| words.row("VOPD", opcode), Ok)? {
        // A constant would be a fourth word.
        row if matches!(row.form, Form::Mk | Form::Ak) => Err(Invalid::Unknown),
        row => Ok(row),
    }
}

/// Whether the first half has this opcode, or the second.
fn is_in_half(opcode: u32, second: bool) -> bool {
    match opcode {
        0x12 | 0x17 | 0x18 => second,
        0x20.. => !second,
        _ => true,
    }
}

pub(super) fn dual(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let (middle, last) = (words.next()?, words.next()?);
    // Opcode; first source; the other two; destination; signs.
    let halves = [
        (
            bits(word, 18, 6),
            bits(word, 0, 9),
            [bits(middle, 16, 8), bits(middle, 24, 8)],
            bits(last, 0, 8),
            bits(middle, 9, 3),
        ),
        (
            bits(word, 12, 6),
            bits(middle, 0, 9),
            [bits(last, 8, 8), bits(last, 16, 8)],
            bits(last, 24, 8),
            bits(middle, 12, 3),
        ),
    ];
    let mut decoded = Vec::with_capacity(2);
    for (second, (opcode, first, [src1, src2], dst, neg)) in [false, true].into_iter().zip(halves) {
        if !is_in_half(opcode, second) || matches!(first, LITERAL | WIDE_LITERAL) {
            return Err(Invalid::Unknown);
        }
        let row = row(words, opcode)?;
        let mut half = Instruction::new(Encoding::Vopd3, row, 0);
        half.dst = vgpr(dst);
        half.neg = neg as u8;
        let kinds = row.op.signature().src;
        half.src[0] = words.source(first)?;
        if kinds.len() > 1 {
            half.src[1] = vgpr(src1);
        }
        match kinds.get(2) {
            _ if row.form == Form::Acc => half.src[2] = half.dst,
            Some(Kind::Mask) => half.src[2] = scalar(src2),
            Some(_) => half.src[2] = vgpr(src2),
            // The truth table is where the third source would be.
            None if row.op == Op::Bitop2B32 => half.imm = src2 as i32,
            None => half.src[2] = Operand::None,
        }
        decoded.push(half);
    }
    let (Some(second), Some(mut first)) = (decoded.pop(), decoded.pop()) else {
        return Err(Invalid::Unknown);
    };
    first.dual = Some(Box::new(second));
    Ok(first)
}
