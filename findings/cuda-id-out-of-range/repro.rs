//! What candle does today: an id out of range ends the context.

#![cfg(feature = "cuda")]

use candle_core::{Device, Tensor};

use crate::support::faults;

#[test]
fn repro() {
    faults(module_path!(), "CUDA_ERROR_ASSERT", || {
        let gpu = Device::new_cuda(0)?;
        let xs = Tensor::new(&[1f32, 2.], &gpu)?;
        // The launch succeeds; whatever is asked of the device next fails, this tensor's own data included.
        let _ = xs.index_select(&Tensor::new(&[2u32], &gpu)?, 0)?.to_vec1::<f32>();
        xs.to_vec1::<f32>()
    });
}
