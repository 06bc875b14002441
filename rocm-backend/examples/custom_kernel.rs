//! A kernel of your own, without candle: compiled, launched and checked on whatever device there is, the software GPU
//! included. `cargo run -p rocm-backend --example custom_kernel`

use rocm_backend::{DType, Device, Result};

const SAXPY: &str = r#"
    extern "C" __global__ void saxpy(size_t n, float a, const float *x, float *y) {
        size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
        if (i < n) y[i] += a * x[i];
    }
"#;

/// What a reader copies; `tests/example.rs` runs it.
pub fn main() -> Result<()> {
    let device = Device::new(0)?;
    let n = 1000_usize;
    let host: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let bytes: Vec<u8> = host.iter().flat_map(|x| x.to_le_bytes()).collect();
    let x = device.upload(DType::F32, &bytes)?;
    let mut y = device.zeros(DType::F32, n)?;

    let module = device.compile(SAXPY)?; // or device.load(&std::fs::read("saxpy.hsaco")?)
    let saxpy = module.kernel("saxpy")?.grid(n.div_ceil(256)).workgroup(256);
    // SAFETY: thread i touches x[i] and y[i] when i < n, and both buffers have n elements.
    unsafe { saxpy.arg(n).arg(2.0_f32).arg(&x).arg(&mut y).launch()? };

    let result = y.download()?;
    let want = host.iter().flat_map(|x| (2.0 * x).to_le_bytes());
    assert!(result.into_iter().eq(want));
    println!("saxpy of {n} elements is right on {device}");
    Ok(())
}
