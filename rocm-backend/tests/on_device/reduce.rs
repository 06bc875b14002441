//! Sums, extremes and their places against a loop on the host: every dtype, layout and choice of dimensions.

use rocm_backend::ops::{self, Reduce};
use rocm_backend::{DType, Device, DynBuffer, Error, View};

use crate::floats::{
    FLOATS, contiguous, decode, depth, download, encode, is_near, packed, random, rounded, upload, wide_unit,
};
use crate::support::{LEN, WALKS, device};

const INTS: &[DType] = &[DType::U8, DType::U32, DType::I16, DType::I32, DType::I64];
const SIZES: &[usize] = &[1, 2, 31, 32, 33, 63, 64, 65, 129, 255, 256, 257, 1023, 1025, 4097];

/// Small whole numbers, whose sums every dtype holds or rounds once.
fn small(dtype: DType, count: usize) -> Vec<f64> {
    let number = |i: usize| (i * 7 % 10) as f64 - (i % 4) as f64;
    let is_signed = !matches!(dtype, DType::U8 | DType::U32);
    (0..count)
        .map(number)
        .map(|value| if is_signed { value } else { value.abs() })
        .collect()
}

/// For each result, the numbers of the elements it is made of, in order.
fn rows(dims: &[usize], reduced: &[usize]) -> Vec<Vec<usize>> {
    let kept: usize = (0..dims.len())
        .filter(|d| !reduced.contains(d))
        .map(|d| dims[d])
        .product();
    let mut rows = vec![Vec::new(); kept];
    for number in 0..dims.iter().product() {
        let (mut rest, mut row, mut weight) = (number, 0, 1);
        for d in (0..dims.len()).rev() {
            if !reduced.contains(&d) {
                row += rest % dims[d] * weight;
                weight *= dims[d];
            }
            rest /= dims[d];
        }
        rows[row].push(number);
    }
    rows
}

/// All choices of some of `rank` dimensions.
fn choices(rank: usize) -> Vec<Vec<usize>> {
    (0..1 << rank)
        .map(|bits: usize| (0..rank).filter(|d| bits >> d & 1 == 1).collect())
        .collect()
}

fn greatest(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn least(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::INFINITY, f64::min)
}

fn first(row: &[f64], wanted: f64) -> f64 {
    row.iter().position(|&value| value == wanted).unwrap() as f64
}

type Host = fn(&[f64]) -> f64;

/// Each reduction and the host's.
const OPS: &[(Reduce, Host)] = &[
    (Reduce::Sum, |row| row.iter().sum()),
    (Reduce::Min, least),
    (Reduce::Max, greatest),
    (Reduce::ArgMin, |row| first(row, least(row))),
    (Reduce::ArgMax, |row| first(row, greatest(row))),
];

fn is_place(op: Reduce) -> bool {
    matches!(op, Reduce::ArgMin | Reduce::ArgMax)
}

#[test]
fn every_reduction_equals_a_host_loop_on_every_layout_and_choice_of_dimensions() {
    let device = device();
    for &dtype in DType::ALL {
        let host = small(dtype, LEN);
        let x = upload(&device, dtype, &host);
        for walk in WALKS.iter().filter(|walk| !walk.dims.contains(&0)) {
            let elements = walk.gather(&host);
            for dims in choices(walk.dims.len()) {
                for (op, reference) in OPS {
                    let got = ops::reduce(*op, walk.view(&x), &dims).unwrap();
                    let want: Vec<f64> = rows(walk.dims, &dims)
                        .iter()
                        .map(|row| reference(&row.iter().map(|&at| elements[at]).collect::<Vec<_>>()))
                        .map(|value| rounded(got.dtype(), value))
                        .collect();
                    assert_eq!(
                        download(&got),
                        want,
                        "{op:?} of {dtype} over {dims:?} of {walk:?}"
                    );
                }
            }
        }
    }
}

/// Reduces `rows` rows that lie one after the other.
fn of_rows(device: &Device, op: Reduce, dtype: DType, bytes: &[u8], rows: usize) -> Vec<Vec<u8>> {
    let x = DynBuffer::from_bytes(device, dtype, bytes).unwrap();
    let dims = [rows, x.len() / rows];
    let out = ops::reduce(op, packed(&x, &dims, &contiguous(&dims), 0), &[1]).unwrap();
    let size = out.dtype().size_in_bytes();
    out.download_bytes()
        .unwrap()
        .chunks_exact(size)
        .map(<[u8]>::to_vec)
        .collect()
}

#[test]
fn extremes_of_rows_of_any_length_are_exact() {
    let device = device();
    for &dtype in DType::ALL {
        for &size in SIZES {
            let range = if FLOATS.contains(&dtype) { 400.0 } else { 100.0 };
            let values: Vec<f64> = random(DType::F64, 3 * size, range, size as u64)
                .into_iter()
                .map(|value| {
                    if matches!(dtype, DType::U8 | DType::U32) {
                        value.abs()
                    } else {
                        value
                    }
                })
                .map(|value| rounded(dtype, value))
                .collect();
            let bytes: Vec<u8> = values.iter().flat_map(|&value| encode(dtype, value)).collect();
            for (op, reference) in &OPS[1..] {
                let result = if is_place(*op) { DType::U32 } else { dtype };
                let got: Vec<f64> = of_rows(&device, *op, dtype, &bytes, 3)
                    .iter()
                    .map(|element| decode(result, element))
                    .collect();
                let want: Vec<f64> = values.chunks_exact(size).map(reference).collect();
                assert_eq!(got, want, "{op:?} of {dtype}, rows of {size}");
            }
        }
    }
}

#[test]
fn integer_sums_wrap_in_their_own_width() {
    let device = device();
    let mut wrapped = 0;
    for &dtype in INTS {
        let width = dtype.size_in_bytes();
        for &size in SIZES {
            let bytes: Vec<u8> = (0..2 * size * width)
                .map(|i| (i * i % 251) as u8 | 0x81)
                .collect();
            let got = of_rows(&device, Reduce::Sum, dtype, &bytes, 2);
            let want: Vec<Vec<u8>> = bytes
                .chunks_exact(size * width)
                .map(|row| {
                    let word = |element: &[u8]| {
                        element
                            .iter()
                            .rev()
                            .fold(0_u128, |word, &byte| word << 8 | u128::from(byte))
                    };
                    let sum: u128 = row.chunks_exact(width).map(word).sum();
                    wrapped += usize::from(sum >> (8 * width) != 0);
                    sum.to_le_bytes()[..width].to_vec()
                })
                .collect();
            assert_eq!(got, want, "{dtype}, rows of {size}");
        }
    }
    assert!(
        wrapped > 100,
        "only {wrapped} of the sums were too large for their dtype"
    );
}

#[test]
fn float_sums_keep_the_error_bound_of_their_tree() {
    let device = device();
    for &dtype in FLOATS {
        for &size in SIZES {
            let range = if dtype == DType::F8E4M3 { 1.0 } else { 10.0 };
            let values = random(dtype, 3 * size, range, 7 + size as u64);
            let bytes: Vec<u8> = values.iter().flat_map(|&value| encode(dtype, value)).collect();
            let got = of_rows(&device, Reduce::Sum, dtype, &bytes, 3);
            for (row, got) in values.chunks_exact(size).zip(got) {
                let (want, size_of_terms) =
                    (row.iter().sum::<f64>(), row.iter().map(|x| x.abs()).sum::<f64>());
                // The host's own sum errs as well, in a chain as long as the row.
                let error =
                    (depth(size) * wide_unit(dtype) + size as f64 * wide_unit(DType::F64)) * size_of_terms;
                let got = decode(dtype, &got);
                assert!(
                    is_near(dtype, got, want, error),
                    "{dtype}, row of {size}: {got}, expected {want}"
                );
            }
        }
    }
}

#[test]
fn many_ones_add_up_in_every_dtype_that_can_hold_their_number() {
    let device = device();
    for (dtype, count) in [
        (DType::BF16, 4096),
        (DType::F16, 4096),
        (DType::F8E4M3, 256),
        (DType::F32, 140_000),
    ] {
        let bytes = encode(dtype, 1.0).repeat(count);
        let got = of_rows(&device, Reduce::Sum, dtype, &bytes, 1);
        assert_eq!(decode(dtype, &got[0]), count as f64, "{dtype}");
    }
}

#[test]
fn a_nan_anywhere_is_the_extreme_and_the_first_one_its_place() {
    let device = device();
    for &dtype in FLOATS {
        for size in [1_usize, 5, 33, 300] {
            for places in [&[0][..], &[size / 2], &[size - 1], &[size / 2, size - 1]] {
                let mut row = random(dtype, size, 8.0, 3);
                places.iter().for_each(|&at| row[at] = f64::NAN);
                let x = upload(&device, dtype, &row);
                let dims = [size];
                let view = packed(&x, &dims, &[1], 0);
                for (op, _) in &OPS[1..] {
                    let got = download(&ops::reduce(*op, view, &[0]).unwrap())[0];
                    if is_place(*op) {
                        assert_eq!(
                            got, places[0] as f64,
                            "{op:?} of {dtype}: NaN at {places:?} of {size}"
                        );
                    } else {
                        assert!(
                            got.is_nan(),
                            "{op:?} of {dtype}: {got}, NaN at {places:?} of {size}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_first_of_equal_extremes_has_the_place() {
    let device = device();
    for &dtype in DType::ALL {
        for (size, low, high) in [
            (4, vec![3], vec![1, 2]),
            (1025, vec![5, 6, 1000], vec![700, 701, 1024]),
        ] {
            let mut row = vec![2.0; size];
            low.iter().for_each(|&at| row[at] = 1.0);
            high.iter().for_each(|&at| row[at] = 5.0);
            let x = upload(&device, dtype, &row);
            let dims = [size];
            let view = packed(&x, &dims, &[1], 0);
            assert_eq!(
                download(&ops::reduce(Reduce::ArgMin, view, &[0]).unwrap()),
                [low[0] as f64],
                "{dtype}, {size}"
            );
            assert_eq!(
                download(&ops::reduce(Reduce::ArgMax, view, &[0]).unwrap()),
                [high[0] as f64],
                "{dtype}, {size}"
            );
        }
    }
}

#[test]
fn rows_of_one_value_have_it_as_extreme_even_at_the_ends_of_the_dtype() {
    let device = device();
    let ends = |dtype: DType| match dtype {
        DType::U8 => vec![0.0, 255.0],
        DType::U32 => vec![0.0, u32::MAX.into()],
        DType::I16 => vec![i16::MIN.into(), i16::MAX.into()],
        DType::I32 => vec![i32::MIN.into(), i32::MAX.into()],
        DType::I64 => vec![i64::MIN as f64, (1_i64 << 62) as f64],
        DType::F8E4M3 => vec![-448.0, 448.0],
        _ => vec![f64::NEG_INFINITY, f64::INFINITY],
    };
    for &dtype in DType::ALL {
        for end in ends(dtype) {
            for (op, _) in &OPS[1..] {
                let row = upload(&device, dtype, &vec![end; 70]);
                let got = download(&ops::reduce(*op, row.view(), &[0]).unwrap())[0];
                let want = if is_place(*op) { 0.0 } else { end };
                assert_eq!(got, want, "{op:?} of {dtype}, all {end}");
            }
        }
    }
}

#[test]
fn zeros_are_ordered_by_their_sign_and_equal_in_place() {
    let device = device();
    for &dtype in FLOATS {
        for row in [[-0.0, 0.0], [0.0, -0.0]] {
            let x = upload(&device, dtype, &row);
            let view = packed(&x, &[2], &[1], 0);
            let [max, min] =
                [Reduce::Max, Reduce::Min].map(|op| download(&ops::reduce(op, view, &[0]).unwrap())[0]);
            assert!(
                max.is_sign_positive() && min.is_sign_negative(),
                "{dtype}: {max:?}, {min:?} of {row:?}"
            );
            assert_eq!(
                download(&ops::reduce(Reduce::ArgMax, view, &[0]).unwrap()),
                [0.0],
                "{dtype}, {row:?}"
            );
            assert_eq!(
                download(&ops::reduce(Reduce::ArgMin, view, &[0]).unwrap()),
                [0.0],
                "{dtype}, {row:?}"
            );
        }
    }
}

#[test]
fn more_rows_than_workgroups_are_all_reduced() {
    const ROWS: usize = (1 << 16) + 3;
    let device = device();
    let values: Vec<f64> = (0..2 * ROWS).map(|i| (i % 253) as f64).collect();
    let x = upload(&device, DType::U8, &values);
    let dims = [ROWS, 2];
    let got = download(&ops::reduce(Reduce::Max, packed(&x, &dims, &[2, 1], 0), &[1]).unwrap());
    let want: Vec<f64> = values.chunks_exact(2).map(greatest).collect();
    assert!(
        got == want,
        "{} rows, first difference at {:?}",
        got.len(),
        got.iter().zip(&want).position(|(a, b)| a != b)
    );
}

#[test]
fn sums_of_nothing_are_zero_and_extremes_of_nothing_are_refused() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 0).unwrap();
    for (dims, reduced, results) in [(&[2, 0][..], 1, 2), (&[0, 3], 0, 3), (&[0, 3], 1, 0)] {
        let strides = contiguous(dims);
        let view = packed(&x, dims, &strides, 0);
        assert_eq!(
            download(&ops::reduce(Reduce::Sum, view, &[reduced]).unwrap()),
            vec![0.0; results],
            "{dims:?}"
        );
        for (op, _) in &OPS[1..] {
            let refusal = ops::reduce(*op, view, &[reduced]).unwrap_err();
            assert!(
                matches!(refusal, Error::Shape { .. }),
                "{op:?} of {dims:?}: {refusal}"
            );
        }
    }
}

#[test]
fn dimensions_that_are_not_there_or_named_twice_are_refused() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 6).unwrap();
    let view = packed(&x, &[2, 3], &[3, 1], 0);
    for dims in [&[2][..], &[0, 0], &[1, 0, 1]] {
        for (op, _) in OPS {
            let answer = ops::reduce(*op, view, dims);
            assert!(matches!(answer, Err(Error::Shape { .. })), "{op:?} over {dims:?}");
        }
    }
    assert_eq!(
        ops::reduce(Reduce::Sum, view, &[5]).unwrap_err().to_string(),
        "fast_sum: dimensions [5] of a tensor of 2 dimensions; expected different ones below 2"
    );
    assert!(ops::reduce(Reduce::Sum, view, &[1, 0]).is_ok(), "in any order");
}

#[test]
fn sums_are_added_to_what_is_there() {
    let device = device();
    for &dtype in DType::ALL {
        let host = small(dtype, LEN);
        let x = upload(&device, dtype, &host);
        for walk in WALKS {
            for dims in choices(walk.dims.len()) {
                let elements = walk.gather(&host);
                let rows = rows(walk.dims, &dims);
                let before: Vec<f64> = (0..rows.len()).map(|i| (i % 3) as f64).collect();
                let mut out = upload(&device, dtype, &before);
                ops::add_sums(walk.view(&x), &dims, &mut out).unwrap();
                let want: Vec<f64> = rows
                    .iter()
                    .zip(before)
                    .map(|(row, before)| {
                        rounded(dtype, before + row.iter().map(|&at| elements[at]).sum::<f64>())
                    })
                    .collect();
                assert_eq!(download(&out), want, "{dtype} over {dims:?} of {walk:?}");
            }
        }
    }
}

#[test]
fn sums_are_added_to_one_place_a_result_of_the_same_dtype() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 6).unwrap();
    let view = packed(&x, &[2, 3], &[3, 1], 0);
    let refusal = |dtype, len| {
        let mut out = DynBuffer::zeros(&device, dtype, len).unwrap();
        ops::add_sums(view, &[1], &mut out).unwrap_err()
    };
    assert!(matches!(
        refusal(DType::F32, 3),
        Error::Length {
            expected: 2,
            found: 3,
            ..
        }
    ));
    assert!(matches!(refusal(DType::F64, 2), Error::DTypes { .. }));
    let mut out = DynBuffer::zeros(&device, DType::F32, 2).unwrap();
    assert!(ops::add_sums(view, &[1], &mut out).is_ok());
}

/// Whole numbers that no dtype rounds, whatever order they are added in; integers wrap.
fn held(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::U8 => value.rem_euclid(256.0),
        _ => rounded(dtype, value),
    }
}

#[test]
fn columns_and_few_long_rows_are_reduced_in_parts() {
    let device = device();
    // Columns that fill no wave, whole packs, and neither; rows in one part and in several; blocks. Then rows that are cut.
    let cases: &[(&[usize], usize)] = &[
        (&[9, 32], 0),
        (&[70, 131], 0),
        (&[1030, 512], 0),
        (&[3, 17, 64], 1),
        (&[2, (1 << 16) + 4097], 1),
        (&[1 << 17], 0),
    ];
    for &dtype in DType::ALL {
        for &(dims, reduced) in cases {
            let host = small(dtype, dims.iter().product());
            let x = upload(&device, dtype, &host);
            let rows = rows(dims, &[reduced]);
            for (op, reference) in OPS {
                let got = ops::reduce(*op, packed(&x, dims, &contiguous(dims), 0), &[reduced]).unwrap();
                let want: Vec<f64> = rows
                    .iter()
                    .map(|row| reference(&row.iter().map(|&at| host[at]).collect::<Vec<_>>()))
                    .map(|value| if is_place(*op) { value } else { held(dtype, value) })
                    .collect();
                assert_eq!(
                    download(&got),
                    want,
                    "{op:?} of {dtype} over {reduced} of {dims:?}"
                );
            }
        }
    }
}

#[test]
fn a_nan_in_any_part_is_the_extreme() {
    let device = device();
    for (dims, reduced) in [(&[1030, 64][..], 0), (&[1 << 17], 0)] {
        let mut host = small(DType::F32, dims.iter().product());
        host[64 * 1000] = f64::NAN;
        let x = upload(&device, DType::F32, &host);
        for op in [Reduce::Max, Reduce::Min] {
            let got = ops::reduce(op, packed(&x, dims, &contiguous(dims), 0), &[reduced]).unwrap();
            let got = download(&got);
            assert!(
                got[0].is_nan() && got[1..].iter().all(|value| !value.is_nan()),
                "{op:?} {dims:?}"
            );
        }
        for op in [Reduce::ArgMax, Reduce::ArgMin] {
            let got = ops::reduce(op, packed(&x, dims, &contiguous(dims), 0), &[reduced]).unwrap();
            let place = 64 * 1000 / (dims.iter().product::<usize>() / dims[0]);
            assert_eq!(download(&got)[0], place as f64, "{op:?} {dims:?}");
        }
    }
}

#[test]
fn rows_of_whole_packs_are_held_whatever_shares_of_a_workgroup_they_take() {
    let device = device();
    // Rows of fewer packs than a line, of a wave, of several waves; more rows than a workgroup has, and a number that fills none. Of 64 packs
    // of 45 rows a thread holds four, so that a row has half a wave.
    let of_64_packs = [(45, 128), (45, 256), (45, 512), (45, 1024)];
    let shapes = [(301, 16), (301, 32), (70, 64), (9, 1024), (3, 8192), (2100, 128)];
    for &dtype in DType::ALL {
        for (count, per_row) in shapes.into_iter().chain(of_64_packs) {
            let host: Vec<f64> = small(dtype, count * per_row + 1)[1..].to_vec();
            let x = upload(&device, dtype, &host);
            let dims = [count, per_row];
            for (op, reference) in OPS {
                let got = ops::reduce(*op, packed(&x, &dims, &contiguous(&dims), 0), &[1]).unwrap();
                let want: Vec<f64> = host
                    .chunks_exact(per_row)
                    .map(reference)
                    .map(|value| if is_place(*op) { value } else { held(dtype, value) })
                    .collect();
                assert_eq!(
                    download(&got),
                    want,
                    "{op:?} of {dtype}, {count} rows of {per_row}"
                );
            }
        }
    }
}

/// Of long rows and many adjacent columns, sums that every dtype holds: zeros, with a one now and then.
#[test]
fn parts_of_long_rows_and_of_columns_add_up() {
    let device = device();
    for &dtype in DType::ALL {
        for (dims, reduced) in [([1, 270_003], 1), ([20_003, 33], 0), ([203, 33], 0)] {
            let values: Vec<f64> = (0..dims[0] * dims[1])
                .map(|at| f64::from(at % 19_991 == 7))
                .collect();
            let x = upload(&device, dtype, &values);
            let out = ops::reduce(Reduce::Sum, View::contiguous(&x, &dims), &[reduced]).unwrap();
            let want: Vec<f64> = rows(&dims, &[reduced])
                .into_iter()
                .map(|row| row.into_iter().map(|at| values[at]).sum())
                .collect();
            assert_eq!(download(&out), want, "{dtype} {dims:?}");
        }
    }
}
