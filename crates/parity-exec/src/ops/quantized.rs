//! The calls of the ops on weights in ggml's block formats.

use candle_core::Tensor;
use candle_core::quantized::GgmlDType;
use parity_model::op::Quantized;

use super::candle;

candle! {
    fn row(Quantized) {
        Quantized::Dequantize(_) => |blocks; format: GgmlDType|
            weights(&blocks, format)?.dequantize(blocks.device())?;
        Quantized::DequantizeF16(_) => |blocks; format: GgmlDType|
            weights(&blocks, format)?.dequantize_f16(blocks.device())?;
        Quantized::Qmatmul(_) => |x, blocks; format: GgmlDType| {
            let weights = candle_core::quantized::QMatMul::from_qtensor(weights(&blocks, format)?)?;
            candle_core::Module::forward(&weights, &x)?
        };
        Quantized::Embedding(_) => |blocks, ids; format: GgmlDType| weights(&blocks, format)?.embedding(&ids)?;
        Quantized::IndexedMoe(_) => |x, blocks, ids; format: GgmlDType| {
            let experts = candle_core::quantized::QMatMul::from_qtensor(weights(&blocks, format)?)?;
            experts.indexed_moe_forward(&x, &ids)?
        };
        Quantized::Quantize(_) => |x; format: GgmlDType|
            candle_core::quantized::QTensor::quantize(&x, format)?.dequantize(x.device())?;
    }

    /// Blocks, one byte an element, as candle's tensor of weights on the same device.
    fn weights(blocks: &Tensor, format: candle_core::quantized::GgmlDType) -> candle_core::Result<candle_core::quantized::QTensor>
    {
        use candle_core::quantized::{QStorage, QTensor};
        let mut shape = blocks.dims().to_vec();
        if let Some(last) = shape.last_mut() {
            *last = *last / format.type_size() * format.block_size();
        }
        let bytes: Vec<u8> = blocks.flatten_all()?.to_vec1()?;
        QTensor::new(QStorage::from_data(bytes.into(), blocks.device(), format)?, shape)
    }
}

/// A call that can be made again and again, on tensors that it holds.
pub(crate) type PreparedCall = Box<dyn Fn() -> candle_core::Result<Tensor>>;

/// A case's call on weights that are on the device already, as programs that load a model once have them; `None` for an op that
/// takes no blocks, or other tensors. The rows above make the weights anew at each call.
pub(crate) fn prepared(
    op: Quantized,
    blocks: candle_core::Result<std::sync::Arc<candle_core::quantized::QTensor>>,
    others: &[Tensor],
) -> candle_core::Result<Option<PreparedCall>> {
    use candle_core::quantized::QMatMul;
    let blocks = blocks?;
    let device = blocks.device();
    let call: PreparedCall = match op {
        Quantized::Dequantize(_) => Box::new(move || blocks.dequantize(&device)),
        Quantized::DequantizeF16(_) => Box::new(move || blocks.dequantize_f16(&device)),
        Quantized::Qmatmul(_) => {
            let [x] = others else { return Ok(None) };
            let (weights, x) = (QMatMul::from_arc(blocks)?, x.clone());
            Box::new(move || candle_core::Module::forward(&weights, &x))
        }
        Quantized::Embedding(_) => {
            let [ids] = others else { return Ok(None) };
            let ids = ids.clone();
            Box::new(move || blocks.embedding(&ids))
        }
        Quantized::IndexedMoe(_) => {
            let [x, ids] = others else { return Ok(None) };
            let (experts, x, ids) = (QMatMul::from_arc(blocks)?, x.clone(), ids.clone());
            Box::new(move || experts.indexed_moe_forward(&x, &ids))
        }
        Quantized::Quantize(_) => return Ok(None),
    };
    Ok(Some(call))
}

#[cfg(test)]
mod tests {
    use candle_core::Device;
    use parity_model::op::formats::BlockFormat;

    use super::*;
    use crate::tensors::candle_format;

    #[test]
    fn weights_are_the_blocks_as_candle_reads_them() {
        for &format in BlockFormat::ALL {
            let shape = vec![2, 3 * format.block_bytes()];
            let bytes = Tensor::zeros(shape.clone(), candle_core::DType::U8, &Device::Cpu).unwrap();
            let weights = weights(&bytes, candle_format(format)).unwrap();
            assert_eq!(weights.shape().dims(), [2, 3 * format.block_len()], "{format}");
            assert_eq!(
                weights.storage_size_in_bytes(),
                shape.iter().product::<usize>(),
                "{format}"
            );
            assert_eq!(weights.dtype().block_size(), format.block_len());
            assert_eq!(weights.dtype().type_size(), format.block_bytes());
        }
    }
}
