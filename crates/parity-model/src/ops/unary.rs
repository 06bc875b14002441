//! Ops of one tensor, element by element. How they are computed is not said here.

use super::ops;
use crate::op::batch::every;
use crate::op::shape::alike;

ops! {
    /// One tensor in, one of the same shape out; scalar parameters allowed.
    pub enum Unary;

    /// e^x.
    Exp "exp" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "w e^x.";
    /// Natural logarithm; NaN below zero, -inf at zero.
    Log "log" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "w / x.";
    /// Sine of x radians; NaN at infinities.
    Sin "sin" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "w cos x.";
    /// Cosine of x radians; NaN at infinities.
    Cos "cos" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "-w sin x.";
    /// Absolute value; the minimum of a signed integer type stays itself.
    Abs "abs" (x: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w or -w, by the sign of x; anything between at zero.";
    /// -x.
    Neg "neg" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "-w.";
    /// 1/x, correctly rounded.
    Recip "recip" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "-w / x^2.";
    /// x*x, correctly rounded.
    Sqr "sqr" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "2 w x.";
    /// Square root, correctly rounded; NaN below zero.
    Sqrt "sqrt" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "w / (2 sqrt x).";
    /// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); NaN at -inf, where the product is -inf * 0.
    Gelu "gelu" (x: Data) on FLOATS, shape: alike, batch: every,
        grad on WIDE: "w times the derivative of the tanh formula.";
    /// 0.5 x (1 + erf(x / sqrt 2)); NaN at -inf, where the product is -inf * 0.
    GeluErf "gelu_erf" (x: Data) on FLOATS, shape: alike, batch: every,
        grad on WIDE: "w (0.5 + 0.5 erf(x / sqrt 2) + x e^(-x^2 / 2) / sqrt(2 pi)).";
    /// Error function.
    Erf "erf" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "2 w e^(-x^2) / sqrt pi.";
    /// maximum(x, 0): NaN propagates.
    Relu "relu" (x: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w above zero, 0 below, anything between at zero.";
    /// x / (1 + e^-x); NaN at -inf, where the quotient is -inf / inf.
    Silu "silu" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "w (s + x s (1 - s)), s = sigmoid(x).";
    /// Hyperbolic tangent.
    Tanh "tanh" (x: Data) on FLOATS, shape: alike, batch: every, grad on WIDE: "w (1 - tanh^2 x).";
    /// Greatest integer not above x; the identity on integers.
    Floor "floor" (x: Data) on ANY, shape: alike, batch: every;
    /// Least integer not below x; the identity on integers.
    Ceil "ceil" (x: Data) on ANY, shape: alike, batch: every;
    /// Nearest integer, halves away from zero; the identity on integers.
    Round "round" (x: Data) on ANY, shape: alike, batch: every;
    /// -1, 0 or 1; 0 for NaN.
    Sign "sign" (x: Data) on ANY, shape: alike, batch: every;
    /// mul x + add, both parameters converted to the dtype first (saturating, as Rust's `as`); integers wrap.
    Affine "affine" ["mul", "add"] (x: Data) on ANY, shape: alike, batch: every, grad on WIDE: "w mul.";
    /// x^exponent as IEEE 754 `pow`, the exponent converted to the dtype first.
    Powf "powf" ["exponent"] (x: Data) on FLOATS, shape: alike, batch: every,
        grad on WIDE: "w exponent x^(exponent - 1).";
    /// x above zero, alpha (e^x - 1) below, alpha converted to the dtype first.
    Elu "elu" ["alpha"] (x: Data) on FLOATS, shape: alike, batch: every,
        grad on WIDE: "w above zero, w alpha e^x below.";
    /// minimum(maximum(x, min), max), both converted to the dtype first (saturating, as Rust's `as`): NaN propagates.
    Clamp "clamp" ["min", "max"] (x: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w between both ends, 0 beyond, anything between at an end.";
    /// round(x 10^decimals) 10^-decimals, halves away from zero; both powers and both products rounded to the dtype.
    RoundTo "round_to" ["decimals"] (x: Data) on FLOATS, shape: alike, batch: every;
    /// x / number, correctly rounded; the number is one of f32, of f64 for f64 (PyTorch).
    DivNumber "div_number" ["number"] (x: Data) on FLOATS, shape: alike, batch: every;
    /// x = number; false with NaN. A float dtype has the number rounded to it, an integer is compared with the number itself (NumPy 2).
    EqNumber "eq_number" ["number"] (x: Data) on ANY -> U8, shape: alike, batch: every;
    /// x != number, the number as in `eq_number`; true with NaN.
    NeNumber "ne_number" ["number"] (x: Data) on ANY -> U8, shape: alike, batch: every;
    /// x < number, the number as in `eq_number`; false with NaN.
    LtNumber "lt_number" ["number"] (x: Data) on ANY -> U8, shape: alike, batch: every;
    /// x <= number, the number as in `eq_number`; false with NaN.
    LeNumber "le_number" ["number"] (x: Data) on ANY -> U8, shape: alike, batch: every;
    /// x > number, the number as in `eq_number`; false with NaN.
    GtNumber "gt_number" ["number"] (x: Data) on ANY -> U8, shape: alike, batch: every;
    /// x >= number, the number as in `eq_number`; false with NaN.
    GeNumber "ge_number" ["number"] (x: Data) on ANY -> U8, shape: alike, batch: every;
}
