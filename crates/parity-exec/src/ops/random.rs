//! The calls that draw random numbers: each draws twice, so that a generator that repeats itself shows.

use candle_core::Tensor;
use parity_model::op::Random;

use super::candle;

candle! {
    fn row(Random) {
        Random::Uniform => |x; lo: f64, up: f64|
            Tensor::stack(&[x.rand_like(lo, up)?, x.rand_like(lo, up)?], 0)?;
        Random::Normal => |x; mean: f64, std: f64|
            Tensor::stack(&[x.randn_like(mean, std)?, x.randn_like(mean, std)?], 0)?;
        Random::UniformSeeded => |x; lo: f64, up: f64, seed: u64| {
            x.device().set_seed(seed)?;
            let first = x.rand_like(lo, up)?;
            x.device().set_seed(seed)?;
            Tensor::stack(&[first, x.rand_like(lo, up)?], 0)?
        };
        Random::NormalSeeded => |x; mean: f64, std: f64, seed: u64| {
            x.device().set_seed(seed)?;
            let first = x.randn_like(mean, std)?;
            x.device().set_seed(seed)?;
            Tensor::stack(&[first, x.randn_like(mean, std)?], 0)?
        };
    }
}
