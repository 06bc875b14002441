//! What candle does today: a reduction over a broadcast dimension of size one panics.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    let xs = Tensor::new(&[1f32, 2.], &Cpu)?.broadcast_as((1, 2))?;
    panics(|| xs.max(0), "attempt to divide by zero");
    panics(|| xs.argmax(0), "attempt to divide by zero");
    Ok(())
}
