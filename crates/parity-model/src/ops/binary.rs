//! Ops of two tensors, element by element, and what they are for arguments that are broadcast first. How they are
//! computed is not said here.

use super::ops;
use crate::op::batch::every;
use crate::op::shape::alike;

ops! {
    /// Two tensors of the same logical shape in, one of that shape out.
    pub enum Binary;

    /// a + b, correctly rounded; integers wrap.
    Add "add" (a: Data, b: Data) on ANY, shape: alike, batch: every, grad on WIDE: "w by either.";
    /// a - b, correctly rounded; integers wrap.
    Sub "sub" (a: Data, b: Data) on ANY, shape: alike, batch: every, grad on WIDE: "w by the left, -w by the right.";
    /// a b, correctly rounded; integers wrap.
    Mul "mul" (a: Data, b: Data) on ANY, shape: alike, batch: every, grad on WIDE: "w times the other.";
    /// a / b, correctly rounded; integers truncate and wrap, and an integer divided by zero has all bits set.
    Div "div" (a: Data, b: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w / b by the left, -w a / b^2 by the right.";
    /// IEEE 754-2019 `maximum`: NaN propagates.
    Maximum "maximum" (a: Data, b: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w where the argument is the greater, w / 2 where both are the same.";
    /// IEEE 754-2019 `minimum`: NaN propagates.
    Minimum "minimum" (a: Data, b: Data) on ANY, shape: alike, batch: every,
        grad on WIDE: "w where the argument is the lesser, w / 2 where both are the same.";
    /// a = b; false with NaN.
    Eq "eq" (a: Data, b: Data) on ANY -> U8, shape: alike, batch: every;
    /// a != b; true with NaN.
    Ne "ne" (a: Data, b: Data) on ANY -> U8, shape: alike, batch: every;
    /// a < b; false with NaN.
    Lt "lt" (a: Data, b: Data) on ANY -> U8, shape: alike, batch: every;
    /// a <= b; false with NaN.
    Le "le" (a: Data, b: Data) on ANY -> U8, shape: alike, batch: every;
    /// a > b; false with NaN.
    Gt "gt" (a: Data, b: Data) on ANY -> U8, shape: alike, batch: every;
    /// a >= b; false with NaN.
    Ge "ge" (a: Data, b: Data) on ANY -> U8, shape: alike, batch: every;
    /// a^b as IEEE 754 `pow`; candle makes it of parts, e^(b ln a), which are NaN below zero.
    Pow "pow" (a: Data, b: Data) on FLOATS, shape: alike, batch: every,
        grad on WIDE: "w b a^b / a by the left, w a^b ln a by the right.";
}
