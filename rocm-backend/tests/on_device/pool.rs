//! Pooling against loops on the host: every dtype, layout and window.

use rocm_backend::{DType, DynBuffer, Result, View, ops};

use crate::floats::FLOATS;
use crate::images::{LIES, Lie, Tensor, held, indices, is_float, read};
use crate::support::device;

type Pool = fn(View<'_>, (usize, usize), (usize, usize)) -> Result<DynBuffer>;
type Size = (usize, usize);

const WINDOWS: [(Size, Size); 6] = [
    ((1, 1), (1, 1)),
    ((2, 2), (2, 2)),
    ((2, 3), (1, 2)),
    ((3, 1), (4, 1)),
    ((5, 7), (1, 1)),
    ((1, 7), (9, 9)),
];

/// The elements of each window, in row-major order.
fn windows(x: &Tensor, kernel: Size, stride: Size) -> Vec<Vec<f64>> {
    let height = (x.dims[2] - kernel.0) / stride.0 + 1;
    let width = (x.dims[3] - kernel.1) / stride.1 + 1;
    let window = |at: &Vec<usize>| {
        let taps = indices(&[kernel.0, kernel.1]);
        let place = |tap: &Vec<usize>| [at[0], at[1], at[2] * stride.0 + tap[0], at[3] * stride.1 + tap[1]];
        taps.iter().map(|tap| x.at(&place(tap))).collect()
    };
    indices(&[x.dims[0], x.dims[1], height, width])
        .iter()
        .map(window)
        .collect()
}

/// Whole numbers have exact sums; what is left is one product, in the width that `dtype` is computed in.
fn mean(dtype: DType, window: &[f64]) -> f64 {
    let (sum, count) = (window.iter().sum::<f64>(), window.len() as f64);
    match dtype {
        DType::F64 => sum * (1.0 / count),
        float if is_float(float) => (sum as f32 * (1.0 / count) as f32).into(),
        _ => (sum / count).trunc(),
    }
}

fn largest(_: DType, window: &[f64]) -> f64 {
    window.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[track_caller]
fn check(pool: Pool, expected: fn(DType, &[f64]) -> f64) {
    let device = device();
    for &dtype in DType::ALL {
        for lie in LIES {
            let x = Tensor::small(dtype, &[2, 3, 5, 7], lie, 3);
            let buffer = x.upload(&device, dtype);
            for (kernel, stride) in WINDOWS {
                let windows = windows(&x, kernel, stride);
                let want: Vec<f64> = windows.iter().map(|window| expected(dtype, window)).collect();
                let got = read(&pool(x.view(&buffer), kernel, stride).unwrap());
                assert_eq!(
                    got,
                    held(dtype, &want),
                    "{dtype}, {lie:?}: {kernel:?} by {stride:?}"
                );
            }
        }
    }
}

#[test]
fn avg_pool2d_equals_a_host_loop_on_every_layout() {
    check(ops::avg_pool2d, mean);
}

#[test]
fn max_pool2d_equals_a_host_loop_on_every_layout() {
    check(ops::max_pool2d, largest);
}

/// The result of one window over all of `values`.
fn whole(pool: Pool, dtype: DType, values: &[f64]) -> f64 {
    let x = Tensor::of(&[1, 1, 1, values.len()], values);
    let buffer = x.upload(&device(), dtype);
    let got = read(&pool(x.view(&buffer), (1, values.len()), (1, 1)).unwrap());
    assert_eq!(got.len(), 1);
    got[0]
}

#[test]
fn a_mean_of_integers_is_truncated_and_never_leaves_its_window() {
    let mean = |dtype, values: &[f64]| whole(ops::avg_pool2d, dtype, values);
    assert_eq!(mean(DType::U8, &[200.0; 4]), 200.0, "their sum is more than a u8");
    assert_eq!(
        mean(DType::U8, &[1.0; 41]),
        1.0,
        "41 times the f32 next to 1/41 is less than 1"
    );
    assert_eq!(mean(DType::U32, &[4e9, 4e9, 4e9 - 1.0]), 4e9 - 1.0);
    assert_eq!(
        mean(DType::I16, &[-30000.0, -30000.0, -30001.0]),
        -30000.0,
        "toward zero"
    );
    assert_eq!(mean(DType::I32, &[-1.0, 0.0]), 0.0, "toward zero");
    assert_eq!(mean(DType::I32, &[-7.0, 0.0, 0.0]), -2.0);
    let large = 2_f64.powi(50) + 8.0;
    assert_eq!(mean(DType::I64, &[large, large, large - 9.0]), large - 3.0);
}

#[test]
fn a_mean_of_narrow_floats_is_rounded_once() {
    // Summed in the dtype, the small ones vanish or the sum overflows.
    for (dtype, large, small) in [
        (DType::F16, 2048.0, 1.0),
        (DType::BF16, 256.0, 1.0),
        (DType::F8E4M3, 16.0, 1.0),
    ] {
        let got = whole(ops::avg_pool2d, dtype, &[large, small, small, large - 2.0]);
        assert_eq!(got, large / 2.0, "{dtype}");
    }
    assert_eq!(whole(ops::avg_pool2d, DType::F16, &[60000.0; 4]), 60000.0);
    assert_eq!(whole(ops::avg_pool2d, DType::F8E4M3, &[448.0; 4]), 448.0);
}

#[test]
fn a_mean_of_f64_has_the_accuracy_of_f64() {
    let got = whole(ops::avg_pool2d, DType::F64, &[1.0, 1.0, 2.0]);
    assert_eq!(got, 4.0 * (1.0 / 3.0));
    assert_ne!(got, 4.0 * f64::from(1.0_f32 / 3.0), "a scale of f32");
}

#[test]
fn the_largest_of_a_window_with_a_nan_is_nan_wherever_it_is() {
    for &dtype in FLOATS {
        for place in 0..5 {
            let mut values = [1.0, -2.0, 3.0, 0.0, 2.0];
            assert_eq!(whole(ops::max_pool2d, dtype, &values), 3.0, "{dtype}, no NaN");
            values[place] = f64::NAN;
            assert!(
                whole(ops::max_pool2d, dtype, &values).is_nan(),
                "{dtype}, element {place}"
            );
        }
    }
}

#[test]
fn the_largest_is_found_at_the_ends_of_the_range() {
    for &dtype in FLOATS {
        for values in [[0.0, -0.0], [-0.0, 0.0]] {
            let got = whole(ops::max_pool2d, dtype, &values);
            assert!(
                got == 0.0 && got.is_sign_positive(),
                "{dtype} of {values:?}: {got}"
            );
        }
    }
    assert_eq!(
        whole(ops::max_pool2d, DType::F32, &[f64::NEG_INFINITY; 2]),
        f64::NEG_INFINITY
    );
    assert_eq!(
        whole(ops::max_pool2d, DType::F64, &[f64::NEG_INFINITY, -f64::MAX]),
        -f64::MAX
    );
    assert_eq!(whole(ops::max_pool2d, DType::I16, &[-32768.0; 3]), -32768.0);
    assert_eq!(
        whole(ops::max_pool2d, DType::I64, &[-(2_f64.powi(63)); 2]),
        -(2_f64.powi(63))
    );
    assert_eq!(
        whole(ops::max_pool2d, DType::U32, &[0.0, 4294967295.0, 1.0]),
        4294967295.0
    );
}

#[test]
fn every_number_of_results_is_filled_to_the_end() {
    let device = device();
    for results in [1, 31, 33, 63, 65, 255, 257, 1025] {
        let x = Tensor::small(DType::F32, &[1, 1, 2, results + 1], Lie::Contiguous, results);
        let buffer = x.upload(&device, DType::F32);
        let want: Vec<f64> = windows(&x, (2, 2), (1, 1))
            .iter()
            .map(|window| largest(DType::F32, window))
            .collect();
        assert_eq!(want.len(), results);
        assert_eq!(
            read(&ops::max_pool2d(x.view(&buffer), (2, 2), (1, 1)).unwrap()),
            want
        );
    }
}

#[test]
fn an_empty_batch_is_empty_and_windows_that_do_not_fit_are_refused() {
    let device = device();
    let empty = Tensor::small(DType::F32, &[0, 3, 4, 4], Lie::Contiguous, 1);
    let buffer = empty.upload(&device, DType::F32);
    assert!(
        ops::avg_pool2d(empty.view(&buffer), (2, 2), (2, 2))
            .unwrap()
            .is_empty()
    );
    let x = Tensor::small(DType::F32, &[1, 1, 4, 4], Lie::Contiguous, 1);
    let buffer = x.upload(&device, DType::F32);
    let refusal = |kernel, stride| {
        ops::max_pool2d(x.view(&buffer), kernel, stride)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal((5, 1), (1, 1)),
        "max_pool2d: a window of 5 elements is wider than an input of 4, padding included"
    );
    assert_eq!(refusal((1, 0), (1, 1)), "max_pool2d: a window of no elements");
    assert_eq!(refusal((1, 1), (1, 0)), "max_pool2d: a stride of 0");
    let row = Tensor::small(DType::F32, &[1, 4, 4], Lie::Contiguous, 1);
    assert_eq!(
        ops::avg_pool2d(row.view(&buffer), (1, 1), (1, 1))
            .unwrap_err()
            .to_string(),
        "avg_pool2d: an input of [1, 4, 4]; it must have 4 dimensions"
    );
}
