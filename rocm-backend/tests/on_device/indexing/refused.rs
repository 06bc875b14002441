//! What indexing refuses: ids outside of the dimension, ids that are not integers, shapes that do not fit.

use rocm_backend::{DType, Device, DynBuffer, Error, Result, View, ViewMut, ops};

use super::{ID_DTYPES, NONE, Scatter, id_bytes};
use crate::support::{device, download, flat, upload};

/// What each operation says to the ids `[1, id, id]` for a dimension of three, and whether a target was left alone.
fn refusals(device: &Device, dtype: DType, id: i64) -> Vec<Result<()>> {
    let x = upload(device, &[1.0_f32, 2.0, 3.0]);
    let bytes = [1, id, id].map(|id| id_bytes(dtype, id)).concat();
    let ids = DynBuffer::from_bytes(device, dtype, &bytes).unwrap();
    let (x, ids) = (flat(&x, &[3]), flat(&ids, &[3]));
    let scatter = |op: Scatter| {
        let mut dst = upload(device, &[7.0_f32, 8.0, 9.0]);
        let target = dst.view_mut();
        let answer = op(target, ids, x, 0);
        let is_as_before = download::<f32>(&dst) == [7.0, 8.0, 9.0];
        assert_eq!(is_as_before, answer.is_err(), "{dtype} {id}");
        answer
    };
    vec![
        ops::index_select(x, ids, 0).map(drop),
        ops::gather(x, ids, 0).map(drop),
        scatter(ops::scatter_set),
        scatter(ops::scatter_add_set),
        ops::index_add(x, ids, x, 0).map(drop),
    ]
}

#[test]
fn an_id_outside_the_dimension_is_refused_with_its_value_and_place() {
    let device = device();
    let names = [
        "index_select",
        "gather",
        "scatter_set",
        "scatter_add_set",
        "index_add",
    ];
    for dtype in ID_DTYPES {
        let mut outside = vec![3, 4, 100];
        if !matches!(dtype, DType::U8 | DType::U32) {
            outside.extend([-1, -3, i64::from(i16::MIN)]);
        }
        for id in outside {
            for (name, answer) in names.iter().zip(refusals(&device, dtype, id)) {
                assert_eq!(
                    answer.unwrap_err().to_string(),
                    format!("{name}: id {id} at position 1 of the ids is outside a dimension of 3"),
                    "{dtype}"
                );
            }
        }
        for inside in [0, 2, NONE] {
            assert!(
                refusals(&device, dtype, inside).iter().all(Result::is_ok),
                "{dtype} {inside}"
            );
        }
    }
}

#[test]
fn the_first_of_many_bad_ids_is_named_wherever_it_lies() {
    let device = device();
    let x = upload(&device, &[0_u8; 4]);
    for (len, bad) in [(1, 0), (257, 256), (1025, 31), (1025, 600), (5000, 4321)] {
        let mut host = vec![3_u32; len];
        host[bad..].fill(9);
        host[bad] = 70_000 + bad as u32;
        let ids = upload(&device, &host);
        let refusal = ops::index_select(flat(&x, &[4]), flat(&ids, &[len]), 0).unwrap_err();
        let wanted = format!("id {} at position {bad} of", host[bad]);
        assert!(refusal.to_string().contains(&wanted), "{refusal}");
    }
}

/// Kernels look at ids a pack at a time, and at several packs before they store one: each place has code of its own.
#[test]
fn a_bad_id_is_named_at_every_place_of_a_pack_of_ids() {
    let device = device();
    for &values in DType::ALL {
        let pack = 16 / values.size_in_bytes();
        let of = |len| DynBuffer::zeros(&device, values, len).unwrap();
        // A row that is brought to LDS, one that is read where it lies, and rows of a pack each.
        let (short, long, rows) = (of(4), of(600), of(4 * pack));
        for dtype in ID_DTYPES {
            let refusal = |buffer: &DynBuffer, dims: &[usize], len: usize, bad: usize| {
                let wrong = |at: usize| (dims[0] + 5 + at % 2) as i64;
                let id = |at| if at >= bad { wrong(at) } else { 3 };
                let bytes: Vec<u8> = (0..len).flat_map(|at| id_bytes(dtype, id(at))).collect();
                let ids = DynBuffer::from_bytes(&device, dtype, &bytes).unwrap();
                let x = View::contiguous(buffer, dims);
                let said = ops::index_select(x, flat(&ids, &[len]), 0)
                    .unwrap_err()
                    .to_string();
                let wanted = format!("id {} at position {bad} of", wrong(bad));
                assert!(said.contains(&wanted), "{dtype} of {values} {dims:?}: {said}");
            };
            for bad in (0..17).chain([255]) {
                refusal(&short, &[4], 256, bad);
                // No byte is beyond a long row.
                if dtype != DType::U8 {
                    refusal(&long, &[600], 256, bad);
                }
            }
            for bad in [0, 4999] {
                refusal(&rows, &[4, pack], 5000, bad);
            }
        }
    }
}

#[test]
fn ids_are_not_looked_at_where_no_element_moves() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 0).unwrap();
    let ids = upload(&device, &[99_u32, 98]);
    let x = View::new(&x, &[0, 3], &[3, 1]);
    assert!(ops::index_select(x, flat(&ids, &[2]), 1).unwrap().is_empty());
}

#[test]
fn ids_must_be_integers() {
    let device = device();
    let x = upload(&device, &[1.0_f32, 2.0]);
    let view = flat(&x, &[2]);
    for answer in [
        ops::index_select(view, view, 0),
        ops::gather(view, view, 0),
        ops::index_add(view, view, view, 0),
    ] {
        match answer.unwrap_err() {
            Error::Unsupported { op, dtype } => {
                assert_eq!((op.ends_with("by ids"), dtype), (true, DType::F32), "{op}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = device();
    let (x, ids) = (
        DynBuffer::zeros(&device, DType::F32, 12).unwrap(),
        DynBuffer::zeros(&device, DType::U32, 12).unwrap(),
    );
    let [matrix, wide] = [&[3, 4], &[4, 3]].map(|dims: &[usize; 2]| View::contiguous(&x, dims));
    let (ids_matrix, ids_wide) = (View::contiguous(&ids, &[3, 4]), View::contiguous(&ids, &[4, 3]));
    let one = flat(&ids, &[4]);
    let mut dst = DynBuffer::zeros(&device, DType::F32, 12).unwrap();
    let mut scatter = |strides: &[usize], ids, src, dim| {
        let target = ViewMut::new(&mut dst, &[3, 4], strides);
        ops::scatter_set(target, ids, src, dim).unwrap_err()
    };
    let errors = [
        (
            scatter(&[1, 3], ids_matrix, matrix, 0),
            "the target must be contiguous",
        ),
        (
            scatter(&[4, 1], ids_wide, matrix, 0),
            "ids of shape [4, 3] for a source of shape [3, 4]",
        ),
        (
            scatter(&[4, 1], ids_wide, wide, 0),
            "a source of shape [4, 3] for a tensor of shape [3, 4]",
        ),
        (
            scatter(&[4, 1], ids_matrix, ids_matrix, 0),
            "elements of u32 where f32 is expected",
        ),
        (scatter(&[4, 1], ids_matrix, matrix, 2), "there is no dimension 2"),
        (
            ops::index_select(matrix, ids_matrix, 0).unwrap_err(),
            "expected one dimension",
        ),
        (
            ops::index_select(matrix, one, 2).unwrap_err(),
            "there is no dimension 2",
        ),
        (
            ops::gather(matrix, ids_wide, 1).unwrap_err(),
            "ids of shape [4, 3]",
        ),
        (ops::gather(matrix, one, 1).unwrap_err(), "ids of shape [4]"),
        (
            ops::index_add(matrix, one, matrix, 0).unwrap_err(),
            "4 ids for 3 elements",
        ),
        (
            ops::index_add(matrix, one, wide, 0).unwrap_err(),
            "a source of shape [4, 3]",
        ),
    ];
    for (error, wanted) in errors {
        assert!(
            error.is_invalid() && error.to_string().contains(wanted),
            "{error}: {wanted}"
        );
    }
    assert!(ops::index_add(matrix, one, matrix, 1).is_ok());
}
