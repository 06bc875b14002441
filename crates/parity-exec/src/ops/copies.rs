//! The calls of the ops that move, repeat or set elements: views, copies, candle-nn's caches, and tensors that are made
//! of numbers.

use candle_core::Tensor;
use parity_model::op::Copies;

use super::candle;

candle! {
    fn row(Copies) {
        Copies::Copy => |x| x.force_contiguous()?;
        // Each row is written by itself: what is looked at is how they are read.
        Copies::CopyApart => |x; apart: usize| {
            let (rows, columns) = x.dims2()?;
            let all = Tensor::zeros(rows * apart, x.dtype(), x.device())?;
            for row in 0..rows {
                all.slice_set(&x.get(row)?.force_contiguous()?, 0, row * apart)?;
            }
            all.reshape((rows, apart))?.narrow(1, 0, columns)?.force_contiguous()?
        };
        Copies::Cat => |a, b; dim: usize| Tensor::cat(&[&a, &b], dim)?;
        // `slice_set` writes in place, and to contiguous tensors alone.
        Copies::SliceSet => |x, source; dim: usize, offset: usize| {
            let out = x.force_contiguous()?;
            out.slice_set(&source, dim, offset)?;
            out
        };
        Copies::Fill => <T: any> |x; value: f64, dim: usize, start: usize, len: usize| {
            let out = x.copy()?;
            let slices = out.narrow(dim, start, len)?;
            slices.const_set(<T as candle_core::WithDType>::from_f64(value).into())?;
            out
        };
        Copies::PadZeros => |x; dim: usize, left: usize, right: usize| x.pad_with_zeros(dim, left, right)?;
        Copies::PadSame => |x; dim: usize, left: usize, right: usize| x.pad_with_same(dim, left, right)?;
        Copies::Stack => |a, b; dim: usize| Tensor::stack(&[&a, &b], dim)?;
        Copies::SliceScatter => |x, source; dim: usize, start: usize| x.slice_scatter(&source, dim, start)?;
        Copies::Repeat => |x; times: Vec<usize>| x.repeat(times)?;
        Copies::Flip => |x; dims: Vec<usize>| x.flip(&dims)?;
        Copies::Roll => |x; shift: i32, dim: usize| x.roll(shift, dim)?;
        Copies::Unfold => |x; dim: usize, size: usize, step: usize| x.unfold(dim, size, step)?;
        Copies::Chunk => |x; chunks: usize, dim: usize, which: usize| x.chunk(chunks, dim)?[which].clone();
        Copies::PixelShuffle => |x; factor: usize| candle_nn::ops::pixel_shuffle(&x, factor)?;
        Copies::PixelUnshuffle => |x; factor: usize| candle_nn::ops::pixel_unshuffle(&x, factor)?;
        Copies::ReplicationPad2d => |x; pad: usize| candle_nn::ops::replication_pad2d(&x, pad)?;
        Copies::Narrow => |x; dim: usize, start: usize, len: usize| x.narrow(dim, start, len)?;
        // The shape rule knows three dimensions: a range for each has a type of its own.
        Copies::Index => |x; dim: usize, start: usize, end: usize| if dim == 0 {
            candle_core::IndexOp::i(&x, start..end)?
        } else if dim == 1 {
            candle_core::IndexOp::i(&x, (.., start..end))?
        } else {
            candle_core::IndexOp::i(&x, (.., .., start..end))?
        };
        Copies::GetOnDim => |x; dim: usize, index: usize| x.get_on_dim(dim, index)?;
        Copies::Transpose => |x; a: usize, b: usize| x.transpose(a, b)?;
        Copies::Permute => |x; dims: Vec<usize>| x.permute(dims)?;
        Copies::Squeeze => |x; dim: usize| x.squeeze(dim)?;
        Copies::Unsqueeze => |x; dim: usize| x.unsqueeze(dim)?;
        Copies::Flatten => |x; first: usize, last: usize| x.flatten(first, last)?;
        Copies::Reshape => |x; shape: Vec<usize>| x.reshape(shape)?;
        Copies::BroadcastAs => |x; shape: Vec<usize>| x.broadcast_as(shape)?;
        Copies::SliceAssign => |x, source; starts: Vec<usize>| {
            let ranges = starts.into_iter().zip(source.dims()).map(|(start, len)| start..start + len);
            x.slice_assign(&ranges.collect::<Vec<_>>(), &source)?
        };
        Copies::KvCache => |x, new; dim: usize, size: usize| {
            let mut cache = candle_nn::kv_cache::KvCache::new(dim, size);
            cache.append(&x, &x)?;
            cache.append(&new, &new)?.0
        };
        Copies::RotatingKvCache => |x, new; dim: usize, size: usize| {
            let mut cache = candle_nn::kv_cache::RotatingKvCache::new(dim, size);
            cache.append(&x, &x)?;
            cache.append(&new, &new)?.0
        };
        Copies::Meshgrid => |a, b; xy: bool, which: usize| Tensor::meshgrid(&[&a, &b], xy)?[which].clone();
        Copies::Full => <T: any> |x; value: f64|
            Tensor::full(<T as candle_core::WithDType>::from_f64(value), x.shape(), x.device())?;
        Copies::Zeros => |x| Tensor::zeros(x.shape(), x.dtype(), x.device())?;
        Copies::Ones => |x| Tensor::ones(x.shape(), x.dtype(), x.device())?;
        Copies::Eye => |x| Tensor::eye(x.dim(0)?, x.dtype(), x.device())?;
        Copies::Tril => |x| Tensor::tril2(x.dim(0)?, x.dtype(), x.device())?;
        Copies::Triu => |x| Tensor::triu2(x.dim(0)?, x.dtype(), x.device())?;
        Copies::Arange => <T: any> |x; start: f64, end: f64, step: f64| {
            let range = [start, end, step].map(<T as candle_core::WithDType>::from_f64);
            Tensor::arange_step(range[0], range[1], range[2], x.device())?
        };
        Copies::OneHot => <T: any> |x, ids; depth: usize| {
            let numbers = x.to_vec1::<T>()?;
            candle_nn::encoding::one_hot(ids.clone(), depth, numbers[1], numbers[0])?
        };
    }
}
