// Products of 16 by 16 results by one wave, with the matrix instructions that a target has: WMMA on RDNA 3 and 4, MFMA on CDNA,
// and multiply-adds where there is neither. A block's operands lie in LDS as rows of 64 bytes, k along the row; a `Core`
// says what a row is made of and does 64 bytes of k. Not here: how operands come to LDS and results to memory (gemm.h).
//
// Which lane holds what: "RDNA3 Instruction Set Architecture", section "Wave Matrix Multiply Accumulate"; "RDNA4 Instruction
// Set Architecture", the same; "AMD Instinct MI300 Instruction Set Architecture", section "Matrix Arithmetic Instructions".
// Sums do not depend on the order of k, so lane group g of MFMA takes the g-th quarter of a row, in one load, that of RDNA 4
// one pack of two, that of gfx1250 two packs of four, and the instruction's own k does not matter.
//
// CDNA 2 flushes subnormal f16 and bf16 operands of MFMA to zero (ROCm, "MI200 matrix fused multiply-add (MFMA) behavior
// specifics"), but no f32: there 16-bit operands are widened on the way to LDS.
//
// f8_e4m3 is OCP's. RDNA 4 and CDNA 4 multiply it as it is. CDNA 3 has another format with the same fields, whose exponents are one less and whose
// only NaN is 0x80 ("MI300 ISA", section "FP8"): an operand stands for its half there, which makes a quarter of each product. Elsewhere it
// is widened on the way to LDS, to f16 where that has a matrix instruction: every f8_e4m3 is a normal f16.
#pragma once
#include "packs.h"

namespace parity {
namespace matrix_core {

#if defined(__GFX11__) || defined(__GFX12__)
#define PARITY_WMMA 1
#elif defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define PARITY_MFMA 1
#if !defined(__gfx90a__)
#define PARITY_MFMA_HALVES 1
#endif
#if defined(__gfx942__)
#define PARITY_MFMA_FNUZ 1
#endif
#endif

constexpr unsigned BLOCK = 16; // rows and columns
constexpr unsigned PACKS = 4;  // of 16 bytes in a row

// Multiply-adds. A lane has 8 results of a wave of 32, 4 of a wave of 64, in rows 8 apart and columns 4 or 8 apart, so
// that neither operand's rows meet in a bank.
template <typename S> struct MultiplyAdd {
    static constexpr unsigned EACH = PackLen<S>::value; // elements of a pack
    static constexpr unsigned STEP = EACH;              // k of a step
    static constexpr unsigned ACROSS = WAVE / 8, COLS = BLOCK / ACROSS, ROWS = 2;
    struct Sum {
        S at[ROWS * COLS] = {};
    };
    struct Left {
        Pack<S, EACH> row[ROWS];
    };
    struct Right {
        Pack<S, EACH> col[COLS];
    };
    static constexpr unsigned RESULTS = ROWS * COLS;

    static PARITY_MEMBER unsigned row(unsigned lane, unsigned i) { return lane / ACROSS + 8 * (i / COLS); }
    static PARITY_MEMBER unsigned col(unsigned lane, unsigned i) { return lane % ACROSS + ACROSS * (i % COLS); }
    // `load(row, pack)` reads a pack of the block from LDS.
    template <typename Load> static PARITY_MEMBER Left left(Load load, unsigned lane, unsigned step) {
        Left all;
#pragma unroll
        for (unsigned i = 0; i < ROWS; ++i) {
            all.row[i] = load(row(lane, i * COLS), step);
        }
        return all;
    }
    template <typename Load> static PARITY_MEMBER Right right(Load load, unsigned lane, unsigned step) {
        Right all;
#pragma unroll
        for (unsigned j = 0; j < COLS; ++j) {
            all.col[j] = load(col(lane, j), step);
        }
        return all;
    }
    static PARITY_MEMBER void multiply(Sum &sum, const Left &l, const Right &r) {
#pragma unroll
        for (unsigned k = 0; k < EACH; ++k) {
#pragma unroll
            for (unsigned i = 0; i < ROWS * COLS; ++i) {
                sum.at[i] = device_math::fma(l.row[i / COLS].at[k], r.col[i % COLS].at[k], sum.at[i]);
            }
        }
    }
};

#if defined(PARITY_WMMA)
typedef f32 F32x8 __attribute__((ext_vector_type(8)));

#if defined(__gfx1250__)
// A lane has row and column `lane % 16` of the operands, a half of the wave half of their k, in two packs; of the results as on RDNA 4.
constexpr unsigned HELD = 16, STEP_PACKS = 4;
typedef f16 F16s __attribute__((ext_vector_type(HELD)));
typedef __bf16 I16s __attribute__((ext_vector_type(HELD)));
typedef int Bytes __attribute__((ext_vector_type(8)));

PARITY_FN F32x8 wmma(F16s l, F16s r, F32x8 sum) {
    return __builtin_amdgcn_wmma_f32_16x16x32_f16(false, l, false, r, 0, sum, false, false);
}
PARITY_FN F32x8 wmma(I16s l, I16s r, F32x8 sum) {
    return __builtin_amdgcn_wmma_f32_16x16x32_bf16(false, l, false, r, 0, sum, false, false);
}
PARITY_FN F32x8 wmma(Bytes l, Bytes r, F32x8 sum) {
    return __builtin_amdgcn_wmma_f32_16x16x64_fp8_fp8(l, r, 0, sum, false, false);
}

PARITY_FN unsigned wmma_row(unsigned lane, unsigned i) { return lane / BLOCK * 8 + i; }
template <typename S, typename Load> PARITY_FN auto wmma_packs(Load load, unsigned lane, unsigned step) {
    const unsigned first = STEP_PACKS * step + 2 * (lane / BLOCK);
    const struct {
        Pack<S, PackLen<S>::value> half[2];
    } both = {{load(lane % BLOCK, first), load(lane % BLOCK, first + 1)}};
    return both;
}
#elif defined(__GFX12__)
// A lane has row and column `lane % 16` of the operands, a half of the wave half of their k; of the results it has eight rows
// one after the other.
constexpr unsigned HELD = 8, STEP_PACKS = 2;
typedef f16 F16s __attribute__((ext_vector_type(HELD)));
typedef i16 I16s __attribute__((ext_vector_type(HELD)));

PARITY_FN F32x8 wmma(F16s l, F16s r, F32x8 sum) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(l, r, sum); }
PARITY_FN F32x8 wmma(I16s l, I16s r, F32x8 sum) { return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(l, r, sum); }

PARITY_FN unsigned wmma_row(unsigned lane, unsigned i) { return lane / BLOCK * HELD + i; }
template <typename S, typename Load> PARITY_FN auto wmma_packs(Load load, unsigned lane, unsigned step) {
    return load(lane % BLOCK, 2 * step + lane / BLOCK);
}

// A pack of bytes is two of the instruction's operands.
typedef int I32x2 __attribute__((ext_vector_type(2)));
struct Bytes {
    I32x2 part[2];
};
PARITY_FN F32x8 wmma(Bytes l, Bytes r, F32x8 sum) {
    sum = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(l.part[0], r.part[0], sum);
    return __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(l.part[1], r.part[1], sum);
}
#else
// A lane has row and column `lane % 16` of the operands, the upper half of the wave those of the lower again; of the results it
// has every other row.
constexpr unsigned HELD = 16, STEP_PACKS = 2;
typedef f16 F16s __attribute__((ext_vector_type(HELD)));
typedef i16 I16s __attribute__((ext_vector_type(HELD)));

PARITY_FN F32x8 wmma(F16s l, F16s r, F32x8 sum) { return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(l, r, sum); }
PARITY_FN F32x8 wmma(I16s l, I16s r, F32x8 sum) { return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(l, r, sum); }

PARITY_FN unsigned wmma_row(unsigned lane, unsigned i) { return 2 * i + lane / BLOCK; }
template <typename S, typename Load> PARITY_FN auto wmma_packs(Load load, unsigned lane, unsigned step) {
    const struct {
        Pack<S, PackLen<S>::value> half[2];
    } both = {{load(lane % BLOCK, 2 * step), load(lane % BLOCK, 2 * step + 1)}};
    return both;
}
#endif

// A step is two packs of a row, of which a lane holds one or both, or on gfx1250 a whole one, of which it holds two.
template <typename S, typename Vector> struct Wmma {
    static constexpr unsigned EACH = PackLen<S>::value;
    static constexpr unsigned STEP = STEP_PACKS * EACH;
    static constexpr unsigned RESULTS = 8;
    struct Sum {
        F32x8 at = {};
    };
    using Left = Vector;
    using Right = Vector;

    static PARITY_MEMBER unsigned row(unsigned lane, unsigned i) { return wmma_row(lane, i); }
    static PARITY_MEMBER unsigned col(unsigned lane, unsigned) { return lane % BLOCK; }
    template <typename Load> static PARITY_MEMBER Vector left(Load load, unsigned lane, unsigned step) {
        return __builtin_bit_cast(Vector, wmma_packs<S>(load, lane, step));
    }
    template <typename Load> static PARITY_MEMBER Vector right(Load load, unsigned lane, unsigned step) {
        return left(load, lane, step);
    }
    static PARITY_MEMBER void multiply(Sum &sum, Vector l, Vector r) { sum.at = wmma(l, r, sum.at); }
};
#endif

#if defined(PARITY_MFMA)
typedef f32 F32x4 __attribute__((ext_vector_type(4)));
typedef f64 F64x4 __attribute__((ext_vector_type(4)));
typedef f16 F16x4 __attribute__((ext_vector_type(4)));
typedef i16 I16x4 __attribute__((ext_vector_type(4)));

PARITY_FN F32x4 mfma(f32 l, f32 r, F32x4 sum) { return __builtin_amdgcn_mfma_f32_16x16x4f32(l, r, sum, 0, 0, 0); }
PARITY_FN F32x4 mfma(F16x4 l, F16x4 r, F32x4 sum) { return __builtin_amdgcn_mfma_f32_16x16x16f16(l, r, sum, 0, 0, 0); }
#if defined(PARITY_MFMA_HALVES)
PARITY_FN F32x4 mfma(i64 l, i64 r, F32x4 sum) { return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(l, r, sum, 0, 0, 0); }
PARITY_FN F32x4 mfma(I16x4 l, I16x4 r, F32x4 sum) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(l, r, sum, 0, 0, 0);
}
#endif
#if defined(__gfx950__)
// A pack is one operand.
typedef f16 F16x8 __attribute__((ext_vector_type(8)));
typedef __bf16 B16x8 __attribute__((ext_vector_type(8)));
PARITY_FN F32x4 mfma(F16x8 l, F16x8 r, F32x4 sum) { return __builtin_amdgcn_mfma_f32_16x16x32_f16(l, r, sum, 0, 0, 0); }
PARITY_FN F32x4 mfma(B16x8 l, B16x8 r, F32x4 sum) { return __builtin_amdgcn_mfma_f32_16x16x32_bf16(l, r, sum, 0, 0, 0); }
using Halves = F16x8;
using Brains = B16x8;
#else
using Halves = F16x4;
using Brains = I16x4;
#endif
PARITY_FN F64x4 mfma(f64 l, f64 r, F64x4 sum) { return __builtin_amdgcn_mfma_f64_16x16x4f64(l, r, sum, 0, 0, 0); }

// A lane has row and column `lane % 16` of the operands and a quarter of their k: all of it in one step, of as many
// instructions as a pack holds `Part`s.
template <typename S, typename Part, typename Result, bool RowsTogether> struct Mfma {
    static constexpr unsigned EACH = PackLen<S>::value;
    static constexpr unsigned STEP = PACKS * EACH;
    static constexpr unsigned RESULTS = 4;
    static constexpr unsigned TIMES = PACK_BYTES / sizeof(Part);
    struct Sum {
        Result at = {};
    };
    struct Quarter {
        Part part[TIMES];
    };
    using Left = Quarter;
    using Right = Quarter;

    static PARITY_MEMBER unsigned row(unsigned lane, unsigned i) {
        return RowsTogether ? lane / BLOCK * 4 + i : lane / BLOCK + 4 * i;
    }
    static PARITY_MEMBER unsigned col(unsigned lane, unsigned) { return lane % BLOCK; }
    template <typename Load> static PARITY_MEMBER Quarter left(Load load, unsigned lane, unsigned) {
        return __builtin_bit_cast(Quarter, load(lane % BLOCK, lane / BLOCK));
    }
    template <typename Load> static PARITY_MEMBER Quarter right(Load load, unsigned lane, unsigned step) {
        return left(load, lane, step);
    }
    static PARITY_MEMBER void multiply(Sum &sum, const Quarter &l, const Quarter &r) {
#pragma unroll
        for (unsigned i = 0; i < TIMES; ++i) {
            sum.at = mfma(l.part[i], r.part[i], sum.at);
        }
    }
};
#endif

#if defined(PARITY_MFMA_FNUZ)
// f8_e4m3 as CDNA 3 has it: half of the number that it is made of. -0 becomes 0, because there is one zero.
struct Fnuz {
    u8 bits;

    Fnuz() = default;
    PARITY_MEMBER explicit Fnuz(int zero) : bits(u8(zero)) {}
    PARITY_MEMBER explicit Fnuz(f8_e4m3 x) {
        const u8 magnitude = x.bits & 0x7f;
        bits = magnitude == 0x7f ? 0x80 : magnitude == 0 ? 0 : x.bits;
    }
};
#endif

// What a dtype's operands are in LDS, and what multiplies them.
template <typename T> struct CoreOf {
    using Staged = wide_t<T>;
    using Core = MultiplyAdd<Staged>;
};
#if defined(PARITY_WMMA)
template <> struct CoreOf<f16> { using Staged = f16; using Core = Wmma<f16, F16s>; };
template <> struct CoreOf<bf16> { using Staged = bf16; using Core = Wmma<bf16, I16s>; };
#if defined(__GFX12__)
template <> struct CoreOf<f8_e4m3> { using Staged = f8_e4m3; using Core = Wmma<f8_e4m3, Bytes>; };
#else
template <> struct CoreOf<f8_e4m3> { using Staged = f16; using Core = Wmma<f16, F16s>; };
#endif
#endif
#if defined(PARITY_MFMA)
using MfmaF32 = Mfma<f32, f32, F32x4, true>;
template <> struct CoreOf<f32> { using Staged = f32; using Core = MfmaF32; };
#if defined(PARITY_MFMA_HALVES)
template <> struct CoreOf<f16> { using Staged = f16; using Core = Mfma<f16, Halves, F32x4, true>; };
template <> struct CoreOf<bf16> { using Staged = bf16; using Core = Mfma<bf16, Brains, F32x4, true>; };
#if defined(PARITY_MFMA_FNUZ)
template <> struct CoreOf<f8_e4m3> { using Staged = Fnuz; using Core = Mfma<Fnuz, i64, F32x4, true>; };
#else
template <> struct CoreOf<f8_e4m3> { using Staged = f8_e4m3; using Core = Mfma<f8_e4m3, i64, F32x4, true>; };
#endif
#else
template <> struct CoreOf<f8_e4m3> { using Staged = f16; using Core = Mfma<f16, F16x4, F32x4, true>; };
template <> struct CoreOf<f16> { using Staged = f32; using Core = MfmaF32; };
template <> struct CoreOf<bf16> { using Staged = f32; using Core = MfmaF32; };
#endif
template <> struct CoreOf<f64> { using Staged = f64; using Core = Mfma<f64, f64, F64x4, false>; };
#endif

// What a sum of products of f8_e4m3 is multiplied by to be that of the numbers.
#if defined(PARITY_MFMA_FNUZ)
constexpr f32 BYTES_FACTOR = 4;
#else
constexpr f32 BYTES_FACTOR = 1;
#endif

} // namespace matrix_core
} // namespace parity
