//! Operands whose adjacent elements lie along another dimension than the last one: by tiles through LDS they make the bits that contiguous
//! copies of them make, whatever the sides, the batches and the other operand.

use rocm_backend::ops::{self, Binary, Compare, Unary, UnaryParam};
use rocm_backend::{DType, Device, DynBuffer, View, trace};

use crate::floats;
use crate::support::device;

/// The dtypes that have kernels for it.
const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Sizes, strides and the first element of a view into [`LEN`] elements.
type Walk = (&'static [usize], &'static [usize], usize);

const LEN: usize = 1 << 15;

/// Each of one turned operand: less than a tile, more than one down and across, batches outside and inside of what is turned.
const TURNED: &[Walk] = &[
    (&[24, 48], &[1, 24], 0),
    (&[136, 72], &[1, 144], 8),
    (&[16, 264], &[1, 16], 16),
    (&[264, 16], &[1, 264], 0),
    (&[3, 40, 24], &[960, 1, 40], 0),
    (&[48, 2, 32], &[1, 2000, 48], 0),
    (&[2, 2, 24, 40], &[1920, 960, 1, 24], 0),
];

fn numbers(device: &Device, dtype: DType, seed: usize) -> DynBuffer {
    let host: Vec<f64> = (0..LEN)
        .map(|i| ((i * 37 + seed * 11) % 8191) as f64 / 1024.0 - 3.0)
        .collect();
    floats::upload(device, dtype, &host)
}

fn view<'a>(x: &'a DynBuffer, (dims, strides, at): Walk) -> View<'a> {
    View::new(x, dims, strides).at(at)
}

/// The view's elements in row-major order, by copies of single rows.
fn packed(x: &DynBuffer, (dims, strides, at): Walk) -> DynBuffer {
    let bytes = x.download_bytes().unwrap();
    let size = x.dtype().size_in_bytes();
    let mut places = vec![at];
    for (&dim, &stride) in dims.iter().zip(strides) {
        places = places
            .iter()
            .flat_map(|from| (0..dim).map(move |i| from + i * stride))
            .collect();
    }
    let elements: Vec<u8> = places
        .iter()
        .flat_map(|from| &bytes[from * size..(from + 1) * size])
        .copied()
        .collect();
    DynBuffer::from_bytes(x.device(), x.dtype(), &elements).unwrap()
}

/// The bytes of a result, and the kernels that made it.
fn run(device: &Device, call: impl FnOnce() -> rocm_backend::Result<DynBuffer>) -> (Vec<u8>, Vec<String>) {
    trace::take(device);
    let out = call().unwrap();
    let steps = trace::take(device);
    let kernels = steps.iter().map(|step| step.by.to_string()).collect();
    (out.download_bytes().unwrap(), kernels)
}

/// Holds a call on views against the same on contiguous copies, and says which kernels the former ran.
#[track_caller]
fn check(
    device: &Device,
    what: &str,
    call: impl Fn(&[View<'_>]) -> rocm_backend::Result<DynBuffer>,
    inputs: &[(&DynBuffer, Walk)],
) -> Vec<String> {
    let copies: Vec<DynBuffer> = inputs.iter().map(|(x, walk)| packed(x, *walk)).collect();
    let contiguous: Vec<View<'_>> = copies
        .iter()
        .zip(inputs)
        .map(|(copy, (_, walk))| View::contiguous(copy, walk.0))
        .collect();
    let views: Vec<View<'_>> = inputs.iter().map(|(x, walk)| view(x, *walk)).collect();
    let (want, _) = run(device, || call(&contiguous));
    let (got, kernels) = run(device, || call(&views));
    assert!(
        got == want,
        "{what}: {:?}",
        inputs.iter().map(|(_, walk)| walk).collect::<Vec<_>>()
    );
    kernels
}

#[test]
fn functions_of_one_turned_tensor_have_the_bits_of_its_copy() {
    let device = device();
    for dtype in DTYPES {
        let x = numbers(&device, dtype, 1);
        let suffix = dtype.suffix();
        for &walk in TURNED {
            let input = [(&x, walk)];
            for op in Unary::ALL.iter().filter(|op| **op != Unary::Copy) {
                let what = format!("{op:?} {dtype}");
                let kernels = check(&device, &what, |x| ops::unary(*op, x[0]), &input);
                assert_eq!(kernels, [format!("{}_turned_{suffix}", op.name())]);
            }
            for op in UnaryParam::ALL {
                let what = format!("{op:?} {dtype}");
                let kernels = check(&device, &what, |x| ops::unary_param(*op, 1.5, x[0]), &input);
                assert_eq!(kernels, [format!("{}_turned_{suffix}", op.name())]);
            }
            let kernels = check(&device, "affine", |x| ops::affine(x[0], 2.5, -0.5), &input);
            assert_eq!(kernels, [format!("affine_turned_{suffix}")]);
            for to in DTYPES.iter().filter(|to| **to != dtype) {
                let kernels = check(&device, "cast", |x| ops::cast(x[0], *to), &input);
                assert_eq!(kernels, [format!("cast_turned_{suffix}_{}", to.suffix())]);
            }
        }
    }
}

#[test]
fn functions_of_two_tensors_have_the_bits_of_their_copies_whichever_is_turned() {
    let device = device();
    // Beside a turned one: one that is turned as well, a contiguous one, rows that lie apart, a row, a column, one number.
    let pairs: &[[Walk; 2]] = &[
        [(&[136, 72], &[1, 144], 8), (&[136, 72], &[1, 136], 0)],
        [(&[136, 72], &[1, 144], 8), (&[136, 72], &[72, 1], 16)],
        [(&[136, 72], &[1, 144], 8), (&[136, 72], &[80, 1], 0)],
        [(&[136, 72], &[1, 144], 8), (&[136, 72], &[0, 1], 0)],
        [(&[136, 72], &[1, 144], 8), (&[136, 72], &[1, 0], 3)],
        [(&[136, 72], &[1, 144], 8), (&[136, 72], &[0, 0], 5)],
        [(&[3, 40, 24], &[960, 1, 40], 0), (&[3, 40, 24], &[0, 24, 1], 0)],
        [(&[48, 2, 32], &[1, 2000, 48], 0), (&[48, 2, 32], &[64, 32, 1], 0)],
    ];
    for dtype in DTYPES {
        let (x, y) = (numbers(&device, dtype, 1), numbers(&device, dtype, 2));
        let suffix = dtype.suffix();
        for &[turned, other] in pairs {
            for inputs in [[(&x, turned), (&y, other)], [(&x, other), (&y, turned)]] {
                for op in Binary::ALL {
                    let what = format!("{op:?} {dtype}");
                    let kernels = check(&device, &what, |x| ops::binary(*op, x[0], x[1]), &inputs);
                    assert_eq!(kernels, [format!("{}_turned_{suffix}", op.name())]);
                }
                for op in Compare::ALL {
                    let what = format!("{op:?} {dtype}");
                    let kernels = check(&device, &what, |x| ops::compare(*op, x[0], x[1]), &inputs);
                    assert_eq!(kernels, [format!("{}_turned_{suffix}", op.name())]);
                }
            }
        }
    }
}

#[test]
fn a_choice_has_the_bits_of_the_copies_whichever_operand_is_turned() {
    let device = device();
    let chosen: Vec<u8> = (0..LEN).map(|i| u8::from(i * 7 % 5 < 2) * 3).collect();
    let chosen = DynBuffer::from_bytes(&device, DType::U8, &chosen).unwrap();
    let (turned, also): (Walk, Walk) = ((&[136, 72], &[1, 144], 8), (&[136, 72], &[1, 136], 16));
    let (rows, column): (Walk, Walk) = ((&[136, 72], &[80, 1], 0), (&[136, 72], &[1, 0], 3));
    for dtype in DTYPES {
        let (x, y) = (numbers(&device, dtype, 1), numbers(&device, dtype, 2));
        for [c, t, f] in [
            [turned, also, turned],
            [turned, rows, column],
            [rows, turned, also],
            [column, rows, turned],
            [rows, turned, rows],
        ] {
            let call = |x: &[View<'_>]| ops::where_cond(x[0], x[1], x[2]);
            let kernels = check(&device, "where", call, &[(&chosen, c), (&x, t), (&y, f)]);
            assert_eq!(kernels, [format!("where_turned_u8_{}", dtype.suffix())]);
        }
    }
}

#[test]
fn what_is_not_whole_packs_is_copied_first_and_has_the_same_bits() {
    let device = device();
    let walks: &[Walk] = &[
        (&[33, 65], &[1, 33], 0),          // no side is whole packs
        (&[64, 65], &[1, 64], 0),          // nor is a row of the result
        (&[64, 32], &[1, 64], 1),          // begins between two packs
        (&[64, 32], &[1, 65], 0),          // so does the second column
        (&[32, 32, 2], &[1, 32, 1024], 0), // a row of two
    ];
    for dtype in DTYPES {
        let x = numbers(&device, dtype, 1);
        for &walk in walks {
            let kernels = check(&device, "neg", |x| ops::unary(Unary::Neg, x[0]), &[(&x, walk)]);
            let name = format!("uneg_{}", dtype.suffix());
            assert!(kernels.contains(&name), "{walk:?}: {kernels:?}");
        }
    }
    // A dtype without such kernels.
    let x = numbers(&device, DType::F64, 1);
    let kernels = check(
        &device,
        "neg",
        |x| ops::unary(Unary::Neg, x[0]),
        &[(&x, TURNED[0])],
    );
    assert_eq!(kernels, ["transpose_f64", "uneg_f64"]);
}
