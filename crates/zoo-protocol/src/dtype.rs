//! The number formats that a model's weights may have.

use serde::{Deserialize, Serialize};

/// The dtypes and their table, so that each name is written once.
macro_rules! dtypes {
    ($($variant:ident $name:literal $bits:literal: $meaning:literal,)*) => {
        /// The format of a model's weights. A float format is also the format that the model computes in; with a block format
        /// it computes in f32.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Dtype {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)*
        }

        impl Dtype {
            /// Every dtype.
            pub const ALL: &[Dtype] = &[$(Dtype::$variant,)*];

            /// The name in specs, on the command line and in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Dtype::$variant => $name,)* }
            }

            /// The bits of precision of a product: those of the format's significand, or those that a block format's products
            /// round their activations to.
            const fn bits(self) -> i32 {
                match self { $(Dtype::$variant => $bits,)* }
            }
        }
    };
}

dtypes! {
    F64 "f64" 53: "IEEE 754 binary64.",
    F32 "f32" 24: "IEEE 754 binary32.",
    F16 "f16" 11: "IEEE 754 binary16.",
    Bf16 "bf16" 8: "The upper half of binary32.",
    Q4_0 "q4_0" 8: "Blocks of 32 numbers of 4 bits with a scale.",
    Q4_1 "q4_1" 8: "Blocks of 32 numbers of 4 bits with a scale and a minimum.",
    Q5_0 "q5_0" 8: "Blocks of 32 numbers of 5 bits with a scale.",
    Q5_1 "q5_1" 8: "Blocks of 32 numbers of 5 bits with a scale and a minimum.",
    Q8_0 "q8_0" 8: "Blocks of 32 numbers of 8 bits with a scale.",
    Q2K "q2k" 8: "Blocks of 256 numbers of 2 bits.",
    Q3K "q3k" 8: "Blocks of 256 numbers of 3 bits.",
    Q4K "q4k" 8: "Blocks of 256 numbers of 4 bits.",
    Q5K "q5k" 8: "Blocks of 256 numbers of 5 bits.",
    Q6K "q6k" 8: "Blocks of 256 numbers of 6 bits.",
}

impl Dtype {
    /// Whether the weights are quantized to blocks of ggml's.
    pub const fn is_block(self) -> bool {
        !matches!(self, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16)
    }

    /// The format that the model computes in.
    pub const fn computes_in(self) -> Dtype {
        if self.is_block() { Dtype::F32 } else { self }
    }

    /// The unit roundoff: half the distance between 1 and the next number, relative to 1.
    pub fn roundoff(self) -> f64 {
        f64::from(-self.bits()).exp2()
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
