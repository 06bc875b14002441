//! Assembly text of an [`Instruction`], in LLVM's syntax.
//!
//! For faults and listings. `tests/isa/decode.rs` compares it with `llvm-objdump`.

mod accesses;
mod modifiers;

use accesses::{buffer, ds, flat, smem};
use modifiers::modifiers;

use super::immediate;
use super::instruction::{Encoding, Instruction, Isa, Name, Operand};
use super::ops::{Kind, Op};
use super::tables::Form;

/// The instruction in assembly text.
pub(crate) fn print(inst: &Instruction) -> String {
    let mut text = mnemonic(inst);
    let operands = operands(inst);
    if !operands.is_empty() {
        text.push(' ');
        text.push_str(&operands.join(", "));
    }
    modifiers(inst, &mut text);
    if let Some(dual) = &inst.dual {
        text.push_str(" :: ");
        text.push_str(&print(dual));
    }
    text
}

/// The end of a load's mnemonic whose data goes to LDS by a bit of the encoding.
const TO_LDS: &str = " lds";

/// Mnemonic with address space and encoding suffix.
fn mnemonic(inst: &Instruction) -> String {
    // Where the data goes is printed after the modifiers.
    let name = inst.row.mnemonic.trim_end_matches(TO_LDS);
    let whole = Name {
        mnemonic: name,
        ..inst.name()
    };
    let short = |name: &str| matches!(name, "VOP1" | "VOP2" | "VOPC");
    let mut formats = inst.isa.formats();
    let short = formats.any(|(name, rows)| short(name) && rows.contains(inst.row));
    let suffix = match (inst.format, inst.dpp) {
        _ if inst.sdwa.is_some() => "_sdwa",
        (Encoding::Vop1 | Encoding::Vop3, None) if name.starts_with("v_cvt_pk_f16_") && short => "",
        (Encoding::Vop3, None) if short => "_e64",
        (Encoding::Vop3 | Encoding::Vop3p, Some(_)) => "_e64_dpp",
        (Encoding::Vop1 | Encoding::Vop2, Some(_)) => "_dpp",
        (Encoding::Vopc, Some(_)) => "",
        (Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc, None) if has_long_form(inst) => "_e32",
        _ => "",
    };
    if inst.scales.is_some() {
        return name.replace("v_mfma_", "v_mfma_scale_");
    }
    format!("{whole}{suffix}")
}

fn has_long_form(inst: &Instruction) -> bool {
    !matches!(inst.row.form, Form::Solo | Form::Mk | Form::Ak)
        && (!inst.isa.is_rdna()
            || !matches!(
                inst.row.mnemonic,
                "v_dot2acc_f32_f16" | "v_dot2c_f32_f16" | "v_dot4c_i32_i8" | "v_pk_fmac_f16"
            ))
}

fn operands(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    match inst.format {
        Encoding::Sopp => immediate::sopp(inst).into_iter().collect(),
        Encoding::Sopk => sopk(inst),
        Encoding::Smem => smem(inst),
        Encoding::Ds => ds(inst),
        Encoding::Flat | Encoding::Scratch | Encoding::Global => flat(inst),
        Encoding::Mubuf => buffer(inst),
        Encoding::Sop1 if matches!(inst.row.op, Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64) => {
            vec![
                operand(inst, inst.dst, signature.dst),
                format!("sendmsg({})", inst.imm),
            ]
        }
        _ => {
            let mut list = Vec::new();
            // A comparison that writes EXEC does not name it.
            if inst.dst != Operand::None && inst.row.form != Form::CmpX {
                list.push(operand(inst, inst.dst, signature.dst));
            }
            if inst.sdst != Operand::None {
                list.push(operand(inst, inst.sdst, signature.sdst));
            }
            let implied = usize::from(inst.row.form == Form::Acc);
            for i in 0..signature.src.len() - implied {
                // VCC is implied in the dual form.
                if inst.format == Encoding::Vopd && signature.src[i] == Kind::Mask {
                    continue;
                }
                list.push(modified(inst, i, inst.source_kind(i, signature.src[i])));
            }
            if inst.row.op == Op::SSetGprIdxOn {
                list.push(immediate::indexed(inst.imm));
            }
            for scale in inst.scales.iter().flat_map(|scales| scales.src) {
                list.push(operand(inst, scale, Kind::B32));
            }
            list
        }
    }
}

/// A source with its `neg` and `abs`.
fn modified(inst: &Instruction, i: usize, kind: Kind) -> String {
    // Packed formats list the signs after the operands, except for mixed precision.
    let inline = match inst.format {
        Encoding::Vop3p => kind.is_mixed(),
        Encoding::Vop2 => kind.is_float() || kind == Kind::PF16,
        // LLVM has an operand there that may have a sign.
        Encoding::Vop3 if matches!(inst.row.op, Op::Dot2Bf16Bf16) => true,
        Encoding::Vop3 if inst.row.op == Op::LdexpF16 && inst.isa.is_rdna() && inst.isa != Isa::Rdna2 => true,
        Encoding::Vop3 if !inst.isa.is_rdna() => kind.is_float() || kind == Kind::PF16,
        Encoding::Vop3 => kind.is_float() || matches!(kind, Kind::P16 | Kind::PF16),
        // Double precision lists them after the operands, like the packed formats.
        Encoding::Mai => false,
        _ => kind.is_float(),
    };
    let (neg, abs) = (inline && inst.neg >> i & 1 != 0, inline && inst.abs >> i & 1 != 0);
    let kind = match kind {
        Kind::Mix | Kind::BrainMix if inst.op_sel_hi >> i & 1 != 0 => Kind::F16,
        Kind::Mix | Kind::BrainMix => Kind::F32,
        // The constant of fmamk and fmaak is a whole dword, whatever the precision.
        _ if matches!((inst.row.form, i), (Form::Mk, 1) | (Form::Ak, 2)) => Kind::B32,
        _ => kind,
    };
    let text = operand(inst, inst.src[i], kind);
    // The bit that is the sign of a float; LLVM's name for it on an integer, where the instruction has floats too or lanes of its own.
    let floats = || inst.row.op.signature().src.iter().any(|kind| kind.is_float());
    let has_bit = match inst.format {
        Encoding::Vop3 => inst.dpp.is_some() || floats(),
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => inst.dpp.is_some(),
        _ => false,
    };
    let has_bit = has_bit && !inst.row.mnemonic.starts_with("v_dot");
    if has_bit && !inline && kind != Kind::Mask && inst.neg >> i & 1 != 0 {
        return format!("sext({text})");
    }
    if let Some(sdwa) = inst.sdwa
        && !inline
        && i < 2
        && kind != Kind::Mask
        && sdwa.extend >> i & 1 != 0
    {
        return format!("sext({text})");
    }
    let number = !text.starts_with(|c: char| c.is_ascii_lowercase());
    match (neg, abs) {
        (true, true) => format!("-|{text}|"),
        (true, false) if number => format!("neg({text})"),
        (true, false) => format!("-{text}"),
        (false, true) => format!("|{text}|"),
        (false, false) => text,
    }
}

/// One operand of a kind.
fn operand(inst: &Instruction, operand: Operand, kind: Kind) -> String {
    let count = kind.registers(inst.lanes);
    match operand {
        Operand::None => "off".into(),
        Operand::Vgpr(n) => registers("v", n, count),
        Operand::Agpr(n) => registers("a", n, count),
        Operand::Scalar(n) => scalar(inst.isa, n, count),
        Operand::Inline(code) => inline(code, kind),
        Operand::Literal(value) if kind.is_half() => format!("{:#x}", value as u16),
        Operand::Literal(value) => format!("{value:#x}"),
        Operand::Wide(value) => format!("{value:#x}"),
        Operand::Constant(value) => format!("{:#x}", value as u16),
    }
}

fn registers(file: &str, first: u8, count: u8) -> String {
    match count {
        0 | 1 => format!("{file}{first}"),
        _ => format!("{file}[{first}:{}]", u16::from(first) + u16::from(count) - 1),
    }
}

fn scalar(isa: Isa, n: u8, count: u8) -> String {
    match (n, count) {
        (102..=105, _) if !isa.is_rdna() => {
            let name = if n < 104 { "flat_scratch" } else { "xnack_mask" };
            match (count, n & 1) {
                (1, 0) => format!("{name}_lo"),
                (1, _) => format!("{name}_hi"),
                _ => name.into(),
            }
        }
        (0..=105, _) => registers("s", n, count),
        (106, 2) => "vcc".into(),
        (106, _) => "vcc_lo".into(),
        (107, _) => "vcc_hi".into(),
        (108..=123, _) => registers("ttmp", n - 108, count),
        (124, _) => "null".into(),
        (125, _) => "m0".into(),
        (126, 2) => "exec".into(),
        (126, _) => "exec_lo".into(),
        _ => "exec_hi".into(),
    }
}

fn inline(code: u8, kind: Kind) -> String {
    match code {
        128..=192 => format!("{}", code - 128),
        193..=208 => format!("{}", 192 - i32::from(code)),
        230 => "src_flat_scratch_base_lo".into(),
        231 => "src_flat_scratch_base_hi".into(),
        235 => "src_shared_base".into(),
        236 => "src_shared_limit".into(),
        237 => "src_private_base".into(),
        238 => "src_private_limit".into(),
        240..=247 => {
            ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"][usize::from(code - 240)].into()
        }
        248 => match kind {
            Kind::F16 | Kind::B16 | Kind::PF16 => "0.15915494",
            Kind::F64 | Kind::B64 | Kind::I64 => "0.15915494309189532",
            _ => "0.15915494",
        }
        .into(),
        251 => "src_vccz".into(),
        252 => "src_execz".into(),
        _ => "src_scc".into(),
    }
}

fn sopk(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    let constant = format!("{:#x}", inst.imm as u16);
    match inst.row.op {
        Op::SGetreg => vec![
            operand(inst, inst.dst, signature.dst),
            immediate::hwreg(inst.isa, inst.imm),
        ],
        Op::SSetreg | Op::SSetregImm32 => vec![
            immediate::hwreg(inst.isa, inst.imm),
            operand(inst, inst.src[0], Kind::B32),
        ],
        Op::SVersion => vec![format!("{}", inst.imm as u16)],
        Op::SCall | Op::UnsupportedFork | Op::SSubvectorLoopBegin | Op::SSubvectorLoopEnd => {
            vec![
                operand(inst, inst.dst, signature.dst),
                format!("{}", inst.imm as u16),
            ]
        }
        _ if inst.dst != Operand::None => vec![operand(inst, inst.dst, signature.dst), constant],
        _ => vec![operand(inst, inst.src[0], Kind::B32), constant],
    }
}
