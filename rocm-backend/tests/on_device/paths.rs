//! Every way from an element's number to its place, in every kernel that walks views and has no other test of each dtype: whole
//! packs, rows of whole packs that lie apart, elements that repeat, single elements. A view's results are those of its elements.

use rocm_backend::ops::{self, Unary, UnaryParam};
use rocm_backend::{DType, Device, DynBuffer, Result, View};

use super::support::device;

/// Elements of the buffers; a multiple of every pack, and more than a workgroup takes in one turn.
const LEN: usize = 3 * 6 * 20;

/// Views: sizes, strides, the first element.
const VIEWS: &[(&[usize], &[usize], usize)] = &[
    (&[LEN - 1], &[1], 1),
    (&[3, 5, 16], &[120, 20, 1], 3),
    (&[5, 16], &[20, 1], 3),
    (&[3, 5, 16], &[5, 1, 0], 2),
    (&[64], &[0], 7),
    (&[16, 15], &[1, 16], 0),
    (&[33], &[3], 4),
];

/// The places of a view's elements, in order.
fn places(dims: &[usize], strides: &[usize], first: usize) -> Vec<usize> {
    let mut places = vec![first];
    for (&dim, &stride) in dims.iter().zip(strides) {
        let step = |place: &usize| (0..dim).map(|i| place + i * stride).collect::<Vec<_>>();
        places = places.iter().flat_map(step).collect();
    }
    places
}

/// Numbers around zero, of which u8 has the positive ones.
fn numbers(device: &Device, dtype: DType) -> DynBuffer {
    let numbers: Vec<f32> = (0..LEN).map(|i| (i * 7 % 41) as f32 / 4.0 - 2.5).collect();
    let numbers = device.upload(&numbers).unwrap();
    ops::cast(numbers.view(), dtype).unwrap()
}

/// Holds what `f` makes of each view against what it makes of all elements.
fn check(what: &str, x: &DynBuffer, f: &dyn Fn(View<'_>) -> Result<DynBuffer>) {
    let whole = f(x.view()).unwrap();
    let size = whole.dtype().size_in_bytes();
    let whole = whole.download_bytes().unwrap();
    for &(dims, strides, first) in VIEWS {
        let found = f(View::new(x, dims, strides).at(first)).unwrap();
        let expected = places(dims, strides, first);
        let expected = expected.iter().flat_map(|&at| &whole[at * size..][..size]);
        let expected: Vec<u8> = expected.copied().collect();
        assert!(
            found.download_bytes().unwrap() == expected,
            "{what}: {dims:?} {strides:?} from {first}"
        );
    }
}

#[test]
fn functions_of_one_element_give_the_same_by_every_way_to_it() {
    let device = device();
    for op in Unary::ALL {
        for &dtype in op.dtypes() {
            let x = numbers(&device, dtype);
            check(&format!("{} {dtype}", op.name()), &x, &|view| {
                ops::unary(*op, view)
            });
        }
    }
    for op in UnaryParam::ALL {
        for &dtype in op.dtypes() {
            let x = numbers(&device, dtype);
            let f = |view: View<'_>| ops::unary_param(*op, 1.5, view);
            check(&format!("{} {dtype}", op.name()), &x, &f);
        }
    }
}

#[test]
fn casts_to_the_same_dtype_copy_by_every_way() {
    let device = device();
    for &dtype in DType::ALL {
        let x = numbers(&device, dtype);
        check(&format!("{dtype} to itself"), &x, &|view| ops::cast(view, dtype));
    }
}

#[test]
fn rows_are_selected_in_packs_and_apart_by_ids_of_every_dtype() {
    let device = device();
    // The last id is not an element: zeros are read.
    let ids = [8_i64, 0, 3, 3];
    for &dtype in DType::ALL {
        let x = numbers(&device, dtype);
        let size = dtype.size_in_bytes();
        let whole = x.download_bytes().unwrap();
        for ids_dtype in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
            let mut all: Vec<u8> = ops::cast(device.upload(&ids).unwrap().view(), ids_dtype)
                .unwrap()
                .download_bytes()
                .unwrap();
            let greatest = match ids_dtype {
                DType::U8 | DType::U32 => vec![0xff; ids_dtype.size_in_bytes()],
                _ => {
                    let mut bytes = vec![0xff; ids_dtype.size_in_bytes() - 1];
                    bytes.push(0x7f);
                    bytes
                }
            };
            all.extend(greatest);
            let chosen = DynBuffer::from_bytes(&device, ids_dtype, &all).unwrap();
            for (columns, row, column) in [(16, 20, 1), (16, 16, 1), (20, 20, 1), (5, 1, 18), (7, 20, 2)] {
                let (dims, strides) = ([9, columns], [row, column]);
                let found = ops::index_select(View::new(&x, &dims, &strides), chosen.view(), 0).unwrap();
                let mut expected = Vec::new();
                for id in ids {
                    for at in places(&[columns], &[column], id as usize * row) {
                        expected.extend_from_slice(&whole[at * size..][..size]);
                    }
                }
                expected.resize(expected.len() + columns * size, 0);
                assert!(
                    found.download_bytes().unwrap() == expected,
                    "{dtype} by {ids_dtype}: {dims:?} {strides:?}"
                );
            }
        }
    }
}
