//! candle on an AMD GPU: two ops on the ROCm device beside the CPU's, and an op that is not there yet.

use candle_core::{Device, Result, RocmError, Tensor, bail};
use candle_nn::{Activation, Linear, Module};

fn main() -> Result<()> {
    let gpu = Device::new_rocm(0)?;
    println!("running on {}\n", gpu.as_rocm_device()?.backend().info().name());
    let x = Tensor::new(&[[-2f32, -0.5, 0.25], [0., 1., 3.]], &Device::Cpu)?;
    let y = Tensor::new(&[[1f32, 2., 3.]], &Device::Cpu)?;

    compare(
        "gelu",
        |device| Activation::NewGelu.forward(&x.to_device(device)?),
        &gpu,
    )?;
    compare(
        "add",
        |device| x.to_device(device)?.broadcast_add(&y.to_device(device)?),
        &gpu,
    )?;

    let linear = |device: &Device| Linear::new(y.to_device(device)?, None).forward(&x.to_device(device)?);
    if let Err(error) = linear(&gpu)
        && let Some(reason) = RocmError::of(&error).filter(|reason| reason.is_unsupported())
    {
        println!("Linear::forward: {reason}");
        return Ok(());
    }
    compare("Linear::forward", linear, &gpu)
}

/// Runs `f` on both devices, shows what comes out, and fails where the two differ by more than rounding.
fn compare(name: &str, f: impl Fn(&Device) -> Result<Tensor>, gpu: &Device) -> Result<()> {
    let [on_cpu, on_gpu] = [f(&Device::Cpu)?, f(gpu)?];
    println!("{name}\n{on_cpu}\n{on_gpu}\n");
    let [expected, got] = [on_cpu, on_gpu].map(|tensor| tensor.flatten_all()?.to_vec1::<f32>());
    let (expected, got) = (expected?, got?);
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-6 * a.abs().max(1.);
    if expected.len() != got.len() || !expected.iter().zip(&got).all(near) {
        bail!("{name}: the cpu says {expected:?}, {gpu:?} says {got:?}")
    }
    Ok(())
}
