//! Which instructions the mode of single precision may change.

use super::flow::Flow;
use crate::fp::Mode;
use crate::isa::{Control, Inst, Isa, Kind, Op, Program, Unit};

/// Bits of MODE that an operation for rounding sets, and those that one for subnormals sets.
const ROUNDING: u32 = 0xf;
const SUBNORMALS: u32 = 0xf0;

/// The mode as the executor has it.
pub(super) fn mode(isa: Isa, bits: u32) -> Mode {
    let mode = Mode::from_bits(isa.mode(bits));
    Mode {
        dx10_clamp: mode.dx10_clamp || isa.is_gfx12(),
        ..mode
    }
}

/// The bits of MODE before each instruction, where it is known: a kernel begins with `entry`.
pub(super) fn of_each(flow: &Flow, program: &Program, entry: u32) -> Vec<Option<u32>> {
    let insts = program.insts();
    let mut before: Vec<Option<Option<u32>>> = vec![None; flow.len()];
    before[flow.entry] = Some(Some(entry));
    let mut pending = vec![flow.entry];
    let mut found = vec![None; insts.len()];
    while let Some(block) = pending.pop() {
        let mut mode = before[block].flatten();
        for index in flow.block(block) {
            found[index] = mode;
            mode = match insts[index].unit {
                Unit::Control(Control::RoundMode) => set(mode, insts[index].imm, 0, ROUNDING),
                Unit::Control(Control::DenormMode) => set(mode, insts[index].imm, 4, SUBNORMALS),
                Unit::Control(Control::SetRegister) => None,
                _ => mode,
            };
        }
        for after in flow.after(block) {
            let new = match before[*after] {
                None => mode,
                Some(known) => known.filter(|_| known == mode),
            };
            if before[*after] != Some(new) {
                before[*after] = Some(new);
                pending.push(*after);
            }
        }
    }
    found
}

fn set(mode: Option<u32>, number: i32, shift: u32, bits: u32) -> Option<u32> {
    mode.map(|mode| mode & !bits | (number as u32) << shift & bits)
}

/// Whether the result of an instruction may depend on whether subnormals of single precision are flushed, or whether it changes modes.
/// What is not known for sure may.
pub(super) fn is_of_singles(inst: &Inst) -> bool {
    let signature = inst.op.signature();
    match inst.unit {
        Unit::Lane | Unit::Compare | Unit::Vector | Unit::Scalar => {
            let sources = signature.src.iter().any(|kind| !is_apart(*kind));
            // What an integer becomes is zero or at least one.
            let of_integers = matches!(
                inst.op,
                Op::CvtF32I32
                    | Op::CvtF32U32
                    | Op::CvtF32Ubyte0
                    | Op::CvtF32Ubyte1
                    | Op::CvtF32Ubyte2
                    | Op::CvtF32Ubyte3
            ) && inst.omod == 0;
            sources || !of_integers && !is_apart(signature.dst)
        }
        Unit::Memory(_) | Unit::ScalarMemory(_) => false,
        Unit::Control(control) => matches!(
            control,
            Control::SetRegister | Control::GetRegister | Control::DenormMode | Control::RoundMode
        ),
        _ => true,
    }
}

/// Whether an operand of this kind is not of single precision, nor of a format that is computed in it.
fn is_apart(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Void
            | Kind::B16
            | Kind::F16
            | Kind::B32
            | Kind::B64
            | Kind::I64
            | Kind::F64
            | Kind::P16
            | Kind::PF16
            | Kind::Mask
            | Kind::B96
            | Kind::B128
    )
}
