//! The encodings of RDNA2 (gfx1030): scalar instructions and the long vector ones as on RDNA3, sub-dword addressing in the short ones
//! as on CDNA, and memory instructions of its own.
//!
//! Field layouts: "RDNA 2 Instruction Set Architecture", chapter 13. M0 and NULL have each other's operand code of RDNA3; a decoded
//! instruction has RDNA3's, so that one register file serves both.
//!
//! Results of 16 bits keep the other half of their register, in every encoding: LLVM 19 says so in
//! `GCNSubtarget::zeroesHigh16BitsOfDest` ("On gfx10, all 16-bit instructions preserve the high bits"). That SDWA with a whole
//! destination keeps it as well is assumed.

use super::{
    InstructionWords, Invalid, LITERAL, VCC, bits, buffer_operands, flat_data, packed, scalar, sdwa, share,
    sop, vgpr, vop2_sources, vop3,
};
use crate::isa::instruction::{Encoding, Instruction, Isa, Operand};
use crate::isa::ops::Op;
use crate::isa::tables::Form;
use crate::wave::reg;

/// The source code that announces a dword of sub-dword addressing.
const SDWA: u32 = 249;
/// `off` in the scalar address of GLOBAL and SCRATCH, which has the code of NULL.
const OFF: u32 = 125;
/// Such a code of SCRATCH alone: the instruction has no vector address either.
const NEITHER: u32 = 127;

/// Decodes the instruction at the start of `text`, for waves of `lanes` lanes.
pub(super) fn decode(lanes: usize, text: &[u8]) -> Result<Instruction, Invalid> {
    let mut words = InstructionWords::new(Isa::Rdna2, text);
    let word = words.next()?;
    let mut inst = match word >> 26 {
        0b110011 if word >> 24 == 0b11001100 => packed(word, &mut words)?,
        0b110101 => vop3(word, &mut words)?,
        0b110110 => share(word, &mut words)?,
        0b110111 => flat(word, &mut words)?,
        0b111000 => mubuf(word, &mut words)?,
        0b111101 => smem(word, &mut words)?,
        _ if word >> 31 == 0 => short(word, &mut words)?,
        _ if word >> 30 == 0b10 => sop(word, &mut words)?,
        _ => return Err(Invalid::Unknown),
    };
    inst.size = 4 * words.used as u8;
    (inst.isa, inst.lanes) = (Isa::Rdna2, lanes);
    let operands = [&mut inst.dst, &mut inst.sdst, &mut inst.base, &mut inst.soffset];
    operands.into_iter().chain(&mut inst.src).for_each(as_on_rdna3);
    Ok(inst)
}

/// Exchanges the codes of M0 and NULL.
fn as_on_rdna3(operand: &mut Operand) {
    const NULL: u8 = reg::NULL as u8;
    const M0: u8 = reg::M0 as u8;
    match operand {
        Operand::Scalar(code @ NULL) => *code = M0,
        Operand::Scalar(code @ M0) => *code = NULL,
        _ => {}
    }
}

/// VOP1, VOP2, VOPC.
fn short(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let (vdst, vsrc1, src0) = (bits(word, 17, 8), bits(word, 9, 8), bits(word, 0, 9));
    match word >> 25 {
        0b0111111 => {
            let mut inst = Instruction::new(Encoding::Vop1, words.row("VOP1", vsrc1)?, 0);
            if inst.row.op.signature().src.is_empty() {
                super::alone(src0)?;
            } else {
                inst.src[0] = sources(src0, 0, &mut inst, words)?.0;
                let to_scalar = inst.row.op == Op::ReadFirstLane;
                inst.dst = if to_scalar { scalar(vdst) } else { vgpr(vdst) };
            }
            Ok(inst)
        }
        0b0111110 => {
            let mut inst = Instruction::new(Encoding::Vopc, words.row("VOPC", vdst)?, 0);
            inst.dst = VCC;
            let (first, second) = sources(src0, vsrc1, &mut inst, words)?;
            inst.src = [first, second, Operand::None];
            if inst.row.form == Form::CmpX {
                inst.dst = super::EXEC;
            }
            Ok(inst)
        }
        _ => {
            let mut inst = Instruction::new(Encoding::Vop2, words.row("VOP2", bits(word, 25, 6))?, 0);
            inst.dst = vgpr(vdst);
            let (first, second) = sources(src0, vsrc1, &mut inst, words)?;
            vop2_sources(&mut inst, first, second, words)?;
            Ok(inst)
        }
    }
}

/// The first source of a short vector instruction, which may announce an SDWA or DPP dword, and the second one, which is a vector
/// register unless the SDWA dword says otherwise.
fn sources(
    src0: u32,
    vsrc1: u32,
    inst: &mut Instruction,
    words: &mut InstructionWords<'_>,
) -> Result<(Operand, Operand), Invalid> {
    if src0 == SDWA {
        let word = words.next()?;
        let mut source = |code| match code {
            LITERAL => Err(Invalid::Unknown),
            _ => words.source(code),
        };
        return sdwa::operands(word, vsrc1, inst, &mut source);
    }
    Ok((words.source0(src0, inst)?, vgpr(vsrc1)))
}

fn smem(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("SMEM", bits(word, 18, 8))?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Smem, row, 0);
    if row.op == Op::SNop {
        return Ok(inst);
    }
    inst.dst = scalar(bits(word, 6, 7));
    if row.op == Op::STime {
        return Ok(inst);
    }
    inst.cache = bits(word, 16, 1) as u8 | (bits(word, 14, 1) << 2) as u8;
    inst.base = scalar(bits(word, 0, 6) << 1);
    inst.soffset = scalar(bits(high, 25, 7));
    inst.imm = (high << 11) as i32 >> 11;
    Ok(inst)
}

/// FLAT, SCRATCH, GLOBAL.
fn flat(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let to_lds = bits(word, 13, 1) != 0;
    let row = words.row(if to_lds { "FLAT to LDS" } else { "FLAT" }, bits(word, 18, 7))?;
    let format = match (bits(word, 14, 2), row.form) {
        (0, Form::Usual | Form::NotScratch) => Encoding::Flat,
        (1, Form::Usual | Form::NotFlat) => Encoding::Scratch,
        (2, _) => Encoding::Global,
        _ => return Err(Invalid::Unknown),
    };
    let high = words.next()?;
    let mut inst = Instruction::new(format, row, 0);
    inst.cache = bits(word, 16, 2) as u8 | (bits(word, 12, 1) << 2) as u8;
    // 12 bits, signed except for FLAT.
    inst.imm = match format {
        Encoding::Flat => bits(word, 0, 12) as i32,
        _ => (word << 20) as i32 >> 20,
    };
    let saddr = bits(high, 16, 7);
    match (format, saddr) {
        (_, OFF) | (Encoding::Scratch, NEITHER) => {}
        (Encoding::Flat, _) | (_, NEITHER) => return Err(Invalid::Unknown),
        _ => inst.base = scalar(saddr),
    }
    // A scratch address is in a vector register, in a scalar one or in none.
    let uses_vgpr = match format {
        Encoding::Scratch => saddr == OFF,
        _ => !matches!(row.op, Op::LoadAddtid | Op::StoreAddtid),
    };
    if uses_vgpr {
        inst.address = vgpr(bits(high, 0, 8));
    }
    flat_data(&mut inst, high);
    Ok(inst)
}

/// Buffers and cache controls.
fn mubuf(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("MUBUF", bits(word, 18, 8))?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Mubuf, row, 0);
    if row.op == Op::SNop {
        return Ok(inst);
    }
    // Data that goes to LDS, which is not compiled, and a status after the data, which is for textures that are not resident.
    if bits(word, 16, 1) != 0 || bits(high, 23, 1) != 0 {
        return Err(Invalid::Unknown);
    }
    inst.cache = bits(word, 14, 1) as u8 | (bits(high, 22, 1) << 1) as u8 | (bits(word, 15, 1) << 2) as u8;
    (inst.offen, inst.idxen) = (bits(word, 12, 1) != 0, bits(word, 13, 1) != 0);
    buffer_operands(&mut inst, high);
    inst.soffset = match bits(high, 24, 8) {
        LITERAL => return Err(Invalid::Unknown),
        code => words.source(code)?,
    };
    inst.imm = bits(word, 0, 12) as i32;
    Ok(inst)
}
