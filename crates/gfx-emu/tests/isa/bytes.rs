//! The 8-bit floats of RDNA4 against LLVM's software floating point: every code, and numbers around each of them.

use gfx_emu::Probe;
use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::lines::ask_together;
use crate::llvm::{RDNA4, assemble};
use crate::wave::{Numbers, get, run, set};

fn program(text: &str) -> Vec<u8> {
    assemble(RDNA4, &format!("{text}\ns_endpgm\n"))
}

fn probe(code: &[u8]) -> Probe {
    Probe::new(RDNA4.target, code).unwrap()
}

fn widened<F: Float + FloatConvert<Single>>(code: u32) -> Single {
    F::from_bits(code.into()).convert(&mut false).value
}

fn narrowed<F: Float>(bits: u32) -> F
where
    Single: FloatConvert<F>,
{
    let number = Single::from_bits(bits.into());
    number.convert_r(Round::NearestTiesToEven, &mut false).value
}

/// Which NaN is not compared.
#[track_caller]
fn same<F: Float>(got: u32, want: F, what: &str) {
    let got = F::from_bits(got.into());
    assert!(
        got.is_nan() && want.is_nan() || got.to_bits() == want.to_bits(),
        "{what}: {:#x}, not {:#x}",
        got.to_bits(),
        want.to_bits()
    );
}

fn codes<F: Float + FloatConvert<Single>>(one: &str, two: &str) {
    let selects = ["", " byte_sel:1", " byte_sel:2", " byte_sel:3"];
    let asm = |select: &str| format!("{one} v0, v1{select}");
    ask_together(RDNA4, selects.map(asm));
    for (byte, select) in selects.into_iter().enumerate() {
        let program = program(&asm(select));
        for first in (0..256_u32).step_by(32) {
            let mut wave = probe(&program);
            for lane in 0..32 {
                let code = first + lane;
                // The other bytes are another number.
                let others = !code.wrapping_mul(0x0101_0101) & !(0xff << (8 * byte));
                wave.set_vgpr(1, lane as usize, others | code << (8 * byte));
            }
            run(&mut wave).unwrap();
            for lane in 0..32 {
                let code = first + lane;
                let what = format!("{one}{select} of {code:#x}");
                same(wave.vgpr(0, lane as usize).unwrap(), widened::<F>(code), &what);
            }
        }
    }
    for (shift, select) in [(0, ""), (16, " op_sel:[1,0]")] {
        let mut wave = probe(&program(&format!("{two} v[2:3], v1{select}")));
        for lane in 0..32 {
            let (low, high) = (lane as u32 * 8, 255 - lane as u32);
            wave.set_vgpr(1, lane, (low | high << 8) << shift);
        }
        run(&mut wave).unwrap();
        for lane in 0..32 {
            let code = lane as u32;
            same(wave.vgpr(2, lane).unwrap(), widened::<F>(code * 8), two);
            same(wave.vgpr(3, lane).unwrap(), widened::<F>(255 - code), two);
        }
    }
}

#[test]
fn every_code_of_an_8_bit_float_is_the_number_that_llvm_says() {
    codes::<Float8E4M3FN>("v_cvt_f32_fp8", "v_cvt_pk_f32_fp8");
    codes::<Float8E5M2>("v_cvt_f32_bf8", "v_cvt_pk_f32_bf8");
}

/// Numbers that are codes, halves between two of them, those beside, and others.
fn numbers<F: Float + FloatConvert<Single>>() -> Vec<u32> {
    let mut all: Vec<u32> = [
        0,
        0x8000_0000,
        1,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
    ]
    .to_vec();
    for code in 0..256 {
        let bits = widened::<F>(code).to_bits() as u32;
        let above = widened::<F>((code + 1) & 0xff).to_bits() as u32;
        let half = ((f32::from_bits(bits) + f32::from_bits(above)) / 2.0).to_bits();
        all.extend(
            [bits, half]
                .iter()
                .flat_map(|bits| [bits.wrapping_sub(1), *bits, bits.wrapping_add(1)]),
        );
    }
    // Where overflow begins.
    all.extend([448.0_f32, 464.0, 465.0, 480.0, 57344.0, 61439.0, 61440.0, 65536.0].map(f32::to_bits));
    let mut random = Numbers(8);
    all.extend((0..1000).map(|_| random.next() as u32 & 0x87ff_ffff | 0x3800_0000));
    all
}

fn conversions<F: Float + FloatConvert<Single>>(name: &str)
where
    Single: FloatConvert<F>,
{
    let all = numbers::<F>();
    for (shift, select) in [(0, ""), (16, " op_sel:[0,0,1]")] {
        let program = program(&format!("{name} v0, v1, v2{select}"));
        for numbers in all.windows(2) {
            let mut wave = probe(&program);
            set(&mut wave, "v0", 0x1234_5678);
            set(&mut wave, "v1", numbers[0]);
            set(&mut wave, "v2", numbers[1]);
            run(&mut wave).unwrap();
            let got = get(&wave, "v0");
            assert_eq!(
                got >> (16 - shift) & 0xffff,
                0x1234_5678 >> (16 - shift) & 0xffff,
                "the other half"
            );
            for (i, bits) in numbers.iter().enumerate() {
                let what = format!("{name} of {:e}", f32::from_bits(*bits));
                same(got >> (shift + 8 * i as u32) & 0xff, narrowed::<F>(*bits), &what);
            }
        }
    }
}

#[test]
fn numbers_round_to_8_bits_as_llvms_software_floating_point_does() {
    conversions::<Float8E4M3FN>("v_cvt_pk_fp8_f32");
    conversions::<Float8E5M2>("v_cvt_pk_bf8_f32");
}

#[test]
fn products_of_four_bytes_add_up() {
    fn code<F: Float>(value: i32) -> u32 {
        F::from_i128(value.into()).value.to_bits() as u32
    }
    type Encode = fn(i32) -> u32;
    let (fp8, bf8): (Encode, Encode) = (code::<Float8E4M3FN>, code::<Float8E5M2>);
    let rows: [(&str, Encode, Encode); 4] = [
        ("v_dot4_f32_fp8_fp8", fp8, fp8),
        ("v_dot4_f32_fp8_bf8", fp8, bf8),
        ("v_dot4_f32_bf8_fp8", bf8, fp8),
        ("v_dot4_f32_bf8_bf8", bf8, bf8),
    ];
    let signs = [("", 1), (" neg_lo:[0,0,1]", -1)];
    let asm = |name: &str, modifiers: &str| format!("{name} v0, v1, v2, v3{modifiers}");
    let of_both = rows.map(|(name, ..)| signs.map(|(modifiers, _)| asm(name, modifiers)));
    ask_together(RDNA4, of_both.into_iter().flatten());
    let mut numbers = Numbers(4);
    for (name, of_a, of_b) in rows {
        for (modifiers, sign) in signs {
            let mut any = || (numbers.next() % 9) as i32 - 4;
            let (a, b): ([i32; 4], [i32; 4]) =
                (std::array::from_fn(|_| any()), std::array::from_fn(|_| any()));
            let pack = |of: Encode, row: [i32; 4]| (0..4).fold(0, |all, i| all | of(row[i]) << (8 * i));
            let mut wave = probe(&program(&asm(name, modifiers)));
            set(&mut wave, "v1", pack(of_a, a));
            set(&mut wave, "v2", pack(of_b, b));
            set(&mut wave, "v3", 100_f32.to_bits());
            run(&mut wave).unwrap();
            let product: i32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            assert_eq!(
                f32::from_bits(get(&wave, "v0")),
                (product + sign * 100) as f32,
                "{name}{modifiers}"
            );
        }
    }
}
