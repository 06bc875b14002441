//! What RDNA4 alone has beside its matrix products and 8-bit floats: minima and maxima by the names of IEEE 754-2019, transcendental
//! functions of scalars, exchanges by lane numbers in a register, barriers in two halves.

use gfx_emu::FaultKind;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Double, Half, Single};

use crate::apfloat::{
    Row,
    Ty::{F16, F32, F64, No, Pair},
    bits, both, failures, max_of_numbers, min_of_numbers, of, quiet,
};
use crate::llvm::{RDNA4, RDNA4_WAVE64, assemble};
use crate::wave::{check_rdna4, get, program_on, run, set};
use gfx_emu::Probe;

/// The NaN that wins over numbers: a signalling one first, else the first.
fn nan_of<F: Float>(operands: [u64; 2]) -> Option<u64> {
    let signalling = operands.into_iter().find(|nan| of::<F>(*nan).is_signaling());
    let any = operands.into_iter().find(|nan| of::<F>(*nan).is_nan());
    signalling.or(any).map(quiet::<F>)
}
pub(crate) fn minimum<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    nan_of::<F>([a, b]).unwrap_or_else(|| bits(of::<F>(a).minimum(of(b))))
}
pub(crate) fn maximum<F: Float>([a, b, _]: [u64; 3]) -> u64 {
    nan_of::<F>([a, b]).unwrap_or_else(|| bits(of::<F>(a).maximum(of(b))))
}

type Two = fn([u64; 3]) -> u64;

/// The second function of the first one's result and the third operand.
fn then(first: Two, second: Two, [a, b, c]: [u64; 3]) -> u64 {
    second([first([a, b, 0]), c, 0])
}

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("v_min_num_f16 v0, v4, v6", F16, [F16, F16, No], min_of_numbers::<Half>),
    ("v_max_num_f16 v0, v4, v6", F16, [F16, F16, No], max_of_numbers::<Half>),
    ("v_min_num_f32 v0, v4, v6", F32, [F32, F32, No], min_of_numbers::<Single>),
    ("v_max_num_f32 v0, v4, v6", F32, [F32, F32, No], max_of_numbers::<Single>),
    ("v_min_num_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], min_of_numbers::<Double>),
    ("v_max_num_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], max_of_numbers::<Double>),
    ("v_pk_min_num_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, min_of_numbers::<Half>)),
    ("v_pk_max_num_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, max_of_numbers::<Half>)),
    ("v_min3_num_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(min_of_numbers::<Half>, min_of_numbers::<Half>, abc)),
    ("v_max3_num_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(max_of_numbers::<Half>, max_of_numbers::<Half>, abc)),
    ("v_min3_num_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(min_of_numbers::<Single>, min_of_numbers::<Single>, abc)),
    ("v_max3_num_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(max_of_numbers::<Single>, max_of_numbers::<Single>, abc)),
    ("v_minmax_num_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(min_of_numbers::<Half>, max_of_numbers::<Half>, abc)),
    ("v_maxmin_num_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(max_of_numbers::<Half>, min_of_numbers::<Half>, abc)),
    ("v_minmax_num_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(min_of_numbers::<Single>, max_of_numbers::<Single>, abc)),
    ("v_maxmin_num_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(max_of_numbers::<Single>, min_of_numbers::<Single>, abc)),
    ("v_minimum_f16 v0, v4, v6", F16, [F16, F16, No], minimum::<Half>),
    ("v_maximum_f16 v0, v4, v6", F16, [F16, F16, No], maximum::<Half>),
    ("v_minimum_f32 v0, v4, v6", F32, [F32, F32, No], minimum::<Single>),
    ("v_maximum_f32 v0, v4, v6", F32, [F32, F32, No], maximum::<Single>),
    ("v_minimum_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], minimum::<Double>),
    ("v_maximum_f64 v[0:1], v[4:5], v[6:7]", F64, [F64, F64, No], maximum::<Double>),
    ("v_pk_minimum_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, minimum::<Half>)),
    ("v_pk_maximum_f16 v0, v4, v6", Pair, [Pair, Pair, No], |abc| both(abc, maximum::<Half>)),
    ("v_minimum3_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(minimum::<Half>, minimum::<Half>, abc)),
    ("v_maximum3_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(maximum::<Half>, maximum::<Half>, abc)),
    ("v_minimum3_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(minimum::<Single>, minimum::<Single>, abc)),
    ("v_maximum3_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(maximum::<Single>, maximum::<Single>, abc)),
    ("v_minimummaximum_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(minimum::<Half>, maximum::<Half>, abc)),
    ("v_maximumminimum_f16 v0, v4, v6, v8", F16, [F16; 3], |abc| then(maximum::<Half>, minimum::<Half>, abc)),
    ("v_minimummaximum_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(minimum::<Single>, maximum::<Single>, abc)),
    ("v_maximumminimum_f32 v0, v4, v6, v8", F32, [F32; 3], |abc| then(maximum::<Single>, minimum::<Single>, abc)),
];

#[test]
fn minima_and_maxima_of_rdna4_are_those_of_llvms_software_floating_point() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let code = |card| assemble(card, &format!("{}\ns_endpgm\n", row.0));
        failures::<32>(RDNA4, row, &code(RDNA4), &mut wrong);
        failures::<64>(RDNA4_WAVE64, row, &code(RDNA4_WAVE64), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn medians_and_pairs_of_minima() {
    let nan = f(f32::NAN);
    let values = [
        ("v1", f(2.0)),
        ("v2", f(3.0)),
        ("v3", f(1.0)),
        ("v4", nan),
        ("v5", 0x4000_4200),
    ];
    check_rdna4(&[
        ("v_med3_num_f32 v0, v1, v2, v3", &values, &[("v0", f(2.0))]),
        ("v_med3_num_f32 v0, v1, v4, v3", &values, &[("v0", f(1.0))]),
        // 3, 2 and 1 as halves.
        ("v_med3_num_f16 v0, v5, 2.0, 1.0", &values, &[("v0", 0x4000)]),
        (
            "v_dual_max_num_f32 v0, v1, v2 :: v_dual_min_num_f32 v7, v4, v3",
            &values,
            &[("v0", f(3.0)), ("v7", f(1.0))],
        ),
    ]);
}

#[test]
fn transcendental_functions_of_scalars_have_signs_and_no_vector() {
    let values = [
        ("s4", f(-4.0)),
        ("s5", 0xabcd_c400),
        ("s6", f(3.0)),
        ("s7", 0x4200),
    ];
    check_rdna4(&[
        ("v_s_exp_f32 s0, s6", &values, &[("s0", f(8.0))]),
        ("v_s_log_f32 s0, -s4", &values, &[("s0", f(2.0))]),
        ("v_s_rcp_f32 s0, s4", &values, &[("s0", f(-0.25))]),
        ("v_s_rcp_f32 s0, -|s4|", &values, &[("s0", f(-0.25))]),
        ("v_s_rsq_f32 s0, |s4|", &values, &[("s0", f(0.5))]),
        ("v_s_sqrt_f32 s0, |s4|", &values, &[("s0", f(2.0))]),
        // Halves, -4 and 3: above them there is something else.
        ("v_s_exp_f16 s0, s7", &values, &[("s0", 0x4800)]),
        ("v_s_log_f16 s0, -s5", &values, &[("s0", 0x4000)]),
        ("v_s_rcp_f16 s0, s5", &values, &[("s0", 0xb400)]),
        ("v_s_rsq_f16 s0, |s5|", &values, &[("s0", 0x3800)]),
        ("v_s_sqrt_f16 s0, |s5|", &values, &[("s0", 0x4000)]),
    ]);
}

#[test]
fn lanes_name_the_lane_of_a_row_that_they_read() {
    for (asm, across) in [
        ("v_permlane16_var_b32 v0, v1, v2", 0),
        ("v_permlanex16_var_b32 v0, v1, v2", 16),
    ] {
        let mut wave = Probe::new(RDNA4.target, &program_on(RDNA4, asm)).unwrap();
        for lane in 0..32_u32 {
            wave.set_vgpr(0, lane as usize, 7);
            wave.set_vgpr(1, lane as usize, 100 + lane);
            wave.set_vgpr(2, lane as usize, (5 * lane + 3) | 0xfff0_0000);
        }
        // Lane 9 may not be read, and is not written.
        set(&mut wave, "exec", !(1 << 9));
        run(&mut wave).unwrap();
        for lane in 0..32 {
            let from = (lane & 16) ^ across | (5 * lane + 3) & 15;
            let want = if from == 9 || lane == 9 { 7 } else { 100 + from };
            assert_eq!(wave.vgpr(0, lane as usize), Some(want), "{asm}: lane {lane}");
        }
    }
}

#[test]
fn a_barrier_of_two_halves_does_not_hold_a_single_wave_and_needs_both() {
    let ran = |asm: &str| {
        let mut wave = Probe::new(RDNA4.target, &program_on(RDNA4, asm)).unwrap();
        run(&mut wave).map(|_| get(&wave, "s1"))
    };
    assert_eq!(
        ran("s_barrier_signal -1\ns_mov_b32 s1, 2\ns_barrier_wait -1"),
        Ok(2)
    );
    // Without the first half, with two of them, and another barrier.
    for asm in [
        "s_barrier_wait -1",
        "s_barrier_signal -1\ns_barrier_signal -1",
        "s_barrier_signal 1",
        "s_barrier_signal_isfirst -1",
    ] {
        let kind = ran(asm).unwrap_err().kind;
        assert!(matches!(kind, FaultKind::Unimplemented { .. }), "{asm}: {kind:?}");
    }
}
