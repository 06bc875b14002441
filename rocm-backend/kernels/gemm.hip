// Matrix products, accumulated in the dtype's wide type and rounded once: kernels `gemm_<dtype>`, any size, in tiles,
// and `gemv_<dtype>`, which multiplies a matrix by one to four vectors. Operands have any strides; a batch of them lies
// as its table says. candle has no such kernels: it calls a library.
//
// Sums run over k in order with one fused multiply-add a term; gemv splits k over lanes and adds their sums as a tree.
#include "layout.h"

using namespace parity;

// A matrix in device memory; strides in elements.
template <typename T> struct Matrix {
    const T *at;
    size_t row;
    size_t col;
};

// Positions of the matrices of a batch: candle's `info` with one stride set, or null for one matrix alone.
PARITY_FN size_t batch_offset(size_t batch, size_t num_dims, const size_t *info, size_t number) {
    size_t at[1];
    Walk<1>(batch, num_dims, info).locate(number, at);
    return at[0];
}

PARITY_FN unsigned group(unsigned dimension) {
    return dimension == 0   ? __builtin_amdgcn_workgroup_id_x()
           : dimension == 1 ? __builtin_amdgcn_workgroup_id_y()
                            : __builtin_amdgcn_workgroup_id_z();
}

// Waits until every thread of the workgroup is here and its stores to LDS are seen.
PARITY_FN void wait_for_group() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Hides what a uniform number is, lest its multiples be computed once and kept, in more registers than there are.
PARITY_FN size_t opaque(size_t number) {
    asm("" : "+s"(number));
    return number;
}

// A workgroup of 8x8 threads computes a tile of up to 64x64 results, a thread 4x4 of each quarter of 32x32. Tiles that
// reach over the edge of the result leave out the quarters beyond it. Operands go through LDS, `depth` of k at a time,
// already widened.
constexpr unsigned side = 64, half = 32, depth = 16, threads = 64;
constexpr unsigned pitch = side + 4; // keeps vector loads aligned, and the stores of a column of k out of one bank
template <typename T> using Slab = wide_t<T>[depth][pitch];

// Loads `rows` x `ks` elements from `first`, k along the columns, to `slab[k][row]`. Adjacent threads take adjacent
// elements. `Whole`: there are `Rows` x `depth`. Else the first row stands in for those that are missing, as what is
// computed from them is never stored, and k that is missing is filled with zeros: all of the slab is written.
template <unsigned Rows, bool Whole, typename T>
PARITY_FN void load(Slab<T> &slab, Matrix<T> first, unsigned rows, unsigned ks, unsigned thread) {
    const auto widened = [&](const T *from, unsigned k) { return Whole || k < ks ? widen(*from) : wide_t<T>(0); };
    if (first.col == 1) {
        const unsigned k = thread % depth, row = thread / depth;
        constexpr unsigned step = threads / depth;
        const T *column = first.at + (Whole || k < ks ? k : 0);
        const T *from = column + row * first.row;
        const size_t apart = opaque(step * first.row);
#pragma unroll Whole ? Rows : 1
        for (unsigned i = 0; i < Rows; i += step, from += apart) {
            slab[k][row + i] = widened(Whole || row + i < rows ? from : column, k);
        }
    } else {
        const unsigned row = thread % Rows, k = thread / Rows;
        constexpr unsigned step = threads / Rows;
        const T *line = first.at + (Whole || row < rows ? row : 0) * first.row;
        const T *from = line + k * first.col;
        const size_t apart = opaque(step * first.col);
#pragma unroll
        for (unsigned i = 0; i < depth; i += step, from += apart) {
            slab[k + i][row] = widened(Whole || k + i < ks ? from : line, k + i);
        }
    }
}

// One tile: `height` x `width` results from `out` on, of rows of `lhs` and columns of `rhs`. The tile is made of
// `Down` x `Across` quarters; `Whole` if it fills them.
template <unsigned Down, unsigned Across, bool Whole, typename T>
PARITY_FN void tile(Slab<T> &left, Slab<T> &right, Matrix<T> lhs, Matrix<T> rhs, T *out, size_t pitch_out,
                    unsigned height, unsigned width, size_t k) {
    using Wide = wide_t<T>;
    const unsigned thread = __builtin_amdgcn_workitem_id_x();
    const unsigned row = thread / 8 * 4, col = thread % 8 * 4;
    const bool idle = !Whole && (row >= height || col >= width);
    Wide sum[4 * Down][4 * Across] = {};
    // As `load` sees them, both operands have k along the columns.
    Matrix<T> from_left = lhs, from_right = {rhs.at, rhs.col, rhs.row};
    for (size_t done = 0; done < k; done += depth) {
        if (k - done >= depth && Whole) {
            load<half * Down, true>(left, from_left, height, depth, thread);
            load<half * Across, true>(right, from_right, width, depth, thread);
        } else {
            const unsigned ks = k - done < depth ? unsigned(k - done) : depth;
            load<half * Down, false>(left, from_left, height, ks, thread);
            load<half * Across, false>(right, from_right, width, ks, thread);
        }
        from_left.at += depth * from_left.col;
        from_right.at += depth * from_right.col;
        wait_for_group();
        if (!idle) {
#pragma unroll 8 / sizeof(Wide)
            for (unsigned step = 0; step < depth; ++step) {
                Wide l[4 * Down], r[4 * Across];
#pragma unroll
                for (unsigned i = 0; i < 4 * Down; ++i) {
                    l[i] = left[step][i / 4 * half + row + i % 4];
                }
#pragma unroll
                for (unsigned j = 0; j < 4 * Across; ++j) {
                    r[j] = right[step][j / 4 * half + col + j % 4];
                }
#pragma unroll
                for (unsigned i = 0; i < 4 * Down; ++i) {
#pragma unroll
                    for (unsigned j = 0; j < 4 * Across; ++j) {
                        sum[i][j] = device_math::fma(l[i], r[j], sum[i][j]);
                    }
                }
            }
        }
        wait_for_group();
    }
#pragma unroll
    for (unsigned i = 0; i < 4 * Down; ++i) {
        const unsigned at_row = i / 4 * half + row + i % 4;
        T *to = out + at_row * pitch_out;
#pragma unroll
        for (unsigned j = 0; j < 4 * Across; ++j) {
            const unsigned at_col = j / 4 * half + col + j % 4;
            if (Whole || (at_row < height && at_col < width)) {
                to[at_col] = narrow<T>(sum[i][j]);
            }
        }
    }
}

// out[m][n] = lhs[m][k] * rhs[k][n], for each matrix of the batch. Groups stride over columns, rows and batch of tiles.
template <typename T>
PARITY_FN void gemm(size_t m, size_t n, size_t k, size_t batch, size_t lhs_dims, const size_t *lhs_info, Matrix<T> lhs,
                    size_t rhs_dims, const size_t *rhs_info, Matrix<T> rhs, T *out) {
    __attribute__((shared)) static Slab<T> left, right;
    for (size_t number = group(2); number < batch; number += __ockl_get_num_groups(2)) {
        const T *lhs_at = lhs.at + batch_offset(batch, lhs_dims, lhs_info, number);
        const T *rhs_at = rhs.at + batch_offset(batch, rhs_dims, rhs_info, number);
        for (size_t row = size_t(group(1)) * side; row < m; row += __ockl_get_num_groups(1) * side) {
            for (size_t col = size_t(group(0)) * side; col < n; col += __ockl_get_num_groups(0) * side) {
                const Matrix<T> from_left = {lhs_at + row * lhs.row, lhs.row, lhs.col};
                const Matrix<T> from_right = {rhs_at + col * rhs.col, rhs.row, rhs.col};
                T *to = out + (number * m + row) * n + col;
                const unsigned height = m - row < side ? unsigned(m - row) : side;
                const unsigned width = n - col < side ? unsigned(n - col) : side;
                if (height == side && width == side) {
                    tile<2, 2, true, T>(left, right, from_left, from_right, to, n, side, side, k);
                } else if (height > half && width > half) {
                    tile<2, 2, false, T>(left, right, from_left, from_right, to, n, height, width, k);
                } else if (height > half) {
                    tile<2, 1, false, T>(left, right, from_left, from_right, to, n, height, width, k);
                } else if (width > half) {
                    tile<1, 2, false, T>(left, right, from_left, from_right, to, n, height, width, k);
                } else {
                    tile<1, 1, false, T>(left, right, from_left, from_right, to, n, height, width, k);
                }
            }
        }
    }
}

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
                wait_for_group();
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
            wait_for_group();
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
// given, and its matrices lie one behind the other.
template <typename T>
PARITY_FN void gemv(size_t rows, size_t count, size_t k, size_t batch, size_t matrix_dims, const size_t *matrix_info,
                    Matrix<T> matrix, size_t vectors_dims, const size_t *vectors_info, Matrix<T> vectors, T *out,
                    size_t out_row, size_t out_col, Split split) {
    __attribute__((shared)) static wide_t<T> sums[4 * line];
    for (size_t number = group(2); number < batch; number += __ockl_get_num_groups(2)) {
        Matrix<T> from = matrix, by = vectors;
        from.at += batch_offset(batch, matrix_dims, matrix_info, number);
        by.at += batch_offset(batch, vectors_dims, vectors_info, number);
        T *to = out + number * rows * count;
        switch (count) {
        case 1: multiply_vectors<1, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        case 2: multiply_vectors<2, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        case 3: multiply_vectors<3, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        default: multiply_vectors<4, T>(sums, rows, k, from, by, to, out_row, out_col, split); break;
        }
    }
}

#define KERNELS(T) \
    extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(threads, threads))) void gemm_##T( \
        size_t m, size_t n, size_t k, size_t batch, size_t lhs_dims, const size_t *__restrict__ lhs_info, \
        const T *__restrict__ lhs, size_t lhs_row, size_t lhs_col, size_t rhs_dims, \
        const size_t *__restrict__ rhs_info, const T *__restrict__ rhs, size_t rhs_row, size_t rhs_col, \
        T *__restrict__ out) { \
        gemm<T>(m, n, k, batch, lhs_dims, lhs_info, {lhs, lhs_row, lhs_col}, rhs_dims, rhs_info, \
                {rhs, rhs_row, rhs_col}, out); \
    } \
    extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(line, line))) void gemv_##T( \
        size_t rows, size_t count, size_t k, size_t batch, size_t matrix_dims, \
        const size_t *__restrict__ matrix_info, const T *__restrict__ matrix, size_t matrix_row, size_t matrix_col, \
        size_t vectors_dims, const size_t *__restrict__ vectors_info, const T *__restrict__ vectors, \
        size_t vectors_row, size_t vectors_col, T *__restrict__ out, size_t out_row, size_t out_col, u32 log2_lanes, \
        u32 along_k) { \
        gemv<T>(rows, count, k, batch, matrix_dims, matrix_info, {matrix, matrix_row, matrix_col}, vectors_dims, \
                vectors_info, {vectors, vectors_row, vectors_col}, out, out_row, out_col, {log2_lanes, along_k != 0}); \
    }

KERNELS(bf16)
KERNELS(f16)
KERNELS(f32)
KERNELS(f64)
