//! Ops on weights in ggml's block formats: one op for each row and format. What the bits mean is not said here.

use crate::DType::{self, BF16, F16, F32, U8};
use crate::op::batch::{Cut, ids, leading};
use crate::op::formats::{BlockFormat, formats};
use crate::op::shape::{Operands, Shapes};

/// What raw blocks are.
const fn bytes(_: BlockFormat) -> &'static [DType] {
    &[U8]
}

/// The dtypes of numbers that candle makes blocks of: all become f32 first.
const fn numbers(_: BlockFormat) -> &'static [DType] {
    &[BF16, F16, F32]
}

/// The dtypes of activations that candle's `QMatMul` multiplies with weights of a format. It turns plain weights into f32
/// once, and then multiplies them with f32 alone.
const fn activations(format: BlockFormat) -> &'static [DType] {
    if format.is_plain() {
        &[F32]
    } else {
        &[BF16, F16, F32]
    }
}

/// The dtypes of activations that kernels for experts multiply with weights of a format.
const fn experts(format: BlockFormat) -> &'static [DType] {
    match format {
        BlockFormat::Q8_0
        | BlockFormat::Q2K
        | BlockFormat::Q3K
        | BlockFormat::Q4K
        | BlockFormat::Q5K
        | BlockFormat::Q6K => &[F32],
        BlockFormat::F32
        | BlockFormat::F16
        | BlockFormat::BF16
        | BlockFormat::Q4_0
        | BlockFormat::Q4_1
        | BlockFormat::Q5_0
        | BlockFormat::Q5_1
        | BlockFormat::Q8_1
        | BlockFormat::Q8K => &[],
    }
}

/// Rows as in [`ops`](crate::op::table), with names that the format's completes (`dequantize_q4_0`), and a function that
/// has the dtypes for a format.
macro_rules! blocks {
    (
        $(#[doc = $family_doc:literal])+
        pub enum $family:ident;
        $(
            $(#[doc = $doc:literal])+
            $variant:ident $prefix:literal ($($arg:ident: $role:ident),+) on $dtypes:ident $(-> $output:ident)?,
                shape: $shape:ident, batch: $batch:expr $(, terms: $terms:ident)?;
        )+
    ) => {
        $(#[doc = $family_doc])+
        ///
        /// The documentation of a variant states the right answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $family {
            $($(#[doc = $doc])+ $variant(BlockFormat),)+
        }

        impl $family {
            pub(crate) const ALL: &'static [$family] = &{
                const FORMATS: &[BlockFormat] = BlockFormat::ALL;
                let mut all = [$family::Dequantize(FORMATS[0]); FORMATS.len() * [$($prefix),+].len()];
                let mut at = 0;
                $(
                    let mut format = 0;
                    while format < FORMATS.len() {
                        all[at] = $family::$variant(FORMATS[format]);
                        (at, format) = (at + 1, format + 1);
                    }
                )+
                all
            };

            /// The format of the weights.
            pub const fn format(self) -> BlockFormat {
                match self {
                    $($family::$variant(format) => format,)+
                }
            }

            pub(crate) const fn row(self) -> &'static $crate::op::table::OpRow {
                match self {
                    $($family::$variant(format) => formats! { rows {
                        format $prefix [$($arg)+] [$($role)+] $dtypes [$($output)?] $shape [$batch] [$($terms)?] [$($doc)+]
                    } },)+
                }
            }
        }
    };
}

/// The row of each format.
macro_rules! rows {
    (
        { $of:ident $prefix:literal $args:tt $roles:tt $dtypes:ident $output:tt $shape:ident $batch:tt $terms:tt $docs:tt }
        $($format:ident, $name:literal, $len:literal, $bytes:literal, $float:ident, $places:expr;)*
    ) => {
        match $of {
            $(BlockFormat::$format => rows! {
                $format concat!($prefix, $name), $args $roles $dtypes $output $shape $batch $terms $docs
            },)*
        }
    };
    (
        $format:ident $name:expr,
        [$($arg:ident)+] [$($role:ident)+] $dtypes:ident [$($output:ident)?] $shape:ident [$batch:expr] [$($terms:ident)?]
        [$($doc:literal)+]
    ) => {
        const {
            &$crate::op::table::OpRow {
                names: $crate::op::table::names!($name),
                params_and_wrt: &["wrt"],
                args_and_weight: &[$(stringify!($arg),)+ "w"],
                roles_and_weight: &[$($crate::op::Role::$role,)+ $crate::op::Role::Data],
                dtypes: $dtypes(BlockFormat::$format),
                output: $crate::op::table::optional!($($crate::DType::$output)?),
                shape: $shape,
                batch: $batch,
                terms: $crate::op::table::terms!($($terms)?),
                forms: &[],
                definition: concat!($($doc),+).trim_ascii(),
                gradient: None,
            }
        }
    };
}

blocks! {
    /// Weights in ggml's block formats.
    pub enum Quantized;

    /// The weights: scale times quant, with an offset added or taken away, in f32; exact or rounded once.
    Dequantize "dequantize_" (weights: Blocks) on bytes -> F32, shape: whole_blocks, batch: leading::<2>;
    /// As `dequantize`, rounded once more.
    DequantizeF16 "dequantize_to_f16_" (weights: Blocks) on bytes -> F16, shape: whole_blocks, batch: leading::<2>;
    /// [.., m, k] times the transpose of the weights [n, k], rounded once; the activations may go through ggml's 8-bit
    /// blocks.
    Qmatmul "qmatmul_" (x: Data, weights: Blocks) on activations, shape: qmatmul, batch: leading::<2>, terms: Unordered;
    /// The rows of the weights [rows, width] that ids of any shape name, as `dequantize` has them.
    Embedding "embedding_" (weights: Blocks, ids: Index) on bytes -> F32, shape: embedding, batch: ids;
    /// For each id of a token, [t, s], its activations, [t, 1, k] or [t, s, k], times the transpose of the weights
    /// [experts, n, k] that the id names; rounding as `qmatmul`.
    IndexedMoe "indexed_moe_" (x: Data, weights: Blocks, ids: Index) on experts, shape: indexed_moe, batch: tokens, terms: Unordered;
    /// The weights that blocks made of the numbers mean: by the formulas of ggml's reference quantizers where those
    /// leave no choice, near the numbers where they search.
    Quantize "quantize_" (x: Data) on numbers -> F32, shape: whole_blocks, batch: leading::<2>;
}

/// The shape of the weights, which are argument `i` and have whole blocks along their last dimension.
fn weights<'a>(call: &Operands<'a>, i: usize) -> Result<&'a [usize], String> {
    let shape = call.shapes[i];
    let len = call.op.block_format().map_or(1, BlockFormat::block_len);
    let whole = shape.last().is_some_and(|last| last.is_multiple_of(len));
    call.require(whole, &format!("rows of weights are whole blocks of {len}"))?;
    Ok(shape)
}

fn whole_blocks(call: &Operands<'_>) -> Result<Shapes, String> {
    Shapes::of(weights(call, 0)?.to_vec())
}

fn embedding(call: &Operands<'_>) -> Result<Shapes, String> {
    call.rank(0, 2)?;
    let (weights, ids) = (weights(call, 0)?, call.shapes[1]);
    let count: usize = ids.iter().product();
    call.require(count == 0 || weights[0] > 0, "ids need something to point at")?;
    Ok(Shapes {
        output: [ids, &weights[1..]].concat(),
        bound: Some(weights[0]),
    })
}

fn qmatmul(call: &Operands<'_>) -> Result<Shapes, String> {
    weights(call, 1)?;
    call.fit("[.., m, k] [n, k] -> [.., m, n]")
}

/// One list of activations for all experts of a token, or one for each.
fn indexed_moe(call: &Operands<'_>) -> Result<Shapes, String> {
    weights(call, 1)?;
    let each = call.fit("[t, s, k] [experts+, n, k] [t, s] -> [t, s, n], ids < experts");
    each.or_else(|_| call.fit("[t, 1, k] [experts+, n, k] [t, s] -> [t, s, n], ids < experts"))
}

/// Along the tokens, with all experts for either part.
fn tokens(_: &Operands<'_>) -> Option<Cut> {
    Some((vec![Some(0), None, Some(0)], 0))
}
