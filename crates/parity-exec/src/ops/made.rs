//! Tensors that are made, of numbers or of lists. The first argument lends its dtype and device.

use candle_core::{DType, Result, Tensor, WithDType};
use candle_nn::encoding::one_hot;
use parity_model::op::Copies;

use super::Call;

/// `$made::<T>($args)` for the Rust type of a dtype.
macro_rules! typed {
    ($dtype:expr, $made:ident($($arg:expr),*)) => {
        match $dtype {
            DType::U8 => $made::<u8>($($arg),*),
            DType::U32 => $made::<u32>($($arg),*),
            DType::I16 => $made::<i16>($($arg),*),
            DType::I32 => $made::<i32>($($arg),*),
            DType::I64 => $made::<i64>($($arg),*),
            DType::BF16 => $made::<half::bf16>($($arg),*),
            DType::F16 => $made::<half::f16>($($arg),*),
            DType::F32 => $made::<f32>($($arg),*),
            DType::F64 => $made::<f64>($($arg),*),
            DType::F8E4M3 => $made::<float8::F8E4M3>($($arg),*),
            other => candle_core::bail!("no numbers of the storage-only dtype {other:?}"),
        }
    };
}

pub(super) fn made(op: Copies, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Copies::Full => call.with_params(|x, [value]| typed!(x.dtype(), full(x, value))),
        Copies::Zeros => call.with_params(|x, []| Tensor::zeros(x.shape(), x.dtype(), x.device())),
        Copies::Ones => call.with_params(|x, []| Tensor::ones(x.shape(), x.dtype(), x.device())),
        Copies::Eye => call.with_params(|x, []| Tensor::eye(x.dim(0)?, x.dtype(), x.device())),
        Copies::Tril => call.with_params(|x, []| Tensor::tril2(x.dim(0)?, x.dtype(), x.device())),
        Copies::Triu => call.with_params(|x, []| Tensor::triu2(x.dim(0)?, x.dtype(), x.device())),
        Copies::Arange => call.with_params(|x, range: [f64; 3]| typed!(x.dtype(), arange(x, range))),
        Copies::Meshgrid => call.two(|a, b, [xy, which]| {
            let grid = Tensor::meshgrid(&[a, b], xy == 1)?.into_iter().nth(which);
            grid.ok_or_else(|| candle_core::Error::Msg(format!("there is no grid {which}")))
        }),
        Copies::OneHot => call.two(|numbers, ids, [depth]| typed!(numbers.dtype(), hot(numbers, ids, depth))),
        _ => None,
    }
}

/// `value` as Rust's `as` converts it. Of f8e4m3, `WithDType` goes by way of f32, as every conversion here does.
fn full<T: WithDType>(like: &Tensor, value: f64) -> Result<Tensor> {
    Tensor::full(T::from_f64(value), like.shape(), like.device())
}

fn arange<T: WithDType>(like: &Tensor, range: [f64; 3]) -> Result<Tensor> {
    let [start, end, step] = range.map(T::from_f64);
    Tensor::arange_step(start, end, step, like.device())
}

fn hot<T: WithDType>(numbers: &Tensor, ids: &Tensor, depth: usize) -> Result<Tensor> {
    let numbers = numbers.to_vec1::<T>()?;
    one_hot(ids.clone(), depth, numbers[1], numbers[0])
}
