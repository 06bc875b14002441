// Where kernels say that an id is not a position, for the host to find where it will look.
#pragma once
#include "workgroup.h"

namespace parity {

// Two words of device memory that begin as 0; or null, where no id can be wrong. Of the words each has the place of the id, the first
// one the greatest, above half of the id's bits: the words of the first wrong id remain, whatever the order.
struct Report {
    u64 *words;

    template <typename Id> PARITY_MEMBER void wrong(size_t place, Id id) const {
        if (words != nullptr) {
            note(place, id);
        }
    }

    // The same where there are words.
    template <typename Id> PARITY_MEMBER void note(size_t place, Id id) const {
        const u64 above = u64(~u32(place)) << 32, bits = u64(i64(id));
        atomic_max(words, above | u32(bits));
        atomic_max(words + 1, above | u32(bits >> 32));
    }
};

PARITY_FN Report report_at(size_t address) { return {reinterpret_cast<u64 *>(address)}; }

} // namespace parity
