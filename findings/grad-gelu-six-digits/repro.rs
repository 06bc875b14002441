//! What candle does today: gradients of gelu and gelu_erf are good to six digits.

use candle_core::{Device::Cpu, Result, Var};

use crate::support::finding;

#[test]
fn repro() -> Result<()> {
    let x = Var::new(&[1f64], &Cpu)?;
    let by_tanh = x.gelu()?.backward()?.get(&x).unwrap().to_vec1::<f64>()?;
    let by_erf = x.gelu_erf()?.backward()?.get(&x).unwrap().to_vec1::<f64>()?;
    finding(by_tanh, [1.0829639004263785f64], [1.0829640838457826f64]);
    finding(by_erf, [1.0833153005156202f64], [1.0833154705876864f64]);
    Ok(())
}
