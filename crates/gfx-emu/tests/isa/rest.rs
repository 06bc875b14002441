//! Rows of instructions that are in no other file: indexed moves, calls, debug branches, fix-ups of halves, the clock.

use crate::llvm::{CDNA2, CDNA3};
use crate::wave::{check, check64, probe64_on, run};

#[test]
fn indexed_moves_add_m0_to_a_register_number() {
    check(&[
        (
            "s_movrels_b64 s[0:1], s[4:5]",
            &[("m0", 2), ("s6", 7), ("s7", 8)],
            &[("s0", 7), ("s1", 8)],
        ),
        (
            "s_movreld_b32 s0, s4",
            &[("m0", 3), ("s4", 9)],
            &[("s3", 9), ("s0", 0)],
        ),
        (
            "s_movrelsd_2_b32 s0, s4",
            &[("m0", 5 << 16 | 2), ("s6", 9)],
            &[("s5", 9), ("s0", 0)],
        ),
        (
            "v_movrelsd_b32 v0, v4",
            &[("m0", 2), ("v6", 9)],
            &[("v2", 9), ("v0", 0)],
        ),
        (
            "v_movrelsd_2_b32 v0, v4",
            &[("m0", 5 << 16 | 2), ("v6", 9)],
            &[("v5", 9), ("v0", 0)],
        ),
        (
            "v_swaprel_b32 v0, v4",
            &[("m0", 2 << 16 | 1), ("v2", 3), ("v5", 9)],
            &[("v2", 9), ("v5", 3)],
        ),
    ]);
}

#[test]
fn a_call_leaves_its_return_address() {
    check(&[(
        "s_call_b64 s[4:5], 1\ns_mov_b32 s0, 5\ns_mov_b32 s1, 6",
        &[],
        &[("s0", 0), ("s1", 6), ("s4", 4), ("s5", 0)],
    )]);
}

#[test]
fn no_debugger_is_there_to_branch_for() {
    check(&[
        ("s_cbranch_cdbgsys 1\ns_mov_b32 s0, 5", &[], &[("s0", 5)]),
        ("s_cbranch_cdbguser 1\ns_mov_b32 s0, 5", &[], &[("s0", 5)]),
        ("s_cbranch_cdbgsys_or_user 1\ns_mov_b32 s0, 5", &[], &[("s0", 5)]),
        ("s_cbranch_cdbgsys_and_user 1\ns_mov_b32 s0, 5", &[], &[("s0", 5)]),
    ]);
}

#[test]
fn other_ends_end_a_wave_too() {
    check(&[(
        "s_mov_b32 s0, 5\ns_endpgm_saved\ns_mov_b32 s0, 6",
        &[],
        &[("s0", 5)],
    )]);
    check64(&[(
        "s_mov_b32 s0, 5\ns_endpgm_ordered_ps_done\ns_mov_b32 s0, 6",
        &[],
        &[("s0", 5)],
    )]);
}

#[test]
fn halves_of_a_wave_of_32_lanes_stay_where_they_are() {
    check(&[("v_permlane64_b32 v0, v1", &[("v0", 3), ("v1", 9)], &[("v0", 3)])]);
}

#[test]
fn a_reversed_difference_takes_the_borrow() {
    check(&[
        (
            "v_subrev_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo",
            &[("v1", 3), ("v2", 10), ("vcc", 1)],
            &[("v0@0", 6), ("v0@1", 7), ("vcc", 0)],
        ),
        (
            "v_subrev_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo",
            &[
                ("v1", 3),
                ("v2@4", 3),
                ("v2@5", 4),
                ("vcc", 1 << 4),
                ("exec", 0x30),
            ],
            &[("v0@4", u32::MAX), ("v0@5", 1), ("vcc", 0x10)],
        ),
    ]);
}

#[test]
fn half_precision_quotients_are_fixed_where_they_are_special() {
    let row = |quotient, denominator, numerator| [("v1", quotient), ("v2", denominator), ("v3", numerator)];
    let fixed = |before: [(&'static str, u32); 3], want: u32| {
        check(&[("v_div_fixup_f16 v0, v1, v2, v3", &before, &[("v0", want)])]);
    };
    // 6 / 3, 1 / 0, 1 / -0, 1 / infinity, infinity / -1, -6 / 3 with the sign lost.
    fixed(row(0x4000, 0x4200, 0x4600), 0x4000);
    fixed(row(0x3c00, 0, 0x3c00), 0x7c00);
    fixed(row(0x3c00, 0x8000, 0x3c00), 0xfc00);
    fixed(row(0x3c00, 0x7c00, 0x3c00), 0);
    fixed(row(0x3c00, 0xbc00, 0x7c00), 0xfc00);
    fixed(row(0x4000, 0x4200, 0xc600), 0xc000);
}

#[test]
fn mullit_gives_the_least_number_for_a_light_from_behind() {
    let f = |value: f32| value.to_bits();
    let least = f(-f32::MAX);
    let row = |a: f32, b: f32, c: f32| [("v1", f(a)), ("v2", f(b)), ("v3", f(c))];
    for (before, want) in [
        (row(2.0, 3.0, 1.0), f(6.0)),
        (row(0.0, f32::INFINITY, 1.0), 0),
        (row(2.0, 3.0, 0.0), least),
        (row(2.0, 3.0, -1.0), least),
        (row(2.0, f32::NEG_INFINITY, 1.0), least),
        (row(2.0, -f32::MAX, 1.0), least),
    ] {
        check(&[("v_mullit_f32 v0, v1, v2, v3", &before, &[("v0", want)])]);
    }
}

#[test]
fn a_dual_dot_product_adds_to_its_destination() {
    let f = |value: f32| value.to_bits();
    check(&[(
        "v_dual_dot2acc_f32_f16 v0, v4, v6 :: v_dual_mov_b32 v1, v9",
        &[
            ("v0", f(1.0)),
            ("v4", 0x4000_3c00),
            ("v6", 0x4400_4200),
            ("v9", 5),
        ],
        &[("v0", f(12.0)), ("v1", 5)],
    )]);
}

#[test]
fn the_clock_goes_on_with_every_question() {
    for card in [CDNA3, CDNA2] {
        let mut wave = probe64_on(card, "s_memtime s[0:1]\ns_memtime s[2:3]\ns_memrealtime s[4:5]");
        run(&mut wave).unwrap();
        let time = |first: u8| u64::from(wave.sgpr(first)) | u64::from(wave.sgpr(first + 1)) << 32;
        assert!(time(0) < time(2) && time(2) < time(4), "{}", card.name);
    }
}
