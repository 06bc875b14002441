//! Text of the immediates that name hardware things: waits, delays, messages, hardware registers.

use super::instruction::{Instruction, Isa};

/// The operand of a SOPP instruction; `None` when it has none.
pub(crate) fn sopp(inst: &Instruction) -> Option<String> {
    let value = inst.imm as u16;
    Some(match inst.row.mnemonic {
        "s_waitcnt" if inst.isa == Isa::Rdna2 => waitcnt_apart(value, 6),
        "s_waitcnt" if !inst.isa.is_rdna() => waitcnt_apart(value, 4),
        "s_waitcnt" => waitcnt(value),
        "s_delay_alu" => delay_alu(value),
        "s_waitcnt_depctr" | "s_wait_alu" => depctr(value),
        "s_sendmsg" | "s_sendmsghalt" => match value {
            1 => "sendmsg(MSG_INTERRUPT)".into(),
            3 => "sendmsg(MSG_DEALLOC_VGPRS)".into(),
            _ => format!(
                "sendmsg({}, {}, {})",
                value & 0xff,
                value >> 4 & 7,
                value >> 8 & 3
            ),
        },
        "s_wait_loadcnt"
        | "s_wait_storecnt"
        | "s_wait_samplecnt"
        | "s_wait_bvhcnt"
        | "s_wait_expcnt"
        | "s_wait_dscnt"
        | "s_wait_kmcnt"
        | "s_wait_xcnt"
        | "s_wait_asynccnt"
        | "s_wait_tensorcnt"
        | "s_wait_loadcnt_dscnt"
        | "s_wait_storecnt_dscnt"
        | "s_clause"
        | "s_set_inst_prefetch_distance"
        | "s_inst_prefetch"
        | "s_round_mode"
        | "s_ttracedata_imm"
        | "s_wait_event"
        | "s_singleuse_vdst" => {
            format!("{value:#x}")
        }
        "s_endpgm" if value == 0 => return None,
        "s_endpgm_ordered_ps_done" | "s_set_gpr_idx_off" => return None,
        "s_barrier" | "s_endpgm_saved" | "s_wakeup" | "s_wait_idle" | "s_icache_inv" | "s_ttracedata"
        | "s_code_end" | "s_barrier_leave" => {
            return None;
        }
        "s_set_gpr_idx_mode" => indexed(i32::from(value)),
        // LLVM prints branch offsets in decimal, other numbers beyond the inline constants in hexadecimal.
        "s_endpgm" => format!("{value}"),
        name if value > 64 && !name.contains("branch") => format!("{value:#x}"),
        _ => format!("{value}"),
    })
}

/// The operands that `s_set_gpr_idx_on` indexes.
pub(super) fn indexed(imm: i32) -> String {
    const NAMES: [&str; 4] = ["SRC0", "SRC1", "SRC2", "DST"];
    if imm > 15 {
        return format!("{imm:#x}");
    }
    let names: Vec<_> = (0..4)
        .filter(|i| imm >> i & 1 != 0)
        .map(|i| NAMES[i as usize])
        .collect();
    format!("gpr_idx({})", names.join(","))
}

/// Fields of an immediate: name, lowest bit, bits.
type Fields = [(&'static str, u16, u16)];

/// The fields that are not at their highest value, which means "do not wait"; all of them when none is.
fn waits(value: u16, fields: &Fields) -> String {
    let field = |(_, low, bits): &(&str, u16, u16)| value >> low & ((1 << bits) - 1);
    let waiting = |f: &&(&'static str, u16, u16)| field(f) != (1 << f.2) - 1;
    let print = |f: &(&'static str, u16, u16)| format!("{}({})", f.0, field(f));
    let some: Vec<_> = fields.iter().filter(waiting).map(print).collect();
    if some.is_empty() {
        fields.iter().map(print).collect::<Vec<_>>().join(" ")
    } else {
        some.join(" ")
    }
}

fn waitcnt(value: u16) -> String {
    waits(value, &[("vmcnt", 10, 6), ("expcnt", 0, 3), ("lgkmcnt", 4, 6)])
}

/// The counters before RDNA3: the first one's upper two bits are apart from the others, the last one has so many bits.
fn waitcnt_apart(value: u16, last: u16) -> String {
    let joined = value & 0xf | value >> 14 << 4 | (value & 0x70) << 2 | (value & 0x3f00) << 1;
    waits(joined, &[("vmcnt", 0, 6), ("expcnt", 6, 3), ("lgkmcnt", 9, last)])
}

fn depctr(value: u16) -> String {
    // Bits 5 and 6 mean nothing; LLVM gives names only to values without them.
    if value & 0x60 != 0 {
        return format!("{value:#x}");
    }
    waits(
        value,
        &[
            ("depctr_hold_cnt", 7, 1),
            ("depctr_sa_sdst", 0, 1),
            ("depctr_va_vdst", 12, 4),
            ("depctr_va_sdst", 9, 3),
            ("depctr_va_ssrc", 8, 1),
            ("depctr_va_vcc", 1, 1),
            ("depctr_vm_vsrc", 2, 3),
        ],
    )
}

fn delay_alu(value: u16) -> String {
    const IDS: [&str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let name = |names: &[&'static str], i: u16| names.get(usize::from(i)).copied().unwrap_or("?");
    let (first, skip, second) = (value & 15, value >> 4 & 7, value >> 7 & 15);
    let mut parts = Vec::new();
    if first != 0 {
        parts.push(format!("instid0({})", name(&IDS, first)));
    }
    if skip != 0 {
        parts.push(format!("instskip({})", name(&SKIPS, skip)));
    }
    if second != 0 {
        parts.push(format!("instid1({})", name(&IDS, second)));
    }
    if parts.is_empty() {
        "0".into()
    } else {
        parts.join(" | ")
    }
}

/// Hardware registers 16 to 24 of CDNA3, then 4.
const CDNA3_REGISTERS: [&str; 10] = [
    "HW_REG_TBA_LO",
    "HW_REG_TBA_HI",
    "HW_REG_TMA_LO",
    "HW_REG_TMA_HI",
    "HW_REG_XCC_ID",
    "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
    "HW_REG_HW_ID",
];

/// Hardware registers of RDNA4.
const RDNA4_REGISTERS: [(i32, &str); 22] = [
    (1, "MODE"),
    (2, "STATUS"),
    (4, "STATE_PRIV"),
    (5, "GPR_ALLOC"),
    (6, "LDS_ALLOC"),
    (7, "IB_STS"),
    (10, "PERF_SNAPSHOT_DATA"),
    (11, "PERF_SNAPSHOT_PC_LO"),
    (12, "PERF_SNAPSHOT_PC_HI"),
    (15, "PERF_SNAPSHOT_DATA1"),
    (16, "PERF_SNAPSHOT_DATA2"),
    (17, "EXCP_FLAG_PRIV"),
    (18, "EXCP_FLAG_USER"),
    (19, "TRAP_CTRL"),
    (20, "SCRATCH_BASE_LO"),
    (21, "SCRATCH_BASE_HI"),
    (23, "HW_ID1"),
    (24, "HW_ID2"),
    (29, "SHADER_CYCLES_LO"),
    (30, "SHADER_CYCLES_HI"),
    (31, "DVGPR_ALLOC_LO"),
    (32, "DVGPR_ALLOC_HI"),
];

/// `hwreg(id, offset, size)` of `s_getreg` and `s_setreg`.
pub(crate) fn hwreg(isa: Isa, imm: i32) -> String {
    let (id, offset, size) = (imm & 63, imm >> 6 & 31, (imm >> 11 & 31) + 1);
    let name = match id {
        _ if isa.is_gfx12() => {
            let own = (isa == Isa::Gfx125).then_some((28, "IB_STS2"));
            let mut all = RDNA4_REGISTERS.iter().copied().chain(own);
            let known = all.find(|(number, _)| *number == id);
            // Newer releases of LLVM say so of what a wave has of its own.
            let own = isa == Isa::Gfx125 && matches!(id, 1..=6 | 17..=24);
            let prefix = if own { "WAVE_" } else { "" };
            known.map_or_else(|| id.to_string(), |(_, name)| format!("HW_REG_{prefix}{name}"))
        }
        16..=19 if isa == Isa::Rdna2 => CDNA3_REGISTERS[id as usize - 16].into(),
        25 if isa == Isa::Rdna2 => "HW_REG_POPS_PACKER".into(),
        27 if isa == Isa::Rdna2 => id.to_string(),
        20..=24 if isa == Isa::Cdna2 => id.to_string(),
        4 | 16..=24 if !isa.is_rdna() => CDNA3_REGISTERS[if id == 4 { 9 } else { id as usize - 16 }].into(),
        20.. if !isa.is_rdna() => id.to_string(),
        1 => "HW_REG_MODE".to_string(),
        2 => "HW_REG_STATUS".into(),
        3 => "HW_REG_TRAPSTS".into(),
        5 => "HW_REG_GPR_ALLOC".into(),
        6 => "HW_REG_LDS_ALLOC".into(),
        7 => "HW_REG_IB_STS".into(),
        15 => "HW_REG_SH_MEM_BASES".into(),
        18 => "HW_REG_PERF_SNAPSHOT_PC_LO".into(),
        19 => "HW_REG_PERF_SNAPSHOT_PC_HI".into(),
        20 => "HW_REG_FLAT_SCR_LO".into(),
        21 => "HW_REG_FLAT_SCR_HI".into(),
        23 => "HW_REG_HW_ID1".into(),
        24 => "HW_REG_HW_ID2".into(),
        27 => "HW_REG_PERF_SNAPSHOT_DATA".into(),
        29 => "HW_REG_SHADER_CYCLES".into(),
        _ => id.to_string(),
    };
    if (offset, size) == (0, 32) {
        format!("hwreg({name})")
    } else {
        format!("hwreg({name}, {offset}, {size})")
    }
}
