//! A kernel of your own, compiled, launched and checked on whatever device there is, the software GPU included.
//! `cargo run -p rocm-backend --example 03-own-kernel`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]
#![expect(unsafe_code, reason = "launches a kernel")]

use rocm_backend::{Device, Result};

const SAXPY: &str = r#"
    extern "C" __global__ void saxpy(size_t n, float a, const float *x, float *y) {
        size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
        if (i < n) y[i] += a * x[i];
    }
"#;

/// What a reader copies; `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    let device = Device::new(0)?;
    let n = 1000_usize;
    let host: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = device.upload(&host)?;
    let mut y = device.zeros::<f32>(n)?;

    let module = device.compile(SAXPY)?; // or device.load(&std::fs::read("saxpy.hsaco")?)
    let saxpy = module.kernel("saxpy")?.grid(n.div_ceil(256)).workgroup(256);
    // SAFETY: thread i touches x[i] and y[i] when i < n, and both buffers have n elements.
    unsafe { saxpy.arg(n).arg(2.0_f32).arg(&x).arg(&mut y).launch()? };

    assert!(y.download()?.iter().zip(&host).all(|(y, x)| *y == 2.0 * x));
    println!("saxpy of {n} elements is right on {device}");
    Ok(())
}
