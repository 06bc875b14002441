//! Casts between all pairs of dtypes, bit for bit, against exact arithmetic on the host: every pattern of the 8- and
//! 16-bit dtypes; of the others edges, halfway points of every shorter float, and random patterns.

use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, Error, ops};

use crate::support::{LEN, WALKS, device, flat};

/// A number without rounding. `Finite` is `mantissa` × 2^`exponent`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Integer(i128),
    Finite {
        negative: bool,
        mantissa: u64,
        exponent: i32,
    },
    Infinite {
        negative: bool,
    },
    Nan,
}

/// How a dtype keeps a number.
#[derive(Debug, Clone, Copy)]
enum Format {
    Integer { signed: bool },
    Float { exponent_bits: u32, fraction_bits: u32 },
}

fn format(dtype: DType) -> Format {
    let float = |exponent_bits, fraction_bits| Format::Float {
        exponent_bits,
        fraction_bits,
    };
    match dtype {
        DType::U8 | DType::U32 => Format::Integer { signed: false },
        DType::I16 | DType::I32 | DType::I64 => Format::Integer { signed: true },
        DType::BF16 => float(8, 7),
        DType::F16 => float(5, 10),
        DType::F32 => float(8, 23),
        DType::F64 => float(11, 52),
        DType::F8E4M3 => float(4, 3),
    }
}

fn bits(dtype: DType) -> u32 {
    8 * dtype.size_in_bytes() as u32
}

/// The greatest pattern that is a finite number or infinity, without its sign; above it are NaN.
fn ceiling(dtype: DType, fraction_bits: u32) -> u64 {
    match dtype {
        DType::F8E4M3 => 0x7e, // 448; there is no infinity
        _ => ((1 << (bits(dtype) - 1 - fraction_bits)) - 1) << fraction_bits,
    }
}

fn decode(dtype: DType, pattern: u64) -> Number {
    let size = bits(dtype);
    let (exponent_bits, fraction_bits) = match format(dtype) {
        Format::Integer { signed: false } => return Number::Integer(pattern.into()),
        Format::Integer { signed: true } => {
            return Number::Integer((i128::from(pattern) << (128 - size)) >> (128 - size));
        }
        Format::Float {
            exponent_bits,
            fraction_bits,
        } => (exponent_bits, fraction_bits),
    };
    let negative = pattern >> (size - 1) == 1;
    let magnitude = pattern & ((1 << (size - 1)) - 1);
    let top = ceiling(dtype, fraction_bits);
    if magnitude > top {
        return Number::Nan;
    }
    if magnitude == top && dtype != DType::F8E4M3 {
        return Number::Infinite { negative };
    }
    let bias = (1 << (exponent_bits - 1)) - 1;
    let (biased, fraction) = (
        (magnitude >> fraction_bits) as i32,
        magnitude & ((1 << fraction_bits) - 1),
    );
    Number::Finite {
        negative,
        mantissa: fraction | u64::from(biased > 0) << fraction_bits,
        exponent: biased.max(1) - bias - fraction_bits as i32,
    }
}

/// The pattern of `number` in `dtype`, with the policy's rounding, saturation and wrap-around.
fn encode(dtype: DType, number: Number) -> u64 {
    let size = bits(dtype);
    let kept = u64::MAX >> (64 - size);
    match (format(dtype), number) {
        (Format::Integer { .. }, Number::Integer(value)) => value as u64 & kept,
        (Format::Integer { signed }, _) => {
            let largest = i128::from(kept >> u32::from(signed));
            let least = if signed { -largest - 1 } else { 0 };
            toward_zero(number).clamp(least, largest) as u64 & kept
        }
        (
            Format::Float {
                exponent_bits,
                fraction_bits,
            },
            _,
        ) => {
            let top = ceiling(dtype, fraction_bits);
            let (negative, magnitude) = match number {
                Number::Nan => return top + 1,
                Number::Infinite { negative } => (negative, top),
                Number::Finite {
                    negative,
                    mantissa,
                    exponent,
                } => {
                    let least = 2 - (1 << (exponent_bits - 1)) - fraction_bits as i32;
                    (
                        negative,
                        nearest(mantissa, exponent, fraction_bits, least).min(top),
                    )
                }
                Number::Integer(value) => {
                    let mantissa = value.unsigned_abs() as u64;
                    let least = 2 - (1 << (exponent_bits - 1)) - fraction_bits as i32;
                    (value < 0, nearest(mantissa, 0, fraction_bits, least).min(top))
                }
            };
            magnitude | u64::from(negative) << (size - 1)
        }
    }
}

/// `mantissa` × 2^`exponent` as exponent and fraction of a float whose smallest step is 2^`least`: the nearest one, of two
/// the even one.
fn nearest(mantissa: u64, exponent: i32, fraction_bits: u32, least: i32) -> u64 {
    if mantissa == 0 {
        return 0;
    }
    let leading = exponent + mantissa.ilog2() as i32;
    let step = (leading - fraction_bits as i32).max(least);
    let steps = if step <= exponent {
        mantissa << (exponent - step)
    } else {
        let shift = (step - exponent).min(100) as u32;
        let (whole, rest) = (
            (u128::from(mantissa) >> shift) as u64,
            u128::from(mantissa) & ((1 << shift) - 1),
        );
        let half = 1 << (shift - 1);
        whole + u64::from(rest > half || (rest == half && whole & 1 == 1))
    };
    // The leading one of a normal number counts as one step of the exponent.
    steps + (((step - least) as u64) << fraction_bits)
}

fn toward_zero(number: Number) -> i128 {
    match number {
        Number::Integer(value) => value,
        Number::Nan => 0,
        Number::Infinite { negative: true } => i128::MIN,
        Number::Infinite { negative: false } => i128::MAX,
        Number::Finite {
            negative,
            mantissa,
            exponent,
        } => {
            let magnitude = if exponent > 0 {
                i128::from(mantissa) << exponent.min(63)
            } else {
                i128::from(mantissa) >> (-exponent).min(100)
            };
            if negative { -magnitude } else { magnitude }
        }
    }
}

/// A fixed pseudo-random sequence.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Patterns of `dtype` to cast: all there are, or those where something may go wrong.
fn patterns(dtype: DType) -> Vec<u64> {
    let size = bits(dtype);
    if size <= 16 {
        return (0..1 << size).collect();
    }
    let mut next = random(size.into());
    let kept = u64::MAX >> (64 - size);
    let mut found: Vec<u64> = (0..512).map(|_| next() & kept).collect();
    // Bounds of integer dtypes, and their neighbours.
    for power in [0, 7, 8, 15, 16, 31, 32, 63] {
        for (mantissa, exponent) in [
            (1, power),
            ((1 << 24) - 1, power - 24),
            ((1 << 24) + 2, power - 24),
            (3, power - 1),
        ] {
            found.extend([false, true].map(|negative| {
                encode(
                    dtype,
                    Number::Finite {
                        negative,
                        mantissa,
                        exponent,
                    },
                )
            }));
        }
    }
    // Halfway between two floats of so many digits, or one unit of the last place beside it.
    let length = match format(dtype) {
        Format::Integer { .. } => 52.min(size - 2),
        Format::Float { fraction_bits, .. } => fraction_bits,
    };
    for digits in [4, 8, 11, 24] {
        for _ in 0..512 {
            let below = length - digits.min(length - 1);
            let head = (next() | 1 << 63) >> (64 - digits.min(length - 1));
            let mantissa = (head << below | 1 << (below - 1)).wrapping_add((next() % 3).wrapping_sub(1));
            let exponent = match format(dtype) {
                Format::Integer { .. } => 0,
                Format::Float { .. } => (next() % 180) as i32 - 140 - length as i32,
            };
            found.push(encode(
                dtype,
                Number::Finite {
                    negative: next() & 1 == 1,
                    mantissa,
                    exponent,
                },
            ));
        }
    }
    found
}

fn to_bytes(dtype: DType, patterns: &[u64]) -> Vec<u8> {
    let size = dtype.size_in_bytes();
    patterns
        .iter()
        .flat_map(|pattern| pattern.to_le_bytes().into_iter().take(size))
        .collect()
}

fn from_bytes(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let pattern = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |pattern, &byte| pattern << 8 | u64::from(byte))
    };
    bytes.chunks(dtype.size_in_bytes()).map(pattern).collect()
}

/// `sources` cast on the device.
fn cast(device: &Device, from: DType, to: DType, sources: &[u64]) -> Vec<u64> {
    let x = DynBuffer::from_bytes(device, from, &to_bytes(from, sources)).unwrap();
    let got = ops::cast(flat(&x, &[sources.len()]), to).unwrap();
    assert_eq!((got.dtype(), got.len()), (to, sources.len()));
    from_bytes(to, &got.download_bytes().unwrap())
}

/// The sources for which `got` is not the exact cast; the first few of them.
fn mismatches(from: DType, to: DType, sources: &[u64], got: &[u64]) -> Vec<String> {
    assert_eq!(sources.len(), got.len());
    let wrong = |(&source, &got): (&u64, &u64)| {
        let number = decode(from, source);
        let want = encode(to, number);
        let both_nan = [want, got].map(|pattern| decode(to, pattern)) == [Number::Nan; 2];
        (want != got && !both_nan)
            .then(|| format!("{from} {source:#x} = {number:?} to {to}: {got:#x}, not {want:#x}"))
    };
    sources.iter().zip(got).filter_map(wrong).take(4).collect()
}

fn check_from(from: DType) {
    let device = device();
    let sources = patterns(from);
    for &to in DType::ALL {
        let got = cast(&device, from, to, &sources);
        assert_eq!(mismatches(from, to, &sources, &got), Vec::<String>::new());
    }
}

#[test]
fn integers_are_cast_exactly_or_rounded_once() {
    [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64]
        .into_iter()
        .for_each(check_from);
}

#[test]
fn long_floats_are_cast_exactly_or_rounded_once() {
    [DType::F32, DType::F64, DType::F8E4M3]
        .into_iter()
        .for_each(check_from);
}

#[test]
fn every_bf16_is_cast_exactly_or_rounded_once() {
    check_from(DType::BF16);
}

#[test]
fn every_f16_is_cast_exactly_or_rounded_once() {
    check_from(DType::F16);
}

#[test]
fn the_hosts_arithmetic_agrees_with_rusts() {
    for source in patterns(DType::F64) {
        let (x, number) = (f64::from_bits(source), decode(DType::F64, source));
        if x.is_nan() {
            assert_eq!(number, Number::Nan);
            continue;
        }
        assert_eq!(encode(DType::F64, number), source, "{x:e}");
        assert_eq!(
            encode(DType::F32, number),
            u64::from((x as f32).to_bits()),
            "{x:e}"
        );
        assert_eq!(encode(DType::I64, number), x as i64 as u64, "{x:e}");
        assert_eq!(encode(DType::U8, number), u64::from(x as u8), "{x:e}");
        assert_eq!(
            encode(DType::F8E4M3, number),
            u64::from(float8::F8E4M3::from_f64(x).to_bits()),
            "{x:e}"
        );
        let (short, number) = (x as f32, decode(DType::F32, u64::from((x as f32).to_bits())));
        assert_eq!(
            encode(DType::F16, number),
            f16::from_f32(short).to_bits().into(),
            "{short:e}"
        );
        assert_eq!(
            encode(DType::BF16, number),
            bf16::from_f32(short).to_bits().into(),
            "{short:e}"
        );
    }
    for source in patterns(DType::I64) {
        let (x, number) = (source as i64, decode(DType::I64, source));
        assert_eq!(encode(DType::F32, number), u64::from((x as f32).to_bits()), "{x}");
        assert_eq!(encode(DType::F64, number), (x as f64).to_bits(), "{x}");
        assert_eq!(encode(DType::I16, number), u64::from(x as u16), "{x}");
    }
}

#[test]
fn a_changed_bit_is_a_mismatch_and_a_changed_nan_is_none() {
    let sources = [0x3f80_0000, 0x7fc0_0000];
    let mismatches = |got: &[u64]| mismatches(DType::F32, DType::BF16, &sources, got);
    assert_eq!(mismatches(&[0x3f80, 0xffc1]), Vec::<String>::new());
    assert_eq!(mismatches(&[0x3f81, 0x7fc0]).len(), 1);
}

#[test]
fn the_patterns_tell_a_second_rounding() {
    for from in [DType::U32, DType::I32, DType::I64, DType::F64] {
        for to in [DType::BF16, DType::F16, DType::F8E4M3] {
            let differs = |&&source: &&u64| {
                let number = decode(from, source);
                let through_f32 = decode(DType::F32, encode(DType::F32, number));
                encode(to, number) != encode(to, through_f32)
            };
            let count = patterns(from).iter().filter(differs).count();
            // An integer that f32 rounds is beyond the largest f16 and f8_e4m3.
            let possible = from == DType::F64 || to == DType::BF16;
            assert_eq!(count > 10, possible, "{from} to {to}: {count}");
        }
    }
}

#[test]
fn a_float_out_of_range_becomes_the_nearest_integer_and_a_nan_zero() {
    let device = device();
    let sources = [300.0_f32, 256.0, -1.0, f32::INFINITY, f32::NAN, 2.9, 255.5].map(|x| x.to_bits().into());
    assert_eq!(
        cast(&device, DType::F32, DType::U8, &sources),
        [255, 255, 0, 255, 0, 2, 255]
    );
    let sources = [f64::NAN, 1e19, f64::NEG_INFINITY, -0.5].map(f64::to_bits);
    assert_eq!(
        cast(&device, DType::F64, DType::I64, &sources),
        [0, i64::MAX as u64, i64::MIN as u64, 0]
    );
}

#[test]
fn casts_walk_every_layout() {
    let device = device();
    let mut next = random(7);
    let pairs = DType::ALL
        .iter()
        .flat_map(|from| DType::ALL.iter().map(move |to| (*from, *to)));
    for (from, to) in pairs {
        let sources: Vec<u64> = (0..LEN).map(|_| next() >> (64 - bits(from))).collect();
        let x = DynBuffer::from_bytes(&device, from, &to_bytes(from, &sources)).unwrap();
        for walk in WALKS {
            let got = ops::cast(walk.view(&x), to).unwrap();
            let got = from_bytes(to, &got.download_bytes().unwrap());
            let found = mismatches(from, to, &walk.gather(&sources), &got);
            assert_eq!(found, Vec::<String>::new(), "{walk:?}");
        }
    }
}

#[test]
fn a_cast_of_a_view_that_leaves_its_buffer_is_refused() {
    let x = DynBuffer::zeros(&device(), DType::F64, 6).unwrap();
    let outside = x.view().at(1);
    assert!(matches!(ops::cast(outside, DType::U8), Err(Error::View { .. })));
    assert!(ops::cast(flat(&x, &[6]), DType::U8).is_ok());
}
