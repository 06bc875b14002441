// The ten dtypes: C++ types for them, conversions to and from the width they are computed in, and the tables of rows
// that the kernel files expand. 16-bit brain floats and 8-bit floats are own, bit-exact types: no vendor header, no
// vendor rounding mode, the same bits on every target. Not here: what an operation does with them (numeric.h).
#pragma once
#include "device.h"

namespace parity {

using u8 = __UINT8_TYPE__;
using u16 = __UINT16_TYPE__;
using u32 = __UINT32_TYPE__;
using u64 = __UINT64_TYPE__;
using i16 = __INT16_TYPE__;
using i32 = __INT32_TYPE__;
using i64 = __INT64_TYPE__;
using f16 = _Float16;
using f32 = float;
using f64 = double;

PARITY_FN u32 bits_of(f32 x) { return __builtin_bit_cast(u32, x); }
PARITY_FN f32 f32_from_bits(u32 bits) { return __builtin_bit_cast(f32, bits); }

// bfloat16: the upper half of an f32.
struct bf16 {
    u16 bits;

    bf16() = default;
    // Rounds to nearest, ties to even; overflow gives infinity; a NaN stays a NaN and becomes quiet.
    PARITY_MEMBER explicit bf16(f32 x) {
#if defined(__NVPTX__)
        bits = bf16_bits(x);
#else
        const u32 wide = bits_of(x);
        const u32 rounded = wide + 0x7fff + ((wide >> 16) & 1);
        bits = u16((x != x ? wide | 0x400000 : rounded) >> 16);
#endif
    }
#if defined(__NVPTX__)
    PARITY_MEMBER explicit operator f32() const { return f32_from_bits(upper_half(bits)); }
#else
    PARITY_MEMBER explicit operator f32() const { return f32_from_bits(u32(bits) << 16); }
#endif
};

// float8 E4M3 in the OCP "FN" flavour: bias 7, largest value 448, no infinity, NaN = 0x7f and 0xff, subnormals down to 2^-9.
struct f8_e4m3 {
    u8 bits;

    f8_e4m3() = default;
    // Rounds to nearest, ties to even; saturates to +-448, infinities too; a NaN becomes 0x7f with the sign kept.
    PARITY_MEMBER explicit f8_e4m3(f32 x) {
        const u32 wide = bits_of(x);
        const u32 magnitude = wide & 0x7fffffff;
        const f32 first_normal = 0x1p-6f, largest = 448.0f, infinity = __builtin_inff();
        u32 code;
        if (magnitude > bits_of(infinity)) {
            code = 0x7f;
        } else if (magnitude >= bits_of(largest)) {
            code = 0x7e;
        } else if (magnitude >= bits_of(first_normal)) {
            const u32 rounded = magnitude + 0x7ffff + ((magnitude >> 20) & 1);
            code = (rounded >> 20) - ((127 - 7) << 3);
        } else {
            // The unit in the last place of 2^14 is 2^-9, the smallest subnormal: the adder does the rounding.
            const f32 anchor = 0x1p14f;
            code = bits_of(f32_from_bits(magnitude) + anchor) - bits_of(anchor);
        }
        bits = u8(code | ((wide >> 24) & 0x80));
    }
    PARITY_MEMBER explicit operator f32() const {
        const u32 magnitude = bits & 0x7f;
        const u32 sign = u32(bits & 0x80) << 24;
        // Exponent and fraction where an f32 has them; a subnormal of one is a subnormal of the other. The difference of the biases is 120.
        const u32 wide = magnitude == 0x7f ? 0x7fc00000 : bits_of(f32_from_bits(magnitude << 20) * 0x1p120f);
        return f32_from_bits(wide | sign);
    }
};

// The width in which the math functions of a dtype are evaluated.
template <typename T> struct WideOf { using type = f32; };
template <> struct WideOf<f64> { using type = f64; };
template <typename T> using wide_t = typename WideOf<T>::type;

template <typename T> PARITY_FN wide_t<T> widen(T x) { return static_cast<wide_t<T>>(x); }
template <typename T> PARITY_FN T narrow(wide_t<T> x) { return static_cast<T>(x); }

// Whether arithmetic on a dtype is arithmetic on its wide type with one rounding after each operator.
template <typename T> struct IsStorageOnly { static constexpr bool value = false; };
template <> struct IsStorageOnly<bf16> { static constexpr bool value = true; };
template <> struct IsStorageOnly<f8_e4m3> { static constexpr bool value = true; };

template <bool Condition> struct EnableIf {};
template <> struct EnableIf<true> { using type = int; };
#define PARITY_STORAGE_ONLY template <typename T, typename EnableIf<IsStorageOnly<T>::value>::type = 0>

#define PARITY_ARITHMETIC(op) \
    PARITY_STORAGE_ONLY PARITY_FN T operator op(T x, T y) { return narrow<T>(widen(x) op widen(y)); }
#define PARITY_COMPARISON(op) \
    PARITY_STORAGE_ONLY PARITY_FN bool operator op(T x, T y) { return widen(x) op widen(y); }
PARITY_ARITHMETIC(+)
PARITY_ARITHMETIC(-)
PARITY_ARITHMETIC(*)
PARITY_ARITHMETIC(/)
PARITY_COMPARISON(==)
PARITY_COMPARISON(!=)
PARITY_COMPARISON(<)
PARITY_COMPARISON(<=)
PARITY_COMPARISON(>)
PARITY_COMPARISON(>=)
#undef PARITY_ARITHMETIC
#undef PARITY_COMPARISON
PARITY_STORAGE_ONLY PARITY_FN T operator-(T x) { return narrow<T>(-widen(x)); }
#undef PARITY_STORAGE_ONLY
#if defined(__NVPTX__)
// NVIDIA's cards have bf16's own: with one rounding, which the way through f32 never makes two of.
PARITY_FN bf16 bf16_of(u16 bits) {
    bf16 number;
    number.bits = bits;
    return number;
}
PARITY_FN bf16 fused_by_card(bf16 x, bf16 y, bf16 z) { return bf16_of(bf16_fma(x.bits, y.bits, z.bits)); }
PARITY_FN bf16 operator*(bf16 x, bf16 y) { return fused_by_card(x, y, bf16_of(0x8000)); } // -0, which changes no sum
PARITY_FN bf16 operator+(bf16 x, bf16 y) { return fused_by_card(x, bf16_of(0x3f80), y); } // 1
PARITY_FN bf16 operator-(bf16 x, bf16 y) { return fused_by_card(y, bf16_of(0xbf80), x); } // -1
#endif

} // namespace parity

// One row a dtype. The name is at once the C++ type and the suffix of the kernels' names.
#define PARITY_FLOAT_DTYPES(ROW) ROW(bf16) ROW(f16) ROW(f32) ROW(f64) ROW(f8_e4m3)
#define PARITY_INT_DTYPES(ROW) ROW(u8) ROW(u32) ROW(i16) ROW(i32) ROW(i64)
#define PARITY_ALL_DTYPES(ROW) PARITY_FLOAT_DTYPES(ROW) PARITY_INT_DTYPES(ROW)
