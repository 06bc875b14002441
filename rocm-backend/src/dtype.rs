//! The element types kernels exist for.

use std::fmt;

/// Declares [`DType`] and what is known of each: candle's name, the suffix in kernel names and the size.
macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $suffix:literal $size:literal;)*) => {
        /// The type of a buffer's elements. Displays as candle names it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $($(#[$doc])* $variant,)*
        }

        impl DType {
            /// Every dtype, in declaration order.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The name, as candle has it.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// The suffix kernels of this dtype carry: `f32` in `uexp_f32`.
            pub const fn suffix(self) -> &'static str {
                match self { $(DType::$variant => $suffix,)* }
            }

            /// Bytes an element takes.
            pub const fn size_in_bytes(self) -> usize {
                match self { $(DType::$variant => $size,)* }
            }
        }
    };
}

dtypes! {
    /// Unsigned 8 bit; also what comparisons return.
    U8 "u8" "u8" 1;
    /// Unsigned 32 bit.
    U32 "u32" "u32" 4;
    /// Signed 16 bit.
    I16 "i16" "i16" 2;
    /// Signed 32 bit.
    I32 "i32" "i32" 4;
    /// Signed 64 bit.
    I64 "i64" "i64" 8;
    /// Brain float: 8 bits of exponent, 7 of fraction.
    BF16 "bf16" "bf16" 2;
    /// IEEE binary16.
    F16 "f16" "f16" 2;
    /// IEEE binary32.
    F32 "f32" "f32" 4;
    /// IEEE binary64.
    F64 "f64" "f64" 8;
    /// OCP FP8 E4M3: no infinities, one NaN pattern a sign, largest value 448.
    F8E4M3 "f8e4m3" "f8_e4m3" 1;
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
