//! candle-nn's attention for the CPU, on the ROCm device as well: the same arguments, and the CPU's results.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use candle_core::{DType, Device, Result, Tensor, Var, rocm_backend::trace};
use candle_nn::attention::{AttnMask, flash_attn};

/// Queries of four heads, keys and values of two.
fn operands(batch: usize, queries: usize, keys: usize, width: usize) -> [Tensor; 3] {
    let of = |positions: usize, heads: usize, seed: usize| {
        let count = batch * positions * heads * width;
        let values: Vec<f32> = (0..count)
            .map(|i| (((i * 7919 + seed * 104_729) % 2003) as f32 / 1000.0) - 1.0)
            .collect();
        Tensor::from_vec(values, (batch, positions, heads, width), &Device::Cpu).unwrap()
    };
    [of(queries, 4, 1), of(keys, 2, 2), of(keys, 2, 3)]
}

fn on(device: &Device, operands: &[Tensor; 3], ask: &Ask) -> Result<Tensor> {
    let [q, k, v] = operands.each_ref().map(|x| x.to_device(device).unwrap());
    let mask = match ask.mask {
        Mask::None => AttnMask::None,
        Mask::Causal(offset) => AttnMask::causal_with_offset(offset),
        // Every third key is hidden from every query.
        Mask::Tensor => {
            let (rows, columns) = (q.dim(1)?, k.dim(1)?);
            let hidden = (0..rows * columns).map(|i| {
                if i % columns % 3 == 1 {
                    f32::NEG_INFINITY
                } else {
                    0.5
                }
            });
            AttnMask::Mask(Tensor::from_vec(
                hidden.collect::<Vec<f32>>(),
                (rows, columns),
                device,
            )?)
        }
    };
    flash_attn::<f32>(&q, &k, &v, 0.3, mask, ask.max_bias, ask.softcap)
}

enum Mask {
    None,
    Causal(usize),
    Tensor,
}

struct Ask {
    mask: Mask,
    max_bias: Option<f32>,
    softcap: Option<f32>,
}

fn ask(mask: Mask, max_bias: Option<f32>, softcap: Option<f32>) -> Ask {
    Ask {
        mask,
        max_bias,
        softcap,
    }
}

/// The largest difference of what the two devices give.
fn apart(operands: &[Tensor; 3], ask: &Ask) -> f32 {
    let here = on(&Device::Cpu, operands, ask).unwrap();
    let there = on(&Device::new_rocm(0).unwrap(), operands, ask).unwrap();
    assert!(there.device().is_rocm());
    assert_eq!(here.dims(), there.dims());
    difference(&here, &there)
}

fn difference(here: &Tensor, there: &Tensor) -> f32 {
    let host = |x: &Tensor| x.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<f32>();
    let (a, b): (Vec<f32>, Vec<f32>) = (host(here).unwrap(), host(there).unwrap());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn without_a_mask_and_up_to_a_place_it_gives_what_the_cpu_gives() {
    // A single query sees all keys on the CPU, whatever the offset.
    assert!(apart(&operands(1, 1, 9, 24), &ask(Mask::Causal(8), None, None)) < 1e-5);
    for (queries, keys) in [(5, 5), (2, 9), (4, 9)] {
        let operands = operands(1, queries, keys, 24);
        for mask in [
            Mask::None,
            Mask::Causal(0),
            Mask::Causal(keys - queries),
            Mask::Causal(2),
        ] {
            let found = apart(&operands, &ask(mask, None, None));
            assert!(found < 1e-5, "{found} for {queries} queries and {keys} keys");
        }
    }
}

#[test]
fn each_batch_has_what_it_has_alone() {
    let device = Device::new_rocm(0).unwrap();
    let all = operands(2, 4, 9, 24);
    // The CPU forgets the offset where there are two batches, which is a finding.
    for mask in [|| Mask::None, || Mask::Causal(0), || Mask::Causal(7)] {
        let together = on(&device, &all, &ask(mask(), None, None)).unwrap();
        for batch in 0..2 {
            let one = all.each_ref().map(|x| x.narrow(0, batch, 1).unwrap());
            let alone = on(&Device::Cpu, &one, &ask(mask(), None, None)).unwrap();
            let found = difference(&alone, &together.narrow(0, batch, 1).unwrap());
            assert!(found < 1e-5, "{found} in batch {batch}");
        }
    }
}

#[test]
fn a_soft_cap_alibi_a_mask_and_wide_heads_give_what_the_cpu_gives() {
    let narrow = operands(1, 5, 7, 24);
    for ask in [
        ask(Mask::None, None, Some(0.7)),
        ask(Mask::Causal(2), None, Some(0.7)),
        ask(Mask::Causal(2), Some(8.0), None),
        ask(Mask::Causal(2), Some(8.0), Some(0.7)),
        ask(Mask::Tensor, None, None),
        ask(Mask::Tensor, Some(8.0), Some(0.7)),
    ] {
        let found = apart(&narrow, &ask);
        assert!(found < 1e-5, "{found}");
    }
    let found = apart(&operands(1, 3, 4, 260), &ask(Mask::Causal(1), None, None));
    assert!(found < 1e-5, "{found}");
}

#[test]
fn the_kernel_of_flash_attention_runs_and_nothing_runs_on_the_cpu() {
    let device = Device::new_rocm(0).unwrap();
    let backend = device.as_rocm_device().unwrap().backend();
    trace::take(backend);
    on(&device, &operands(1, 5, 7, 24), &ask(Mask::Causal(2), None, None)).unwrap();
    let ran: Vec<String> = trace::take(backend)
        .iter()
        .map(|step| step.by.to_string())
        .collect();
    assert!(ran.iter().any(|name| name == "flash_attn_32_f32"), "{ran:?}");
    assert_eq!(candle_core::rocm::fallbacks().len(), 0);
}

#[test]
fn another_dtype_and_a_gradient_are_errors() {
    let device = Device::new_rocm(0).unwrap();
    let [q, k, v] = operands(1, 3, 3, 8).map(|x| x.to_device(&device).unwrap());
    let half = q.to_dtype(DType::F16).unwrap();
    let refused = flash_attn::<f32>(&half, &k, &v, 1.0, AttnMask::None, None, None).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("queries of f16 and a function of f32"),
        "{refused}"
    );
    let q = Var::from_tensor(&q).unwrap();
    let out = flash_attn::<f32>(&q, &k, &v, 1.0, AttnMask::None, None, None).unwrap();
    let refused = out.sum_all().unwrap().backward().map(|_| ()).unwrap_err();
    assert!(
        refused.to_string().contains("flash_attn has no gradient"),
        "{refused}"
    );
}
