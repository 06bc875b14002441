//! What candle does today: bf16 addition flushes subnormals on machines with AVX512-BF16.

use candle_core::{Device::Cpu, Result, Tensor};
use half::bf16;

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let tiny = bf16::from_bits(1);
    let xs = Tensor::full(tiny, 32, &Cpu)?;
    let out = (&xs + xs.zeros_like()?)?.to_vec1::<bf16>()?;
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512vl") {
        finding(out, [bf16::ZERO; 32], [tiny; 32]);
        return Ok(());
    }
    assert_eq!(out, [tiny; 32], "this machine has no AVX512-BF16");
    Ok(())
}
