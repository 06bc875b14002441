//! Which candle function computes which op, one file a family. A row here is what "through candle's public API" means:
//! it is executed, and printed as Rust source for readers. Nothing here knows what the right result is.

mod binary;
mod cast;
mod conv;
mod copies;
pub(crate) mod grad;
mod indexing;
mod layers;
mod matmul;
mod nn;
mod own;
mod pool;
pub(crate) mod quantized;
mod random;
mod reduce;
mod select;
mod sort;
mod text;
mod unary;
mod upsample;

use candle_core::quantized::GgmlDType;
use candle_core::{Result, Tensor};
use parity_model::{Case, DType, Op};

use crate::{
    source::number,
    tensors::{candle_dtype, candle_format},
};
use text::{Helper, Names};

/// What a case says beside its tensors.
#[derive(Clone, Copy)]
pub(crate) struct Scalars<'a> {
    pub(crate) op: Op,
    pub(crate) dtype: DType,
    pub(crate) params: &'a [f64],
}

impl Scalars<'_> {
    pub(crate) fn of(case: &Case) -> Scalars<'_> {
        Scalars {
            op: case.op,
            dtype: case.dtype,
            params: &case.params,
        }
    }

    /// `None` while parameters are left.
    fn used_up(self) -> Option<()> {
        self.params.is_empty().then_some(())
    }
}

/// Applies the op to its arguments, all on one device; `None` when the op does not take that many arguments or
/// parameters; then no backend has computed anything.
pub(crate) fn apply(scalars: Scalars<'_>, args: &[Tensor]) -> Option<Result<Tensor>> {
    (row(scalars.op).run)(args, scalars)
}

/// The expression that [`apply`] evaluates, on tensors called `x0`, `x1` and so on; `None` as there.
pub(crate) fn source(scalars: Scalars<'_>) -> Option<String> {
    (row(scalars.op).text)(scalars)
}

/// How an op is called, for execution and for readers. `None` is as in [`apply`].
struct Row {
    run: fn(&[Tensor], Scalars<'_>) -> Option<Result<Tensor>>,
    text: fn(Scalars<'_>) -> Option<String>,
}

fn row(op: Op) -> Row {
    match op {
        Op::Unary(op) => unary::row(op),
        Op::Binary(op) => binary::row(op),
        Op::Broadcast(op) => binary::broadcast(op),
        Op::Cast(op) => cast::row(op),
        Op::Where(op) => select::row(op),
        Op::Reduce(op, keep) => reduce::row((op, keep)),
        Op::Indexing(op) => indexing::row(op),
        Op::Matmul(op) => matmul::row(op),
        Op::Conv(op) => conv::row(op),
        Op::Pool(op) => pool::row(op),
        Op::Upsample(op) => upsample::row(op),
        Op::Copies(op) => copies::row(op),
        Op::Sort(op) => sort::row(op),
        Op::Nn(op) => nn::row(op),
        Op::Layers(op) => layers::row(op),
        Op::Random(op) => random::row(op),
        Op::Grad(_) => grad::ROW,
        Op::Quantized(op) => quantized::row(op),
        Op::Own(_) => own::ROW,
    }
}

/// The rows of a family: `Op => |tensors; parameters| expression;`.
///
/// The expression is a `Tensor`, or leaves by `?`. It is compiled, and its tokens are the source that readers get: there
/// the tensors are called `x0`, `x1` and so on, and the parameters are their values. So it names types of candle other than
/// `Tensor` and `DType` by their path, and its own variables are called differently from its tensors and parameters.
///
/// `Op => <T: any> |..|` makes `T` the Rust type of the case's dtype; with `wide`, of the float dtypes of 16 bits and more.
/// Functions after the rows are helpers. Readers get those that a row uses. The pattern after `without` matches the
/// values of the family's type that are not ops.
macro_rules! candle {
    (
        fn $name:ident($family:ty) {
            $($op:pat => $(<$T:ident: $dtypes:ident>)? |$($tensor:ident),+ $(; $($param:ident: $type:ty),+)?| $call:expr;)+
        } $(without { $absent:pat })?
        $($(#[$meta:meta])* fn $helper:ident $inputs:tt -> $output:ty $body:block)*
    ) => {
        pub(super) fn $name(op: $family) -> $crate::ops::Row {
            const HELPERS: &[$crate::ops::Helper] = &[$($crate::ops::Helper {
                name: stringify!($helper),
                source: concat!("fn ", stringify!($helper), stringify!($inputs), " -> ", stringify!($output), stringify!($body)),
            }),*];
            match op {
                $($op => $crate::ops::Row {
                    run: |args, scalars| {
                        let [$($tensor),+] = $crate::ops::tensors(args)?;
                        let left = scalars;
                        $($(let ($param, left): ($type, _) = $crate::ops::Param::take(left)?;)+)?
                        left.used_up()?;
                        candle!(@typed $($T: $dtypes = scalars.dtype,)? || Ok($call))
                    },
                    text: |scalars| {
                        let names = $crate::ops::Names::of_tensors(&[$(stringify!($tensor)),+]);
                        let left = scalars;
                        $($(
                            let ($param, left): ($type, _) = $crate::ops::Param::take(left)?;
                            let names = names.with(stringify!($param), $crate::ops::Param::text(&$param));
                        )+)?
                        left.used_up()?;
                        $(let names = names.with(stringify!($T), $crate::source::rust_type(scalars.dtype));)?
                        Some(names.source(stringify!($call), HELPERS))
                    },
                },)+
                $($absent => $crate::ops::Row { run: |_, _| None, text: |_| None },)?
            }
        }
        $($(#[$meta])* fn $helper $inputs -> $output $body)*
    };
    (@typed $run:expr) => {
        Some($crate::ops::attempt($run))
    };
    (@typed $T:ident: any = $dtype:expr, $run:expr) => {
        match $dtype {
            parity_model::DType::U8 => candle!(@with $T = u8, $run),
            parity_model::DType::U32 => candle!(@with $T = u32, $run),
            parity_model::DType::I16 => candle!(@with $T = i16, $run),
            parity_model::DType::I32 => candle!(@with $T = i32, $run),
            parity_model::DType::I64 => candle!(@with $T = i64, $run),
            parity_model::DType::F8E4M3 => candle!(@with $T = float8::F8E4M3, $run),
            parity_model::DType::BF16 => candle!(@with $T = half::bf16, $run),
            parity_model::DType::F16 => candle!(@with $T = half::f16, $run),
            parity_model::DType::F32 => candle!(@with $T = f32, $run),
            parity_model::DType::F64 => candle!(@with $T = f64, $run),
        }
    };
    (@typed $T:ident: wide = $dtype:expr, $run:expr) => {
        match $dtype {
            parity_model::DType::BF16 => candle!(@with $T = half::bf16, $run),
            parity_model::DType::F16 => candle!(@with $T = half::f16, $run),
            parity_model::DType::F32 => candle!(@with $T = f32, $run),
            parity_model::DType::F64 => candle!(@with $T = f64, $run),
            parity_model::DType::U8
            | parity_model::DType::U32
            | parity_model::DType::I16
            | parity_model::DType::I32
            | parity_model::DType::I64
            | parity_model::DType::F8E4M3 => None,
        }
    };
    (@with $T:ident = $type:ty, $run:expr) => {{
        type $T = $type;
        Some($crate::ops::attempt($run))
    }};
}
use candle;

/// A place for the `?` of a row.
fn attempt(call: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    call()
}

/// The tensors of a row; a clone shares the storage.
fn tensors<const N: usize>(args: &[Tensor]) -> Option<[Tensor; N]> {
    let args: &[Tensor; N] = args.try_into().ok()?;
    Some(args.clone())
}

/// A parameter of a row, by its type. The shape rules have seen that counts are whole.
trait Param: Sized {
    /// The parameter, and what is left for those that follow.
    fn take(from: Scalars<'_>) -> Option<(Self, Scalars<'_>)>;

    /// The parameter as a Rust expression.
    fn text(&self) -> String;
}

impl Param for f64 {
    fn take(from: Scalars<'_>) -> Option<(f64, Scalars<'_>)> {
        let (first, params) = from.params.split_first()?;
        Some((*first, Scalars { params, ..from }))
    }

    fn text(&self) -> String {
        number(DType::F64, self.to_bits())
    }
}

/// Parameters of types that numbers are converted to as Rust's `as` does.
macro_rules! converted {
    ($($type:ident),+) => {
        $(impl Param for $type {
            fn take(from: Scalars<'_>) -> Option<($type, Scalars<'_>)> {
                let (first, left) = f64::take(from)?;
                Some((first as $type, left))
            }

            fn text(&self) -> String {
                format!("{self:?}")
            }
        })+
    };
}
converted!(f32, i32, u64, usize);

/// 1 is true.
impl Param for bool {
    fn take(from: Scalars<'_>) -> Option<(bool, Scalars<'_>)> {
        let (first, left) = f64::take(from)?;
        Some((first == 1.0, left))
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// All parameters that are left.
impl Param for Vec<usize> {
    fn take(from: Scalars<'_>) -> Option<(Vec<usize>, Scalars<'_>)> {
        let all = from.params.iter().map(|param| *param as usize).collect();
        Some((all, Scalars { params: &[], ..from }))
    }

    fn text(&self) -> String {
        format!("vec!{self:?}")
    }
}

/// The dtype of the op's result.
impl Param for candle_core::DType {
    fn take(from: Scalars<'_>) -> Option<(candle_core::DType, Scalars<'_>)> {
        Some((candle_dtype(from.op.result_dtype(from.dtype)), from))
    }

    fn text(&self) -> String {
        format!("DType::{self:?}")
    }
}

/// The format of the op's weights.
impl Param for GgmlDType {
    fn take(from: Scalars<'_>) -> Option<(GgmlDType, Scalars<'_>)> {
        Some((candle_format(from.op.block_format()?), from))
    }

    fn text(&self) -> String {
        format!("candle_core::quantized::GgmlDType::{self:?}")
    }
}
#[cfg(test)]
mod tests {
    use candle_core::Device;
    use parity_model::op::{Binary, Unary};

    use super::*;

    /// The op on scalars 3 and 2 (parameters 5, 7), as candle's CPU backend computes it.
    fn on_numbers(op: Op) -> f64 {
        let tensor = |value: f64| Tensor::new(value, &Device::Cpu).unwrap();
        let args = [tensor(3.0), tensor(2.0)];
        let params = [5.0, 7.0];
        let scalars = Scalars {
            op,
            dtype: DType::F64,
            params: &params[..op.params().len()],
        };
        let result = apply(scalars, &args[..op.arity()]).unwrap().unwrap();
        // By way of f32: candle's conversion of f8e4m3 to f64 never ends.
        let result = result.to_dtype(candle_core::DType::F32).unwrap();
        result
            .to_dtype(candle_core::DType::F64)
            .unwrap()
            .to_scalar()
            .unwrap()
    }

    #[test]
    fn every_elementwise_op_takes_the_arguments_the_table_says() {
        let elementwise = |op: &&Op| matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Cast(_));
        for op in Op::ALL.iter().filter(elementwise) {
            assert!(on_numbers(*op).is_finite(), "{op}");
        }
    }

    #[test]
    fn look_alikes_are_not_mixed_up() {
        let want = [
            (Op::from(Unary::Affine), 22.0),
            (Op::from(Unary::Powf), 243.0),
            (Op::from(Binary::Sub), 1.0),
            (Op::from(Binary::Div), 1.5),
            (Op::from(Binary::Maximum), 3.0),
            (Op::from(Binary::Minimum), 2.0),
            (Op::from(Binary::Lt), 0.0),
            (Op::from(Binary::Gt), 1.0),
            (Op::from(Unary::Sqr), 9.0),
            (Op::from(Unary::Neg), -3.0),
        ];
        for (op, value) in want {
            assert_eq!(on_numbers(op), value, "{op}");
        }
    }

    #[test]
    fn a_wrong_number_of_arguments_or_parameters_is_not_run() {
        let x = Tensor::new(3_f64, &Device::Cpu).unwrap();
        for (op, params) in [
            (Op::from(Unary::Exp), &[1.0][..]),
            (Op::from(Unary::Affine), &[1.0]),
            (Op::from(Binary::Add), &[]),
        ] {
            let dtype = DType::F64;
            let scalars = Scalars { op, dtype, params };
            assert!(apply(scalars, std::slice::from_ref(&x)).is_none(), "{op}");
        }
    }
}
