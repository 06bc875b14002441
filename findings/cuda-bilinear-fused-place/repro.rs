//! What candle does today: a bilinear result on an element of the input mixes in its neighbour.

#![cfg(feature = "cuda")]

use candle_core::{Device, Result, Tensor};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let gpu = Device::new_cuda(0)?;
    // Three results for one element: each second lies on it.
    let row = Tensor::new(&[1f64, 1e30, 1., 1e30], &gpu)?.reshape((1, 1, 1, 4))?;
    let wide = row
        .upsample_bilinear2d(1, 12, false)?
        .flatten_all()?
        .to_vec1::<f64>()?;
    finding(wide[7] == 1., false, true);
    Ok(())
}
