//! The functions on the ROCm device against the composition on the CPU.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_flash_attn as flash;

/// q of `queries` positions and four heads; k and v of `keys` and two, in `dtype`.
fn operands(queries: usize, keys: usize, dtype: DType) -> [Tensor; 3] {
    let of = |positions: usize, heads: usize, seed: usize| {
        let count = 2 * positions * heads * 24;
        let values: Vec<f32> = (0..count)
            .map(|i| (((i * 7919 + seed * 104_729) % 2003) as f32 / 1000.0) - 1.0)
            .collect();
        let tensor = Tensor::from_vec(values, (2, positions, heads, 24), &Device::Cpu).unwrap();
        tensor.to_dtype(dtype).unwrap()
    };
    [of(queries, 4, 1), of(keys, 2, 2), of(keys, 2, 3)]
}

fn far(a: &Tensor, b: &Tensor) -> f32 {
    let host = |x: &Tensor| {
        x.to_device(&Device::Cpu)?
            .to_dtype(DType::F32)?
            .flatten_all()?
            .to_vec1::<f32>()
    };
    let (a, b): (Vec<f32>, Vec<f32>) = (host(a).unwrap(), host(b).unwrap());
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The largest difference of what `op` gives on the two devices.
fn differs(operands: &[Tensor; 3], op: impl Fn(&[Tensor; 3]) -> Result<Tensor>) -> f32 {
    let device = Device::new_rocm(0).unwrap();
    let moved = operands.each_ref().map(|x| x.to_device(&device).unwrap());
    let (here, there) = (op(operands).unwrap(), op(&moved).unwrap());
    assert!(there.device().is_rocm());
    assert_eq!(candle_core::rocm::fallbacks().len(), 0);
    far(&here, &there)
}

#[test]
fn each_function_agrees_with_its_composition() {
    for (dtype, limit) in [(DType::F32, 1e-5), (DType::F16, 2e-3), (DType::BF16, 1.6e-2)] {
        let operands = operands(9, 12, dtype);
        let slopes = |x: &Tensor| Tensor::new(&[0.5_f32, 0.25, 0.125, 0.0625], x.device());
        let worst = [
            differs(&operands, |[q, k, v]| flash::flash_attn(q, k, v, 0.2, false)),
            differs(&operands, |[q, k, v]| flash::flash_attn(q, k, v, 0.2, true)),
            differs(&operands, |[q, k, v]| {
                flash::flash_attn_windowed(q, k, v, 0.2, Some(3), Some(1))
            }),
            differs(&operands, |[q, k, v]| {
                flash::flash_attn_alibi(q, k, v, &slopes(q)?, 0.2, true)
            }),
            differs(&operands, |[q, k, v]| {
                flash::flash_attn_alibi_windowed(q, k, v, &slopes(q)?, 0.2, Some(2), None)
            }),
            differs(&operands, |[q, k, v]| {
                flash::flash_attn_alibi_windowed_softcap(q, k, v, None, 0.2, None, Some(0), 0.5)
            }),
        ];
        assert!(worst.iter().all(|worst| *worst < limit), "{dtype:?}: {worst:?}");
    }
}

#[test]
fn batches_of_several_lengths_agree() {
    let [q, k, v] = operands(9, 12, DType::F32).map(|x| x.flatten(0, 1).unwrap());
    let starts = |x: &Tensor, starts: &[u32]| Tensor::new(starts, x.device());
    let worst = differs(&[q, k, v], |[q, k, v]| {
        let (of_query, of_key) = (starts(q, &[0, 5, 5, 18])?, starts(q, &[0, 8, 10, 24])?);
        flash::flash_attn_varlen(q, k, v, &of_query, &of_key, 13, 14, 0.2, true)
    });
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn the_control_a_window_changes_the_result() {
    let [q, k, v] = operands(9, 12, DType::F32);
    let all = flash::flash_attn(&q, &k, &v, 0.2, false).unwrap();
    let windowed = flash::flash_attn_windowed(&q, &k, &v, 0.2, Some(3), Some(1)).unwrap();
    assert!(far(&all, &windowed) > 1e-2);
}

#[test]
fn gradients_are_those_of_the_composition() {
    let device = Device::new_rocm(0).unwrap();
    let gradients = |device: &Device| {
        let vars =
            operands(5, 5, DType::F32).map(|x| Var::from_tensor(&x.to_device(device).unwrap()).unwrap());
        let out = flash::flash_attn(&vars[0], &vars[1], &vars[2], 0.2, true).unwrap();
        let grads = out.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        vars.map(|var| grads.get(&var).unwrap().clone())
    };
    for (here, there) in gradients(&Device::Cpu).iter().zip(&gradients(&device)) {
        assert!(far(here, there) < 1e-4);
        assert!(far(here, &here.zeros_like().unwrap()) > 1e-3, "the control");
    }
}

#[test]
fn a_batch_that_is_longer_than_announced_is_refused() {
    let [q, k, v] = operands(9, 12, DType::F32).map(|x| x.flatten(0, 1).unwrap());
    let starts = |starts: &[u32]| Tensor::new(starts, &Device::Cpu).unwrap();
    let (of_query, of_key) = (starts(&[0, 5, 18]), starts(&[0, 8, 24]));
    let error = flash::flash_attn_varlen(&q, &k, &v, &of_query, &of_key, 5, 16, 0.2, true).unwrap_err();
    assert!(
        error.to_string().contains("13 queries in a batch, and 5 at most"),
        "{error}"
    );
}

#[test]
fn paged_attention_is_attention_over_the_keys_that_the_table_names() {
    let [q, _, _] = operands(3, 1, DType::F32);
    let cache = |seed: usize| {
        let values: Vec<f32> = (0..6 * 4 * 2 * 24)
            .map(|i| ((i * 31 + seed * 7) % 101) as f32 / 50.0 - 1.0)
            .collect();
        Tensor::from_vec(values, (6, 4, 2, 24), &Device::Cpu).unwrap()
    };
    let (keys, values) = (cache(1), cache(2));
    let run = |lengths: [u32; 2]| {
        differs(&[q.clone(), keys.clone(), values.clone()], |[q, k, v]| {
            let table = Tensor::new(&[[5u32, 1, 3], [0, 4, 2]], q.device())?;
            let lengths = Tensor::new(&lengths, q.device())?;
            flash::paged_attention(q, k, v, &table, &lengths, None, 0.2, None, Some(0), 0.0)
        })
    };
    assert!(run([11, 4]) < 1e-5);
    assert!(run([3, 12]) < 1e-5);
    // Batches of one and of three queries, one after the other.
    let q = q.reshape((6, 4, 24)).unwrap().narrow(0, 0, 4).unwrap();
    let of_several = |prefix: bool, page: usize| {
        move |[q, k, v]: &[Tensor; 3]| {
            let table = Tensor::new(&[[5u32, 1, 3], [0, 4, 2]], q.device())?;
            let [of_q, of_k] = [[0u32, 1, 4], [0, 11, 15]].map(|starts| Tensor::new(&starts, q.device()));
            let (of_q, of_k) = (of_q?, of_k?);
            let prefix = prefix.then_some(&of_q);
            flash::flash_attn_varlen_paged_windowed(
                q,
                k,
                v,
                &of_q,
                &of_k,
                &table,
                prefix,
                3,
                11,
                0.2,
                None,
                Some(0),
                page,
                Some(5.0),
            )
        }
    };
    let operands = [q, keys, values];
    assert!(differs(&operands, of_several(false, 4)) < 1e-5);
    let words = |prefix, page| of_several(prefix, page)(&operands).unwrap_err().to_string();
    assert!(words(true, 4).contains("mm_prefix_ranges are not known"));
    assert!(words(false, 8).contains("no pages of 8 positions"));
}

/// Five tokens of one sequence: three at once, then one after the other. Each step puts its keys and values into the pages and attends to
/// them; the whole at once, causal, has the same rows.
#[test]
fn a_decode_loop_over_pages_has_the_rows_of_the_whole_sequence() {
    let gpu = Device::new_rocm(0).unwrap();
    let of = |heads: usize, seed: usize| {
        let values: Vec<f32> = (0..5 * heads * 16)
            .map(|i| ((i * 53 + seed * 11) % 97) as f32 / 48.0 - 1.0)
            .collect();
        Tensor::from_vec(values, (5, heads, 16), &gpu).unwrap()
    };
    let (q, k, v) = (of(4, 1), of(2, 2), of(2, 3));
    let angle = |at: usize| (at / 8) as f32 / 10f32.powi((at % 8) as i32);
    let angles: Vec<f32> = (0..8 * 8).map(angle).collect();
    let angles = Tensor::from_vec(angles, (8, 8), &gpu).unwrap();
    let (cos, sin) = (angles.cos().unwrap(), angles.sin().unwrap());
    let cache = || Tensor::zeros((4, 2, 2, 16), DType::F32, &gpu).unwrap();
    let (keys, values) = (cache(), cache());
    // Pages of two positions: 3, 0, 2.
    let (table, place) = ([[3u32, 0, 2]], |at: usize| [6u32, 7, 0, 1, 4][at]);
    let step = |from: usize, count: usize| -> Result<Tensor> {
        let part = |x: &Tensor| x.narrow(0, from, count);
        let numbers: Vec<u32> = (from..from + count).map(|at| at as u32).collect();
        let slots: Vec<u32> = (from..from + count).map(place).collect();
        let turned = candle_core::rocm::rope_append(
            &candle_core::rocm::NewTokens {
                query: &part(&q)?,
                key: &part(&k)?,
                value: &part(&v)?,
                cos: &cos,
                sin: &sin,
                positions: &Tensor::new(numbers, &gpu)?,
                slots: &Tensor::new(slots, &gpu)?,
                neighbours: false,
            },
            &keys,
            &values,
        )?;
        let length = Tensor::new(&[(from + count) as u32], &gpu)?;
        let table = Tensor::new(&table, &gpu)?;
        let q = turned.unsqueeze(0)?;
        flash::paged_attention(
            &q,
            &keys,
            &values,
            &table,
            &length,
            None,
            0.25,
            None,
            Some(0),
            0.0,
        )
    };
    let steps = [step(0, 3), step(3, 1), step(4, 1)].map(Result::unwrap);
    let got = Tensor::cat(&steps, 1).unwrap();
    // The same by candle-nn's rope and attention without pages.
    let rope = |x: &Tensor| -> Result<Tensor> {
        let x = x.unsqueeze(0)?.transpose(1, 2)?.contiguous()?;
        let turned = candle_nn::rotary_emb::rope(&x, &cos.narrow(0, 0, 5)?, &sin.narrow(0, 0, 5)?)?;
        turned.transpose(1, 2)?.contiguous()
    };
    let want = flash::flash_attn(
        &rope(&q).unwrap(),
        &rope(&k).unwrap(),
        &v.unsqueeze(0).unwrap(),
        0.25,
        true,
    );
    assert!(far(&got, &want.unwrap()) < 1e-6);
    let append = |query: &Tensor, values: &Tensor| {
        let new = candle_core::rocm::NewTokens {
            query,
            key: &k,
            value: &v,
            cos: &cos,
            sin: &sin,
            positions: &Tensor::new(&[0u32; 5], &gpu)?,
            slots: &Tensor::new(&[0u32, 1, 2, 3, 4], &gpu)?,
            neighbours: false,
        };
        candle_core::rocm::rope_append(&new, &keys, values)
    };
    let shared = append(&q, &keys).unwrap_err();
    assert!(shared.to_string().contains("shares its memory"));
    let var = Var::from_tensor(&q).unwrap();
    let tracked = append(&var, &values).unwrap_err();
    assert!(tracked.to_string().contains("has no gradient"));
}
