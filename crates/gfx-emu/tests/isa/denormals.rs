//! Denormals that MODE has be zeros, in sources, in results or in both, of each precision, against LLVM's software floating point; and
//! output scaling, which has a meaning where those of results are.

use rustc_apfloat::Round;
use rustc_apfloat::ieee::{Double, Half, Single};

use crate::apfloat::{
    Row,
    Ty::{self, Exponent, F16, F32, F64, Int, No, Pair, Wide},
    bits, both, each, failures, of,
};
use crate::reference::on_each_card;
use crate::rounding::{add, fma, integer, ldexp, mul, narrowed, sub};
use crate::wave::{Numbers, check, probe, run};
use rustc_apfloat::Float;

const NEAREST: Round = Round::NearestTiesToEven;

/// A number, a zero of its sign where it is a denormal and `flushes`.
fn zeroed<F: Float>(flushes: bool, number: u64) -> u64 {
    let value: F = of(number);
    if flushes && value.is_denormal() {
        bits(F::ZERO.copy_sign(value))
    } else {
        number
    }
}

/// Twice a result, without its minus zero.
fn twice<F: Float>(number: u64) -> u64 {
    let two = bits(F::from_u128(2).value);
    let scaled = mul::<F>(NEAREST, zeroed::<F>(true, number), two);
    let value: F = of(scaled);
    if value.is_zero() {
        0
    } else {
        zeroed::<F>(true, scaled)
    }
}

macro_rules! row {
    ($mode:literal, $asm:literal, $result:expr, $sources:expr, $meaning:expr) => {
        (concat!($mode, "\n", $asm), $result, $sources, $meaning)
    };
}

/// The rows of half and double precision: what sets bits 7:4 of MODE, and whether denormals of their sources and results are zeros.
macro_rules! others {
    ($mode:literal, $source:literal, $result:literal) => {
        &[
            row!($mode, "v_add_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| {
                let [a, b] = [a, b].map(|x| zeroed::<Half>($source, x));
                zeroed::<Half>($result, add::<Half>(NEAREST, a, b))
            }),
            row!($mode, "v_sub_f16 v0, |v4|, -v6", F16, [F16, F16, No], |[
                a,
                b,
                _,
            ]| {
                let [a, b] = [a & 0x7fff, b ^ 0x8000].map(|x| zeroed::<Half>($source, x));
                zeroed::<Half>($result, sub::<Half>(NEAREST, a, b))
            }),
            row!($mode, "v_mul_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| {
                let [a, b] = [a, b].map(|x| zeroed::<Half>($source, x));
                zeroed::<Half>($result, mul::<Half>(NEAREST, a, b))
            }),
            row!($mode, "v_fma_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| {
                let abc = abc.map(|x| zeroed::<Half>($source, x));
                zeroed::<Half>($result, fma::<Half>(NEAREST, abc))
            }),
            row!(
                $mode,
                "v_ldexp_f16 v0, v4, v6",
                F16,
                [F16, Exponent(16), No],
                |[a, n, _]| {
                    let scaled = ldexp::<Half>(NEAREST, zeroed::<Half>($source, a), i64::from(n as i16));
                    zeroed::<Half>($result, scaled)
                }
            ),
            row!($mode, "v_cvt_f16_f32 v0, v4", F16, [F32, No, No], |[a, ..]| {
                zeroed::<Half>($result, narrowed::<Single, Half>(NEAREST, a))
            }),
            row!($mode, "v_cvt_f32_f16 v0, v4", F32, [F16, No, No], |[a, ..]| {
                narrowed::<Half, Single>(NEAREST, zeroed::<Half>($source, a))
            }),
            row!($mode, "v_cvt_f16_i16 v0, v4", F16, [Int(16), No, No], |[
                a,
                ..,
            ]| {
                integer::<Half>(NEAREST, i64::from(a as i16))
            }),
            row!($mode, "v_pk_add_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| {
                both(abc, |[a, b, _]| {
                    let [a, b] = [a, b].map(|x| zeroed::<Half>($source, x));
                    zeroed::<Half>($result, add::<Half>(NEAREST, a, b))
                })
            }),
            row!($mode, "v_pk_mul_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| {
                both(abc, |[a, b, _]| {
                    let [a, b] = [a, b].map(|x| zeroed::<Half>($source, x));
                    zeroed::<Half>($result, mul::<Half>(NEAREST, a, b))
                })
            }),
            row!($mode, "v_pk_fma_f16 v0, v4, v6, v8", Pair, [Pair; 3], |abc| {
                both(abc, |abc| {
                    let abc = abc.map(|x| zeroed::<Half>($source, x));
                    zeroed::<Half>($result, fma::<Half>(NEAREST, abc))
                })
            }),
            row!(
                $mode,
                "v_add_f64 v[0:1], v[4:5], v[6:7]",
                F64,
                [F64, F64, No],
                |[a, b, _]| {
                    let [a, b] = [a, b].map(|x| zeroed::<Double>($source, x));
                    zeroed::<Double>($result, add::<Double>(NEAREST, a, b))
                }
            ),
            row!(
                $mode,
                "v_mul_f64 v[0:1], -v[4:5], v[6:7]",
                F64,
                [F64, F64, No],
                |[a, b, _]| {
                    let [a, b] = [a ^ 1 << 63, b].map(|x| zeroed::<Double>($source, x));
                    zeroed::<Double>($result, mul::<Double>(NEAREST, a, b))
                }
            ),
            row!(
                $mode,
                "v_fma_f64 v[0:1], v[4:5], v[6:7], v[8:9]",
                F64,
                [F64; 3],
                |abc| {
                    let abc = abc.map(|x| zeroed::<Double>($source, x));
                    zeroed::<Double>($result, fma::<Double>(NEAREST, abc))
                }
            ),
            row!(
                $mode,
                "v_ldexp_f64 v[0:1], v[4:5], v6",
                F64,
                [F64, Exponent(32), No],
                |[a, n, _]| {
                    let scaled = ldexp::<Double>(NEAREST, zeroed::<Double>($source, a), i64::from(n as i32));
                    zeroed::<Double>($result, scaled)
                }
            ),
            row!($mode, "v_cvt_f32_f64 v0, v[4:5]", F32, [F64, No, No], |[
                a,
                ..,
            ]| {
                narrowed::<Double, Single>(NEAREST, zeroed::<Double>($source, a))
            }),
            row!($mode, "v_cvt_f64_f32 v[0:1], v4", F64, [F32, No, No], |[
                a,
                ..,
            ]| {
                narrowed::<Single, Double>(NEAREST, a)
            }),
            // What moves numbers, and single precision, is left alone.
            row!($mode, "v_mul_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| {
                mul::<Single>(NEAREST, a, b)
            }),
        ]
    };
}

const NEITHER_KEPT: &[Row] = others!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3", true, true);
const SOURCES_KEPT: &[Row] = others!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 7", false, true);
const RESULTS_KEPT: &[Row] = others!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 11", true, false);

/// The rows of single precision.
macro_rules! single {
    ($mode:literal, $source:literal, $result:literal) => {
        &[
            row!($mode, "v_add_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| {
                let [a, b] = [a, b].map(|x| zeroed::<Single>($source, x));
                zeroed::<Single>($result, add::<Single>(NEAREST, a, b))
            }),
            row!($mode, "v_mul_f32 v0, v4, v6", F32, [F32, F32, No], |[a, b, _]| {
                let [a, b] = [a, b].map(|x| zeroed::<Single>($source, x));
                zeroed::<Single>($result, mul::<Single>(NEAREST, a, b))
            }),
            row!($mode, "v_fma_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| {
                let abc = abc.map(|x| zeroed::<Single>($source, x));
                zeroed::<Single>($result, fma::<Single>(NEAREST, abc))
            }),
            row!($mode, "v_cvt_f16_f32 v0, v4", F16, [F32, No, No], |[a, ..]| {
                narrowed::<Single, Half>(NEAREST, zeroed::<Single>($source, a))
            }),
            row!($mode, "v_cvt_f32_f64 v0, v[4:5]", F32, [F64, No, No], |[
                a,
                ..,
            ]| {
                zeroed::<Single>($result, narrowed::<Double, Single>(NEAREST, a))
            }),
            row!(
                $mode,
                "v_pk_mul_f32 v[0:1], v[4:5], v[6:7]",
                Wide,
                [Wide, Wide, No],
                |abc| each(abc, |[a, b, _]| {
                    let [a, b] = [a, b].map(|x| zeroed::<Single>($source, x));
                    zeroed::<Single>($result, mul::<Single>(NEAREST, a, b))
                })
            ),
            row!($mode, "v_mul_f16 v0, v4, v6", F16, [F16, F16, No], |[a, b, _]| {
                mul::<Half>(NEAREST, a, b)
            }),
        ]
    };
}

const SINGLE_SOURCES_KEPT: &[Row] = single!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 13", false, true);
const SINGLE_RESULTS_KEPT: &[Row] = single!("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 14", true, false);

/// Output scaling, IEEE off, results of all precisions without denormals and sources with them.
macro_rules! scaled {
    ($asm:literal, $result:expr, $sources:expr, $meaning:expr) => {
        row!(
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 6), 0x15",
            $asm,
            $result,
            $sources,
            $meaning
        )
    };
}
const SCALED: &[Row] = &[
    scaled!("v_add_f16 v0, v4, v6 mul:2", F16, [F16, F16, No], |[a, b, _]| {
        twice::<Half>(add::<Half>(NEAREST, a, b))
    }),
    scaled!("v_mul_f16 v0, v4, v6 mul:2", F16, [F16, F16, No], |[a, b, _]| {
        twice::<Half>(mul::<Half>(NEAREST, a, b))
    }),
    scaled!("v_fma_f16 v0, v4, v6, v8 mul:2", F16, [F16; 3], |abc| {
        twice::<Half>(fma::<Half>(NEAREST, abc))
    }),
    scaled!(
        "v_add_f64 v[0:1], v[4:5], v[6:7] mul:2",
        F64,
        [F64, F64, No],
        |[a, b, _]| twice::<Double>(add::<Double>(NEAREST, a, b))
    ),
    scaled!(
        "v_fma_f64 v[0:1], v[4:5], v[6:7], v[8:9] mul:2",
        F64,
        [F64; 3],
        |abc| twice::<Double>(fma::<Double>(NEAREST, abc))
    ),
    scaled!("v_mul_f32 v0, v4, v6 mul:2", F32, [F32, F32, No], |[a, b, _]| {
        twice::<Single>(mul::<Single>(NEAREST, a, b))
    }),
];

#[test]
fn denormals_of_half_and_double_precision_are_zeros_as_mode_says() {
    for rows in [NEITHER_KEPT, SOURCES_KEPT, RESULTS_KEPT] {
        on_each_card(rows, |row| row.0, 15, failures::<32>, failures::<64>);
    }
}

#[test]
fn denormals_of_single_precision_may_be_kept_in_sources_or_results_alone() {
    for rows in [SINGLE_SOURCES_KEPT, SINGLE_RESULTS_KEPT] {
        on_each_card(rows, |row| row.0, 5, failures::<32>, failures::<64>);
    }
}

#[test]
fn results_without_denormals_are_scaled() {
    on_each_card(SCALED, |row| row.0, 4, failures::<32>, failures::<64>);
}

/// Rows of one mode in another: that must be seen, where the operation has denormals to lose.
#[test]
fn a_wrong_mode_is_seen() {
    let mut numbers = Numbers(1);
    let mut seen = 0;
    for (kept, not) in SOURCES_KEPT.iter().zip(RESULTS_KEPT) {
        let differs = (0..20_000).any(|_| {
            let input = kept
                .2
                .map(|ty: Ty| crate::apfloat::operand(ty, numbers.next(), &mut numbers));
            (kept.3(input) ^ not.3(input)) & kept.1.mask() != 0
        });
        seen += usize::from(differs);
    }
    // All but the conversions from integers and single precision, the one to it from doubles, whose denormals it rounds away, and single
    // precision itself.
    assert_eq!(seen, NEITHER_KEPT.len() - 4);
}

#[test]
fn one_half_of_a_register_is_flushed_and_sources_are_left_alone() {
    let off = "s_denorm_mode 3\n";
    for (asm, before, after) in [
        // The other half is a denormal, too.
        (
            "v_add_f16 v0, v1, v2",
            [("v0", 0x0003_0005), ("v1", 0x0001_0400)],
            [("v0", 0x0003_0400), ("v1", 0x0001_0400)],
        ),
        (
            "v_fma_f16 v0, v1, 1.0, v2 op_sel:[1,0,0,1]",
            [("v0", 0x0003_0005), ("v1", 0x0001_0400)],
            [("v0", 5), ("v1", 0x0001_0400)],
        ),
        (
            "v_cndmask_b16 v0, v1, v1, vcc_lo",
            [("v0", 0), ("v1", 3)],
            [("v0", 3), ("v1", 3)],
        ),
        ("v_mov_b32 v0, v1", [("v0", 0), ("v1", 3)], [("v0", 3), ("v1", 3)]),
    ] {
        let mut wave = probe(&format!("{off}{asm}"));
        before
            .iter()
            .for_each(|(register, value)| crate::wave::set(&mut wave, register, *value));
        run(&mut wave).unwrap();
        for (register, value) in after {
            assert_eq!(crate::wave::get(&wave, register), value, "{asm}: {register}");
        }
    }
    // Scalar registers and constants.
    check(&[
        (
            &format!("{off}v_add_f64 v[0:1], s[2:3], 0"),
            &[("s2", 7), ("s3", 0x8000_0000)],
            &[("v0", 0), ("v1", 0)],
        ),
        (
            &format!("{off}v_max_f64 v[0:1], s[2:3], s[2:3]"),
            &[("s2", 7), ("s3", 0x8000_0000)],
            &[("v0", 0), ("v1", 0x8000_0000)],
        ),
        (
            &format!("{off}v_mul_f16 v0, s2, 1.0"),
            &[("s2", 0x8001)],
            &[("v0", 0x8000)],
        ),
        (
            &format!("{off}v_cmp_eq_f16 vcc_lo, 0, v1\ns_and_b32 s0, vcc_lo, 1"),
            &[("v1", 0x8001)],
            &[("s0", 1)],
        ),
        (
            &format!("{off}v_cmp_class_f16 vcc_lo, v1, v2\ns_and_b32 s0, vcc_lo, 1"),
            &[("v1", 0x8001), ("v2", 0x10)],
            &[("s0", 1)],
        ),
    ]);
}
