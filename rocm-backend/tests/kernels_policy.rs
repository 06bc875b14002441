//! Runs kernels on whatever device the driver offers and checks the numeric policy of `kernels/README.md`, bit for bit:
//! roundings, NaN, saturation, wrap-around, division by zero. How accurate the transcendental functions are is not
//! decided here, nor how views are walked.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::ops::{self, Binary, Compare, Unary};
use rocm_backend::{DType, Device, DynBuffer, View};

const FLOATS: &[DType] = &[DType::BF16, DType::F16, DType::F32, DType::F64, DType::F8E4M3];
const INTS: &[DType] = &[DType::U8, DType::U32, DType::I16, DType::I32, DType::I64];

/// A float of `dtype` as bytes. A sum, product, quotient or root that f64 has rounded rounds to what the dtype's own
/// arithmetic gives, because each step is more than twice as wide as the next: f64, f32, f16. (half's `from_f64` drops
/// bits before it rounds.)
fn encode(dtype: DType, value: f64) -> Vec<u8> {
    match dtype {
        DType::BF16 => bf16::from_f32(value as f32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f32(value as f32).to_le_bytes().to_vec(),
        DType::F32 => (value as f32).to_le_bytes().to_vec(),
        DType::F64 => value.to_le_bytes().to_vec(),
        DType::F8E4M3 => vec![F8E4M3::from_f64(value).to_bits()],
        _ => panic!("{dtype} is not a float"),
    }
}

fn decode(dtype: DType, bytes: &[u8]) -> f64 {
    match dtype {
        DType::BF16 => bf16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        DType::F16 => f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        DType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        DType::F64 => f64::from_le_bytes(bytes.try_into().unwrap()),
        DType::F8E4M3 => F8E4M3::from_bits(bytes[0]).to_f64(),
        _ => panic!("{dtype} is not a float"),
    }
}

/// An integer of `dtype` as bytes: the low ones.
fn encode_int(dtype: DType, value: i128) -> Vec<u8> {
    value.to_le_bytes()[..dtype.size_in_bytes()].to_vec()
}

fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I16 | DType::I32 | DType::I64)
}

/// The most negative value of an integer dtype.
fn lowest(dtype: DType) -> i128 {
    if is_signed(dtype) {
        -(1 << (8 * dtype.size_in_bytes() - 1))
    } else {
        0
    }
}

/// Elements of a fixed pseudo-random sequence: any bit pattern, NaN among them, or a small number.
fn patterns(dtype: DType, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let element = |_| {
        let bits: u64 = next();
        match (next() >> 40 & 1, INTS.contains(&dtype)) {
            (0, _) => encode_int(dtype, bits.into()),
            (_, true) => encode_int(dtype, i128::from(bits % 17) - 8),
            (_, false) => encode(dtype, (bits % 4001) as f64 / 250.0 - 8.0),
        }
    };
    (0..count).flat_map(element).collect()
}

/// The elements in which two float arrays differ, with the operands they come from; NaN equals NaN whatever its payload.
fn mismatches(dtype: DType, operands: &[&[u8]], expected: &[u8], got: &[u8]) -> Vec<String> {
    assert_eq!(expected.len(), got.len());
    let size = dtype.size_in_bytes();
    let mut found = Vec::new();
    for at in (0..expected.len()).step_by(size).map(|at| at..at + size) {
        let (e, g) = (
            decode(dtype, &expected[at.clone()]),
            decode(dtype, &got[at.clone()]),
        );
        if expected[at.clone()] != got[at.clone()] && !(e.is_nan() && g.is_nan()) {
            let operands: Vec<f64> = operands
                .iter()
                .map(|operand| decode(dtype, &operand[at.clone()]))
                .collect();
            found.push(format!("of {operands:?}: {g:?}, expected {e:?}"));
        }
    }
    found
}

struct Gpu(Device);

impl Gpu {
    fn new() -> Gpu {
        Gpu(Device::new(0).expect("a device, real or software"))
    }

    fn with<R>(&self, dtype: DType, bytes: &[u8], f: impl FnOnce(View<'_>) -> rocm_backend::Result<R>) -> R {
        let buffer = DynBuffer::from_bytes(&self.0, dtype, bytes).expect("upload");
        f(buffer.view()).expect("the kernel runs")
    }

    fn unary(&self, kernel: &str, dtype: DType, x: &[u8]) -> Vec<u8> {
        download(self.with(dtype, x, |x| ops::unary(Unary::from_name(kernel).unwrap(), x)))
    }

    fn binary(&self, kernel: &str, dtype: DType, x: &[u8], y: &[u8]) -> Vec<u8> {
        download(self.with(dtype, x, |x| {
            Ok(self.with(dtype, y, |y| {
                ops::binary(Binary::from_name(kernel).unwrap(), x, y)
            }))
        }))
    }

    fn compare(&self, kernel: &str, dtype: DType, x: &[u8], y: &[u8]) -> Vec<u8> {
        download(self.with(dtype, x, |x| {
            Ok(self.with(dtype, y, |y| {
                ops::compare(Compare::from_name(kernel).unwrap(), x, y)
            }))
        }))
    }

    fn affine(&self, dtype: DType, x: &[u8], mul: f64, add: f64) -> Vec<u8> {
        download(self.with(dtype, x, |x| ops::affine(x, mul, add)))
    }
}

fn download(buffer: DynBuffer) -> Vec<u8> {
    buffer.download_bytes().expect("download")
}

#[test]
fn a_changed_bit_is_a_mismatch_and_a_changed_nan_is_none() {
    let nan = [encode(DType::F32, f64::NAN), encode(DType::F32, 1.0)].concat();
    let mut other = nan.clone();
    other[0] ^= 1;
    assert_eq!(
        mismatches(DType::F32, &[&nan], &nan, &other),
        Vec::<String>::new()
    );
    other[4] ^= 1;
    assert_eq!(mismatches(DType::F32, &[&nan], &nan, &other).len(), 1);
}

#[test]
fn float_arithmetic_is_correctly_rounded() {
    let gpu = Gpu::new();
    type Exact = fn(f64, f64) -> f64;
    let kernels: [(&str, Exact); 4] = [
        ("badd", |x, y| x + y),
        ("bsub", |x, y| x - y),
        ("bmul", |x, y| x * y),
        ("bdiv", |x, y| x / y),
    ];
    for &dtype in FLOATS {
        let (x, y) = (patterns(dtype, 4099, 1), patterns(dtype, 4099, 18));
        let size = dtype.size_in_bytes();
        for (kernel, exact) in kernels {
            let pairs = x.chunks(size).zip(y.chunks(size));
            let expected: Vec<u8> = pairs
                .flat_map(|(x, y)| encode(dtype, exact(decode(dtype, x), decode(dtype, y))))
                .collect();
            let got = gpu.binary(kernel, dtype, &x, &y);
            assert_eq!(
                mismatches(dtype, &[&x, &y], &expected, &got),
                Vec::<String>::new(),
                "{kernel} {dtype}"
            );
        }
    }
}

#[test]
fn exact_unary_operations_are_correctly_rounded() {
    let gpu = Gpu::new();
    type Exact = fn(f64) -> f64;
    let kernels: [(&str, Exact); 9] = [
        ("ucopy", |x| x),
        ("uneg", |x| -x),
        ("uabs", f64::abs),
        ("usqr", |x| x * x),
        ("usqrt", f64::sqrt),
        ("urecip", |x| 1.0 / x),
        ("ufloor", f64::floor),
        ("uceil", f64::ceil),
        ("uround", f64::round), // halves away from zero
    ];
    for &dtype in FLOATS {
        let x = patterns(dtype, 4099, 5);
        for (kernel, exact) in kernels {
            let values = x.chunks(dtype.size_in_bytes());
            let expected: Vec<u8> = values
                .flat_map(|x| encode(dtype, exact(decode(dtype, x))))
                .collect();
            let got = gpu.unary(kernel, dtype, &x);
            assert_eq!(
                mismatches(dtype, &[&x], &expected, &got),
                Vec::<String>::new(),
                "{kernel} {dtype}"
            );
        }
    }
}

#[test]
fn affine_rounds_once() {
    let gpu = Gpu::new();
    for &dtype in FLOATS {
        // 1 + u times 1 + u is 1 + 2u + u²; less 1 + 2u, only the fused form keeps the u².
        let digits = match dtype {
            DType::BF16 => 8,
            DType::F16 => 11,
            DType::F32 => 24,
            DType::F64 => 53,
            _ => 4,
        };
        let unit = 2f64.powi(1 - digits);
        let got = gpu.affine(dtype, &encode(dtype, 1.0 + unit), 1.0 + unit, -(1.0 + 2.0 * unit));
        assert_eq!(decode(dtype, &got), unit * unit, "{dtype}");
    }
}

#[test]
fn a_nan_operand_wins_in_every_float_dtype() {
    let gpu = Gpu::new();
    for &dtype in FLOATS {
        let nan = encode(dtype, f64::NAN);
        for other in [1.0, -1.0, 0.0, f64::INFINITY] {
            let other = encode(dtype, other);
            for kernel in ["bmaximum", "bminimum"] {
                for (x, y) in [(&nan, &other), (&other, &nan)] {
                    let got = decode(dtype, &gpu.binary(kernel, dtype, x, y));
                    assert!(got.is_nan(), "{kernel} {dtype}: {got}");
                }
            }
        }
        let relu = decode(dtype, &gpu.unary("urelu", dtype, &nan));
        assert!(relu.is_nan(), "urelu {dtype}: {relu}");
    }
}

#[test]
fn maximum_minimum_and_relu_of_numbers_are_the_operand_that_is_asked_for() {
    let gpu = Gpu::new();
    for &dtype in FLOATS {
        let (x, y) = (encode(dtype, -2.0), encode(dtype, 3.0));
        for (a, b) in [(&x, &y), (&y, &x)] {
            assert_eq!(gpu.binary("bmaximum", dtype, a, b), y, "{dtype}");
            assert_eq!(gpu.binary("bminimum", dtype, a, b), x, "{dtype}");
        }
        assert_eq!(gpu.unary("urelu", dtype, &x), encode(dtype, 0.0), "{dtype}");
        assert_eq!(gpu.unary("urelu", dtype, &y), y, "{dtype}");
    }
}

#[test]
fn the_sign_of_nan_is_zero() {
    let gpu = Gpu::new();
    for &dtype in FLOATS {
        let got = gpu.unary("usign", dtype, &encode(dtype, f64::NAN));
        assert_eq!(decode(dtype, &got), 0.0, "{dtype}");
    }
}

#[test]
fn of_two_zeros_the_positive_one_is_the_greater() {
    let gpu = Gpu::new();
    for &dtype in FLOATS {
        let (minus, plus) = (encode(dtype, -0.0), encode(dtype, 0.0));
        for (x, y) in [(&minus, &plus), (&plus, &minus)] {
            assert_eq!(gpu.binary("bmaximum", dtype, x, y), plus, "{dtype}");
            assert_eq!(gpu.binary("bminimum", dtype, x, y), minus, "{dtype}");
        }
        assert_eq!(gpu.compare("eq", dtype, &minus, &plus), [1], "{dtype}");
    }
}

#[test]
fn comparisons_with_nan_are_false_but_for_ne() {
    let gpu = Gpu::new();
    for &dtype in FLOATS {
        let (nan, one) = (encode(dtype, f64::NAN), encode(dtype, 1.0));
        for kernel in ["eq", "ne", "lt", "le", "gt", "ge"] {
            for (x, y) in [(&nan, &one), (&one, &nan), (&nan, &nan)] {
                assert_eq!(
                    gpu.compare(kernel, dtype, x, y),
                    [u8::from(kernel == "ne")],
                    "{kernel} {dtype}"
                );
            }
        }
    }
}

#[test]
fn f8_saturates() {
    let gpu = Gpu::new();
    let (largest, minus) = (encode(DType::F8E4M3, 448.0), encode(DType::F8E4M3, -448.0));
    assert_eq!(gpu.binary("badd", DType::F8E4M3, &largest, &largest), largest);
    assert_eq!(gpu.binary("bmul", DType::F8E4M3, &largest, &minus), minus);
    assert_eq!(
        gpu.unary("urecip", DType::F8E4M3, &encode(DType::F8E4M3, 0.0)),
        largest
    );
}

#[test]
fn an_integer_divided_by_zero_is_all_ones() {
    let gpu = Gpu::new();
    for &dtype in INTS {
        for value in [0, 1, 100, lowest(dtype)] {
            let got = gpu.binary("bdiv", dtype, &encode_int(dtype, value), &encode_int(dtype, 0));
            assert_eq!(got, encode_int(dtype, -1), "{value} in {dtype}");
        }
    }
}

#[test]
fn the_most_negative_integer_divided_by_minus_one_is_itself_and_so_is_its_absolute_value() {
    let gpu = Gpu::new();
    for &dtype in INTS.iter().filter(|&&dtype| is_signed(dtype)) {
        let lowest = encode_int(dtype, lowest(dtype));
        assert_eq!(
            gpu.binary("bdiv", dtype, &lowest, &encode_int(dtype, -1)),
            lowest,
            "{dtype}"
        );
        assert_eq!(gpu.unary("uabs", dtype, &lowest), lowest, "{dtype}");
    }
}

#[test]
fn integer_arithmetic_wraps() {
    let gpu = Gpu::new();
    type Exact = fn(i128, i128) -> i128;
    let kernels: [(&str, Exact); 6] = [
        ("badd", |x, y| x + y),
        ("bsub", |x, y| x - y),
        ("bmul", |x, y| x * y),
        ("bdiv", |x, y| if y == 0 { -1 } else { x / y }),
        ("bmaximum", i128::max),
        ("bminimum", i128::min),
    ];
    for &dtype in INTS {
        let (x, y) = (patterns(dtype, 1027, 3), patterns(dtype, 1027, 44));
        let size = dtype.size_in_bytes();
        let value = |bytes: &[u8]| {
            let fill = if is_signed(dtype) && bytes[size - 1] >= 0x80 {
                0xff
            } else {
                0
            };
            let mut wide = [fill; 16];
            wide[..size].copy_from_slice(bytes);
            i128::from_le_bytes(wide)
        };
        for (kernel, exact) in kernels {
            let pairs = x.chunks(size).zip(y.chunks(size));
            let expected: Vec<u8> = pairs
                .flat_map(|(x, y)| encode_int(dtype, exact(value(x), value(y))))
                .collect();
            assert_eq!(gpu.binary(kernel, dtype, &x, &y), expected, "{kernel} {dtype}");
        }
    }
}
