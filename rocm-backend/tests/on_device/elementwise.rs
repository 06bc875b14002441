//! Element-wise kernels against a loop on the host: every layout, several dtypes, functions that are exact.

use half::{bf16, f16};
use rocm_backend::ops::{self, Binary, Compare, Unary, UnaryParam};
use rocm_backend::{DType, View};

use crate::floats;
use crate::support::{Element, LEN, WALKS, Walk, data, device, download, flat, upload};

#[track_caller]
fn check_unary<T: Element>(op: Unary, f: impl Fn(T) -> T) {
    let device = device();
    let host = data::<T>(1);
    let x = upload(&device, &host);
    for walk in WALKS {
        let got: Vec<T> = download(&ops::unary(op, walk.view(&x)).unwrap());
        let want: Vec<T> = walk.gather(&host).into_iter().map(&f).collect();
        assert_eq!(got, want, "{op:?} on {:?}, {walk:?}", T::DTYPE);
    }
}

#[test]
fn unary_equals_a_host_loop_on_every_layout() {
    check_unary::<f32>(Unary::Neg, |x| -x);
    check_unary::<f64>(Unary::Sqr, |x| x * x);
    check_unary::<f16>(Unary::Abs, |x| f16::from_f32(x.to_f32().abs()));
    check_unary::<bf16>(Unary::Relu, |x| if x > bf16::ZERO { x } else { bf16::ZERO });
    check_unary::<i64>(Unary::Relu, |x| x.max(0));
    check_unary::<u8>(Unary::Copy, |x| x);
}

/// For each walk, the other operand's walk of the same shape.
fn partner(walk: &Walk) -> Walk {
    let same_shape = |other: &&Walk| other.dims == walk.dims && !std::ptr::eq(*other, walk);
    WALKS.iter().find(same_shape).copied().unwrap_or(*walk)
}

#[track_caller]
fn check_binary<T: Element>(op: Binary, f: impl Fn(T, T) -> T) {
    let device = device();
    let hosts = [data::<T>(1), data::<T>(4)];
    let [l, r] = hosts.each_ref().map(|host| upload(&device, host));
    for walk in WALKS {
        let other = partner(walk);
        for (walk, other) in [(*walk, other), (other, *walk)] {
            let got: Vec<T> = download(&ops::binary(op, walk.view(&l), other.view(&r)).unwrap());
            let pairs = walk.gather(&hosts[0]).into_iter().zip(other.gather(&hosts[1]));
            let want: Vec<T> = pairs.map(|(x, y)| f(x, y)).collect();
            assert_eq!(got, want, "{op:?} on {:?}, {walk:?} and {other:?}", T::DTYPE);
        }
    }
}

#[test]
fn binary_equals_a_host_loop_on_every_layout() {
    check_binary::<f32>(Binary::Sub, |x, y| x - y);
    check_binary::<f64>(Binary::Mul, |x, y| x * y);
    check_binary::<f16>(Binary::Add, |x, y| f16::from_f32(x.to_f32() + y.to_f32()));
    check_binary::<bf16>(Binary::Maximum, |x, y| if x > y { x } else { y });
    check_binary::<i64>(Binary::Sub, |x, y| x - y);
    check_binary::<u32>(Binary::Minimum, |x, y| x.min(y));
}

#[track_caller]
fn check_compare<T: Element>(op: Compare, f: impl Fn(T, T) -> bool) {
    let device = device();
    let hosts = [data::<T>(1), data::<T>(2)];
    let [l, r] = hosts.each_ref().map(|host| upload(&device, host));
    let mut seen = [false; 2];
    for walk in WALKS {
        let other = partner(walk);
        let got: Vec<u8> = download(&ops::compare(op, walk.view(&l), other.view(&r)).unwrap());
        let pairs = walk.gather(&hosts[0]).into_iter().zip(other.gather(&hosts[1]));
        let want: Vec<u8> = pairs.map(|(x, y)| f(x, y).into()).collect();
        assert_eq!(got, want, "{op:?} on {:?}, {walk:?} and {other:?}", T::DTYPE);
        want.iter().for_each(|&answer| seen[usize::from(answer)] = true);
    }
    assert_eq!(seen, [true; 2], "{op:?}: the data never gave one of the answers");
}

#[test]
fn comparisons_equal_a_host_loop_on_every_layout() {
    check_compare::<f32>(Compare::Eq, |x, y| x == y);
    check_compare::<f64>(Compare::Ne, |x, y| x != y);
    check_compare::<i64>(Compare::Lt, |x, y| x < y);
    check_compare::<u8>(Compare::Le, |x, y| x <= y);
    check_compare::<f16>(Compare::Gt, |x, y| x > y);
    check_compare::<bf16>(Compare::Ge, |x, y| x >= y);
}

#[test]
fn affine_rounds_its_factors_to_the_dtype() {
    let device = device();
    let floats = data::<f32>(1);
    let x = upload(&device, &floats);
    for walk in WALKS {
        let got: Vec<f32> = download(&ops::affine(walk.view(&x), 2.0, -0.5).unwrap());
        let want: Vec<f32> = walk.gather(&floats).into_iter().map(|x| x * 2.0 - 0.5).collect();
        assert_eq!(got, want, "{walk:?}");
    }
    let integers = data::<i32>(1);
    let x = upload(&device, &integers);
    let got: Vec<i32> = download(&ops::affine(flat(&x, &[LEN]), 2.9, -1.9).unwrap());
    let want: Vec<i32> = integers.iter().map(|x| x * 2 - 1).collect();
    assert_eq!(got, want, "2.9 and -1.9 are 2 and -1 for an integer");
}

#[test]
fn a_parameter_reaches_its_kernel() {
    let device = device();
    let host = [1.0_f32, 2.0, 3.0, -4.0];
    let x = upload(&device, &host);
    let squares: Vec<f32> = download(&ops::unary_param(UnaryParam::Powf, 2.0, flat(&x, &[4])).unwrap());
    for (got, want) in squares.iter().zip([1.0, 4.0, 9.0, 16.0]) {
        assert!((got - want).abs() <= 4.0 * f32::EPSILON * want, "{squares:?}");
    }
    let elu: Vec<f32> = download(&ops::unary_param(UnaryParam::Elu, 0.5, flat(&x, &[4])).unwrap());
    assert_eq!(elu[..3], host[..3]);
    assert!((elu[3] - 0.5 * (-4.0_f32).exp_m1()).abs() < 1e-6, "{elu:?}");
}

#[test]
fn a_long_tensor_is_computed_to_its_last_element() {
    const ROWS: usize = 2859;
    const COLUMNS: usize = 7;
    let device = device();
    let host: Vec<f32> = (0..20_013_u16).map(f32::from).collect();
    let x = upload(&device, &host);
    let got: Vec<f32> = download(&ops::unary(Unary::Neg, flat(&x, &[host.len()])).unwrap());
    assert!(got.iter().zip(&host).all(|(got, x)| *got == -x));
    let transposed = View::new(&x, &[COLUMNS, ROWS], &[1, COLUMNS]);
    let got: Vec<f32> = download(&ops::unary(Unary::Neg, transposed).unwrap());
    let want = (0..COLUMNS).flat_map(|column| (0..ROWS).map(move |row| row * COLUMNS + column));
    assert!(got.iter().zip(want).all(|(got, at)| *got == -host[at]));
    assert_eq!(got.len(), ROWS * COLUMNS);
}

#[test]
fn threads_share_a_device() {
    let device = device();
    let host = data::<f32>(3);
    std::thread::scope(|scope| {
        for factor in 1..5_u8 {
            let (device, host) = (&device, &host);
            scope.spawn(move || {
                for walk in WALKS {
                    let x = upload(device, host);
                    let got: Vec<f32> = download(&ops::affine(walk.view(&x), factor.into(), 0.0).unwrap());
                    let want: Vec<f32> = walk
                        .gather(host)
                        .into_iter()
                        .map(|x| x * f32::from(factor))
                        .collect();
                    assert_eq!(got, want, "{walk:?}");
                }
            });
        }
    });
}

#[test]
fn powers_with_infinite_exponents_are_the_hosts() {
    let device = device();
    let numbers = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.0,
        1.5,
        -1.5,
        240.0,
        -240.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let host: Vec<f64> = (0..LEN).map(|at| numbers[at * 5 % numbers.len()]).collect();
    for &dtype in floats::FLOATS {
        let x = floats::upload(&device, dtype, &host);
        let held = floats::download(&x);
        for exponent in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for walk in WALKS {
                let got = ops::unary_param(UnaryParam::Powf, exponent, walk.view(&x)).unwrap();
                let got = floats::download(&got);
                let want = walk
                    .gather(&held)
                    .into_iter()
                    .map(|x| floats::rounded(dtype, x.powf(exponent)));
                for (got, want) in got.into_iter().zip(want) {
                    assert!(
                        got == want || got.is_nan() && want.is_nan(),
                        "{got}, expected {want}: {dtype} to the power {exponent}, {walk:?}"
                    );
                }
            }
        }
    }
}

/// The difference in units of the last place of f32.
fn ulps(got: f64, want: f64) -> f64 {
    let exponent = (want.abs().log2().floor()).clamp(-126.0, 127.0);
    (got - want).abs() / (exponent - 23.0).exp2()
}

#[test]
fn normcdf_in_single_precision_is_that_in_double() {
    let device = device();
    // From where nothing but the least number is left to where nothing is missing to one: subnormal results, those of a raised power,
    // and those of a plain one.
    let host: Vec<f64> = (0..20_000)
        .map(|at| f64::from((f64::from(at) * 0.00141 - 14.2) as f32))
        .collect();
    let of = |dtype, numbers: &[f64]| {
        let x = floats::upload(&device, dtype, numbers);
        floats::download(&ops::unary(Unary::NormCdf, flat(&x, &[numbers.len()])).unwrap())
    };
    let (single, double) = (of(DType::F32, &host), of(DType::F64, &host));
    let furthest = |shift: usize| {
        let pairs = host.iter().zip(&single).zip(&double[shift..]);
        pairs
            .map(|((x, &got), &want)| (ulps(got, want), *x))
            .max_by(|x, y| x.0.total_cmp(&y.0))
            .unwrap()
    };
    let (off, x) = furthest(0);
    assert!(off <= 7.0, "{off} ulp at {x}");
    // Those of the next argument are further off.
    assert!(furthest(1).0 > 7.0);

    let ends = of(DType::F32, &[f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    assert_eq!(ends[..2], [1.0, 0.0]);
    assert!(ends[2].is_nan());
}
