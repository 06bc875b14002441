//! Products by experts against a loop on the host.

use half::{bf16, f16};
use rocm_backend::ops::{self, Routes};
use rocm_backend::{DType, Device, DynBuffer, Error, GgmlType, View};

use crate::ggml_blocks::{Random, Values, blocks};
use crate::support::{Element, device, download, upload};

fn view<'a>(buffer: &'a DynBuffer, dims: &'a [usize], strides: &'a [usize]) -> View<'a> {
    View::new(buffer, dims, strides)
}

fn unweighted<'a>(token_ids: &'a DynBuffer, expert_ids: &'a DynBuffer, topk: usize) -> Routes<'a> {
    Routes {
        topk_weights: None,
        token_ids: token_ids.view(),
        expert_ids: expert_ids.view(),
        topk,
    }
}

/// A problem: 5 experts; tokens in an order of their own, as sorted by expert.
struct Problem {
    rows: usize,
    n: usize,
    k: usize,
    topk: usize,
    is_weighted: bool,
}

const EXPERTS: usize = 5;

impl Problem {
    fn m(&self) -> usize {
        if self.is_weighted {
            self.rows
        } else {
            self.rows * self.topk
        }
    }

    fn tokens(&self) -> Vec<u32> {
        let m = self.m() as u32;
        (0..m).map(|i| (i * 7 + 3) % m).collect()
    }

    fn experts(&self) -> Vec<u32> {
        (0..self.m() as u32).map(|i| i * i % EXPERTS as u32).collect()
    }

    fn run<T: Element>(
        &self,
        device: &Device,
        input: &[T],
        weights: &[T],
        scale: &[f32],
    ) -> Result<DynBuffer, Error> {
        let (input, weights) = (upload(device, input), upload(device, weights));
        let (tokens, experts) = (upload(device, &self.tokens()), upload(device, &self.experts()));
        let scale = upload(device, scale);
        let m = [self.m()];
        ops::moe_gemm(
            view(&input, &[self.rows, self.k], &[self.k, 1]),
            view(
                &weights,
                &[EXPERTS, self.n, self.k],
                &[self.n * self.k, self.k, 1],
            ),
            Routes {
                topk_weights: self.is_weighted.then(|| View::contiguous(&scale, &m)),
                token_ids: tokens.view(),
                expert_ids: experts.view(),
                topk: self.topk,
            },
        )
    }
}

fn check<T: Element>(problem: &Problem) {
    let Problem {
        rows,
        n,
        k,
        topk,
        is_weighted,
    } = *problem;
    let number = |i: usize, seed: usize| ((i * 5 + seed) % 7) as i32 - 3;
    let input: Vec<T> = (0..rows * k).map(|i| T::small(number(i, 1))).collect();
    let weights: Vec<T> = (0..EXPERTS * n * k).map(|i| T::small(number(i, 4))).collect();
    let scale: Vec<f32> = (0..problem.m()).map(|i| [0.5, 1.0, 2.0][i % 3]).collect();
    let out = problem.run(&device(), &input, &weights, &scale).unwrap();
    let mut want = vec![0.0; problem.m() * n];
    for (token, expert) in problem.tokens().into_iter().zip(problem.experts()) {
        let (token, expert) = (token as usize, expert as usize);
        let row = if is_weighted { token } else { token / topk };
        for col in 0..n {
            let terms = (0..k).map(|at| number(row * k + at, 1) * number((expert * n + col) * k + at, 4));
            let factor = if is_weighted { scale[token] } else { 1.0 };
            want[token * n + col] = terms.sum::<i32>() as f32 * factor;
        }
    }
    let mut bytes = Vec::new();
    download::<T>(&out).into_iter().for_each(|x| x.push(&mut bytes));
    let got: Vec<f32> = match T::DTYPE {
        DType::F32 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|x| f32::from_le_bytes(*x))
            .collect(),
        DType::F16 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|x| f16::from_le_bytes(*x).to_f32())
            .collect(),
        _ => bytes
            .as_chunks()
            .0
            .iter()
            .map(|x| bf16::from_le_bytes(*x).to_f32())
            .collect(),
    };
    let rounded: Vec<f32> = match T::DTYPE {
        DType::F32 => want,
        DType::F16 => want.into_iter().map(|x| f16::from_f32(x).to_f32()).collect(),
        _ => want.into_iter().map(|x| bf16::from_f32(x).to_f32()).collect(),
    };
    assert_eq!(
        got,
        rounded,
        "{} {rows}x{k} to {n}, topk {topk}, weighted {is_weighted}",
        T::DTYPE
    );
}

#[test]
fn rows_meet_the_matrices_of_their_experts() {
    for (rows, n, k, topk) in [(1, 1, 1, 1), (4, 3, 17, 2), (6, 33, 65, 2), (3, 5, 257, 3)] {
        for is_weighted in [false, true] {
            let problem = Problem {
                rows,
                n,
                k,
                topk,
                is_weighted,
            };
            check::<f32>(&problem);
            check::<f16>(&problem);
            check::<bf16>(&problem);
        }
    }
}

/// Products with weights of a block format, in which whole numbers and their sums are exact: `unnamed` experts have scales
/// that are no numbers, which spoil whatever they touch.
fn check_blocks(ty: GgmlType, unnamed: &[u32]) {
    let len = ty.block_len().max(32);
    check_rows_of_blocks(ty, 2 * len, unnamed, false);
    check_rows_of_blocks(ty, 2 * len, unnamed, true);
    if ty.block_len() == 1 {
        // Rows whose length four does not divide: only formats of single numbers have those.
        check_rows_of_blocks(ty, 2 * len + 1, unnamed, false);
    }
}

fn check_rows_of_blocks(ty: GgmlType, k: usize, unnamed: &[u32], is_weighted: bool) {
    let problem = Problem {
        rows: 9,
        n: 3,
        k,
        topk: 2,
        is_weighted,
    };
    let n = problem.n;
    let values = vec![Values::Exact; EXPERTS * n * k / ty.block_len()];
    let mut coded = blocks(ty, &values, &mut Random(5));
    let bytes = coded.bytes.len() / EXPERTS;
    for &expert in unnamed {
        coded.bytes[expert as usize * bytes..][..bytes].fill(0xff);
    }
    let experts: Vec<u32> = problem
        .experts()
        .into_iter()
        .map(|expert| if unnamed.contains(&expert) { 0 } else { expert })
        .collect();
    let input: Vec<f32> = (0..problem.rows * k)
        .map(|i| ((i * 5) % 7) as f32 - 3.0)
        .collect();
    let device = device();
    let (x, weights) = (upload(&device, &input), upload(&device, &coded.bytes));
    let (tokens, ids) = (upload(&device, &problem.tokens()), upload(&device, &experts));
    // Powers of two, by which results stay exact.
    let scale: Vec<f32> = (0..problem.m()).map(|i| [0.5, 1.0, 2.0][i % 3]).collect();
    let (of_tokens, m) = (upload(&device, &scale), [problem.m()]);
    let out = ops::moe_gemm_gguf(
        view(&x, &[problem.rows, k], &[k, 1]),
        ty,
        &weights,
        (EXPERTS, n, k),
        Routes {
            topk_weights: is_weighted.then(|| View::contiguous(&of_tokens, &m)),
            ..unweighted(&tokens, &ids, problem.topk)
        },
    );
    let got: Vec<f32> = download(&out.unwrap());
    for (token, expert) in problem.tokens().into_iter().zip(experts) {
        for col in 0..n {
            let token = token as usize;
            let row = &input[if is_weighted { token } else { token / problem.topk } * k..][..k];
            let factor = if is_weighted { f64::from(scale[token]) } else { 1.0 };
            let weights = &coded.weights[(expert as usize * n + col) * k..][..k];
            let terms = || row.iter().zip(weights).map(|(x, w)| f64::from(x * w));
            let (want, magnitude): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
            let got = f64::from(got[token * n + col]) / factor;
            assert!(
                (got - want).abs() <= magnitude * k as f64 * f64::from(f32::EPSILON),
                "{}: token {token}, column {col}: {got}, expected {want}",
                ty.name()
            );
        }
    }
}

#[test]
fn rows_meet_the_blocks_of_their_experts_in_every_format() {
    for &ty in GgmlType::ALL {
        check_blocks(ty, &[]);
    }
}

#[test]
fn the_blocks_of_experts_that_no_row_names_are_not_used() {
    for &ty in GgmlType::ALL {
        check_blocks(ty, &[1, 4]);
    }
}

#[test]
fn blocks_want_an_input_of_f32_and_all_their_bytes() {
    let device = device();
    let ids = upload(&device, &[0_u32, 1]);
    let weights = upload(&device, &[0_u8; 2 * 34]);
    let ask = |x: &DynBuffer, experts| {
        ops::moe_gemm_gguf(
            view(x, &[2, 32], &[32, 1]),
            GgmlType::Q8_0,
            &weights,
            (experts, 1, 32),
            unweighted(&ids, &ids, 1),
        )
    };
    let x = upload(&device, &[1.0_f32; 64]);
    assert_eq!(download::<f32>(&ask(&x, 2).unwrap()), [0.0; 2]);
    assert!(
        ask(&x, 3)
            .unwrap_err()
            .to_string()
            .contains("are more than 68 bytes")
    );
    let halves = upload(&device, &[f16::ONE; 64]);
    assert!(matches!(ask(&halves, 2), Err(Error::Unsupported { .. })));
}

#[test]
fn nothing_makes_nothing_and_products_of_no_terms_are_zero() {
    let run = |rows, n, k| {
        let problem = Problem {
            rows,
            n,
            k,
            topk: 2,
            is_weighted: false,
        };
        let (input, weights) = (vec![1.0_f32; rows * k], vec![1.0_f32; EXPERTS * n * k]);
        download::<f32>(&problem.run(&device(), &input, &weights, &[]).unwrap())
    };
    assert!(run(0, 3, 4).is_empty());
    assert!(run(2, 0, 4).is_empty());
    assert_eq!(run(1, 2, 0), [0.0; 4]);
}

#[test]
fn ids_out_of_range_and_tokens_named_twice_are_refused() {
    let device = device();
    let (input, weights) = (upload(&device, &[1.0_f32; 8]), upload(&device, &[1.0_f32; 24]));
    let ask = |tokens: &[u32], experts: &[u32], topk| {
        let (tokens, experts) = (upload(&device, tokens), upload(&device, experts));
        let out = ops::moe_gemm(
            view(&input, &[2, 4], &[4, 1]),
            view(&weights, &[2, 3, 4], &[12, 4, 1]),
            unweighted(&tokens, &experts, topk),
        );
        out.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(ask(&[1, 0], &[0, 1], 1), Ok(()));
    for (tokens, experts, topk, part) in [
        (
            &[1, 2][..],
            &[0, 1][..],
            1,
            "token 2 at position 1 of the ids is outside a dimension of 2",
        ),
        (
            &[1, 0],
            &[0, 2],
            1,
            "expert 2 at position 1 of the ids is outside a dimension of 2",
        ),
        (&[1, 1], &[0, 1], 1, "token 1 is named twice"),
        (&[1, 0], &[0, 1], 2, "expected 4 elements"),
        (&[1, 0], &[0, 1], 0, "a topk of 0"),
    ] {
        let refusal = ask(tokens, experts, topk).unwrap_err();
        assert!(refusal.contains(part), "{refusal}");
    }
}
