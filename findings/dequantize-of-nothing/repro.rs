//! What candle does today: blocks of no weights panic.

use std::borrow::Cow;

use candle_core::quantized::{GgmlDType, QStorage};
use candle_core::{Device::Cpu, Result};

use crate::support::panics;

#[test]
fn repro() -> Result<()> {
    panics(
        || QStorage::from_data(Cow::Owned(vec![]), &Cpu, GgmlDType::Q4_0),
        "must be aligned",
    );
    Ok(())
}
