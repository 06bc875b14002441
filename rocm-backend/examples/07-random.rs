//! Random numbers of a seed, on the device. `cargo run -p rocm-backend --example 07-random`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]

use rocm_backend::ops::{self, Reduce};
use rocm_backend::{DType, Device, Result};

/// `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    let device = Device::new(0)?;
    device.set_seed(42);
    let uniform = ops::rand_uniform(&device, DType::F32, 1000, -1.0, 1.0)?;
    let normal = ops::rand_normal(&device, DType::F16, 1000, 0.0, 1.0)?;
    assert_eq!((uniform.len(), normal.dtype()), (1000, DType::F16));

    // The same seed and the same draws make the same numbers.
    device.set_seed(42);
    let again = ops::rand_uniform(&device, DType::F32, 1000, -1.0, 1.0)?;
    assert_eq!(uniform.download::<f32>()?, again.download::<f32>()?);

    let sum = ops::reduce(Reduce::Sum, uniform.view(), &[0])?.download::<f32>()?;
    println!("1000 numbers between -1 and 1 add up to {}", sum[0]);
    Ok(())
}
