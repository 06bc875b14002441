//! Softmax and norms against f64 on the host, within bounds that follow from the number of roundings.

use rocm_backend::{DType, Device, DynBuffer, Error, ops};

use crate::floats::{NEURAL, contiguous, depth, download, is_near, packed, random, upload, wide_unit};
use crate::support::device;

/// Row lengths: around waves, workgroups and what a thread takes.
const COLUMNS: &[usize] = &[1, 2, 31, 32, 33, 65, 127, 129, 257, 1025, 5000];
/// Of whole packs: fewer than threads read together, what a thread holds, and more than a workgroup does.
const WHOLE: &[usize] = &[8, 64, 96, 768, 4096, 16384, 17408];
/// Elements before the rows: none, where rows of whole packs are held in registers, and some that make no pack.
const OFFSETS: [usize; 2] = [0, 3];
const MOST_OFFSET: usize = 8;

/// Rows in a buffer, `offset` elements from its start, so that an offset that is lost shows.
fn rows(device: &Device, dtype: DType, values: &[f64], offset: usize) -> DynBuffer {
    upload(device, dtype, &[&[9.0; MOST_OFFSET][..offset], values].concat())
}

/// Every length of a row at an odd place, and those of whole packs at the start.
fn places() -> impl Iterator<Item = (usize, usize)> {
    let odd = COLUMNS.iter().map(|&columns| (columns, OFFSETS[1]));
    let whole = WHOLE
        .iter()
        .flat_map(|&columns| OFFSETS.map(|offset| (columns, offset)));
    odd.chain(whole.filter(|(columns, offset)| *columns < 1000 || *offset == 0))
}

/// The host's result and how far the device's may be off before it is rounded.
type Row = Vec<(f64, f64)>;

#[track_caller]
fn check(label: &str, dtype: DType, got: &DynBuffer, want: &[Row]) {
    let (got, want) = (download(got), want.concat());
    assert_eq!(got.len(), want.len(), "{label}, {dtype}");
    for (at, (got, (want, error))) in got.iter().zip(want).enumerate() {
        assert!(
            is_near(dtype, *got, want, error),
            "{label}, {dtype}: element {at} is {got}, expected {want} within {error:e}"
        );
    }
}

/// An exponential is good to 3 units in the last place, and its argument has lost half a unit of its own; the sum averages
/// the errors of its terms and adds those of its tree.
fn softmax(dtype: DType, row: &[f64]) -> Row {
    let unit = wide_unit(dtype);
    let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|x| (x - greatest).exp()).collect();
    let errors: Vec<f64> = row.iter().map(|x| (x - greatest).abs() + 6.0).collect();
    let sum: f64 = powers.iter().sum();
    let of_sum = powers.iter().zip(&errors).map(|(p, e)| p * e).sum::<f64>() / sum + depth(row.len());
    let host = row.len() as f64 * wide_unit(DType::F64);
    let result = |(p, e): (&f64, f64)| (p / sum, p / sum * (1.01 * unit * (e + of_sum + 2.0) + host));
    powers.iter().zip(errors).map(result).collect()
}

#[test]
fn softmax_is_the_hosts_within_its_roundings() {
    let device = device();
    for &dtype in NEURAL {
        for (columns, offset) in places() {
            let values = random(dtype, 3 * columns, 10.0, columns as u64);
            let x = rows(&device, dtype, &values, offset);
            let dims = [3, columns];
            let got = ops::softmax_last_dim(packed(&x, &dims, &contiguous(&dims), offset)).unwrap();
            let want: Vec<Row> = values
                .chunks_exact(columns)
                .map(|row| softmax(dtype, row))
                .collect();
            check(&format!("rows of {columns}"), dtype, &got, &want);
        }
    }
}

#[test]
fn softmax_of_equal_elements_is_one_over_their_number() {
    let device = device();
    for (&dtype, columns) in NEURAL
        .iter()
        .flat_map(|dtype| [1_usize, 4, 1024, 8192].map(|n| (dtype, n)))
    {
        for value in [0.0, -300.0, 300.0] {
            let x = upload(&device, dtype, &vec![value; columns]);
            let got = download(&ops::softmax_last_dim(packed(&x, &[columns], &[1], 0)).unwrap());
            assert!(
                got.iter().all(|&y| y == 1.0 / columns as f64),
                "{dtype}, {columns} of {value}: {}",
                got[0]
            );
        }
    }
}

#[test]
fn softmax_of_infinities_and_nan_is_nan_where_it_is_undefined() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let device = device();
    for &dtype in NEURAL {
        for (row, want) in [
            ([-inf, -inf, -inf], [nan, nan, nan]),
            ([0.0, -inf, 0.0], [0.5, 0.0, 0.5]),
            ([0.0, inf, 0.0], [0.0, nan, 0.0]),
            ([0.0, nan, inf], [nan, nan, nan]),
        ] {
            let x = upload(&device, dtype, &row);
            let got = download(&ops::softmax_last_dim(packed(&x, &[3], &[1], 0)).unwrap());
            // Beside an infinity the others are 0 / NaN.
            let want = if row.contains(&inf) { [nan; 3] } else { want };
            let same = got
                .iter()
                .zip(want)
                .all(|(got, want)| *got == want || (got.is_nan() && want.is_nan()));
            assert!(same, "{dtype}: {got:?} of {row:?}");
        }
    }
}

/// The sum of squares has the error of its tree and of each square, of which the root takes half; then come a mean, an
/// addition, a root, a reciprocal and two products.
fn rms(dtype: DType, row: &[f64], alpha: &[f64], eps: f32) -> Row {
    let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
    let scale = 1.0 / (mean + f64::from(eps)).sqrt();
    let error = 1.01 * ((depth(row.len()) + 3.0) / 2.0 + 4.0) * wide_unit(dtype)
        + row.len() as f64 * wide_unit(DType::F64);
    let result = |(x, a): (&f64, &f64)| (x * scale * a, (x * scale * a).abs() * error);
    row.iter().zip(alpha).map(result).collect()
}

#[test]
fn rms_norm_is_the_hosts_within_its_roundings() {
    let device = device();
    for &dtype in NEURAL {
        for ((columns, offset), eps) in places().flat_map(|place| [0.0, 1e-5, 0.5].map(|eps| (place, eps))) {
            let values = random(dtype, 3 * columns, 4.0, columns as u64);
            let weights = random(dtype, columns, 2.0, 11);
            let (x, alpha) = (
                rows(&device, dtype, &values, offset),
                rows(&device, dtype, &weights, OFFSETS[1]),
            );
            let (dims, columns_dims) = ([3, 1, columns], [columns]);
            let got = ops::rms_norm(
                packed(&x, &dims, &contiguous(&dims), offset),
                packed(&alpha, &columns_dims, &[1], OFFSETS[1]),
                eps,
            )
            .unwrap();
            let want: Vec<Row> = values
                .chunks_exact(columns)
                .map(|row| rms(dtype, row, &weights, eps))
                .collect();
            check(&format!("rows of {columns}, eps {eps}"), dtype, &got, &want);
        }
    }
}

/// The mean is off by its tree; each difference by that and a rounding; the variance by what that does to the squares
/// and by its own tree; the scale by half of the variance's relative error and three roundings.
fn layer(dtype: DType, row: &[f64], [alpha, beta]: [&[f64]; 2], eps: f32) -> Row {
    let unit = wide_unit(dtype) + row.len() as f64 * wide_unit(DType::F64) / depth(row.len());
    let count = row.len() as f64;
    let mean_of = |f: &dyn Fn(&f64) -> f64| row.iter().map(f).sum::<f64>() / count;
    let mean = mean_of(&|x| *x);
    let off_mean = (depth(row.len()) + 1.0) * unit * mean_of(&|x| x.abs());
    let widest = row.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
    let off = off_mean + unit * widest;
    let variance = mean_of(&|x| (x - mean).powi(2));
    let off_variance =
        2.0 * off * mean_of(&|x| (x - mean).abs()) + off * off + (depth(row.len()) + 3.0) * unit * variance;
    let total = variance + f64::from(eps);
    let (scale, off_scale) = (1.0 / total.sqrt(), off_variance / total / 2.0 + 3.0 * unit);
    let result = |(x, (a, b)): (&f64, (&f64, &f64))| {
        let part = (x - mean) * scale * a;
        let error = off * scale * a.abs() + part.abs() * (off_scale + 3.0 * unit) + unit * (part + b).abs();
        (part + b, 1.05 * error)
    };
    row.iter().zip(alpha.iter().zip(beta)).map(result).collect()
}

#[test]
fn layer_norm_is_the_hosts_within_its_roundings_whatever_the_mean() {
    let device = device();
    for &dtype in NEURAL {
        let means: &[f64] = if matches!(dtype, DType::BF16 | DType::F16) {
            &[0.0, 3.0]
        } else {
            &[0.0, 3.0, 3000.0]
        };
        for ((columns, offset), &mean) in places()
            .skip(1)
            .flat_map(|place| means.iter().map(move |mean| (place, mean)))
        {
            let round = |value| crate::floats::rounded(dtype, value);
            let values: Vec<f64> = random(dtype, 3 * columns, 2.0, columns as u64)
                .iter()
                .map(|x| round(x + mean))
                .collect();
            let weights = [random(dtype, columns, 2.0, 11), random(dtype, columns, 2.0, 12)];
            let x = rows(&device, dtype, &values, offset);
            let [alpha, beta] = weights
                .each_ref()
                .map(|values| rows(&device, dtype, values, offset));
            let (dims, columns_dims) = ([3, columns], [columns]);
            let weight = |buffer| packed(buffer, &columns_dims, &[1], offset);
            let strides = [columns, 1];
            let x = packed(&x, &dims, &strides, offset);
            let got = ops::layer_norm(x, weight(&alpha), weight(&beta), 1e-5).unwrap();
            let weights = weights.each_ref().map(Vec::as_slice);
            let want: Vec<Row> = values
                .chunks_exact(columns)
                .map(|row| layer(dtype, row, weights, 1e-5))
                .collect();
            check(&format!("rows of {columns} about {mean}"), dtype, &got, &want);
        }
    }
}

#[test]
fn eps_decides_what_becomes_of_a_row_without_spread() {
    let device = device();
    for &dtype in NEURAL {
        let zeros = upload(&device, dtype, &[0.0; 6]);
        let ones = upload(&device, dtype, &[1.0; 6]);
        let (x, alpha) = (packed(&zeros, &[6], &[1], 0), packed(&ones, &[6], &[1], 0));
        for (eps, is_nan) in [(1e-5, false), (0.0, true)] {
            let rms = download(&ops::rms_norm(x, alpha, eps).unwrap());
            let layer = download(&ops::layer_norm(alpha, alpha, x, eps).unwrap());
            for got in [rms, layer] {
                let as_wanted = got.iter().all(|y| if is_nan { y.is_nan() } else { *y == 0.0 });
                assert!(as_wanted, "{dtype}, eps {eps}: {got:?}");
            }
        }
    }
}

#[test]
fn no_elements_give_none() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::F32, 0).unwrap();
    let alpha = DynBuffer::zeros(&device, DType::F32, 4).unwrap();
    let alpha = packed(&alpha, &[4], &[1], 0);
    let empty = packed(&x, &[0, 4], &[4, 1], 0);
    assert!(ops::softmax_last_dim(empty).unwrap().is_empty());
    assert!(
        ops::softmax_last_dim(packed(&x, &[3, 0], &[0, 1], 0))
            .unwrap()
            .is_empty()
    );
    assert!(ops::rms_norm(empty, alpha, 0.0).unwrap().is_empty());
    assert!(ops::layer_norm(empty, alpha, alpha, 0.0).unwrap().is_empty());
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let device = device();
    let [x, halves] = [DType::F32, DType::F16].map(|dtype| DynBuffer::zeros(&device, dtype, 12).unwrap());
    let rows = packed(&x, &[3, 4], &[4, 1], 0);
    let alpha = packed(&x, &[4], &[1], 0);
    let refusals = [
        (
            "transposed rows",
            ops::softmax_last_dim(packed(&x, &[4, 3], &[1, 4], 0)),
        ),
        (
            "repeated rows",
            ops::softmax_last_dim(packed(&x, &[3, 4], &[0, 1], 0)),
        ),
        ("no dimensions", ops::softmax_last_dim(packed(&x, &[], &[], 0))),
        (
            "stepped rows",
            ops::rms_norm(packed(&x, &[3, 2], &[4, 2], 0), packed(&x, &[2], &[1], 0), 0.0),
        ),
        (
            "stepped weights",
            ops::rms_norm(rows, packed(&x, &[4], &[2], 0), 0.0),
        ),
        (
            "short weights",
            ops::rms_norm(rows, packed(&x, &[3], &[1], 0), 0.0),
        ),
        (
            "weights of two dimensions",
            ops::rms_norm(rows, packed(&x, &[1, 4], &[4, 1], 0), 0.0),
        ),
        (
            "weights of another dtype",
            ops::rms_norm(rows, packed(&halves, &[4], &[1], 0), 0.0),
        ),
        (
            "a short shift",
            ops::layer_norm(rows, alpha, packed(&x, &[3], &[1], 0), 0.0),
        ),
        (
            "outside the buffer",
            ops::layer_norm(packed(&x, &[3, 4], &[4, 1], 1), alpha, alpha, 0.0),
        ),
    ];
    for (what, refusal) in refusals {
        assert!(
            refusal.as_ref().is_err_and(Error::is_invalid),
            "{what}: {refusal:?}"
        );
    }
    assert!(ops::layer_norm(rows, alpha, alpha, 0.0).is_ok());
}

#[test]
fn a_dtype_without_a_kernel_is_unsupported() {
    let device = device();
    for &dtype in DType::ALL {
        let x = DynBuffer::zeros(&device, dtype, 4).unwrap();
        let answer = ops::softmax_last_dim(packed(&x, &[4], &[1], 0));
        assert_eq!(answer.is_ok(), NEURAL.contains(&dtype), "{dtype}: {answer:?}");
        if let Err(error) = answer {
            assert_eq!(
                error.to_string(),
                format!("rocm has no kernel for `softmax` on {dtype}")
            );
        }
    }
}
