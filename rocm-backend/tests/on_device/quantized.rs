//! Tensors of ggml's formats, against blocks that the host wrote and products in f64.

use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, Error, GgmlType, Result, View, ops};

use crate::ggml_blocks::{Coded, PRODUCTS, Random, Values, blocks};
use crate::support::{device, download, flat, upload};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// A format's block, or 32 weights of one without blocks.
fn unit(ty: GgmlType) -> usize {
    ty.block_len().max(32)
}

/// `count` weights.
fn weights(ty: GgmlType, count: usize, values: Values, random: &mut Random) -> Coded {
    blocks(ty, &vec![values; count / ty.block_len()], random)
}

fn upload_bytes(device: &Device, bytes: &[u8]) -> DynBuffer {
    DynBuffer::from_bytes(device, DType::U8, bytes).unwrap()
}

fn round(x: f32, dtype: DType) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(x).into(),
        DType::BF16 => bf16::from_f32(x).into(),
        _ => x,
    }
}

/// Activations in `dtype`, which they are exact in, behind `offset` elements that nothing may read.
fn upload_activations(device: &Device, x: &[f32], dtype: DType, offset: usize) -> DynBuffer {
    let all: Vec<f32> = vec![f32::NAN; offset]
        .into_iter()
        .chain(x.iter().copied())
        .collect();
    match dtype {
        DType::F16 => upload(device, &all.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>()),
        DType::BF16 => upload(
            device,
            &all.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>(),
        ),
        _ => upload(device, &all),
    }
}

fn download_floats(buffer: &DynBuffer) -> Vec<f32> {
    match buffer.dtype() {
        DType::F16 => download::<f16>(buffer).into_iter().map(f32::from).collect(),
        DType::BF16 => download::<bf16>(buffer).into_iter().map(f32::from).collect(),
        _ => download(buffer),
    }
}

fn qmatmul(
    ty: GgmlType,
    blocks: &DynBuffer,
    nk: (usize, usize),
    x: &DynBuffer,
    rows: usize,
    offset: usize,
) -> Result<DynBuffer> {
    ops::qmatmul(ty, blocks, nk, View::contiguous(x, &[rows, nk.1]).at(offset))
}

/// Half a step of the last bit of 1 in a dtype.
fn rounding(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2.0_f64.powi(-11),
        DType::BF16 => 2.0_f64.powi(-8),
        _ => 2.0_f64.powi(-24),
    }
}

/// The product of two rows, and how far from it a result may be: for a quantized activation half a step of its block,
/// and the rounding of that step to f16; a rounding of f32 for each term; one rounding to the dtype.
fn expected(w: &[f32], x: &[f32], is_quantized: bool, dtype: DType) -> (f64, f64) {
    let (mut product, mut error, mut size) = (0.0, 0.0, 0.0);
    for (w, x) in w.chunks(32).zip(x.chunks(32)) {
        let largest = x
            .iter()
            .fold(0.0_f64, |largest, &x| largest.max(f64::from(x).abs()));
        for (&w, &x) in w.iter().zip(x) {
            let (w, x) = (f64::from(w), f64::from(x));
            product += w * x;
            size += (w * x).abs();
            if is_quantized {
                error +=
                    w.abs() * 1.001 * (largest / 254.0 + x.abs() * rounding(DType::F16) + 2.0_f64.powi(-24));
            }
        }
    }
    error += size * rounding(DType::F32) * w.len() as f64;
    (product, error + product.abs() * rounding(dtype) * 1.01 + 1e-7)
}

#[track_caller]
fn assert_near(got: f32, (expected, limit): (f64, f64), what: &str) {
    assert!(
        (f64::from(got) - expected).abs() <= limit,
        "{what}: {got}, expected {expected} within {limit}"
    );
}

#[test]
fn blocks_become_the_weights_they_mean_bit_for_bit() {
    use Values::{Any, Exact, Huge, Zero};
    let device = device();
    for &ty in GgmlType::ALL {
        // More than a workgroup of the wider packs takes at once: 32 blocks of 256.
        let many = vec![Any; 10_000 / ty.block_len()];
        for values in [&[Any][..], &[Huge, Zero], &[Any, Zero, Huge], &[Exact; 9], &many] {
            let coded = blocks(ty, values, &mut Random(7));
            let buffer = upload_bytes(&device, &coded.bytes);
            let floats = |to| ops::dequantize(ty, &buffer, coded.weights.len(), to).unwrap();
            let bits = |floats: &[f32]| floats.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let halves = |halves: &[f16]| halves.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(
                bits(&download::<f32>(&floats(DType::F32))),
                bits(&coded.weights),
                "{} f32 {} blocks",
                ty.name(),
                values.len()
            );
            let expected: Vec<f16> = coded.weights.iter().map(|&x| f16::from_f32(x)).collect();
            assert_eq!(
                halves(&download::<f16>(&floats(DType::F16))),
                halves(&expected),
                "{} f16 {} blocks",
                ty.name(),
                values.len()
            );
        }
    }
}

#[test]
fn one_changed_bit_of_a_block_changes_a_weight() {
    let device = device();
    for &ty in GgmlType::ALL {
        let coded = weights(ty, unit(ty), Values::Any, &mut Random(3));
        for at in [0, ty.block_bytes() / 2] {
            let mut bytes = coded.bytes.clone();
            bytes[at] ^= 2;
            let changed = ops::dequantize(
                ty,
                &upload_bytes(&device, &bytes),
                coded.weights.len(),
                DType::F32,
            );
            assert_ne!(
                download::<f32>(&changed.unwrap()),
                coded.weights,
                "{} byte {at}",
                ty.name()
            );
        }
    }
}

#[test]
fn products_are_near_the_exact_ones_in_every_format_dtype_and_kernel() {
    let device = device();
    // Rows of activations, rows of weights, blocks in a row.
    let shapes = [
        (1, 7, 1),
        (1, 5, 3),
        (2, 67, 2),
        (8, 5, 3),
        (9, 67, 1),
        (33, 5, 2),
    ];
    for (t, &ty) in GgmlType::ALL.iter().enumerate() {
        for (s, (m, n, count)) in shapes.into_iter().enumerate() {
            let dtype = FLOATS[(t + s) % 3];
            let k = count * unit(ty);
            let mut random = Random((t * 100 + s) as u64);
            let coded = weights(ty, n * k, Values::Any, &mut random);
            let x: Vec<f32> = (0..m * k).map(|_| round(random.unit(), dtype)).collect();
            let buffer = upload_bytes(&device, &coded.bytes);
            let activations = upload_activations(&device, &x, dtype, s);
            let out = qmatmul(ty, &buffer, (n, k), &activations, m, s).unwrap();
            assert_eq!((out.dtype(), out.len()), (dtype, m * n));
            for (i, got) in download_floats(&out).into_iter().enumerate() {
                let (w, x) = (&coded.weights[i % n * k..][..k], &x[i / n * k..][..k]);
                let what = format!("{} {dtype} {m}x{k}x{n} element {i}", ty.name());
                assert_near(got, expected(w, x, PRODUCTS.contains(&ty), dtype), &what);
            }
        }
    }
}

#[test]
fn a_row_that_its_workgroups_quantize_gives_the_bits_of_one_quantized_before() {
    let device = device();
    // Rows of weights and activations in a row: one turn and many of a workgroup's rows, one, an even and an odd number of turns of a lane,
    // and the first length that LDS has no room for, where both are quantized before.
    for (n, k) in [
        (1, 256),
        (67, 768),
        (600, 2048),
        (5, 3328),
        (2, 32768),
        (2, 33024),
    ] {
        for (t, &ty) in PRODUCTS.iter().enumerate() {
            for (d, dtype) in FLOATS.into_iter().enumerate() {
                if k > 4096 && t % 3 != d {
                    continue;
                }
                let mut random = Random((t * 3 + d) as u64);
                let coded = weights(ty, n * k, Values::Any, &mut random);
                let buffer = upload_bytes(&device, &coded.bytes);
                let x: Vec<f32> = (0..2 * k).map(|_| round(random.unit(), dtype)).collect();
                let product = |rows: usize| {
                    let activations = upload_activations(&device, &x, dtype, rows);
                    let out = qmatmul(ty, &buffer, (n, k), &activations, rows, rows).unwrap();
                    let floats = download_floats(&out);
                    floats[..n].iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                };
                assert_eq!(product(1), product(2), "{} {dtype} {n}x{k}", ty.name());
            }
        }
    }
}

#[test]
fn products_of_numbers_that_fit_are_exact() {
    let device = device();
    for &ty in GgmlType::ALL {
        for (m, n, count) in [(3, 6, 2), (8, 3, 1), (65, 66, 1)] {
            let k = count * unit(ty);
            let mut random = Random(11);
            let coded = weights(ty, n * k, Values::Exact, &mut random);
            // 127 in each block makes its step 1.
            let x: Vec<f32> = (0..m * k)
                .map(|i| {
                    if i % 32 == i / k % 32 {
                        127.0
                    } else {
                        random.below(7) as f32 - 3.0
                    }
                })
                .collect();
            let buffer = upload_bytes(&device, &coded.bytes);
            let out = qmatmul(ty, &buffer, (n, k), &upload(&device, &x), m, 0).unwrap();
            for (i, got) in download::<f32>(&out).into_iter().enumerate() {
                let terms = coded.weights[i % n * k..][..k].iter().zip(&x[i / n * k..][..k]);
                let exact: f64 = terms.map(|(&w, &x)| f64::from(w) * f64::from(x)).sum();
                assert_eq!(f64::from(got), exact, "{} {m}x{k}x{n} element {i}", ty.name());
            }
        }
    }
}

#[test]
fn activations_go_to_the_nearest_step_of_their_block_halves_away_from_zero() {
    let device = device();
    for (m, x, step) in [(1, 2.4_f32, 2.0), (9, 2.6, 3.0), (1, -2.5, -3.0), (9, 0.5, 1.0)] {
        // One weight of 1 in q8_0; 127 beside it makes the step 1.
        let mut block = vec![0; 34];
        block[..2].copy_from_slice(&f16::ONE.to_le_bytes());
        block[2 + 7] = 1;
        let mut row = [0.0; 32];
        (row[7], row[8]) = (x, 127.0);
        let buffer = upload_bytes(&device, &block);
        let out = qmatmul(
            GgmlType::Q8_0,
            &buffer,
            (1, 32),
            &upload(&device, &row.repeat(m)),
            m,
            0,
        );
        assert_eq!(download::<f32>(&out.unwrap()), vec![step; m], "{x}");
    }
}

#[test]
fn a_block_of_zeros_gives_zeros_and_huge_scales_stay_finite() {
    let device = device();
    for &ty in PRODUCTS {
        let k = 2 * unit(ty);
        let zeros = upload_bytes(&device, &vec![0; 3 * k / ty.block_len() * ty.block_bytes()]);
        let x = upload(&device, &vec![0.5_f32; 9 * k]);
        for m in [1, 9] {
            let out = qmatmul(ty, &zeros, (3, k), &x, m, 0).unwrap();
            assert_eq!(download::<f32>(&out), vec![0.0; m * 3], "{}", ty.name());
        }
        let coded = weights(ty, k, Values::Huge, &mut Random(1));
        let out = qmatmul(ty, &upload_bytes(&device, &coded.bytes), (1, k), &x, 1, 0).unwrap();
        let (product, limit) = expected(&coded.weights, &vec![0.5; k], true, DType::F32);
        assert!(product.abs() > 1e6, "{}: {product} is not huge", ty.name());
        assert_near(download::<f32>(&out)[0], (product, limit), ty.name());
    }
}

#[test]
fn a_nan_among_the_activations_reaches_its_row_and_no_other() {
    let device = device();
    for &ty in &[GgmlType::Q4_0, GgmlType::Q6K] {
        let k = 2 * unit(ty);
        let coded = weights(ty, 5 * k, Values::Any, &mut Random(2));
        let buffer = upload_bytes(&device, &coded.bytes);
        for m in [2, 9] {
            let mut x = vec![0.5_f32; m * k];
            x[k + 33] = f32::NAN;
            let out = qmatmul(ty, &buffer, (5, k), &upload(&device, &x), m, 0).unwrap();
            for (i, got) in download::<f32>(&out).into_iter().enumerate() {
                assert_eq!(
                    got.is_nan(),
                    i / 5 == 1,
                    "{} {m} rows, element {i}: {got}",
                    ty.name()
                );
            }
        }
    }
}

#[test]
fn a_product_with_one_row_can_keep_its_activations() {
    let device = device();
    for &ty in GgmlType::ALL {
        let (n, k) = (5, 3 * unit(ty));
        let mut random = Random(5);
        let coded = weights(ty, n * k, Values::Any, &mut random);
        let buffer = upload_bytes(&device, &coded.bytes);
        let x: Vec<f32> = (0..k).map(|_| random.unit()).collect();
        let activations = upload(&device, &x);
        let out = ops::dequantize_mat_vec(ty, &buffer, (n, k), flat(&activations, &[k]));
        if !PRODUCTS.contains(&ty) {
            assert!(matches!(out, Err(Error::Unsupported { .. })), "{}", ty.name());
            continue;
        }
        for (row, got) in download::<f32>(&out.unwrap()).into_iter().enumerate() {
            assert_near(
                got,
                expected(&coded.weights[row * k..][..k], &x, false, DType::F32),
                ty.name(),
            );
        }
    }
}

#[test]
fn rows_are_the_ones_of_their_ids() {
    let device = device();
    let ids = [3_u32, 0, 4, 4, 1];
    for &ty in GgmlType::ALL {
        for hidden in [ty.block_len(), 3 * ty.block_len(), 5 * unit(ty)] {
            let coded = weights(ty, 5 * hidden, Values::Any, &mut Random(9));
            let buffer = upload_bytes(&device, &coded.bytes);
            let on_device = upload(&device, &[&[99], &ids[..]].concat());
            let view = View::new(&on_device, &[5], &[1]).at(1);
            let out = ops::get_rows(ty, &buffer, (5, hidden), view).unwrap();
            let expected: Vec<f32> = ids
                .iter()
                .flat_map(|&id| coded.weights[id as usize * hidden..][..hidden].to_vec())
                .collect();
            assert_eq!(download::<f32>(&out), expected, "{} rows of {hidden}", ty.name());
        }
    }
}

#[test]
fn an_id_out_of_range_is_refused_with_its_value_and_bound() {
    let device = device();
    let ty = GgmlType::Q8_0;
    let buffer = upload_bytes(&device, &[0; 5 * 34]);
    let rows = |ids: &[u32]| {
        let ids = upload(&device, ids);
        ops::get_rows(ty, &buffer, (5, 32), flat(&ids, &[ids.len()]))
    };
    assert_eq!(
        rows(&[1, 5, 0]).unwrap_err().to_string(),
        "get_rows: id 5 at position 1 of the ids is outside a dimension of 5"
    );
    assert!(rows(&[u32::MAX]).is_err());
    assert_eq!(rows(&[4, 0]).unwrap().len(), 64);
    assert_eq!(rows(&[]).unwrap().len(), 0);
}

#[test]
fn each_token_meets_the_experts_it_chose() {
    let device = device();
    let (experts, n, tokens, topk) = (3, 5, 2, 2);
    let ids = [2_u32, 0, 1, 2];
    for &ty in GgmlType::ALL {
        for rows_a_token in [1, topk] {
            let k = 2 * unit(ty);
            let mut random = Random(4);
            let coded = weights(ty, experts * n * k, Values::Any, &mut random);
            let buffer = upload_bytes(&device, &coded.bytes);
            let x: Vec<f32> = (0..tokens * rows_a_token * k).map(|_| random.unit()).collect();
            let (activations, on_device) = (upload(&device, &x), upload(&device, &ids));
            let (dims, ids_dims) = ([tokens, rows_a_token, k], [tokens, topk]);
            let x_view = View::contiguous(&activations, &dims);
            let ids_view = View::contiguous(&on_device, &ids_dims);
            let out = ops::indexed_moe(ty, &buffer, (experts, n, k), x_view, ids_view);
            if !matches!(ty, GgmlType::Q8_0) && !ty.name().ends_with("_K") || ty == GgmlType::Q8K {
                assert!(matches!(out, Err(Error::Unsupported { .. })), "{}", ty.name());
                continue;
            }
            for (i, got) in download::<f32>(&out.unwrap()).into_iter().enumerate() {
                let (task, row) = (i / n, i % n);
                let input = if rows_a_token == 1 { task / topk } else { task };
                let w = &coded.weights[(ids[task] as usize * n + row) * k..][..k];
                let what = format!("{} {rows_a_token} rows a token, element {i}", ty.name());
                assert_near(got, expected(w, &x[input * k..][..k], true, DType::F32), &what);
            }
            let beyond = ops::indexed_moe(ty, &buffer, (2, n, k), x_view, ids_view).unwrap_err();
            assert!(
                beyond
                    .to_string()
                    .contains("id 2 at position 0 of the ids is outside a dimension of 2"),
                "{beyond}"
            );
        }
    }
}

/// The transpose of a matrix of `rows` rows.
fn transposed<T: Copy>(x: &[T], rows: usize) -> Vec<T> {
    let columns = x.len() / rows;
    (0..x.len()).map(|i| x[i % rows * columns + i / rows]).collect()
}

#[test]
fn activations_and_ids_that_are_views_give_what_their_copies_give() {
    let device = device();
    let (ty, k, n) = (GgmlType::Q4K, 256, 3);
    let mut random = Random(6);
    let coded = weights(ty, 2 * n * k, Values::Any, &mut random);
    let (one, both) = (
        upload_bytes(&device, &coded.bytes[..coded.bytes.len() / 2]),
        upload_bytes(&device, &coded.bytes),
    );
    let x: Vec<f32> = (0..4 * k).map(|_| random.unit()).collect();
    let ids = [1_u32, 0, 0, 1, 1, 1, 0, 1];
    let (rows, turned) = (upload(&device, &x), upload(&device, &transposed(&x, 4)));
    let (named, named_turned) = (upload(&device, &ids), upload(&device, &transposed(&ids, 4)));

    let plain = qmatmul(ty, &one, (n, k), &rows, 4, 0).unwrap();
    let viewed = ops::qmatmul(ty, &one, (n, k), View::new(&turned, &[4, k], &[1, 4])).unwrap();
    assert_eq!(download::<f32>(&viewed), download::<f32>(&plain));

    let experts = |x: View<'_>, ids: View<'_>| {
        let out = ops::indexed_moe(ty, &both, (2, n, k), x, ids).unwrap();
        download::<f32>(&out)
    };
    let plain = experts(
        View::contiguous(&rows, &[4, 1, k]),
        View::contiguous(&named, &[4, 2]),
    );
    let viewed = experts(
        View::new(&turned, &[4, 1, k], &[1, 4, 4]),
        View::new(&named_turned, &[4, 2], &[1, 4]),
    );
    assert_eq!(viewed, plain);
}

#[test]
fn tensors_without_elements_give_results_without_elements_or_zeros() {
    let device = device();
    let (ty, none) = (GgmlType::Q4K, upload_bytes(&device, &[]));
    let x = upload::<f32>(&device, &[]);
    assert_eq!(
        download::<f32>(&qmatmul(ty, &none, (3, 0), &x, 2, 0).unwrap()),
        [0.0; 6]
    );
    assert_eq!(qmatmul(ty, &none, (0, 256), &x, 0, 0).unwrap().len(), 0);
    assert_eq!(ops::dequantize(ty, &none, 0, DType::F16).unwrap().len(), 0);
    let block = upload_bytes(&device, &[0; 144]);
    assert_eq!(qmatmul(ty, &block, (1, 256), &x, 0, 0).unwrap().len(), 0);
}

#[test]
fn shapes_and_dtypes_that_do_not_fit_are_refused() {
    let device = device();
    let ty = GgmlType::Q4_0;
    let buffer = upload_bytes(&device, &[0; 36]);
    let x = upload(&device, &[0.0_f32; 128]);
    let refusal = |result: Result<DynBuffer>| result.unwrap_err().to_string();
    assert_eq!(
        refusal(ops::dequantize(ty, &buffer, 33, DType::F32)),
        "dequantize: rows of 33 are not whole blocks of q4_0, which hold 32"
    );
    assert_eq!(
        refusal(ops::dequantize(ty, &buffer, 96, DType::F32)),
        "dequantize: 1 rows of 96 weights of q4_0 are more than 36 bytes"
    );
    assert!(
        refusal(ops::dequantize(ty, &x, 32, DType::F32)).contains("elements of f32 where u8 is expected")
    );
    assert!(matches!(
        ops::dequantize(ty, &buffer, 32, DType::F64),
        Err(Error::Unsupported { .. })
    ));
    assert!(refusal(qmatmul(ty, &buffer, (2, 64), &x, 1, 0)).contains("more than 36 bytes"));
    assert!(refusal(qmatmul(ty, &buffer, (2, 32), &x, 4, 1)).contains("reaches element 128"));
    let columns = View::new(&x, &[4, 32], &[1, 4]);
    assert!(refusal(ops::qmatmul(ty, &buffer, (1, 64), columns)).contains("activations of [4, 32]"));
    let ints = DynBuffer::zeros(&device, DType::I32, 32).unwrap();
    assert!(matches!(
        qmatmul(ty, &buffer, (2, 32), &ints, 1, 0),
        Err(Error::Unsupported { .. })
    ));
    assert!(qmatmul(ty, &buffer, (2, 32), &x, 4, 0).is_ok());
}
