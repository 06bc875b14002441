//! The table of ops: what exists, what it takes, for which dtypes it means something, and which answer is right.
//!
//! One row an op. The spec parser, the executor and the oracle read this table; each of them matches on [`Op`] without
//! `_`, so that a new row does not compile until everyone knows it. How a backend computes an op is not said here.

use serde::{Deserialize, Serialize};

use crate::DType;

/// Ops that share a spec file, a shape rule and a column in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// One tensor in, one of the same shape out; scalar parameters allowed.
    Unary,
    /// Two tensors of the same logical shape in, one of that shape out.
    Binary,
}

impl Family {
    /// Every family, in the order tables show them.
    pub const ALL: [Family; 2] = [Family::Unary, Family::Binary];

    /// The word ids, specs and filters use.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Unary => "unary",
            Family::Binary => "binary",
        }
    }

    /// Number of tensor arguments.
    pub const fn arity(self) -> usize {
        match self {
            Family::Unary => 1,
            Family::Binary => 2,
        }
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Family {
    type Err = UnknownName;

    fn from_str(s: &str) -> Result<Self, UnknownName> {
        Family::ALL
            .into_iter()
            .find(|family| family.name() == s)
            .ok_or_else(|| UnknownName {
                what: "op family",
                name: s.to_owned(),
            })
    }
}

/// A name that is in none of this crate's tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{name}`")]
pub struct UnknownName {
    /// What the name was to name, e.g. `op`.
    pub what: &'static str,
    /// The name found.
    pub name: String,
}

/// The dtype of an op's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// That of the input.
    Same,
    /// `u8`: 1 for true, 0 for false.
    Truth,
}

const FLOATS: &[DType] = &[DType::F8E4M3, DType::BF16, DType::F16, DType::F32, DType::F64];
const ANY: &[DType] = &DType::ALL;

macro_rules! ops {
    ($($variant:ident, $name:literal, $family:ident, $params:expr, $dtypes:ident, $output:ident, $doc:literal;)*) => {
        /// Every op parity knows. The documentation of a variant states the right answer, NaN and zero included.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $(#[doc = $doc] $variant,)*
        }

        impl Op {
            /// Every op, in table order.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The name specs and ids use; the same as the candle method's.
            pub const fn name(self) -> &'static str {
                match self { $(Op::$variant => $name,)* }
            }

            /// The family the op belongs to.
            pub const fn family(self) -> Family {
                match self { $(Op::$variant => Family::$family,)* }
            }

            /// The names of the op's scalar parameters, in order.
            pub const fn params(self) -> &'static [&'static str] {
                match self { $(Op::$variant => &$params,)* }
            }

            /// The dtypes for which the op means something. candle's CPU backend returns 0 for `gelu`, `gelu_erf`,
            /// `erf` and `silu` on integers and panics for `exp` and its like; neither is a meaning.
            pub const fn dtypes(self) -> &'static [DType] {
                match self { $(Op::$variant => $dtypes,)* }
            }

            const fn output(self) -> Output {
                match self { $(Op::$variant => Output::$output,)* }
            }

            /// The definition of the op in one line, with its policy for NaN, zeros and integers.
            pub const fn definition(self) -> &'static str {
                match self { $(Op::$variant => $doc,)* }
            }
        }
    };
}

#[rustfmt::skip] // One op per line.
ops! {
    Exp,      "exp",      Unary,  [],               FLOATS, Same,  "e^x.";
    Log,      "log",      Unary,  [],               FLOATS, Same,  "Natural logarithm; NaN below zero, -inf at zero.";
    Sin,      "sin",      Unary,  [],               FLOATS, Same,  "Sine of x radians; NaN at infinities.";
    Cos,      "cos",      Unary,  [],               FLOATS, Same,  "Cosine of x radians; NaN at infinities.";
    Abs,      "abs",      Unary,  [],               ANY,    Same,  "Absolute value; the minimum of a signed integer type stays itself.";
    Neg,      "neg",      Unary,  [],               FLOATS, Same,  "-x.";
    Recip,    "recip",    Unary,  [],               FLOATS, Same,  "1/x, correctly rounded.";
    Sqr,      "sqr",      Unary,  [],               FLOATS, Same,  "x*x, correctly rounded.";
    Sqrt,     "sqrt",     Unary,  [],               FLOATS, Same,  "Square root, correctly rounded; NaN below zero.";
    Gelu,     "gelu",     Unary,  [],               FLOATS, Same,  "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); NaN at -inf, where the product is -inf * 0.";
    GeluErf,  "gelu_erf", Unary,  [],               FLOATS, Same,  "0.5 x (1 + erf(x / sqrt 2)); NaN at -inf, where the product is -inf * 0.";
    Erf,      "erf",      Unary,  [],               FLOATS, Same,  "Error function.";
    Relu,     "relu",     Unary,  [],               ANY,    Same,  "maximum(x, 0): NaN propagates.";
    Silu,     "silu",     Unary,  [],               FLOATS, Same,  "x / (1 + e^-x); NaN at -inf, where the quotient is -inf / inf.";
    Tanh,     "tanh",     Unary,  [],               FLOATS, Same,  "Hyperbolic tangent.";
    Floor,    "floor",    Unary,  [],               ANY,    Same,  "Greatest integer not above x; the identity on integers.";
    Ceil,     "ceil",     Unary,  [],               ANY,    Same,  "Least integer not below x; the identity on integers.";
    Round,    "round",    Unary,  [],               ANY,    Same,  "Nearest integer, halves away from zero; the identity on integers.";
    Sign,     "sign",     Unary,  [],               ANY,    Same,  "-1, 0 or 1; 0 for NaN.";
    Affine,   "affine",   Unary,  ["mul", "add"],   ANY,    Same,  "mul x + add, both parameters converted to the dtype first (saturating, as Rust's `as`); integers wrap.";
    Powf,     "powf",     Unary,  ["exponent"],     FLOATS, Same,  "x^exponent as IEEE 754 `pow`, the exponent converted to the dtype first.";
    Elu,      "elu",      Unary,  ["alpha"],        FLOATS, Same,  "x above zero, alpha (e^x - 1) below, alpha converted to the dtype first.";
    Add,      "add",      Binary, [],               ANY,    Same,  "a + b, correctly rounded; integers wrap.";
    Sub,      "sub",      Binary, [],               ANY,    Same,  "a - b, correctly rounded; integers wrap.";
    Mul,      "mul",      Binary, [],               ANY,    Same,  "a b, correctly rounded; integers wrap.";
    Div,      "div",      Binary, [],               ANY,    Same,  "a / b, correctly rounded; integers truncate and wrap, and an integer divided by zero has all bits set.";
    Maximum,  "maximum",  Binary, [],               ANY,    Same,  "IEEE 754-2019 `maximum`: NaN propagates.";
    Minimum,  "minimum",  Binary, [],               ANY,    Same,  "IEEE 754-2019 `minimum`: NaN propagates.";
    Eq,       "eq",       Binary, [],               ANY,    Truth, "a = b; false with NaN.";
    Ne,       "ne",       Binary, [],               ANY,    Truth, "a != b; true with NaN.";
    Lt,       "lt",       Binary, [],               ANY,    Truth, "a < b; false with NaN.";
    Le,       "le",       Binary, [],               ANY,    Truth, "a <= b; false with NaN.";
    Gt,       "gt",       Binary, [],               ANY,    Truth, "a > b; false with NaN.";
    Ge,       "ge",       Binary, [],               ANY,    Truth, "a >= b; false with NaN.";
}

impl Op {
    /// Number of tensor arguments.
    pub const fn arity(self) -> usize {
        self.family().arity()
    }

    /// The dtype of the output for arguments of `dtype`.
    pub const fn result_dtype(self, dtype: DType) -> DType {
        match self.output() {
            Output::Same => dtype,
            Output::Truth => DType::U8,
        }
    }

    /// Whether the op means something for `dtype`.
    pub fn accepts(self, dtype: DType) -> bool {
        self.dtypes().contains(&dtype)
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Op {
    type Err = UnknownName;

    fn from_str(s: &str) -> Result<Self, UnknownName> {
        let op = Op::ALL.iter().copied().find(|op| op.name() == s);
        op.ok_or_else(|| UnknownName {
            what: "op",
            name: s.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_are_unique() {
        for (i, op) in Op::ALL.iter().enumerate() {
            assert_eq!(op.name().parse(), Ok(*op));
            assert!(
                Op::ALL[..i].iter().all(|other| other.name() != op.name()),
                "{op} stands twice"
            );
        }
        assert!("expm1".parse::<Op>().is_err());
    }

    #[test]
    fn comparisons_give_u8_and_everything_else_keeps_its_dtype() {
        let truth: Vec<_> = Op::ALL
            .iter()
            .filter(|op| op.result_dtype(DType::F32) == DType::U8)
            .collect();
        assert_eq!(truth, [&Op::Eq, &Op::Ne, &Op::Lt, &Op::Le, &Op::Gt, &Op::Ge]);
    }
}
