//! Which instructions the mode of single precision may change.

use crate::isa::{Control, Inst, Kind, Op, Unit};

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
