// Reductions of few long rows, in parts: for sum, max, min, argmax and argmin.
//
// `parts_<op>_<dtype>(rows, per_row, parts, chunk, src, scratch)`: a workgroup a part of a contiguous row; a grid is parts by rows.
// `join_<op>_<dtype>(rows, parts, scratch, dst)`: makes the results of the parts, those of columns (reduce_columns.hip) as well.
// Workgroups have at most 512 threads, so that a thread has registers for its part of a row; x is a power of two.
#include "reduce_parts.h"

using namespace parity;

#define PARTS(op, T, Fold) \
    extern "C" PARITY_KERNEL_OF(WAVE, 512) void parts_##op##_##T( \
        size_t rows, size_t per_row, size_t parts, size_t chunk, const T *src, reduce::Fold<T>::A *scratch) { \
        reduce::fold_parts<reduce::Fold>(rows, per_row, parts, chunk, src, scratch); \
    } \
    extern "C" PARITY_KERNEL_OF(1, 512) void join_##op##_##T( \
        size_t rows, size_t parts, const reduce::Fold<T>::A *scratch, reduce::Fold<T>::Out *dst) { \
        reduce::join_parts<reduce::Fold<T>>(rows, parts, scratch, dst); \
    }

#define FOR_ANY(T) \
    PARTS(sum, T, Adding) \
    PARTS(max, T, Largest) \
    PARTS(min, T, Smallest) \
    PARTS(argmax, T, PlaceOfLargest) \
    PARTS(argmin, T, PlaceOfSmallest)

PARITY_ALL_DTYPES(FOR_ANY)
