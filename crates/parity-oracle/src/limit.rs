//! The limits of elementwise ops, as they follow from the steps of the formula: exact, as good as the library, or the hull
//! of what rounding after each step may give. The limits of sums and products are in `dot`, those of everything else beside
//! their answers.
//!
//! Each comes with the text that says where it is from; reports show it beside the worst error found.

use parity_model::DType;
use parity_model::float::Format;

use crate::formula::Library;
use crate::formula::interval::{Interval, Made};
use crate::formula::steps::ulp;

/// How far an output element may lie from the expected one: `ulp` units in its last place plus `abs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Units in the last place of the expected value, in the output's dtype.
    pub ulp: f64,
    /// Absolute part.
    pub abs: f64,
}

impl Limit {
    /// The very same number. (+0 and -0 are the same number; a spec may ask for their bits.)
    pub const EXACT: Limit = Limit { ulp: 0.0, abs: 0.0 };
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.ulp > 0.0, self.abs > 0.0) {
            (false, false) => f.write_str("exact"),
            (true, false) => write!(f, "{} ULP", self.ulp),
            (false, true) => write!(f, "{:.3e} absolute", self.abs),
            (true, true) => write!(f, "{} ULP + {:.3e} absolute", self.ulp, self.abs),
        }
    }
}

/// The source of limits of integers, in words.
pub(crate) const INTEGERS: &str = "exact: integer arithmetic";

/// The largest errors of an f32 library function against the correctly rounded result, that LLVM libc's "GPU Conformance"
/// page has for ocml and CUDA (every f32, pow at random), and glibc's manual for x86-64. The worst is [`ulp`].
const fn figures(f: Library) -> &'static str {
    match f {
        Library::Exp => "ocml 1, CUDA 2, glibc 1",
        Library::Log => "ocml 2, CUDA 1, glibc 1",
        Library::Sin => "ocml 2, CUDA 1, glibc 1",
        Library::Cos => "ocml 2, CUDA 2, glibc 1",
        Library::Tanh => "ocml 1, CUDA 2, glibc 2",
        Library::Erf => "ocml 2, CUDA 1, glibc 1",
        Library::Powf(_) => "ocml 1, CUDA 2, glibc 1",
        Library::Normcdf => "CUDA 5 (CUDA C++ programming guide)",
    }
}

/// ULP of one library call, in the output's dtype.
fn library_ulp(f: Library, dtype: DType) -> f64 {
    let own = matches!(dtype, DType::F32 | DType::F64);
    // A narrower one is computed in f32, whose error may flip the one rounding to the dtype.
    if own { ulp(f) } else { 1.0 }
}

/// The limit of an element of a float dtype: `formula` is the interval of its formula, `want` the right answer.
pub(crate) fn of(formula: Interval, dtype: DType, want: f64) -> Limit {
    match (formula.made, Format::of(dtype)) {
        (Made::Library(f), _) => Limit {
            ulp: library_ulp(f, dtype),
            abs: 0.0,
        },
        (Made::Composed, Some(format)) => Limit {
            ulp: 0.0,
            abs: formula.distance(format, want),
        },
        (Made::Given | Made::CorrectlyRounded | Made::Composed, _) => Limit::EXACT,
    }
}

/// The source of the limits in words, for an op whose formula gives these intervals on its branches.
pub(crate) fn source(branches: &[Interval], dtype: DType) -> String {
    let worst = branches.iter().map(|branch| branch.made);
    let worst = worst.reduce(|a, b| if rank(a) < rank(b) { b } else { a });
    match worst.unwrap_or(Made::Given) {
        Made::Given => "exact: the result is a number of the dtype".to_owned(),
        Made::CorrectlyRounded => "exact: IEEE 754 asks for the correctly rounded result".to_owned(),
        Made::Composed => "running error of candle's formula, one rounding a step".to_owned(),
        Made::Library(f) => {
            let limit = Limit {
                ulp: library_ulp(f, dtype),
                abs: 0.0,
            };
            let figures = match dtype {
                DType::F32 => format!("worst of {}", figures(f)),
                DType::F64 => {
                    "worst of ocml 1, CUDA 2, glibc 1 (f64 figures are from random inputs)".to_owned()
                }
                _ => "computed in f32, whose error may flip the one rounding to the dtype".to_owned(),
            };
            format!("{limit}: {figures}")
        }
    }
}

/// How far a number is from an argument.
fn rank(made: Made) -> usize {
    match made {
        Made::Given => 0,
        Made::CorrectlyRounded => 1,
        Made::Library(_) => 2,
        Made::Composed => 3,
    }
}

#[cfg(test)]
mod tests {
    use parity_model::Op;
    use parity_model::op::Unary;

    use super::*;
    use crate::formula::Var;
    use crate::formula::interval::Intervals;
    use crate::ops::unary::formula;

    /// How a unary op's formula makes its result at `x`.
    fn made(op: Unary, x: f64) -> Interval {
        let intervals = Intervals::of(DType::F32);
        formula(op, &[2.0, 3.0], Var::new(&intervals, Interval::point(x))).number
    }

    #[test]
    fn a_limit_follows_from_the_steps_of_the_formula() {
        for (op, wanted) in [
            (Unary::Abs, Made::Given),
            (Unary::Relu, Made::Given),
            (Unary::Recip, Made::CorrectlyRounded),
            (Unary::Sqrt, Made::CorrectlyRounded),
            (Unary::RoundTo, Made::CorrectlyRounded),
            (Unary::Exp, Made::Library(Library::Exp)),
            (Unary::Powf, Made::Library(Library::Powf(2.0))),
            (Unary::Silu, Made::Composed),
            (Unary::Affine, Made::Composed),
        ] {
            assert_eq!(made(op, 1.5).made, wanted, "{op}");
        }
        assert_eq!(made(Unary::Elu, 1.5).made, Made::Given);
        assert_eq!(made(Unary::Elu, -1.5).made, Made::Composed);
    }

    #[test]
    fn every_limit_has_a_source() {
        for &op in Op::ALL {
            let Op::Unary(op) = op else { continue };
            for dtype in [DType::BF16, DType::F32, DType::F64] {
                let text = source(&[made(op, -1.0), made(op, 1.0)], dtype);
                let source = text.split_once(": ").map_or(text.as_str(), |(_, source)| source);
                assert!(source.len() > 10, "{op} of {dtype}: {text}");
                let limit = of(made(op, 0.5), dtype, 0.5);
                assert!(
                    limit.ulp <= 2.0 && limit.abs.is_finite(),
                    "{op} of {dtype}: {limit}"
                );
            }
        }
    }
}
