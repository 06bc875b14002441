//! The memory instructions of GFX12 (gfx1200, gfx1201, gfx1250): three words, offsets of 24 bits with a sign, and a hint and a scope for the
//! caches. The other encodings are those of RDNA3.
//!
//! Field layouts: "RDNA4 Instruction Set Architecture", chapter 15.

use super::{InstructionWords, Invalid, NULL, bits, scalar, vgpr};
use crate::isa::instruction::{Encoding, Instruction, Isa, Operand};
use crate::isa::ops::{Kind, Op};
use crate::isa::tables::Form;
use crate::isa::unit::Unit;

/// The hint in bits 2:0, the scope in bits 4:3. The lowest bit of an atomic's hint asks for the old value.
fn cache(hint: u32, scope: u32) -> u8 {
    hint as u8 | (scope as u8) << 3
}

/// The offset in the upper 24 bits of a word.
fn offset(word: u32) -> i32 {
    word as i32 >> 8
}

/// Whether an instruction whose operation has a result writes it.
fn returns(inst: &Instruction) -> bool {
    let atomic = matches!(inst.row.op.unit(), Unit::Atomic(_)) || inst.row.mnemonic.contains("atomic");
    inst.row.op.signature().dst != Kind::Void && (!atomic || inst.cache & 1 != 0)
}

/// What only GFX12.5 has: whether nothing outside the cache may see what is accessed, a bit of the first word, and whether the register of the
/// address counts what is accessed.
fn extras(words: &InstructionWords<'_>, word: u32, non_volatile: u32, scale: u32) -> (bool, bool) {
    let has = words.isa == Isa::Gfx125;
    (has && bits(word, non_volatile, 1) != 0, has && scale != 0)
}

pub(super) fn smem(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("SMEM", bits(word, 13, 6))?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Smem, row, 0);
    if row.op == Op::SNop {
        return Ok(inst);
    }
    inst.base = scalar(bits(word, 0, 6) << 1);
    inst.soffset = scalar(bits(high, 25, 7));
    (inst.non_volatile, inst.scale_offset) = extras(words, word, 20, bits(high, 24, 1));
    inst.imm = (high << 8) as i32 >> 8;
    // Compilers put no negative offset to a descriptor, and LLVM reads none on GFX12.5.
    if words.isa == Isa::Gfx125 && inst.imm < 0 && row.mnemonic.starts_with("s_buffer") {
        return Err(Invalid::Unknown);
    }
    if row.op == Op::SPrefetch {
        // How much, in the field of the destination.
        inst.src[0] = Operand::Constant(bits(word, 6, 5) as i32);
    } else {
        inst.cache = cache(bits(word, 23, 2), bits(word, 21, 2));
        inst.dst = scalar(bits(word, 6, 7));
    }
    Ok(inst)
}

/// FLAT, SCRATCH, GLOBAL.
pub(super) fn flat(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("FLAT", bits(word, 14, 8))?;
    let format = match (word >> 24, row.form) {
        (0xec, Form::Usual | Form::NotScratch) => Encoding::Flat,
        (0xed, Form::Usual | Form::NotFlat) => Encoding::Scratch,
        (0xee, _) => Encoding::Global,
        _ => return Err(Invalid::Unknown),
    };
    let (middle, last) = (words.next()?, words.next()?);
    let mut inst = Instruction::new(format, row, 0);
    inst.cache = cache(bits(middle, 20, 3), bits(middle, 18, 2));
    if row.op == Op::SNop {
        return Ok(inst);
    }
    (inst.non_volatile, inst.scale_offset) = extras(words, word, 7, bits(middle, 16, 1));
    inst.imm = offset(last);
    let saddr = bits(word, 0, 7);
    match format {
        Encoding::Flat if saddr != NULL && words.isa != Isa::Gfx125 => return Err(Invalid::Unknown),
        _ if saddr != NULL => inst.base = scalar(saddr),
        _ => {}
    }
    let uses_vgpr = match format {
        Encoding::Scratch => bits(middle, 17, 1) != 0,
        _ => !matches!(row.op, Op::LoadAddtid | Op::StoreAddtid),
    };
    if uses_vgpr {
        inst.address = vgpr(bits(last, 0, 8));
    }
    if returns(&inst) {
        inst.dst = vgpr(bits(middle, 0, 8));
    }
    if !row.op.signature().src.is_empty() {
        inst.src[0] = vgpr(bits(middle, 23, 8));
    }
    Ok(inst)
}

/// Buffers.
pub(super) fn mubuf(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("MUBUF", bits(word, 14, 8))?;
    // A status after the data, which is for textures that are not resident.
    if bits(word, 22, 1) != 0 {
        return Err(Invalid::Unknown);
    }
    let (middle, last) = (words.next()?, words.next()?);
    let mut inst = Instruction::new(Encoding::Mubuf, row, 0);
    inst.cache = cache(bits(middle, 20, 3), bits(middle, 18, 2));
    inst.soffset = scalar(bits(word, 0, 7));
    (inst.non_volatile, _) = extras(words, word, 7, 0);
    inst.base = scalar(bits(middle, 9, 7));
    (inst.offen, inst.idxen) = (bits(middle, 30, 1) != 0, bits(middle, 31, 1) != 0);
    inst.imm = offset(last);
    if inst.offen || inst.idxen {
        inst.address = vgpr(bits(last, 0, 8));
    }
    let data = vgpr(bits(middle, 0, 8));
    if returns(&inst) {
        inst.dst = data;
    }
    if !row.op.signature().src.is_empty() {
        inst.src[0] = data;
    }
    Ok(inst)
}
