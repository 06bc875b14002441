//! How instructions reach their operands in waves of 64 lanes: parts of registers, shuffles across the wave, its masks.

use gfx_emu::{DecodeError, Probe, Probe64, Target};

use crate::lines::ask_together;
use crate::llvm::{CDNA3, Card, RDNA3_WAVE64};
use crate::wave::{check64, probe64, probe64_on, program, run, set};

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn parts_of_registers_are_read_with_either_extension() {
    let value = [("v1", 0x8142_fe07), ("v2", 0x0001_0203)];
    check64(&[
        ("v_mov_b32_sdwa v0, v1 src0_sel:BYTE_0", &value, &[("v0", 0x07)]),
        ("v_mov_b32_sdwa v0, v1 src0_sel:BYTE_3", &value, &[("v0", 0x81)]),
        ("v_mov_b32_sdwa v0, v1 src0_sel:WORD_1", &value, &[("v0", 0x8142)]),
        (
            "v_mov_b32_sdwa v0, sext(v1) src0_sel:BYTE_1",
            &value,
            &[("v0", 0xffff_fffe)],
        ),
        (
            "v_mov_b32_sdwa v0, sext(v1) src0_sel:WORD_1",
            &value,
            &[("v0", 0xffff_8142)],
        ),
        (
            "v_add_u32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:WORD_1 src1_sel:BYTE_1",
            &value,
            &[("v0", 0x8144)],
        ),
        (
            "v_add_u32_sdwa v0, s1, v2 dst_sel:DWORD src0_sel:BYTE_0 src1_sel:BYTE_2",
            &[("s1", 0x1ff), ("v2", 0x0001_0203)],
            &[("v0", 0x100)],
        ),
        (
            "v_lshlrev_b32_sdwa v0, v2, v1 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:BYTE_0",
            &value,
            &[("v0", 0x1c)],
        ),
        // The sign of a half, after it was selected.
        (
            "v_cvt_f32_f16_sdwa v0, -v1 dst_sel:DWORD src0_sel:WORD_1",
            &[("v1", 0x4000_0000)],
            &[("v0", f(-2.0))],
        ),
        (
            "v_cvt_f32_i32_sdwa v0, sext(v1) dst_sel:DWORD src0_sel:BYTE_3",
            &value,
            &[("v0", f(-127.0))],
        ),
    ]);
}

#[test]
fn parts_of_registers_are_written_and_the_rest_is_cleared_extended_or_kept() {
    let before = [("v0", 0x1122_3344), ("v1", 0x0000_00f5)];
    let rows = [
        ("BYTE_1", "UNUSED_PAD", 0x0000_f500),
        ("BYTE_1", "UNUSED_SEXT", 0xffff_f500),
        ("BYTE_1", "UNUSED_PRESERVE", 0x1122_f544),
        ("WORD_1", "UNUSED_PRESERVE", 0x00f5_3344),
        ("WORD_0", "UNUSED_SEXT", 0x0000_00f5),
        ("BYTE_3", "UNUSED_PAD", 0xf500_0000),
    ];
    let rows = rows.map(|(part, unused, want)| {
        let asm = format!("v_mov_b32_sdwa v0, v1 dst_sel:{part} dst_unused:{unused} src0_sel:DWORD");
        (asm, [("v0", want)])
    });
    check64(
        &rows
            .each_ref()
            .map(|(asm, after)| (&asm[..], &before[..], &after[..])),
    );
    check64(&[
        (
            "v_add_f16_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
            &[("v0", 0x7777_1234), ("v1", 0x3c00_0000), ("v2", 0x4000)],
            &[("v0", 0x4200_1234)],
        ),
        // Lanes that are switched off keep all of it.
        (
            "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD",
            &[("v0", 0x1122_3344), ("v1", 0xf5), ("exec", 2), ("exec_hi", 0)],
            &[("v0@0", 0x1122_3344), ("v0@1", 0xf500)],
        ),
    ]);
}

#[test]
fn comparisons_of_parts_write_a_mask_of_64_lanes() {
    check64(&[
        (
            "v_cmp_eq_u32_sdwa vcc, v1, v2 src0_sel:BYTE_1 src1_sel:BYTE_0",
            &[("v1", 0x0700), ("v2", 9), ("v2@40", 0x107)],
            &[("vcc", 0), ("vcc_hi", 1 << 8)],
        ),
        (
            "v_cmp_gt_i16_sdwa s[4:5], v1, v2 src0_sel:WORD_1 src1_sel:WORD_1",
            &[("v1", 0x0001_0000), ("v2", 0xffff_0000), ("v2@0", 0x0002_0000)],
            &[("s4", 0xffff_fffe), ("s5", u32::MAX)],
        ),
    ]);
}

#[test]
fn parts_are_selected_by_a_mask_of_64_lanes_and_added_with_its_carries() {
    check64(&[
        (
            "v_cndmask_b32_sdwa v0, v1, v2, vcc dst_sel:DWORD src0_sel:DWORD src1_sel:WORD_1",
            &[
                ("v1", 0x0102_0304),
                ("v2", 0x8142_fe07),
                ("vcc", 0),
                ("vcc_hi", 1 << 8),
            ],
            &[("v0", 0x0102_0304), ("v0@40", 0x8142)],
        ),
        (
            "v_addc_co_u32_sdwa v0, vcc, v1, v2, vcc dst_sel:DWORD src0_sel:WORD_1 src1_sel:BYTE_0",
            &[
                ("v1", 0x0102_0304),
                ("v2", 0x8142_fe07),
                ("vcc", 1),
                ("vcc_hi", 1 << 8),
            ],
            &[
                ("v0@1", 0x0109),
                ("v0@0", 0x010a),
                ("v0@40", 0x010a),
                ("vcc", 0),
                ("vcc_hi", 0),
            ],
        ),
    ]);
}

/// What `asm` leaves in `v0` of every lane when `v1` holds the lane number plus 100 and `v0` is 7.
#[track_caller]
fn lanes(asm: &str) -> Vec<u32> {
    let mut wave = probe64(asm);
    for lane in 0..Probe64::LANES {
        wave.set_vgpr(1, lane, 100 + lane as u32);
    }
    set(&mut wave, "v0", 7);
    run(&mut wave).unwrap();
    (0..Probe64::LANES)
        .map(|lane| wave.vgpr(0, lane).unwrap())
        .collect()
}

#[test]
fn dpp_reads_across_the_rows_of_a_wave() {
    type From = fn(u32) -> Option<u32>;
    let picked = |from: From| -> Vec<u32> {
        (0..64)
            .map(|lane| from(lane).map_or(7, |from| 100 + from))
            .collect()
    };
    let moves: [(&str, From); 10] = [
        ("quad_perm:[3,2,1,0]", |lane| Some(lane ^ 3)),
        ("row_mirror", |lane| Some(lane ^ 15)),
        ("row_shr:1", |lane| (lane % 16 != 0).then(|| lane - 1)),
        ("wave_shl:1", |lane| (lane < 63).then_some(lane + 1)),
        ("wave_shr:1", |lane| lane.checked_sub(1)),
        ("wave_rol:1", |lane| Some((lane + 1) % 64)),
        ("wave_ror:1", |lane| Some((lane + 63) % 64)),
        ("row_bcast:15", |lane| (lane / 16 * 16).checked_sub(1)),
        ("row_bcast:31", |lane| (lane / 32 * 32).checked_sub(1)),
        ("row_newbcast:5", |lane| Some(lane / 16 * 16 + 5)),
    ];
    let asm = |control: &str| format!("v_mov_b32_dpp v0, v1 {control} row_mask:0xf bank_mask:0xf");
    ask_together(CDNA3, moves.map(|(control, _)| asm(control)));
    for (control, from) in moves {
        assert_eq!(lanes(&asm(control)), picked(from), "{control}");
    }
    // A row that is masked keeps what it has, whatever it could have read.
    let masked = lanes("v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xa bank_mask:0xf");
    assert_eq!(
        masked,
        picked(|lane| (lane / 16 % 2 == 1).then(|| lane / 16 * 16 - 1))
    );
}

#[test]
fn a_sum_over_a_wave_as_compilers_write_it() {
    let steps = ["row_shr:1", "row_shr:2", "row_shr:4", "row_shr:8"]
        .map(|step| format!("v_add_u32_dpp v1, v1, v1 {step} row_mask:0xf bank_mask:0xf bound_ctrl:0"));
    let rows = [("row_bcast:15", "0xa"), ("row_bcast:31", "0xc")]
        .map(|(step, mask)| format!("v_add_u32_dpp v1, v1, v1 {step} row_mask:{mask} bank_mask:0xf"));
    let sums = lanes(&format!(
        "{}\n{}\nv_mov_b32 v0, v1",
        steps.join("\n"),
        rows.join("\n")
    ));
    assert_eq!(sums[63], (100..164).sum());
}

#[test]
fn double_precision_takes_one_lane_of_each_row() {
    let mut wave = probe64("v_mov_b64_dpp v[4:5], v[2:3] row_newbcast:9 row_mask:0xf bank_mask:0xf");
    for lane in 0..64 {
        wave.set_vgpr(2, lane, lane as u32);
        wave.set_vgpr(3, lane, 1000 + lane as u32);
    }
    run(&mut wave).unwrap();
    for lane in 0..64 {
        let from = lane as u32 / 16 * 16 + 9;
        assert_eq!(
            (wave.vgpr(4, lane), wave.vgpr(5, lane)),
            (Some(from), Some(1000 + from))
        );
    }
}

#[test]
fn masks_and_lane_exchange_reach_all_64_lanes() {
    check64(&[
        (
            "v_cmp_lt_u32 vcc, v1, v2",
            &[("v1", 1), ("v2", 0), ("v2@3", 2), ("v2@63", 2)],
            &[("vcc", 8), ("vcc_hi", 1 << 31)],
        ),
        (
            "v_cmpx_lt_u32 s[2:3], v1, v2",
            &[("v1", 1), ("v2", 0), ("v2@3", 2), ("v2@63", 2)],
            &[("s2", 8), ("s3", 1 << 31), ("exec", 8), ("exec_hi", 1 << 31)],
        ),
        (
            "v_cndmask_b32 v0, v1, v2, vcc",
            &[("v1", 1), ("v2", 2), ("vcc", 0), ("vcc_hi", 2)],
            &[("v0@1", 1), ("v0@33", 2), ("v0@34", 1)],
        ),
        ("v_readlane_b32 s0, v1, 63", &[("v1@63", 9)], &[("s0", 9)]),
        (
            "v_writelane_b32 v0, s1, 40",
            &[("s1", 9)],
            &[("v0@40", 9), ("v0@8", 0)],
        ),
        (
            "v_readfirstlane_b32 s0, v1",
            &[("v1@50", 9), ("exec", 0), ("exec_hi", 1 << 18)],
            &[("s0", 9)],
        ),
        (
            "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0",
            &[],
            &[("v0@0", 0), ("v0@31", 31), ("v0@32", 32), ("v0@63", 63)],
        ),
        (
            "ds_bpermute_b32 v0, v1, v2",
            &[("v1@0", 4 * 63), ("v1@63", 4 * 5), ("v2@63", 99), ("v2@5", 55)],
            &[("v0@0", 99), ("v0@63", 55)],
        ),
        (
            "s_and_saveexec_b64 s[2:3], s[0:1]",
            &[("s0", 1), ("s1", 5), ("exec", 3), ("exec_hi", 4)],
            &[("s2", 3), ("s3", 4), ("exec", 1), ("exec_hi", 4), ("scc", 1)],
        ),
        (
            "v_add_co_u32 v0, vcc, v1, v2\nv_addc_co_u32 v3, vcc, v4, v5, vcc",
            &[("v1", u32::MAX), ("v1@60", 1), ("v2", 1), ("v4", 5), ("v5", 6)],
            &[("v0", 0), ("v3", 12), ("v0@60", 2), ("v3@60", 11)],
        ),
        (
            "v_mov_b32 v0, src_vccz\nv_mov_b32 v1, src_execz",
            &[("vcc", 0), ("vcc_hi", 0)],
            &[("v0", 1), ("v1", 0)],
        ),
        ("s_mov_b32 s0, src_vccz", &[("vcc_hi", 1)], &[("s0", 0)]),
    ]);
}

#[test]
fn rdna_permutes_each_half_of_a_wave_by_itself() {
    // Every lane names the lane across: on RDNA it gets the one of its own half.
    let across = |name: &str, card: Card| {
        let mut wave = probe64_on(card, &format!("{name} v0, v1, v2\ns_waitcnt lgkmcnt(0)"));
        for lane in 0..64 {
            wave.set_vgpr(1, lane, 4 * (lane as u32 ^ 33));
            wave.set_vgpr(2, lane, 1000 + lane as u32);
        }
        run(&mut wave).unwrap();
        (0..64)
            .map(|lane| wave.vgpr(0, lane).unwrap())
            .collect::<Vec<_>>()
    };
    for name in ["ds_bpermute_b32", "ds_permute_b32"] {
        let want = |flip: u32| (0..64).map(|lane| 1000 + (lane ^ flip)).collect::<Vec<u32>>();
        assert_eq!(across(name, RDNA3_WAVE64), want(1), "{name}");
        assert_eq!(across(name, CDNA3), want(33), "{name}");
    }
}

#[test]
fn rdna_has_no_dual_instructions_in_waves_of_64_lanes() {
    let dual = program("v_dual_add_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4");
    assert!(Probe::new(Target::Gfx1100, &dual).is_ok());
    let error = Probe64::new(Target::Gfx1100, &dual).unwrap_err();
    assert!(matches!(error, DecodeError::Unknown { .. }), "{error}");
    // Nor has CDNA waves of 32.
    assert!(Probe::new(Target::Gfx942, &[0, 0, 0x81, 0xbf]).is_err());
}

#[test]
fn masks_of_rdna_have_64_bits_in_waves_of_64_lanes() {
    let mut wave = probe64_on(
        RDNA3_WAVE64,
        "v_cmp_lt_u32 vcc, 40, v1
         v_cndmask_b32 v2, 1, 2, vcc
         s_and_saveexec_b64 s[0:1], vcc
         v_mov_b32 v3, 7
         v_permlane64_b32 v4, v1
         s_and_saveexec_b32 s2, exec_lo
         v_mov_b32 v5, 9",
    );
    (0..64).for_each(|lane| wave.set_vgpr(1, lane, lane as u32));
    run(&mut wave).unwrap();
    let lane = |n, lane| wave.vgpr(n, lane).unwrap();
    assert_eq!((wave.sgpr(106), wave.sgpr(107)), (0, 0xffff_fe00));
    assert_eq!([lane(2, 40), lane(2, 41), lane(2, 63)], [1, 2, 2]);
    assert_eq!((wave.sgpr(0), wave.sgpr(1)), (u32::MAX, u32::MAX));
    assert_eq!([lane(3, 40), lane(3, 41)], [0, 7]);
    assert_eq!([lane(4, 41), lane(4, 8)], [9, 0]);
    // The narrow form leaves the high half of EXEC alone, and its SCC is about the low one.
    assert_eq!(
        (wave.exec(), wave.scc(), wave.sgpr(2)),
        (0xffff_fe00 << 32, false, 0)
    );
    assert_eq!([lane(5, 0), lane(5, 63)], [0, 9]);
}
