//! Operands of instructions that access memory or LDS.

use super::operand;
use crate::isa::instruction::{Encoding, Instruction, Operand};
use crate::isa::ops::{Kind, Op};
use crate::isa::unit::Unit;

pub(super) fn smem(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    if inst.row.op == Op::SPrefetch {
        return prefetch(inst);
    }
    if !matches!(inst.row.op.unit(), Unit::ScalarMemory(_) | Unit::Atomic(_)) {
        return match inst.dst {
            Operand::None => Vec::new(),
            _ => vec![operand(inst, inst.dst, signature.dst)],
        };
    }
    let buffer = inst.row.mnemonic.contains("buffer");
    let base = if buffer { Kind::B128 } else { Kind::B64 };
    let (data, kind) = match signature.src.first() {
        Some(kind) => (inst.src[0], *kind),
        None => (inst.dst, signature.dst),
    };
    let mut list = vec![operand(inst, data, kind), operand(inst, inst.base, base)];
    let (sign, size) = (if inst.imm < 0 { "-" } else { "" }, inst.imm.unsigned_abs());
    list.push(match (inst.soffset, inst.imm) {
        (Operand::Scalar(124), 0) if !inst.isa.is_rdna() || inst.isa.is_gfx12() => "0x0".into(),
        (Operand::Scalar(124), 0) => "null".into(),
        (Operand::Scalar(124), _) => format!("{sign}{size:#x}"),
        (soffset, 0) if !inst.isa.is_gfx12() => operand(inst, soffset, Kind::B32),
        (soffset, _) => format!("{} offset:{sign}{size:#x}", operand(inst, soffset, Kind::B32)),
    });
    list
}

/// Address, offsets, and how much.
fn prefetch(inst: &Instruction) -> Vec<String> {
    let (sign, size) = (if inst.imm < 0 { "-" } else { "" }, inst.imm.unsigned_abs());
    let base = if inst.row.mnemonic.contains("buffer") {
        Kind::B128
    } else {
        Kind::B64
    };
    let mut list = vec![format!("{sign}{size:#x}"), operand(inst, inst.soffset, Kind::B32)];
    if let Operand::Constant(count) = inst.src[0] {
        list.push(count.to_string());
    }
    if !inst.row.mnemonic.ends_with("pc_rel") {
        list.insert(0, operand(inst, inst.base, base));
    }
    list
}

pub(super) fn ds(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    let mut list = Vec::new();
    if inst.dst != Operand::None {
        list.push(operand(inst, inst.dst, signature.dst));
    }
    if inst.address != Operand::None {
        list.push(operand(inst, inst.address, Kind::B32));
    }
    for (i, kind) in signature.src.iter().enumerate() {
        list.push(operand(inst, inst.src[i], *kind));
    }
    list
}

/// Data, address, descriptor, scalar offset.
pub(super) fn buffer(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    let (data, kind) = match signature.src.first() {
        Some(kind) => (inst.src[0], *kind),
        None if signature.dst == Kind::Void => return Vec::new(),
        None => (inst.dst, signature.dst),
    };
    let wide = inst.idxen && inst.offen;
    vec![
        operand(inst, data, kind),
        operand(inst, inst.address, if wide { Kind::B64 } else { Kind::B32 }),
        operand(inst, inst.base, Kind::B128),
        operand(inst, inst.soffset, Kind::B32),
    ]
}

pub(super) fn flat(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    if inst.row.op == Op::SNop {
        return Vec::new();
    }
    let wide = inst.format != Encoding::Scratch && inst.base == Operand::None;
    let address = operand(inst, inst.address, if wide { Kind::B64 } else { Kind::B32 });
    let base = operand(
        inst,
        inst.base,
        if inst.format == Encoding::Scratch {
            Kind::B32
        } else {
            Kind::B64
        },
    );
    let mut list = Vec::new();
    if inst.dst != Operand::None {
        list.push(operand(inst, inst.dst, signature.dst));
    }
    let named = !matches!(inst.row.op, Op::LoadAddtid | Op::StoreAddtid);
    if named {
        list.push(address);
    }
    if let Some(kind) = signature.src.first() {
        list.push(operand(inst, inst.src[0], *kind));
    }
    if inst.format != Encoding::Flat || inst.base != Operand::None {
        list.push(base);
    }
    list
}
