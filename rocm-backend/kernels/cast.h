// From one dtype to another: the numeric policy of casts. Floats to integers as Rust's `as`: toward zero, saturating, a
// NaN is 0. Integers to integers keep their low bits. Everything to a float is rounded once, to nearest, ties to even.
// Not here: how bits become numbers (dtype.h).
#pragma once
#include "numeric.h"

namespace parity {
namespace numeric {

template <typename T, typename U> struct IsSame { static constexpr bool value = false; };
template <typename T> struct IsSame<T, T> { static constexpr bool value = true; };

// ---- To an f32 of round-to-odd: what does not fit leaves its mark in the last bit. A float with at least two bits less
// can be rounded from it as from the number itself. (From an f32 that was rounded to nearest it would be rounded twice.)

PARITY_FN f32 to_odd(f64 x) {
    const f32 nearest = f32(x);
    const f64 back = f64(nearest);
    u32 bits = bits_of(nearest);
    if ((back < x || back > x) && (bits & 1) == 0) {
        const bool too_large = device_math::abs(back) > device_math::abs(x);
        bits = too_large ? bits - 1 : bits + 1;
    }
    // Of a small negative number `nearest` is -0, and so keeps the sign.
    return f32_from_bits(bits);
}

PARITY_FN unsigned leading_zeros(u32 x) { return unsigned(__builtin_clz(x)); }
PARITY_FN unsigned leading_zeros(u64 x) { return unsigned(__builtin_clzll(x)); }

// `Magnitude` is u32 or u64.
template <typename Magnitude> PARITY_FN f32 to_odd(Magnitude magnitude, bool negative) {
    const unsigned f32_digits = 24;
    const unsigned length = 8 * sizeof(Magnitude) - leading_zeros(Magnitude(magnitude | 1));
    const unsigned surplus = length > f32_digits ? length - f32_digits : 0;
    const u32 kept = u32(magnitude >> surplus);
    const bool inexact = (Magnitude(kept) << surplus) != magnitude;
    const f32 result = __builtin_ldexpf(f32(kept | u32(inexact)), int(surplus));
    return negative ? -result : result;
}

// ---- The four directions.

template <typename To, typename From> PARITY_FN To float_to_float(From x) {
    if constexpr (IsSame<From, f64>::value && sizeof(To) < sizeof(f32)) {
        return To(to_odd(x));
    } else {
        return To(widen(x)); // every other float is exact in f32
    }
}

template <typename To, typename From> PARITY_FN To int_to_float(From x) {
    if constexpr (sizeof(From) >= sizeof(f32) && sizeof(To) < sizeof(f32)) {
        const bool negative = is_negative(x);
        const wrap_t<From> bits = wrap_t<From>(x);
        return To(to_odd(negative ? wrap_t<From>(0) - bits : bits, negative));
    } else if constexpr (sizeof(To) < sizeof(f32)) {
        return To(f32(x)); // exact in f32
    } else {
        return To(x);
    }
}

// One past the largest value of an integer dtype, and the least value: powers of two or 0, exact in every wide type.
template <typename T> struct IntRange {
    static constexpr bool is_signed = T(-1) < T(0);
    static constexpr unsigned digits = 8 * sizeof(T) - unsigned(is_signed);
    static constexpr T least = is_signed ? T(wrap_t<T>(1) << digits) : T(0);
    static constexpr T largest = T(~wrap_t<T>(least));
    static constexpr f64 beyond = 2.0 * f64(u64(1) << (digits - 1));
};

template <typename To, typename From> PARITY_FN To float_to_int(From x) {
    using Wide = wide_t<From>;
    using Range = IntRange<To>;
    const Wide wide = widen(x);
    if (wide != wide) {
        return To(0);
    }
    if (wide >= Wide(Range::beyond)) {
        return Range::largest;
    }
    if (wide <= Wide(Range::least)) {
        return Range::least;
    }
    return To(wide);
}

template <typename To, typename From> PARITY_FN To cast(From x) {
    if constexpr (IsSame<To, From>::value) {
        return x;
    } else if constexpr (IsInteger<To>::value && IsInteger<From>::value) {
        return To(wrap_t<To>(x));
    } else if constexpr (IsInteger<To>::value) {
        return float_to_int<To>(x);
    } else if constexpr (IsInteger<From>::value) {
        return int_to_float<To>(x);
    } else {
        return float_to_float<To>(x);
    }
}

} // namespace numeric
} // namespace parity
