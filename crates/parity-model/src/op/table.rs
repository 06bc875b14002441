//! What a row of the table of ops says, and the macro that reads the rows of a family. The rows are in `ops/`, one file a
//! family. How an op is computed is not said here.

use super::batch::BatchRule;
use super::shape::ShapeRule;
use super::{Keep, Role, Terms};
use crate::DType;

/// Classes of dtypes, as rows name them.
pub(crate) mod dtypes {
    use crate::DType::{self, BF16, F8E4M3, F16, F32, F64, I16, I32, I64, U8, U32};

    /// Every dtype.
    pub(crate) const ANY: &[DType] = &DType::ALL;
    /// Every float dtype.
    pub(crate) const FLOATS: &[DType] = &[F8E4M3, BF16, F16, F32, F64];
    /// The float dtypes that candle's products and fused ops take.
    pub(crate) const WIDE: &[DType] = &[BF16, F16, F32, F64];
    /// Integers, and the floats of [`WIDE`].
    pub(crate) const INTS_AND_WIDE: &[DType] = &[U8, U32, I16, I32, I64, BF16, F16, F32, F64];
    /// What candle's convolutions take, on one backend at least.
    pub(crate) const CONVOLVED: &[DType] = &[U8, U32, BF16, F16, F32, F64];
    /// Those of more than 16 bits: for sums whose partial results candle rounds to the dtype.
    pub(crate) const F32_F64: &[DType] = &[F32, F64];
    /// What candle-flash-attn's kernels take, and f32.
    pub(crate) const F32_AND_HALVES: &[DType] = &[BF16, F16, F32];
    /// f32 alone.
    pub(crate) const SINGLE: &[DType] = &[F32];
}

/// One row of the table.
#[derive(Clone, Copy)]
pub(crate) struct OpRow {
    pub(crate) names: Names,
    /// The op's parameters, and that of the gradient which names an argument.
    pub(crate) params_and_wrt: &'static [&'static str],
    /// The names of the op's arguments, and that of the gradient's weight of each element of the result.
    pub(crate) args_and_weight: &'static [&'static str],
    /// Their roles.
    pub(crate) roles_and_weight: &'static [Role],
    pub(crate) dtypes: &'static [DType],
    /// The output's dtype; `None` is that of the data.
    pub(crate) output: Option<DType>,
    pub(crate) shape: ShapeRule,
    pub(crate) batch: BatchRule,
    pub(crate) terms: Terms,
    /// The forms of a reduction, first the one that has its own name and its gradient.
    pub(crate) forms: &'static [Keep],
    pub(crate) definition: &'static str,
    pub(crate) gradient: Option<Gradient>,
}

/// The name of an op, and those of its forms, whether it has them or not.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub(crate) own: &'static str,
    pub(crate) broadcast: &'static str,
    pub(crate) keepdim: &'static str,
    pub(crate) all: &'static str,
    pub(crate) grad: &'static str,
    pub(crate) grad_broadcast: &'static str,
}

/// What a row says about the gradient of its op.
#[derive(Clone, Copy)]
pub(crate) struct Gradient {
    pub(crate) dtypes: &'static [DType],
    pub(crate) definition: &'static str,
}

impl OpRow {
    /// The op's parameters.
    pub(crate) const fn params(&self) -> &'static [&'static str] {
        without_last(self.params_and_wrt)
    }

    /// The names of the op's arguments.
    pub(crate) const fn args(&self) -> &'static [&'static str] {
        without_last(self.args_and_weight)
    }

    /// The roles of the op's arguments.
    pub(crate) const fn roles(&self) -> &'static [Role] {
        without_last(self.roles_and_weight)
    }

    /// The form of a reduction that has its own name.
    pub(crate) const fn plain_form(&self) -> Keep {
        match self.forms {
            [first, ..] => *first,
            [] => Keep::Nothing,
        }
    }

    /// The gradient's parameters: the op's, and `wrt` where there are several arguments to differentiate by. After
    /// parameters of any number it has no place, and the gradient is by the first argument.
    pub(crate) const fn grad_params(&self) -> &'static [&'static str] {
        let (mut data, mut i) = (0, 0);
        while i < self.roles().len() {
            data += matches!(self.roles()[i], Role::Data) as usize;
            i += 1;
        }
        match self.params() {
            [.., last] if last.as_bytes()[last.len() - 1] == b'.' => self.params(),
            _ if data > 1 => self.params_and_wrt,
            params => params,
        }
    }
}

const fn without_last<T>(all: &'static [T]) -> &'static [T] {
    match all {
        [own @ .., _] => own,
        [] => all,
    }
}

/// `None`, or `Some` of the value that is there.
macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// One term, unless the row says something else.
macro_rules! terms {
    () => {
        $crate::op::Terms::One
    };
    ($terms:ident) => {
        $crate::op::Terms::$terms
    };
}

/// The names of an op and its forms.
macro_rules! names {
    ($name:expr) => {
        $crate::op::table::Names {
            own: $name,
            broadcast: concat!("broadcast_", $name),
            keepdim: concat!($name, "_keepdim"),
            all: concat!($name, "_all"),
            grad: concat!("grad_", $name),
            grad_broadcast: concat!("grad_broadcast_", $name),
        }
    };
}

/// The rows of a family. A row has, in this order:
/// - the right answer as its documentation, NaN and zero included;
/// - the variant, and candle's name for the op;
/// - the names of its scalar parameters, one that ends in `..` for one parameter or more;
/// - its arguments by name, each with its [`Role`], and the dtypes for which the op means something;
/// - the output's dtype, where it is not the data's;
/// - its shape rule, a function such as `alike` or a pattern such as `|call| call.fit("[m, k] [k] -> [m]")`;
/// - its batch rule, a function such as `every`;
/// - what an element of the output is made of, [`Terms`], where that is more than one element of each argument;
/// - for a reduction its forms;
/// - the dtypes for which candle's gradient is compared, and its right answer in words.
macro_rules! ops {
    (
        $(#[doc = $family_doc:literal])+
        pub enum $family:ident;
        $(
            $(#[doc = $doc:literal])+
            $variant:ident $name:literal $([$($param:literal),+])? ($($arg:ident: $role:ident),+)
                on $dtypes:ident $(-> $output:ident)?, shape: $shape:expr, batch: $batch:expr
                $(, terms: $terms:ident)?
                $(, forms: [$($form:ident),+])?
                $(, grad on $grad_dtypes:ident: $grad:literal)?;
        )+
    ) => {
        $(#[doc = $family_doc])+
        ///
        /// The documentation of a variant states the right answer, NaN and zero included.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $family {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $family {
            pub(crate) const ALL: &'static [$family] = &[$($family::$variant),+];

            pub(crate) const fn row(self) -> &'static $crate::op::table::OpRow {
                match self {
                    $($family::$variant => const {
                        &$crate::op::table::OpRow {
                            names: $crate::op::table::names!($name),
                            params_and_wrt: &[$($($param,)+)? "wrt"],
                            args_and_weight: &[$(stringify!($arg),)+ "w"],
                            roles_and_weight: &[$($crate::op::Role::$role,)+ $crate::op::Role::Data],
                            dtypes: $crate::op::table::dtypes::$dtypes,
                            output: $crate::op::table::optional!($($crate::DType::$output)?),
                            shape: $shape,
                            batch: $batch,
                            terms: $crate::op::table::terms!($($terms)?),
                            forms: &[$($($crate::op::Keep::$form),+)?],
                            definition: concat!($($doc),+).trim_ascii(),
                            gradient: $crate::op::table::optional!($($crate::op::table::Gradient {
                                dtypes: $crate::op::table::dtypes::$grad_dtypes,
                                definition: $grad,
                            })?),
                        }
                    },)+
                }
            }
        }
    };
}

pub(crate) use {names, ops, optional, terms};
