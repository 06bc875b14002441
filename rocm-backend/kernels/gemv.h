// Products of a matrix and one to four vectors, a few lanes a row. Not here: products of matrices (gemm.h).
//
// k is split over the lanes of a row, each with one fused multiply-add a term, and their sums are added as a tree.
#pragma once
#include "matrix.h"

namespace parity {
namespace gemv {

constexpr unsigned line = 256; // threads of a gemv

// Which lanes of a gemv do what: 2^log2_lanes of them share a row, each every 2^log2_lanes-th of its elements.
struct Split {
    u32 log2_lanes;
    bool along_k; // adjacent threads take adjacent elements of a row, else adjacent rows
};

// out[row][j] = matrix[row][k] * vectors[k][j], j < Count.
template <unsigned Count, typename T>
PARITY_FN void multiply_vectors(wide_t<T> *sums, size_t rows, size_t k, Matrix<T> matrix, Matrix<T> vectors, T *out,
                                size_t out_row, size_t out_col, Split split) {
    using Wide = wide_t<T>;
    const unsigned thread = __builtin_amdgcn_workitem_id_x();
    const unsigned lanes = 1u << split.log2_lanes, rows_at_once = line >> split.log2_lanes;
    const unsigned lane = split.along_k ? thread & (lanes - 1) : thread / rows_at_once;
    const unsigned mine = split.along_k ? thread >> split.log2_lanes : thread & (rows_at_once - 1);
    for (size_t first = size_t(group(0)) * rows_at_once; first < rows;
         first += __ockl_get_num_groups(0) * rows_at_once) {
        const size_t row = first + mine;
        Wide sum[Count] = {};
        if (row < rows) {
            const T *x = matrix.at + row * matrix.row + lane * matrix.col;
            const T *y = vectors.at + lane * vectors.row;
            const auto add = [&] {
                const Wide factor = widen(*x);
#pragma unroll
                for (unsigned j = 0; j < Count; ++j) {
                    sum[j] = device_math::fma(factor, widen(y[j * vectors.col]), sum[j]);
                }
                x += lanes * matrix.col;
                y += lanes * vectors.row;
            };
#pragma unroll 4
            for (size_t i = 0; i < k >> split.log2_lanes; ++i) {
                add();
            }
            if (lane < (k & (lanes - 1))) {
                add();
            }
        }
        if (lanes > 1) {
            const unsigned place = mine * lanes + lane;
#pragma unroll
            for (unsigned j = 0; j < Count; ++j) {
                sums[j * line + place] = sum[j];
            }
            for (unsigned apart = lanes / 2; apart > 0; apart /= 2) {
                barrier();
                if (lane < apart) {
#pragma unroll
                    for (unsigned j = 0; j < Count; ++j) {
                        sums[j * line + place] += sums[j * line + place + apart];
                    }
                }
            }
            if (lane == 0) {
#pragma unroll
                for (unsigned j = 0; j < Count; ++j) {
                    sum[j] = sums[j * line + place];
                }
            }
            barrier();
        }
        if (lane == 0 && row < rows) {
#pragma unroll
            for (unsigned j = 0; j < Count; ++j) {
                out[row * out_row + j * out_col] = narrow<T>(sum[j]);
            }
        }
    }
}

// out[row][j] = matrix[row][k] * vectors[k][j], j < count <= 4, for each matrix of the batch. `out` has the strides
// given, and its matrices lie one after the other.
template <typename T>
PARITY_FN void multiply(size_t rows, size_t count, size_t k, size_t batch, size_t matrix_dims, const size_t *matrix_info,
                    Matrix<T> matrix, size_t vectors_dims, const size_t *vectors_info, Matrix<T> vectors, T *out,
                    size_t out_row, size_t out_col, Split split) {
    __attribute__((shared)) static wide_t<T> sums[4 * line];
    for (size_t number = group(2); number < batch; number += __ockl_get_num_groups(2)) {
        Matrix<T> from = matrix, by = vectors;
        from.at += batch_offset(matrix_dims, matrix_info, number);
        by.at += batch_offset(vectors_dims, vectors_info, number);
        T *to = out + number * rows * count;
        switch (count) {
        case 1: multiply_vectors<1, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        case 2: multiply_vectors<2, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        case 3: multiply_vectors<3, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        default: multiply_vectors<4, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        }
    }
}

} // namespace gemv
} // namespace parity
