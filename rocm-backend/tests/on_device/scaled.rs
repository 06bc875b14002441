//! Products of f8_e4m3 with scales, against f64 on the host: sizes around tiles, strides, batches and NaN.

use float8::F8E4M3;
use rocm_backend::{DType, Device, DynBuffer, Result, View, ops};

use crate::floats::{download, random, unit, upload};
use crate::support::device;

/// Rows, columns, what is summed over.
const SIZES: [[usize; 3]; 10] = [
    [1, 1, 1],
    [3, 5, 7],
    [16, 16, 32],
    [33, 17, 65],
    [32, 64, 128],
    [65, 66, 40],
    [70, 3, 200],
    [70, 130, 33],
    [128, 64, 72],
    [95, 95, 40],
];

fn run(l: View<'_>, r: View<'_>, scales: [&[f32]; 2], dtype: DType) -> Result<DynBuffer> {
    let device = l.buffer().device();
    let [rows, columns] = scales.map(|list| device.upload(list).unwrap());
    let [of_rows, of_columns] = scales.map(|list| [list.len()]);
    let lists = [
        View::contiguous(&rows, &of_rows),
        View::contiguous(&columns, &of_columns),
    ];
    ops::matmul_f8(l, r, lists, dtype)
}

/// `count` scales, one for each row or column. None is a power of two, so that scaling rounds; none is so large that f16 has no room.
fn scales(count: usize) -> Vec<f32> {
    (0..count).map(|at| 0.3 + (at % 32) as f32 / 7.0).collect()
}

/// Compares with sums in f64: of k terms each rounding is one of the running sum.
fn check(got: &[f64], l: &[f64], r: &[f64], [m, n, k]: [usize; 3], lists: [&[f32]; 2], dtype: DType) {
    assert_eq!(got.len(), m * n);
    for (at, got) in got.iter().enumerate() {
        let (row, column) = (at / n, at % n);
        let scale = |list: &[f32], at: usize| f64::from(list[if list.len() == 1 { 0 } else { at }]);
        let scale = scale(lists[0], row) * scale(lists[1], column);
        let terms = (0..k).map(|i| l[row * k + i] * r[i * n + column]);
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term: f64| {
            (sum + term, size + term.abs())
        });
        let bound = (unit(dtype) * sum.abs() + (k as f64 + 4.0) * unit(DType::F32) * size) * scale;
        assert!(
            (got - sum * scale).abs() <= bound,
            "[{m}, {n}, {k}] {dtype} at {at}: {got} for {}",
            sum * scale
        );
    }
}

#[test]
fn products_are_those_of_the_numbers_times_both_scales() {
    let device = device();
    for [m, n, k] in SIZES {
        let (l, r) = (
            random(DType::F8E4M3, m * k, 8.0, 1),
            random(DType::F8E4M3, k * n, 8.0, 2),
        );
        let [left, right] = [&l, &r].map(|values| upload(&device, DType::F8E4M3, values));
        let (of_rows, of_columns) = (scales(m), scales(n));
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for lists in [[of_rows.as_slice(), &of_columns], [&[0.5], &[0.25]]] {
                let (of_left, of_right) = ([m, k], [k, n]);
                let out = run(
                    View::contiguous(&left, &of_left),
                    View::contiguous(&right, &of_right),
                    lists,
                    dtype,
                );
                check(&download(&out.unwrap()), &l, &r, [m, n, k], lists, dtype);
            }
        }
    }
}

/// A transposed copy of a matrix of `rows` by `columns`.
fn turned(x: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..x.len())
        .map(|at| x[at % rows * columns + at / rows])
        .collect()
}

#[test]
fn transposed_operands_and_batches_are_walked_by_their_strides() {
    let device = device();
    // Less than a tile, whole tiles of one wave, and of four waves, and what lies beside them.
    for [m, n, k] in [
        [20, 18, 40],
        [32, 64, 64],
        [70, 130, 33],
        [128, 64, 128],
        [65, 72, 72],
    ] {
        let l = random(DType::F8E4M3, 2 * m * k, 4.0, 3);
        let r = random(DType::F8E4M3, k * n, 4.0, 4);
        let each = |turn: bool| -> Vec<f64> {
            let turn = |x: &[f64]| if turn { turned(x, m, k) } else { x.to_vec() };
            l.chunks(m * k).flat_map(turn).collect()
        };
        for (is_left_turned, is_right_turned) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let left = upload(&device, DType::F8E4M3, &each(is_left_turned));
            let in_memory = if is_right_turned {
                turned(&r, k, n)
            } else {
                r.clone()
            };
            let right = upload(&device, DType::F8E4M3, &in_memory);
            // Two products, which share the right matrix.
            let left_strides = if is_left_turned {
                [m * k, 1, m]
            } else {
                [m * k, k, 1]
            };
            let right_strides = if is_right_turned { [0, 1, k] } else { [0, n, 1] };
            let (of_left, of_right) = ([2, m, k], [2, k, n]);
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let lists: [&[f32]; 2] = [&[1.0], &[1.0]];
                let out = run(
                    View::new(&left, &of_left, &left_strides),
                    View::new(&right, &of_right, &right_strides),
                    lists,
                    dtype,
                );
                let got = download(&out.unwrap());
                for (got, own) in got.chunks(m * n).zip(l.chunks(m * k)) {
                    check(got, own, &r, [m, n, k], lists, dtype);
                }
            }
        }
    }
}

#[test]
fn batches_of_two_dimensions_are_walked_by_their_strides() {
    let device = device();
    for [m, n, k] in [[20, 18, 40], [128, 64, 72], [70, 130, 33]] {
        let l = random(DType::F8E4M3, 2 * 3 * m * k, 4.0, 5);
        let r = random(DType::F8E4M3, 3 * k * n, 4.0, 6);
        let [left, right] = [&l, &r].map(|values| upload(&device, DType::F8E4M3, values));
        let lists: [&[f32]; 2] = [&[1.0], &[1.0]];
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            // The left matrices with their two dimensions of the batch swapped; each right one twice.
            let out = run(
                View::new(&left, &[3, 2, m, k], &[m * k, 3 * m * k, k, 1]),
                View::new(&right, &[3, 2, k, n], &[k * n, 0, n, 1]),
                lists,
                dtype,
            );
            let got = download(&out.unwrap());
            assert_eq!(got.len(), 6 * m * n);
            for (number, got) in got.chunks(m * n).enumerate() {
                let (first, second) = (number / 2, number % 2);
                let of_left = &l[(second * 3 + first) * m * k..][..m * k];
                let of_right = &r[first * k * n..][..k * n];
                check(got, of_left, of_right, [m, n, k], lists, dtype);
            }
        }
    }
}

/// Every f8_e4m3 that there is, times 1: the matrix cores of CDNA 3 have another format, in which each is another number.
#[test]
fn every_number_of_the_format_comes_out_as_itself() {
    let device = device();
    let bytes: Vec<F8E4M3> = (0..=255).map(F8E4M3::from_bits).collect();
    let (left, one) = (
        device.upload(&bytes).unwrap(),
        device.upload(&[F8E4M3::from_f32(1.0); 8]).unwrap(),
    );
    let out = run(
        View::contiguous(&left, &[256, 1]),
        View::contiguous(&one, &[1, 8]),
        [&[1.0], &[1.0]],
        DType::F32,
    );
    let got: Vec<f32> = out.unwrap().download().unwrap();
    for (row, byte) in got.chunks(8).zip(&bytes) {
        for x in row {
            assert!(
                *x == byte.to_f32() || x.is_nan() && byte.is_nan(),
                "{byte:?}: {x}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let device: Device = device();
    let x = upload(&device, DType::F8E4M3, &[1.0; 6]);
    let words = |scales: [&[f32]; 2], dtype: DType| {
        let error = run(
            View::contiguous(&x, &[2, 3]),
            View::contiguous(&x, &[3, 2]),
            scales,
            dtype,
        );
        error.unwrap_err().to_string()
    };
    assert!(words([&[1.0; 3], &[1.0]], DType::F32).contains("scales of [3], expected [2]"));
    assert!(words([&[1.0], &[1.0]], DType::F64).contains("`matmul_f8` on f64"));
    let floats = upload(&device, DType::F32, &[1.0; 6]);
    let error = run(
        View::contiguous(&floats, &[2, 3]),
        View::contiguous(&x, &[3, 2]),
        [&[1.0], &[1.0]],
        DType::F32,
    );
    assert!(error.unwrap_err().to_string().contains("`matmul_f8` on f32"));
}
