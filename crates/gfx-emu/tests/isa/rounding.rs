//! Results that are rounded up, down or towards zero, as MODE says, against LLVM's software floating point.

use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::apfloat::{
    Row,
    Ty::{self, Exponent, F16, F32, F64, Int, No, Pair, Wide},
    bits, both, convert, each, failures, of, result,
};
use crate::reference::on_each_card;
use crate::wave::{Numbers, check, probe, run};

pub(crate) fn add<F: Float>(round: Round, a: u64, b: u64) -> u64 {
    result::<F>(&[a, b], of::<F>(a).add_r(of(b), round).value)
}
pub(crate) fn sub<F: Float>(round: Round, a: u64, b: u64) -> u64 {
    result::<F>(&[a, b], of::<F>(a).sub_r(of(b), round).value)
}
pub(crate) fn mul<F: Float>(round: Round, a: u64, b: u64) -> u64 {
    result::<F>(&[a, b], of::<F>(a).mul_r(of(b), round).value)
}
pub(crate) fn fma<F: Float>(round: Round, [a, b, c]: [u64; 3]) -> u64 {
    result::<F>(&[a, b, c], of::<F>(a).mul_add_r(of(b), of(c), round).value)
}
pub(crate) fn ldexp<F: Float>(round: Round, a: u64, n: i64) -> u64 {
    // Beyond that every number is zero or infinite, or next to them.
    result::<F>(&[a], of::<F>(a).scalbn_r(n.clamp(-5000, 5000) as i32, round))
}
pub(crate) fn narrowed<F: Float + FloatConvert<T>, T: Float>(round: Round, a: u64) -> u64 {
    convert::<F, T>(a, round)
}
pub(crate) fn integer<F: Float>(round: Round, value: i64) -> u64 {
    bits(F::from_i128_r(i128::from(value), round).value)
}
/// A number of single precision, a zero of its sign where it is a denormal.
fn flushed(bits: u64) -> u64 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

macro_rules! row {
    ($mode:literal, $asm:literal, $result:expr, $sources:expr, $meaning:expr) => {
        (concat!($mode, "\n", $asm), $result, $sources, $meaning)
    };
}

/// The rows of one direction: what sets the low four bits of MODE, and what they mean for single precision and for the others.
macro_rules! rows {
    ($mode:literal, $single:expr, $others:expr) => {
        &[
            row!($mode, "v_add_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| {
                add::<Single>($single, a, b)
            }),
            row!($mode, "v_sub_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| {
                sub::<Single>($single, a, b)
            }),
            row!($mode, "v_subrev_f32 v0, v4, v6", F32, [F32, F32, No], |[
                a,
                b,
                _,
            ]| {
                sub::<Single>($single, b, a)
            }),
            row!($mode, "v_mul_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| {
                mul::<Single>($single, a, b)
            }),
            row!($mode, "v_mul_f32 v0, -v4, |v6|", F32, [F32, F32, No], |[
                a,
                b,
                _,
            ]| {
                mul::<Single>($single, a ^ 1 << 31, b & !(1 << 31))
            }),
            row!($mode, "v_fma_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| fma::<
                Single,
            >(
                $single, abc
            )),
            row!(
                $mode,
                "v_mov_b32 v0, v8\nv_fmac_f32 v0, v4, v6",
                F32,
                [F32; 3],
                |abc| fma::<Single>($single, abc)
            ),
            row!(
                $mode,
                "v_ldexp_f32 v0, v4, v6",
                F32,
                [F32, Exponent(32), No],
                |[a, n, _]| ldexp::<Single>($single, a, i64::from(n as i32))
            ),
            row!($mode, "v_cvt_f32_f64 v0, v[4:5]", F32, [F64, No, No], |[
                a,
                ..,
            ]| {
                narrowed::<Double, Single>($single, a)
            }),
            row!($mode, "v_cvt_f32_i32 v0, v4", F32, [Int(32), No, No], |[
                a,
                ..,
            ]| {
                integer::<Single>($single, i64::from(a as i32))
            }),
            row!($mode, "v_cvt_f32_u32 v0, v4", F32, [Int(32), No, No], |[
                a,
                ..,
            ]| {
                integer::<Single>($single, i64::from(a as u32))
            }),
            row!($mode, "v_fma_mix_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| fma::<
                Single,
            >(
                $single, abc
            )),
            row!(
                $mode,
                "v_mul_dx9_zero_f32 v0, v4, v6",
                F32,
                [F32, F32, No],
                |[a, b, _]| {
                    if [a, b].iter().any(|x| x & 0x7fff_ffff == 0) {
                        0
                    } else {
                        mul::<Single>($single, a, b)
                    }
                }
            ),
            row!(
                $mode,
                "v_fma_dx9_zero_f32 v0, v4, v6, v8",
                F32,
                [F32; 3],
                |[a, b, c]| {
                    if [a, b].iter().any(|x| x & 0x7fff_ffff == 0) {
                        add::<Single>($single, 0, c)
                    } else {
                        fma::<Single>($single, [a, b, c])
                    }
                }
            ),
            // 0 by anything is 0, and a light that is off gives the least number.
            row!($mode, "v_mullit_f32 v0, v4, v6, v8", F32, [F32; 3], |[
                a,
                b,
                c,
            ]| {
                let (light, power) = (f32::from_bits(b as u32), f32::from_bits(c as u32));
                if light.is_nan() || light <= f32::MIN || power.is_nan() || power <= 0.0 {
                    u64::from(f32::MIN.to_bits())
                } else if [a, b].iter().any(|x| x & 0x7fff_ffff == 0) {
                    0
                } else {
                    mul::<Single>($single, a, b)
                }
            }),
            // gfx90a's, which has no denormals and rounds twice.
            row!($mode, "v_mad_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| {
                let [a, b, c] = abc.map(flushed);
                let product = flushed(mul::<Single>($single, a, b));
                flushed(add::<Single>($single, product, c))
            }),
            row!(
                $mode,
                "v_pk_add_f32 v[0:1], v[4:5], v[6:7]",
                Wide,
                [Wide, Wide, No],
                |abc| each(abc, |[a, b, _]| add::<Single>($single, a, b))
            ),
            row!(
                $mode,
                "v_pk_mul_f32 v[0:1], v[4:5], v[6:7]",
                Wide,
                [Wide, Wide, No],
                |abc| each(abc, |[a, b, _]| mul::<Single>($single, a, b))
            ),
            row!(
                $mode,
                "v_pk_fma_f32 v[0:1], v[4:5], v[6:7], v[8:9]",
                Wide,
                [Wide; 3],
                |abc| each(abc, |abc| fma::<Single>($single, abc))
            ),
            row!(
                $mode,
                "v_add_f64 v[0:1], v[4:5], v[6:7]",
                F64,
                [F64, F64, No],
                |[a, b, _]| add::<Double>($others, a, b)
            ),
            row!(
                $mode,
                "v_mul_f64 v[0:1], v[4:5], v[6:7]",
                F64,
                [F64, F64, No],
                |[a, b, _]| mul::<Double>($others, a, b)
            ),
            row!(
                $mode,
                "v_fma_f64 v[0:1], v[4:5], v[6:7], v[8:9]",
                F64,
                [F64; 3],
                |abc| fma::<Double>($others, abc)
            ),
            row!(
                $mode,
                "v_ldexp_f64 v[0:1], v[4:5], v6",
                F64,
                [F64, Exponent(32), No],
                |[a, n, _]| ldexp::<Double>($others, a, i64::from(n as i32))
            ),
            row!($mode, "v_add_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| {
                add::<Half>($others, a, b)
            }),
            row!($mode, "v_sub_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| {
                sub::<Half>($others, a, b)
            }),
            row!($mode, "v_subrev_f16 v0, v4, v6", F16, [F16, F16, No], |[
                a,
                b,
                _,
            ]| {
                sub::<Half>($others, b, a)
            }),
            row!($mode, "v_mul_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| {
                mul::<Half>($others, a, b)
            }),
            row!(
                $mode,
                "v_fma_f16 v0, v4, v6, v8",
                F16,
                [F16; 3],
                |abc| fma::<Half>($others, abc)
            ),
            row!(
                $mode,
                "v_ldexp_f16 v0, v4, v6",
                F16,
                [F16, Exponent(16), No],
                |[a, n, _]| ldexp::<Half>($others, a, i64::from(n as i16))
            ),
            row!($mode, "v_cvt_f16_f32 v0, v4", F16, [F32, No, No], |[a, ..]| {
                narrowed::<Single, Half>($others, a)
            }),
            row!($mode, "v_cvt_f16_i16 v0, v4", F16, [Int(16), No, No], |[
                a,
                ..,
            ]| {
                integer::<Half>($others, i64::from(a as i16))
            }),
            row!($mode, "v_cvt_f16_u16 v0, v4", F16, [Int(16), No, No], |[
                a,
                ..,
            ]| {
                integer::<Half>($others, i64::from(a as u16))
            }),
            row!($mode, "v_pk_add_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| {
                both(abc, |[a, b, _]| add::<Half>($others, a, b))
            }),
            row!($mode, "v_pk_mul_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| {
                both(abc, |[a, b, _]| mul::<Half>($others, a, b))
            }),
            row!($mode, "v_pk_fma_f16 v0, v4, v6, v8", Pair, [Pair; 3], |abc| both(
                abc,
                |abc| fma::<Half>($others, abc)
            )),
        ]
    };
}

const UP: &[Row] = rows!(
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5",
    Round::TowardPositive,
    Round::TowardPositive
);
const DOWN: &[Row] = rows!(
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 10",
    Round::TowardNegative,
    Round::TowardNegative
);
const ZERO: &[Row] = rows!(
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15",
    Round::TowardZero,
    Round::TowardZero
);
const SINGLE_ALONE: &[Row] = rows!(
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3",
    Round::TowardZero,
    Round::NearestTiesToEven
);
const OTHERS_ALONE: &[Row] = rows!(
    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 4",
    Round::NearestTiesToEven,
    Round::TowardPositive
);

#[test]
fn results_are_rounded_in_the_direction_that_mode_says() {
    for rows in [UP, DOWN, ZERO, SINGLE_ALONE, OTHERS_ALONE] {
        on_each_card(rows, |row| row.0, 26, failures::<32>, failures::<64>);
    }
}

/// The rows of one direction, executed in another: that must be seen.
#[test]
fn a_wrong_direction_is_seen_in_every_row() {
    let mut numbers = Numbers(1);
    for (up, down) in UP.iter().zip(DOWN) {
        let differs = (0..20_000).any(|_| {
            let input =
                up.2.map(|ty: Ty| crate::apfloat::operand(ty, numbers.next(), &mut numbers));
            (up.3(input) ^ down.3(input)) & up.1.mask() != 0
        });
        assert!(differs, "{}", up.0);
    }
}

#[test]
fn a_quotient_that_is_scaled_back_is_rounded_once() {
    // 2^-80 and the last place of it, scaled back by 2^-64 to a denormal of 32 units and a bit.
    for (mode, dividend, want) in [
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", 0x1780_0001, 32),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5", 0x1780_0001, 33),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 10", 0x1780_0001, 32),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15", 0x1780_0001, 32),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5",
            0x9780_0001,
            0x8000_0020,
        ),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 10",
            0x9780_0001,
            0x8000_0021,
        ),
    ] {
        let asm = format!("{mode}\ns_mov_b32 vcc_lo, -1\nv_div_fmas_f32 v0, v1, 1.0, v3");
        check(&[(&asm, &[("v1", dividend), ("v3", 0)], &[("v0", want)])]);
    }
}

#[test]
fn what_is_known_to_round_to_nearest_only_is_refused_in_another_direction() {
    let text = "s_round_mode 0x3\nv_dot2_f32_f16 v0, v1, v2, v3";
    let fault = run(&mut probe(text)).unwrap_err();
    assert!(fault.to_string().contains("v_dot2_f32_f16"), "{fault}");
    check(&[(
        "s_round_mode 0x0\nv_dot2_f32_f16 v0, v1, v2, v3",
        &[("v3", 7)],
        &[("v0", 7)],
    )]);
}
