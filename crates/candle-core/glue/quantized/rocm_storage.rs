//! [`QRocmStorage`]: a tensor of ggml's block formats on a ROCm device. Products, rows and floats come from the backend's
//! kernels; quantizing is the CPU's, as it is for Cuda, so that the blocks are the same everywhere.
//!
//! Products round the activations to blocks of q8_1, as CUDA's do, where the CPU rounds those for the K formats to blocks of
//! q8_K. With the environment variable `ROCM_ACTIVATIONS=cpu` those of one matrix are rounded as on the CPU, by the CPU, and
//! each row is multiplied by itself: slower, for comparing numbers between the two. Experts, which the CPU has not, are not.

use rocm_backend::environment::{ACTIVATIONS, Activations};
use rocm_backend::{DType, DynBuffer, GgmlType as Format, ViewMut, ops};

use super::{GgmlDType, QStorage};
use crate::rocm::watch::{self, OpKind, Pass, WatchedOp};
use crate::{CpuStorage, Layout, Result, RocmDevice, RocmStorage, Shape, backend::BackendStorage as _};

/// Blocks of one format on a ROCm device.
pub struct QRocmStorage {
    /// Bytes, as a file has them.
    blocks: DynBuffer,
    dtype: GgmlDType,
    device: RocmDevice,
}

/// The format that candle's CPU rounds activations to before it multiplies them with weights of `dtype`.
fn rounded_on_cpu(dtype: GgmlDType) -> GgmlDType {
    use GgmlDType::{BF16, F16, F32, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0, Q8_1, Q8K};
    match dtype {
        F32 | F16 | BF16 => dtype,
        Q4_0 | Q5_0 | Q8_0 => Q8_0,
        Q4_1 | Q5_1 | Q8_1 => Q8_1,
        Q2K | Q3K | Q4K | Q5K | Q6K | Q8K => Q8K,
    }
}

/// The backend's name for a format.
fn format(dtype: GgmlDType) -> Format {
    macro_rules! formats {
        ($($name:ident)*) => {
            match dtype { $(GgmlDType::$name => Format::$name,)* }
        };
    }
    formats! { F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q8_1 Q2K Q3K Q4K Q5K Q6K Q8K }
}

impl QRocmStorage {
    /// Room for `elem_count` weights: blocks of zeros.
    pub fn zeros(device: &RocmDevice, elem_count: usize, dtype: GgmlDType) -> Result<Self> {
        let bytes = elem_count.div_ceil(dtype.block_size()) * dtype.type_size();
        Ok(QRocmStorage {
            blocks: DynBuffer::zeros(device.backend(), DType::U8, bytes)?,
            dtype,
            device: device.clone(),
        })
    }

    /// The block format.
    pub fn dtype(&self) -> GgmlDType {
        self.dtype
    }

    /// Where it is.
    pub fn device(&self) -> &RocmDevice {
        &self.device
    }

    /// Bytes it takes.
    pub fn storage_size_in_bytes(&self) -> usize {
        self.blocks.len()
    }

    /// The blocks' bytes, on the host.
    pub fn data(&self) -> Result<Vec<u8>> {
        Ok(self.blocks.download_bytes()?)
    }

    /// The weights as f32.
    pub fn dequantize(&self, elem_count: usize) -> Result<RocmStorage> {
        self.floats(elem_count, DType::F32)
    }

    /// The weights as f16: the same numbers as of [`dequantize`](Self::dequantize), rounded once more.
    pub fn dequantize_f16(&self, elem_count: usize) -> Result<RocmStorage> {
        self.floats(elem_count, DType::F16)
    }

    fn floats(&self, elem_count: usize, to: DType) -> Result<RocmStorage> {
        Ok(self.storage(ops::dequantize(format(self.dtype), &self.blocks, elem_count, to)?))
    }

    fn storage(&self, buffer: DynBuffer) -> RocmStorage {
        RocmStorage::new(buffer, self.device.clone())
    }

    /// Replaces the blocks with what `quantize` makes of as many floats of `src` as there is room for.
    ///
    /// candle passes the whole storage of a view, and not where the view begins. The CPU's block formats read the floats they
    /// have room for, its float formats panic: so those are refused here.
    fn set(
        &mut self,
        src: &CpuStorage,
        quantize: impl FnOnce(&mut dyn super::QuantizedType, &[f32]),
    ) -> Result<()> {
        let floats = src.as_slice()?;
        let room = self.blocks.len() / self.dtype.type_size() * self.dtype.block_size();
        let copies = self.dtype.block_size() == 1 && room != 0;
        let Some(read) = floats.get(..room).filter(|_| !copies || floats.len() == room) else {
            crate::bail!(
                "{:?} blocks for {room} floats cannot be made of a view into {}: candle does not pass where it begins; \
                 quantize a copy of the view",
                self.dtype,
                floats.len()
            )
        };
        let mut blocks = self.dtype.cpu_zeros(room);
        quantize(&mut *blocks, read);
        let blocks = QStorage::Cpu(blocks).data()?.into_owned();
        self.blocks = self.device.backend().upload(&blocks)?.untyped();
        Ok(())
    }

    /// Replaces the blocks with those of `src`, which is f32 on the device.
    pub fn quantize(&mut self, src: &RocmStorage) -> Result<()> {
        self.quantize_onto(&src.to_cpu_storage()?)
    }

    /// As [`quantize`](Self::quantize), with weights that say how much each of a row's elements matters.
    pub fn quantize_imatrix(
        &mut self,
        src: &RocmStorage,
        imatrix_weights: &[f32],
        n_per_row: usize,
    ) -> Result<()> {
        self.quantize_imatrix_onto(&src.to_cpu_storage()?, imatrix_weights, n_per_row)
    }

    /// As [`quantize_imatrix`](Self::quantize_imatrix), from the host.
    pub fn quantize_imatrix_onto(
        &mut self,
        src: &CpuStorage,
        imatrix_weights: &[f32],
        n_per_row: usize,
    ) -> Result<()> {
        self.set(src, |blocks, floats| {
            blocks.from_float_imatrix(floats, imatrix_weights, n_per_row);
        })
    }

    /// As [`quantize`](Self::quantize), from the host.
    pub fn quantize_onto(&mut self, src: &CpuStorage) -> Result<()> {
        self.set(src, |blocks, floats| blocks.from_float(floats))
    }

    /// The rows `ids` (u32) of the `rows` rows of `hidden` weights, as f32.
    pub fn embedding(
        &self,
        rows: usize,
        hidden: usize,
        ids: &RocmStorage,
        ids_l: &Layout,
    ) -> Result<RocmStorage> {
        let expected = rows * hidden / self.dtype.block_size() * self.dtype.type_size();
        if self.storage_size_in_bytes() != expected {
            crate::bail!(
                "quantized tensor has {} bytes, expected {expected}",
                self.storage_size_in_bytes()
            )
        }
        let ids = ids.view(ids_l);
        Ok(self.storage(ops::get_rows(
            format(self.dtype),
            &self.blocks,
            (rows, hidden),
            ids,
        )?))
    }

    /// `storage` times the transposed weights, in the dtype of `storage`: f32, f16 or bf16.
    pub fn fwd(
        &self,
        self_shape: &Shape,
        storage: &RocmStorage,
        layout: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        if layout.dims().len() < 2 {
            crate::bail!("input tensor has only one dimension {layout:?}")
        }
        // The weights are transposed: n comes first.
        let (n, k) = self_shape.dims2()?;
        let activations = ACTIVATIONS.get().map_err(rocm_backend::Error::from)?;
        let sizes = [n as f64, k as f64];
        let out = watch::op(
            WatchedOp::from(("qmatmul", &sizes)).of(format(self.dtype).name()),
            OpKind::Sum,
            &[(storage, layout)],
            || match activations {
                Activations::Cpu => self.product_as_cpu((n, k), storage, layout),
                Activations::Cuda => {
                    let x = storage.view(layout);
                    Ok(self.storage(ops::qmatmul(format(self.dtype), &self.blocks, (n, k), x)?))
                }
            },
            |x, pass| self.product_on_host((n, k), &x[0], layout, pass),
        )?;
        let mut dims = layout.dims().to_vec();
        dims.pop();
        dims.push(n);
        Ok((out, Shape::from(dims)))
    }

    /// The product as the CPU computes it with these blocks, or in f64 with the numbers that they stand for.
    fn product_on_host(
        &self,
        (n, k): (usize, usize),
        x: &CpuStorage,
        layout: &Layout,
        pass: Pass,
    ) -> Result<CpuStorage> {
        let rows = layout.shape().elem_count() / k.max(1);
        let Some((from, to)) = layout.contiguous_offsets() else {
            crate::bail!("input tensor is not contiguous {layout:?}")
        };
        let QStorage::Cpu(blocks) =
            QStorage::from_data(self.data()?.into(), &crate::Device::Cpu, self.dtype)?
        else {
            crate::bail!("blocks of the host are elsewhere")
        };
        match x {
            CpuStorage::F32(x) if pass == Pass::Narrow => {
                let mut out = vec![0f32; rows * n];
                blocks.matmul_t((rows, k, n), &x[from..to], &mut out)?;
                Ok(CpuStorage::F32(out))
            }
            CpuStorage::F64(_) => {
                let CpuStorage::F32(weights) = blocks.dequantize(n * k)? else {
                    crate::bail!("blocks stand for f32")
                };
                let number = |weight: &f32| match pass {
                    Pass::Magnitude => f64::from(weight.abs()),
                    Pass::Narrow | Pass::Wide | Pass::Program => f64::from(*weight),
                };
                let weights = CpuStorage::F64(weights.iter().map(number).collect());
                let own = Layout::new(Shape::from((rows, k)), vec![k, 1], from);
                let transposed = Layout::new(Shape::from((k, n)), vec![1, k], 0);
                x.matmul(&weights, (1, rows, n, k), &own, &transposed)
            }
            other => crate::bail!("the CPU has no product of blocks with {:?}", other.dtype()),
        }
    }

    /// The product with activations that the CPU has rounded as for its own: each row by itself, so that none depends on how
    /// many there are.
    fn product_as_cpu(
        &self,
        (n, k): (usize, usize),
        x: &RocmStorage,
        layout: &Layout,
    ) -> Result<RocmStorage> {
        if layout.dims().last() != Some(&k) {
            crate::bail!("activations of {:?} for weights with rows of {k}", layout.dims());
        }
        let host = x.to_dtype(layout, crate::DType::F32)?.to_cpu_storage()?;
        let floats: &[f32] = host.as_slice()?;
        let mut blocks = rounded_on_cpu(self.dtype).cpu_zeros(floats.len());
        blocks.from_float(floats);
        let rounded = x.upload_beside(&blocks.dequantize(floats.len())?)?;
        let weights = self.dequantize(n * k)?;
        let rows = layout.shape().elem_count() / k.max(1);
        let transposed = Layout::new(Shape::from((k, n)), vec![1, k], 0);
        let mut out = DynBuffer::zeros(self.device.backend(), DType::F32, rows * n)?;
        for row in 0..rows {
            let own = Layout::new(Shape::from((1, k)), vec![k, 1], row * k);
            let product = ops::matmul(rounded.view(&own), weights.view(&transposed))?;
            ops::copy(product.view(), ViewMut::contiguous(&mut out, &[n]).at(row * n))?;
        }
        self.storage(out)
            .to_dtype(&Layout::contiguous(rows * n), x.dtype())
    }

    /// For each of the `[tokens, topk]` ids the product of that expert's weights with the token's activations, of shape
    /// `[tokens, 1 or topk, k]`; the result is `[tokens, topk, n]`.
    pub fn indexed_moe_forward(
        &self,
        self_shape: &Shape,
        input: &RocmStorage,
        input_l: &Layout,
        ids: &RocmStorage,
        ids_l: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        let (experts, n, k) = self_shape.dims3()?;
        let (tokens, topk) = ids_l.shape().dims2()?;
        let out = ops::indexed_moe(
            format(self.dtype),
            &self.blocks,
            (experts, n, k),
            input.view(input_l),
            ids.view(ids_l),
        )?;
        Ok((self.storage(out), Shape::from((tokens, topk, n))))
    }
}

impl super::QTensor {
    /// Format and blocks of a tensor on a ROCm device.
    pub(crate) fn rocm_blocks(&self) -> Option<(Format, &DynBuffer)> {
        match &self.storage {
            QStorage::Rocm(storage) => Some((format(storage.dtype), &storage.blocks)),
            _ => None,
        }
    }
}

/// Brings quantized blocks to the device.
pub fn load_quantized<T: super::GgmlType + Send + Sync + 'static>(
    device: &RocmDevice,
    data: &[T],
) -> Result<QStorage> {
    // A host tensor knows its bytes; a slice of blocks does not, without `unsafe`.
    let host = QStorage::Cpu(Box::new(data.to_vec()));
    Ok(QStorage::Rocm(QRocmStorage {
        blocks: device.backend().upload(&host.data()?)?.untyped(),
        dtype: T::DTYPE,
        device: device.clone(),
    }))
}
