//! Which encodings are refused: what LLVM takes and no manual says, and what nothing here executes.

use super::super::instruction::{Broadcast, Encoding, Instruction, Isa, Operand};
use super::super::ops::{Kind, Op};
use super::super::unit::{Element, Unit};

/// Whether an instruction of the long or short formats has a sign on an operand that is not a float, or names a half of one that is whole. LLVM takes
/// some of these; what they do no manual says.
pub(super) fn marks_what_it_has_not(inst: &Instruction) -> bool {
    if !matches!(
        inst.format,
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3
    ) {
        return false;
    }
    let signature = inst.row.op.signature();
    let name = inst.row.mnemonic;
    // Of these the bits are flags, or bytes.
    let other = ["permlane", "fp8", "bf8", "fp6", "bf6", "fp4", "bitop3"];
    let halves = !other.iter().any(|part| name.contains(part));
    let signs = inst.neg | inst.abs;
    let float =
        |kind: &Kind| kind.is_float() || kind.is_mixed() || kind.is_float_pair() || *kind == Kind::PF32;
    let dot = matches!(inst.row.op, Op::Dot2Bf16Bf16);
    let source = |(i, kind): (usize, &Kind)| {
        signs >> i & 1 != 0 && !float(kind) && !dot || inst.op_sel >> i & 1 != 0 && halves && !kind.is_half()
    };
    let destination = inst.op_sel & 8 != 0 && halves && !signature.dst.is_half();
    destination || signature.src.iter().enumerate().any(source)
}

/// What the encodings of CDNA3 allow and nothing here executes: broadcasts that AMD's matrix instruction calculator does not have, the
/// scalar registers of the scratch address, halves of the integer dot products.
pub(super) fn modelled_on_cdna3(inst: &Instruction) -> bool {
    let address = |operand: &Operand| !inst.isa.is_rdna() && matches!(operand, Operand::Scalar(102..=105));
    let dot = matches!(
        inst.row.op,
        Op::Dot2I32I16 | Op::Dot2U32U16 | Op::Dot4I32I8 | Op::Dot8I32I4
    );
    // The high half of a constant pair, but for zero, which has none that is not. A move has one half of each source in
    // its result.
    let moves = inst.row.op == Op::PkMovB32;
    let high = inst.op_sel | if moves { 0 } else { inst.op_sel_hi };
    let sources = inst.src.iter().zip(inst.row.op.signature().src).enumerate();
    let constant = |(i, (operand, kind)): (usize, (&Operand, &Kind))| {
        *kind == Kind::PF32 && matches!(operand, Operand::Inline(129..)) && high >> i & 1 != 0
    };
    // CDNA2's kernels set the scratch address up; nothing here reads it.
    let mut others = inst
        .src
        .iter()
        .chain(matches!(inst.isa, Isa::Cdna3 | Isa::Cdna4).then_some(&inst.dst));
    let halves = inst.op_sel != 0 || inst.op_sel_hi & 3 != 3 || inst.neg | inst.abs != 0;
    let refused = [
        match inst.factors() {
            Some(_) => inst.broadcast.abid != 0,
            None => !broadcasts(inst),
        },
        small_floats(inst),
        sources.into_iter().any(constant),
        others.any(address),
        dot && halves,
    ];
    !refused.contains(&true)
}

/// What the encodings of GFX12.5 allow and nothing here executes: a clamp that chooses another 8-bit float, clamps of brain floats in pairs,
/// constants and signs of pairs outside the packed format, scalar pairs, and signs of integer operands.
pub(super) fn modelled_on_gfx125(inst: &Instruction) -> bool {
    let signature = inst.row.op.signature();
    let sources = || inst.src.iter().zip(signature.src);
    let name = inst.row.mnemonic;
    let bytes = name.starts_with("v_cvt") && name.contains("fp8");
    let float =
        |kind: &Kind| kind.is_float() || kind.is_mixed() || *kind == Kind::PF32 || kind.is_float_pair();
    let signs = inst.neg
        | if inst.format == Encoding::Vopd3 {
            0
        } else {
            inst.abs
        };
    let signed = |(i, kind): (usize, &Kind)| signs >> i & 1 != 0 && !float(kind);
    let refused = [
        inst.clamp && (bytes || signature.dst == Kind::PBf16),
        inst.format == Encoding::Vop3
            && sources().any(|(src, kind)| kind.is_float_pair() && !matches!(src, Operand::Vgpr(_))),
        sources().any(|(src, kind)| *kind == Kind::PF32 && matches!(src, Operand::Literal(_))),
        inst.format == Encoding::Vopd3 && signature.src.iter().enumerate().any(signed),
        inst.row.op == Op::CvtF32Bf16 && !matches!(inst.src[0], Operand::Vgpr(_)),
    ];
    !refused.contains(&true)
}

/// Whether a matrix instruction has the blocks of A and the lanes of B that it names. CDNA3 has patterns of lanes for single precision and for
/// shapes of several blocks; what is CDNA4's alone has none.
fn broadcasts(inst: &Instruction) -> bool {
    let Broadcast { cbsz, abid, blgp } = inst.broadcast;
    match inst.row.op.unit() {
        Unit::Mfma(shape) => {
            let double = shape.a == Element::F64;
            let blocks = if double { 1 } else { u32::from(shape.blocks) };
            let lanes = inst.isa == Isa::Cdna2 || blocks > 1 || shape.a == Element::F32;
            (1 << cbsz) <= blocks && abid < (1 << cbsz) && (blgp == 0 || lanes && !double)
        }
        // Of a sparse product they choose among the sets of places in the third source.
        Unit::Smfmac(_) => blgp == 0,
        _ => inst.broadcast == Broadcast::default(),
    }
}

/// What is not known of CDNA4's conversions: signs and halves of what is not one number, constants in the 16-bit brain format, and
/// what modifiers are of exchanges.
fn small_floats(inst: &Instruction) -> bool {
    let name = inst.row.mnemonic;
    let sources = inst.src.iter().zip(inst.row.op.signature().src);
    let constant =
        |(operand, kind): (&Operand, &Kind)| *kind != Kind::F32 && !matches!(operand, Operand::Vgpr(_));
    let modified = inst.neg | inst.abs != 0 || inst.omod != 0 || inst.clamp;
    if name.starts_with("v_cvt_scalef32") {
        return modified || sources.into_iter().any(constant);
    }
    match inst.row.op {
        Op::CvtF32Bf16 => matches!(inst.src[0], Operand::Inline(240..)),
        Op::Permlane16Swap | Op::Permlane32Swap => {
            inst.op_sel != 0 || modified || !matches!(inst.src[0], Operand::Vgpr(_))
        }
        _ => false,
    }
}
