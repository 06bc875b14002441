//! Random numbers.
//!
//! The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011),
//! keyed with the device's seed. A draw takes the next whole blocks of its counter, so that the numbers depend on the seed
//! and on the draws since it was set, not on the shape of a launch. They are not cuRAND's.
//!
//! Where a rocRAND serves (f32 and f64), it draws from the same words of the same sequence, and makes numbers of them in its
//! own way: even ones of f32 differ by at most 2^-24 of the range, the two normal ones of a pair change places.

use half::{bf16, f16};

use crate::hip::launch::Grid;
use crate::hip::launch::random::{self as launch, Distribution};
use crate::kernel::Binary;
use crate::{DType, Device, DynBuffer, Error, Result, Scalar, View};

/// `len` numbers from `lo` on and below `up`, evenly distributed: never `up` itself. `lo` and `up` are rounded to `dtype`
/// first. Numbers are drawn in steps of 2^-24 (f64: 2^-53) of the range and rounded to the nearest one of `dtype`.
///
/// # Errors
/// `Error::Unsupported` for an integer dtype; `Error::Parameter` when no number is below `up` and not below `lo`, or
/// the range is not finite; `Error::OutOfMemory`, `Error::Hip`, `Error::DeviceFault`.
pub fn rand_uniform(device: &Device, dtype: DType, len: usize, lo: f64, up: f64) -> Result<DynBuffer> {
    const OP: &str = "rand_uniform";
    let (low, high) = (float(OP, dtype, lo)?, float(OP, dtype, up)?);
    let span = match dtype {
        DType::F64 => high - low,
        _ => f64::from((high - low) as f32),
    };
    if !(low < high && span.is_finite()) {
        return Err(Error::parameter(
            OP,
            format!("there is no finite range of {dtype} from {lo} up to {up}"),
        ));
    }
    let uniform = Distribution::Uniform {
        lo: low,
        span,
        last: below(dtype, high),
    };
    draw(device, dtype, len, uniform)
}

/// `len` numbers from the normal distribution around `mean` with the standard deviation `std`, by the method of Box and
/// Muller. Both are rounded to `dtype` first.
///
/// # Errors
/// `Error::Unsupported` for an integer dtype; `Error::Parameter` when `std` is not finite; else as [`rand_uniform`].
pub fn rand_normal(device: &Device, dtype: DType, len: usize, mean: f64, std: f64) -> Result<DynBuffer> {
    const OP: &str = "rand_normal";
    let (center, width) = (float(OP, dtype, mean)?, float(OP, dtype, std)?);
    if !width.is_finite() {
        return Err(Error::parameter(
            OP,
            format!("a standard deviation of {std} is not a finite {dtype}"),
        ));
    }
    let normal = Distribution::Normal {
        mean: center,
        std: width,
    };
    draw(device, dtype, len, normal)
}

/// `len` words of Philox4x32-10 with `key`, as u32, from the first one of the block numbered `counter` on. The device's
/// seed has no part in it.
///
/// # Errors
/// `Error::OutOfMemory`, `Error::Hip`, `Error::DeviceFault`.
pub fn philox(device: &Device, len: usize, key: u64, counter: u128) -> Result<DynBuffer> {
    let mut out = DynBuffer::uninit(device, DType::U32, len)?;
    launch::words(&mut out, key, counter)?;
    Ok(out)
}

fn draw(device: &Device, dtype: DType, len: usize, distribution: Distribution) -> Result<DynBuffer> {
    // Its replays would draw the same numbers.
    device.context().refuse_in_capture("a draw of random numbers")?;
    let mut out = DynBuffer::uninit(device, dtype, len)?;
    let blocks = launch::blocks(dtype, len);
    let (seed, block) = device.context().generator().take(blocks);
    if !launch::library(distribution, &mut out, seed, block)? {
        launch::fill(distribution, &mut out, seed, block, Grid::over(blocks))?;
        return Ok(out);
    }
    match distribution {
        Distribution::Normal { .. } => Ok(out),
        Distribution::Uniform { lo, span, last } => stretch(&out, lo, span, last),
    }
}

/// `lo + span x` for numbers up to 1, but nothing above `last`.
fn stretch(x: &DynBuffer, lo: f64, span: f64, last: f64) -> Result<DynBuffer> {
    let stretched = super::affine(x.view(), span, lo)?;
    let limit = match x.dtype() {
        DType::F64 => x.device().upload(&[last])?.untyped(),
        _ => x.device().upload(&[last as f32])?.untyped(),
    };
    let limit = View::new(&limit, stretched.view().dims(), &[0]);
    super::binary(Binary::Minimum, stretched.view(), limit)
}

/// `value` rounded to `dtype`, which must be a float.
fn float(op: &str, dtype: DType, value: f64) -> Result<f64> {
    match Scalar::from_f64(dtype, value) {
        Scalar::BF16(value) => Ok(value.to_f64()),
        Scalar::F16(value) => Ok(value.to_f64()),
        Scalar::F32(value) => Ok(value.into()),
        Scalar::F64(value) => Ok(value),
        Scalar::F8E4M3(value) => Ok(value.to_f64()),
        _ => Err(Error::Unsupported {
            op: op.to_owned(),
            dtype,
        }),
    }
}

/// The greatest number of `dtype` below `value`, which is one of them and not the least.
fn below(dtype: DType, value: f64) -> f64 {
    // Sign and magnitude: a step down is the next lesser magnitude, or the next greater one of a negative number. Below
    // both zeros is the least magnitude, negative.
    macro_rules! step {
        ($number:expr, $from_bits:path, $least_negative:expr) => {{
            let number = $number;
            let bits = number.to_bits();
            $from_bits(match value.partial_cmp(&0.0) {
                Some(std::cmp::Ordering::Greater) => bits - 1,
                Some(std::cmp::Ordering::Less) => bits + 1,
                _ => $least_negative,
            })
        }};
    }
    match Scalar::from_f64(dtype, value) {
        Scalar::BF16(x) => step!(x, bf16::from_bits, 0x8001).to_f64(),
        Scalar::F16(x) => step!(x, f16::from_bits, 0x8001).to_f64(),
        Scalar::F8E4M3(x) => step!(x, float8::F8E4M3::from_bits, 0x81).to_f64(),
        Scalar::F32(x) => x.next_down().into(),
        _ => value.next_down(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_the_next_lesser_number_of_the_dtype() {
        for (dtype, value, wanted) in [
            (DType::F32, 1.0, 1.0 - 2f64.powi(-24)),
            (DType::F64, 1.0, 1.0 - 2f64.powi(-53)),
            (DType::F16, 1.0, 1.0 - 2f64.powi(-11)),
            (DType::BF16, 1.0, 1.0 - 2f64.powi(-8)),
            (DType::F8E4M3, 1.0, 1.0 - 2f64.powi(-4)),
            (DType::F16, -1.0, -1.0 - 2f64.powi(-10)),
            (DType::F8E4M3, -1.0, -1.125),
            (DType::BF16, 0.0, -(2f64.powi(-133))),
            (DType::F16, -0.0, -(2f64.powi(-24))),
            (DType::F8E4M3, 0.0, -(2f64.powi(-9))),
        ] {
            assert_eq!(below(dtype, value), wanted, "{dtype} {value}");
        }
    }
}
