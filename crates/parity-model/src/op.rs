//! The ops: what exists, what it takes, for which dtypes it means something, and which answer is right.
//!
//! The rows are in `ops/`, one file a family; forms of an op (broadcast, with `keepdim`, its gradient) are made of its row
//! here. The spec parser, the executor and the oracle match on a family's enum without `_`, so that a new row does not
//! compile until everyone knows it. Shapes are in [`shape`], formats in [`formats`]; how a backend computes an op is not
//! said here.

pub mod batch;
pub mod formats;
mod forms;
pub mod grad;
pub mod own;
pub mod pattern;
pub mod shape;
pub(crate) mod table;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::DType;
pub use crate::ops::{
    binary::Binary, cast::Cast, conv::Conv, copies::Copies, grad::GradOnly, indexing::Indexing,
    layers::Layers, matmul::Matmul, nn::Nn, pool::Pool, quantized::Quantized, random::Random, reduce::Reduce,
    select::Where, sort::Sort, unary::Unary, upsample::Upsample,
};
use formats::BlockFormat;
pub use forms::Keep;
pub use grad::{Differentiable, Grad};
pub use own::Own;
use table::OpRow;

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

/// What an element of an op's output is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// One element of each argument, or one that was chosen: its bits depend on nothing else.
    One,
    /// Several, in an order that the definition says: the same bits for every layout and every batch.
    Ordered,
    /// Several in any order, as in a sum: another layout or another batch may round otherwise.
    Unordered,
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

macro_rules! families {
    (
        $($(#[doc = $doc:literal])+ $family:ident $word:literal ($($of:ty),+);)+
        beside the table: $(#[doc = $own_doc:literal])+ $own:ident $own_word:literal;
    ) => {
        /// Ops that share a spec file and a column in the tables.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Family {
            $($(#[doc = $doc])+ $family,)+
            $(#[doc = $own_doc])+
            $own,
        }

        impl Family {
            /// Every family of the table, in the order tables show them. [`Family::Own`] is not of the table.
            pub const ALL: &'static [Family] = &[$(Family::$family),+];

            /// Every family that a name can mean: those of the table, then [`Family::Own`].
            pub const NAMED: &'static [Family] = &[$(Family::$family,)+ Family::$own];

            /// The word ids, specs and filters use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Family::$family => $word,)+
                    Family::$own => $own_word,
                }
            }
        }

        /// Every op parity knows, by family.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $($(#[doc = $doc])+ $family($($of),+),)+
            $(#[doc = $own_doc])+
            $own($own),
        }

        impl Op {
            /// The family the op belongs to.
            pub const fn family(self) -> Family {
                match self {
                    $(Op::$family(..) => Family::$family,)+
                    Op::$own(..) => Family::$own,
                }
            }
        }
    };
}

families! {
    /// One tensor in, one of the same shape out; scalar parameters allowed.
    Unary "unary" (Unary);
    /// Two tensors of the same logical shape in, one of that shape out.
    Binary "binary" (Binary);
    /// Two tensors in, of shapes that repeat each other; one of the common shape out.
    Broadcast "broadcast" (Binary);
    /// One tensor in, the same numbers in another dtype out.
    Cast "cast" (Cast);
    /// A choice between two tensors, element by element.
    Where "where" (Where);
    /// Sums and extremes along dimensions.
    Reduce "reduce" (Reduce, Keep);
    /// Reads and writes at positions that a tensor of ids names.
    Indexing "indexing" (Indexing);
    /// Products of matrices.
    Matmul "matmul" (Matmul);
    /// Convolutions: cross-correlations of an input with a kernel, and their transposes.
    Conv "conv" (Conv);
    /// Pooling over windows of the last two of four dimensions.
    Pool "pool" (Pool);
    /// Larger images from smaller ones.
    Upsample "upsample" (Upsample);
    /// Elements moved, repeated or set, unchanged.
    Copies "copy" (Copies);
    /// Sorting along the last dimension: stable, with NaN above every number.
    Sort "sort" (Sort);
    /// candle-nn's fused ops.
    Nn "nn" (Nn);
    /// candle-nn's layers and losses, made of parts.
    Layers "layers" (Layers);
    /// Random numbers: two draws of the argument's shape and dtype.
    Random "random" (Random);
    /// Gradients by candle's backward: of the sum of w f(..), by one argument; the last argument is w.
    Grad "grad" (Grad);
    /// Weights in ggml's block formats.
    Quantized "quantized" (Quantized);
    beside the table:
    /// Ops of the running program: see [`own`].
    Own "own";
}

/// How an op is made of its row.
#[derive(Clone, Copy)]
enum Form {
    /// As the row says.
    Plain,
    /// Of arguments that are broadcast first.
    Broadcast,
    /// A reduction that is over other dimensions than the row's, or keeps more of them.
    Kept(Keep),
    /// Differentiated.
    Gradient(Grad),
}

/// For the families whose ops are rows as they are.
macro_rules! plain {
    ($($family:ident)+) => {
        $(displayed! { $family })+

        impl Op {
            /// The row of the op, or of that of which it is a form, and the form.
            const fn row(self) -> (&'static OpRow, Form) {
                match self {
                    $(Op::$family(op) => (op.row(), Form::Plain),)+
                    Op::Broadcast(op) => (op.row(), Form::Broadcast),
                    Op::Reduce(op, keep) if op.is_plain(keep) => (op.row(), Form::Plain),
                    Op::Reduce(op, keep) => (op.row(), Form::Kept(keep)),
                    Op::Grad(op) => (op.row(), Form::Gradient(op)),
                }
            }
        }
    };
}

macro_rules! displayed {
    ($family:ident) => {
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
    };
}

plain! { Unary Binary Cast Where Indexing Matmul Conv Pool Upsample Copies Sort Nn Layers Random Quantized Own }
displayed! { Grad }

impl Op {
    /// The name specs and ids use; the same as the candle method's.
    pub const fn name(self) -> &'static str {
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Kept(Keep::Nothing) => row.names.own,
            Form::Broadcast => row.names.broadcast,
            Form::Kept(Keep::One) => row.names.keepdim,
            Form::Kept(Keep::Scalar) => row.names.all,
            Form::Gradient(op) if op.is_broadcast() => row.names.grad_broadcast,
            Form::Gradient(_) => row.names.grad,
        }
    }

    /// The names of the op's scalar parameters, in order. One that ends in `..` names one parameter or more.
    pub const fn params(self) -> &'static [&'static str] {
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Broadcast | Form::Kept(Keep::Nothing | Keep::One) => row.params(),
            Form::Kept(Keep::Scalar) => &[],
            Form::Gradient(_) => row.grad_params(),
        }
    }

    /// The names of the tensor arguments, in order. That of a gradient's last one is `w`.
    pub const fn args(self) -> &'static [&'static str] {
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Broadcast | Form::Kept(_) => row.args(),
            Form::Gradient(_) => row.args_and_weight,
        }
    }

    /// What each tensor argument is.
    pub const fn roles(self) -> &'static [Role] {
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Broadcast | Form::Kept(_) => row.roles(),
            Form::Gradient(_) => row.roles_and_weight,
        }
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
        if let Op::Quantized(op) = self {
            return Some(op.format());
        }
        None
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
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Broadcast | Form::Kept(_) => row.dtypes,
            // Its sums over what repeats are made of partial results that candle rounds to the dtype.
            Form::Gradient(op) if op.is_broadcast() => table::dtypes::F32_F64,
            Form::Gradient(op) => op.gradient().dtypes,
        }
    }

    /// What an element of the output is made of.
    pub const fn terms(self) -> Terms {
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Broadcast | Form::Kept(_) => row.terms,
            Form::Gradient(_) => Terms::Unordered,
        }
    }

    /// The definition of the op in a sentence or two, with its policy for NaN, zeros and integers.
    pub fn definition(self) -> Cow<'static, str> {
        let (row, form) = self.row();
        let own = row.names.own;
        match form {
            Form::Plain | Form::Kept(Keep::Nothing) => row.definition.into(),
            Form::Broadcast => format!("As `{own}`, after both were broadcast to a common shape.").into(),
            Form::Kept(Keep::One) => {
                format!("As `{own}`, with extent 1 in the place of each dimension.").into()
            }
            Form::Kept(Keep::Scalar) => format!("As `{own}` over all dimensions.").into(),
            Form::Gradient(op) if op.is_broadcast() => {
                let plain = row.names.grad;
                format!("As `{plain}`, summed over the dimensions along which the argument repeats.").into()
            }
            Form::Gradient(op) => op.gradient().definition.into(),
        }
    }

    /// The dtype of the output for data of `dtype`.
    pub fn result_dtype(self, dtype: DType) -> DType {
        let (row, form) = self.row();
        match form {
            Form::Plain | Form::Broadcast | Form::Kept(_) => row.output.unwrap_or(dtype),
            Form::Gradient(_) => dtype,
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
        Family::NAMED
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
        let registered = || Op::registered().into_iter().find(|op| op.name() == s);
        Op::in_table(s).or_else(registered).ok_or_else(|| UnknownName {
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
                "the table has {op} twice"
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
    fn forms_have_the_names_and_parameters_that_candle_gives_them() {
        let sum = |keep| Op::Reduce(Reduce::Sum, keep);
        let by_pow = Op::Grad(Op::Broadcast(Binary::Pow).gradient().unwrap());
        let by_conv = Op::Grad(Op::from(Conv::Conv1d).gradient().unwrap());
        for (op, name, params) in [
            (sum(Keep::Nothing), "sum", &["dims.."][..]),
            (sum(Keep::One), "sum_keepdim", &["dims.."]),
            (sum(Keep::Scalar), "sum_all", &[]),
            (Op::Reduce(Reduce::Norm, Keep::Scalar), "norm", &[]),
            (Op::Broadcast(Binary::Pow), "broadcast_pow", &[]),
            (by_pow, "grad_broadcast_pow", &["wrt"]),
            (
                by_conv,
                "grad_conv1d",
                &["padding", "stride", "dilation", "groups", "wrt"],
            ),
        ] {
            assert!(Op::ALL.contains(&op), "{op}");
            assert_eq!((op.name(), op.params()), (name, params));
        }
        assert_eq!(Op::from(Unary::Floor).gradient(), None);
        assert_eq!(sum(Keep::One).gradient(), None);
        assert!(!Op::ALL.contains(&Op::Reduce(Reduce::Var, Keep::Scalar)));
    }
}
