// Matrices in device memory and batches of them, as the products see them. Not here: the products (gemm.h, gemv.h).
#pragma once
#include "layout.h"
#include "workgroup.h"

namespace parity {

// A matrix in device memory; strides in elements.
template <typename T> struct Matrix {
    const T *at;
    size_t row;
    size_t col;
};

// Positions of the matrices of a batch: candle's `info` with one stride set, or null for one matrix alone.
PARITY_FN size_t batch_offset(size_t num_dims, const size_t *info, size_t number) {
    size_t at[1];
    Walk<1>(num_dims, info).locate(number, at);
    return at[0];
}

PARITY_FN unsigned group(unsigned dimension) {
    return dimension == 0   ? __builtin_amdgcn_workgroup_id_x()
           : dimension == 1 ? __builtin_amdgcn_workgroup_id_y()
                            : __builtin_amdgcn_workgroup_id_z();
}

} // namespace parity
