//! The limits: which ops are exact, which are as good as their library, and which follow from their formula.
//!
//! Each comes with the text that says where it is from; reports show it beside the worst error found.

use parity_model::{Case, DType, LimitSpec, Op};

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

/// The rule that gives a case its limits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
    /// The same limit for every element.
    Fixed(Limit),
    /// Bit for bit.
    Bits,
    /// [`crate::bound::composite`], element by element.
    Composite,
}

/// ULP of an f32 library function and where the figure is from. The figures are the largest errors against the
/// correctly rounded result that LLVM libc's "GPU Conformance" page has for ocml and CUDA (every f32, pow at random),
/// and glibc's manual for x86-64.
struct Library {
    ulp: f64,
    source: &'static str,
}

const fn library(op: Op) -> Option<Library> {
    let (ulp, source) = match op {
        Op::Exp => (2.0, "ocml 1, CUDA 2, glibc 1"),
        Op::Log => (2.0, "ocml 2, CUDA 1, glibc 1"),
        Op::Sin => (2.0, "ocml 2, CUDA 1, glibc 1"),
        Op::Cos => (2.0, "ocml 2, CUDA 2, glibc 1"),
        Op::Tanh => (2.0, "ocml 1, CUDA 2, glibc 2"),
        Op::Erf => (2.0, "ocml 2, CUDA 1, glibc 1"),
        Op::Powf => (2.0, "ocml 1, CUDA 2, glibc 1"),
        Op::Abs
        | Op::Neg
        | Op::Recip
        | Op::Sqr
        | Op::Sqrt
        | Op::Gelu
        | Op::GeluErf
        | Op::Relu
        | Op::Silu
        | Op::Floor
        | Op::Ceil
        | Op::Round
        | Op::Sign
        | Op::Affine
        | Op::Elu
        | Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Div
        | Op::Maximum
        | Op::Minimum
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge => return None,
    };
    Some(Library { ulp, source })
}

/// The rule for a case, and its source in words.
pub(crate) fn rule(case: &Case) -> (Rule, String) {
    match &case.limit {
        LimitSpec::Fixed { ulp, abs, source } => {
            let limit = Limit { ulp: *ulp, abs: *abs };
            (Rule::Fixed(limit), format!("{limit}: {source}"))
        }
        LimitSpec::Bits { source } => (Rule::Bits, format!("same bits: {source}")),
        LimitSpec::Derived => derived(case.op, case.dtype),
    }
}

fn derived(op: Op, dtype: DType) -> (Rule, String) {
    let fixed = |ulp: f64, source: &str| {
        let limit = Limit { ulp, abs: 0.0 };
        (Rule::Fixed(limit), format!("{limit}: {source}"))
    };
    if !dtype.is_float() {
        return fixed(0.0, "integer arithmetic");
    }
    match (library(op), dtype) {
        (Some(library), DType::F32) => fixed(library.ulp, &format!("worst of {}", library.source)),
        (Some(_), DType::F64) => fixed(
            2.0,
            "worst of ocml 1, CUDA 2, glibc 1 (f64 figures are from random inputs)",
        ),
        (Some(_), _) => fixed(
            1.0,
            "computed in f32, whose error may flip the one rounding to the dtype",
        ),
        (None, _) => match op {
            Op::Gelu | Op::GeluErf | Op::Silu | Op::Elu | Op::Affine => (
                Rule::Composite,
                "running error of candle's formula, one rounding a step".to_owned(),
            ),
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Recip | Op::Sqr | Op::Sqrt => {
                fixed(0.0, "IEEE 754 asks for the correctly rounded result")
            }
            Op::Exp
            | Op::Log
            | Op::Sin
            | Op::Cos
            | Op::Erf
            | Op::Tanh
            | Op::Powf
            | Op::Abs
            | Op::Neg
            | Op::Relu
            | Op::Floor
            | Op::Ceil
            | Op::Round
            | Op::Sign
            | Op::Maximum
            | Op::Minimum
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge => fixed(0.0, "the result is a number of the dtype"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_source() {
        for &op in Op::ALL {
            for &dtype in op.dtypes() {
                let (rule, text) = derived(op, dtype);
                let source = text.split_once(": ").map_or(text.as_str(), |(_, source)| source);
                assert!(source.len() > 10, "{op} of {dtype}: {text}");
                if let Rule::Fixed(limit) = rule {
                    assert!(limit.ulp <= 2.0 && limit.abs == 0.0, "{op} of {dtype}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_composite_rule_has_a_composite_bound_and_no_other_rule_has() {
        for &op in Op::ALL.iter().filter(|op| op.accepts(DType::F32)) {
            let params = vec![1.0; op.params().len()];
            let bound = crate::bound::composite(op, &params, DType::F32, -1.0, -0.25);
            assert_eq!(
                bound.is_some(),
                derived(op, DType::F32).0 == Rule::Composite,
                "{op}"
            );
        }
    }

    #[test]
    fn a_spec_overrides_the_derived_limit() {
        let mut case: Case = "unary/exp:f32:[2]:contiguous:any".parse().unwrap();
        assert_eq!(rule(&case).1, "2 ULP: worst of ocml 1, CUDA 2, glibc 1");
        case.limit = LimitSpec::Fixed {
            ulp: 4.0,
            abs: 1e-6,
            source: "a reason".into(),
        };
        assert_eq!(rule(&case).1, "4 ULP + 1.000e-6 absolute: a reason");
        case.limit = LimitSpec::Bits {
            source: "a reason".into(),
        };
        assert_eq!(rule(&case), (Rule::Bits, "same bits: a reason".into()));
    }
}
