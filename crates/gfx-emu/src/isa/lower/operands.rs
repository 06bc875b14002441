//! Operands as the executor has them: registers by number, constants as bits, offsets in bytes.

use super::super::instruction::{Encoding, Instruction, Isa, Operand};
use super::super::ops::Kind;
use super::super::tables::Form;
use super::super::unit::{Control, RegisterCount, ScalarAccess, Share, Unit};
use super::{AGPR, Space, Src};
use crate::fp;
use crate::wave::{PRIVATE_BASE, SCRATCH_BASE, SHARED_BASE, reg};

/// Bytes that a memory instruction accesses, as far as a register of its address may count them.
pub(super) fn accessed(inst: &Instruction) -> Option<u8> {
    let bytes = match inst.row.op.unit() {
        Unit::Memory(transfer) => transfer.bytes(),
        Unit::Atomic(atomic) => 4 * atomic.words() as u64,
        Unit::ScalarMemory(ScalarAccess::Load(dwords)) => 4 * u64::from(dwords),
        Unit::ScalarMemory(ScalarAccess::LoadPart { bytes, .. }) => bytes.into(),
        // A hint goes nowhere.
        Unit::Control(Control::Wait) => 1,
        _ => return None,
    };
    bytes.is_power_of_two().then_some(bytes as u8)
}

/// What a constant becomes depends on the kind; a mixed operand is half precision when `op_sel_hi` says so. In the brain format it stays a number of
/// single precision, whose upper half LLVM takes.
pub(super) fn effective(kind: Kind, inst: &Instruction, i: usize) -> Kind {
    match kind {
        Kind::Mix if inst.op_sel_hi >> i & 1 != 0 => Kind::PF16,
        Kind::Mix | Kind::BrainMix => Kind::F32,
        _ => kind,
    }
}

pub(super) fn space(format: Encoding) -> Space {
    match format {
        Encoding::Ds => Space::Lds,
        Encoding::Scratch => Space::Scratch,
        Encoding::Mubuf => Space::Buffer,
        Encoding::Flat => Space::Flat,
        _ => Space::Global,
    }
}

/// The immediate; both offsets of a two-address DS instruction in bytes.
pub(super) fn offset(inst: &Instruction) -> i32 {
    let element = match inst.row.op.unit() {
        Unit::Share(
            Share::Load2(RegisterCount::Two)
            | Share::Store2(RegisterCount::Two)
            | Share::Exchange2(RegisterCount::Two),
        ) => 8,
        _ => 4,
    };
    let unit = match inst.row.form {
        Form::Two => element,
        Form::Two64 => 64 * element,
        // A constant in place of the scalar offset.
        _ if inst.format == Encoding::Mubuf => {
            let constant = match source(inst.soffset, Kind::B32) {
                Src::Const(value) => value as i32,
                _ => 0,
            };
            return inst.imm.wrapping_add(constant);
        }
        // FLAT has 12 bits of offset before RDNA4, 11 on RDNA2; the next one is ignored.
        _ if inst.format == Encoding::Flat && inst.isa == Isa::Rdna2 => return inst.imm & 0x7ff,
        _ if inst.format == Encoding::Flat && !inst.isa.is_gfx12() => return inst.imm & 0xfff,
        _ => return inst.imm,
    };
    // At most 255 * 64 * 8 = 130,560 bytes: the offsets do not fit 16 bits each, so they are kept in units of 4 bytes.
    let dwords = |offset: i32| (offset & 255) * unit / 4;
    dwords(inst.imm) | dwords(inst.imm >> 8) << 16
}

/// The number of a destination register.
pub(super) fn register(operand: Operand) -> u16 {
    match operand {
        Operand::Agpr(n) => AGPR as u16 + u16::from(n),
        Operand::Vgpr(n) => u16::from(n),
        _ => u16::from(code(operand)),
    }
}

pub(super) fn code(operand: Operand) -> u8 {
    match operand {
        Operand::Scalar(n) => n,
        _ => reg::NULL as u8,
    }
}

pub(super) fn source(operand: Operand, kind: Kind) -> Src {
    match operand {
        Operand::None => Src::None,
        Operand::Vgpr(_) | Operand::Agpr(_) => Src::Vgpr(register(operand)),
        Operand::Scalar(n) => Src::Scalar(n),
        Operand::Inline(251) => Src::Vccz,
        Operand::Inline(252) => Src::Execz,
        Operand::Inline(253) => Src::Scc,
        Operand::Inline(code) => Src::Const(inline(code, kind)),
        Operand::Constant(value) => Src::Const(truncate(value as i64 as u64, kind)),
        Operand::Wide(value) => Src::Const(value),
        Operand::Literal(value) => Src::Const(match kind {
            Kind::F64 => u64::from(value) << 32,
            Kind::I64 => value as i32 as i64 as u64,
            _ => truncate(u64::from(value), kind),
        }),
    }
}

fn truncate(value: u64, kind: Kind) -> u64 {
    match kind {
        Kind::B64 | Kind::I64 | Kind::F64 => value,
        Kind::B16 | Kind::F16 | Kind::Bf16 => value & 0xffff,
        _ => value & 0xffff_ffff,
    }
}

/// Value of an inline constant code. Integers are sign-extended; floats have the precision of the operand.
fn inline(code: u8, kind: Kind) -> u64 {
    let number = match code {
        128..=192 => return truncate(u64::from(code - 128), kind),
        193..=208 => return truncate((192 - i64::from(code)) as u64, kind),
        230 => return truncate(SCRATCH_BASE, kind),
        231 => return SCRATCH_BASE >> 32,
        // The apertures are 64-bit bases and limits; a 32-bit operand sees the low half, as on the card.
        235 => return truncate(SHARED_BASE, kind),
        236 => return truncate(SHARED_BASE | 0xffff_ffff, kind),
        237 => return truncate(PRIVATE_BASE, kind),
        238 => return truncate(PRIVATE_BASE | 0xffff_ffff, kind),
        248 => {
            return match kind {
                Kind::F16 | Kind::B16 | Kind::PF16 => 0x3118,
                Kind::Bf16 | Kind::PBf16 => 0x3e22,
                Kind::F64 | Kind::B64 | Kind::I64 => 0x3fc4_5f30_6dc9_c882,
                _ => 0x3e22_f983,
            };
        }
        _ => [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0][usize::from(code - 240) & 7],
    };
    match kind {
        Kind::F16 | Kind::B16 | Kind::PF16 => u64::from(fp::f16_of_f64(number)),
        Kind::Bf16 | Kind::PBf16 => u64::from(fp::brain::bf16_of_f64(number)),
        Kind::F64 | Kind::B64 | Kind::I64 => f64::to_bits(number),
        _ => u64::from((number as f32).to_bits()),
    }
}
