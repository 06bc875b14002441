//! Waits, hints and cache controls: they end, and no register changes.

use gfx_emu::{Memory, WaveProbe};

use super::{CARDS, assemble_each};
use crate::llvm::Card;

const LINES: &[&str] = &[
    "s_nop 3",
    "s_sleep 1",
    "s_sethalt 0",
    "s_sethalt 4",
    "s_setprio 2",
    "s_wakeup",
    "s_icache_inv",
    "s_incperflevel 1",
    "s_decperflevel 1",
    "s_ttracedata",
    "s_ttracedata_imm 0x1",
    "s_waitcnt 0",
    "s_waitcnt_vscnt null, 0x0",
    "s_waitcnt_vmcnt null, 0x0",
    "s_waitcnt_expcnt null, 0x0",
    "s_waitcnt_lgkmcnt null, 0x0",
    "s_waitcnt_depctr 0xfffe",
    "s_wait_loadcnt 0x0",
    "s_wait_storecnt 0x0",
    "s_wait_samplecnt 0x0",
    "s_wait_bvhcnt 0x0",
    "s_wait_expcnt 0x0",
    "s_wait_dscnt 0x0",
    "s_wait_kmcnt 0x0",
    "s_wait_loadcnt_dscnt 0x0",
    "s_wait_storecnt_dscnt 0x0",
    "s_wait_alu 0xfffe",
    "s_sleep_var s4",
    "s_barrier_signal -1\ns_barrier_wait -1",
    "s_prefetch_inst s[4:5], 0x0, s6, 0",
    "s_prefetch_inst_pc_rel 0x0, s6, 0",
    "s_prefetch_data s[4:5], 0x0, s6, 0",
    "s_prefetch_data_pc_rel 0x0, s6, 0",
    "s_buffer_prefetch_data s[8:11], 0x0, s6, 0",
    "global_inv scope:SCOPE_DEV",
    "global_wb",
    "global_wbinv",
    "ds_nop",
    "s_wait_idle",
    "s_wait_event 0x0",
    "s_clause 0x1",
    "s_singleuse_vdst 0x1",
    "s_delay_alu instid0(VALU_DEP_1)",
    "s_set_inst_prefetch_distance 0x1",
    "s_version UC_VERSION_GFX10",
    "s_version UC_VERSION_GFX11",
    "s_dcache_inv",
    "s_dcache_wb",
    "s_dcache_inv_vol",
    "s_dcache_wb_vol",
    "s_gl1_inv",
    "s_atc_probe 0, s[4:5], 0x0",
    "s_atc_probe_buffer 0, s[8:11], 0x0",
    "buffer_gl0_inv",
    "buffer_gl1_inv",
    "buffer_inv",
    "buffer_wbl2",
    "buffer_wbinvl1",
    "buffer_wbinvl1_vol",
    "buffer_invl2",
    "v_nop",
    "v_clrexcp",
    "v_pipeflush",
];

pub(super) fn pieces() -> Vec<String> {
    LINES.iter().map(|line| (*line).to_owned()).collect()
}

fn failure<const W: usize>(card: Card, line: &str, code: &[u8]) -> Option<String> {
    let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
    let value = |register: u8| u32::from(register) * 3 + 1;
    for register in (0..106).chain([106, 107, 125, 126]) {
        probe.set_sgpr(register, value(register));
        probe.set_vgpr(u16::from(register), 5, value(register));
    }
    probe.set_scc(true);
    if let Err(fault) = probe.run(&Memory::new(0)) {
        return Some(format!("{} {line}: {fault}", card.name));
    }
    let kept = (0..106).chain([106, 107, 125, 126]).all(|register| {
        let vector = probe.vgpr(u16::from(register), 5);
        probe.sgpr(register) == value(register) && vector == Some(value(register))
    });
    (!kept || !probe.scc()).then(|| format!("{} {line} changed a register", card.name))
}

#[test]
fn waits_hints_and_cache_controls_change_no_register() {
    let mut wrong = Vec::new();
    for card in CARDS {
        let assembled = assemble_each(card, &pieces());
        assert!(assembled.iter().flatten().count() > 15, "{}", card.name);
        for (line, assembled) in LINES.iter().zip(&assembled) {
            let Some(assembled) = assembled else { continue };
            // GFX9's tables leave it out; see `reports/isa.md`.
            if line.starts_with("s_atc_probe") && !card.is_rdna() {
                continue;
            }
            // The tables of the others have no such row.
            if *line == "ds_nop" && !card.is_rdna4() && !card.is_rdna2() {
                continue;
            }
            wrong.extend(match card.is_rdna() {
                true => failure::<32>(card, line, &assembled.code),
                false => failure::<64>(card, line, &assembled.code),
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
