// Reductions of adjacent columns, for sum, max, min, argmax and argmin.
//
// `columns_<op>_<dtype>(outer, inner, per_row, outer_stride, row_stride, parts, chunk, width, src, scratch, dst)`: 256 threads; a grid is
// tiles of columns by parts by blocks. Of one part it makes the results; those of more are made by `join_<op>_<dtype>` of reduce_parts.hip.
#include "reduce_parts.h"

using namespace parity;

#define COLUMNS(op, T, Fold) \
    extern "C" PARITY_KERNEL_OF(256, 256) void columns_##op##_##T( \
        size_t outer, size_t inner, size_t per_row, size_t outer_stride, size_t row_stride, size_t parts, size_t chunk, \
        size_t width, const T *src, reduce::Fold<T>::A *scratch, reduce::Fold<T>::Out *dst) { \
        reduce::fold_columns<reduce::Fold>( \
            {outer, inner, per_row, outer_stride, row_stride, parts, chunk}, width, src, scratch, dst); \
    }

#define FOR_ANY(T) \
    COLUMNS(sum, T, Adding) \
    COLUMNS(max, T, Largest) \
    COLUMNS(min, T, Smallest) \
    COLUMNS(argmax, T, PlaceOfLargest) \
    COLUMNS(argmin, T, PlaceOfSmallest)

PARITY_ALL_DTYPES(FOR_ANY)
