//! What candle does today: every expert but the first is read from the wrong place in q8_0.

#![cfg(feature = "cuda")]

use candle_core::{
    Device, Result, Tensor,
    quantized::{GgmlDType, QTensor},
};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    // Two experts of one row: 127 all over, which blocks of 8 bits hold exactly, and twice that.
    let experts = Tensor::cat(
        &[
            Tensor::full(127f32, (1, 1, 64), &gpu)?,
            Tensor::full(254f32, (1, 1, 64), &gpu)?,
        ],
        0,
    )?;
    let experts = QTensor::quantize(&experts, GgmlDType::Q8_0)?;
    let (rows, second) = (
        Tensor::full(127f32, (1, 1, 64), &gpu)?,
        Tensor::new(&[[1u32]], &gpu)?,
    );
    let product = experts.indexed_moe_forward(&rows, &second)?;
    let first = 64. * 127. * 127.;
    finding(product.flatten_all()?.to_vec1::<f32>()?[0], first, 2. * first);
    Ok(())
}
