//! The lesser and the greater of numbers, as instructions before IEEE 754-2019 choose them, and how two relate.

use super::{F16, FloatFormat, Mode};

/// The lesser number; see [`extreme`].
#[inline(always)]
pub(crate) fn min<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    extreme::<F>(
        mode,
        a,
        b,
        F::host(a) < F::host(b) || (F::host(a) == F::host(b) && F::is_negative(a)),
    )
}

/// The greater number; see [`extreme`].
#[inline(always)]
pub(crate) fn max<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits) -> F::Bits {
    extreme::<F>(
        mode,
        a,
        b,
        F::host(a) > F::host(b) || (F::host(a) == F::host(b) && !F::is_negative(a)),
    )
}

/// `a` or `b` as `first` says, with the rules for NaNs: a number wins over a NaN, except that in IEEE mode a signalling
/// NaN is quieted and wins. Minus zero is less than plus zero.
#[inline(always)]
fn extreme<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, first: bool) -> F::Bits {
    let mut chosen = if first { a } else { b };
    if F::is_nan(b) {
        chosen = a;
    }
    if F::is_nan(a) {
        chosen = b;
    }
    if F::is_nan(a) && F::is_nan(b) {
        chosen = F::quiet(a);
    }
    if mode.ieee && F::is_signalling(b) {
        chosen = F::quiet(b);
    }
    if mode.ieee && F::is_signalling(a) {
        chosen = F::quiet(a);
    }
    chosen
}

/// The least of three.
#[inline(always)]
pub(crate) fn min3<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    min::<F>(mode, min::<F>(mode, a, b), c)
}

/// The greatest of three.
#[inline(always)]
pub(crate) fn max3<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    max::<F>(mode, max::<F>(mode, a, b), c)
}

/// `min(max(a, b), c)`.
#[inline(always)]
pub(crate) fn maxmin<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    min::<F>(mode, max::<F>(mode, a, b), c)
}

/// `max(min(a, b), c)`.
#[inline(always)]
pub(crate) fn minmax<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    max::<F>(mode, min::<F>(mode, a, b), c)
}

/// The middle one of three; with a NaN among them, the least.
#[inline(always)]
pub(crate) fn med3<F: FloatFormat>(mode: Mode, a: F::Bits, b: F::Bits, c: F::Bits) -> F::Bits {
    if F::is_nan(a) || F::is_nan(b) || F::is_nan(c) {
        return min3::<F>(mode, a, b, c);
    }
    let greatest = F::host(max3::<F>(mode, a, b, c));
    if greatest == F::host(a) {
        max::<F>(mode, b, c)
    } else if greatest == F::host(b) {
        max::<F>(mode, a, c)
    } else {
        max::<F>(mode, a, b)
    }
}

/// How two numbers relate: 1 less, 2 equal, 4 greater, 8 unordered.
#[inline(always)]
pub(crate) fn relation<F: FloatFormat>(a: F::Bits, b: F::Bits) -> u32 {
    // Without branches, so that the lane loop becomes vector code.
    let (x, y) = (F::host(a), F::host(b));
    let ordered = u32::from(x < y) | u32::from(x == y) << 1 | u32::from(x > y) << 2;
    ordered | u32::from(ordered == 0) << 3
}

/// The class of a number, one bit: signalling NaN, quiet NaN, -infinity, -normal, -denormal, -0, +0, +denormal, +normal,
/// +infinity from bit 0 upwards.
#[inline(always)]
fn class<F: FloatFormat>(a: F::Bits) -> u32 {
    if F::is_nan(a) {
        return if F::is_signalling(a) { 1 } else { 2 };
    }
    let outwards = if F::is_infinite(a) {
        3
    } else if F::is_zero(a) {
        0
    } else if F::is_denormal(a) {
        1
    } else {
        2
    };
    1 << if F::is_negative(a) {
        5 - outwards
    } else {
        6 + outwards
    }
}

/// "Equal" (2) when the class of `a` is in the set `classes`.
#[inline(always)]
pub(crate) fn class_relation<F: FloatFormat>(a: F::Bits, classes: u32) -> u32 {
    if class::<F>(a) & classes != 0 { 2 } else { 0 }
}

/// [`class_relation`] of a half.
#[inline(always)]
pub(crate) fn class_relation16(a: u16, classes: u16) -> u32 {
    class_relation::<F16>(a, u32::from(classes))
}
