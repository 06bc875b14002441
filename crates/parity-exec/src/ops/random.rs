//! Random numbers, drawn twice.

use candle_core::{Result, Tensor};
use parity_model::op::Random;

use super::Call;

pub(super) fn random(op: Random, call: &Call<'_>) -> Option<Result<Tensor>> {
    let x = call.one()?;
    let (&a, rest) = call.params.split_first()?;
    let (&b, seed) = rest.split_first()?;
    let draw = || {
        // A seed is a whole number: the shape rules have seen to it.
        seed.iter()
            .try_for_each(|seed| x.device().set_seed(*seed as u64))?;
        match op {
            Random::Uniform | Random::UniformSeeded => x.rand_like(a, b),
            Random::Normal | Random::NormalSeeded => x.randn_like(a, b),
        }
    };
    let both = || Tensor::stack(&[draw()?, draw()?], 0);
    Some(both())
}
