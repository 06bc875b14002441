// Quotients by sizes that the host knows, without a division. Not here: those of any 64-bit number (pool.h).
#pragma once
#include "dtype.h"

namespace parity {

// Numbers below 2^31 divided by a size: a multiplication, an addition and a shift give the exact quotient. The launching
// side computes factor and shift (`divisor` of view.rs) after Granlund and Montgomery, "Division by invariant integers using
// multiplication" (PLDI 1994): shift is the binary logarithm of the size, rounded up, and factor is
// 2^32 (2^shift - size) / size + 1, rounded down.
struct Divisor {
    u32 factor, shift;

    // Of a word of `info`: the factor is in its lower half.
    PARITY_MEMBER explicit Divisor(size_t word) : factor(u32(word)), shift(u32(word >> 32)) {}
    PARITY_MEMBER u32 quotient(u32 number) const { return (u32(u64(number) * factor >> 32) + number) >> shift; }
};

} // namespace parity
