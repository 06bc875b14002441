//! Floating-point arithmetic: special values, NaN rules, modifiers, fused and approximate operations.

use crate::wave::{Row, check};

const ONE: u32 = 0x3f80_0000;
const TWO: u32 = 0x4000_0000;
const INF: u32 = 0x7f80_0000;
const QNAN: u32 = 0x7fc0_0000;
/// A signalling NaN with a payload, and what it becomes.
const SNAN: u32 = 0xff80_1234;
const QUIETED: u32 = 0xffc0_1234;
const MIN_DENORMAL: u32 = 1;
const MAX: u32 = 0x7f7f_ffff;
const NEG: u32 = 0x8000_0000;

fn f(value: f32) -> u32 {
    value.to_bits()
}

/// `asm` computes `v0` from `v1`, `v2`, `v3`.
#[track_caller]
fn check_each(asm: &str, rows: &[(&[u32], u32)]) {
    let names = ["v1", "v2", "v3"];
    let before: Vec<Vec<(&str, u32)>> = rows
        .iter()
        .map(|(sources, _)| names.into_iter().zip(sources.iter().copied()).collect())
        .collect();
    let after: Vec<[(&str, u32); 1]> = rows.iter().map(|(_, result)| [("v0", *result)]).collect();
    let rows: Vec<Row<'_>> = before
        .iter()
        .zip(&after)
        .map(|(b, a)| (asm, b.as_slice(), a.as_slice()))
        .collect();
    check(&rows);
}

#[test]
fn addition_follows_ieee_with_denormals_kept() {
    check_each(
        "v_add_f32 v0, v1, v2",
        &[
            (&[f(1.5), f(2.25)], f(3.75)),
            (&[MIN_DENORMAL, MIN_DENORMAL], 2),
            (&[MAX, MAX], INF),
            (&[NEG, 0], 0),
            (&[NEG, NEG], NEG),
            // Half of the last place: to the even neighbour.
            (&[f(16_777_216.0), ONE], f(16_777_216.0)),
            (&[f(16_777_218.0), ONE], f(16_777_220.0)),
        ],
    );
}

#[test]
fn a_nan_operand_comes_back_quieted_and_an_invalid_operation_gives_the_default_nan() {
    check_each(
        "v_add_f32 v0, v1, v2",
        &[
            (&[SNAN, ONE], QUIETED),
            (&[ONE, SNAN], QUIETED),
            (&[SNAN, 0x7fc0_0001], QUIETED),
            (&[0x7fc0_0001, SNAN], 0x7fc0_0001),
            (&[INF, INF | NEG], QNAN),
        ],
    );
    check_each(
        "v_mul_f32 v0, v1, v2",
        &[(&[0, INF], QNAN), (&[SNAN, 0], QUIETED)],
    );
    check_each(
        "v_fma_f32 v0, v1, v2, v3",
        &[
            (&[0, INF, ONE], QNAN),
            (&[ONE, ONE, SNAN], QUIETED),
            (&[0, INF, SNAN], QUIETED),
        ],
    );
    check_each("v_sqrt_f32 v0, v1", &[(&[f(-1.0)], QNAN), (&[SNAN], QUIETED)]);
}

#[test]
fn the_fused_sum_is_rounded_once() {
    let a = 0x3f80_0001;
    check_each(
        "v_fma_f32 v0, v1, v2, v3",
        &[(
            &[a, a, f(-1.0)],
            f32::from_bits(a).mul_add(f32::from_bits(a), -1.0).to_bits(),
        )],
    );
    // 2^-23 + 2^-46: an unfused product would lose the second term.
    check_each(
        "v_fma_f32 v0, v1, v2, v3",
        &[(&[a, a, f(-1.0)], f(2.0f32.powi(-22) + 2.0f32.powi(-46)))],
    );
    check(&[
        (
            "v_fmac_f32 v0, v1, v2",
            &[("v0", f(10.0)), ("v1", f(2.0)), ("v2", f(3.0))],
            &[("v0", f(16.0))],
        ),
        (
            "v_fmamk_f32 v0, v1, 0x40400000, v2",
            &[("v1", f(2.0)), ("v2", f(1.0))],
            &[("v0", f(7.0))],
        ),
        (
            "v_fmaak_f32 v0, v1, v2, 0x40400000",
            &[("v1", f(2.0)), ("v2", f(4.0))],
            &[("v0", f(11.0))],
        ),
        (
            "v_fmac_f32_e64 v0, -v1, |v2|",
            &[("v0", f(10.0)), ("v1", f(2.0)), ("v2", f(-3.0))],
            &[("v0", f(4.0))],
        ),
    ]);
}

#[test]
fn minimum_and_maximum_prefer_numbers_but_ieee_mode_returns_signalling_nans() {
    check_each(
        "v_min_f32 v0, v1, v2",
        &[
            (&[ONE, TWO], ONE),
            (&[TWO, ONE], ONE),
            (&[0, NEG], NEG),
            (&[NEG, 0], NEG),
            (&[QNAN, ONE], ONE),
            (&[ONE, QNAN], ONE),
            (&[0x7fc0_0001, 0x7fc0_0002], 0x7fc0_0001),
            (&[SNAN, ONE], QUIETED),
            (&[ONE, SNAN], QUIETED),
        ],
    );
    check_each(
        "v_max_f32 v0, v1, v2",
        &[
            (&[NEG, 0], 0),
            (&[0, NEG], 0),
            (&[f(-3.0), QNAN], f(-3.0)),
            (&[ONE, TWO], TWO),
        ],
    );
    // IEEE mode off: bit 9 of MODE.
    check(&[(
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\nv_min_f32 v0, v1, v2",
        &[("v1", SNAN), ("v2", ONE)],
        &[("v0", ONE)],
    )]);
}

#[test]
fn three_operand_order_statistics() {
    check_each(
        "v_med3_f32 v0, v1, v2, v3",
        &[
            (&[ONE, TWO, f(3.0)], TWO),
            (&[f(3.0), ONE, TWO], TWO),
            (&[TWO, f(3.0), ONE], TWO),
            (&[QNAN, TWO, ONE], ONE),
        ],
    );
    check_each("v_min3_f32 v0, v1, v2, v3", &[(&[f(3.0), ONE, TWO], ONE)]);
    check_each("v_max3_f32 v0, v1, v2, v3", &[(&[f(3.0), ONE, TWO], f(3.0))]);
    check_each("v_minmax_f32 v0, v1, v2, v3", &[(&[ONE, f(3.0), TWO], TWO)]);
    check_each("v_maxmin_f32 v0, v1, v2, v3", &[(&[ONE, f(3.0), TWO], TWO)]);
}

#[test]
fn source_and_result_modifiers() {
    check(&[
        (
            "v_add_f32 v0, -v1, |v2|",
            &[("v1", ONE), ("v2", f(-5.0))],
            &[("v0", f(4.0))],
        ),
        (
            "v_add_f32 v0, -|v1|, v2",
            &[("v1", f(-1.0)), ("v2", 0)],
            &[("v0", f(-1.0))],
        ),
        (
            "v_add_f32 v0, v1, v2 clamp",
            &[("v1", ONE), ("v2", ONE)],
            &[("v0", ONE)],
        ),
        (
            "v_add_f32 v0, v1, v2 clamp",
            &[("v1", f(-3.0)), ("v2", ONE)],
            &[("v0", 0)],
        ),
        (
            "v_add_f32 v0, v1, v2 clamp",
            &[("v1", QNAN), ("v2", ONE)],
            &[("v0", 0)],
        ),
        (
            "v_add_f64 v[0:1], -v[2:3], 1.0",
            &[("v3", 0x4000_0000)],
            &[("v0", 0), ("v1", 0xbff0_0000)],
        ),
        // A float modifier on a select changes the sign bit.
        (
            "v_cndmask_b32_e64 v0, -v1, v2, vcc_lo",
            &[("v1", ONE), ("v2", TWO), ("vcc", 0)],
            &[("v0", f(-1.0))],
        ),
    ]);
}

#[test]
fn constants_have_the_precision_of_their_operand() {
    check(&[
        ("v_add_f32 v0, 1.0, v1", &[("v1", ONE)], &[("v0", TWO)]),
        ("v_add_f32 v0, 0.15915494, v1", &[], &[("v0", 0x3e22_f983)]),
        ("v_add_f16 v0, 1.0, v1", &[("v1", 0x3c00)], &[("v0", 0x4000)]),
        (
            "v_add_f64 v[0:1], 1.0, v[2:3]",
            &[],
            &[("v0", 0), ("v1", 0x3ff0_0000)],
        ),
        // A literal is the high half of a double.
        (
            "v_add_f64 v[0:1], 0x40080000, v[2:3]",
            &[],
            &[("v0", 0), ("v1", 0x4008_0000)],
        ),
        // An integer constant is an integer, not a number, in a float operand.
        ("v_max_f32 v0, 1, v1", &[], &[("v0", 1)]),
        ("v_add_f32 v0, 0x3fc00000, v1", &[("v1", ONE)], &[("v0", f(2.5))]),
        ("v_mov_b32 v0, -16", &[], &[("v0", 0xffff_fff0)]),
        ("v_mov_b32 v0, -4.0", &[], &[("v0", f(-4.0))]),
    ]);
}

#[test]
fn rounding_to_integers_and_fractions() {
    check_each(
        "v_rndne_f32 v0, v1",
        &[
            (&[f(2.5)], f(2.0)),
            (&[f(3.5)], f(4.0)),
            (&[f(-0.5)], NEG),
            (&[INF], INF),
        ],
    );
    check_each("v_trunc_f32 v0, v1", &[(&[f(-2.9)], f(-2.0)), (&[SNAN], QUIETED)]);
    check_each("v_floor_f32 v0, v1", &[(&[f(-2.1)], f(-3.0)), (&[f(-0.0)], NEG)]);
    check_each("v_ceil_f32 v0, v1", &[(&[f(-2.1)], f(-2.0)), (&[f(-0.5)], NEG)]);
    check_each(
        "v_fract_f32 v0, v1",
        &[
            (&[f(-0.25)], f(0.75)),
            (&[f(2.75)], f(0.75)),
            (&[f(-1e-10)], 0x3f7f_ffff),
        ],
    );
    check(&[(
        "v_rndne_f64 v[0:1], v[2:3]",
        &[("v2", 0), ("v3", 0x4004_0000)],
        &[("v0", 0), ("v1", 0x4000_0000)],
    )]);
}

#[test]
fn exponents_and_mantissas_come_apart_and_together() {
    check_each(
        "v_frexp_exp_i32_f32 v0, v1",
        &[
            (&[ONE], 1),
            (&[MIN_DENORMAL], -148i32 as u32),
            (&[INF], 0),
            (&[0], 0),
        ],
    );
    check_each(
        "v_frexp_mant_f32 v0, v1",
        &[
            (&[f(-3.0)], f(-0.75)),
            (&[MIN_DENORMAL], f(0.5)),
            (&[NEG], NEG),
            (&[SNAN], QUIETED),
        ],
    );
    check_each(
        "v_ldexp_f32 v0, v1, v2",
        &[
            (&[ONE, 10], f(1024.0)),
            (&[ONE, -149i32 as u32], MIN_DENORMAL),
            (&[f(1.5), -149i32 as u32], 2),
            (&[f(1.25), -149i32 as u32], MIN_DENORMAL),
            (&[ONE, 1000], INF),
            (&[MIN_DENORMAL, 149], ONE),
            (&[SNAN, 1], QUIETED),
        ],
    );
    check(&[
        (
            "v_ldexp_f64 v[0:1], v[2:3], v4",
            &[("v3", 0x3ff0_0000), ("v4", -1074i32 as u32)],
            &[("v0", 1), ("v1", 0)],
        ),
        // Between the two lowest doubles, a tie with the even zero: rounded once.
        (
            "v_ldexp_f64 v[0:1], v[2:3], v4",
            &[("v3", 0x3ff8_0000), ("v4", -1075i32 as u32)],
            &[("v0", 1), ("v1", 0)],
        ),
        (
            "v_frexp_exp_i32_f64 v0, v[2:3]",
            &[("v2", 1), ("v3", 0)],
            &[("v0", -1073i32 as u32)],
        ),
        (
            "v_ldexp_f16 v0, v1, v2",
            &[("v1", 0x3c00), ("v2", 0xfff6)],
            &[("v0", 0x1400)],
        ),
    ]);
}

#[test]
fn approximate_operations_are_exact_where_the_result_is() {
    check_each(
        "v_rcp_f32 v0, v1",
        &[
            (&[TWO], f(0.5)),
            (&[0], INF),
            (&[NEG], INF | NEG),
            (&[INF], 0),
            (&[f(3.0)], f(1.0 / 3.0)),
        ],
    );
    check_each(
        "v_rsq_f32 v0, v1",
        &[(&[f(4.0)], f(0.5)), (&[0], INF), (&[f(-1.0)], QNAN)],
    );
    check_each(
        "v_sqrt_f32 v0, v1",
        &[
            (&[f(9.0)], f(3.0)),
            (&[NEG], NEG),
            (&[f(2.0)], f(std::f32::consts::SQRT_2)),
        ],
    );
    check_each(
        "v_exp_f32 v0, v1",
        &[
            (&[f(3.0)], f(8.0)),
            (&[f(-1.0)], f(0.5)),
            (&[INF | NEG], 0),
            (&[f(200.0)], INF),
        ],
    );
    check_each(
        "v_log_f32 v0, v1",
        &[
            (&[f(8.0)], f(3.0)),
            (&[0], INF | NEG),
            (&[f(-1.0)], QNAN),
            (&[INF], INF),
        ],
    );
    check_each(
        "v_sin_f32 v0, v1",
        &[
            (&[f(0.25)], ONE),
            (&[f(0.5)], 0),
            (&[f(0.75)], f(-1.0)),
            (&[f(300.0)], 0),
            (&[INF], QNAN),
        ],
    );
    check_each(
        "v_cos_f32 v0, v1",
        &[(&[0], ONE), (&[f(0.5)], f(-1.0)), (&[f(0.25)], 0)],
    );
}

#[test]
fn approximate_single_precision_flushes_denormals() {
    check_each(
        "v_rcp_f32 v0, v1",
        &[
            (&[MIN_DENORMAL], INF),
            (&[f(2.0f32.powi(127))], 0),
            (&[f(-2.0f32.powi(127))], NEG),
        ],
    );
    check_each("v_log_f32 v0, v1", &[(&[0x7f_ffff], INF | NEG)]);
    check_each(
        "v_exp_f32 v0, v1",
        &[(&[f(-140.0)], 0), (&[f(-126.0)], f(f32::MIN_POSITIVE))],
    );
    check_each("v_sqrt_f32 v0, v1", &[(&[MIN_DENORMAL], 0)]);
    // Half precision keeps them.
    check_each("v_rcp_f16 v0, v1", &[(&[0x7800], 0x0200)]);
}

#[test]
fn legacy_multiplication_treats_zero_as_absorbing() {
    check_each(
        "v_mul_dx9_zero_f32 v0, v1, v2",
        &[(&[0, INF], 0), (&[QNAN, 0], 0), (&[TWO, ONE], TWO)],
    );
    check_each(
        "v_fma_dx9_zero_f32 v0, v1, v2, v3",
        &[(&[0, INF, TWO], TWO), (&[TWO, TWO, ONE], f(5.0))],
    );
}

#[test]
fn comparisons_know_less_equal_greater_and_unordered() {
    let less = |name, bits| (name, bits);
    // Which of 1 < 2, 2 == 2, 3 > 2 and NaN hold, in lanes 0..=3.
    let conditions = [
        less("lt", 0b0001),
        less("eq", 0b0010),
        less("le", 0b0011),
        less("gt", 0b0100),
        less("lg", 0b0101),
        less("ge", 0b0110),
        less("o", 0b0111),
        less("u", 0b1000),
        less("nge", 0b1001),
        less("nlg", 0b1010),
        less("ngt", 0b1011),
        less("nle", 0b1100),
        less("neq", 0b1101),
        less("nlt", 0b1110),
        less("t", 0b1111),
        less("f", 0b0000),
    ];
    let before = [
        ("v1@0", ONE),
        ("v1@1", TWO),
        ("v1@2", f(3.0)),
        ("v1@3", QNAN),
        ("v2", TWO),
        ("exec", 15),
        ("vcc", u32::MAX),
    ];
    // The three forms apart: a card that lacks one has the others.
    type Form = fn(&str, u32) -> (String, [(&'static str, u32); 2]);
    let forms: [Form; 3] = [
        |name, bits| {
            let asm = format!("v_cmp_{name}_f32 vcc_lo, v1, v2");
            (asm, [("vcc", bits), ("exec", 15)])
        },
        |name, bits| {
            let asm = format!("v_cmp_{name}_f32_e64 s5, v1, v2");
            (asm, [("s5", bits), ("vcc", u32::MAX)])
        },
        |name, bits| {
            let asm = format!("v_cmpx_{name}_f32 v1, v2");
            (asm, [("exec", bits), ("vcc", u32::MAX)])
        },
    ];
    for form in forms {
        let rows = conditions.map(|(name, bits)| form(name, bits));
        let rows = rows
            .each_ref()
            .map(|(asm, after)| (&asm[..], &before[..], &after[..]));
        check(&rows);
    }
}

#[test]
fn classes_are_told_apart() {
    let values = [
        SNAN,
        QNAN,
        INF | NEG,
        f(-1.0),
        MIN_DENORMAL | NEG,
        NEG,
        0,
        MIN_DENORMAL,
        ONE,
        INF,
    ];
    let before: Vec<_> = (0..10).map(|bit| ("v2", 1 << bit)).collect();
    for (bit, value) in values.into_iter().enumerate() {
        let lanes: Vec<(String, u32)> = (0..10)
            .map(|lane| (format!("v2@{lane}"), before[lane].1))
            .collect();
        let mut registers: Vec<(&str, u32)> = lanes
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        registers.extend([("v1", value), ("exec", 0x3ff)]);
        check(&[("v_cmp_class_f32 vcc_lo, v1, v2", &registers, &[("vcc", 1 << bit)])]);
    }
}

#[test]
fn cube_coordinates_name_the_face() {
    let before = [("v1", f(0.5)), ("v2", f(-2.0)), ("v3", f(1.0))];
    check(&[
        ("v_cubeid_f32 v0, v1, v2, v3", &before, &[("v0", f(3.0))]),
        ("v_cubesc_f32 v0, v1, v2, v3", &before, &[("v0", f(0.5))]),
        ("v_cubetc_f32 v0, v1, v2, v3", &before, &[("v0", f(-1.0))]),
        ("v_cubema_f32 v0, v1, v2, v3", &before, &[("v0", f(-4.0))]),
    ]);
}

#[test]
#[should_panic(expected = "not 0x40000001")]
fn the_check_finds_a_result_that_is_off_by_one_bit() {
    check(&[("v_add_f32 v0, v1, v1", &[("v1", ONE)], &[("v0", TWO + 1)])]);
}

#[test]
fn output_scaling_is_ignored_where_denormals_are_kept() {
    check(&[
        (
            "v_add_f32 v0, v1, v2 mul:2",
            &[("v1", f(1.5)), ("v2", f(2.0))],
            &[("v0", f(3.5))],
        ),
        (
            "v_mul_f32 v0, v1, v2 div:2",
            &[("v1", f(1.5)), ("v2", f(2.0))],
            &[("v0", f(3.0))],
        ),
    ]);
}

#[test]
fn denormals_of_single_precision_are_zeros_in_the_mode_that_flushes_them() {
    // The largest denormal, and the smallest normal number.
    let (denormal, least) = (0x007f_ffff, 0x0080_0000);
    let minus = 0x8000_0000;
    let values = [
        ("v1", denormal),
        ("v2", 0),
        ("v3", f(0.5)),
        ("v4", least),
        ("v5", 1),
        ("s1", denormal),
    ];
    let row = |asm: &str, register: &str, want: u32| {
        let text = format!("s_denorm_mode 12\n{asm}");
        check(&[(&text, &values, &[(register, want)])]);
    };
    // Sources, in vector and scalar registers; results; signs.
    row("v_add_f32 v0, v1, v2", "v0", 0);
    row("v_add_f32 v0, s1, v2", "v0", 0);
    row("v_mul_f32 v0, v1, 4.0", "v0", 0);
    row("v_mul_f32 v0, -v1, 4.0", "v0", minus);
    row("v_mul_f32 v0, v4, v3", "v0", 0);
    row("v_mul_f32 v0, -v4, v3", "v0", minus);
    row("v_fma_f32 v0, v4, v3, v4", "v0", 0x00c0_0000);
    row("v_max_f32 v0, v1, v2", "v0", 0);
    row("v_cmp_eq_f32 s0, v1, v2\ns_and_b32 s0, s0, 1", "s0", 1);
    row("v_cvt_f64_f32 v[6:7], v1", "v7", 0);
    row("v_dual_add_f32 v0, v1, v2 :: v_dual_mul_f32 v7, v4, v3", "v7", 0);
    // Half precision keeps its denormals, and moves keep everything.
    row("v_mul_f16 v0, v5, 1.0", "v0", 1);
    row("v_cvt_f16_f32 v0, 0x34000000", "v0", 2);
    row("v_mov_b32 v0, v1", "v0", denormal);
    row("v_cndmask_b32 v0, v1, v1, vcc_lo", "v0", denormal);
    // The sources themselves are left alone, and so are the lanes that are not active.
    row("v_add_f32 v0, v1, v2", "v1", denormal);
    row("s_mov_b32 exec_lo, 1\nv_add_f32 v1, v1, v2", "v1@1", denormal);
    row("s_mov_b32 exec_lo, 1\nv_add_f32 v1, v1, v2", "v1@0", 0);
    // Output scaling has a meaning in this mode, once IEEE is off, and comes before clamping.
    let off = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\n";
    row(&format!("{off}v_add_f32 v0, v3, v3 mul:2"), "v0", f(2.0));
    row(&format!("{off}v_add_f32 v0, v3, v3 div:2"), "v0", f(0.5));
    row(&format!("{off}v_add_f32 v0, v3, v3 clamp mul:4"), "v0", f(1.0));
    row("v_add_f32 v0, v3, v3 mul:2", "v0", f(1.0));
    // The usual mode keeps denormals.
    check(&[("v_add_f32 v0, v1, v2", &values, &[("v0", denormal)])]);
}
