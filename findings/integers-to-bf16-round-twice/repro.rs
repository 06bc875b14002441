//! What candle does today: u32, i32 and i64 to bf16 are rounded twice.

use candle_core::{DType, Device::Cpu, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    // 2^24 + 2^16 + 1: a little more than halfway from 2^24 to the next bf16, which is 2^24 + 2^17.
    for dtype in [DType::U32, DType::I32, DType::I64] {
        let xs = Tensor::new(&[16_842_753u32], &Cpu)?.to_dtype(dtype)?;
        let out = xs.to_dtype(DType::BF16)?.to_dtype(DType::F64)?;
        finding(out.to_vec1::<f64>()?, [16_777_216f64], [16_908_288f64]);
    }
    Ok(())
}
