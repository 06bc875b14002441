//! Argsort against the host's stable sort: rows within and beyond what one workgroup sorts, ties, NaN, both zeros.

use std::cmp::Ordering;

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::{DType, DynBuffer, View, ops};

use crate::support::{Element, device, download, flat, upload};

/// Lengths of rows around a wave, a workgroup and the 2048 elements that a workgroup sorts.
const LENGTHS: &[usize] = &[
    1, 2, 3, 31, 32, 33, 63, 65, 255, 256, 257, 1023, 1025, 2047, 2048, 2049,
];
/// Lengths of rows that are merged more than once, for one dtype of each kind: how often hangs on no dtype.
const MERGED: &[usize] = &[4096, 4097, 6145];

/// NaN above everything and equal to itself; else the dtype's own order.
fn compare<T: Element>(x: T, y: T) -> Ordering {
    let [x_is_nan, y_is_nan] = [x, y].map(|x| x.partial_cmp(&x).is_none());
    x.partial_cmp(&y).unwrap_or_else(|| x_is_nan.cmp(&y_is_nan))
}

fn order<T: Element>(row: &[T], asc: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..row.len() as u32).collect();
    order.sort_by(|&i, &j| {
        let order = compare(row[i as usize], row[j as usize]);
        if asc { order } else { order.reverse() }
    });
    order
}

/// Any pattern, NaN among them, many small numbers, both zeros; most elements have an equal.
fn elements<T: Element>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let element = |_| {
        let bits: u64 = next();
        let bytes = match next() >> 40 & 7 {
            0 => u64::MAX.to_le_bytes(),
            1 => (1_u64 << (8 * size_of::<T>() - 1)).to_le_bytes(),
            2 => [0; 8],
            3 => bits.to_le_bytes(),
            _ => return T::small((bits % 9) as i32 - 4),
        };
        T::read(&bytes[..size_of::<T>()])
    };
    (0..count).map(element).collect()
}

fn check<T: Element>(lengths: &[usize]) {
    const ROWS: usize = 3;
    let device = device();
    for &length in lengths {
        let host = elements::<T>(ROWS * length, length as u64);
        let x = upload(&device, &host);
        let dims = [ROWS, length];
        let view = View::contiguous(&x, &dims);
        for asc in [true, false] {
            let got: Vec<u32> = download(&ops::argsort(view, asc).unwrap());
            let want: Vec<u32> = host.chunks(length).flat_map(|row| order(row, asc)).collect();
            assert!(
                got == want,
                "{} rows of {length}, ascending: {asc}: position {:?}",
                T::DTYPE,
                got.iter().zip(&want).position(|(got, want)| got != want)
            );
        }
    }
}

#[test]
fn argsort_is_the_stable_order_of_integers() {
    check::<u8>(LENGTHS);
    check::<u32>(LENGTHS);
    check::<i16>(LENGTHS);
    check::<i32>(LENGTHS);
    check::<i64>(LENGTHS);
    check::<i64>(MERGED);
}

#[test]
fn argsort_is_the_stable_order_of_floats_with_nan_the_greatest() {
    check::<bf16>(LENGTHS);
    check::<f16>(LENGTHS);
    check::<f32>(LENGTHS);
    check::<f64>(LENGTHS);
    check::<F8E4M3>(LENGTHS);
    check::<f16>(MERGED);
}

#[test]
fn equal_elements_and_both_zeros_keep_their_order_in_either_direction() {
    let device = device();
    let x = upload(&device, &[2.0_f32, 0.0, f32::NAN, -0.0, 2.0, -f32::NAN, -1.0]);
    let sorted = |asc| download::<u32>(&ops::argsort(flat(&x, &[7]), asc).unwrap());
    assert_eq!(sorted(true), [6, 1, 3, 0, 4, 2, 5]);
    assert_eq!(sorted(false), [2, 5, 0, 4, 1, 3, 6]);
}

#[test]
fn argsort_sorts_each_row_from_the_views_offset() {
    let device = device();
    let host: Vec<i32> = (0..60).map(|i| i * 7 % 11).collect();
    let x = upload(&device, &host);
    let view = View::new(&x, &[2, 5, 5], &[25, 5, 1]).at(9);
    let got: Vec<u32> = download(&ops::argsort(view, true).unwrap());
    let want: Vec<u32> = host[9..59].chunks(5).flat_map(|row| order(row, true)).collect();
    assert_eq!(got, want);
}

#[test]
fn the_order_of_nothing_is_empty() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F16, 4).unwrap();
    for (dims, strides) in [(&[0][..], &[1][..]), (&[3, 0], &[0, 1]), (&[0, 3], &[3, 1])] {
        let view = View::new(&x, dims, strides);
        let got = ops::argsort(view, true).unwrap();
        assert_eq!((got.len(), got.dtype()), (0, DType::U32), "{dims:?}");
    }
}

#[test]
fn rows_that_cannot_be_sorted_are_refused() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 12).unwrap();
    let rows = View::new(&x, &[3, 4], &[4, 1]);
    let refusal = |view| match ops::argsort(view, false).unwrap_err() {
        error if error.is_invalid() => error.to_string(),
        other => panic!("{other}"),
    };
    let transposed = View::new(&x, &[3, 4], &[1, 3]);
    assert_eq!(refusal(transposed), "argsort: the rows must be contiguous");
    let scalar = View::contiguous(&x, &[]);
    assert_eq!(
        refusal(scalar),
        "argsort: a tensor without dimensions has no rows to sort"
    );
    assert!(refusal(rows.at(1)).contains("reaches element 12 of a buffer of 12"));
    assert!(ops::argsort(rows, false).is_ok());
}
