//! What candle does today: flash_attn does not see the NaN of a key that the query does not see.

use candle_core::{Device::Cpu, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let of = |numbers: [f32; 2]| Tensor::new(&numbers, &Cpu)?.reshape((1, 2, 1, 1));
    let (q, k, v) = (of([1., 1.])?, of([1., f32::NAN])?, of([2., 3.])?);
    let out = flash_attn::<f32>(&q, &k, &v, 1., AttnMask::causal(), None, None)?;
    finding(out.flatten_all()?.get(0)?.to_scalar::<f32>()?, 2., f32::NAN);
    Ok(())
}
