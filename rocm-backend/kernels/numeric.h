// Which result each operation has, for each dtype: the numeric policy. README.md beside this file is its table, with
// the reasons. Not here: how bits become numbers (dtype.h), which instruction or library computes them (device.h).
#pragma once
#include "dtype.h"

namespace parity {
namespace numeric {

// ---- Floats: one function of the math library, evaluated wide, rounded once.

#define PARITY_ROUNDED_ONCE(name) \
    template <typename T> PARITY_FN T name(T x) { return narrow<T>(device_math::name(widen(x))); }
PARITY_ROUNDED_ONCE(exp)
PARITY_ROUNDED_ONCE(log)
PARITY_ROUNDED_ONCE(tanh)
PARITY_ROUNDED_ONCE(erf)
PARITY_ROUNDED_ONCE(sqrt)
PARITY_ROUNDED_ONCE(ceil)
PARITY_ROUNDED_ONCE(floor)
PARITY_ROUNDED_ONCE(round)
PARITY_ROUNDED_ONCE(abs)
#undef PARITY_ROUNDED_ONCE
// normcdf(x) in f32: of t = |x| it is g(t) exp(-t² / 2) where x is negative, and one minus that elsewhere. g(t) is s times a polynomial in
// s = 1 / (1 + t / 4), whose coefficients are a least-squares fit, weighted until its greatest errors are alike: within 2^-29 up to
// t = 14.6, beyond which f32 has no such small number. What roundings take from s and from t² is made up for. On an H200, over four
// million arguments in each of eight ranges from -11.8 on, within 6.4 ulp (NVIDIA's library: 4.9), by half of that library's instructions;
// `normcdf_in_single_precision_is_that_in_double` holds all of them to 7 ulp.
PARITY_FN f32 normcdf_wide(f32 x) {
    const f32 size = device_math::abs(x), t = size > 14.6f ? 14.6f : size;
    const f32 near = device_math::reciprocal(device_math::fma(t, 0.25f, 1.0f));
    const f32 s = device_math::fma(near, device_math::fma(near * -0.25f, t, 1.0f - near), near);
    constexpr f32 OF_POWERS[] = {0.0997271091f, 0.0999423191f, 0.0912785605f, 0.0948980376f, 0.00798936933f, 0.192411721f,
                                 -0.248330355f, 0.33585161f, -0.249288172f, 0.08731208f, -0.0117922873f};
    f32 g = 0;
#pragma unroll
    for (unsigned k = sizeof(OF_POWERS) / sizeof(f32); k-- > 0;) {
        g = device_math::fma(g, s, OF_POWERS[k]);
    }
    // exp(-t² / 2) as a power of two, whose exponent is `power` and what is missing there. The card has 0 for subnormal results.
    constexpr f32 HALF = -0.721347511f, REST = -9.62981495e-9f; // of log2(e), with the sign
    // Pinned: else the compiler fuses it with what is added, and nothing is missing there.
    const f32 square = t * t, power = device_math::pinned(square * HALF);
    const f32 missing = device_math::fma(
        device_math::fma(t, t, -square), HALF, device_math::fma(square, REST, device_math::fma(square, HALF, -power)));
    const bool is_tiny = power < -100.0f;
    const f32 raised = device_math::exp2(is_tiny ? power + 64.0f : power);
    const f32 tail = g * s * device_math::fma(raised, missing * 0.693147181f, raised) * (is_tiny ? 0x1p-64f : 1.0f);
    return x < 0 ? tail : 1.0f - tail;
}
PARITY_FN f64 normcdf_wide(f64 x) { return device_math::normcdf(x); }
template <typename T> PARITY_FN T normcdf(T x) { return narrow<T>(normcdf_wide(widen(x))); }
// Angles from 2^17 on take the device library a reduction of a hundred instructions. No finite f16 or f8_e4m3 is as large: the
// compiler is told so, and what is not finite has the result NaN.
template <typename T> struct HasLargeAngles { static constexpr bool value = true; };
template <> struct HasLargeAngles<f16> { static constexpr bool value = false; };
template <> struct HasLargeAngles<f8_e4m3> { static constexpr bool value = false; };
#define PARITY_OF_AN_ANGLE(name) \
    template <typename T> PARITY_FN T name(T x) { \
        if constexpr (HasLargeAngles<T>::value) { \
            return narrow<T>(device_math::name(widen(x))); \
        } else { \
            const f32 wide = widen(x); \
            const bool is_angle = device_math::abs(wide) < 131072; \
            const f32 angle = is_angle ? wide : 0; \
            const bool is_small = device_math::abs(angle) < 131072; \
            __builtin_assume(is_small); \
            return narrow<T>(is_angle ? device_math::name(angle) : __builtin_nanf("")); \
        } \
    }
PARITY_OF_AN_ANGLE(sin)
PARITY_OF_AN_ANGLE(cos)
#undef PARITY_OF_AN_ANGLE
template <typename T> PARITY_FN T pow(T x, T exponent) {
    return narrow<T>(device_math::pow(widen(x), widen(exponent)));
}

// ---- Arithmetic. Floats: the dtype's own operators, one rounding each. Integers wrap.

template <typename T> PARITY_FN T copy(T x) { return x; }
template <typename T> PARITY_FN T neg(T x) { return -x; }
template <typename T> PARITY_FN T sqr(T x) { return x * x; }

// The unsigned type in which an integer dtype wraps: never narrower than int, so that nothing is promoted to a signed one.
template <typename T> struct WrapOf { using type = u32; };
template <> struct WrapOf<i64> { using type = u64; };
template <typename T> using wrap_t = typename WrapOf<T>::type;

template <typename T> struct IsInteger { static constexpr bool value = false; };
#define PARITY_ROW(T) template <> struct IsInteger<T> { static constexpr bool value = true; };
PARITY_INT_DTYPES(PARITY_ROW)
#undef PARITY_ROW
template <typename T> struct IsHalf { static constexpr bool value = false; };
template <> struct IsHalf<f16> { static constexpr bool value = true; };

template <typename T> PARITY_FN bool is_negative(T x) { return x < T(0); }

template <typename T> PARITY_FN T add(T x, T y) {
    if constexpr (IsInteger<T>::value) {
        return T(wrap_t<T>(x) + wrap_t<T>(y));
    } else {
        return x + y;
    }
}
template <typename T> PARITY_FN T sub(T x, T y) {
    if constexpr (IsInteger<T>::value) {
        return T(wrap_t<T>(x) - wrap_t<T>(y));
    } else {
        return x - y;
    }
}
template <typename T> PARITY_FN T mul(T x, T y) {
    if constexpr (IsInteger<T>::value) {
        return T(wrap_t<T>(x) * wrap_t<T>(y));
    } else {
        return x * y;
    }
}
// x / y, correctly rounded: in f32 by a reciprocal that may be an ulp off, and by what is left of x then. That quotient is within an ulp,
// and no quotient of two f16 that is not one itself lies as near to the middle between two. Of zeros and infinities nothing is left, or a NaN.
PARITY_FN f16 quotient(f16 x, f16 y) {
    const f32 inverse = device_math::reciprocal(widen(y));
    const f32 near = widen(x) * inverse;
    const f32 left = device_math::fma(-near, widen(y), widen(x));
    return f16(device_math::pinned(device_math::abs(left) > 0 ? device_math::fma(left, inverse, near) : near));
}
// An integer divided by zero is all ones; the most negative integer divided by -1 is itself.
template <typename T> PARITY_FN T div(T x, T y) {
    if constexpr (IsInteger<T>::value) {
        if (y == T(0)) {
            return T(~wrap_t<T>(0));
        }
        if (y == T(-1) && is_negative(y)) {
            return sub(T(0), x);
        }
        return x / y;
    } else if constexpr (IsHalf<T>::value) {
        return quotient(x, y);
    } else {
        return x / y;
    }
}
template <typename T> PARITY_FN T recip(T x) { return div(T(1), x); }
// x * y + z, rounded once to the dtype (f8_e4m3: once in f32, then to the dtype).
template <typename T> PARITY_FN T fused(T x, T y, T z) { return narrow<T>(device_math::fma(widen(x), widen(y), widen(z))); }
PARITY_FN f16 fused(f16 x, f16 y, f16 z) { return __builtin_fmaf16(x, y, z); }
// The product of two bf16 is exact in f32. Of the sum's two roundings the first can spoil the second only where it ends half
// way between two bf16. There the sum is rounded to odd: its last bit is set when something was lost, which the two-sum below finds
// out exactly. NVIDIA's cards have the operation.
PARITY_FN bf16 fused(bf16 x, bf16 y, bf16 z) {
#if defined(__NVPTX__)
    return fused_by_card(x, y, z);
#else
    const f32 addend = widen(z);
    const f32 sum = device_math::fma(widen(x), widen(y), addend);
    if ((bits_of(sum) & 0xffff) != 0x8000) {
        return narrow<bf16>(sum);
    }
    const f32 product = widen(x) * widen(y);
    const f32 part = device_math::pinned(sum - product);
    const f32 lost = device_math::pinned(product - device_math::pinned(sum - part)) + device_math::pinned(addend - part);
    u32 bits = bits_of(sum);
    if ((lost < 0 || lost > 0) && (bits & 1) == 0) {
        bits = (lost > 0) == (sum > 0) ? bits | 1 : bits - 1;
    }
    return narrow<bf16>(f32_from_bits(bits));
#endif
}
// x * scale + shift as one fused operation; integers wrap.
template <typename T> PARITY_FN T affine(T x, T scale, T shift) {
    if constexpr (IsInteger<T>::value) {
        return add(mul(x, scale), shift);
    } else {
        return fused(x, scale, shift);
    }
}

// ---- Order. A NaN operand wins, as in IEEE 754-2019's maximum and minimum.

#define PARITY_EXTREMUM(name, keep, number) \
    template <typename T> PARITY_FN T name(T x, T y) { \
        if constexpr (IsInteger<T>::value) { \
            return x keep y ? x : y; \
        } else { \
            return x != x ? x : y != y ? y : narrow<T>(device_math::number(widen(x), widen(y))); \
        } \
    }
PARITY_EXTREMUM(maximum, >, max_number)
PARITY_EXTREMUM(minimum, <, min_number)
#undef PARITY_EXTREMUM

template <typename T> PARITY_FN T relu(T x) { return maximum(x, T(0)); }
// -1, 0 or 1; of a NaN 0.
template <typename T> PARITY_FN T sign(T x) { return T(int(x > T(0)) - int(x < T(0))); }

#define PARITY_COMPARE(name, op) \
    template <typename T> PARITY_FN u8 name(T x, T y) { return x op y ? 1 : 0; }
PARITY_COMPARE(eq, ==)
PARITY_COMPARE(ne, !=)
PARITY_COMPARE(lt, <)
PARITY_COMPARE(le, <=)
PARITY_COMPARE(gt, >)
PARITY_COMPARE(ge, >=)
#undef PARITY_COMPARE

// ---- Integers have their own absolute value (the most negative one stays itself), and are their own roundings.

template <typename T> PARITY_FN T int_abs(T x) { return is_negative(x) ? sub(T(0), x) : x; }

// ---- Activations. Each names the dtype in which its operators round.

// f8_e4m3 in f32; the others in themselves.
template <typename T> struct StepOf { using type = T; };
template <> struct StepOf<f8_e4m3> { using type = f32; };
template <typename T> using step_t = typename StepOf<T>::type;
// Like that, and bf16 in f32.
template <typename T> struct SmoothOf { using type = step_t<T>; };
template <> struct SmoothOf<bf16> { using type = f32; };
template <typename T> using smooth_t = typename SmoothOf<T>::type;

template <typename S> PARITY_FN S silu_in(S x) { return div(x, S(1) + exp(-x)); }
template <typename S> PARITY_FN S sigmoid_in(S x) { return recip(S(1) + exp(-x)); }
template <typename S> PARITY_FN S gelu_erf_in(S x) { return x * normcdf(x); }
// tanh(x) as a term beside one, where its absolute error counts alone: for S of two bytes 1 - 2 / (1 + exp(2x)) by the card's own
// instructions, within 2^-21.
template <typename S> PARITY_FN S tanh_beside_one(S x) {
    if constexpr (sizeof(S) == 2) {
        const f32 power = device_math::exp2(widen(x) * 2.88539008177792681472f);
        return narrow<S>(device_math::fma(-2.0f, device_math::reciprocal(1.0f + power), 1.0f));
    } else {
        return tanh(x);
    }
}
template <typename S> PARITY_FN S gelu_in(S x) {
    const S sqrt_two_over_pi = S(0.797884560802865355879892119868763737);
    const S cube = x * x * x;
    const S inner = sqrt_two_over_pi * fused(S(0.044715), cube, x);
    return S(0.5) * x * (S(1) + tanh_beside_one(inner));
}

template <typename T> PARITY_FN T silu(T x) { return T(silu_in(smooth_t<T>(x))); }
template <typename T> PARITY_FN T sigmoid(T x) { return T(sigmoid_in(smooth_t<T>(x))); }
template <typename T> PARITY_FN T gelu(T x) { return T(gelu_in(step_t<T>(x))); }
template <typename T> PARITY_FN T gelu_erf(T x) { return T(gelu_erf_in(step_t<T>(x))); }
// In f32 but for f64: near 0 the difference of exp(x) and 1 has no digits of it.
template <typename T> PARITY_FN T elu(T x, T alpha) {
    return x > T(0) ? x : narrow<T>(widen(alpha) * device_math::expm1(widen(x)));
}

} // namespace numeric
} // namespace parity
