//! Which candle function computes which op. A row here is what "through candle's public API" means.

pub(crate) mod grad;
mod layers;
mod made;
mod random;
mod views;

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{Module as _, Result, Tensor, scalar::Scalar};
use candle_nn::{ops, rotary_emb};
use parity_model::op::{
    Binary, Conv, Copies, Indexing, Keep, Matmul, Nn, Pool, Quantized, Reduce, Sort, Unary, Upsample, Where,
};
use parity_model::{DType, Op};

use crate::tensors::{self, candle_dtype};

/// Applies `op` to its arguments, all on one device; `None` when the op does not take that many arguments or
/// parameters, which is no answer of any backend's.
pub(crate) fn apply(op: Op, params: &[f64], args: &[Tensor]) -> Option<Result<Tensor>> {
    let call = Call { params, args };
    match op {
        Op::Unary(op) => unary(op, &call),
        Op::Binary(op) => binary(op, &call),
        Op::Broadcast(op) => broadcast(op, &call),
        Op::Cast(_) => call.with_params(|x, []| x.to_dtype(candle_dtype(op.result_dtype(DType::F32)))),
        Op::Where(Where::WhereCond) => call.three(|condition, yes, no, []| condition.where_cond(yes, no)),
        Op::Reduce(op, keep) => reduce(op, keep, &call),
        Op::Indexing(op) => indexing(op, &call),
        Op::Matmul(op) => matmul(op, &call),
        Op::Conv(op) => conv(op, &call),
        Op::Pool(op) => pool(op, &call),
        Op::Upsample(op) => upsample(op, &call),
        Op::Copies(op) => copies(op, &call),
        Op::Sort(op) => sort(op, &call),
        Op::Nn(op) => nn(op, &call),
        Op::Layers(op) => layers::layers(op, &call),
        Op::Random(op) => random::random(op, &call),
        Op::Grad(op) => grad::grad(op, &call),
        Op::Quantized(op) => quantized(op, &call),
    }
}

#[rustfmt::skip] // One op per line.
fn unary(op: Unary, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Unary::Exp     => call.unary(Tensor::exp),
        Unary::Log     => call.unary(Tensor::log),
        Unary::Sin     => call.unary(Tensor::sin),
        Unary::Cos     => call.unary(Tensor::cos),
        Unary::Abs     => call.unary(Tensor::abs),
        Unary::Neg     => call.unary(Tensor::neg),
        Unary::Recip   => call.unary(Tensor::recip),
        Unary::Sqr     => call.unary(Tensor::sqr),
        Unary::Sqrt    => call.unary(Tensor::sqrt),
        Unary::Gelu    => call.unary(Tensor::gelu),
        Unary::GeluErf => call.unary(Tensor::gelu_erf),
        Unary::Erf     => call.unary(Tensor::erf),
        Unary::Relu    => call.unary(Tensor::relu),
        Unary::Silu    => call.unary(Tensor::silu),
        Unary::Tanh    => call.unary(Tensor::tanh),
        Unary::Floor   => call.unary(Tensor::floor),
        Unary::Ceil    => call.unary(Tensor::ceil),
        Unary::Round   => call.unary(Tensor::round),
        Unary::Sign    => call.unary(Tensor::sign),
        Unary::Affine  => call.with_params(|x, [mul, add]| x.affine(mul, add)),
        Unary::Powf    => call.with_params(|x, [exponent]| x.powf(exponent)),
        Unary::Elu     => call.with_params(|x, [alpha]| x.elu(alpha)),
        Unary::Clamp   => call.with_params(|x, [min, max]| x.clamp(min, max)),
        Unary::RoundTo => call.with_params(|x, [decimals]| x.round_to(decimals as i32)),
    }
}

#[rustfmt::skip] // One op per line.
fn binary(op: Binary, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Binary::Add     => call.binary(Tensor::add),
        Binary::Sub     => call.binary(Tensor::sub),
        Binary::Mul     => call.binary(Tensor::mul),
        Binary::Div     => call.binary(Tensor::div),
        Binary::Maximum => call.binary(|l, r| l.maximum(r)),
        Binary::Minimum => call.binary(|l, r| l.minimum(r)),
        Binary::Eq      => call.binary(|l, r| l.eq(r)),
        Binary::Ne      => call.binary(|l, r| l.ne(r)),
        Binary::Lt      => call.binary(|l, r| l.lt(r)),
        Binary::Le      => call.binary(|l, r| l.le(r)),
        Binary::Gt      => call.binary(|l, r| l.gt(r)),
        Binary::Ge      => call.binary(|l, r| l.ge(r)),
        Binary::Pow     => call.binary(Tensor::pow),
    }
}

#[rustfmt::skip] // One op per line.
fn broadcast(op: Binary, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Binary::Add     => call.binary(Tensor::broadcast_add),
        Binary::Sub     => call.binary(Tensor::broadcast_sub),
        Binary::Mul     => call.binary(Tensor::broadcast_mul),
        Binary::Div     => call.binary(Tensor::broadcast_div),
        Binary::Maximum => call.binary(Tensor::broadcast_maximum),
        Binary::Minimum => call.binary(Tensor::broadcast_minimum),
        Binary::Eq      => call.binary(Tensor::broadcast_eq),
        Binary::Ne      => call.binary(Tensor::broadcast_ne),
        Binary::Lt      => call.binary(Tensor::broadcast_lt),
        Binary::Le      => call.binary(Tensor::broadcast_le),
        Binary::Gt      => call.binary(Tensor::broadcast_gt),
        Binary::Ge      => call.binary(Tensor::broadcast_ge),
        Binary::Pow     => call.binary(Tensor::broadcast_pow),
    }
}

fn matmul(op: Matmul, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Matmul::Matmul => call.binary(Tensor::matmul),
        Matmul::BroadcastMatmul => call.binary(Tensor::broadcast_matmul),
        Matmul::Mv => call.binary(Tensor::mv),
        Matmul::Dot => call.binary(Tensor::dot),
    }
}

fn reduce(op: Reduce, keep: Keep, call: &Call<'_>) -> Option<Result<Tensor>> {
    let dims = call.counts();
    let x = call.one()?;
    let dim = dims.first().copied();
    Some(match (op, keep) {
        (Reduce::Sum, Keep::Nothing) => x.sum(dims),
        (Reduce::Sum, Keep::One) => x.sum_keepdim(dims),
        (Reduce::Sum, Keep::Scalar) => x.sum_all(),
        (Reduce::Mean, Keep::Nothing) => x.mean(dims),
        (Reduce::Mean, Keep::One) => x.mean_keepdim(dims),
        (Reduce::Mean, Keep::Scalar) => x.mean_all(),
        (Reduce::Min, Keep::Nothing) => x.min(dim?),
        (Reduce::Min, Keep::One) => x.min_keepdim(dim?),
        (Reduce::Min, Keep::Scalar) => x.min_all(),
        (Reduce::Max, Keep::Nothing) => x.max(dim?),
        (Reduce::Max, Keep::One) => x.max_keepdim(dim?),
        (Reduce::Max, Keep::Scalar) => x.max_all(),
        (Reduce::ArgMin, Keep::Nothing) => x.argmin(dim?),
        (Reduce::ArgMin, Keep::One) => x.argmin_keepdim(dim?),
        (Reduce::ArgMax, Keep::Nothing) => x.argmax(dim?),
        (Reduce::ArgMax, Keep::One) => x.argmax_keepdim(dim?),
        (Reduce::Var, Keep::Nothing) => x.var(dim?),
        (Reduce::Var, Keep::One) => x.var_keepdim(dim?),
        (Reduce::LogSumExp, Keep::Nothing) => x.log_sum_exp(dims),
        (Reduce::CumSum, Keep::Nothing) => x.cumsum(dim?),
        (Reduce::Norm, Keep::Scalar) => x.norm(),
        // candle has no such form, and the table neither.
        (Reduce::ArgMin | Reduce::ArgMax | Reduce::Var, Keep::Scalar)
        | (Reduce::LogSumExp | Reduce::CumSum, Keep::One | Keep::Scalar)
        | (Reduce::Norm, Keep::Nothing | Keep::One) => return None,
    })
}

fn indexing(op: Indexing, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Indexing::IndexSelect => call.two(|x, ids, [dim]| x.index_select(ids, dim)),
        Indexing::Gather => call.two(|x, ids, [dim]| x.gather(ids, dim)),
        Indexing::Scatter => call.three(|x, ids, source, [dim]| x.scatter(ids, source, dim)),
        Indexing::ScatterAdd => call.three(|x, ids, source, [dim]| x.scatter_add(ids, source, dim)),
        // What writes in place must not reach the case's own.
        Indexing::ScatterSet => call.three(|x, ids, source, [dim]| {
            let out = x.force_contiguous()?;
            out.scatter_set(ids, source, dim)?;
            Ok(out)
        }),
        Indexing::ScatterAddSet => call.three(|x, ids, source, [dim]| {
            let out = x.force_contiguous()?;
            out.scatter_add_set(ids, source, dim)?;
            Ok(out)
        }),
        Indexing::IndexAdd => call.three(|x, ids, source, [dim]| x.index_add(ids, source, dim)),
    }
}

fn conv(op: Conv, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Conv::Conv1d => call.two(|x, kernel, [padding, stride, dilation, groups]| {
            x.conv1d(kernel, padding, stride, dilation, groups)
        }),
        Conv::ConvTranspose1d => {
            call.two(|x, kernel, [padding, output_padding, stride, dilation, groups]| {
                x.conv_transpose1d(kernel, padding, output_padding, stride, dilation, groups)
            })
        }
        Conv::Conv2d => call.two(|x, kernel, [padding, stride, dilation, groups]| {
            x.conv2d(kernel, padding, stride, dilation, groups)
        }),
        Conv::ConvTranspose2d => call.two(|x, kernel, [padding, output_padding, stride, dilation]| {
            x.conv_transpose2d(kernel, padding, output_padding, stride, dilation)
        }),
    }
}

fn pool(op: Pool, call: &Call<'_>) -> Option<Result<Tensor>> {
    let x = call.one()?;
    let [kh, kw, sh, sw] = call.whole()?;
    Some(match op {
        Pool::AvgPool2d => x.avg_pool2d_with_stride((kh, kw), (sh, sw)),
        Pool::MaxPool2d => x.max_pool2d_with_stride((kh, kw), (sh, sw)),
    })
}

fn upsample(op: Upsample, call: &Call<'_>) -> Option<Result<Tensor>> {
    let x = call.one()?;
    Some(match op {
        Upsample::Nearest1d => {
            let [size] = call.whole()?;
            x.upsample_nearest1d(size)
        }
        Upsample::Nearest2d => {
            let [height, width] = call.whole()?;
            x.upsample_nearest2d(height, width)
        }
        Upsample::Bilinear2d => {
            let [height, width, align_corners] = call.whole()?;
            x.upsample_bilinear2d(height, width, align_corners == 1)
        }
        Upsample::BilinearScale => {
            let [height, width, align_corners] = call.params.try_into().ok()?;
            x.upsample_bilinear2d_with_scale(height, width, align_corners == 1.0)
        }
    })
}

fn copies(op: Copies, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Copies::Copy => call.with_params(|x, []| x.force_contiguous()),
        Copies::Cat => call.two(|l, r, [dim]| Tensor::cat(&[l, r], dim)),
        // `slice_set` writes to a contiguous tensor, and must not reach the case's own.
        Copies::SliceSet => call.two(|x, source, [dim, offset]| {
            let out = x.force_contiguous()?;
            out.slice_set(source, dim, offset)?;
            Ok(out)
        }),
        Copies::Fill => call.with_params(|x, [value, dim, start, len]| {
            let out = x.copy()?;
            let slices = out.narrow(dim as usize, start as usize, len as usize)?;
            slices.const_set(scalar(x.dtype(), value)?)?;
            Ok(out)
        }),
        Copies::PadZeros => {
            let [dim, left, right] = call.whole()?;
            Some(call.one()?.pad_with_zeros(dim, left, right))
        }
        Copies::PadSame => {
            let [dim, left, right] = call.whole()?;
            Some(call.one()?.pad_with_same(dim, left, right))
        }
        Copies::Stack => call.two(|l, r, [dim]| Tensor::stack(&[l, r], dim)),
        Copies::SliceScatter => call.two(|x, source, [dim, start]| x.slice_scatter(source, dim, start)),
        Copies::Repeat => Some(call.one()?.repeat(call.counts())),
        Copies::Flip => Some(call.one()?.flip(&call.counts())),
        Copies::Roll => call.with_params(|x, [shift, dim]| x.roll(shift as i32, dim as usize)),
        Copies::Unfold => {
            let [dim, size, step] = call.whole()?;
            Some(call.one()?.unfold(dim, size, step))
        }
        Copies::Chunk => {
            let [chunks, dim, which] = call.whole()?;
            Some(call.one()?.chunk(chunks, dim).and_then(|parts| {
                let part = parts.into_iter().nth(which);
                part.ok_or_else(|| candle_core::Error::Msg(format!("there is no chunk {which}")))
            }))
        }
        Copies::PixelShuffle => {
            let [factor] = call.whole()?;
            Some(ops::pixel_shuffle(call.one()?, factor))
        }
        Copies::PixelUnshuffle => {
            let [factor] = call.whole()?;
            Some(ops::pixel_unshuffle(call.one()?, factor))
        }
        Copies::ReplicationPad2d => {
            let [pad] = call.whole()?;
            Some(ops::replication_pad2d(call.one()?, pad))
        }
        Copies::Narrow
        | Copies::Index
        | Copies::GetOnDim
        | Copies::Transpose
        | Copies::Permute
        | Copies::Squeeze
        | Copies::Unsqueeze
        | Copies::Flatten
        | Copies::Reshape
        | Copies::BroadcastAs
        | Copies::SliceAssign
        | Copies::KvCache
        | Copies::RotatingKvCache => views::views(op, call),
        Copies::Meshgrid
        | Copies::Full
        | Copies::Zeros
        | Copies::Ones
        | Copies::Eye
        | Copies::Tril
        | Copies::Triu
        | Copies::Arange
        | Copies::OneHot => made::made(op, call),
    }
}

/// `value` in a dtype, as Rust's `as` converts.
fn scalar(dtype: candle_core::DType, value: f64) -> Result<Scalar> {
    Ok(match dtype {
        candle_core::DType::U8 => Scalar::U8(value as u8),
        candle_core::DType::U32 => Scalar::U32(value as u32),
        candle_core::DType::I16 => Scalar::I16(value as i16),
        candle_core::DType::I32 => Scalar::I32(value as i32),
        candle_core::DType::I64 => Scalar::I64(value as i64),
        candle_core::DType::BF16 => Scalar::BF16(half::bf16::from_f64(value)),
        candle_core::DType::F16 => Scalar::F16(half::f16::from_f64(value)),
        candle_core::DType::F32 => Scalar::F32(value as f32),
        candle_core::DType::F64 => Scalar::F64(value),
        candle_core::DType::F8E4M3 => Scalar::F8E4M3(float8::F8E4M3::from_f64(value)),
        other => candle_core::bail!("no scalar of the storage-only dtype {other:?}"),
    })
}

fn sort(op: Sort, call: &Call<'_>) -> Option<Result<Tensor>> {
    let sorted = |ascending: bool| call.with_params(|x, []| Ok(x.sort_last_dim(ascending)?.0));
    let order = |ascending: bool| call.with_params(|x, []| x.arg_sort_last_dim(ascending));
    match op {
        Sort::ArgSortAsc => order(true),
        Sort::ArgSortDesc => order(false),
        Sort::SortAsc => sorted(true),
        Sort::SortDesc => sorted(false),
    }
}

fn nn(op: Nn, call: &Call<'_>) -> Option<Result<Tensor>> {
    match op {
        Nn::Sigmoid => call.unary(ops::sigmoid),
        Nn::HardSigmoid => call.unary(ops::hard_sigmoid),
        Nn::LeakyRelu => call.with_params(|x, [slope]| ops::leaky_relu(x, slope)),
        Nn::Mish => call.unary(ops::mish),
        Nn::Selu => call.with_params(|x, [alpha, gamma]| ops::selu(x, alpha as f32, gamma as f32)),
        Nn::Swiglu => call.unary(ops::swiglu),
        Nn::SoftmaxLastDim => call.unary(ops::softmax_last_dim),
        Nn::Softmax => call.with_params(|x, [dim]| ops::softmax(x, dim as usize)),
        Nn::LogSoftmax => call.with_params(|x, [dim]| ops::log_softmax(x, dim as usize)),
        Nn::RmsNorm => match (call.args, call.params) {
            ([x, alpha], [eps]) => Some(ops::rms_norm(x, alpha, *eps as f32)),
            _ => None,
        },
        Nn::LayerNorm => match (call.args, call.params) {
            ([x, alpha, beta], [eps]) => Some(ops::layer_norm(x, alpha, beta, *eps as f32)),
            _ => None,
        },
        Nn::Rope => call.three(|x, cos, sin, []| rotary_emb::rope(x, cos, sin)),
        Nn::RopeI => call.three(|x, cos, sin, []| rotary_emb::rope_i(x, cos, sin)),
        Nn::RopeThd => call.three(|x, cos, sin, []| rotary_emb::rope_thd(x, cos, sin)),
    }
}

fn quantized(op: Quantized, call: &Call<'_>) -> Option<Result<Tensor>> {
    let weights = |blocks: &Tensor| tensors::weights(blocks, op.format());
    match op {
        Quantized::Dequantize(_) => call.with_params(|x, []| weights(x)?.dequantize(x.device())),
        Quantized::DequantizeF16(_) => call.with_params(|x, []| weights(x)?.dequantize_f16(x.device())),
        Quantized::Qmatmul(_) => {
            call.two(|x, blocks, []| QMatMul::from_qtensor(weights(blocks)?)?.forward(x))
        }
        Quantized::Embedding(_) => call.two(|blocks, ids, []| weights(blocks)?.embedding(ids)),
        // The shape of the weights stands in that of their bytes, experts and all.
        Quantized::IndexedMoe(_) => call
            .three(|x, blocks, ids, []| QMatMul::from_qtensor(weights(blocks)?)?.indexed_moe_forward(x, ids)),
        Quantized::Quantize(format) => call.with_params(|x, []| {
            QTensor::quantize(x, tensors::candle_format(format))?.dequantize(x.device())
        }),
    }
}

struct Call<'a> {
    params: &'a [f64],
    args: &'a [Tensor],
}

impl Call<'_> {
    fn one(&self) -> Option<&Tensor> {
        match self.args {
            [x] => Some(x),
            _ => None,
        }
    }

    /// The parameters as counts. The shape rules have seen that they are whole.
    fn whole<const N: usize>(&self) -> Option<[usize; N]> {
        let params: [f64; N] = self.params.try_into().ok()?;
        Some(params.map(|param| param as usize))
    }

    /// All parameters as counts.
    fn counts(&self) -> Vec<usize> {
        self.params.iter().map(|param| *param as usize).collect()
    }

    fn unary(&self, method: fn(&Tensor) -> Result<Tensor>) -> Option<Result<Tensor>> {
        self.with_params(|x, []| method(x))
    }

    fn with_params<const N: usize>(
        &self,
        method: impl Fn(&Tensor, [f64; N]) -> Result<Tensor>,
    ) -> Option<Result<Tensor>> {
        Some(method(self.one()?, self.params.try_into().ok()?))
    }

    fn binary(&self, method: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Option<Result<Tensor>> {
        self.two(|l, r, []| method(l, r))
    }

    fn two<const N: usize>(
        &self,
        method: impl Fn(&Tensor, &Tensor, [usize; N]) -> Result<Tensor>,
    ) -> Option<Result<Tensor>> {
        match self.args {
            [l, r] => Some(method(l, r, self.whole()?)),
            _ => None,
        }
    }

    fn three<const N: usize>(
        &self,
        method: impl Fn(&Tensor, &Tensor, &Tensor, [usize; N]) -> Result<Tensor>,
    ) -> Option<Result<Tensor>> {
        match self.args {
            [a, b, c] => Some(method(a, b, c, self.whole()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    /// The op on scalars 3 and 2 (parameters 5, 7), as candle's CPU backend computes it.
    fn on_numbers(op: Op) -> f64 {
        let tensor = |value: f64| Tensor::new(value, &Device::Cpu).unwrap();
        let args = [tensor(3.0), tensor(2.0)];
        let params = [5.0, 7.0];
        let result = apply(op, &params[..op.params().len()], &args[..op.arity()])
            .unwrap()
            .unwrap();
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
        assert!(apply(Op::from(Unary::Exp), &[1.0], std::slice::from_ref(&x)).is_none());
        assert!(apply(Op::from(Unary::Affine), &[1.0], std::slice::from_ref(&x)).is_none());
        assert!(apply(Op::from(Binary::Add), &[], std::slice::from_ref(&x)).is_none());
    }
}
