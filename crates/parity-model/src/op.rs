//! The table of ops: what exists, what it takes, for which dtypes it means something, and which answer is right.
//!
//! One row an op; in the family of ggml's formats, one an op and format. The spec parser, the executor and the oracle
//! read this table; each of them matches on a family's enum without `_`, so that a new row does not compile until everyone
//! knows it. Shapes are in [`shape`], formats in [`formats`]; how a backend computes an op is not said here.

pub mod batch;
pub mod formats;
mod forms;
pub mod grad;
mod layers;
pub mod shape;

use serde::{Deserialize, Serialize};

use crate::DType;
use formats::{BlockFormat, formats, named};
pub use forms::Left;

/// What an argument is to its op: which dtypes it may have and what fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Numbers of the case's dtype, from its value set.
    Data,
    /// A truth value in an integer dtype: zero is false. About half of them are zero.
    Condition,
    /// Positions along a dimension, in an integer dtype, all in range.
    Index,
    /// Weights in the op's [`BlockFormat`]. The shape counts weights; the tensor underneath holds blocks as bytes, `u8`,
    /// and has [`BlockFormat::stored`]'s shape.
    Blocks,
}

/// A name that is in none of this crate's tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{name}`")]
pub struct UnknownName {
    /// What the name was to name, e.g. `op`.
    pub what: &'static str,
    /// The name found.
    pub name: String,
}

/// The dtype of an op's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// That of the data.
    Same,
    /// `u8`: 1 for true, 0 for false.
    Truth,
    /// Always this one.
    Is(DType),
}

use self::Output::{Is, Same, Truth};
use self::Role::{Blocks, Condition, Data, Index};
use crate::DType::{BF16, F8E4M3, F16, F32, F64, I16, I32, I64, U8, U32};

/// Every float dtype.
const FLOATS: &[DType] = &[F8E4M3, BF16, F16, F32, F64];
/// The float dtypes that candle's products and fused ops take.
const WIDE: &[DType] = &[BF16, F16, F32, F64];
/// What candle's convolutions take, on one backend at least.
const CONVOLVED: &[DType] = &[U8, U32, BF16, F16, F32, F64];
/// Those of more than 16 bits: for sums whose partial results candle rounds to the dtype.
const F32_F64: &[DType] = &[F32, F64];
const ANY: &[DType] = &DType::ALL;
const SINGLE: &[DType] = &[F32];
/// What raw blocks are.
const BYTES: &[DType] = &[U8];

/// The dtypes of activations that candle's `QMatMul` multiplies with weights of a format. It turns plain weights into f32
/// once, and then multiplies them with f32 alone.
const fn activations(format: BlockFormat) -> &'static [DType] {
    if format.is_plain() {
        &[F32]
    } else {
        &[BF16, F16, F32]
    }
}

/// The dtypes of numbers that candle makes blocks of: all become f32 first.
const QUANTIZED: &[DType] = &[BF16, F16, F32];

/// The dtypes of activations that kernels for experts multiply with weights of a format.
const fn experts(format: BlockFormat) -> &'static [DType] {
    match format {
        BlockFormat::Q8_0
        | BlockFormat::Q2K
        | BlockFormat::Q3K
        | BlockFormat::Q4K
        | BlockFormat::Q5K
        | BlockFormat::Q6K => SINGLE,
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

macro_rules! ops {
    ($($family:ident, $family_name:literal, $family_doc:literal => {
        $($variant:ident, $name:literal, $params:expr, $roles:expr, $dtypes:ident, $output:expr, $doc:literal;)*
    })*
    [$format:ident] $blocks:ident, $blocks_name:literal, $blocks_doc:literal => {
        $($of_blocks:ident, $prefix:literal, $roles_of:expr, $dtypes_of:expr, $output_of:expr, $doc_of:literal;)*
    }) => {
        /// Ops that share a spec file and a column in the tables.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Family {
            $(#[doc = $family_doc] $family,)*
            #[doc = $blocks_doc]
            $blocks,
        }

        impl Family {
            /// Every family, in the order tables show them.
            pub const ALL: &'static [Family] = &[$(Family::$family,)* Family::$blocks];

            /// The word ids, specs and filters use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Family::$family => $family_name,)*
                    Family::$blocks => $blocks_name,
                }
            }
        }

        $(
            #[doc = $family_doc]
            /// The documentation of a variant states the right answer, NaN and zero included.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $family {
                $(#[doc = $doc] $variant,)*
            }
        )*

        #[doc = $blocks_doc]
        /// The documentation of a variant states the right answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $blocks {
            $(#[doc = $doc_of] $of_blocks(BlockFormat),)*
        }

        impl $blocks {
            /// The format of the weights.
            pub const fn format(self) -> BlockFormat {
                match self { $($blocks::$of_blocks(format) => format,)* }
            }
        }

        families! { $($family)* $blocks }

        /// Every op parity knows, by family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $(#[doc = $family_doc] $family($family),)*
            #[doc = $blocks_doc]
            $blocks($blocks),
        }

        impl Op {
            /// Every op, in table order.
            pub const ALL: &'static [Op] = &{
                const SINGLE: &[Op] = &[$($(Op::$family($family::$variant)),*),*];
                const FORMATS: &[BlockFormat] = BlockFormat::ALL;
                const OF_BLOCKS: usize = FORMATS.len() * [$($prefix),*].len();
                let mut all = [SINGLE[0]; SINGLE.len() + OF_BLOCKS];
                let mut at = 0;
                while at < SINGLE.len() {
                    all[at] = SINGLE[at];
                    at += 1;
                }
                $(
                    let mut format = 0;
                    while format < FORMATS.len() {
                        all[at] = Op::$blocks($blocks::$of_blocks(FORMATS[format]));
                        at += 1;
                        format += 1;
                    }
                )*
                all
            };

            /// The family the op belongs to.
            pub const fn family(self) -> Family {
                match self {
                    $(Op::$family(_) => Family::$family,)*
                    Op::$blocks(_) => Family::$blocks,
                }
            }

            const fn row(self) -> Row {
                match self {
                    $($(Op::$family($family::$variant) => Row {
                        name: $name,
                        params: &$params,
                        roles: &$roles,
                        dtypes: $dtypes,
                        output: $output,
                        definition: $doc,
                    },)*)*
                    $(Op::$blocks($blocks::$of_blocks($format)) => Row {
                        name: named!($prefix, $format),
                        params: &[],
                        roles: &$roles_of,
                        dtypes: $dtypes_of,
                        output: $output_of,
                        definition: $doc_of,
                    },)*
                }
            }
        }
    };
}

macro_rules! families {
    ($($family:ident)*) => {
        $(
            impl std::fmt::Display for $family {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    Op::from(*self).fmt(f)
                }
            }

            impl From<$family> for Op {
                fn from(op: $family) -> Op {
                    Op::$family(op)
                }
            }
        )*
    };
}

/// One row of the table.
struct Row {
    name: &'static str,
    params: &'static [&'static str],
    roles: &'static [Role],
    dtypes: &'static [DType],
    output: Output,
    definition: &'static str,
}

#[rustfmt::skip] // One op per line.
ops! {
    Unary, "unary", "One tensor in, one of the same shape out; scalar parameters allowed." => {
        Exp,       "exp",       [],              [Data],       FLOATS, Same,  "e^x.";
        Log,       "log",       [],              [Data],       FLOATS, Same,  "Natural logarithm; NaN below zero, -inf at zero.";
        Sin,       "sin",       [],              [Data],       FLOATS, Same,  "Sine of x radians; NaN at infinities.";
        Cos,       "cos",       [],              [Data],       FLOATS, Same,  "Cosine of x radians; NaN at infinities.";
        Abs,       "abs",       [],              [Data],       ANY,    Same,  "Absolute value; the minimum of a signed integer type stays itself.";
        Neg,       "neg",       [],              [Data],       FLOATS, Same,  "-x.";
        Recip,     "recip",     [],              [Data],       FLOATS, Same,  "1/x, correctly rounded.";
        Sqr,       "sqr",       [],              [Data],       FLOATS, Same,  "x*x, correctly rounded.";
        Sqrt,      "sqrt",      [],              [Data],       FLOATS, Same,  "Square root, correctly rounded; NaN below zero.";
        Gelu,      "gelu",      [],              [Data],       FLOATS, Same,  "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); NaN at -inf, where the product is -inf * 0.";
        GeluErf,   "gelu_erf",  [],              [Data],       FLOATS, Same,  "0.5 x (1 + erf(x / sqrt 2)); NaN at -inf, where the product is -inf * 0.";
        Erf,       "erf",       [],              [Data],       FLOATS, Same,  "Error function.";
        Relu,      "relu",      [],              [Data],       ANY,    Same,  "maximum(x, 0): NaN propagates.";
        Silu,      "silu",      [],              [Data],       FLOATS, Same,  "x / (1 + e^-x); NaN at -inf, where the quotient is -inf / inf.";
        Tanh,      "tanh",      [],              [Data],       FLOATS, Same,  "Hyperbolic tangent.";
        Floor,     "floor",     [],              [Data],       ANY,    Same,  "Greatest integer not above x; the identity on integers.";
        Ceil,      "ceil",      [],              [Data],       ANY,    Same,  "Least integer not below x; the identity on integers.";
        Round,     "round",     [],              [Data],       ANY,    Same,  "Nearest integer, halves away from zero; the identity on integers.";
        Sign,      "sign",      [],              [Data],       ANY,    Same,  "-1, 0 or 1; 0 for NaN.";
        Affine,    "affine",    ["mul", "add"],  [Data],       ANY,    Same,  "mul x + add, both parameters converted to the dtype first (saturating, as Rust's `as`); integers wrap.";
        Powf,      "powf",      ["exponent"],    [Data],       FLOATS, Same,  "x^exponent as IEEE 754 `pow`, the exponent converted to the dtype first.";
        Elu,       "elu",       ["alpha"],       [Data],       FLOATS, Same,  "x above zero, alpha (e^x - 1) below, alpha converted to the dtype first.";
        Clamp, "clamp", ["min", "max"], [Data], ANY, Same, "minimum(maximum(x, min), max), both converted to the dtype first (saturating, as Rust's `as`): NaN propagates.";
        RoundTo, "round_to", ["decimals"], [Data], FLOATS, Same, "round(x 10^decimals) 10^-decimals, halves away from zero; both powers and both products rounded to the dtype.";
    }
    Binary, "binary", "Two tensors of the same logical shape in, one of that shape out." => {
        Add,       "add",       [],              [Data, Data], ANY,    Same,  "a + b, correctly rounded; integers wrap.";
        Sub,       "sub",       [],              [Data, Data], ANY,    Same,  "a - b, correctly rounded; integers wrap.";
        Mul,       "mul",       [],              [Data, Data], ANY,    Same,  "a b, correctly rounded; integers wrap.";
        Div,       "div",       [],              [Data, Data], ANY,    Same,  "a / b, correctly rounded; integers truncate and wrap, and an integer divided by zero has all bits set.";
        Maximum,   "maximum",   [],              [Data, Data], ANY,    Same,  "IEEE 754-2019 `maximum`: NaN propagates.";
        Minimum,   "minimum",   [],              [Data, Data], ANY,    Same,  "IEEE 754-2019 `minimum`: NaN propagates.";
        Eq,        "eq",        [],              [Data, Data], ANY,    Truth, "a = b; false with NaN.";
        Ne,        "ne",        [],              [Data, Data], ANY,    Truth, "a != b; true with NaN.";
        Lt,        "lt",        [],              [Data, Data], ANY,    Truth, "a < b; false with NaN.";
        Le,        "le",        [],              [Data, Data], ANY,    Truth, "a <= b; false with NaN.";
        Gt,        "gt",        [],              [Data, Data], ANY,    Truth, "a > b; false with NaN.";
        Ge,        "ge",        [],              [Data, Data], ANY,    Truth, "a >= b; false with NaN.";
        Pow,       "pow",       [],              [Data, Data], FLOATS, Same,  "a^b as IEEE 754 `pow`; candle makes it of parts, e^(b ln a), which are NaN below zero.";
    }
    Broadcast, "broadcast", "Two tensors in, of shapes that repeat each other; one of the common shape out." => {
        Add, "broadcast_add", [], [Data, Data], ANY, Same, "a + b as `add` has it, after both were broadcast to a common shape.";
        Sub, "broadcast_sub", [], [Data, Data], ANY, Same, "a - b as `sub` has it, after both were broadcast to a common shape.";
        Mul, "broadcast_mul", [], [Data, Data], ANY, Same, "a b as `mul` has it, after both were broadcast to a common shape.";
        Div, "broadcast_div", [], [Data, Data], ANY, Same, "a / b as `div` has it, after both were broadcast to a common shape.";
        Maximum, "broadcast_maximum", [], [Data, Data], ANY, Same, "maximum(a, b) as `maximum` has it, after both were broadcast to a common shape.";
        Minimum, "broadcast_minimum", [], [Data, Data], ANY, Same, "minimum(a, b) as `minimum` has it, after both were broadcast to a common shape.";
        Eq, "broadcast_eq", [], [Data, Data], ANY, Truth, "a = b as `eq` has it, after both were broadcast to a common shape.";
        Ne, "broadcast_ne", [], [Data, Data], ANY, Truth, "a != b as `ne` has it, after both were broadcast to a common shape.";
        Lt, "broadcast_lt", [], [Data, Data], ANY, Truth, "a < b as `lt` has it, after both were broadcast to a common shape.";
        Le, "broadcast_le", [], [Data, Data], ANY, Truth, "a <= b as `le` has it, after both were broadcast to a common shape.";
        Gt, "broadcast_gt", [], [Data, Data], ANY, Truth, "a > b as `gt` has it, after both were broadcast to a common shape.";
        Ge, "broadcast_ge", [], [Data, Data], ANY, Truth, "a >= b as `ge` has it, after both were broadcast to a common shape.";
        Pow, "broadcast_pow", [], [Data, Data], FLOATS, Same, "a^b as `pow` has it, after both were broadcast to a common shape.";
    }
    Cast, "cast", "One tensor in, the same numbers in another dtype out." => {
        ToU8,              "to_u8",             [],              [Data],                    ANY,     Is(U8), "Truncated and saturated from a float (NaN to 0), wrapped from an integer: as Rust's `as`.";
        ToU32,             "to_u32",            [],              [Data],                    ANY,     Is(U32),"As `to_u8`.";
        ToI16,             "to_i16",            [],              [Data],                    ANY,     Is(I16),"As `to_u8`.";
        ToI32,             "to_i32",            [],              [Data],                    ANY,     Is(I32),"As `to_u8`.";
        ToI64,             "to_i64",            [],              [Data],                    ANY,     Is(I64),"As `to_u8`.";
        ToF8E4M3,          "to_f8e4m3",         [],              [Data],                    ANY,     Is(F8E4M3),"Rounded once, to nearest even; what is beyond 448 becomes 448, infinities too.";
        ToBF16,            "to_bf16",           [],              [Data],                    ANY,     Is(BF16),"Rounded once, to nearest even, from the source's own value.";
        ToF16,             "to_f16",            [],              [Data],                    ANY,     Is(F16),"As `to_bf16`.";
        ToF32,             "to_f32",            [],              [Data],                    ANY,     Is(F32),"As `to_bf16`.";
        ToF64,             "to_f64",            [],              [Data],                    ANY,     Is(F64),"As `to_bf16`.";
    }
    Where, "where", "A choice between two tensors, element by element." => {
        WhereCond,         "where_cond",        [],              [Condition, Data, Data],   ANY,     Same,   "The second argument where the first is not zero, the third elsewhere; the bits, NaN payloads aside.";
    }
    Reduce, "reduce", "Sums and extremes along dimensions." => {
        Sum,               "sum",               ["dims.."],      [Data],                    ANY,     Same,   "The sum over the dimensions, accumulated in f32 at least and rounded once; integers wrap in their own width.";
        Mean,              "mean",              ["dims.."],      [Data],                    FLOATS,  Same,   "The sum over the dimensions divided by the number of its terms.";
        Min,               "min",               ["dim"],         [Data],                    ANY,     Same,   "The least element; NaN if there is one.";
        Max,               "max",               ["dim"],         [Data],                    ANY,     Same,   "The greatest element; NaN if there is one.";
        ArgMin,            "argmin",            ["dim"],         [Data],                    ANY,     Is(U32),"The index of the first NaN if there is one, else of the first least element.";
        ArgMax,            "argmax",            ["dim"],         [Data],                    ANY,     Is(U32),"The index of the first NaN if there is one, else of the first greatest element.";
        Var,               "var",               ["dim"],         [Data],                    FLOATS,  Same,   "The sum of the squared distances from the mean over one less than their number, made of parts.";
        LogSumExp,         "log_sum_exp",       ["dims.."],      [Data],                    FLOATS,  Same,   "max + log sum e^(x - max) over the dimensions, made of parts.";
        CumSum,            "cumsum",            ["dim"],         [Data],                    WIDE,    Same,   "The sums of the elements so far along the dimension, accumulated in f32 at least and rounded once.";
        SumKeepdim, "sum_keepdim", ["dims.."], [Data], ANY, Same, "As `sum`, with extent 1 in the place of each dimension.";
        MeanKeepdim, "mean_keepdim", ["dims.."], [Data], FLOATS, Same, "As `mean`, with extent 1 in the place of each dimension.";
        MinKeepdim, "min_keepdim", ["dim"], [Data], ANY, Same, "As `min`, with extent 1 in the place of the dimension.";
        MaxKeepdim, "max_keepdim", ["dim"], [Data], ANY, Same, "As `max`, with extent 1 in the place of the dimension.";
        ArgMinKeepdim, "argmin_keepdim", ["dim"], [Data], ANY, Is(U32), "As `argmin`, with extent 1 in the place of the dimension.";
        ArgMaxKeepdim, "argmax_keepdim", ["dim"], [Data], ANY, Is(U32), "As `argmax`, with extent 1 in the place of the dimension.";
        VarKeepdim, "var_keepdim", ["dim"], [Data], FLOATS, Same, "As `var`, with extent 1 in the place of the dimension.";
        SumAll, "sum_all", [], [Data], ANY, Same, "As `sum` over all dimensions.";
        MeanAll, "mean_all", [], [Data], FLOATS, Same, "As `mean` over all dimensions.";
        MinAll, "min_all", [], [Data], ANY, Same, "As `min` over all elements.";
        MaxAll, "max_all", [], [Data], ANY, Same, "As `max` over all elements.";
        Norm, "norm", [], [Data], FLOATS, Same, "The square root of the sum of the squares of all elements, made of parts.";
    }
    Indexing, "indexing", "Reads and writes at positions that a tensor of ids names." => {
        IndexSelect,       "index_select",      ["dim"],         [Data, Index],             ANY,     Same,   "The slices of the first argument along the dimension that a list of ids names.";
        Gather,            "gather",            ["dim"],         [Data, Index],             ANY,     Same,   "out[..i..] = x[..ids[..i..]..] along the dimension.";
        Scatter,           "scatter",           ["dim"],         [Data, Index, Data],       ANY,     Same,   "A copy of the first argument with out[..ids[..i..]..] = src[..i..] along the dimension; the last of equal ids stays.";
        ScatterAdd,        "scatter_add",       ["dim"],         [Data, Index, Data],       ANY,     Same,   "As `scatter`, adding in order of the source, each sum rounded to the dtype.";
        IndexAdd,          "index_add",         ["dim"],         [Data, Index, Data],       ANY,     Same,   "A copy of the first argument to whose slices along the dimension those of the source are added, in order, each sum rounded to the dtype.";
        ScatterSet, "scatter_set", ["dim"], [Data, Index, Data], ANY, Same, "As `scatter`, in place.";
        ScatterAddSet, "scatter_add_set", ["dim"], [Data, Index, Data], ANY, Same, "As `scatter_add`, in place.";
    }
    Matmul, "matmul", "Products of matrices." => {
        Matmul,            "matmul",            [],              [Data, Data],              WIDE,    Same,   "[.., m, k] times [.., k, n], accumulated in f32 at least and rounded once.";
        BroadcastMatmul, "broadcast_matmul", [], [Data, Data], WIDE, Same, "As `matmul`, after the batch dimensions were broadcast to a common shape.";
        Mv, "mv", [], [Data, Data], WIDE, Same, "[m, k] times [k], as `matmul` has it.";
        Dot, "dot", [], [Data, Data], ANY, Same, "The sum of the products of two lists, made of parts: each product is rounded to the dtype; integers wrap.";
    }
    Conv, "conv", "Convolutions: cross-correlations of an input with a kernel, and their transposes." => {
        Conv1d,            "conv1d",            ["padding", "stride", "dilation", "groups"],[Data, Data],              CONVOLVED, Same, "[b, c, l] with [o, c / groups, k], accumulated in f32 at least and rounded once.";
        ConvTranspose1d,   "conv_transpose1d",  ["padding", "output_padding", "stride", "dilation", "groups"],[Data, Data],              ANY,     Same,   "[b, c, l] with [c, o / groups, k], accumulated in f32 at least and rounded once; integers wrap.";
        Conv2d,            "conv2d",            ["padding", "stride", "dilation", "groups"],[Data, Data],              CONVOLVED, Same, "[b, c, h, w] with [o, c / groups, kh, kw], accumulated in f32 at least and rounded once.";
        ConvTranspose2d,   "conv_transpose2d",  ["padding", "output_padding", "stride", "dilation"],[Data, Data],              ANY,     Same,   "[b, c, h, w] with [c, o, kh, kw], accumulated in f32 at least and rounded once; integers wrap.";
    }
    Pool, "pool", "Pooling over windows of the last two of four dimensions." => {
        AvgPool2d,         "avg_pool2d",        ["kh", "kw", "sh", "sw"],[Data],                    ANY,     Same,   "The mean of each window, accumulated in f32 at least and rounded once; of integers truncated, their sum wrapped to 64 bits.";
        MaxPool2d,         "max_pool2d",        ["kh", "kw", "sh", "sw"],[Data],                    ANY,     Same,   "The greatest element of each window; NaN if there is one.";
    }
    Upsample, "upsample", "Larger images from smaller ones." => {
        Nearest1d,         "upsample_nearest1d",["size"],        [Data],                    ANY,     Same,   "[b, c, l] to [b, c, size]: out[i] = x[floor(i l / size)].";
        Nearest2d,         "upsample_nearest2d",["height", "width"],[Data],                    ANY,     Same,   "As `upsample_nearest1d` in the last two of four dimensions.";
        Bilinear2d,        "upsample_bilinear2d",["height", "width", "align_corners"],[Data],                    ANY,     Same,   "Bilinear interpolation of the last two of four dimensions, edges clamped; corners map to corners if `align_corners` is 1, pixel centres to pixel centres if it is 0; integers are truncated.";
        BilinearScale, "upsample_bilinear2d_with_scale", ["scale_h", "scale_w", "align_corners"], [Data], ANY, Same, "As `upsample_bilinear2d` to floor(extent scale); coordinates go by the scale itself unless corners align.";
    }
    Copies, "copy", "Elements moved, repeated or set, unchanged." => {
        Copy,              "copy",              [],              [Data],                    ANY,     Same,   "The elements, row-major.";
        Cat,               "cat",               ["dim"],         [Data, Data],              ANY,     Same,   "Both arguments one after the other along the dimension.";
        SliceSet,          "slice_set",         ["dim", "offset"],[Data, Data],              ANY,     Same,   "The first argument with the second written over its slices from `offset` on.";
        Fill,              "fill",              ["value", "dim", "start", "len"], [Data],      ANY,     Same,   "A copy of the argument whose slices from `start` on along the dimension were set to `value`, converted to the dtype as Rust's `as` does.";
        PadZeros,          "pad_with_zeros",    ["dim", "left", "right"],[Data],                    ANY,     Same,   "Zeros before and after along the dimension.";
        PadSame,           "pad_with_same",     ["dim", "left", "right"],[Data],                    ANY,     Same,   "The first slice repeated before, the last one after along the dimension.";
        Stack,             "stack",             ["dim"],         [Data, Data],              ANY,     Same,   "Both arguments as the two slices of a new dimension.";
        SliceScatter,      "slice_scatter",     ["dim", "start"],[Data, Data],              ANY,     Same,   "The first argument with the second in the place of its slices from `start` on, as a new tensor.";
        Repeat,            "repeat",            ["times.."],     [Data],                    ANY,     Same,   "The tensor beside itself, as often as is said for each dimension.";
        Flip,              "flip",              ["dims.."],      [Data],                    ANY,     Same,   "The slices along the dimensions in reverse order.";
        Roll,              "roll",              ["shift", "dim"],[Data],                    ANY,     Same,   "out[(i + shift) mod n] = x[i] along the dimension.";
        Unfold,            "unfold",            ["dim", "size", "step"],[Data],                    ANY,     Same,   "Windows of `size` along the dimension, each `step` after the one before, as a new last dimension.";
        Chunk,             "chunk",             ["chunks", "dim", "which"],[Data],                    ANY,     Same,   "One of the chunks along the dimension; the first ones are one longer where they cannot all be alike.";
        PixelShuffle,      "pixel_shuffle",     ["factor"],      [Data],                    ANY,     Same,   "[b, c f f, h, w] to [b, c, h f, w f]: out[c, h f + i, w f + j] = x[c f f + i f + j, h, w].";
        PixelUnshuffle,    "pixel_unshuffle",   ["factor"],      [Data],                    ANY,     Same,   "The inverse of `pixel_shuffle`.";
        ReplicationPad2d,  "replication_pad2d", ["pad"],         [Data],                    ANY,     Same,   "The edges of the last two of four dimensions repeated, by one element or by none.";
        Narrow, "narrow", ["dim", "start", "len"], [Data], ANY, Same, "The slices from `start` on along the dimension.";
        Index, "i", ["dim", "start", "end"], [Data], ANY, Same, "As `narrow`, by the range of the index operator.";
        GetOnDim, "get_on_dim", ["dim", "index"], [Data], ANY, Same, "One slice along the dimension, without it.";
        Transpose, "transpose", ["dim1", "dim2"], [Data], ANY, Same, "Two dimensions swapped.";
        Permute, "permute", ["dims.."], [Data], ANY, Same, "The dimensions in the order given.";
        Squeeze, "squeeze", ["dim"], [Data], ANY, Same, "Without a dimension of extent 1; the same where its extent is another.";
        Unsqueeze, "unsqueeze", ["dim"], [Data], ANY, Same, "With a new dimension of extent 1.";
        Flatten, "flatten", ["first", "last"], [Data], ANY, Same, "The dimensions from `first` to `last` as one, row-major.";
        Reshape, "reshape", ["dims.."], [Data], ANY, Same, "The elements, row-major, under another shape.";
        BroadcastAs, "broadcast_as", ["dims.."], [Data], ANY, Same, "The tensor repeated along dimensions that it lacks, or has with extent 1.";
        SliceAssign, "slice_assign", ["starts.."], [Data, Data], ANY, Same, "The first argument with the second in the place of its elements from one start in each dimension on.";
        KvCache, "kv_cache", ["dim", "size"], [Data, Data], ANY, Same, "What a cache of candle-nn's for `size` slices holds after both were appended: one after the other, grown where they do not fit.";
        RotatingKvCache, "rotating_kv_cache", ["dim", "size"], [Data, Data], ANY, Same, "What appending the second returns: the last `size` slices, slice i of all that came at place i mod `size`; the second itself where it is as long as the cache.";
        Meshgrid, "meshgrid", ["xy", "which"], [Data, Data], ANY, Same, "One of the two grids of two lists: [m, n], or [n, m] with `xy` 1.";
        Full, "full", ["value"], [Data], ANY, Same, "`value` everywhere, converted to the dtype as Rust's `as` does; the argument lends its shape and dtype.";
        Zeros, "zeros", [], [Data], ANY, Same, "Zeros; the argument lends its shape and dtype.";
        Ones, "ones", [], [Data], ANY, Same, "Ones; the argument lends its shape and dtype.";
        Eye, "eye", [], [Data], ANY, Same, "Ones on the diagonal, zeros elsewhere; the argument, [n, n], lends its shape and dtype.";
        Tril, "tril2", [], [Data], ANY, Same, "Ones on and below the diagonal, zeros above; the argument, [n, n], lends its shape and dtype.";
        Triu, "triu2", [], [Data], ANY, Same, "Ones on and above the diagonal, zeros below; the argument, [n, n], lends its shape and dtype.";
        Arange, "arange_step", ["start", "end", "step"], [Data], ANY, Same, "start + i step below `end`, or above it where the step is negative, rounded once; all three converted to the dtype first, and the argument lends its shape and dtype.";
        OneHot, "one_hot", ["depth"], [Data, Index], ANY, Same, "For each id a row of `depth` numbers: the second of the data where the id is, the first elsewhere.";
    }
    Sort, "sort", "Sorting along the last dimension: stable, with NaN above every number." => {
        ArgSortAsc,        "argsort_asc",       [],              [Data],                    ANY,     Is(U32),"The indices that sort, ascending.";
        ArgSortDesc,       "argsort_desc",      [],              [Data],                    ANY,     Is(U32),"The indices that sort, descending.";
        SortAsc,           "sort_asc",          [],              [Data],                    ANY,     Same,   "The elements, ascending.";
        SortDesc,          "sort_desc",         [],              [Data],                    ANY,     Same,   "The elements, descending.";
    }
    Nn, "nn", "candle-nn's fused ops." => {
        Sigmoid,           "sigmoid",           [],              [Data],                    FLOATS,  Same,   "1 / (1 + e^-x).";
        HardSigmoid,       "hard_sigmoid",      [],              [Data],                    WIDE,    Same,   "(x + 3) / 6, at least 0 and at most 1.";
        LeakyRelu,         "leaky_relu",        ["slope"],       [Data],                    WIDE,    Same,   "x above zero, slope x below, the slope converted to the dtype first.";
        Mish,              "mish",              [],              [Data],                    WIDE,    Same,   "x tanh(log(1 + e^x)).";
        Selu,              "selu",              ["alpha", "gamma"],[Data],                  SINGLE,  Same,   "gamma x above zero, gamma alpha (e^x - 1) below; candle-nn has it in f32 alone.";
        Swiglu,            "swiglu",            [],              [Data],                    WIDE,    Same,   "The silu of the first half of the last dimension times the second half.";
        SoftmaxLastDim,    "softmax_last_dim",  [],              [Data],                    WIDE,    Same,   "e^(x - max) over the sum of its row.";
        Softmax,           "softmax",           ["dim"],         [Data],                    WIDE,    Same,   "e^(x - max) over its sum along the dimension, made of parts.";
        LogSoftmax,        "log_softmax",       ["dim"],         [Data],                    WIDE,    Same,   "x - max - log sum e^(x - max) along the dimension, made of parts.";
        RmsNorm,           "rms_norm",          ["eps"],         [Data, Data],              WIDE,    Same,   "x alpha / sqrt(mean(x^2) + eps) along the last dimension.";
        LayerNorm,         "layer_norm",        ["eps"],         [Data, Data, Data],        WIDE,    Same,   "(x - mean) alpha / sqrt(variance + eps) + beta along the last dimension.";
        Rope,              "rope",              [],              [Data, Data, Data],        WIDE,    Same,   "Rotates x [b, h, t, d] by cos and sin [t, d / 2] or [b, t, d / 2], pairing i with i + d / 2.";
        RopeI,             "rope_i",            [],              [Data, Data, Data],        WIDE,    Same,   "As `rope`, pairing 2 i with 2 i + 1.";
        RopeThd,           "rope_thd",          [],              [Data, Data, Data],        WIDE,    Same,   "As `rope` for x [b, t, h, d].";
    }
    Layers, "layers", "candle-nn's layers and losses, made of parts." => {
        Linear,        "linear",          [],                                          [Data; 3],                    WIDE,   Same, "x [.., m, k] times the transpose of the weight [n, k], plus the bias [n].";
        Conv1dBias,    "conv1d_bias",     ["padding", "stride", "dilation", "groups"], [Data; 3],                    WIDE,   Same, "`conv1d` plus a bias for each of the output's channels.";
        Conv2dBias,    "conv2d_bias",     ["padding", "stride", "dilation", "groups"], [Data; 3],                    WIDE,   Same, "`conv2d` plus a bias for each of the output's channels.";
        Embedding,     "embedding",       [],                                          [Data, Index],                WIDE,   Same, "The rows of a table [rows, width] that ids of any shape name.";
        RmsNormSlow,   "rms_norm_slow",   ["eps"],                                     [Data; 2],                    WIDE,   Same, "`rms_norm` made of parts, in f32 at least up to the product with the weight.";
        LayerNormSlow, "layer_norm_slow", ["eps"],                                     [Data; 3],                    WIDE,   Same, "`layer_norm` made of parts, in f32 at least up to the product with the weight.";
        GroupNorm,     "group_norm",      ["groups", "eps"],                           [Data; 3],                    WIDE,   Same, "x [b, c, ..] less its mean over its standard deviation in each group of channels, times a weight plus a bias for each channel.";
        BatchNormEval, "batch_norm_eval", ["eps"],                                     [Data; 5],                    WIDE,   Same, "(x - mean) weight / sqrt(variance + eps) + bias, one of each for each channel of x [b, c, ..].";
        BatchNormTrain, "batch_norm_train", ["eps"],                                   [Data; 3],                    F32_F64, Same, "As `batch_norm_eval` with the mean and the variance of the batch.";
        RopeSlow,      "rope_slow",       [],                                          [Data; 3],                    WIDE,   Same, "`rope` made of parts.";
        Attention,     "attention",       ["causal"],                                  [Data; 3],                    WIDE,   Same, "softmax(q k^T / sqrt(d)) v for q [b, h, t, d], k [b, h, s, d], v [b, h, s, e]; with `causal` 1, a query sees the keys up to its own place.";
        Nll,           "nll",             [],                                          [Data, Index],                WIDE,   Same, "-mean of x[i, target[i]].";
        CrossEntropy,  "cross_entropy",   [],                                          [Data, Index],                WIDE,   Same, "`nll` of `log_softmax` along the last of two dimensions.";
        Mse,           "mse",             [],                                          [Data; 2],                    WIDE,   Same, "The mean of (input - target)^2.";
        Huber,         "huber",           ["delta"],                                   [Data; 2],                    WIDE,   Same, "The mean of d^2 / 2 where |d| <= delta, and of delta (|d| - delta / 2) elsewhere, d = input - target.";
        BceWithLogit,  "bce_with_logit",  [],                                          [Data; 2],                    WIDE,   Same, "-mean of target log s + (1 - target) log (1 - s), s = sigmoid(input).";
        PRelu,         "prelu",           [],                                          [Data; 2],                    WIDE,   Same, "x above zero, slope x below, one slope for each channel of x [b, c, ..].";
        LstmStep,      "lstm_step",       [],                                          [Data; 7],                    WIDE,   Same, "The next hidden state of an LSTM cell for x, h, c, the weights of x and h, and their biases; gates in the order input, forget, cell, output.";
        GruStep,       "gru_step",        [],                                          [Data; 6],                    WIDE,   Same, "The next hidden state of a GRU cell for x, h, the weights of x and h, and their biases; gates in the order reset, update, new.";
        ConvTranspose1dBias, "conv_transpose1d_bias", ["padding", "output_padding", "stride", "dilation", "groups"], [Data; 3], WIDE, Same, "`conv_transpose1d` plus a bias for each of the output's channels.";
        ConvTranspose2dBias, "conv_transpose2d_bias", ["padding", "output_padding", "stride", "dilation"], [Data; 3], WIDE, Same, "`conv_transpose2d` plus a bias for each of the output's channels.";
        RmsNormLayer, "rms_norm_layer", ["eps"], [Data; 2], WIDE, Same, "`rms_norm` as the layer: fused on what is contiguous, made of parts on views.";
        LayerNormLayer, "layer_norm_layer", ["eps"], [Data; 3], WIDE, Same, "`layer_norm` as the layer: fused on what is contiguous, made of parts on views.";
        RopeISlow, "rope_i_slow", [], [Data; 3], WIDE, Same, "`rope_i` made of parts.";
        FlashAttention, "flash_attn", ["causal"], [Data; 3], WIDE, Same, "`attention` of q [b, t, h, d], k [b, s, g, d], v [b, s, g, e], where each of g heads serves h / g; [b, h, t, e]. candle-nn has it for the CPU alone.";
        Sdpa, "sdpa", ["causal"], [Data; 3], WIDE, Same, "`attention` as a fused op, which candle-nn has for Metal alone.";
    }
    Random, "random", "Random numbers: two draws of the argument's shape and dtype." => {
        Uniform,       "rand_uniform",        ["lo", "up"],                            [Data],                       FLOATS,   Same, "Independent and uniform in [lo, up], both converted to the dtype first; one of the two may be missing.";
        Normal,        "rand_normal",         ["mean", "std"],                         [Data],                       FLOATS,   Same, "Independent and normal, both parameters converted to the dtype first.";
        UniformSeeded, "rand_uniform_seeded", ["lo", "up", "seed"],                    [Data],                       FLOATS,   Same, "As `rand_uniform`; the seed is set before each draw, so that the draws are the same.";
        NormalSeeded,  "rand_normal_seeded",  ["mean", "std", "seed"],                 [Data],                       FLOATS,   Same, "As `rand_normal`; the seed is set before each draw, so that the draws are the same.";
    }
    Grad, "grad", "Gradients by candle's backward: of the sum of w f(..), by one argument; the last argument is w." => {
        Exp,             "grad_exp", [], [Data, Data], WIDE, Same, "w e^x.";
        Log,             "grad_log", [], [Data, Data], WIDE, Same, "w / x.";
        Sin,             "grad_sin", [], [Data, Data], WIDE, Same, "w cos x.";
        Cos,             "grad_cos", [], [Data, Data], WIDE, Same, "-w sin x.";
        Abs,             "grad_abs", [], [Data, Data], WIDE, Same, "w or -w, by the sign of x; anything between at zero.";
        Neg,             "grad_neg", [], [Data, Data], WIDE, Same, "-w.";
        Recip,           "grad_recip", [], [Data, Data], WIDE, Same, "-w / x^2.";
        Sqr,             "grad_sqr", [], [Data, Data], WIDE, Same, "2 w x.";
        Sqrt,            "grad_sqrt", [], [Data, Data], WIDE, Same, "w / (2 sqrt x).";
        Gelu,            "grad_gelu", [], [Data, Data], WIDE, Same, "w times the derivative of the tanh formula.";
        GeluErf,         "grad_gelu_erf", [], [Data, Data], WIDE, Same, "w (0.5 + 0.5 erf(x / sqrt 2) + x e^(-x^2 / 2) / sqrt(2 pi)).";
        Erf,             "grad_erf", [], [Data, Data], WIDE, Same, "2 w e^(-x^2) / sqrt pi.";
        Relu,            "grad_relu", [], [Data, Data], WIDE, Same, "w above zero, 0 below, anything between at zero.";
        Silu,            "grad_silu", [], [Data, Data], WIDE, Same, "w (s + x s (1 - s)), s = sigmoid(x).";
        Tanh,            "grad_tanh", [], [Data, Data], WIDE, Same, "w (1 - tanh^2 x).";
        Affine,          "grad_affine", ["mul", "add"], [Data, Data], WIDE, Same, "w mul.";
        Powf,            "grad_powf", ["exponent"], [Data, Data], WIDE, Same, "w exponent x^(exponent - 1).";
        Elu,             "grad_elu", ["alpha"], [Data, Data], WIDE, Same, "w above zero, w alpha e^x below.";
        Add,             "grad_add", ["wrt"], [Data; 3], WIDE, Same, "w by either.";
        Sub,             "grad_sub", ["wrt"], [Data; 3], WIDE, Same, "w by the left, -w by the right.";
        Mul,             "grad_mul", ["wrt"], [Data; 3], WIDE, Same, "w times the other.";
        Div,             "grad_div", ["wrt"], [Data; 3], WIDE, Same, "w / b by the left, -w a / b^2 by the right.";
        Maximum,         "grad_maximum", ["wrt"], [Data; 3], WIDE, Same, "w where the argument is the greater, w / 2 where both are the same.";
        Minimum,         "grad_minimum", ["wrt"], [Data; 3], WIDE, Same, "w where the argument is the lesser, w / 2 where both are the same.";
        Pow,             "grad_pow", ["wrt"], [Data; 3], WIDE, Same, "w b a^b / a by the left, w a^b ln a by the right.";
        BroadcastAdd,    "grad_broadcast_add", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_add`, summed over the dimensions along which the argument repeats.";
        BroadcastSub,    "grad_broadcast_sub", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_sub`, summed over the dimensions along which the argument repeats.";
        BroadcastMul,    "grad_broadcast_mul", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_mul`, summed over the dimensions along which the argument repeats.";
        BroadcastDiv,    "grad_broadcast_div", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_div`, summed over the dimensions along which the argument repeats.";
        WhereCond,       "grad_where_cond", ["wrt"], [Condition, Data, Data, Data], WIDE, Same, "w where the argument was chosen, 0 elsewhere.";
        Sum,             "grad_sum", ["dims.."], [Data, Data], WIDE, Same, "w of the sum that the element is in.";
        Mean,            "grad_mean", ["dims.."], [Data, Data], WIDE, Same, "w over the number of terms.";
        Min,             "grad_min", ["dim"], [Data, Data], WIDE, Same, "w at the least element, shared evenly where several are; 0 elsewhere.";
        Max,             "grad_max", ["dim"], [Data, Data], WIDE, Same, "w at the greatest element, shared evenly where several are; 0 elsewhere.";
        Var,             "grad_var", ["dim"], [Data, Data], F32_F64, Same, "2 w (x - mean) / (n - 1).";
        LogSumExp,       "grad_log_sum_exp", ["dims.."], [Data, Data], F32_F64, Same, "w softmax(x).";
        IndexSelect,     "grad_index_select", ["dim"], [Data, Index, Data], F32_F64, Same, "The sum of w of the slices that the id named.";
        Gather,          "grad_gather", ["dim"], [Data, Index, Data], F32_F64, Same, "The sum of w of the elements that the id named.";
        Scatter,         "grad_scatter", ["dim", "wrt"], [Data, Index, Data, Data], F32_F64, Same, "w where the element is still there: 0 where it was written over.";
        ScatterAdd,      "grad_scatter_add", ["dim", "wrt"], [Data, Index, Data, Data], F32_F64, Same, "w by the first, w of the place it was added to by the source.";
        IndexAdd,        "grad_index_add", ["dim", "wrt"], [Data, Index, Data, Data], F32_F64, Same, "w by the first, w of the slice it was added to by the source.";
        Matmul,          "grad_matmul", ["wrt"], [Data; 3], WIDE, Same, "w b^T by the left, a^T w by the right.";
        Conv1d,          "grad_conv1d", ["padding", "stride", "dilation", "groups", "wrt"], [Data; 3], F32_F64, Same, "The adjoint of the convolution by either argument.";
        ConvTranspose1d, "grad_conv_transpose1d", ["padding", "output_padding", "stride", "dilation", "groups", "wrt"], [Data; 3], F32_F64, Same, "The adjoint of the transposed convolution by either argument.";
        Conv2d,          "grad_conv2d", ["padding", "stride", "dilation", "groups", "wrt"], [Data; 3], F32_F64, Same, "As `grad_conv1d`.";
        ConvTranspose2d, "grad_conv_transpose2d", ["padding", "output_padding", "stride", "dilation", "wrt"], [Data; 3], F32_F64, Same, "As `grad_conv_transpose1d`.";
        AvgPool2d,       "grad_avg_pool2d", ["kh", "kw", "sh", "sw"], [Data, Data], F32_F64, Same, "The sum over the windows that hold the element of w over the size of a window.";
        MaxPool2d,       "grad_max_pool2d", ["kh", "kw", "sh", "sw"], [Data, Data], F32_F64, Same, "The sum over the windows whose greatest element it is of w, shared evenly where several are.";
        Nearest1d,       "grad_upsample_nearest1d", ["size"], [Data, Data], F32_F64, Same, "The sum of w of the copies of the element.";
        Nearest2d,       "grad_upsample_nearest2d", ["height", "width"], [Data, Data], F32_F64, Same, "The sum of w of the copies of the element.";
        Bilinear2d,      "grad_upsample_bilinear2d", ["height", "width", "align_corners"], [Data, Data], F32_F64, Same, "The adjoint of the interpolation.";
        Copy,            "grad_copy", [], [Data, Data], WIDE, Same, "w.";
        Cat,             "grad_cat", ["dim", "wrt"], [Data; 3], WIDE, Same, "The part of w that is the argument's.";
        PadZeros,        "grad_pad_with_zeros", ["dim", "left", "right"], [Data, Data], WIDE, Same, "w without the padding.";
        Narrow,          "grad_narrow", ["dim", "start", "len"], [Data, Data], WIDE, Same, "w in the slices from `start` on, 0 elsewhere.";
        Permute,         "grad_permute", [], [Data, Data], WIDE, Same, "w with all dimensions in reverse order, as the function has x.";
        Flatten,         "grad_flatten", [], [Data, Data], WIDE, Same, "w in the shape of x.";
        Expand,          "grad_broadcast_left", ["times"], [Data, Data], F32_F64, Same, "The sum of w over the new first dimension.";
        Sigmoid,         "grad_sigmoid", [], [Data, Data], WIDE, Same, "w s (1 - s), s = sigmoid(x).";
        Softmax,         "grad_softmax", ["dim"], [Data, Data], F32_F64, Same, "p (w - sum(w p)) along the dimension, p = softmax(x).";
        LogSoftmax,      "grad_log_softmax", ["dim"], [Data, Data], F32_F64, Same, "w - p sum(w) along the dimension, p = softmax(x).";
        SoftmaxLastDim,  "grad_softmax_last_dim", [], [Data, Data], F32_F64, Same, "As `grad_softmax`.";
        RmsNorm,         "grad_rms_norm", ["eps", "wrt"], [Data; 3], F32_F64, Same, "As `grad_rms_norm_slow`.";
        LayerNorm,       "grad_layer_norm", ["eps", "wrt"], [Data; 4], F32_F64, Same, "As `grad_layer_norm_slow`.";
        Rope,            "grad_rope", ["wrt"], [Data; 4], F32_F64, Same, "As `grad_rope_slow`.";
        RmsNormSlow,     "grad_rms_norm_slow", ["eps", "wrt"], [Data; 3], F32_F64, Same, "Of x alpha / sqrt(mean(x^2) + eps).";
        LayerNormSlow,   "grad_layer_norm_slow", ["eps", "wrt"], [Data; 4], F32_F64, Same, "Of (x - mean) alpha / sqrt(variance + eps) + beta.";
        RopeSlow,        "grad_rope_slow", ["wrt"], [Data; 4], F32_F64, Same, "By x, w rotated back; by the angles, w x summed.";
        Linear,          "grad_linear", ["wrt"], [Data; 4], F32_F64, Same, "Of x times the transpose of the weight, plus the bias.";
        Attention,       "grad_attention", ["causal", "wrt"], [Data; 4], F32_F64, Same, "Of softmax(q k^T / sqrt(d)) v by q, k or v.";
        CrossEntropy,    "grad_cross_entropy", [], [Data, Index, Data], F32_F64, Same, "w (softmax(x) - one-hot(target)) / n.";
        Mse,             "grad_mse", ["wrt"], [Data; 3], F32_F64, Same, "2 w (input - target) / n, negated by the target.";
        Huber,           "grad_huber", ["delta", "wrt"], [Data; 3], F32_F64, Same, "w d / n where |d| <= delta, w delta sign(d) / n elsewhere, negated by the target.";
        Clamp, "grad_clamp", ["min", "max"], [Data, Data], WIDE, Same, "w between both ends, 0 beyond, anything between at an end.";
        BroadcastMaximum, "grad_broadcast_maximum", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_maximum`, summed over the dimensions along which the argument repeats.";
        BroadcastMinimum, "grad_broadcast_minimum", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_minimum`, summed over the dimensions along which the argument repeats.";
        BroadcastPow, "grad_broadcast_pow", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_pow`, summed over the dimensions along which the argument repeats.";
        Norm, "grad_norm", [], [Data, Data], F32_F64, Same, "w x / norm(x).";
        CumSum, "grad_cumsum", ["dim"], [Data, Data], F32_F64, Same, "The sum of w from the element's place on along the dimension.";
        Dot, "grad_dot", ["wrt"], [Data; 3], F32_F64, Same, "w times the other.";
        Mv, "grad_mv", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_matmul`.";
        BroadcastMatmul, "grad_broadcast_matmul", ["wrt"], [Data; 3], F32_F64, Same, "As `grad_matmul`, summed over the batches along which the argument repeats.";
        PadSame, "grad_pad_with_same", ["dim", "left", "right"], [Data, Data], F32_F64, Same, "The sum of w of the copies of the element.";
        Stack, "grad_stack", ["dim", "wrt"], [Data; 3], WIDE, Same, "The slice of w that is the argument's.";
        SliceScatter, "grad_slice_scatter", ["dim", "start", "wrt"], [Data; 3], WIDE, Same, "w where the argument's elements are, 0 where they were written over.";
        SliceAssign, "grad_slice_assign", ["starts.."], [Data; 3], WIDE, Same, "By the first argument: w where its elements are, 0 where they were written over.";
        Repeat, "grad_repeat", ["times.."], [Data, Data], F32_F64, Same, "The sum of w of the copies of the element.";
        Flip, "grad_flip", ["dims.."], [Data, Data], F32_F64, Same, "w with the slices in reverse order.";
        Roll, "grad_roll", ["shift", "dim"], [Data, Data], WIDE, Same, "w rolled back.";
        Unfold, "grad_unfold", ["dim", "size", "step"], [Data, Data], F32_F64, Same, "The sum of w over the windows that hold the element.";
        Chunk, "grad_chunk", ["chunks", "dim", "which"], [Data, Data], WIDE, Same, "w in the chunk, 0 elsewhere.";
        PixelShuffle, "grad_pixel_shuffle", ["factor"], [Data, Data], WIDE, Same, "w unshuffled.";
        PixelUnshuffle, "grad_pixel_unshuffle", ["factor"], [Data, Data], WIDE, Same, "w shuffled.";
        ReplicationPad2d, "grad_replication_pad2d", ["pad"], [Data, Data], F32_F64, Same, "The sum of w of the copies of the element.";
        Transpose, "grad_transpose", ["dim1", "dim2"], [Data, Data], WIDE, Same, "w with the dimensions swapped back.";
        Reshape, "grad_reshape", ["dims.."], [Data, Data], WIDE, Same, "w in the shape of x.";
        BroadcastAs, "grad_broadcast_as", ["dims.."], [Data, Data], F32_F64, Same, "The sum of w of the copies of the element.";
        GetOnDim, "grad_get_on_dim", ["dim", "index"], [Data, Data], WIDE, Same, "w in the slice, 0 elsewhere.";
        HardSigmoid, "grad_hard_sigmoid", [], [Data, Data], F32_F64, Same, "w / 6 between -3 and 3, 0 beyond.";
        LeakyRelu, "grad_leaky_relu", ["slope"], [Data, Data], F32_F64, Same, "w above zero, w slope below.";
        Mish, "grad_mish", [], [Data, Data], F32_F64, Same, "Of x tanh(log(1 + e^x)).";
        Selu, "grad_selu", ["alpha", "gamma"], [Data, Data], SINGLE, Same, "w gamma above zero, w gamma alpha e^x below.";
        Swiglu, "grad_swiglu", [], [Data, Data], F32_F64, Same, "Of the silu of the first half times the second half.";
        RopeISlow, "grad_rope_i_slow", ["wrt"], [Data; 4], F32_F64, Same, "By x, w rotated back; by the angles, w x summed.";
        GroupNorm, "grad_group_norm", ["groups", "eps", "wrt"], [Data; 4], F32_F64, Same, "Of the normed groups times a weight plus a bias.";
        BatchNormEval, "grad_batch_norm_eval", ["eps", "wrt"], [Data; 6], F32_F64, Same, "Of (x - mean) weight / sqrt(variance + eps) + bias, by any of the five.";
        BatchNormTrain, "grad_batch_norm_train", ["eps", "wrt"], [Data; 4], F32_F64, Same, "As `grad_group_norm`, over the batch.";
        PRelu, "grad_prelu", ["wrt"], [Data; 3], F32_F64, Same, "By x, w above zero and w slope below; by a slope, the sum of w x below zero.";
        Embedding, "grad_embedding", [], [Data, Index, Data], F32_F64, Same, "The sum of w of the rows that the id named.";
        Conv1dBias, "grad_conv1d_bias", ["padding", "stride", "dilation", "groups", "wrt"], [Data; 4], F32_F64, Same, "As `grad_conv1d`; by the bias, the sum of w of its channel.";
        Conv2dBias, "grad_conv2d_bias", ["padding", "stride", "dilation", "groups", "wrt"], [Data; 4], F32_F64, Same, "As `grad_conv2d`; by the bias, the sum of w of its channel.";
        Nll, "grad_nll", [], [Data, Index, Data], F32_F64, Same, "-w / n at the target, 0 elsewhere.";
        BceWithLogit, "grad_bce_with_logit", ["wrt"], [Data; 3], F32_F64, Same, "w (sigmoid(input) - target) / n by the input, of the parts by the target.";
        LstmStep, "grad_lstm_step", ["wrt"], [Data; 8], F32_F64, Same, "Of the next hidden state, by any argument.";
        GruStep, "grad_gru_step", ["wrt"], [Data; 7], F32_F64, Same, "Of the next hidden state, by any argument.";
    }
    // Names are completed by the format's: `dequantize_q4_0`.
    [format] Quantized, "quantized", "Weights in ggml's block formats." => {
        Dequantize,    "dequantize_",        [Blocks],        BYTES,               Is(F32), "The weights: scale times quant, with an offset added or taken away, in f32; exact or rounded once.";
        DequantizeF16, "dequantize_to_f16_", [Blocks],        BYTES,               Is(F16), "As `dequantize`, rounded once more.";
        Qmatmul,       "qmatmul_",           [Data, Blocks],  activations(format), Same,    "[.., m, k] times the transpose of the weights [n, k], rounded once; the activations may go through ggml's 8-bit blocks.";
        Embedding,     "embedding_",         [Blocks, Index], BYTES,               Is(F32), "The rows of the weights [rows, width] that ids of any shape name, as `dequantize` has them.";
        IndexedMoe,    "indexed_moe_",       [Data, Blocks, Index], experts(format), Same,    "For each id of a token, [t, s], its activations, [t, 1, k] or [t, s, k], times the transpose of the weights [experts, n, k] that the id names; rounding as `qmatmul`.";
        Quantize,      "quantize_",          [Data],          QUANTIZED,           Is(F32), "The weights that blocks made of the numbers mean: by the formulas of ggml's reference quantizers where those leave no choice, near the numbers where they search.";
    }
}

impl Op {
    /// The name specs and ids use; the same as the candle method's.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The names of the op's scalar parameters, in order. One that ends in `..` stands for one parameter or more.
    pub const fn params(self) -> &'static [&'static str] {
        self.row().params
    }

    /// What each tensor argument is.
    pub const fn roles(self) -> &'static [Role] {
        self.row().roles
    }

    /// Number of tensor arguments.
    pub const fn arity(self) -> usize {
        self.roles().len()
    }

    /// Whether an argument has a dtype that specs choose on its own: the ids or the condition.
    pub fn takes_ids(self) -> bool {
        let chosen = |role: &Role| matches!(role, Role::Condition | Role::Index);
        self.roles().iter().any(chosen)
    }

    /// The format of the op's weights, where it has such.
    pub const fn block_format(self) -> Option<BlockFormat> {
        match self {
            Op::Quantized(op) => Some(op.format()),
            _ => None,
        }
    }

    /// Whether the op takes `count` parameters.
    pub fn takes_params(self, count: usize) -> bool {
        match self.params() {
            [.., last] if last.ends_with("..") => count >= self.params().len(),
            params => count == params.len(),
        }
    }

    /// The dtypes for which the op means something. candle's CPU backend returns 0 for `gelu`, `gelu_erf`, `erf` and
    /// `silu` on integers and panics for `exp` and its like; neither is a meaning.
    pub const fn dtypes(self) -> &'static [DType] {
        self.row().dtypes
    }

    /// The definition of the op in one line, with its policy for NaN, zeros and integers.
    pub const fn definition(self) -> &'static str {
        self.row().definition
    }

    /// The dtype of the output for data of `dtype`.
    pub const fn result_dtype(self, dtype: DType) -> DType {
        match self.row().output {
            Output::Same => dtype,
            Output::Truth => DType::U8,
            Output::Is(dtype) => dtype,
        }
    }

    /// Whether the op means something for `dtype`.
    pub fn accepts(self, dtype: DType) -> bool {
        self.dtypes().contains(&dtype)
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Family {
    type Err = UnknownName;

    fn from_str(s: &str) -> Result<Self, UnknownName> {
        Family::ALL
            .iter()
            .copied()
            .find(|family| family.name() == s)
            .ok_or_else(|| UnknownName {
                what: "op family",
                name: s.to_owned(),
            })
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Op {
    type Err = UnknownName;

    fn from_str(s: &str) -> Result<Self, UnknownName> {
        let op = Op::ALL.iter().copied().find(|op| op.name() == s);
        op.ok_or_else(|| UnknownName {
            what: "op",
            name: s.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_are_unique() {
        for (i, op) in Op::ALL.iter().enumerate() {
            assert_eq!(op.name().parse(), Ok(*op));
            assert!(
                Op::ALL[..i].iter().all(|other| other.name() != op.name()),
                "{op} stands twice"
            );
        }
        assert!("expm1".parse::<Op>().is_err());
    }

    #[test]
    fn every_format_has_every_op_of_weights() {
        for &format in BlockFormat::ALL {
            let count = Op::ALL
                .iter()
                .filter(|op| op.block_format() == Some(format))
                .count();
            assert_eq!(count, 6, "{format}");
        }
        let op = Op::from(Quantized::DequantizeF16(BlockFormat::Q2K));
        assert_eq!(op.name(), "dequantize_to_f16_q2_K");
        assert_eq!(op.block_format(), Some(BlockFormat::Q2K));
        assert_eq!(Op::from(Unary::Exp).block_format(), None);
    }

    #[test]
    fn the_comparisons_and_nothing_else_give_truth() {
        let truth: Vec<_> = Op::ALL
            .iter()
            .filter(|op| op.row().output == Output::Truth)
            .collect();
        let comparisons = [
            Binary::Eq,
            Binary::Ne,
            Binary::Lt,
            Binary::Le,
            Binary::Gt,
            Binary::Ge,
        ];
        let broadcast = Op::ALL.iter().filter(|op| match op {
            Op::Broadcast(op) => comparisons.contains(&op.of()),
            _ => false,
        });
        let comparisons = comparisons.map(Op::from);
        let wanted: Vec<_> = comparisons.iter().chain(broadcast).collect();
        assert_eq!(truth, wanted);
    }
}
