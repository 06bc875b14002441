//! What candle does today: flash_attn of several batches, or of one query, forgets where the queries are.

use candle_core::{DType, Device::Cpu, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    // Two queries at the places of the first two of three keys, whose weights are equal.
    let of = |batches: usize, queries: usize| -> Result<f32> {
        let q = Tensor::ones((batches, queries, 1, 1), DType::F32, &Cpu)?;
        let k = Tensor::ones((batches, 3, 1, 1), DType::F32, &Cpu)?;
        let v = Tensor::new(&[1f32, 3., 5.], &Cpu)?
            .reshape((1, 3, 1, 1))?
            .repeat((batches, 1, 1, 1))?;
        let out = flash_attn::<f32>(&q, &k, &v, 1., AttnMask::causal(), None, None)?;
        out.flatten_all()?.get(0)?.to_scalar()
    };
    assert_eq!(of(1, 2)?, 1.);
    finding(of(2, 2)?, 2., 1.);
    finding(of(1, 1)?, 3., 1.);
    Ok(())
}
