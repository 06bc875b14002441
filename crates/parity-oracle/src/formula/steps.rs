//! How a backend rounds the steps of a formula: the errors of one rounding, of a library call and of a sum.

use parity_model::DType;
use parity_model::float::Format;

use super::Library;

/// ULP of a function in the worst library: see [`crate::limit`].
pub(crate) fn ulp(f: Library) -> f64 {
    match f {
        Library::Exp
        | Library::Log
        | Library::Sin
        | Library::Cos
        | Library::Tanh
        | Library::Erf
        | Library::Powf(_) => 2.0,
        // CUDA's `normcdf` and `normcdff` (CUDA C++ programming guide, table of standard functions).
        Library::Normcdf => 5.0,
    }
}

/// A format to compute in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub(crate) format: Format,
    /// Relative error of one rounding to the format.
    pub(crate) unit: f64,
    /// Absolute error of one rounding to a subnormal.
    pub(crate) tiny: f64,
    /// Relative error of one rounding in the accumulator.
    pub(crate) accumulator: f64,
    /// Relative error of one ULP of a library call before it is rounded to the format: that of f32's for narrower ones.
    pub(crate) library: f64,
}

impl Steps {
    /// For steps in `dtype`, a float.
    pub(crate) fn of(dtype: DType) -> Steps {
        let format = Format::of(dtype).unwrap_or_else(|| panic!("steps of {dtype} are exact"));
        Steps::new(format, format.unit_roundoff(), accumulator_unit(dtype))
    }

    fn new(format: Format, unit: f64, accumulator: f64) -> Steps {
        Steps {
            format,
            unit,
            tiny: format.min_subnormal() / 2.0,
            accumulator,
            library: 2.0 * unit.min(f64::from(f32::EPSILON) / 2.0),
        }
    }

    /// For ends of intervals, which are computed in f64: steps in f64 get twice the error, as ends are rounded too.
    pub(crate) fn outward(self) -> Steps {
        let own = if self.format.mantissa_bits == 52 { 2.0 } else { 1.0 };
        Steps::new(self.format, self.unit * own, self.accumulator)
    }

    /// Steps in f32 where the format is narrower: for formulas that convert before they compute.
    pub(crate) fn widened(self) -> Steps {
        match Format::of(DType::F32) {
            Some(format) if format.mantissa_bits > self.format.mantissa_bits => {
                Steps::new(format, format.unit_roundoff(), self.accumulator)
            }
            Some(_) | None => self,
        }
    }
}

/// The unit roundoff of the format that sums are accumulated in.
pub(crate) fn accumulator_unit(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON / 2.0,
        DType::F8E4M3
        | DType::BF16
        | DType::F16
        | DType::F32
        | DType::U8
        | DType::U32
        | DType::I16
        | DType::I32
        | DType::I64 => f64::from(f32::EPSILON) / 2.0,
    }
}
