//! Launches of the random number kernels, and draws by rocRAND.
#![expect(
    unsafe_code,
    reason = "submits kernels and library calls with the addresses of their arguments"
)]

use std::sync::Arc;

use super::{Args, Grid};
use crate::hip::rand::Draw;
use crate::libraries::computing;
use crate::trace::Level;
use crate::{DType, DynBuffer, Library, Result, module};

const MODULE: &str = "random";

/// A distribution, with the numbers its kernels take, in their order. They are of the dtype to be drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Distribution {
    /// From `lo` on, `span` wide, but nothing above `last`.
    Uniform { lo: f64, span: f64, last: f64 },
    /// Centre and width.
    Normal { mean: f64, std: f64 },
}

impl Distribution {
    fn kernel(self) -> &'static str {
        match self {
            Distribution::Uniform { .. } => "rand_uniform",
            Distribution::Normal { .. } => "rand_normal",
        }
    }

    fn numbers(self) -> Vec<f64> {
        match self {
            Distribution::Uniform { lo, span, last } => vec![lo, span, last],
            Distribution::Normal { mean, std } => vec![mean, std],
        }
    }
}

/// How many counter blocks make `len` elements: a block is four words, and an f64 takes two.
pub(crate) fn blocks(dtype: DType, len: usize) -> usize {
    len.div_ceil(if dtype == DType::F64 { 2 } else { 4 })
}

/// Fills `out` by rocRAND from the words of counter block `block` of the seed on, if there is a rocRAND and it draws such
/// elements; says whether. Uniform numbers are then left as rocRAND has them, above 0 and up to 1.
pub(crate) fn library(
    distribution: Distribution,
    out: &mut DynBuffer,
    seed: u64,
    block: u64,
) -> Result<bool> {
    let (context, dtype, len) = (out.memory().context(), out.dtype(), out.len());
    let driver = context.info().driver();
    let draw = match distribution {
        Distribution::Uniform { .. } => Draw::Uniform,
        Distribution::Normal { mean, std } => Draw::Normal(mean, std),
    };
    let Some(function) = draw.function(dtype).filter(|_| len > 0) else {
        return Ok(false);
    };
    if matches!(driver.rocrand(), Library::Absent(_)) {
        return Ok(false);
    }
    let address = out.memory().block().address();
    // Four words a block.
    let place = (seed, block.wrapping_mul(4));
    // SAFETY: `out` has `len` elements of the dtype, and is borrowed mutably; the generator's stream is the context's.
    let done =
        context.with_rocrand(|generator| unsafe { generator.fill(draw, dtype, place, address, len) })?;
    if done {
        let function = computing(function, driver);
        context
            .ledger()
            .add(distribution.kernel(), function, Level::of(driver));
        context
            .ledger()
            .trace(&Arc::from(function), None, Level::of(driver));
    }
    Ok(done)
}

/// Fills `out`, from counter block `block` of the key `seed` on. The grid decides who computes an element, not which
/// number it is.
pub(crate) fn fill(
    distribution: Distribution,
    out: &mut DynBuffer,
    seed: u64,
    block: u64,
    grid: Grid,
) -> Result<()> {
    let (kernel, dtype) = (distribution.kernel(), out.dtype());
    let context = out.memory().context();
    let function = module::named(
        context,
        MODULE,
        &format!("{kernel}_{}", dtype.suffix()),
        kernel,
        dtype,
    )?;
    let mut args = Args::default();
    args.size(out.len());
    args.words.extend([seed, block]);
    for number in distribution.numbers() {
        match dtype {
            DType::F64 => args.f64(number),
            _ => args.f32(number as f32),
        };
    }
    args.element(out, 0);
    // SAFETY: the arguments are the kernel's, which takes f64 numbers for f64 and f32 for the other dtypes. It writes
    // the `out.len()` elements it is told of, whatever the grid.
    unsafe { args.submit(kernel, context, &function, grid) }?;
    context
        .ledger()
        .add(kernel, kernel, Level::of_kernels(context.info().driver()));
    Ok(())
}

/// Fills `out`, of u32, with the generator's words, from the first one of the block numbered `counter` on.
pub(crate) fn words(out: &mut DynBuffer, key: u64, counter: u128) -> Result<()> {
    let kernel = "philox";
    let context = out.memory().context();
    let function = module::named(context, MODULE, "philox_u32", kernel, out.dtype())?;
    let mut args = Args::default();
    args.size(out.len());
    args.words.extend([key, counter as u64, (counter >> 64) as u64]);
    args.element(out, 0);
    let grid = Grid::over(blocks(DType::U32, out.len()));
    // SAFETY: the arguments are the kernel's, which writes the `out.len()` elements it is told of.
    unsafe { args.submit(kernel, context, &function, grid) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, driver};

    #[test]
    fn every_grid_makes_the_same_numbers() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        let uniform = Distribution::Uniform {
            lo: -1.0,
            span: 3.0,
            last: 1.9,
        };
        let normal = Distribution::Normal { mean: 1.0, std: 2.0 };
        for dtype in [DType::F16, DType::F32, DType::F64] {
            for distribution in [uniform, normal] {
                let draw = |grid| {
                    let mut out = DynBuffer::zeros(&device, dtype, 1023).unwrap();
                    fill(distribution, &mut out, 5, 9, grid).unwrap();
                    out.download_bytes().unwrap()
                };
                let wanted = draw(Grid::over(blocks(dtype, 1023)));
                for grid in [Grid::of(1, 32), Grid::of(1, 1), Grid::of(3, 33), Grid::of(40, 64)] {
                    assert_eq!(draw(grid), wanted, "{dtype}, {distribution:?}, {grid:?}");
                }
            }
        }
    }
}
