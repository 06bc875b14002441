//! Attention against f64 on the host: each of its rules, lengths around tiles, heads of every kernel, views and batches of
//! several lengths.

use rocm_backend::ops::{Attention, Binary, Lengths};
use rocm_backend::{DType, Device, DriverKind, DynBuffer, Error, Result, View, ops};

use crate::floats::{contiguous, download, is_near, random, unit, upload};
use crate::support::device;

const DTYPES: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// A call in numbers. `heads` are those of queries, and of keys and values.
#[derive(Debug, Clone, Copy)]
struct AttentionCall {
    batches: usize,
    queries: usize,
    keys: usize,
    heads: [usize; 2],
    width: usize,
    left: Option<usize>,
    right: Option<usize>,
    softcap: Option<f32>,
    alibi: bool,
}

const PLAIN: AttentionCall = AttentionCall {
    batches: 1,
    queries: 5,
    keys: 7,
    heads: [1, 1],
    width: 8,
    left: None,
    right: None,
    softcap: None,
    alibi: false,
};

impl AttentionCall {
    fn scale(&self) -> f64 {
        f64::from(1.0 / (self.width as f32).sqrt())
    }

    /// One of each head: 1/2, 1/4, ..
    fn slopes(&self) -> Vec<f64> {
        (0..self.heads[0])
            .map(|head| 0.5_f64.powi(head as i32 + 1))
            .collect()
    }

    /// The sizes of queries, and of keys and values.
    fn dims(&self) -> [[usize; 4]; 2] {
        let of = |positions, heads| [self.batches, positions, heads, self.width];
        [of(self.queries, self.heads[0]), of(self.keys, self.heads[1])]
    }

    fn inputs(&self, dtype: DType) -> [Vec<f64>; 3] {
        let [query, key] = self.dims().map(|dims| dims.iter().product::<usize>());
        [
            random(dtype, query, 2.0, 1),
            random(dtype, key, 2.0, 2),
            random(dtype, key, 1.0, 3),
        ]
    }

    /// The result in f64, and how far from it rounding may lead.
    fn expected(&self, dtype: DType, [q, k, v]: &[Vec<f64>; 3]) -> Vec<(f64, f64)> {
        let [heads, key_heads] = self.heads;
        let mut out = Vec::new();
        for row in 0..self.batches * self.queries * heads {
            let (head, place) = (row % heads, row / heads);
            let (query, batch) = (place % self.queries, place / self.queries);
            let key_row = |key: usize| {
                ((batch * self.keys + key) * key_heads + head / (heads / key_heads)) * self.width
            };
            let own = (query + self.keys) as i64 - self.queries as i64;
            let mut scores = vec![f64::NEG_INFINITY; self.keys];
            let mut error: f64 = 0.0;
            for (key, score) in scores.iter_mut().enumerate() {
                let apart = key as i64 - own;
                let reaches =
                    |reach: Option<usize>, apart: i64| reach.is_none_or(|reach| apart <= reach as i64);
                if !reaches(self.left, -apart) || !reaches(self.right, apart) {
                    continue;
                }
                let terms = (0..self.width).map(|i| q[row * self.width + i] * k[key_row(key) + i]);
                let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
                *score = sum * self.scale();
                if let Some(cap) = self.softcap.map(f64::from) {
                    *score = cap * (*score / cap).tanh();
                }
                if self.alibi {
                    *score -= self.slopes()[head] * apart.abs() as f64;
                }
                error = error.max((self.width as f64 + 8.0) * size * self.scale() + score.abs() * 8.0);
            }
            let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
            let total: f64 = weights.iter().sum();
            for i in 0..self.width {
                if greatest == f64::NEG_INFINITY {
                    out.push((0.0, 0.0));
                    continue;
                }
                let terms = weights.iter().enumerate();
                let terms = terms.map(|(key, weight)| weight / total * v[key_row(key) + i]);
                let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
                let relative = unit(dtype) + (2.0 * error + self.keys as f64 + 64.0) * unit(DType::F32);
                out.push((sum, relative * size));
            }
        }
        out
    }

    /// The op over views of these strides.
    fn run(
        &self,
        device: &Device,
        dtype: DType,
        inputs: [&DynBuffer; 3],
        strides: [&[usize]; 3],
    ) -> Result<DynBuffer> {
        let [of_query, of_key] = self.dims();
        let slopes = device.upload(
            &self
                .slopes()
                .iter()
                .map(|slope| *slope as f32)
                .collect::<Vec<_>>(),
        )?;
        assert_eq!(inputs[0].dtype(), dtype);
        ops::flash_attn(&Attention {
            query: View::new(inputs[0], &of_query, strides[0]),
            key: View::new(inputs[1], &of_key, strides[1]),
            value: View::new(inputs[2], &of_key, strides[2]),
            scale: self.scale() as f32,
            left: self.left,
            right: self.right,
            softcap: self.softcap,
            slopes: self.alibi.then(|| View::contiguous(&slopes, &self.heads[..1])),
            lengths: None,
        })
    }

    /// Compares the op on contiguous operands with f64.
    fn check(&self, dtype: DType) {
        let device = device();
        let inputs = self.inputs(dtype);
        let buffers = inputs.each_ref().map(|input| upload(&device, dtype, input));
        let strides = self.dims().map(|dims| contiguous(&dims));
        let [q, k, v] = &buffers;
        let out = self
            .run(&device, dtype, [q, k, v], [&strides[0], &strides[1], &strides[1]])
            .unwrap();
        self.compare(dtype, &download(&out), &self.expected(dtype, &inputs));
    }

    #[track_caller]
    fn compare(&self, dtype: DType, got: &[f64], want: &[(f64, f64)]) {
        assert_eq!(got.len(), want.len());
        for (i, (got, (want, error))) in got.iter().zip(want).enumerate() {
            assert!(
                is_near(dtype, *got, *want, *error),
                "{dtype} {self:?} element {i}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn heads_of_every_width_are_attended_to() {
    for dtype in DTYPES {
        for width in [1, 8, 15, 32, 40, 64, 96, 128, 200, 256] {
            AttentionCall { width, ..PLAIN }.check(dtype);
        }
    }
}

#[test]
fn queries_and_keys_may_end_within_a_tile() {
    for dtype in DTYPES {
        for (queries, keys) in [(1, 1), (1, 33), (16, 32), (17, 15), (65, 16), (64, 64), (130, 5)] {
            AttentionCall {
                queries,
                keys,
                ..PLAIN
            }
            .check(dtype);
        }
    }
}

#[test]
fn several_heads_share_one_of_the_keys() {
    for dtype in DTYPES {
        for heads in [[2, 2], [4, 2], [6, 1]] {
            AttentionCall {
                heads,
                batches: 2,
                ..PLAIN
            }
            .check(dtype);
        }
    }
}

#[test]
fn a_query_sees_the_keys_of_its_window() {
    let windows = [
        (None, Some(0)),
        (Some(0), Some(0)),
        (Some(3), Some(2)),
        (Some(2), None),
    ];
    for dtype in DTYPES {
        for (left, right) in windows {
            for (queries, keys) in [(40, 40), (7, 40), (40, 7)] {
                AttentionCall {
                    queries,
                    keys,
                    left,
                    right,
                    ..PLAIN
                }
                .check(dtype);
            }
        }
    }
}

#[test]
fn scores_are_capped_and_lose_with_distance() {
    for dtype in DTYPES {
        let call = AttentionCall {
            queries: 20,
            keys: 20,
            heads: [2, 1],
            ..PLAIN
        };
        AttentionCall {
            softcap: Some(0.5),
            ..call
        }
        .check(dtype);
        AttentionCall { alibi: true, ..call }.check(dtype);
        AttentionCall {
            alibi: true,
            softcap: Some(2.0),
            right: Some(0),
            ..call
        }
        .check(dtype);
    }
}

#[test]
fn the_rules_make_a_difference() {
    let dtype = DType::F32;
    let call = AttentionCall {
        queries: 20,
        keys: 20,
        ..PLAIN
    };
    let inputs = call.inputs(dtype);
    let plain = call.expected(dtype, &inputs);
    for other in [
        AttentionCall {
            left: Some(3),
            ..call
        },
        AttentionCall {
            right: Some(0),
            ..call
        },
        AttentionCall {
            softcap: Some(0.5),
            ..call
        },
        AttentionCall { alibi: true, ..call },
    ] {
        let far = |((a, error), (b, _)): (&(f64, f64), &(f64, f64))| (a - b).abs() > 100.0 * error;
        let other = other.expected(dtype, &inputs);
        assert!(plain.iter().zip(&other).filter(|pair| far(*pair)).count() > plain.len() / 2);
    }
}

#[test]
fn views_are_read_where_they_lie() {
    let call = AttentionCall {
        batches: 2,
        queries: 6,
        keys: 6,
        heads: [3, 3],
        width: 16,
        ..PLAIN
    };
    for dtype in DTYPES {
        let device = device();
        let inputs = call.inputs(dtype);
        // (batch, head, position, element) in memory, one after the other: as models have them after a transposition.
        let [b, s, h, d] = call.dims()[0];
        let strides = [h * s * d, d, s * d, 1];
        let buffers = inputs.each_ref().map(|input| {
            let mut moved = vec![0.0; input.len()];
            for (at, value) in input.iter().enumerate() {
                let (i, head, place, batch) = (at % d, at / d % h, at / d / h % s, at / d / h / s);
                moved[batch * strides[0] + place * strides[1] + head * strides[2] + i] = *value;
            }
            upload(&device, dtype, &moved)
        });
        let [q, k, v] = &buffers;
        assert_eq!(b, 2);
        let out = call.run(&device, dtype, [q, k, v], [&strides; 3]).unwrap();
        call.compare(dtype, &download(&out), &call.expected(dtype, &inputs));
    }
}

#[test]
fn batches_of_several_lengths_are_attended_to_each_by_itself() {
    let (of_query, of_key) = ([0_u32, 3, 3, 20], [0_u32, 9, 12, 40]);
    let heads = 2;
    // Of each kernel a head.
    for (dtype, width) in DTYPES
        .into_iter()
        .flat_map(|dtype| [8, 64, 72, 160].map(|width| (dtype, width)))
    {
        let device = device();
        let q = random(dtype, 20 * heads * width, 2.0, 1);
        let [k, v] = [2, 3].map(|seed| random(dtype, 40 * heads * width, 1.0, seed));
        let buffers = [&q, &k, &v].map(|values| upload(&device, dtype, values));
        let starts = [of_query, of_key].map(|starts| device.upload(&starts).unwrap());
        let (query_dims, key_dims) = ([20, heads, width], [40, heads, width]);
        let out = ops::flash_attn(&Attention {
            query: View::contiguous(&buffers[0], &query_dims),
            key: View::contiguous(&buffers[1], &key_dims),
            value: View::contiguous(&buffers[2], &key_dims),
            scale: 1.0 / (width as f32).sqrt(),
            left: None,
            right: Some(0),
            softcap: None,
            slopes: None,
            lengths: Some(Lengths {
                query_starts: View::contiguous(&starts[0], &[4]),
                key_starts: View::contiguous(&starts[1], &[4]),
            }),
        })
        .unwrap();
        let got = download(&out);
        for batch in 0..3 {
            let part = |values: &[f64], starts: [u32; 4]| {
                let [from, to] = [starts[batch], starts[batch + 1]].map(|row| row as usize * heads * width);
                values[from..to].to_vec()
            };
            let call = AttentionCall {
                queries: (of_query[batch + 1] - of_query[batch]) as usize,
                keys: (of_key[batch + 1] - of_key[batch]) as usize,
                heads: [heads, heads],
                width,
                right: Some(0),
                ..PLAIN
            };
            let inputs = [part(&q, of_query), part(&k, of_key), part(&v, of_key)];
            call.compare(dtype, &part(&got, of_query), &call.expected(dtype, &inputs));
        }
    }
}

#[test]
fn a_nan_stays_in_the_rows_that_see_it() {
    let call = AttentionCall {
        queries: 4,
        keys: 4,
        right: Some(0),
        ..PLAIN
    };
    let device = device();
    let mut inputs = call.inputs(DType::F32);
    let last = inputs[1].len() - 1;
    inputs[1][last] = f64::NAN;
    let buffers = inputs.each_ref().map(|input| upload(&device, DType::F32, input));
    let strides = contiguous(&call.dims()[0]);
    let [q, k, v] = &buffers;
    let out = call.run(&device, DType::F32, [q, k, v], [&strides; 3]).unwrap();
    let nan: Vec<bool> = download(&out)
        .chunks(8)
        .map(|row| row.iter().all(|x| x.is_nan()))
        .collect();
    assert_eq!(nan, [false, false, false, true]);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let device = device();
    let buffer = upload(&device, DType::F32, &vec![1.0; 4096]);
    let refused = |query: [usize; 4], key: [usize; 4], last: usize| {
        let strides = [512, 256, 8, last];
        ops::flash_attn(&Attention {
            query: View::new(&buffer, &query, &strides),
            key: View::new(&buffer, &key, &strides),
            value: View::new(&buffer, &key, &strides),
            scale: 1.0,
            left: None,
            right: None,
            softcap: None,
            slopes: None,
            lengths: None,
        })
    };
    let fine = [1, 2, 2, 8];
    assert!(refused(fine, fine, 1).is_ok(), "the control");
    assert!(matches!(refused(fine, [1, 2, 2, 4], 1), Err(Error::Shape { .. })));
    assert!(matches!(
        refused([1, 2, 3, 8], [1, 2, 2, 8], 1),
        Err(Error::Shape { .. })
    ));
    assert!(matches!(
        refused([1, 1, 1, 257], [1, 1, 1, 257], 1),
        Err(Error::Parameter { .. })
    ));
    assert!(matches!(refused(fine, fine, 2), Err(Error::NotContiguous { .. })));
}

/// The software device's clock counts the instructions that waves executed. It is the process's, so that no other test may run
/// beside this one.
#[test]
#[ignore = "a child process of targets.rs"]
fn child_that_counts_the_instructions_of_a_long_prefill() {
    // The grids of a card: on the software GPU launches have fewer workgroups else.
    rocm_backend::trial::count(true);
    let device = device();
    assert_eq!(device.info().driver().kind(), DriverKind::Soft);
    let [tokens, heads, width] = [2048, 1, 64];
    let dtype = DType::F16;
    let inputs =
        [1, 2, 3].map(|seed| upload(&device, dtype, &random(dtype, tokens * heads * width, 1.0, seed)));
    let mask: Vec<f64> = (0..tokens * tokens)
        .map(|at| {
            if at % tokens > at / tokens {
                f64::NEG_INFINITY
            } else {
                0.0
            }
        })
        .collect();
    let mask = upload(&device, dtype, &mask);
    let counted = |work: &dyn Fn() -> DynBuffer| {
        let before = device.record().unwrap();
        let out = work();
        let after = device.record().unwrap();
        after.synchronize().unwrap();
        (after.since(&before).unwrap(), download(&out))
    };
    // As models are written: products, the scale, the mask, softmax, products.
    let [q, k, v] = &inputs;
    let (scores_dims, dims) = ([tokens, tokens], [tokens, width]);
    let (long, composed) = counted(&|| {
        let (across, strides) = ([width, tokens], [1, width]);
        let keys_across = View::new(k, &across, &strides);
        let scores = ops::matmul(View::contiguous(q, &dims), keys_across).unwrap();
        let scores = ops::affine(scores.view(), 0.125, 0.0).unwrap();
        let scores = ops::binary(Binary::Add, scores.view(), mask.view()).unwrap();
        let weights = ops::softmax_last_dim(View::contiguous(&scores, &scores_dims)).unwrap();
        ops::matmul(
            View::contiguous(&weights, &scores_dims),
            View::contiguous(v, &dims),
        )
        .unwrap()
    });
    let of_head = [1, tokens, heads, width];
    let (short, tiled) = counted(&|| {
        let [query, key, value] = [q, k, v].map(|buffer| View::contiguous(buffer, &of_head));
        ops::flash_attn(&Attention {
            query,
            key,
            value,
            scale: 0.125,
            left: None,
            right: Some(0),
            softcap: None,
            slopes: None,
            lengths: None,
        })
        .unwrap()
    });
    let far = composed
        .iter()
        .zip(&tiled)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(far < 4e-3, "both compute the same: {far}");
    assert!(short * 3 <= long, "{short:?} of {long:?}");
}
