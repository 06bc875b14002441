//! How sums and integers are computed: rightly, or wrong in a way that backends are. Verdicts come from the right way
//! alone; the wrong ones are for testing the judge.

use parity_model::DType;
use parity_model::float::{Format, int_range};

/// How sums and integers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// As the op table says.
    Right,
    /// Float sums one term after the other, each partial sum rounded to a format that is too narrow: that of the dtype
    /// for 16 and 8 bits, f16 for f32, f32 for f64. Sums that the table wants in the dtype are then rounded but once.
    Narrow,
    /// Integer sums stop at the ends of the dtype instead of wrapping.
    Saturating,
}

impl Arithmetic {
    /// The format of partial sums, where it is the wrong one.
    pub(crate) fn accumulator(self, dtype: DType) -> Option<Format> {
        let narrow = match dtype {
            DType::F64 => DType::F32,
            DType::F32 => DType::F16,
            other => other,
        };
        Format::of(narrow).filter(|_| self == Arithmetic::Narrow)
    }

    /// The sum of integers, not yet wrapped to the width of `dtype`.
    pub(crate) fn add(self, dtype: DType, a: i64, b: i64) -> i64 {
        match self {
            Arithmetic::Right | Arithmetic::Narrow => a.wrapping_add(b),
            Arithmetic::Saturating => {
                let (min, max) = int_range(dtype).unwrap_or((i64::MIN, i64::MAX));
                a.saturating_add(b).clamp(min, max)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use parity_model::Case;

    use super::*;
    use crate::expected::expected_with;

    /// The first element of the output, as bits.
    fn first(id: &str, arithmetic: Arithmetic) -> u64 {
        let case: Case = id.parse().unwrap();
        expected_with(&case, &case.inputs(0), arithmetic).elements[0].bits
    }

    #[test]
    fn wrong_arithmetic_gives_other_sums() {
        for (id, wrong) in [
            (
                "reduce/sum(1):bf16:[1,1025]:contiguous:ints(1,2)",
                Arithmetic::Narrow,
            ),
            (
                "reduce/mean(1):f64:[1,1025]:contiguous:uniform(1,2)",
                Arithmetic::Narrow,
            ),
            (
                "matmul/matmul:f32:[1,65],[65,1]:contiguous,contiguous:uniform(-1,1)",
                Arithmetic::Narrow,
            ),
            (
                "pool/avg_pool2d(64,64,1,1):bf16:[1,1,64,64]:contiguous:ints(0,2)",
                Arithmetic::Narrow,
            ),
            (
                "nn/softmax_last_dim:f16:[1,4096]:contiguous:uniform(0,0.1)",
                Arithmetic::Narrow,
            ),
            (
                "nn/rms_norm(0):f32:[1,64],[64]:contiguous,contiguous:uniform(1,2)",
                Arithmetic::Narrow,
            ),
            (
                "indexing/index_add(0):f32,u32,f32:[1,1],[99],[99,1]:contiguous,contiguous,contiguous:uniform(1,2)",
                Arithmetic::Narrow,
            ),
            ("reduce/sum(1):u8:[1,99]:contiguous:any", Arithmetic::Saturating),
            ("reduce/sum(1):i64:[1,99]:contiguous:any", Arithmetic::Saturating),
            (
                "conv/conv_transpose1d(0,0,1,1,1):i16:[1,9,1],[9,1,1]:contiguous,contiguous:any",
                Arithmetic::Saturating,
            ),
        ] {
            assert_ne!(first(id, wrong), first(id, Arithmetic::Right), "{id}");
        }
    }

    #[test]
    fn whole_numbers_that_fit_are_summed_alike() {
        let id = "reduce/sum(1):f16:[1,33]:contiguous:ints(-4,4)";
        for arithmetic in [Arithmetic::Narrow, Arithmetic::Saturating] {
            assert_eq!(first(id, arithmetic), first(id, Arithmetic::Right));
        }
    }
}
