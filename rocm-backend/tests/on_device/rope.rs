//! Rotary embeddings against f64 on the host: exact on small whole numbers, one rounding on others.

use rocm_backend::{DType, DynBuffer, Error, Result, View, ops};

use crate::floats::{NEURAL, contiguous, download, is_near, packed, random, upload, wide_unit};
use crate::support::device;

type Op = fn(View<'_>, View<'_>, View<'_>) -> Result<DynBuffer>;

/// Where the two elements of pair `i` of head `(batch, head, position)` lie.
type Place = fn([usize; 4], [usize; 3], usize) -> [usize; 2];

fn head(dims: [usize; 4], at: [usize; 3]) -> usize {
    ((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3]
}

/// Each variant, and the place of its pairs in `[b, h, t, d]` (thd: `[b, t, h, d]`).
const OPS: &[(&str, Op, Place)] = &[
    ("rope", ops::rope, |dims, at, i| {
        [i, i + dims[3] / 2].map(|i| head(dims, at) + i)
    }),
    ("rope_i", ops::rope_i, |dims, at, i| {
        [2 * i, 2 * i + 1].map(|i| head(dims, at) + i)
    }),
    ("rope_thd", ops::rope_thd, |dims, [b, h, t], i| {
        [i, i + dims[3] / 2].map(|i| head([dims[0], dims[2], dims[1], dims[3]], [b, t, h]) + i)
    }),
];

/// Batches, heads, positions, head dimension.
const SHAPES: &[[usize; 4]] = &[
    [1, 1, 1, 2],
    [2, 3, 1, 4],
    [1, 2, 5, 6],
    [3, 2, 4, 8],
    [2, 1, 3, 66],
    [2, 3, 33, 10],
    [2, 2, 3, 32],
];

/// The host's result: `[x cos - y sin, x sin + y cos]` with the sizes of their terms.
fn turned(case: &Case, place: Place, x: &[f64], cos: &[f64], sin: &[f64]) -> Vec<(f64, f64)> {
    let Case {
        dims,
        is_batched,
        spare,
    } = *case;
    let [b, h, t, d] = dims;
    let mut out = vec![(0.0, 0.0); b * h * t * d];
    for number in 0..b * h * t * d / 2 {
        let (i, rest) = (number % (d / 2), number / (d / 2));
        let at = [rest / t / h, rest / t % h, rest % t];
        let angle = (if is_batched { at[0] * (t + spare) } else { 0 } + at[2]) * (d / 2) + i;
        let [first, second] = place(dims, at, i);
        let (c, s) = (cos[angle], sin[angle]);
        let terms = [(x[first] * c, -x[second] * s), (x[first] * s, x[second] * c)];
        for (to, (one, other)) in [first, second].into_iter().zip(terms) {
            out[to] = (one + other, one.abs() + other.abs());
        }
    }
    out
}

struct Case {
    dims: [usize; 4],
    is_batched: bool,
    /// Positions in cos and sin beyond the input's.
    spare: usize,
}

fn cases() -> impl Iterator<Item = Case> {
    SHAPES.iter().flat_map(|&dims| {
        [(false, 0), (false, 2), (true, 0), (true, 2)].map(|(is_batched, spare)| Case {
            dims,
            is_batched,
            spare,
        })
    })
}

/// Runs `op` on tensors that start at element 1 of their buffers, and at element 0, where whole packs of pairs are turned at once:
/// both results.
fn run(op: Op, name: &str, dtype: DType, case: &Case, [x, cos, sin]: [&[f64]; 3]) -> [Vec<f64>; 2] {
    let device = device();
    let [b, h, t, d] = case.dims;
    let dims = if name == "rope_thd" {
        [b, t, h, d]
    } else {
        case.dims
    };
    let all = [b, t + case.spare, d / 2];
    let angle_dims = if case.is_batched { &all[..] } else { &all[1..] };
    let (strides, angle_strides) = (contiguous(&dims), contiguous(angle_dims));
    [1, 0].map(|offset| {
        let [x, cos, sin] =
            [x, cos, sin].map(|values| upload(&device, dtype, &[&[77.0][..offset], values].concat()));
        let angles = |buffer| packed(buffer, angle_dims, &angle_strides, offset);
        download(&op(packed(&x, &dims, &strides, offset), angles(&cos), angles(&sin)).unwrap())
    })
}

fn counts(case: &Case) -> [usize; 2] {
    let [b, h, t, d] = case.dims;
    let batches = if case.is_batched { b } else { 1 };
    [b * h * t * d, batches * (t + case.spare) * d / 2]
}

#[test]
fn whole_numbers_are_turned_exactly() {
    let device_whole = |count: usize, seed: usize| -> Vec<f64> {
        (0..count)
            .map(|i| ((i * 5 + i / 7 + seed) % 13) as f64 - 6.0)
            .collect()
    };
    for &dtype in NEURAL {
        for case in cases() {
            let [elements, angles] = counts(&case);
            let (x, cos, sin) = (
                device_whole(elements, 1),
                device_whole(angles, 4),
                device_whole(angles, 9),
            );
            for (name, op, place) in OPS {
                let got = run(*op, name, dtype, &case, [&x, &cos, &sin]);
                let want: Vec<f64> = turned(&case, *place, &x, &cos, &sin)
                    .into_iter()
                    .map(|(y, _)| y)
                    .collect();
                let Case {
                    dims,
                    is_batched,
                    spare,
                } = case;
                assert_eq!(
                    got,
                    [want.clone(), want],
                    "{name} of {dtype}, {dims:?}, batched {is_batched}, {spare} spare"
                );
            }
        }
    }
}

#[test]
fn fractions_are_rounded_once() {
    let case = Case {
        dims: [2, 3, 5, 16],
        is_batched: true,
        spare: 0,
    };
    let [elements, angles] = counts(&case);
    for &dtype in NEURAL {
        let x = random(dtype, elements, 5.0, 1);
        let [cos, sin] = [2, 3].map(|seed| random(dtype, angles, 1.0, seed));
        for (name, op, place) in OPS {
            let got = run(*op, name, dtype, &case, [&x, &cos, &sin]);
            assert_eq!(
                got[0], got[1],
                "{name} of {dtype}: pairs and packs of them round alike"
            );
            // Two products and their sum, here and on the host.
            let unit = 2.0 * wide_unit(dtype) + 2.0 * wide_unit(DType::F64);
            let want = turned(&case, *place, &x, &cos, &sin);
            for (got, (want, terms)) in got.iter().flat_map(|got| got.iter().zip(want.iter().copied())) {
                assert!(
                    is_near(dtype, *got, want, unit * terms),
                    "{name} of {dtype}: {got}, expected {want}"
                );
            }
        }
    }
}

#[test]
fn no_elements_give_none() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 4).unwrap();
    let angles = packed(&x, &[2, 2], &[2, 1], 0);
    for (name, op, _) in OPS {
        let empty = packed(&x, &[0, 1, 1, 4], &[4, 4, 4, 1], 0);
        assert!(op(empty, angles, angles).unwrap().is_empty(), "{name}");
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let device = device();
    let [x, halves] = [DType::F32, DType::F16].map(|dtype| DynBuffer::zeros(&device, dtype, 16).unwrap());
    let (input, angles) = (
        packed(&x, &[2, 1, 2, 4], &[8, 8, 4, 1], 0),
        packed(&x, &[2, 2], &[2, 1], 0),
    );
    for (name, op, _) in OPS {
        let refusals = [
            (
                "three dimensions",
                op(packed(&x, &[2, 2, 4], &[8, 4, 1], 0), angles, angles),
            ),
            (
                "a transposed input",
                op(packed(&x, &[2, 1, 4, 4], &[1, 8, 1, 4], 0), angles, angles),
            ),
            (
                "a repeated input",
                op(packed(&x, &[2, 2, 2, 4], &[0, 8, 4, 1], 0), angles, angles),
            ),
            (
                "an odd head",
                op(packed(&x, &[1, 1, 1, 5], &[5, 5, 5, 1], 0), angles, angles),
            ),
            (
                "angles of one dimension",
                op(input, packed(&x, &[4], &[1], 0), angles),
            ),
            (
                "angles of whole heads",
                op(input, angles, packed(&x, &[2, 4], &[4, 1], 0)),
            ),
            (
                "angles of another number of batches",
                op(input, packed(&x, &[3, 2, 2], &[4, 2, 1], 0), angles),
            ),
            (
                "angles for each batch and for all",
                op(input, packed(&x, &[2, 2, 2], &[4, 2, 1], 0), angles),
            ),
            (
                "transposed angles",
                op(input, packed(&x, &[2, 2], &[1, 2], 0), angles),
            ),
            (
                "angles of another dtype",
                op(input, angles, packed(&halves, &[2, 2], &[2, 1], 0)),
            ),
            (
                "outside the buffer",
                op(input, packed(&x, &[2, 2], &[2, 1], 13), angles),
            ),
        ];
        for (what, refusal) in refusals {
            assert!(
                refusal.as_ref().is_err_and(Error::is_invalid),
                "{name}, {what}: {refusal:?}"
            );
        }
        assert!(op(input, angles, angles).is_ok(), "{name}");
    }
    let (one, none) = (
        packed(&x, &[1, 1, 3, 4], &[12, 12, 4, 1], 0),
        packed(&x, &[2, 2], &[2, 1], 0),
    );
    assert!(ops::rope(one, none, none).is_err(), "fewer angles than positions");
}
