//! What candle does today: the gradient of scatter_add refuses fewer ids than the tensor has elements.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let x = Var::ones(3, DType::F32, &Cpu)?;
    let ids = Tensor::zeros(2, DType::U32, &Cpu)?;
    let added = x.scatter_add(&ids, &Tensor::ones(2, DType::F32, &Cpu)?, 0)?;
    refuses(added.sum_all()?.backward(), "shape mismatch in scatter");
    Ok(())
}
