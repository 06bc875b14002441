//! Turns encoding words into an [`Instruction`]: which format, which row, where each field lies.
//!
//! Field layouts: "RDNA3 Instruction Set Architecture", chapter 15; those of CDNA are in `decode/cdna3.rs`, those in which RDNA2
//! and RDNA4 depart in `decode/rdna2.rs` and `decode/rdna4.rs`. What the operands mean is known to the printer and to the executor.

mod cdna3;
mod gfx125;
mod rdna2;
mod rdna4;
mod sdwa;

use super::instruction::{Dpp, Encoding, Instruction, Isa, Operand, Shuffle};
use super::ops::{Kind, Op};
use super::tables::{Form, InstructionRow};
use super::unit::Unit;

/// Why words are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// No row of the table, or an operand code without meaning.
    Unknown,
    /// The code ends inside the instruction.
    Truncated,
}

const VCC: Operand = Operand::Scalar(106);
const EXEC: Operand = Operand::Scalar(126);
const NULL: u32 = 124;

/// Source codes that announce another dword.
const LITERAL: u32 = 255;
/// The code that announces two.
const WIDE_LITERAL: u32 = 254;
const DPP8: u32 = 233;
const DPP8_FI: u32 = 234;
const DPP16: u32 = 250;

/// The words of one instruction, and how far they were used.
struct InstructionWords<'a> {
    isa: Isa,
    text: &'a [u8],
    used: usize,
    literal: Option<u32>,
    wide_literal: Option<u64>,
}

impl<'a> InstructionWords<'a> {
    fn new(isa: Isa, text: &'a [u8]) -> Self {
        InstructionWords {
            isa,
            text,
            used: 0,
            literal: None,
            wide_literal: None,
        }
    }

    /// The row of an opcode of a format.
    fn row(&self, format: &str, opcode: u32) -> Result<&'static InstructionRow, Invalid> {
        self.isa.row(format, opcode).ok_or(Invalid::Unknown)
    }

    fn next(&mut self) -> Result<u32, Invalid> {
        let bytes = self
            .text
            .get(4 * self.used..4 * self.used + 4)
            .ok_or(Invalid::Truncated)?;
        self.used += 1;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u32::from(*byte)))
    }

    /// The literal after the encoding; read once, however many operands use it.
    fn literal(&mut self) -> Result<Operand, Invalid> {
        let value = match self.literal {
            Some(value) => value,
            None => self.next()?,
        };
        self.literal = Some(value);
        Ok(Operand::Literal(value))
    }

    /// The literal of two dwords; read once, too.
    fn wide_literal(&mut self) -> Result<Operand, Invalid> {
        let value = match self.wide_literal {
            Some(value) => value,
            None => u64::from(self.next()?) | u64::from(self.next()?) << 32,
        };
        self.wide_literal = Some(value);
        Ok(Operand::Wide(value))
    }

    /// A source of 9 bits (vector registers from 256) or 8 bits.
    fn source(&mut self, code: u32) -> Result<Operand, Invalid> {
        Ok(match code {
            0..=127 => Operand::Scalar(code as u8),
            128..=208 | 235..=238 | 240..=248 | 253 => Operand::Inline(code as u8),
            251 | 252 if self.isa == Isa::Rdna2 => Operand::Inline(code as u8),
            230 | 231 if self.isa == Isa::Gfx125 => Operand::Inline(code as u8),
            WIDE_LITERAL if self.isa == Isa::Gfx125 => self.wide_literal()?,
            LITERAL => self.literal()?,
            256..=511 => Operand::Vgpr(code as u8),
            _ => return Err(Invalid::Unknown),
        })
    }

    /// The first source of a vector instruction, which may announce a DPP dword.
    fn source0(&mut self, code: u32, inst: &mut Instruction) -> Result<Operand, Invalid> {
        // The long encodings of RDNA2 have no DPP.
        let long = matches!(inst.format, Encoding::Vop3 | Encoding::Vop3p);
        if !matches!(code, DPP8 | DPP8_FI | DPP16) || self.isa == Isa::Rdna2 && long {
            return self.source(code);
        }
        let word = self.next()?;
        inst.dpp = Some(if code == DPP16 {
            inst.neg |= bits(word, 20, 1) as u8 | (bits(word, 22, 1) << 1) as u8;
            inst.abs |= bits(word, 21, 1) as u8 | (bits(word, 23, 1) << 1) as u8;
            Dpp {
                shuffle: Shuffle::Dpp16(bits(word, 8, 9) as u16),
                bound_ctrl: bits(word, 19, 1) != 0,
                fetch_inactive: bits(word, 18, 1) != 0,
                row_mask: bits(word, 28, 4) as u8,
                bank_mask: bits(word, 24, 4) as u8,
            }
        } else {
            Dpp {
                shuffle: Shuffle::Dpp8(word >> 8),
                bound_ctrl: true,
                fetch_inactive: code == DPP8_FI,
                row_mask: 15,
                bank_mask: 15,
            }
        });
        Ok(Operand::Vgpr(word as u8))
    }
}

fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

fn vgpr(code: u32) -> Operand {
    Operand::Vgpr(code as u8)
}

fn scalar(code: u32) -> Operand {
    Operand::Scalar(code as u8 & 127)
}

/// Decodes the instruction at the start of `text`, for waves of `lanes` lanes.
pub(crate) fn decode(isa: Isa, lanes: usize, text: &[u8]) -> Result<Instruction, Invalid> {
    match isa {
        Isa::Rdna2 => rdna2::decode(lanes, text),
        Isa::Rdna3 | Isa::Rdna35 | Isa::Rdna4 | Isa::Gfx125 => rdna(isa, lanes, text),
        Isa::Cdna2 | Isa::Cdna3 | Isa::Cdna4 => cdna3::decode(isa, text),
    }
}

fn rdna(isa: Isa, lanes: usize, text: &[u8]) -> Result<Instruction, Invalid> {
    let mut words = InstructionWords::new(isa, text);
    let word = words.next()?;
    let mut inst = match word >> 26 {
        // Waves of 64 lanes have no dual instructions.
        0b110010 if lanes == 32 => dual(word, &mut words)?,
        0b110011 if word >> 24 == 0b11001100 => packed(word, &mut words)?,
        0b110011 if isa == Isa::Gfx125 && word >> 24 == 0b11001111 => gfx125::dual(word, &mut words)?,
        0b110101 => vop3(word, &mut words)?,
        0b110110 => share(word, &mut words)?,
        0b111011 if isa.is_gfx12() => rdna4::flat(word, &mut words)?,
        0b110001 if isa.is_gfx12() && word >> 24 == 0xc4 => rdna4::mubuf(word, &mut words)?,
        0b111101 if isa.is_gfx12() => rdna4::smem(word, &mut words)?,
        0b110111 if !isa.is_gfx12() => flat(word, &mut words)?,
        0b111000 if !isa.is_gfx12() => mubuf(word, &mut words)?,
        0b111101 => smem(word, &mut words)?,
        _ if word >> 31 == 0 => vop_short(word, &mut words)?,
        _ if word >> 30 == 0b10 => sop(word, &mut words)?,
        _ => return Err(Invalid::Unknown),
    };
    inst.size = 4 * words.used as u8;
    (inst.isa, inst.lanes) = (isa, lanes);
    if let Some(dual) = &mut inst.dual {
        (dual.isa, dual.lanes) = (isa, lanes);
    }
    Ok(inst)
}

/// SOP1, SOP2, SOPC, SOPK, SOPP.
fn sop(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let (ssrc0, ssrc1) = (bits(word, 0, 8), bits(word, 8, 8));
    let sdst = scalar(bits(word, 16, 7));
    match word >> 23 {
        0b1_0111_1101 => {
            let row = words.row("SOP1", ssrc1)?;
            let mut inst = Instruction::new(Encoding::Sop1, row, 0);
            let signature = row.op.signature();
            if signature.dst != Kind::Void {
                inst.dst = sdst;
            }
            if matches!(row.op, Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64) {
                // The source field is the message.
                inst.imm = ssrc0 as i32;
            } else if !signature.src.is_empty() {
                inst.src[0] = words.source(ssrc0)?;
            }
            Ok(inst)
        }
        0b1_0111_1110 => {
            let mut inst = Instruction::new(Encoding::Sopc, words.row("SOPC", bits(word, 16, 7))?, 0);
            inst.src = [words.source(ssrc0)?, words.source(ssrc1)?, Operand::None];
            Ok(inst)
        }
        0b1_0111_1111 => {
            let mut inst = Instruction::new(Encoding::Sopp, words.row("SOPP", bits(word, 16, 7))?, 0);
            inst.imm = word as i16 as i32;
            Ok(inst)
        }
        _ if word >> 28 == 0b1011 => sopk(word, words),
        _ => {
            let mut inst = Instruction::new(Encoding::Sop2, words.row("SOP2", bits(word, 23, 7))?, 0);
            inst.dst = sdst;
            let (first, second) = (words.source(ssrc0)?, words.source(ssrc1)?);
            inst.src = match inst.row.form {
                Form::Mk => [first, words.literal()?, second],
                Form::Ak => [first, second, words.literal()?],
                Form::Acc => [first, second, sdst],
                _ => [first, second, Operand::None],
            };
            Ok(inst)
        }
    }
}

fn sopk(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("SOPK", bits(word, 23, 5))?;
    let mut inst = Instruction::new(Encoding::Sopk, row, 0);
    let sdst = scalar(bits(word, 16, 7));
    let signed = Operand::Constant(word as i16 as i32);
    inst.imm = word as i16 as i32;
    match row.form {
        Form::K => (inst.dst, inst.src[0]) = (sdst, signed),
        Form::AccK => (inst.dst, inst.src) = (sdst, [sdst, signed, Operand::None]),
        Form::CmpK => inst.src = [sdst, signed, Operand::None],
        Form::CmpKU => inst.src = [sdst, Operand::Constant(word as u16 as i32), Operand::None],
        _ => match row.op {
            Op::SSetregImm32 => inst.src[0] = words.literal()?,
            Op::SSetreg | Op::SWait => inst.src[0] = sdst,
            Op::SVersion => {}
            _ => inst.dst = sdst,
        },
    }
    Ok(inst)
}

fn smem(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("SMEM", bits(word, 18, 8))?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Smem, row, 0);
    inst.cache = bits(word, 14, 1) as u8 | (bits(word, 13, 1) << 2) as u8;
    if row.op == Op::SNop {
        return Ok(inst);
    }
    inst.dst = scalar(bits(word, 6, 7));
    inst.base = scalar(bits(word, 0, 6) << 1);
    inst.soffset = scalar(bits(high, 25, 7));
    inst.imm = (high << 11) as i32 >> 11;
    Ok(inst)
}

/// VOP1, VOP2, VOPC.
fn vop_short(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let (vdst, vsrc1, src0) = (bits(word, 17, 8), bits(word, 9, 8), bits(word, 0, 9));
    let mut inst = match word >> 25 {
        0b0111111 => {
            let mut inst = Instruction::new(Encoding::Vop1, words.row("VOP1", vsrc1)?, 0);
            if inst.row.op.signature().src.is_empty() {
                alone(src0)?;
            } else {
                inst.src[0] = words.source0(src0, &mut inst)?;
                let to_scalar = inst.row.op == Op::ReadFirstLane;
                inst.dst = if to_scalar { scalar(vdst) } else { vgpr(vdst) };
            }
            inst
        }
        0b0111110 => {
            let mut inst = Instruction::new(Encoding::Vopc, words.row("VOPC", vdst)?, 0);
            inst.dst = if inst.row.form == Form::CmpX { EXEC } else { VCC };
            inst.src = [words.source0(src0, &mut inst)?, vgpr(vsrc1), Operand::None];
            inst
        }
        _ => {
            let mut inst = Instruction::new(Encoding::Vop2, words.row("VOP2", bits(word, 25, 6))?, 0);
            inst.dst = vgpr(vdst);
            let first = words.source0(src0, &mut inst)?;
            vop2_sources(&mut inst, first, vgpr(vsrc1), words)?;
            inst
        }
    };
    select_halves(&mut inst);
    Ok(inst)
}

/// Refuses the field of a source that an instruction has not, where it says that another dword follows.
fn alone(src0: u32) -> Result<(), Invalid> {
    const SDWA: u32 = 249;
    match src0 {
        DPP8 | DPP8_FI | SDWA | DPP16 | WIDE_LITERAL | LITERAL => Err(Invalid::Unknown),
        _ => Ok(()),
    }
}

/// Sources and implied operands of VOP2 and of each half of VOPD.
fn vop2_sources(
    inst: &mut Instruction,
    first: Operand,
    second: Operand,
    words: &mut InstructionWords<'_>,
) -> Result<(), Invalid> {
    let signature = inst.row.op.signature();
    inst.src = match inst.row.form {
        Form::Mk if signature.dst == Kind::F64 => [first, words.wide_literal()?, second],
        Form::Ak if signature.dst == Kind::F64 => [first, second, words.wide_literal()?],
        Form::Mk => [first, words.literal()?, second],
        Form::Ak => [first, second, words.literal()?],
        Form::Acc => [first, second, inst.dst],
        _ if signature.src.len() == 1 => [first, Operand::None, Operand::None],
        _ if signature.src.len() == 3 => [first, second, VCC],
        _ => [first, second, Operand::None],
    };
    if signature.sdst == Kind::Mask {
        inst.sdst = VCC;
    }
    Ok(())
}

/// In the short formats, register 128 and up means the high half of register `n - 128` for a 16-bit operand.
fn select_halves(inst: &mut Instruction) {
    let signature = inst.row.op.signature();
    let mut select = |operand: &mut Operand, kind: Kind, bit: u8| {
        if let Operand::Vgpr(n @ 128..) = *operand
            && kind.is_half()
        {
            *operand = Operand::Vgpr(n - 128);
            inst.op_sel |= 1 << bit;
        }
    };
    select(&mut inst.dst, signature.dst, 3);
    for (i, kind) in signature.src.iter().enumerate() {
        select(&mut inst.src[i], *kind, i as u8);
    }
}

fn vop3(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let opcode = bits(word, 16, 10);
    let row = match opcode {
        0..0x100 => words.row("VOPC", opcode)?,
        0x100..0x140 => words.row("VOP2", opcode - 0x100)?,
        0x180..0x200 => words.row("VOP1", opcode - 0x180)?,
        _ => words.row("VOP3", opcode)?,
    };
    if matches!(row.form, Form::Solo | Form::Mk | Form::Ak) {
        return Err(Invalid::Unknown);
    }
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Vop3, row, 0);
    let signature = row.op.signature();
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
        Op::ReadLane => scalar(bits(word, 0, 7)),
        _ if signature.dst == Kind::Mask || row.op.unit() == Unit::Scalar => scalar(bits(word, 0, 7)),
        _ => vgpr(bits(word, 0, 8)),
    };
    if signature.sdst == Kind::Mask {
        inst.sdst = scalar(bits(word, 8, 7));
    } else {
        inst.abs = if function { 0 } else { bits(word, 8, 3) as u8 };
        inst.op_sel = bits(word, 11, 4) as u8;
    }
    let encoded = signature.src.len() - usize::from(row.form == Form::Acc);
    for i in 0..encoded {
        let code = bits(if i == 0 { high } else { high >> (9 * i) }, 0, 9);
        inst.src[i] = if i == 0 {
            words.source0(code, &mut inst)?
        } else {
            words.source(code)?
        };
    }
    if row.form == Form::Acc {
        inst.src[encoded] = inst.dst;
    }
    Ok(inst)
}

fn packed(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    // GFX12.5 has an eighth bit of opcode.
    let row = words.row(
        "VOP3P",
        bits(word, 16, if words.isa == Isa::Gfx125 { 8 } else { 7 }),
    )?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Vop3p, row, 0);
    inst.dst = vgpr(bits(word, 0, 8));
    inst.abs = bits(word, 8, 3) as u8;
    inst.op_sel = bits(word, 11, 3) as u8;
    inst.op_sel_hi = bits(high, 27, 2) as u8 | (bits(word, 14, 1) << 2) as u8;
    inst.clamp = bits(word, 15, 1) != 0;
    inst.neg = bits(high, 29, 3) as u8;
    for i in 0..row.op.signature().src.len() {
        let code = bits(high >> (9 * i), 0, 9);
        inst.src[i] = if i == 0 {
            words.source0(code, &mut inst)?
        } else {
            words.source(code)?
        };
    }
    Ok(inst)
}

fn dual(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let high = words.next()?;
    let mut halves = [
        (
            words.row("VOPD", bits(word, 22, 4))?,
            bits(high, 24, 8),
            bits(word, 0, 9),
            bits(word, 9, 8),
        ),
        // The second destination is even where the first is odd, and the other way round.
        (
            words.row("VOPD", bits(word, 17, 5))?,
            bits(high, 17, 7) << 1 | (!high >> 24 & 1),
            bits(high, 0, 9),
            bits(high, 9, 8),
        ),
    ]
    .into_iter()
    .map(|(row, vdst, src0, vsrc1)| {
        let mut half = Instruction::new(Encoding::Vopd, row, 0);
        half.dst = vgpr(vdst);
        let first = words.source(src0)?;
        vop2_sources(&mut half, first, vgpr(vsrc1), words)?;
        Ok(half)
    })
    .collect::<Result<Vec<_>, Invalid>>()?;
    let (Some(second), Some(mut first)) = (halves.pop(), halves.pop()) else {
        return Err(Invalid::Unknown);
    };
    first.dual = Some(Box::new(second));
    Ok(first)
}

fn share(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("DS", bits(word, 18, 8))?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Ds, row, 0);
    let signature = row.op.signature();
    inst.imm = bits(word, 0, 16) as i32;
    inst.gds = bits(word, 17, 1) != 0;
    if row.op == Op::SNop {
        return Ok(Instruction::new(Encoding::Ds, row, 0));
    }
    inst.address = vgpr(bits(high, 0, 8));
    let returns = row.form == Form::Return
        || matches!(row.op, Op::DsLoad2B32 | Op::DsLoad2B64)
        || matches!(row.op, Op::DsExchange2B32 | Op::DsExchange2B64);
    if returns {
        inst.dst = vgpr(bits(high, 24, 8));
    }
    for (i, operand) in inst.src.iter_mut().enumerate().take(signature.src.len()) {
        *operand = vgpr(bits(high, 8 + 8 * i as u32, 8));
    }
    if matches!(
        row.op,
        Op::DsConsume | Op::DsAppend | Op::LoadAddtid | Op::StoreAddtid
    ) {
        inst.address = Operand::None;
    }
    Ok(inst)
}

/// FLAT, SCRATCH, GLOBAL.
fn flat(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("FLAT", bits(word, 18, 7))?;
    let format = match (bits(word, 16, 2), row.form) {
        (0, Form::Usual | Form::NotScratch) => Encoding::Flat,
        (1, Form::Usual) => Encoding::Scratch,
        (2, _) => Encoding::Global,
        _ => return Err(Invalid::Unknown),
    };
    let high = words.next()?;
    let mut inst = Instruction::new(format, row, 0);
    inst.cache = bits(word, 14, 1) as u8 | (bits(word, 15, 1) << 1) as u8 | (bits(word, 13, 1) << 2) as u8;
    // 13 bits, signed except for FLAT.
    inst.imm = (word << 19) as i32 >> 19;
    if format == Encoding::Flat {
        inst.imm &= 0x1fff;
    }
    let (saddr, vaddr) = (bits(high, 16, 7), vgpr(bits(high, 0, 8)));
    let uses_vgpr = match format {
        Encoding::Scratch => bits(high, 23, 1) != 0,
        _ => !matches!(row.op, Op::LoadAddtid | Op::StoreAddtid),
    };
    if uses_vgpr {
        inst.address = vaddr;
    }
    if format != Encoding::Flat && saddr != NULL {
        inst.base = scalar(saddr);
    }
    flat_data(&mut inst, high);
    Ok(inst)
}

/// The registers of data of FLAT, GLOBAL and SCRATCH. An atomic has a result only where it asks for the value before it.
fn flat_data(inst: &mut Instruction, high: u32) {
    let op = inst.row.op;
    let atomic = matches!(op.unit(), Unit::Atomic(_));
    if op.signature().dst != Kind::Void && (!atomic || inst.cache & 1 != 0) {
        inst.dst = vgpr(bits(high, 24, 8));
    }
    if !op.signature().src.is_empty() {
        inst.src[0] = vgpr(bits(high, 8, 8));
    }
}

fn mubuf(word: u32, words: &mut InstructionWords<'_>) -> Result<Instruction, Invalid> {
    let row = words.row("MUBUF", bits(word, 18, 8))?;
    let high = words.next()?;
    let mut inst = Instruction::new(Encoding::Mubuf, row, 0);
    if row.op == Op::SNop {
        return Ok(inst);
    }
    // A status after the data, which is for textures that are not resident.
    if bits(high, 21, 1) != 0 {
        return Err(Invalid::Unknown);
    }
    inst.cache = bits(word, 14, 1) as u8 | (bits(word, 12, 1) << 1) as u8 | (bits(word, 13, 1) << 2) as u8;
    (inst.offen, inst.idxen) = (bits(high, 22, 1) != 0, bits(high, 23, 1) != 0);
    buffer_operands(&mut inst, high);
    inst.soffset = match bits(high, 24, 8) {
        LITERAL => return Err(Invalid::Unknown),
        code => words.source(code)?,
    };
    inst.imm = bits(word, 0, 12) as i32;
    Ok(inst)
}

/// Data, address and descriptor of a buffer instruction, its cache bits and address flags known.
fn buffer_operands(inst: &mut Instruction, high: u32) {
    let signature = inst.row.op.signature();
    let data = vgpr(bits(high, 8, 8));
    if !signature.src.is_empty() {
        inst.src[0] = data;
    }
    let atomic = matches!(inst.row.op.unit(), Unit::Atomic(_));
    if signature.dst != Kind::Void && (!atomic || inst.cache & 1 != 0) {
        inst.dst = data;
    }
    if inst.offen || inst.idxen {
        inst.address = vgpr(bits(high, 0, 8));
    }
    inst.base = scalar(bits(high, 16, 5) << 2);
}
