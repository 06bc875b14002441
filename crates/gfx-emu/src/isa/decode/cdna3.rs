//! The encodings of CDNA3 (gfx942), CDNA2 (gfx90a) and CDNA4 (gfx950): GFX9's, with DPP and SDWA, matrix instructions and the cache bits of gfx940.
//!
//! Field layouts: "AMD Instinct MI300 Instruction Set Architecture", chapter 13. M0 has the operand code 124 here and
//! 125 on RDNA3; a decoded instruction has RDNA3's, so that one register file serves both.

use super::{InstructionWords, Invalid, bits, buffer_operands, flat_data, sdwa, vgpr};
use crate::isa::instruction::{Broadcast, Dpp, Encoding, Instruction, Isa, Operand, Scales, Shuffle};
use crate::isa::ops::{Kind, Op};
use crate::isa::tables::{Form, InstructionRow};
use crate::isa::unit::Unit;
use crate::wave::reg;

const VCC: Operand = Operand::Scalar(reg::VCC as u8);
const NULL: Operand = Operand::Scalar(reg::NULL as u8);
/// `off` in the scalar address of FLAT.
const OFF: u32 = 127;

/// Source codes that announce another dword.
const SDWA: u32 = 249;
const DPP: u32 = 250;
const LITERAL: u32 = 255;

/// The opcode of VOP3P that names scales, and the bit of the product after it that says so again.
const SCALE: u32 = 0x2c;
const SCALED: u32 = 1 << 11;

/// Opcodes of VOP3 from which on there is no shorter form.
const VOP3_ONLY: u32 = 0x1c0;

fn new(format: Encoding, row: &'static InstructionRow) -> Instruction {
    Instruction {
        isa: Isa::Cdna3,
        ..Instruction::new(format, row, 0)
    }
}

/// A scalar register by its code.
fn scalar(code: u32) -> Result<Operand, Invalid> {
    match code {
        124 => Ok(Operand::Scalar(reg::M0 as u8)),
        125 | 128.. => Err(Invalid::Unknown),
        _ => Ok(Operand::Scalar(code as u8)),
    }
}

/// A source of 9 bits (vector registers from 256) or 8 bits; no literal.
fn source(code: u32) -> Result<Operand, Invalid> {
    match code {
        0..=127 => scalar(code),
        128..=208 | 235..=238 | 240..=248 | 251..=253 => Ok(Operand::Inline(code as u8)),
        256..=511 => Ok(vgpr(code)),
        _ => Err(Invalid::Unknown),
    }
}

/// A source that may be the literal after the encoding.
fn source_or_literal(code: u32, words: &mut InstructionWords<'_>) -> Result<Operand, Invalid> {
    if code == LITERAL {
        words.literal()
    } else {
        source(code)
    }
}

/// Decodes the instruction at the start of `text`.
pub(super) fn decode(isa: Isa, text: &[u8]) -> Result<Instruction, Invalid> {
    let mut words = InstructionWords::new(isa, text);
    let word = words.next()?;
    let mut inst = match word >> 26 {
        0b110000 => smem(word, &mut words)?,
        0b110100 if word >> 23 == 0b110100111 => vop3p(isa, word, &mut words)?,
        0b110100 => vop3(word, &mut words)?,
        0b110110 => share(word, &mut words)?,
        0b110111 => flat(isa, word, &mut words)?,
        0b111000 => mubuf(isa, word, &mut words)?,
        _ if word >> 31 == 0 => short(word, &mut words)?,
        _ if word >> 30 == 0b10 => sop(word, &mut words)?,
        _ => return Err(Invalid::Unknown),
    };
    inst.isa = isa;
    inst.size = 4 * words.used as u8;
    Ok(inst)
}

/// SOP1, SOP2, SOPC, SOPK, SOPP.
fn sop(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let (ssrc0, ssrc1) = (bits(word, 0, 8), bits(word, 8, 8));
    let sdst = scalar(bits(word, 16, 7));
    match word >> 23 {
        0b1_0111_1101 => {
            let mut inst = new(Encoding::Sop1, words.row("SOP1", ssrc1)?);
            let signature = inst.row.op.signature();
            if signature.dst != Kind::Void {
                inst.dst = sdst?;
            }
            if !signature.src.is_empty() {
                inst.src[0] = source_or_literal(ssrc0, words)?;
            }
            Ok(inst)
        }
        0b1_0111_1110 => {
            let mut inst = new(Encoding::Sopc, words.row("SOPC", bits(word, 16, 7))?);
            inst.src[0] = source_or_literal(ssrc0, words)?;
            if inst.row.op == Op::SSetGprIdxOn {
                inst.imm = ssrc1 as i32;
            } else {
                inst.src[1] = source_or_literal(ssrc1, words)?;
            }
            Ok(inst)
        }
        0b1_0111_1111 => {
            let mut inst = new(Encoding::Sopp, words.row("SOPP", bits(word, 16, 7))?);
            inst.imm = word as i16 as i32;
            Ok(inst)
        }
        _ if word >> 28 == 0b1011 => sopk(word, words),
        _ => {
            let mut inst = new(Encoding::Sop2, words.row("SOP2", bits(word, 23, 7))?);
            if inst.row.op.signature().dst != Kind::Void {
                inst.dst = sdst?;
            }
            inst.src[0] = source_or_literal(ssrc0, words)?;
            inst.src[1] = source_or_literal(ssrc1, words)?;
            Ok(inst)
        }
    }
}

fn sopk(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let mut inst = new(Encoding::Sopk, words.row("SOPK", bits(word, 23, 5))?);
    let sdst = scalar(bits(word, 16, 7));
    inst.imm = word as i16 as i32;
    let constant = Operand::Constant(inst.imm);
    match inst.row.form {
        Form::K => (inst.dst, inst.src[0]) = (sdst?, constant),
        Form::AccK => (inst.dst, inst.src) = (sdst?, [sdst?, constant, Operand::None]),
        Form::CmpK => inst.src = [sdst?, constant, Operand::None],
        Form::CmpKU => inst.src = [sdst?, Operand::Constant(word as u16 as i32), Operand::None],
        _ => match inst.row.op {
            Op::SSetregImm32 => inst.src[0] = words.literal()?,
            Op::SSetreg => inst.src[0] = sdst?,
            _ => inst.dst = sdst?,
        },
    }
    Ok(inst)
}

fn smem(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let mut inst = new(Encoding::Smem, words.row("SMEM", bits(word, 18, 8))?);
    let high = words.next()?;
    if inst.row.op == Op::SNop {
        return Ok(inst);
    }
    inst.cache = bits(word, 16, 1) as u8;
    let data = scalar(bits(word, 6, 7))?;
    let signature = inst.row.op.signature();
    if !signature.src.is_empty() {
        inst.src[0] = data;
    }
    let returns = !matches!(inst.row.op.unit(), Unit::Atomic(_)) || inst.cache & 1 != 0;
    if signature.dst != Kind::Void && returns {
        inst.dst = data;
    }
    if inst.row.op == Op::STime {
        return Ok(inst);
    }
    inst.base = scalar(bits(word, 0, 6) << 1)?;
    let (immediate, with_offset) = (bits(word, 17, 1) != 0, bits(word, 14, 1) != 0);
    inst.soffset = match (immediate, with_offset) {
        (_, true) => scalar(bits(high, 25, 7))?,
        (true, false) => NULL,
        (false, false) => scalar(bits(high, 0, 7))?,
    };
    if immediate {
        inst.imm = (high << 11) as i32 >> 11;
    }
    Ok(inst)
}

/// The first source of a short vector instruction, which may announce an SDWA or DPP dword. Gives the second source as
/// well, which is a vector register unless the SDWA dword says otherwise.
fn sources(
    src0: u32,
    vsrc1: u32,
    inst: &mut Instruction,
    words: &mut InstructionWords<'_>,
) -> Result<(Operand, Operand), Invalid> {
    let second = vgpr(vsrc1);
    match src0 {
        SDWA => {
            let word = words.next()?;
            sdwa::operands(word, vsrc1, inst, &mut source)
        }
        DPP => {
            let word = words.next()?;
            inst.neg = bits(word, 20, 1) as u8 | (bits(word, 22, 1) << 1) as u8;
            inst.abs = bits(word, 21, 1) as u8 | (bits(word, 23, 1) << 1) as u8;
            inst.dpp = Some(Dpp {
                shuffle: Shuffle::Dpp16(bits(word, 8, 9) as u16),
                bound_ctrl: bits(word, 19, 1) != 0,
                fetch_inactive: false,
                row_mask: bits(word, 28, 4) as u8,
                bank_mask: bits(word, 24, 4) as u8,
            });
            Ok((vgpr(bits(word, 0, 8)), second))
        }
        _ => Ok((source_or_literal(src0, words)?, second)),
    }
}

/// VOP1, VOP2, VOPC.
fn short(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let (vdst, vsrc1, src0) = (bits(word, 17, 8), bits(word, 9, 8), bits(word, 0, 9));
    let mut inst = match word >> 25 {
        0b0111111 => {
            let mut inst = new(Encoding::Vop1, words.row("VOP1", vsrc1)?);
            let op = inst.row.op;
            if op.signature().src.is_empty() {
                super::alone(src0)?;
            } else {
                inst.src[0] = sources(src0, 0, &mut inst, words)?.0;
                inst.dst = if op == Op::ReadFirstLane {
                    scalar(vdst)?
                } else {
                    vgpr(vdst)
                };
            }
            inst
        }
        0b0111110 => {
            let mut inst = new(Encoding::Vopc, words.row("VOPC", vdst)?);
            inst.dst = VCC;
            let (first, second) = sources(src0, vsrc1, &mut inst, words)?;
            inst.src = [first, second, Operand::None];
            inst
        }
        _ => {
            let mut inst = new(Encoding::Vop2, words.row("VOP2", bits(word, 25, 6))?);
            inst.dst = vgpr(vdst);
            let signature = inst.row.op.signature();
            if signature.sdst == Kind::Mask {
                inst.sdst = VCC;
            }
            let (first, second) = sources(src0, vsrc1, &mut inst, words)?;
            inst.src = match inst.row.form {
                Form::Mk => [first, words.literal()?, second],
                Form::Ak => [first, second, words.literal()?],
                Form::Acc => [first, second, inst.dst],
                _ if signature.src.len() == 3 => [first, second, VCC],
                _ => [first, second, Operand::None],
            };
            inst
        }
    };
    if inst.row.op == Op::AccMov {
        if !matches!(inst.src[0], Operand::Vgpr(_)) {
            return Err(Invalid::Unknown);
        }
        accumulate(&mut inst.dst);
        accumulate(&mut inst.src[0]);
    }
    inst.clears_half = true;
    Ok(inst)
}

/// Turns a vector register into the accumulation register of the same number.
fn accumulate(operand: &mut Operand) {
    if let Operand::Vgpr(n) = *operand {
        *operand = Operand::Agpr(n);
    }
}

fn vop3(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let opcode = bits(word, 16, 10);
    let row = match opcode {
        0..0x100 => words.row("VOPC", opcode)?,
        0x100..0x140 => words.row("VOP2", opcode - 0x100)?,
        0x140..VOP3_ONLY => words.row("VOP1", opcode - 0x140)?,
        _ => words.row("VOP3", opcode)?,
    };
    if matches!(row.form, Form::Solo | Form::Mk | Form::Ak) {
        return Err(Invalid::Unknown);
    }
    let high = words.next()?;
    let mut inst = new(Encoding::Vop3, row);
    let signature = row.op.signature();
    inst.clears_half = opcode < VOP3_ONLY || row.form == Form::Legacy;
    inst.neg = bits(high, 29, 3) as u8;
    inst.omod = bits(high, 27, 2) as u8;
    inst.clamp = bits(word, 15, 1) != 0;
    let function = matches!(row.op, Op::Bitop3B16 | Op::Bitop3B32);
    if function {
        // The truth table of three bits is in the fields of the modifiers.
        inst.imm = (bits(high, 27, 2) << 6 | bits(word, 8, 3) << 3 | bits(high, 29, 3)) as i32;
        (inst.neg, inst.omod) = (0, 0);
    }
    inst.dst = match row.op {
        Op::ReadLane => scalar(bits(word, 0, 7))?,
        _ if signature.dst == Kind::Mask => scalar(bits(word, 0, 7))?,
        _ => vgpr(bits(word, 0, 8)),
    };
    if signature.sdst == Kind::Mask {
        inst.sdst = scalar(bits(word, 8, 7))?;
    } else {
        inst.abs = if function { 0 } else { bits(word, 8, 3) as u8 };
        inst.op_sel = bits(word, 11, 4) as u8;
    }
    let encoded = signature.src.len() - usize::from(row.form == Form::Acc);
    for i in 0..encoded {
        inst.src[i] = source(bits(if i == 0 { high } else { high >> (9 * i) }, 0, 9))?;
    }
    if row.form == Form::Acc {
        inst.src[encoded] = inst.dst;
    }
    Ok(inst)
}

/// VOP3P, and from opcode 0x3e on the matrix cores' own form of it.
fn vop3p(isa: Isa, word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    if isa == Isa::Cdna4 && bits(word, 16, 7) == SCALE {
        return scaled(isa, word, words);
    }
    let row = words.row("VOP3P", bits(word, 16, 7))?;
    let high = words.next()?;
    let mut inst = new(Encoding::Vop3p, row);
    inst.dst = vgpr(bits(word, 0, 8));
    let count = row.op.signature().src.len();
    for i in 0..count {
        inst.src[i] = source(bits(high >> (9 * i), 0, 9))?;
    }
    if row.opcode >= 0x3e || matches!(row.op.unit(), Unit::Mfma(_) | Unit::Smfmac(_)) {
        matrix(isa, word, high, &mut inst)?;
        return Ok(inst);
    }
    inst.abs = bits(word, 8, 3) as u8;
    inst.op_sel = bits(word, 11, 3) as u8;
    inst.op_sel_hi = bits(high, 27, 2) as u8 | (bits(word, 14, 1) << 2) as u8;
    inst.clamp = bits(word, 15, 1) != 0;
    inst.neg = bits(high, 29, 3) as u8;
    Ok(inst)
}

/// A matrix instruction with the two words before it that name what scales its factors.
fn scaled(isa: Isa, word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let high = words.next()?;
    let scales = Scales {
        src: [source(bits(high, 0, 9))?, source(bits(high, 9, 9))?],
        op_sel: bits(word, 11, 2) as u8,
        op_sel_hi: bits(high, 27, 2) as u8,
    };
    let product = words.next()?;
    let opcode = bits(product, 16, 7);
    let reserved = word & 0xe7ff | high & 0xe7fc_0000;
    if reserved != 0 || product >> 23 != word >> 23 || !matches!(opcode, 0x2d | 0x2e) || product & SCALED == 0
    {
        return Err(Invalid::Unknown);
    }
    let mut inst = vop3p(isa, product & !SCALED, words)?;
    inst.scales = Some(scales);
    Ok(inst)
}

fn matrix(isa: Isa, word: u32, high: u32, inst: &mut Instruction) -> Result<(), Invalid> {
    inst.format = Encoding::Mai;
    match inst.row.mnemonic {
        "v_accvgpr_read_b32" => {
            accumulate(&mut inst.src[0]);
            return Ok(());
        }
        "v_accvgpr_write_b32" => {
            accumulate(&mut inst.dst);
            return Ok(());
        }
        _ => {}
    }
    for i in 0..2 {
        if !matches!(inst.src[i], Operand::Vgpr(_)) {
            return Err(Invalid::Unknown);
        }
        if bits(high, 27 + i as u32, 1) != 0 {
            accumulate(&mut inst.src[i]);
        }
    }
    let sparse = inst.row.mnemonic.starts_with("v_smfmac");
    if bits(word, 15, 1) != 0 {
        accumulate(&mut inst.dst);
        // The third source of a sparse product is its index, in a vector register.
        if !sparse {
            accumulate(&mut inst.src[2]);
        }
    }
    inst.broadcast = Broadcast {
        cbsz: bits(word, 8, 3) as u8,
        abid: bits(word, 11, 4) as u8,
        blgp: bits(high, 29, 3) as u8,
    };
    if sparse && inst.broadcast.cbsz == 0 {
        inst.imm = i32::from(inst.broadcast.abid);
    }
    // Signs of the operands; CDNA2 has neither these nor a lane pattern there.
    if isa != Isa::Cdna2 && inst.row.mnemonic.ends_with("f64") {
        inst.neg = std::mem::take(&mut inst.broadcast.blgp);
    }
    Ok(())
}

fn share(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let mut inst = new(Encoding::Ds, words.row("DS", bits(word, 17, 8))?);
    let high = words.next()?;
    let op = inst.row.op;
    inst.imm = bits(word, 0, 16) as i32;
    inst.gds = bits(word, 16, 1) != 0;
    inst.address = vgpr(bits(high, 0, 8));
    let returns = inst.row.form == Form::Return
        || matches!(op, Op::DsLoad2B32 | Op::DsLoad2B64)
        || matches!(op, Op::DsExchange2B32 | Op::DsExchange2B64);
    if returns {
        inst.dst = vgpr(bits(high, 24, 8));
    }
    for i in 0..op.signature().src.len() {
        inst.src[i] = vgpr(bits(high, 8 + 8 * i as u32, 8));
    }
    if matches!(
        op,
        Op::DsConsume | Op::DsAppend | Op::LoadAddtid | Op::StoreAddtid
    ) {
        inst.address = Operand::None;
    }
    accumulate_data(&mut inst, bits(word, 25, 1));
    inst.clears_half = true;
    Ok(inst)
}

/// With the ACC bit the data registers of a memory instruction are accumulation registers.
fn accumulate_data(inst: &mut Instruction, bit: u32) {
    if bit != 0 {
        accumulate(&mut inst.dst);
        inst.src.iter_mut().for_each(accumulate);
    }
}

/// FLAT, SCRATCH, GLOBAL.
fn flat(isa: Isa, word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    // Data that goes to LDS: a bit on CDNA2, opcodes of their own on CDNA3.
    let row = if isa == Isa::Cdna2 && bits(word, 13, 1) != 0 {
        words.row("FLAT to LDS", bits(word, 18, 7))?
    } else {
        words.row("FLAT", bits(word, 18, 7))?
    };
    let format = match (bits(word, 14, 2), row.form) {
        (0, Form::Usual | Form::NotScratch) => Encoding::Flat,
        (1, Form::Usual | Form::NotFlat) => Encoding::Scratch,
        (2, _) => Encoding::Global,
        _ => return Err(Invalid::Unknown),
    };
    let high = words.next()?;
    let mut inst = new(format, row);
    inst.cache = bits(word, 16, 2) as u8 | (bits(word, 25, 1) << 2) as u8;
    // 13 bits, signed except for FLAT.
    inst.imm = match format {
        Encoding::Flat => bits(word, 0, 13) as i32,
        _ => (word << 19) as i32 >> 19,
    };
    let saddr = bits(high, 16, 7);
    // On CDNA2 a scratch address is in a vector or in a scalar register, on CDNA3 in both or none.
    let uses_vgpr = match (format, isa) {
        (Encoding::Scratch, Isa::Cdna2) => saddr == OFF,
        (Encoding::Scratch, _) => bits(word, 13, 1) != 0,
        _ => true,
    };
    if uses_vgpr {
        inst.address = vgpr(bits(high, 0, 8));
    }
    if format != Encoding::Flat && saddr != OFF {
        inst.base = scalar(saddr)?;
    }
    flat_data(&mut inst, high);
    accumulate_data(&mut inst, bits(high, 23, 1));
    inst.clears_half = true;
    Ok(inst)
}

/// Buffers and cache controls.
fn mubuf(isa: Isa, word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let mut inst = new(Encoding::Mubuf, words.row("MUBUF", bits(word, 18, 7))?);
    let high = words.next()?;
    inst.cache = bits(word, 14, 1) as u8 | (bits(word, 17, 1) << 1) as u8 | (bits(word, 15, 1) << 2) as u8;
    if inst.row.op == Op::SNop {
        if isa == Isa::Cdna2 {
            inst.cache = 0;
        }
        return Ok(inst);
    }
    // Data that goes to LDS: not compiled.
    if bits(word, 16, 1) != 0 {
        return Err(Invalid::Unknown);
    }
    (inst.offen, inst.idxen) = (bits(word, 12, 1) != 0, bits(word, 13, 1) != 0);
    buffer_operands(&mut inst, high);
    inst.base = scalar(bits(high, 16, 5) << 2)?;
    inst.soffset = source(bits(high, 24, 8))?;
    inst.imm = bits(word, 0, 12) as i32;
    accumulate_data(&mut inst, bits(high, 23, 1));
    inst.clears_half = true;
    Ok(inst)
}
