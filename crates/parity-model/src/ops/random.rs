//! Random numbers. How they are drawn is not said here.

use super::ops;
use crate::op::batch::never;
use crate::op::shape::{Operands, Shapes};

ops! {
    /// Random numbers: two draws of the argument's shape and dtype.
    pub enum Random;

    /// Independent and uniform in [lo, up], both converted to the dtype first; one of the two may be missing, in 8 and 16 bits up is.
    Uniform "rand_uniform" ["lo", "up"] (x: Data) on FLOATS, shape: uniform, batch: never, terms: Unordered;
    /// Independent and normal, both parameters converted to the dtype first.
    Normal "rand_normal" ["mean", "std"] (x: Data) on FLOATS, shape: normal, batch: never, terms: Unordered;
    /// As `rand_uniform`; the seed is set before each draw, so that the draws are the same.
    UniformSeeded "rand_uniform_seeded" ["lo", "up", "seed"] (x: Data) on FLOATS, shape: uniform,
        batch: never, terms: Unordered;
    /// As `rand_normal`; the seed is set before each draw, so that the draws are the same.
    NormalSeeded "rand_normal_seeded" ["mean", "std", "seed"] (x: Data) on FLOATS, shape: normal,
        batch: never, terms: Unordered;
}

fn uniform(call: &Operands<'_>) -> Result<Shapes, String> {
    call.require(call.params[0] < call.params[1], "`lo` is below `up`")?;
    draws(call)
}

fn normal(call: &Operands<'_>) -> Result<Shapes, String> {
    call.require(call.params[1] > 0.0, "`std` is above 0")?;
    draws(call)
}

/// Two draws of the shape of the argument.
fn draws(call: &Operands<'_>) -> Result<Shapes, String> {
    if call.params.len() > 2 {
        call.whole(2)?;
    }
    Shapes::of([&[2], call.shapes[0]].concat())
}
