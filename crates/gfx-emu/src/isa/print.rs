//! Assembly text of an [`Instruction`], in LLVM's syntax.
//!
//! For faults and listings. `tests/isa/decode.rs` compares it with `llvm-objdump`.

use std::fmt::Write as _;

use super::immediate;
use super::instruction::{Dpp, Format, Instruction, Isa, Name, Operand, Shuffle};
use super::ops::{Kind, Op};
use super::tables::Form;
use super::unit::Unit;
use crate::fault::Access;

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
    let mut formats = inst.isa.formats().iter();
    let short = formats.any(|(name, rows)| short(name) && rows.contains(inst.row));
    let suffix = match (inst.format, inst.dpp) {
        _ if inst.sdwa.is_some() => "_sdwa",
        (Format::Vop1 | Format::Vop3, None) if name.starts_with("v_cvt_pk_f16_") && short => "",
        (Format::Vop3, None) if short => "_e64",
        (Format::Vop3 | Format::Vop3p, Some(_)) => "_e64_dpp",
        (Format::Vop1 | Format::Vop2, Some(_)) => "_dpp",
        (Format::Vopc, Some(_)) => "",
        (Format::Vop1 | Format::Vop2 | Format::Vopc, None) if has_long_form(inst) => "_e32",
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
        Format::Sopp => immediate::sopp(inst).into_iter().collect(),
        Format::Sopk => sopk(inst),
        Format::Smem => smem(inst),
        Format::Ds => ds(inst),
        Format::Flat | Format::Scratch | Format::Global => flat(inst),
        Format::Mubuf => buffer(inst),
        Format::Sop1 if matches!(inst.row.op, Op::SSendmsgRtnB32 | Op::SSendmsgRtnB64) => {
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
                if inst.format == Format::Vopd && signature.src[i] == Kind::Mask {
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
        Format::Vop3p => kind.is_mixed(),
        Format::Vop2 => kind.is_float() || kind == Kind::PF16,
        // LLVM has an operand there that may have a sign.
        Format::Vop3 if matches!(inst.row.op, Op::Dot2Bf16Bf16) => true,
        Format::Vop3 if inst.row.op == Op::LdexpF16 && inst.isa.is_rdna() && inst.isa != Isa::Rdna2 => true,
        Format::Vop3 if !inst.isa.is_rdna() => kind.is_float() || kind == Kind::PF16,
        Format::Vop3 => kind.is_float() || matches!(kind, Kind::P16 | Kind::PF16),
        // Double precision lists them after the operands, like the packed formats.
        Format::Mai => false,
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
        Format::Vop3 => inst.dpp.is_some() || floats(),
        Format::Vop1 | Format::Vop2 | Format::Vopc => inst.dpp.is_some(),
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

fn smem(inst: &Instruction) -> Vec<String> {
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

fn ds(inst: &Instruction) -> Vec<String> {
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
fn buffer(inst: &Instruction) -> Vec<String> {
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

fn flat(inst: &Instruction) -> Vec<String> {
    let signature = inst.row.op.signature();
    if inst.row.op == Op::SNop {
        return Vec::new();
    }
    let wide = inst.format != Format::Scratch && inst.base == Operand::None;
    let address = operand(inst, inst.address, if wide { Kind::B64 } else { Kind::B32 });
    let base = operand(
        inst,
        inst.base,
        if inst.format == Format::Scratch {
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
    if inst.format != Format::Flat || inst.base != Operand::None {
        list.push(base);
    }
    list
}

fn modifiers(inst: &Instruction, text: &mut String) {
    match inst.format {
        Format::Vop3 => vop3_modifiers(inst, text),
        Format::Vop3p => packed_modifiers(inst, text),
        Format::Vopd3 => truth_table(inst, text),
        Format::Mai => broadcasts(inst, text),
        _ if inst.sdwa.is_some() => parts(inst, text),
        Format::Ds => ds_offsets(inst, text),
        Format::Mubuf => {
            for (flag, name) in [(inst.idxen, " idxen"), (inst.offen, " offen")] {
                text.push_str(if flag { name } else { "" });
            }
            if inst.imm != 0 {
                append(text, format_args!(" offset:{}", inst.imm));
            }
        }
        Format::Flat | Format::Scratch | Format::Global if inst.imm != 0 => {
            append(text, format_args!(" offset:{}", inst.imm));
        }
        _ => {}
    }
    if inst.scale_offset {
        text.push_str(" scale_offset");
    }
    if inst.isa.is_gfx12() {
        hint_and_scope(inst, text);
    }
    if inst.non_volatile {
        text.push_str(" nv");
    }
    let caches = match (inst.isa, inst.format) {
        (Isa::Rdna4 | Isa::Gfx125, _) => ["", "", ""],
        (Isa::Cdna3 | Isa::Cdna4, Format::Smem) | (Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35, _) => {
            [" glc", " slc", " dlc"]
        }
        (Isa::Cdna2, _) => [" glc", " slc", " scc"],
        (Isa::Cdna3 | Isa::Cdna4, _) => [" sc0", " nt", " sc1"],
    };
    for (bit, name) in [1, 2, 4].into_iter().zip(caches) {
        if inst.cache & bit != 0 {
            text.push_str(name);
        }
    }
    if inst.row.mnemonic.ends_with(TO_LDS) {
        text.push_str(TO_LDS);
    }
    if let Some(dpp) = &inst.dpp {
        dpp_controls(inst.isa, dpp, text);
    }
}

/// What RDNA4's caches are told: by the kind of the access, LLVM's names of the hint.
fn hint_and_scope(inst: &Instruction, text: &mut String) {
    const HINTS: [&str; 8] = ["RT", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", "NT_WB"];
    let (hint, scope) = (inst.cache & 7, inst.cache >> 3 & 3);
    let store = match inst.row.op.unit() {
        Unit::Memory(transfer) => transfer.access() == Access::Store,
        _ => inst.row.mnemonic.contains("store"),
    };
    let prefix = if store { "TH_STORE" } else { "TH_LOAD" };
    let name = match (inst.row.mnemonic.contains("atomic"), hint) {
        (_, 0) => String::new(),
        (true, 4..) if scope >= 2 => format!("TH_ATOMIC_CASCADE_{}", if hint & 2 != 0 { "NT" } else { "RT" }),
        (true, 4..) => format!("TH_ATOMIC_{hint:#x}"),
        (true, 2..) => format!("TH_ATOMIC_NT{}", if hint & 1 != 0 { "_RETURN" } else { "" }),
        (true, _) => "TH_ATOMIC_RETURN".into(),
        (false, 3) if scope == 3 => format!("{prefix}_BYPASS"),
        (false, 3) if store && inst.isa == Isa::Gfx125 => "TH_STORE_WB".into(),
        (false, 3) => format!("{prefix}_{}", if store { "RT_WB" } else { "LU" }),
        (false, 7) if !store => format!("{hint:#x}"),
        (false, _) => format!("{prefix}_{}", HINTS[usize::from(hint)]),
    };
    if !name.is_empty() {
        append(text, format_args!(" th:{name}"));
    }
    if scope != 0 {
        let name = ["CU", "SE", "DEV", "SYS"][usize::from(scope)];
        append(text, format_args!(" scope:SCOPE_{name}"));
    }
}

/// Appends formatted text; writing to a `String` cannot fail.
fn append(text: &mut String, args: std::fmt::Arguments<'_>) {
    text.write_fmt(args).ok();
}

/// `name:[a,b,c]`, one bit an element.
fn bit_list(text: &mut String, name: &str, bits: u8, count: usize) {
    let list = (0..count)
        .map(|i| if bits >> i & 1 != 0 { "1" } else { "0" })
        .collect::<Vec<_>>()
        .join(",");
    append(text, format_args!(" {name}:[{list}]"));
}

/// The function of bits.
fn truth_table(inst: &Instruction, text: &mut String) {
    let named = matches!(inst.row.op, Op::Bitop3B16 | Op::Bitop3B32 | Op::Bitop2B32);
    match inst.imm {
        _ if !named => {}
        0 => {}
        table @ ..=10 => append(text, format_args!(" bitop3:{table}")),
        table => append(text, format_args!(" bitop3:{table:#x}")),
    }
}

fn vop3_modifiers(inst: &Instruction, text: &mut String) {
    let signature = inst.row.op.signature();
    truth_table(inst, text);
    let bytes = matches!(
        inst.row.op,
        Op::UnsupportedSr | Op::CvtScalef32PkFp4F16 | Op::CvtScalef32PkFp4Bf16
    );
    if inst.op_sel != 0 && bytes {
        bit_list(text, "op_sel", inst.op_sel, 4);
    } else if inst.op_sel != 0
        && matches!(
            inst.row.op,
            Op::CvtF32OcpFp8 | Op::CvtF32OcpBf8 | Op::CvtF16OcpFp8 | Op::CvtF16OcpBf8
        )
    {
        // The first bit names the half.
        let byte = (inst.op_sel & 1) << 1 | inst.op_sel >> 1 & 1;
        append(text, format_args!(" byte_sel:{byte}"));
    } else if inst.op_sel != 0
        && matches!(
            inst.row.op,
            Op::Permlane16 | Op::Permlanex16 | Op::Permlane16Var | Op::Permlanex16Var
        )
    {
        bit_list(text, "op_sel", inst.op_sel, 2);
    } else if inst.op_sel != 0 {
        let count = signature.src.len();
        let high = inst.op_sel & ((1 << count) - 1) | inst.op_sel >> 3 << count;
        bit_list(text, "op_sel", high, count + 1);
    }
    if inst.clamp {
        text.push_str(" clamp");
    }
    text.push_str(["", " mul:2", " mul:4", " div:2"][usize::from(inst.omod & 3)]);
}

fn packed_modifiers(inst: &Instruction, text: &mut String) {
    let signature = inst.row.op.signature();
    let count = signature.src.len();
    let mix = signature.src.iter().any(|kind| kind.is_mixed());
    let name = inst.row.mnemonic;
    // Of gfx1250's matrix instructions, halves that there are not say that a factor comes again.
    let matrix = inst.isa == Isa::Gfx125 && (name.starts_with("v_wmma") || name.starts_with("v_swmmac"));
    let all = if matrix { 3 } else { (1 << count) - 1 };
    if matrix {
        text.push_str(if inst.op_sel & 4 != 0 {
            " matrix_a_reuse"
        } else {
            ""
        });
        text.push_str(if inst.op_sel_hi & 4 != 0 {
            " matrix_b_reuse"
        } else {
            ""
        });
    }
    if matches!(inst.row.op.unit(), Unit::SparseTiles(_)) {
        if inst.op_sel != 0 {
            append(text, format_args!(" index_key:{}", inst.op_sel));
        }
    } else if inst.op_sel & all != 0 {
        bit_list(text, "op_sel", inst.op_sel, count);
    }
    if inst.op_sel_hi & all != if mix { 0 } else { all } {
        bit_list(text, "op_sel_hi", inst.op_sel_hi, count);
    }
    let all = (1 << count) - 1;
    if !mix && inst.neg & all != 0 {
        bit_list(text, "neg_lo", inst.neg, count);
    }
    if !mix && inst.abs & all != 0 {
        bit_list(text, "neg_hi", inst.abs, count);
    }
    if inst.clamp {
        text.push_str(" clamp");
    }
}

fn broadcasts(inst: &Instruction, text: &mut String) {
    let controls = inst.broadcast;
    if let Some(scales) = inst.scales {
        if scales.op_sel != 0 {
            bit_list(text, "op_sel", scales.op_sel, 3);
        }
        bit_list(text, "op_sel_hi", scales.op_sel_hi, 3);
    }
    for (name, value) in [
        ("cbsz", controls.cbsz),
        ("abid", controls.abid),
        ("blgp", controls.blgp),
    ] {
        if value != 0 {
            append(text, format_args!(" {name}:{value}"));
        }
    }
    if inst.neg != 0 {
        bit_list(text, "neg", inst.neg, 3);
    }
}

/// Clamp, scaling and parts of an SDWA instruction.
fn parts(inst: &Instruction, text: &mut String) {
    const NAMES: [&str; 7] = [
        "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD",
    ];
    const UNUSED: [&str; 3] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"];
    let Some(sdwa) = &inst.sdwa else { return };
    if inst.clamp {
        text.push_str(" clamp");
    }
    text.push_str(["", " mul:2", " mul:4", " div:2"][usize::from(inst.omod & 3)]);
    let name = |part: u8| NAMES.get(usize::from(part)).copied().unwrap_or("?");
    if inst.format != Format::Vopc {
        let unused = UNUSED.get(usize::from(sdwa.unused)).copied().unwrap_or("?");
        append(
            text,
            format_args!(" dst_sel:{} dst_unused:{unused}", name(sdwa.dst)),
        );
    }
    let signature = inst.row.op.signature();
    let count = signature.src.len() - usize::from(inst.row.form == Form::Acc);
    for (i, part) in sdwa.select.into_iter().enumerate().take(count) {
        append(text, format_args!(" src{i}_sel:{}", name(part)));
    }
}

fn ds_offsets(inst: &Instruction, text: &mut String) {
    if matches!(inst.row.form, Form::Two | Form::Two64) {
        for (i, offset) in [inst.imm & 255, inst.imm >> 8 & 255].into_iter().enumerate() {
            if offset != 0 {
                append(text, format_args!(" offset{i}:{offset}"));
            }
        }
    } else if inst.imm != 0 {
        append(text, format_args!(" offset:{}", inst.imm));
    }
    if inst.gds {
        text.push_str(" gds");
    }
}

fn dpp_controls(isa: Isa, dpp: &Dpp, text: &mut String) {
    match dpp.shuffle {
        Shuffle::Dpp8(lanes) => {
            let list = (0..8)
                .map(|i| (lanes >> (3 * i) & 7).to_string())
                .collect::<Vec<_>>()
                .join(",");
            append(text, format_args!(" dpp8:[{list}]"));
            if dpp.fetch_inactive {
                text.push_str(" fi:1");
            }
            return;
        }
        Shuffle::Dpp16(control) => {
            let n = control & 15;
            match control {
                0..=0xff => {
                    let list = (0..4)
                        .map(|i| (control >> (2 * i) & 3).to_string())
                        .collect::<Vec<_>>()
                        .join(",");
                    append(text, format_args!(" quad_perm:[{list}]"));
                }
                0x101..=0x10f => append(text, format_args!(" row_shl:{n}")),
                0x111..=0x11f => append(text, format_args!(" row_shr:{n}")),
                0x121..=0x12f => append(text, format_args!(" row_ror:{n}")),
                0x140 => text.push_str(" row_mirror"),
                0x141 => text.push_str(" row_half_mirror"),
                0x130 => text.push_str(" wave_shl:1"),
                0x134 => text.push_str(" wave_rol:1"),
                0x138 => text.push_str(" wave_shr:1"),
                0x13c => text.push_str(" wave_ror:1"),
                0x142 => text.push_str(" row_bcast:15"),
                0x143 => text.push_str(" row_bcast:31"),
                0x150..=0x15f if !isa.is_rdna() => append(text, format_args!(" row_newbcast:{n}")),
                0x150..=0x15f => append(text, format_args!(" row_share:{n}")),
                0x160..=0x16f => append(text, format_args!(" row_xmask:{n}")),
                _ => append(text, format_args!(" dpp_ctrl:{control:#x}")),
            }
        }
    }
    append(
        text,
        format_args!(" row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask),
    );
    if dpp.bound_ctrl {
        text.push_str(" bound_ctrl:1");
    }
    if dpp.fetch_inactive {
        text.push_str(" fi:1");
    }
}
