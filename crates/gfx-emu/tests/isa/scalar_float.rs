//! Floating point in scalar registers against LLVM's software floating point: every direction of rounding, NaNs and zeros with
//! their signs included, and what a mode without denormals makes of them.

use gfx_emu::{Memory, Probe};
use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::apfloat::{
    Ty::{self, F16, F32, Int, No},
    bits, convert, extreme, max_of_numbers, min_of_numbers, of, operand, result,
};
use crate::llvm::{Card, RDNA4, RDNA35};
use crate::rdna4::{maximum, minimum};
use crate::reference::assemble_each;
use crate::wave::{Numbers, check_rdna35, run};

/// The cards that have them.
const CARDS: [Card; 2] = [RDNA35, RDNA4];

/// Assembly with the result in s0 and sources in s4 and s6, s0 being a source too where it adds up; types of result and sources,
/// the last one that of s0; meaning.
type Row = (&'static str, Ty, [Ty; 3], fn(Round, [u64; 3]) -> u64);

fn add<F: Float>(round: Round, [a, b, _]: [u64; 3]) -> u64 {
    result::<F>(&[a, b], of::<F>(a).add_r(of(b), round).value)
}
fn sub<F: Float>(round: Round, [a, b, _]: [u64; 3]) -> u64 {
    result::<F>(&[a, b], of::<F>(a).sub_r(of(b), round).value)
}
fn mul<F: Float>(round: Round, [a, b, _]: [u64; 3]) -> u64 {
    result::<F>(&[a, b], of::<F>(a).mul_r(of(b), round).value)
}
fn fma<F: Float>(round: Round, [a, b, c]: [u64; 3]) -> u64 {
    result::<F>(&[a, b, c], of::<F>(a).mul_add_r(of(b), of(c), round).value)
}
fn min<F: Float>(_: Round, [a, b, _]: [u64; 3]) -> u64 {
    extreme::<F>(a, b, false, true)
}
fn max<F: Float>(_: Round, [a, b, _]: [u64; 3]) -> u64 {
    extreme::<F>(a, b, true, true)
}
fn integral<F: Float>(a: u64, round: Round) -> u64 {
    result::<F>(&[a], of::<F>(a).round_to_integral(round).value)
}
fn ceil<F: Float>(_: Round, [a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::TowardPositive)
}
fn floor<F: Float>(_: Round, [a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::TowardNegative)
}
fn trunc<F: Float>(_: Round, [a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::TowardZero)
}
fn rndne<F: Float>(_: Round, [a, ..]: [u64; 3]) -> u64 {
    integral::<F>(a, Round::NearestTiesToEven)
}
fn of_integer(round: Round, value: i128) -> u64 {
    bits(Single::from_i128_r(value, round).value)
}
fn narrowed<F: Float + FloatConvert<T>, T: Float>(round: Round, a: u64) -> u64 {
    convert::<F, T>(a, round)
}
/// Two halves, rounded towards zero whatever the mode says.
fn packed(_: Round, [a, b, _]: [u64; 3]) -> u64 {
    let half = |a| narrowed::<Single, Half>(Round::TowardZero, a);
    half(a) | half(b) << 16
}

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("s_add_f32 s0, s4, s6", F32, [F32, F32, No], add::<Single>),
    ("s_sub_f32 s0, s4, s6", F32, [F32, F32, No], sub::<Single>),
    ("s_mul_f32 s0, s4, s6", F32, [F32, F32, No], mul::<Single>),
    ("s_min_f32 s0, s4, s6", F32, [F32, F32, No], min::<Single>),
    ("s_max_f32 s0, s4, s6", F32, [F32, F32, No], max::<Single>),
    ("s_min_num_f32 s0, s4, s6", F32, [F32, F32, No], |_, abc| min_of_numbers::<Single>(abc)),
    ("s_max_num_f32 s0, s4, s6", F32, [F32, F32, No], |_, abc| max_of_numbers::<Single>(abc)),
    ("s_min_num_f16 s0, s4, s6", F16, [F16, F16, No], |_, abc| min_of_numbers::<Half>(abc)),
    ("s_max_num_f16 s0, s4, s6", F16, [F16, F16, No], |_, abc| max_of_numbers::<Half>(abc)),
    ("s_minimum_f32 s0, s4, s6", F32, [F32, F32, No], |_, abc| minimum::<Single>(abc)),
    ("s_maximum_f32 s0, s4, s6", F32, [F32, F32, No], |_, abc| maximum::<Single>(abc)),
    ("s_minimum_f16 s0, s4, s6", F16, [F16, F16, No], |_, abc| minimum::<Half>(abc)),
    ("s_maximum_f16 s0, s4, s6", F16, [F16, F16, No], |_, abc| maximum::<Half>(abc)),
    ("s_fmac_f32 s0, s4, s6", F32, [F32, F32, F32], fma::<Single>),
    ("s_fmaak_f32 s0, s4, s6, 0x3f000001", F32, [F32, F32, No], |round, [a, b, _]| fma::<Single>(round, [a, b, 0x3f00_0001])),
    ("s_fmamk_f32 s0, s4, 0x3f000001, s6", F32, [F32, F32, No], |round, [a, b, _]| fma::<Single>(round, [a, 0x3f00_0001, b])),
    ("s_add_f16 s0, s4, s6", F16, [F16, F16, No], add::<Half>),
    ("s_sub_f16 s0, s4, s6", F16, [F16, F16, No], sub::<Half>),
    ("s_mul_f16 s0, s4, s6", F16, [F16, F16, No], mul::<Half>),
    ("s_min_f16 s0, s4, s6", F16, [F16, F16, No], min::<Half>),
    ("s_max_f16 s0, s4, s6", F16, [F16, F16, No], max::<Half>),
    ("s_fmac_f16 s0, s4, s6", F16, [F16, F16, F16], fma::<Half>),
    // An inline constant has the precision of the operand.
    ("s_add_f16 s0, s4, 0.5", F16, [F16, No, No], |round, [a, ..]| add::<Half>(round, [a, 0x3800, 0])),
    ("s_add_f32 s0, s4, 0.5", F32, [F32, No, No], |round, [a, ..]| add::<Single>(round, [a, 0x3f00_0000, 0])),
    ("s_ceil_f32 s0, s4", F32, [F32, No, No], ceil::<Single>),
    ("s_floor_f32 s0, s4", F32, [F32, No, No], floor::<Single>),
    ("s_trunc_f32 s0, s4", F32, [F32, No, No], trunc::<Single>),
    ("s_rndne_f32 s0, s4", F32, [F32, No, No], rndne::<Single>),
    ("s_ceil_f16 s0, s4", F16, [F16, No, No], ceil::<Half>),
    ("s_floor_f16 s0, s4", F16, [F16, No, No], floor::<Half>),
    ("s_trunc_f16 s0, s4", F16, [F16, No, No], trunc::<Half>),
    ("s_rndne_f16 s0, s4", F16, [F16, No, No], rndne::<Half>),
    ("s_cvt_f32_i32 s0, s4", F32, [Int(32), No, No], |round, [a, ..]| of_integer(round, (a as i32).into())),
    ("s_cvt_f32_u32 s0, s4", F32, [Int(32), No, No], |round, [a, ..]| of_integer(round, (a as u32).into())),
    ("s_cvt_i32_f32 s0, s4", Int(32), [F32, No, No], |_, [a, ..]| (f32::from_bits(a as u32) as i32 as u32).into()),
    ("s_cvt_u32_f32 s0, s4", Int(32), [F32, No, No], |_, [a, ..]| (f32::from_bits(a as u32) as u32).into()),
    ("s_cvt_f16_f32 s0, s4", F16, [F32, No, No], |round, [a, ..]| narrowed::<Single, Half>(round, a)),
    ("s_cvt_f32_f16 s0, s4", F32, [F16, No, No], |round, [a, ..]| narrowed::<Half, Single>(round, a)),
    ("s_cvt_hi_f32_f16 s0, s4", F32, [Int(32), No, No], |round, [a, ..]| narrowed::<Half, Single>(round, a >> 16)),
    ("s_cvt_pk_rtz_f16_f32 s0, s4, s6", Int(32), [F32, F32, No], packed),
];

/// What sets the low four bits of MODE, and how all formats are rounded then.
const MODES: [(&str, Round); 4] = [
    (
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0",
        Round::NearestTiesToEven,
    ),
    (
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5",
        Round::TowardPositive,
    ),
    (
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 10",
        Round::TowardNegative,
    ),
    (
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15",
        Round::TowardZero,
    ),
];

/// Tries of a row in each mode.
const TRIES: usize = 300;

fn failure(
    card: Card,
    (asm, ty, sources, meaning): &Row,
    (mode, round): (&str, Round),
    code: &[u8],
) -> Option<String> {
    let mut numbers = Numbers(asm.len() as u64 + 3);
    for _ in 0..TRIES {
        let mut near = numbers.next();
        let input = sources.map(|ty| {
            near = operand(ty, near, &mut numbers);
            near
        });
        // What is above a half must not matter.
        let noise = numbers.next() & 0xffff_0000;
        let mut probe = Probe::new(card.target, code).unwrap();
        for ((register, value), ty) in [4, 6, 0].into_iter().zip(input).zip(sources) {
            let above = if *ty == F16 { noise } else { 0 };
            probe.set_sgpr(register, (value | above) as u32);
        }
        let scc = numbers.next() & 1 != 0;
        probe.set_scc(scc);
        probe
            .run(&Memory::new(0))
            .unwrap_or_else(|fault| panic!("{} {asm}: {fault}", card.name));
        // All of the register: above a half there are zeros.
        let (got, want) = (u64::from(probe.sgpr(0)), meaning(round, input) & ty.mask());
        if (got, probe.scc()) != (want, scc) {
            let name = card.name;
            return Some(format!(
                "{name} {asm} after {mode}: of {input:x?}: {got:#x}, not {want:#x}"
            ));
        }
    }
    None
}

#[test]
fn scalar_floating_point_is_what_llvms_software_floating_point_computes() {
    let mut wrong = Vec::new();
    for card in CARDS {
        for (mode, round) in MODES {
            let pieces: Vec<String> = ROWS.iter().map(|row| format!("{mode}\n{}", row.0)).collect();
            for (row, assembled) in ROWS.iter().zip(assemble_each(card, &pieces)) {
                // Minima and maxima of one name or of another.
                let Some(assembled) = assembled else {
                    let name = row.0;
                    assert!(
                        name.contains("min") || name.contains("max"),
                        "{} has no `{name}`",
                        card.name
                    );
                    continue;
                };
                wrong.extend(failure(card, row, (mode, round), &assembled.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Relations by name; the bits are less, equal, greater, unordered.
const RELATIONS: [(&str, u8); 14] = [
    ("lt", 1),
    ("eq", 2),
    ("le", 3),
    ("gt", 4),
    ("lg", 5),
    ("ge", 6),
    ("o", 7),
    ("u", 8),
    ("nge", 9),
    ("nlg", 10),
    ("ngt", 11),
    ("nle", 12),
    ("neq", 13),
    ("nlt", 14),
];

/// The relation of two numbers.
fn relation<F: Float>(a: u64, b: u64) -> u8 {
    match of::<F>(a).partial_cmp(&of::<F>(b)) {
        Some(order) => 1 << (order as i8 + 1),
        None => 8,
    }
}

#[test]
fn scalar_comparisons_of_numbers_order_as_llvms_software_floating_point_does() {
    for card in CARDS {
        for (ty, suffix, order) in [
            (F32, "f32", relation::<Single> as fn(u64, u64) -> u8),
            (F16, "f16", relation::<Half>),
        ] {
            let pieces: Vec<String> = RELATIONS
                .iter()
                .map(|(name, _)| format!("s_cmp_{name}_{suffix} s4, s6"))
                .collect();
            for ((name, counts), assembled) in RELATIONS.iter().zip(assemble_each(card, &pieces)) {
                let code = assembled.unwrap().code;
                let mut numbers = Numbers(u64::from(*counts));
                let mut seen = 0;
                for _ in 0..TRIES {
                    let a = operand(ty, numbers.next(), &mut numbers);
                    let b = if numbers.next().is_multiple_of(4) {
                        a
                    } else {
                        operand(ty, a, &mut numbers)
                    };
                    let mut probe = Probe::new(card.target, &code).unwrap();
                    probe.set_sgpr(4, a as u32);
                    probe.set_sgpr(6, b as u32);
                    run(&mut probe).unwrap();
                    let want = order(a, b);
                    seen |= want;
                    assert_eq!(
                        probe.scc(),
                        want & counts != 0,
                        "{} {name}_{suffix} {a:#x} {b:#x}",
                        card.name
                    );
                }
                assert_eq!(seen, 15, "every relation occurs");
            }
        }
    }
}

#[test]
fn a_mode_without_denormals_has_none_in_scalar_registers() {
    const FLUSH: &str = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n";
    let flushed = |asm: &str| format!("{FLUSH}{asm}");
    let rows = [
        // A source, a result, and half precision, whose denormals stay.
        (flushed("s_add_f32 s0, s4, s6"), [("s4", 1), ("s6", 0)], 0),
        (
            flushed("s_mul_f32 s0, s4, s6"),
            [("s4", 0x8080_0000), ("s6", 0x3f00_0000)],
            0x8000_0000,
        ),
        (flushed("s_add_f16 s0, s4, s6"), [("s4", 1), ("s6", 1)], 2),
        ("s_add_f32 s0, s4, s6".to_owned(), [("s4", 1), ("s6", 0)], 1),
    ];
    let after: Vec<[(&str, u32); 1]> = rows.iter().map(|row| [("s0", row.2)]).collect();
    let rows: Vec<_> = rows
        .iter()
        .zip(&after)
        .map(|((asm, before, _), after)| (asm.as_str(), before.as_slice(), after.as_slice()))
        .collect();
    check_rdna35(&rows);
}

/// The mnemonics whose results are checked here.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let compared = ["f32", "f16"].into_iter().flat_map(|ty| {
        RELATIONS
            .iter()
            .map(move |(name, _)| format!("s_cmp_{name}_{ty}"))
    });
    let computed = ROWS
        .iter()
        .map(|row| row.0.split(' ').next().unwrap_or(row.0).to_owned());
    compared.chain(computed)
}
