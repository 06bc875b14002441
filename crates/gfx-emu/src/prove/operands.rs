//! What an instruction reads and writes besides its sources.

use crate::isa::{Control, Inst, Kind, Op, ScalarAccess, Share, Src, Transfer, Unit, WHOLE};

/// The registers that an instruction writes, and what it reads besides its sources: EXEC and other lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operands {
    /// The destination is in vector registers; else in scalar ones.
    pub(super) dst_is_vector: bool,
    /// Registers of the destination.
    pub(super) dst_words: u8,
    /// All bits of these are written: of vector registers in each active lane.
    pub(super) whole: bool,
    /// Registers of the mask that is a second destination.
    pub(super) mask_words: u8,
    pub(super) writes_scc: bool,
    /// EXEC is written beside the destination.
    pub(super) writes_exec: bool,
    pub(super) exec_words: u8,
    /// The active lanes decide the result.
    pub(super) reads_exec: bool,
    /// It does more than to write registers.
    pub(super) has_effects: bool,
    /// Lanes look at other lanes.
    pub(super) crosses: bool,
}

/// Which part of a register an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Low,
    High,
    Whole,
}

/// The part of a register that source `i` is.
pub(super) fn half(inst: &Inst, i: usize, kind: Kind) -> Half {
    let is_half = kind.is_half() || kind.is_mixed() && inst.op_sel_hi >> i & 1 != 0;
    match (is_half, inst.op_sel >> i & 1) {
        (false, _) => Half::Whole,
        (true, 0) => Half::Low,
        (true, _) => Half::High,
    }
}

/// Sources that are constants of the instruction.
pub(super) fn known(inst: &Inst) -> [Option<u64>; 3] {
    inst.src.map(|src| match src {
        Src::Const(number) => Some(number),
        _ => None,
    })
}

/// Whether an instruction is its operation and nothing else: no signs, no limits, no lanes or parts that are moved.
pub(super) fn is_plain(inst: &Inst) -> bool {
    inst.neg | inst.abs | inst.op_sel == 0
        && !inst.clamp
        && inst.omod == 0
        && inst.dpp.is_none()
        && inst.parts.is_none()
        && !inst.entangled
}

/// Whether a scalar operation writes SCC.
pub(super) fn writes_scc(op: Op) -> bool {
    let signature = op.signature();
    if op.unit() != Unit::Scalar {
        return false;
    }
    if signature.dst == Kind::Void {
        return true;
    }
    let float = |kind: &Kind| kind.is_float();
    let floats = float(&signature.dst) || signature.src.iter().any(float);
    !floats
        && !matches!(
            op,
            Op::SMovB32
                | Op::SMovB64
                | Op::SBrevB32
                | Op::SBrevB64
                | Op::SCtzI32B32
                | Op::SCtzI32B64
                | Op::SFf0I32B32
                | Op::SFf0I32B64
                | Op::SClzI32U32
                | Op::SClzI32U64
                | Op::SClsI32
                | Op::SClsI32I64
                | Op::SSextI32I8
                | Op::SSextI32I16
                | Op::SBitreplicateB64B32
                | Op::SBfmB32
                | Op::SBfmB64
                | Op::SMulI32
                | Op::SMulHiU32
                | Op::SMulHiI32
                | Op::SAddNcU64
                | Op::SSubNcU64
                | Op::SMulU64
                | Op::SPackLlB32B16
                | Op::SPackLhB32B16
                | Op::SPackHhB32B16
                | Op::SPackHlB32B16
                | Op::SCselectB32
                | Op::SCselectB64
                | Op::SCmovB32
                | Op::SCmovB64
                | Op::SBitset0B32
                | Op::SBitset0B64
                | Op::SBitset1B32
                | Op::SBitset1B64
                | Op::SCvtHiF32F16
        )
}

/// Whether a scalar operation reads SCC.
pub(super) fn reads_scc(op: Op) -> bool {
    matches!(
        op,
        Op::SAddcU32 | Op::SSubbU32 | Op::SCselectB32 | Op::SCselectB64 | Op::SCmovB32 | Op::SCmovB64
    )
}

/// Whether a scalar operation reads its destination.
pub(super) fn reads_destination(op: Op) -> bool {
    matches!(
        op,
        Op::SCmovB32 | Op::SCmovB64 | Op::SBitset0B32 | Op::SBitset0B64 | Op::SBitset1B32 | Op::SBitset1B64
    )
}

/// Whether each lane of a vector operation looks at itself alone.
fn is_of_lanes(op: Op) -> bool {
    matches!(
        op,
        Op::CndmaskB32
            | Op::CndmaskB16
            | Op::AddCoU32
            | Op::SubCoU32
            | Op::SubrevCoU32
            | Op::AddCoCiU32
            | Op::SubCoCiU32
            | Op::SubrevCoCiU32
            | Op::DivScaleF32
            | Op::DivScaleF64
            | Op::DivFmasF32
            | Op::DivFmasF64
            | Op::MadU64U32
            | Op::MadI64I32
            | Op::MbcntLo
            | Op::MbcntHi
            | Op::FmaMixF32
            | Op::FmaMixF32Bf16
            | Op::Dot2F32F16
            | Op::Dot2F32Bf16
            | Op::Dot4I32Iu8
            | Op::Dot8I32Iu4
            | Op::PkFmaF32
            | Op::PkMulF32
            | Op::PkAddF32
            | Op::PkMovB32
            | Op::Bitop3B32
            | Op::Bitop2B32
    )
}

/// Whether an instruction writes all of its vector registers in each active lane.
fn is_whole(inst: &Inst) -> bool {
    let half = inst.op.signature().dst.is_half() && !inst.clears_half;
    let part = inst.parts.as_ref().is_some_and(|parts| parts.sdwa.dst != WHOLE);
    !half && !part && inst.dpp.is_none() && !inst.entangled
}

/// The [`Operands`] of an instruction of a wave of `lanes` lanes.
pub(super) fn of(inst: &Inst, lanes: usize) -> Operands {
    let signature = inst.op.signature();
    let masks = (lanes / 32) as u8;
    let none = Operands {
        dst_is_vector: true,
        dst_words: signature.dst.registers(lanes),
        whole: false,
        mask_words: signature.sdst.registers(lanes),
        writes_scc: false,
        writes_exec: false,
        exec_words: masks,
        reads_exec: true,
        has_effects: false,
        crosses: false,
    };
    match inst.unit {
        Unit::Lane => Operands {
            whole: is_whole(inst),
            ..none
        },
        Unit::Compare => Operands {
            dst_is_vector: false,
            whole: !inst.entangled,
            writes_exec: inst.writes_exec,
            has_effects: inst.writes_exec,
            ..none
        },
        Unit::Vector => match inst.op {
            Op::ReadFirstLane | Op::ReadLane => Operands {
                dst_is_vector: false,
                whole: true,
                crosses: true,
                ..none
            },
            op if is_of_lanes(op) => Operands {
                whole: is_whole(inst),
                ..none
            },
            _ => Operands {
                has_effects: true,
                crosses: true,
                ..none
            },
        },
        Unit::Scalar => Operands {
            dst_is_vector: false,
            whole: true,
            mask_words: 0,
            writes_scc: writes_scc(inst.op),
            writes_exec: inst.op.sets_exec(),
            reads_exec: inst.op.sets_exec(),
            has_effects: inst.op.sets_exec(),
            ..none
        },
        Unit::Control(control) => Operands {
            dst_is_vector: false,
            whole: control == Control::GetPc,
            reads_exec: false,
            has_effects: true,
            ..none
        },
        Unit::ScalarMemory(access) => Operands {
            dst_is_vector: false,
            whole: matches!(access, ScalarAccess::Load(_) | ScalarAccess::LoadPart { .. }),
            reads_exec: false,
            has_effects: true,
            ..none
        },
        Unit::Memory(transfer) => Operands {
            whole: match transfer {
                Transfer::Load(_) | Transfer::LoadAtLane => true,
                Transfer::LoadPart(part) => part.half.is_none(),
                _ => false,
            },
            has_effects: true,
            ..none
        },
        Unit::Atomic(_) => Operands {
            dst_words: if inst.returns { none.dst_words } else { 0 },
            whole: inst.returns,
            has_effects: true,
            ..none
        },
        Unit::Share(share) => Operands {
            whole: matches!(share, Share::Load2(_) | Share::Exchange2(_)),
            has_effects: true,
            ..none
        },
        Unit::Wmma(_)
        | Unit::Tiles(_)
        | Unit::Mfma(_)
        | Unit::Smfmac(_)
        | Unit::SparseTiles(_)
        | Unit::MoveRelative(_)
        | Unit::SwapRelative
        | Unit::Unsupported => Operands {
            has_effects: true,
            crosses: true,
            ..none
        },
    }
}
