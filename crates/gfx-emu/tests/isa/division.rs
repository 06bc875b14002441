//! Division as compilers emit it: correctly rounded quotients from approximate reciprocals.

use gfx_emu::{Probe, Target};

use crate::llvm::llvm;
use crate::wave::{Numbers, check, program, run, set};

/// Compiles a function of registers to instruction text: `float` arguments come in `v0`, `v1`, … and results go back there.
#[track_caller]
fn compile(ir: &str) -> String {
    let asm = llvm(
        "llc-19",
        &[
            "-mtriple=amdgcn-amd-amdpal",
            "-mcpu=gfx1100",
            "-mattr=+wavefrontsize32",
            "-o",
            "-",
        ],
        ir,
    );
    let body = asm.lines().skip_while(|line| !line.starts_with("f:")).skip(1);
    let body = body.take_while(|line| !line.starts_with(".Lfunc_end"));
    let code: Vec<_> = body
        .map(|line| line.split(';').next().unwrap().trim_end())
        .filter(|line| !line.is_empty())
        .collect();
    assert!(code.len() > 5, "llc-19 compiled nothing from:\n{ir}\n{asm}");
    code.join("\n")
}

/// Runs code on many operand pairs, a wave of them at a time; a value takes `words` registers.
fn evaluate(code: &[u8], pairs: &[(u64, u64)], words: u16) -> Vec<u64> {
    let mut out = Vec::new();
    for chunk in pairs.chunks(Probe::LANES) {
        let mut wave = Probe::new(Target::Gfx1100, code).unwrap();
        for (lane, (a, b)) in chunk.iter().enumerate() {
            for word in 0..words {
                wave.set_vgpr(word, lane, (a >> (32 * word)) as u32);
                wave.set_vgpr(words + word, lane, (b >> (32 * word)) as u32);
            }
        }
        set(&mut wave, "exec", u32::MAX);
        run(&mut wave).unwrap();
        for lane in 0..chunk.len() {
            let word = |n: u16| u64::from(wave.vgpr(n, lane).unwrap());
            out.push((0..words).fold(0, |all, n| all | word(n) << (32 * n)));
        }
    }
    out
}

/// Operands of 32 or 64 bits: special values against each other, then random bits, then neighbours of powers of two.
fn operands(bits: u32, mantissa: u32, special: &[u64]) -> Vec<(u64, u64)> {
    let mut numbers = Numbers(u64::from(bits));
    let mut pairs: Vec<_> = special
        .iter()
        .flat_map(|a| special.iter().map(|b| (*a, *b)))
        .collect();
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    for i in 0..12_000u64 {
        let (mut a, mut b) = (numbers.next() & mask, numbers.next() & mask);
        let low = (1 << mantissa) - 1;
        match i % 4 {
            // Few mantissa bits: exact quotients and ties.
            1 => (a, b) = (a & !(low >> 3), b & !(low >> 3)),
            // Numerators and quotients among the denormals.
            2 => a &= low | 3 << mantissa,
            // Large denominators.
            3 => b |= (mask >> 1 & !low) & !(3 << mantissa),
            _ => {}
        }
        pairs.push((a, b));
    }
    pairs
}

#[test]
fn single_precision_quotients_are_correctly_rounded() {
    let ir = "define amdgpu_ps float @f(float %a, float %b) #0 { %q = fdiv float %a, %b\n ret float %q }\n\
              attributes #0 = { \"denormal-fp-math-f32\"=\"ieee,ieee\" }";
    let code = compile(ir);
    for part in ["v_div_scale_f32", "v_div_fmas_f32", "v_div_fixup_f32"] {
        assert!(code.contains(part), "{part} is not in:\n{code}");
    }
    let special = [
        0,
        1,
        0x7f_ffff,
        0x80_0000,
        0x3f80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x8000_0000,
        0xff80_0000,
        0xbf80_0001,
    ];
    let pairs = operands(32, 23, &special);
    for ((a, b), got) in pairs.iter().zip(evaluate(&program(&code), &pairs, 1)) {
        let (x, y) = (f32::from_bits(*a as u32), f32::from_bits(*b as u32));
        let (want, got) = (x / y, f32::from_bits(got as u32));
        assert!(
            want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan(),
            "{x:e} / {y:e} = {want:e}, not {got:e}"
        );
    }
}

#[test]
fn double_precision_quotients_are_correctly_rounded() {
    let ir = "define amdgpu_ps <2 x float> @f(<2 x float> %x, <2 x float> %y) {\n\
              %a = bitcast <2 x float> %x to double\n %b = bitcast <2 x float> %y to double\n\
              %q = fdiv double %a, %b\n %r = bitcast double %q to <2 x float>\n ret <2 x float> %r }";
    let code = compile(ir);
    assert!(code.contains("v_div_fmas_f64"), "no division in:\n{code}");
    let special = [
        0,
        1,
        1 << 52,
        (1 << 52) - 1,
        0x3ff0 << 48,
        0x7ff0 << 48,
        (0x7ff0 << 48) - 1,
        1 << 63,
        0xfff0 << 48,
    ];
    let pairs = operands(64, 52, &special);
    for ((a, b), got) in pairs.iter().zip(evaluate(&program(&code), &pairs, 2)) {
        let (x, y) = (f64::from_bits(*a), f64::from_bits(*b));
        let (want, got) = (x / y, f64::from_bits(got));
        assert!(
            want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan(),
            "{x:e} / {y:e} = {want:e}, not {got:e}"
        );
    }
}

#[test]
fn unsigned_64_bit_division_and_remainder_are_exact() {
    let function = |op: &str| {
        format!(
            "define amdgpu_ps <2 x float> @f(<2 x float> %x, <2 x float> %y) {{\n\
             %a = bitcast <2 x float> %x to i64\n %b = bitcast <2 x float> %y to i64\n\
             %q = {op} i64 %a, %b\n %r = bitcast i64 %q to <2 x float>\n ret <2 x float> %r }}"
        )
    };
    let mut numbers = Numbers(7);
    let pairs: Vec<_> = (0..4_000u32)
        .map(|i| {
            (
                numbers.next() >> (i % 61),
                (numbers.next() >> (i * 7 % 64)).max(1),
            )
        })
        .chain([
            (u64::MAX, 1),
            (u64::MAX, u64::MAX),
            (0, 5),
            (u64::MAX, 1 << 32),
            (u64::MAX, (1 << 32) - 1),
        ])
        .collect();
    let divide = |a: u64, b: u64| a / b;
    let remain = |a: u64, b: u64| a % b;
    let signed = |a: u64, b: u64| (a as i64).wrapping_div(b as i64) as u64;
    for (op, want) in [
        ("udiv", divide as fn(u64, u64) -> u64),
        ("urem", remain),
        ("sdiv", signed),
    ] {
        let code = program(&compile(&function(op)));
        for ((a, b), got) in pairs.iter().zip(evaluate(&code, &pairs, 2)) {
            assert_eq!(got, want(*a, *b), "{op} of {a} and {b}");
        }
    }
}

#[test]
fn the_scale_step_says_when_the_quotient_must_be_scaled_back() {
    let f = |value: f32| value.to_bits();
    let big = f(2.0f32.powi(100));
    check(&[
        // An ordinary quotient.
        (
            "v_div_scale_f32 v0, vcc_lo, v2, v2, v1",
            &[("v1", f(6.0)), ("v2", f(3.0)), ("vcc", 1), ("exec", 1)],
            &[("v0", f(3.0)), ("vcc", 0)],
        ),
        // Near overflow: the denominator is scaled up, the numerator is not.
        (
            "v_div_scale_f32 v0, vcc_lo, v2, v2, v1",
            &[("v1", big), ("v2", f(1.0)), ("exec", 1)],
            &[("v0", f(2.0f32.powi(64))), ("vcc", 1)],
        ),
        (
            "v_div_scale_f32 v0, vcc_lo, v1, v2, v1",
            &[("v1", big), ("v2", f(1.0)), ("exec", 1)],
            &[("v0", big), ("vcc", 1)],
        ),
        // A denormal denominator: both are scaled.
        (
            "v_div_scale_f32 v0, vcc_lo, v1, v2, v1",
            &[("v1", f(1.0)), ("v2", 0x40_0000), ("exec", 1)],
            &[("v0", f(1.0)), ("vcc", 1)],
        ),
        // Nothing to divide.
        (
            "v_div_scale_f32 v0, vcc_lo, v1, v2, v1",
            &[("v1", f(1.0)), ("v2", 0), ("exec", 1)],
            &[("v0", 0x7fc0_0000)],
        ),
    ]);
}

#[test]
fn the_fixup_step_settles_special_cases() {
    let (inf, nan, minus) = (0x7f80_0000u32, 0x7fc0_0000u32, 0x8000_0000u32);
    let one = 0x3f80_0000;
    // Quotient so far, denominator, numerator; result.
    for (b, c, want) in [
        (0, 0, nan | minus),
        (inf, inf, nan | minus),
        (0, one | minus, inf | minus),
        (inf, one, 0),
        (inf | minus, one, minus),
        (one, inf, inf),
        (0x7f80_0001, one, nan | 1),
        (one, 0xff80_0001, nan | minus | 1),
        (one, one | minus, 0x4000_0000 | minus),
    ] {
        let before = [("v1", 0x4000_0000), ("v2", b), ("v3", c)];
        check(&[("v_div_fixup_f32 v0, v1, v2, v3", &before, &[("v0", want)])]);
    }
}
