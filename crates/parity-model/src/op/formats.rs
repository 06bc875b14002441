//! The table of ggml's formats for weights: how large a block is, and where its scales lie.
//!
//! Names, sizes and fields are those of `ggml-common.h`. What the bits of a block mean is the oracle's to know.

use crate::DType;

/// Expands `$then! { $args rows }`, so that whatever is made of the formats is made of this one list.
///
/// A row: the variant, ggml's name, weights in a block, bytes of a block, and the dtype and places of the floats in it.
/// The formats of one weight a block are that float and nothing else.
macro_rules! formats {
    ($then:ident $args:tt) => {
        $then! { $args
            F32,  "f32",  1,   4,   F32,  [0];
            F16,  "f16",  1,   2,   F16,  [0];
            BF16, "bf16", 1,   2,   BF16, [0];
            Q4_0, "q4_0", 32,  18,  F16,  [0];
            Q4_1, "q4_1", 32,  20,  F16,  [0, 2];
            Q5_0, "q5_0", 32,  22,  F16,  [0];
            Q5_1, "q5_1", 32,  24,  F16,  [0, 2];
            Q8_0, "q8_0", 32,  34,  F16,  [0];
            Q8_1, "q8_1", 32,  36,  F16,  [0, 2];
            Q2K,  "q2_K", 256, 84,  F16,  [80, 82];
            Q3K,  "q3_K", 256, 110, F16,  [108];
            Q4K,  "q4_K", 256, 144, F16,  [0, 2];
            Q5K,  "q5_K", 256, 176, F16,  [0, 2];
            Q6K,  "q6_K", 256, 210, F16,  [208];
            Q8K,  "q8_K", 256, 292, F32,  [0];
        }
    };
}

macro_rules! define {
    ({} $($variant:ident, $name:literal, $len:literal, $bytes:literal, $float:ident, $places:expr;)*) => {
        /// A format of ggml's: blocks of so many weights in so many bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum BlockFormat {
            $(
                #[doc = concat!("`", $name, "`: ", $len, " weights in ", $bytes, " bytes.")]
                $variant,
            )*
        }

        impl BlockFormat {
            /// Every format, in ggml's order.
            pub const ALL: &'static [BlockFormat] = &[$(BlockFormat::$variant),*];

            /// ggml's name.
            pub const fn name(self) -> &'static str {
                match self { $(BlockFormat::$variant => $name,)* }
            }

            /// Weights in a block.
            pub const fn block_len(self) -> usize {
                match self { $(BlockFormat::$variant => $len,)* }
            }

            /// Bytes of a block.
            pub const fn block_bytes(self) -> usize {
                match self { $(BlockFormat::$variant => $bytes,)* }
            }

            /// The dtype of the floats in a block, and the byte at which each begins: scales, offsets, q8_1's sum.
            pub const fn floats(self) -> (DType, &'static [usize]) {
                match self { $(BlockFormat::$variant => (DType::$float, &$places),)* }
            }
        }
    };
}

formats! { define {} }

pub(crate) use formats;

impl BlockFormat {
    /// Whether the format is a float dtype and no more: nothing is quantized.
    pub const fn is_plain(self) -> bool {
        self.block_len() == 1
    }

    /// The shape of the bytes of weights of `shape`: the same with bytes along the last dimension. `None` when the last
    /// dimension is not of whole blocks, or there is none.
    pub fn stored(self, shape: &[usize]) -> Option<Vec<usize>> {
        let (last, leading) = shape.split_last()?;
        let blocks = last / self.block_len();
        last.is_multiple_of(self.block_len())
            .then(|| [leading, &[blocks * self.block_bytes()]].concat())
    }
}

impl std::fmt::Display for BlockFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floats_of_a_block_lie_inside_it_and_apart() {
        for format in BlockFormat::ALL {
            let (dtype, places) = format.floats();
            let ends = places.iter().map(|at| at + dtype.size());
            let next = places.iter().skip(1).copied().chain([format.block_bytes()]);
            assert!(ends.zip(next).all(|(end, next)| end <= next), "{format}");
        }
    }

    #[test]
    fn weights_take_as_many_bytes_as_their_blocks() {
        assert_eq!(BlockFormat::Q4_0.stored(&[3, 5, 64]), Some(vec![3, 5, 36]));
        assert_eq!(BlockFormat::Q6K.stored(&[256]), Some(vec![210]));
        assert_eq!(BlockFormat::BF16.stored(&[2, 0]), Some(vec![2, 0]));
        assert_eq!(BlockFormat::Q4_0.stored(&[33]), None);
        assert_eq!(BlockFormat::F32.stored(&[]), None);
    }
}
