//! How many registers a wave needs: the highest that instructions name.

use crate::isa::instruction::{Encoding, Instruction, Operand};
use crate::isa::ops::Op;
use crate::isa::unit::{Control, Unit};

/// Whether vector registers are known by number only once an instruction runs: this one, or those after it.
pub(super) fn names_at_run_time(op: Op) -> bool {
    matches!(
        op.unit(),
        Unit::MoveRelative(_)
            | Unit::SwapRelative
            | Unit::Control(Control::IndexOn | Control::IndexValue | Control::IndexMode)
    )
}

/// One more than the highest vector register, and accumulation register, that any of the instructions names.
pub(super) fn most_registers<'a>(insts: impl IntoIterator<Item = &'a Instruction>) -> (usize, usize) {
    let halves = insts
        .into_iter()
        .flat_map(|inst| std::iter::once(inst).chain(inst.dual.as_deref()));
    halves
        .map(highest_registers)
        .fold((0, 0), |(vgprs, agprs), (v, a)| (vgprs.max(v), agprs.max(a)))
}

/// One more than the highest vector register, and accumulation register, an instruction names.
fn highest_registers(inst: &Instruction) -> (usize, usize) {
    let signature = inst.row.op.signature();
    let wide = matches!(inst.format, Encoding::Global | Encoding::Flat) && inst.base == Operand::None;
    let sources = inst
        .src
        .into_iter()
        .zip(signature.src.iter().copied())
        .enumerate();
    let registers = sources.map(|(i, (operand, kind))| {
        let count = u16::from(inst.source_kind(i, kind).registers(inst.lanes));
        (operand, count + inst.bank_of_source(i))
    });
    let scales = inst
        .scales
        .into_iter()
        .flat_map(|scales| scales.src.map(|operand| (operand, 1_u16)));
    let others = [
        (
            inst.dst,
            u16::from(signature.dst.registers(inst.lanes)) + inst.bank_of_destination(),
        ),
        (inst.address, if wide { 2 } else { 1 } + inst.bank_of_address()),
    ];
    registers
        .chain(scales)
        .chain(others)
        .fold((0, 0), |(vgprs, agprs), (operand, count)| match operand {
            Operand::Vgpr(n) => (vgprs.max(usize::from(n) + usize::from(count)), agprs),
            Operand::Agpr(n) => (vgprs, agprs.max(usize::from(n) + usize::from(count))),
            _ => (vgprs, agprs),
        })
}
