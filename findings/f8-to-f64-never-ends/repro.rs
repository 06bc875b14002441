//! What candle does today: f8e4m3 to f64 never ends.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::never_ends;

#[test]
fn repro() -> Result<()> {
    never_ends(module_path!(), || {
        let xs = Tensor::ones(1, DType::F8E4M3, &Cpu)?;
        xs.to_dtype(DType::F64)
    });
    Ok(())
}
