//! What candle does today: sorting a row with NaNs panics.

use candle_core::{Device::Cpu, Result, Tensor};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    // Descending numbers, with a NaN in every third place.
    let number = |i: u8| if i % 3 == 1 { f32::NAN } else { -f32::from(i) };
    let row: Vec<_> = (0..33).map(number).collect();
    let xs = Tensor::new(row, &Cpu)?;
    panics(|| xs.arg_sort_last_dim(true), "total order");
    Ok(())
}
