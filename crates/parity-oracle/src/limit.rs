//! The limits of elementwise ops: which are exact, which are as good as their library, and which follow from their
//! formula. The limits of sums and products are in `dot`, those of everything else beside their answers.
//!
//! Each comes with the text that says where it is from; reports show it beside the worst error found.

use parity_model::DType;
use parity_model::op::{Binary, Unary};

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

const fn library(op: Unary) -> Option<Library> {
    let (ulp, source) = match op {
        Unary::Exp => (2.0, "ocml 1, CUDA 2, glibc 1"),
        Unary::Log => (2.0, "ocml 2, CUDA 1, glibc 1"),
        Unary::Sin => (2.0, "ocml 2, CUDA 1, glibc 1"),
        Unary::Cos => (2.0, "ocml 2, CUDA 2, glibc 1"),
        Unary::Tanh => (2.0, "ocml 1, CUDA 2, glibc 2"),
        Unary::Erf => (2.0, "ocml 2, CUDA 1, glibc 1"),
        Unary::Powf => (2.0, "ocml 1, CUDA 2, glibc 1"),
        Unary::Abs
        | Unary::Neg
        | Unary::Recip
        | Unary::Sqr
        | Unary::Sqrt
        | Unary::Gelu
        | Unary::GeluErf
        | Unary::Relu
        | Unary::Silu
        | Unary::Floor
        | Unary::Ceil
        | Unary::Round
        | Unary::Sign
        | Unary::Affine
        | Unary::Clamp
        | Unary::RoundTo
        | Unary::Elu => return None,
    };
    Some(Library { ulp, source })
}

fn fixed(ulp: f64, source: &str) -> (Rule, String) {
    let limit = Limit { ulp, abs: 0.0 };
    (Rule::Fixed(limit), format!("{limit}: {source}"))
}

/// The rule for a unary op, and its source in words.
pub(crate) fn unary(op: Unary, dtype: DType) -> (Rule, String) {
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
            Unary::Gelu | Unary::GeluErf | Unary::Silu | Unary::Elu | Unary::Affine => (
                Rule::Composite,
                "running error of candle's formula, one rounding a step".to_owned(),
            ),
            Unary::Recip | Unary::Sqr | Unary::Sqrt | Unary::RoundTo => fixed(0.0, CORRECTLY_ROUNDED),
            Unary::Exp
            | Unary::Log
            | Unary::Sin
            | Unary::Cos
            | Unary::Erf
            | Unary::Tanh
            | Unary::Powf
            | Unary::Abs
            | Unary::Neg
            | Unary::Relu
            | Unary::Floor
            | Unary::Ceil
            | Unary::Round
            | Unary::Clamp
            | Unary::Sign => fixed(0.0, A_NUMBER),
        },
    }
}

const CORRECTLY_ROUNDED: &str = "IEEE 754 asks for the correctly rounded result";
const A_NUMBER: &str = "the result is a number of the dtype";

/// The rule for a binary op, and its source in words.
pub(crate) fn binary(op: Binary, dtype: DType) -> (Rule, String) {
    if !dtype.is_float() {
        return fixed(0.0, "integer arithmetic");
    }
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => fixed(0.0, CORRECTLY_ROUNDED),
        Binary::Pow => (
            Rule::Composite,
            "running error of candle's formula, one rounding a step".to_owned(),
        ),
        Binary::Maximum
        | Binary::Minimum
        | Binary::Eq
        | Binary::Ne
        | Binary::Lt
        | Binary::Le
        | Binary::Gt
        | Binary::Ge => fixed(0.0, A_NUMBER),
    }
}

#[cfg(test)]
mod tests {
    use parity_model::Op;

    use super::*;

    /// The rules of all elementwise ops and dtypes.
    fn rules() -> Vec<(Op, DType, Rule, String)> {
        let mut rules = Vec::new();
        for &op in Op::ALL {
            for &dtype in op.dtypes() {
                let (rule, text) = match op {
                    Op::Unary(op) => unary(op, dtype),
                    Op::Binary(op) => binary(op, dtype),
                    _ => continue,
                };
                rules.push((op, dtype, rule, text));
            }
        }
        rules
    }

    #[test]
    fn every_limit_has_a_source() {
        for (op, dtype, rule, text) in rules() {
            let source = text.split_once(": ").map_or(text.as_str(), |(_, source)| source);
            assert!(source.len() > 10, "{op} of {dtype}: {text}");
            if let Rule::Fixed(limit) = rule {
                assert!(limit.ulp <= 2.0 && limit.abs == 0.0, "{op} of {dtype}: {text}");
            }
        }
    }

    #[test]
    fn a_composite_rule_has_a_composite_bound_and_no_other_rule_has() {
        for (op, _, rule, _) in rules().into_iter().filter(|(_, dtype, ..)| *dtype == DType::F32) {
            let Op::Unary(unary) = op else { continue };
            let params = vec![1.0; op.params().len()];
            let bound = crate::bound::composite(unary, &params, DType::F32, -1.0, -0.25);
            assert_eq!(bound.is_some(), rule == Rule::Composite, "{op}");
        }
    }
}
