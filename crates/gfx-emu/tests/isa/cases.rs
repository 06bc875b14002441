//! What the prover proves by cases and what it must not: each row that is proven has a neighbour that differs from it in one thing and is a
//! fault.

use gfx_emu::Reason;

use crate::llvm::{CDNA3, Card, RDNA3};
use crate::prove::{Writer, executed_proofs, proof};
use crate::wave::Numbers;

const BYTES: Option<Reason> = Some(Reason::Bytes);
const HALVES: Option<Reason> = Some(Reason::Halves);

/// Programs for gfx1100 with a mutant each, and what is proven of it. `v5` is loaded, `v1` is stored.
#[track_caller]
fn check(rows: &[(&str, &str, Option<Reason>)]) {
    for (body, after, expected) in rows {
        let asm = format!(
            "s_load_b128 s[4:7], s[0:1], 0x0\nglobal_load_b32 v5, v0, s[4:5]\n{body}\nglobal_store_b32 v0, v1, s[6:7]\ns_endpgm"
        );
        assert_eq!(proof(RDNA3, &asm, after), *expected, "{body} with {after}");
    }
}

/// A multiplication by 1.0039, whose mutant is by one. Rounded down the products are the same up to 255.
const SCALED: &str = "v_cvt_f32_u32_e32 v2, v2\nv_mul_f32_e32 v2, 0x3f808000, v2\nv_cvt_u32_f32_e32 v1, v2";
const BY_ONE: &str = "v_mul_f32_e32 v2, 0x3f800000, v2";

#[test]
fn what_is_the_same_for_every_byte_is_told() {
    let scaled = |before: &str| format!("{before}\n{SCALED}");
    check(&[
        (&scaled("v_and_b32_e32 v2, 0xff, v5"), BY_ONE, BYTES),
        (&scaled("v_lshrrev_b32_e32 v2, 24, v5"), BY_ONE, BYTES),
        (&scaled("v_bfe_u32 v2, v5, 8, 8"), BY_ONE, BYTES),
        (&scaled("global_load_u8 v2, v0, s[4:5]"), BY_ONE, BYTES),
        // 511 times 1.0039 is 512.
        (&scaled("v_and_b32_e32 v2, 0x1ff, v5"), BY_ONE, None),
        (&scaled("v_bfe_u32 v2, v5, 8, 9"), BY_ONE, None),
        (&scaled("global_load_u16 v2, v0, s[4:5]"), BY_ONE, None),
        (
            &scaled("global_load_i8 v2, v0, s[4:5]\nv_and_b32_e32 v2, 0xffff, v2"),
            BY_ONE,
            None,
        ),
        (&scaled("v_mov_b32_e32 v2, v5"), BY_ONE, None),
    ]);
    // Of half a register all bits are looked at: a bit below the lowest changes no whole number.
    let halves = "v_cvt_f32_u32_e32 v2, v2\nv_add_f32_e32 v2, 0x3e800000, v2\nv_cvt_u32_f32_e32 v1, v2";
    let a_bit_more = "v_add_f32_e32 v2, 0x3e808000, v2";
    check(&[
        (
            &format!("global_load_u16 v2, v0, s[4:5]\n{halves}"),
            a_bit_more,
            HALVES,
        ),
        (
            &format!("v_and_b32_e32 v2, 0xffff, v5\n{halves}"),
            a_bit_more,
            HALVES,
        ),
        (
            &format!("v_and_b32_e32 v2, 0x1ffff, v5\n{halves}"),
            a_bit_more,
            None,
        ),
    ]);
}

#[test]
fn what_differs_must_come_to_its_end_before_something_looks_at_it() {
    let byte = "v_and_b32_e32 v2, 0xff, v5\nv_cvt_f32_u32_e32 v2, v2\nv_mul_f32_e32 v2, 0x3f808000, v2\n";
    let after = |rest: &str| format!("{byte}{rest}\nv_cvt_u32_f32_e32 v1, v2");
    check(&[
        (&after("v_mov_b32_e32 v3, 0"), BY_ONE, BYTES),
        (&after("global_store_b32 v0, v2, s[6:7] offset:8"), BY_ONE, None),
        (&after("global_load_b32 v3, v2, s[6:7]"), BY_ONE, None),
        (&after("ds_bpermute_b32 v3, v0, v2"), BY_ONE, None),
        (&after("v_readfirstlane_b32 s8, v2"), BY_ONE, None),
        (&after("v_mov_b32_dpp v3, v2 row_shr:1"), BY_ONE, None),
        // Nothing looks at the sum; something stores it.
        (&after("v_add_f32_e32 v3, v2, v5"), BY_ONE, BYTES),
        (
            &after("v_add_f32_e32 v3, v2, v5\nglobal_store_b32 v0, v3, s[6:7] offset:8"),
            BY_ONE,
            None,
        ),
        // A comparison that comes out the same, and one that does not.
        (
            &after("v_cmp_lt_f32_e32 vcc_lo, 0x43800000, v2\ns_cbranch_vccnz 1\nv_mov_b32_e32 v3, 0"),
            BY_ONE,
            BYTES,
        ),
        (
            &after("v_cmp_lt_f32_e32 vcc_lo, 0x437f0000, v2\ns_cbranch_vccnz 1\nv_mov_b32_e32 v3, 0"),
            BY_ONE,
            None,
        ),
        (
            &after(
                "v_cmp_lt_f32_e32 vcc_lo, 0x437f0000, v2\ns_bcnt1_i32_b32 s8, vcc_lo\nv_mov_b32_e32 v3, s8",
            ),
            BY_ONE,
            None,
        ),
    ]);
}

#[test]
fn a_nan_stays_one_whatever_is_added_to_it() {
    // A byte of 127 is a NaN, of which the mutant makes another one.
    let nan = |then: &str| {
        format!(
            "v_and_b32_e32 v2, 0x7f, v5\nv_cvt_f32_u32_e32 v3, v2\nv_cmp_ne_u32_e32 vcc_lo, 0x7f, v2\nv_cndmask_b32_e32 v3, 0x7fc00000, v3, vcc_lo\n{then}"
        )
    };
    let other = "v_cndmask_b32_e32 v3, 0x7fc08000, v3, vcc_lo";
    let compared = "v_and_b32_e32 v3, 0x7fffffff, v3\nv_cmp_lt_u32_e32 vcc_lo, 0x7f800000, v3\nv_cndmask_b32_e64 v1, 1, 2, vcc_lo";
    let unordered = "v_cmp_u_f32_e32 vcc_lo, v3, v3\nv_cndmask_b32_e64 v1, 1, 2, vcc_lo";
    let limit = compared.replace("0x7f800000", "0x7fc04000");
    check(&[
        (
            &nan(&format!("v_add_f32_e32 v3, v3, v5\n{compared}")),
            other,
            BYTES,
        ),
        (
            &nan(&format!("v_mul_f32_e32 v3, v3, v5\n{unordered}")),
            other,
            BYTES,
        ),
        (
            &nan(&format!("v_fma_f32 v3, v5, v5, v3\n{compared}")),
            other,
            BYTES,
        ),
        // Which NaN it is.
        (&nan(&format!("v_add_f32_e32 v3, v3, v5\n{limit}")), other, None),
        // The greater of a NaN and a number is the number.
        (
            &nan(&format!("v_max_f32_e32 v3, v3, v5\n{compared}")),
            other,
            None,
        ),
        (
            &nan(&format!("v_add_u32_e32 v3, v3, v5\n{compared}"))
                .replace("v_add_u32_e32", "v_add_nc_u32_e32"),
            other,
            None,
        ),
    ]);
}

#[test]
fn a_lane_that_was_not_active_has_any_number() {
    // The byte is cut out in some lanes.
    let some = "s_mov_b32 s8, exec_lo\nv_mov_b32_e32 v2, v5\nv_cmp_gt_u32_e32 vcc_lo, 8, v0\ns_and_b32 exec_lo, exec_lo, vcc_lo\nv_and_b32_e32 v2, 0xff, v5\n";
    let all = "s_or_b32 exec_lo, exec_lo, s8\n";
    check(&[
        (&format!("{some}{SCALED}\n{all}"), BY_ONE, BYTES),
        (&format!("{some}{all}{SCALED}"), BY_ONE, None),
    ]);
}

#[test]
fn ways_that_come_together_and_loops_are_followed() {
    check(&[
        // A byte of either load.
        (
            &format!(
                "v_cmp_gt_u32_e32 vcc_lo, 8, v0\ns_cbranch_vccnz 3\nglobal_load_u8 v2, v0, s[4:5]\ns_branch 2\nglobal_load_u8 v2, v0, s[4:5] offset:4\nv_mov_b32_e32 v3, 0\n{SCALED}"
            ),
            BY_ONE,
            BYTES,
        ),
        (
            &format!(
                "v_cmp_gt_u32_e32 vcc_lo, 8, v0\ns_cbranch_vccnz 3\nglobal_load_u8 v2, v0, s[4:5]\ns_branch 2\nglobal_load_u16 v2, v0, s[4:5] offset:4\nv_mov_b32_e32 v3, 0\n{SCALED}"
            ),
            BY_ONE,
            None,
        ),
        // The next round looks at what the last one left.
        (
            &format!("v_mov_b32_e32 v2, v5\nv_bfe_u32 v2, v2, 8, 8\n{SCALED}\ns_cbranch_vccnz 65529"),
            BY_ONE,
            None,
        ),
        (
            &format!("v_and_b32_e32 v2, 0xff, v5\n{SCALED}\ns_cbranch_vccnz 65529"),
            BY_ONE,
            BYTES,
        ),
    ]);
}

#[test]
fn a_mode_that_is_not_known_decides_nothing() {
    let byte = "v_and_b32_e32 v2, 0xff, v5";
    check(&[
        (&format!("s_denorm_mode 15\n{byte}\n{SCALED}"), BY_ONE, BYTES),
        (
            &format!("s_setreg_b32 hwreg(HW_REG_MODE), s4\n{byte}\n{SCALED}"),
            BY_ONE,
            None,
        ),
    ]);
}

#[test]
fn waves_of_64_lanes_are_followed_too() {
    let asm = |mask: &str| {
        format!(
            "s_load_dwordx4 s[4:7], s[0:1], 0x0\nglobal_load_dword v5, v0, s[4:5]\nv_and_b32_e32 v2, {mask}, v5\n{SCALED}\nglobal_store_dword v0, v1, s[6:7]\ns_endpgm"
        )
    };
    assert_eq!(proof(CDNA3, &asm("0xff"), BY_ONE), BYTES);
    assert_eq!(proof(CDNA3, &asm("0x1ff"), BY_ONE), None);
}

/// Instructions that compute with floats.
const FLOATS: &[&str] = &[
    "v_cvt_f32_u32 V, V",
    "v_cvt_u32_f32 V, V",
    "v_cvt_f32_i32 V, V",
    "v_mul_f32 V, 0.5, V",
    "v_add_f32 V, 1.0, V",
    "v_mul_f32 V, 0x3f808000, V",
    "v_add_f32 V, V, V",
    "v_rndne_f32 V, V",
    "v_max_f32 V, V, V",
    "v_cmp_lt_f32 vcc, V, V\nv_cndmask_b32 V, V, V, vcc",
    "v_cmp_gt_u32 vcc, 0x7f, V\nv_cndmask_b32 V, V, V, vcc",
    "v_and_b32 V, 0xff, V",
    "v_and_b32 V, 0x7f, V",
    "v_lshlrev_b32 V, 20, V",
];

/// A program of random instructions on bytes that were loaded, which stores bytes.
fn program(card: Card, seed: u64) -> String {
    let mut writer = Writer {
        numbers: Numbers(seed),
        text: String::new(),
        card,
        saved: 18,
        others: FLOATS,
    };
    let names = |rdna: &'static str, cdna: &'static str| if card.is_rdna() { rdna } else { cdna };
    let load4 = names("s_load_b128", "s_load_dwordx4");
    writer.line(&format!("{load4} s[4:7], s[0:1], 0x0"));
    writer.line("v_lshlrev_b32 v8, 5, v0");
    let byte = names("global_load_u8", "global_load_ubyte");
    for n in 2..8 {
        writer.line(&format!("v_mov_b32 v{n}, {n}"));
    }
    writer.line(&format!("{byte} v2, v8, s[4:5]\n{byte} v3, v8, s[4:5] offset:4"));
    writer.line(&format!("{load4} s[8:11], s[4:5], 0x18"));
    for _ in 0..2 {
        writer.body(0);
        writer.branch(1);
    }
    let store = names("global_store_b8", "global_store_byte");
    for n in 2..8 {
        writer.line(&format!("{store} v8, v{n}, s[6:7] offset:{}", 4 * n));
    }
    writer.line("s_endpgm");
    writer.text
}

#[test]
fn mutants_that_are_proven_by_cases_compute_what_the_programs_do() {
    let is_by_cases = |reason| matches!(reason, Reason::Bytes | Reason::Halves);
    let proven = executed_proofs(30, 6, |card, seed| program(card, 1000 * seed + 3), is_by_cases);
    assert!(proven > 200, "{proven} mutants were proven");
}
