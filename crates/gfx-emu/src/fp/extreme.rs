//! Minimum and maximum as IEEE 754-2019 names them: a NaN wins over numbers, and minus zero is less than plus zero.

use super::{FloatFormat, Mode, max, min};

/// The lesser number, where a NaN wins, a signalling one first.
#[inline(always)]
pub(crate) fn minimum<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    if F::is_nan(a) || F::is_nan(b) {
        nan_of_two::<F>(a, b)
    } else {
        min::<F>(mode, a, b)
    }
}

/// The greater number, where a NaN wins, a signalling one first.
#[inline(always)]
pub(crate) fn maximum<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    if F::is_nan(a) || F::is_nan(b) {
        nan_of_two::<F>(a, b)
    } else {
        max::<F>(mode, a, b)
    }
}

/// Of two operands the signalling NaN, else the quiet one; the first where both are such.
#[inline(always)]
fn nan_of_two<F: FloatFormat>(a: F::Bits, b: F::Bits) -> F::Bits {
    if F::is_signalling(b) && !F::is_signalling(a) || !F::is_nan(a) {
        F::quiet(b)
    } else {
        F::quiet(a)
    }
}

/// [`minimum`] of three.
#[inline(always)]
pub(crate) fn minimum3<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    minimum::<F>(mode, minimum::<F>(mode, a, b), c)
}

/// [`maximum`] of three.
#[inline(always)]
pub(crate) fn maximum3<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    maximum::<F>(mode, maximum::<F>(mode, a, b), c)
}

/// `maximum(minimum(a, b), c)`.
#[inline(always)]
pub(crate) fn minimum_maximum<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    maximum::<F>(mode, minimum::<F>(mode, a, b), c)
}

/// `minimum(maximum(a, b), c)`.
#[inline(always)]
pub(crate) fn maximum_minimum<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    minimum::<F>(mode, maximum::<F>(mode, a, b), c)
}
