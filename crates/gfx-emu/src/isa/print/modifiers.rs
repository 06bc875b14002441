//! What follows the operands: offsets, hints for caches, modifiers of floats, halves, parts and lanes.

use std::fmt::Write as _;

use super::TO_LDS;
use crate::fault::Access;
use crate::isa::instruction::{Dpp, Encoding, Instruction, Isa, Shuffle};
use crate::isa::ops::Op;
use crate::isa::tables::Form;
use crate::isa::unit::Unit;

pub(super) fn modifiers(inst: &Instruction, text: &mut String) {
    match inst.format {
        Encoding::Vop3 => vop3_modifiers(inst, text),
        Encoding::Vop3p => packed_modifiers(inst, text),
        Encoding::Vopd3 => truth_table(inst, text),
        Encoding::Mai => broadcasts(inst, text),
        _ if inst.sdwa.is_some() => parts(inst, text),
        Encoding::Ds => ds_offsets(inst, text),
        Encoding::Mubuf => {
            for (flag, name) in [(inst.idxen, " idxen"), (inst.offen, " offen")] {
                text.push_str(if flag { name } else { "" });
            }
            if inst.imm != 0 {
                append(text, format_args!(" offset:{}", inst.imm));
            }
        }
        Encoding::Flat | Encoding::Scratch | Encoding::Global if inst.imm != 0 => {
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
        (Isa::Cdna3 | Isa::Cdna4, Encoding::Smem) | (Isa::Rdna2 | Isa::Rdna3 | Isa::Rdna35, _) => {
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
    if inst.format != Encoding::Vopc {
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
