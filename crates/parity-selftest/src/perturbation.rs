//! The table of perturbations: the faults that outputs are made to show.

use parity_model::HostTensor;

use crate::subject::Subject;
use crate::wrong::{arguments, arithmetic, order, output};

/// A kind of fault.
pub struct Perturbation {
    /// The word tables use.
    pub name: &'static str,
    /// The fault in a kernel or in its launch that it imitates, and how its outputs are made.
    pub stands_for: &'static str,
    /// Outputs that show it; none where the case has no place for it. One that equals the right output shows nothing.
    pub(crate) make: fn(&Subject<'_>) -> Vec<HostTensor>,
}

impl std::fmt::Debug for Perturbation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Perturbation")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

macro_rules! perturbations {
    ($($name:literal, $make:path, $stands_for:literal;)*) => {
        /// Every perturbation, in the order tables show them.
        pub static PERTURBATIONS: &[Perturbation] = &[$(
            Perturbation { name: $name, stands_for: $stands_for, make: $make },
        )*];
    };
}

perturbations! {
    "zeros",               output::zeros,               "Nothing was written: zeros.";
    "stale",               output::stale,               "The buffer of another call: the output for another seed.";
    "wave-tail-zero",      output::wave_tail_zero,      "The last wavefront of 32 is partial and did not write: zeros.";
    "wave-tail-stale",     output::wave_tail_stale,     "As `wave-tail-zero`, with elements of another call.";
    "group-tail-zero",     output::group_tail_zero,     "The last workgroup of 256 is partial and did not write: zeros.";
    "group-tail-stale",    output::group_tail_stale,    "As `group-tail-zero`, with elements of another call.";
    "first-lost",          output::first_lost,          "A bound or an id that begins at 1: the first element is zero.";
    "last-lost",           output::last_lost,           "A bound that ends one short: the last element is zero.";
    "neighbour",           output::neighbour,           "Every element stands one place before its own.";
    "row-repeated",        output::row_repeated,        "The number of the row was not used: every row is the first.";
    "transposed",          output::transposed,          "Written with the last two dimensions swapped.";
    "beyond-limit",        output::beyond_limit,        "One element is the first number beyond the oracle's limit.";
    "wrong-sign",          output::wrong_sign,          "Every element is negated.";
    "nan-dropped",         output::nan_dropped,         "NaN becomes 0.";
    "nan-made",            output::nan_made,            "One element is NaN.";
    "subnormals-flushed",  output::subnormals_flushed,  "Subnormal results become 0.";
    "narrow-result",       output::narrow_result,       "Computed in the next narrower float (f32 and f64): every element is rounded to it.";
    "f8-overflow-nan",     output::f8_overflow_nan,     "An f8e4m3 that should saturate becomes NaN: as the largest number is.";
    "strides-ignored",     arguments::strides_ignored,  "An argument is read densely from its start, as if contiguous.";
    "offset-ignored",      arguments::offset_ignored,   "An argument is read with its strides from the start of its storage.";
    "broadcast-ignored",   arguments::broadcast_ignored,"An argument with stride 0 is read densely; past the end of its storage there are zeros.";
    "args-swapped",        arguments::swapped,          "Two arguments of one shape and dtype are swapped.";
    "parameter-off-by-one",arguments::parameter,        "A parameter that does not name a dimension is one more than it should be, or one less where that cannot be.";
    "dim-off-by-one",      arguments::dimension,        "A dimension is the next one, or the one before.";
    "id-off-by-one",       arguments::id,               "Every id is the next one; the last is the first.";
    "first-write-wins",    order::reversed_writes,      "Writes and sums at equal ids happen in reverse order.";
    "last-tie",            order::last_tie,             "The last of equal extremes is taken.";
    "unstable-sort",       order::unstable,             "Equal elements are sorted into reverse order.";
    "narrow-sums",         arithmetic::narrow_sums,     "Sums are accumulated one by one in too narrow a format: the 16-bit dtype itself, f16 for f32, f32 for f64.";
    "tf32",                arithmetic::tf32,            "Factors of f32 products are rounded to 11 significant bits.";
    "saturates",           arithmetic::saturates,       "Integers saturate where they should wrap.";
    "wraps",               arithmetic::wraps,           "Floats become integers by wrapping where they should saturate: casts, and the parameters of integer ops.";
    "truncated",           arithmetic::truncated,       "A cast to a float rounds towards zero.";
    "rounded",             arithmetic::rounded,         "A cast from a float to an integer rounds to nearest.";
    "bad-id-accepted",     order::accepted,             "An id out of range is not refused: something is computed.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_words_and_every_fault_is_described() {
        for (i, one) in PERTURBATIONS.iter().enumerate() {
            assert!(
                PERTURBATIONS[..i].iter().all(|other| other.name != one.name),
                "{one:?}"
            );
            assert!(
                one.name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            assert!(one.stands_for.ends_with('.'), "{one:?}");
        }
    }
}
