//! Random numbers. How they are drawn is not said here.

use super::ops;

ops! {
    /// Random numbers: two draws of the argument's shape and dtype.
    pub enum Random;

    /// Independent and uniform in [lo, up], both converted to the dtype first; one of the two may be
    /// missing.
    Uniform "rand_uniform" ["lo", "up"] (x: Data) on FLOATS;
    /// Independent and normal, both parameters converted to the dtype first.
    Normal "rand_normal" ["mean", "std"] (x: Data) on FLOATS;
    /// As `rand_uniform`; the seed is set before each draw, so that the draws are the same.
    UniformSeeded "rand_uniform_seeded" ["lo", "up", "seed"] (x: Data) on FLOATS;
    /// As `rand_normal`; the seed is set before each draw, so that the draws are the same.
    NormalSeeded "rand_normal_seeded" ["mean", "std", "seed"] (x: Data) on FLOATS;
}
