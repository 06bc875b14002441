//! What candle does today: arange never ends when the step is rounded away.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::never_ends;

#[test]
fn repro() -> Result<()> {
    never_ends(module_path!(), || {
        Tensor::arange(16_777_216f32, 16_777_220., &Cpu)
    });
    Ok(())
}
