//! What candle does today: the gradient of gather refuses fewer ids than the source has elements beside the dimension.

use candle_core::{DType, Device::Cpu, Result, Tensor, Var};

use crate::support::refuses;

#[test]
fn repro() -> Result<()> {
    let x = Var::ones((2, 3), DType::F32, &Cpu)?;
    let ids = Tensor::zeros((1, 2), DType::U32, &Cpu)?;
    let gathered = x.gather(&ids, 0)?;
    assert_eq!(gathered.dims(), [1, 2]);
    refuses(gathered.sum_all()?.backward(), "shape mismatch in scatter");
    Ok(())
}
