//! Values that go from lane to lane: DPP, permutations, broadcasts, masks.

use gfx_emu::Probe;

use crate::lines::ask_together;
use crate::llvm::RDNA3;
use crate::wave::{check, get, probe, run, set};

/// What `asm` leaves in `v0` of every lane when `v1` holds the lane number plus 100 and `v0` is 7.
#[track_caller]
fn lanes(asm: &str, before: &[(&str, u32)]) -> Vec<u32> {
    let mut wave = probe(asm);
    for lane in 0..Probe::LANES {
        wave.set_vgpr(1, lane, 100 + lane as u32);
    }
    set(&mut wave, "v0", 7);
    before
        .iter()
        .for_each(|(register, value)| set(&mut wave, register, *value));
    run(&mut wave).unwrap();
    (0..Probe::LANES)
        .map(|lane| get(&wave, &format!("v0@{lane}")))
        .collect()
}

/// 100 plus the lane that `from` names, for every lane.
fn picked(from: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(|lane| 100 + from(lane)).collect()
}

#[test]
fn dpp_reads_other_lanes_of_the_row() {
    type From = fn(u32) -> u32;
    let moves: [(&str, From); 6] = [
        ("quad_perm:[1,0,3,2]", |lane| lane ^ 1),
        ("row_mirror", |lane| lane ^ 15),
        ("row_half_mirror", |lane| lane ^ 7),
        ("row_ror:1", |lane| lane / 16 * 16 + (lane + 15) % 16),
        ("row_share:3", |lane| lane & 16 | 3),
        ("row_xmask:5", |lane| lane ^ 5),
    ];
    let asm = |control: &str| format!("v_mov_b32_dpp v0, v1 {control} row_mask:0xf bank_mask:0xf");
    ask_together(RDNA3, moves.map(|(control, _)| asm(control)));
    for (control, from) in moves {
        assert_eq!(lanes(&asm(control), &[]), picked(from), "{control}");
    }
    assert_eq!(
        lanes("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]", &[]),
        picked(|lane| lane ^ 7)
    );
}

#[test]
fn dpp_out_of_the_row_keeps_the_destination_or_reads_zero() {
    let shift = |more: &str| {
        lanes(
            &format!("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf {more}"),
            &[],
        )
    };
    assert_eq!(
        shift(""),
        (0..32)
            .map(|lane| if lane % 16 == 0 { 7 } else { 99 + lane })
            .collect::<Vec<_>>()
    );
    assert_eq!(
        shift("bound_ctrl:1"),
        (0..32)
            .map(|lane| if lane % 16 == 0 { 0 } else { 99 + lane })
            .collect::<Vec<_>>()
    );
    let left = lanes("v_mov_b32_dpp v0, v1 row_shl:2 row_mask:0xf bank_mask:0xf", &[]);
    assert_eq!(left[..14], picked(|lane| lane + 2)[..14]);
    assert_eq!(left[14..16], [7, 7]);
}

#[test]
fn dpp_masks_rows_and_banks() {
    let out = lanes("v_mov_b32_dpp v0, v1 row_xmask:0 row_mask:0x2 bank_mask:0x1", &[]);
    let want: Vec<_> = (0..32)
        .map(|lane| if (16..20).contains(&lane) { 100 + lane } else { 7 })
        .collect();
    assert_eq!(out, want);
}

#[test]
fn dpp_feeds_any_operation() {
    let out = lanes(
        "v_add_nc_u32_dpp v0, v1, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
        &[],
    );
    assert_eq!(
        out,
        (0..32).map(|lane| 200 + (lane ^ 1) + lane).collect::<Vec<_>>()
    );
    let out = lanes(
        "v_max3_u32_e64_dpp v0, v1, v1, 3 quad_perm:[3,3,3,3] row_mask:0xf bank_mask:0xf",
        &[],
    );
    assert_eq!(out, picked(|lane| lane | 3));
}

#[test]
fn an_inactive_lane_is_not_read_by_dpp() {
    let asm = "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1";
    assert_eq!(lanes(asm, &[("exec", 0b0101)])[..4], [0, 7, 0, 7]);
    assert_eq!(
        lanes(&format!("{asm} fi:1"), &[("exec", 0b0101)])[..4],
        [101, 7, 103, 7]
    );
}

#[test]
fn bpermute_pulls_and_permute_pushes() {
    // Address: four times the lane; here lane + 1, with wrap-around.
    let address = "v_add_nc_u32 v2, v1, -99\nv_lshlrev_b32 v2, 2, v2\n";
    assert_eq!(
        lanes(&format!("{address}ds_bpermute_b32 v0, v2, v1"), &[]),
        picked(|lane| (lane + 1) % 32)
    );
    assert_eq!(
        lanes(&format!("{address}ds_permute_b32 v0, v2, v1"), &[]),
        picked(|lane| (lane + 31) % 32)
    );
    assert_eq!(
        lanes(&format!("{address}ds_bpermute_b32 v0, v2, v1 offset:8"), &[]),
        picked(|lane| (lane + 3) % 32)
    );
    // A lane that is off gives zero.
    let out = lanes(
        &format!("{address}s_mov_b32 exec_lo, 0xd\nds_bpermute_b32 v0, v2, v1"),
        &[],
    );
    assert_eq!(out[..4], [0, 7, 103, 0]);
}

#[test]
fn swizzle_patterns() {
    assert_eq!(
        lanes("ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)", &[]),
        picked(|lane| lane ^ 1)
    );
    assert_eq!(
        lanes("ds_swizzle_b32 v0, v1 offset:swizzle(BROADCAST,8,3)", &[]),
        picked(|lane| lane & 24 | 3)
    );
    assert_eq!(
        lanes("ds_swizzle_b32 v0, v1 offset:swizzle(REVERSE,32)", &[]),
        picked(|lane| lane ^ 31)
    );
    assert_eq!(
        lanes("ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,3,2,1,0)", &[]),
        picked(|lane| lane ^ 3)
    );
}

#[test]
fn permlane_reads_its_row_or_the_other() {
    let select = [("s2", 0x0123_4567), ("s3", 0x89ab_cdef)];
    assert_eq!(
        lanes("v_permlane16_b32 v0, v1, s2, s3", &select)[..4],
        picked(|lane| lane ^ 7)[..4]
    );
    assert_eq!(
        lanes("v_permlanex16_b32 v0, v1, s2, s3", &select)[..4],
        picked(|lane| lane ^ 23)[..4]
    );
}

#[test]
fn single_lanes_go_to_and_from_scalars() {
    check(&[
        (
            "v_readfirstlane_b32 s0, v1",
            &[("v1", 5), ("v1@3", 9), ("exec", 0b1000)],
            &[("s0", 9)],
        ),
        // Without an active lane: lane 0.
        (
            "v_readfirstlane_b32 s0, v1",
            &[("v1", 5), ("exec", 0)],
            &[("s0", 5)],
        ),
        (
            "v_readlane_b32 s0, v1, 3",
            &[("v1", 5), ("v1@3", 9), ("exec", 1)],
            &[("s0", 9)],
        ),
        (
            "v_readlane_b32 s0, v1, s2",
            &[("v1@1", 9), ("s2", 33)],
            &[("s0", 9)],
        ),
        (
            "v_writelane_b32 v0, s1, 3",
            &[("s1", 9), ("exec", 1)],
            &[("v0@3", 9), ("v0@0", 0)],
        ),
    ]);
}

#[test]
fn mbcnt_numbers_the_lanes() {
    let out = lanes("v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0", &[]);
    assert_eq!(out, (0..32).collect::<Vec<_>>());
    check(&[(
        "v_mbcnt_lo_u32_b32 v0, s1, 10",
        &[("s1", 0b1011)],
        &[("v0@0", 10), ("v0@2", 12), ("v0@31", 13)],
    )]);
}

#[test]
fn swaps_and_indexed_moves() {
    check(&[
        (
            "v_swap_b32 v0, v1",
            &[("v0", 1), ("v1", 2), ("exec", 1)],
            &[("v0@0", 2), ("v1@0", 1), ("v0@1", 1)],
        ),
        ("v_movrels_b32 v0, v1", &[("v3", 9), ("m0", 2)], &[("v0", 9)]),
        ("v_movreld_b32 v0, v1", &[("v1", 9), ("m0", 2)], &[("v2", 9)]),
        ("s_movrels_b32 s0, s1", &[("s3", 9), ("m0", 2)], &[("s0", 9)]),
        (
            "s_movreld_b64 s[0:1], s[4:5]",
            &[("s5", 9), ("m0", 2)],
            &[("s3", 9)],
        ),
    ]);
    let mut wave = probe("v_movrels_b32 v0, v1");
    set(&mut wave, "m0", 255);
    assert!(run(&mut wave).is_err(), "register 256 was read");
}

#[test]
fn selects_take_their_mask_from_vcc_or_any_scalar() {
    check(&[
        (
            "v_cndmask_b32 v0, v1, v2, vcc_lo",
            &[("v1", 1), ("v2", 2), ("vcc", 0b10)],
            &[("v0@0", 1), ("v0@1", 2)],
        ),
        (
            "v_cndmask_b32_e64 v0, 0, 1, s4",
            &[("s4", 0b01)],
            &[("v0@0", 1), ("v0@1", 0)],
        ),
        (
            "v_cndmask_b16 v0, v1, v2, s4",
            &[("v0", 0xaaaa_0000), ("v1", 1), ("v2", 2), ("s4", 1)],
            &[("v0@0", 0xaaaa_0002)],
        ),
    ]);
}
