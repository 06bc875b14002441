//! candle on an AMD GPU: ops and layers on the ROCm device beside the CPU's, none of them on the CPU by another door.

use candle_core::{D, DType, Device, Result, Tensor, bail, rocm};
use candle_nn::{Activation, Conv2d, Conv2dConfig, Linear, Module, RmsNorm, ops};

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
    compare("Linear::forward", linear, &gpu)?;
    compare(
        "attention",
        |device| {
            let (x, k) = (x.to_device(device)?, x.to_device(device)?.t()?);
            ops::softmax(&(x.matmul(&k)? / 3f64.sqrt())?, D::Minus1)?.matmul(&x)
        },
        &gpu,
    )?;
    compare(
        "RmsNorm::forward",
        |device| RmsNorm::new(y.to_device(device)?.squeeze(0)?, 1e-5).forward(&x.to_device(device)?),
        &gpu,
    )?;
    compare(
        "Conv2d::forward",
        |device| {
            let kernel = Tensor::arange(0f32, 18., device)?.reshape((1, 2, 3, 3))?;
            let image = Tensor::arange(0f32, 50., device)?.reshape((1, 2, 5, 5))?;
            Conv2d::new(kernel, None, Conv2dConfig::default()).forward(&image)
        },
        &gpu,
    )?;
    decode_loop(&gpu)?;
    // On a machine without a GPU there is an error that says so, and on others the same device.
    match Device::new_rocm_hardware(0) {
        Ok(card) => println!("a card: {card:?}"),
        Err(why) => println!("no card: {}", why.to_string().lines().next().unwrap_or_default()),
    }
    match rocm::fallbacks().as_slice() {
        [] => println!("nothing fell back to the CPU"),
        fallbacks => bail!("ran on the CPU: {fallbacks:?}"),
    }
    Ok(())
}

/// A step that is captured once and replayed: its state is on the device, and the host waits for the result alone.
fn decode_loop(gpu: &Device) -> Result<()> {
    let position = Tensor::zeros(1, DType::U32, gpu)?;
    let squares = Tensor::zeros(6, DType::U32, gpu)?;
    let (graph, ()) = gpu.as_rocm_device()?.capture(|| {
        squares.scatter_set(&position, &(&position * &position)?, 0)?;
        position.slice_set(&position.broadcast_add(&Tensor::new(1u32, gpu)?)?, 0, 0)
    })?;
    for _ in 0..6 {
        graph.replay()?;
    }
    let squares = squares.to_vec1::<u32>()?;
    println!(
        "a graph of {} nodes, replayed six times: {squares:?}\n",
        graph.nodes()
    );
    match squares == [0, 1, 4, 9, 16, 25] {
        true => Ok(()),
        false => bail!("the graph says {squares:?}"),
    }
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
