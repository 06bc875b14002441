//! Copies and fills move bytes, so every dtype is tested by its bytes.

use rocm_backend::{DType, Device, DynBuffer, Scalar, View, ViewMut, ops};

use crate::support::{LEN, WALKS, device};

/// `len` elements of distinct bytes (as far as one byte can be distinct).
fn pattern(dtype: DType, len: usize, seed: u8) -> Vec<u8> {
    (0..len * dtype.size_in_bytes())
        .map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed))
        .collect()
}

/// A buffer of [`pattern`] elements, and its elements.
fn buffer(device: &Device, dtype: DType, len: usize, seed: u8) -> (DynBuffer, Vec<Vec<u8>>) {
    let bytes = pattern(dtype, len, seed);
    (
        DynBuffer::from_bytes(device, dtype, &bytes).unwrap(),
        elements(dtype, &bytes),
    )
}

fn elements(dtype: DType, bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .chunks_exact(dtype.size_in_bytes())
        .map(<[u8]>::to_vec)
        .collect()
}

fn download(buffer: &DynBuffer) -> Vec<Vec<u8>> {
    elements(buffer.dtype(), &buffer.download_bytes().unwrap())
}

#[test]
fn copy_strided_writes_the_view_at_the_offset_and_nothing_else() {
    let device = device();
    for &dtype in DType::ALL {
        let (source, host) = buffer(&device, dtype, LEN, 1);
        for walk in WALKS {
            let view: Vec<usize> = (0..LEN).collect();
            let wanted: Vec<_> = walk
                .gather(&view)
                .into_iter()
                .map(|at| host[at].clone())
                .collect();
            let (mut target, mut want) = buffer(&device, dtype, wanted.len() + 5, 91);
            want[3..3 + wanted.len()].clone_from_slice(&wanted);
            ops::copy(
                walk.view(&source),
                ViewMut::contiguous(&mut target, &[wanted.len()]).at(3),
            )
            .unwrap();
            assert_eq!(download(&target), want, "{dtype}, {walk:?}");
        }
    }
}

#[test]
fn fill_writes_the_view_and_nothing_else() {
    let device = device();
    for &dtype in DType::ALL {
        let value = Scalar::from_f64(dtype, 3.0);
        let three = {
            let mut one = DynBuffer::zeros(&device, dtype, 1).unwrap();
            ops::fill(one.view_mut(), value).unwrap();
            one.download_bytes().unwrap()
        };
        assert_ne!(three, vec![0; dtype.size_in_bytes()], "{dtype}");
        for walk in WALKS {
            let (mut target, mut want) = buffer(&device, dtype, LEN, 7);
            walk.visit(|at| want[at].clone_from(&three));
            ops::fill(
                ViewMut::new(&mut target, walk.dims, walk.strides).at(walk.offset),
                value,
            )
            .unwrap();
            assert_eq!(download(&target), want, "{dtype}, {walk:?}");
        }
    }
}

#[test]
fn copy2d_copies_rows_and_nothing_between_them() {
    let device = device();
    for &dtype in DType::ALL {
        for (rows, row_len, from, to) in [
            (3, 4, (7, 2), (5, 1)),
            (1, 5, (0, 1), (0, 2)),
            (4, 1, (1, 0), (2, 0)),
            (2, 3, (0, 4), (3, 0)),
            (0, 3, (3, 0), (3, 0)),
            // Rows of whole packs, and rows that a workgroup takes each.
            (9, 32, (48, 16), (64, 0)),
            (3, 1100, (1103, 1), (1101, 2)),
            (2, 9000, (9000, 0), (9001, 1)),
        ] {
            let (source, host) = buffer(&device, dtype, 24 + rows * from.0, 1);
            let (mut target, mut want) = buffer(&device, dtype, 20 + rows * to.0, 91);
            for row in 0..rows {
                for column in 0..row_len {
                    want[to.1 + row * to.0 + column].clone_from(&host[from.1 + row * from.0 + column]);
                }
            }
            ops::copy2d(
                View::new(&source, &[rows, row_len], &[from.0, 1]).at(from.1),
                ViewMut::new(&mut target, &[rows, row_len], &[to.0, 1]).at(to.1),
            )
            .unwrap();
            assert_eq!(
                download(&target),
                want,
                "{dtype}: {rows} rows of {row_len}, {from:?} to {to:?}"
            );
        }
    }
}

#[test]
fn copy2d_refuses_rows_outside_a_buffer_and_rows_that_overwrite_each_other() {
    let device = device();
    let source = DynBuffer::zeros(&device, DType::F32, 10).unwrap();
    let mut target = DynBuffer::zeros(&device, DType::F32, 10).unwrap();
    let mut refusal = |rows, row_len, from, to| {
        let dims = [rows, row_len];
        ops::copy2d(
            View::new(&source, &dims, &[from, 1]),
            ViewMut::new(&mut target, &dims, &[to, 1]),
        )
        .unwrap_err()
        .to_string()
    };
    assert!(refusal(2, 3, 8, 3).contains("reaches element 10 of a buffer of 10"));
    assert!(refusal(2, 3, 3, 8).contains("reaches element 10 of a buffer of 10"));
    assert!(refusal(2, 3, 3, 2).contains("overwrite each other"));
    let three = ops::copy2d(
        View::contiguous(&source, &[2, 3]),
        ViewMut::contiguous(&mut target, &[3, 2]),
    );
    assert_eq!(
        three.unwrap_err().to_string(),
        "copy2d: [2, 3] elements to a view of [3, 2]"
    );
    let columns = ops::copy2d(
        View::new(&source, &[2, 3], &[1, 2]),
        ViewMut::contiguous(&mut target, &[2, 3]),
    );
    assert_eq!(
        columns.unwrap_err().to_string(),
        "copy2d: a view is not of rows of adjacent elements"
    );
}

#[test]
fn a_clone_has_a_life_of_its_own() {
    let device = device();
    let (original, host) = buffer(&device, DType::I32, 9, 5);
    let mut copy = original.try_clone().unwrap();
    ops::fill(copy.view_mut(), -1_i32).unwrap();
    assert_eq!(download(&original), host);
    drop(original);
    assert_eq!(download(&copy), vec![vec![0xff; 4]; 9]);
}

#[test]
fn zeros_are_zero_even_in_memory_used_before() {
    let device = device();
    drop(buffer(&device, DType::F64, 100, 3));
    assert_eq!(
        DynBuffer::zeros(&device, DType::F64, 100)
            .unwrap()
            .download_bytes()
            .unwrap(),
        vec![0; 800]
    );
}

#[test]
fn a_view_whose_last_dimension_is_not_adjacent_is_copied_by_tiles_of_any_fill() {
    let device = device();
    const LONG: usize = 3 * 131 * 70;
    // A tile is 64 by 64: parts of one, whole ones, batches before and behind the adjacent dimension, gaps, an odd start.
    let views: &[(&[usize], &[usize], usize)] = &[
        (&[70, 131], &[1, 70], 0),
        (&[64, 128], &[1, 65], 3),
        (&[16, 17], &[1, 16], 1),
        (&[2, 70, 33], &[2310, 1, 70], 0),
        (&[33, 3, 64], &[1, 2200, 34], 5),
        // Whole squares of the elements of one and two bytes, at the start.
        (&[72, 264], &[1, 72], 0),
        (&[2, 16, 40], &[640, 1, 16], 0),
    ];
    for &dtype in DType::ALL {
        let (source, host) = buffer(&device, dtype, LONG, 7);
        for &(dims, strides, offset) in views {
            let count: usize = dims.iter().product();
            let at = |number: usize| {
                let mut rest = number;
                let mut place = offset;
                for d in (0..dims.len()).rev() {
                    place += rest % dims[d] * strides[d];
                    rest /= dims[d];
                }
                place
            };
            for start in [0, 3] {
                let (mut target, mut want) = buffer(&device, dtype, count + 5, 91);
                for number in 0..count {
                    want[number + start].clone_from(&host[at(number)]);
                }
                ops::copy(
                    View::new(&source, dims, strides).at(offset),
                    ViewMut::contiguous(&mut target, &[count]).at(start),
                )
                .unwrap();
                assert!(
                    download(&target) == want,
                    "{dtype} {dims:?} {strides:?} to {start}"
                );
            }
        }
    }
}
