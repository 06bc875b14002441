//! ggml's formats for weights, and tensors of them in a buffer of bytes. What a block holds is the kernels' business
//! (`kernels/quantized_blocks.h`); here is only how large it is, and which kernels there are for it.

use crate::{DType, DynBuffer, Error, Result};

/// What the kernels can do with a format, each including the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kernels {
    /// Turn blocks into floats.
    Floats,
    /// Multiply them with quantized activations.
    Products,
    /// The same with experts chosen by number.
    Experts,
}

macro_rules! formats {
    ($($variant:ident, $name:literal, $len:literal, $bytes:literal, $kernels:ident;)*) => {
        /// A format of ggml's: blocks of so many weights in so many bytes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum GgmlType {
            $(
                #[doc = concat!("`", $name, "`: ", $len, " weights in ", $bytes, " bytes.")]
                $variant,
            )*
        }

        impl GgmlType {
            /// Every format.
            pub const ALL: &[GgmlType] = &[$(GgmlType::$variant),*];

            /// The name, as kernels have it: `q4_0`, `q2_K`.
            pub fn name(self) -> &'static str {
                match self { $(GgmlType::$variant => $name,)* }
            }

            /// Weights in a block.
            pub fn block_len(self) -> usize {
                match self { $(GgmlType::$variant => $len,)* }
            }

            /// Bytes of a block.
            pub fn block_bytes(self) -> usize {
                match self { $(GgmlType::$variant => $bytes,)* }
            }

            fn kernels(self) -> Kernels {
                match self { $(GgmlType::$variant => Kernels::$kernels,)* }
            }
        }
    };
}

formats! {
    F32, "f32", 1, 4, Floats;
    F16, "f16", 1, 2, Floats;
    BF16, "bf16", 1, 2, Floats;
    Q4_0, "q4_0", 32, 18, Products;
    Q4_1, "q4_1", 32, 20, Products;
    Q5_0, "q5_0", 32, 22, Products;
    Q5_1, "q5_1", 32, 24, Products;
    Q8_0, "q8_0", 32, 34, Experts;
    Q8_1, "q8_1", 32, 36, Floats;
    Q2K, "q2_K", 256, 84, Experts;
    Q3K, "q3_K", 256, 110, Experts;
    Q4K, "q4_K", 256, 144, Experts;
    Q5K, "q5_K", 256, 176, Experts;
    Q6K, "q6_K", 256, 210, Experts;
    Q8K, "q8_K", 256, 292, Floats;
}

impl GgmlType {
    pub(crate) fn has_products(self) -> bool {
        self.kernels() >= Kernels::Products
    }

    pub(crate) fn has_experts(self) -> bool {
        self.kernels() >= Kernels::Experts
    }
}

/// Rows of weights, checked: every block of every row lies in the buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weights<'a> {
    ty: GgmlType,
    blocks: &'a DynBuffer,
    rows: usize,
    row_len: usize,
}

impl<'a> Weights<'a> {
    /// `rows` rows of `row_len` weights from the start of `blocks`; `op` is named when they are not there.
    pub(crate) fn new(
        op: &str,
        ty: GgmlType,
        blocks: &'a DynBuffer,
        rows: usize,
        row_len: usize,
    ) -> Result<Weights<'a>> {
        let invalid = |what: String| Err(Error::shape(op, what));
        let (name, block_len) = (ty.name(), ty.block_len());
        Error::unless_same_dtype(op, DType::U8, blocks.dtype())?;
        if !row_len.is_multiple_of(block_len) {
            return invalid(format!(
                "rows of {row_len} are not whole blocks of {name}, which hold {block_len}"
            ));
        }
        let bytes = (row_len / block_len)
            .checked_mul(rows)
            .and_then(|count| count.checked_mul(ty.block_bytes()));
        match bytes {
            Some(bytes) if bytes <= blocks.len() => Ok(Weights {
                ty,
                blocks,
                rows,
                row_len,
            }),
            _ => invalid(format!(
                "{rows} rows of {row_len} weights of {name} are more than {} bytes",
                blocks.len()
            )),
        }
    }

    pub(crate) fn ty(&self) -> GgmlType {
        self.ty
    }

    pub(crate) fn blocks(&self) -> &'a DynBuffer {
        self.blocks
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn row_len(&self) -> usize {
        self.row_len
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.row_len / self.ty.block_len() * self.ty.block_bytes()
    }

    /// Weights in all. Counted without overflow: they are in a buffer, and a format needs a byte for four at least.
    pub(crate) fn numel(&self) -> usize {
        self.rows * self.row_len
    }
}
