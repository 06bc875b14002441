//! Host tensors to candle tensors and back, without help from the ops under test.
//!
//! A view is built from candle's view ops, and its strides are then compared with those the plan promises: a case that
//! says `transposed` and computes on a contiguous copy proves nothing. A result is read back by copying its whole
//! storage to the host and walking its layout here, so that a backend's strided copy cannot straighten, or spoil, what
//! an op returned.

use candle_core::quantized::GgmlDType;
use candle_core::{CpuStorage, Device, Layout, Storage, Tensor};
use parity_model::op::formats::BlockFormat;
use parity_model::{DType, HostTensor, ViewPlan, ViewStep};

/// candle's name for an element type.
pub(crate) fn candle_dtype(dtype: DType) -> candle_core::DType {
    match dtype {
        DType::U8 => candle_core::DType::U8,
        DType::U32 => candle_core::DType::U32,
        DType::I16 => candle_core::DType::I16,
        DType::I32 => candle_core::DType::I32,
        DType::I64 => candle_core::DType::I64,
        DType::F8E4M3 => candle_core::DType::F8E4M3,
        DType::BF16 => candle_core::DType::BF16,
        DType::F16 => candle_core::DType::F16,
        DType::F32 => candle_core::DType::F32,
        DType::F64 => candle_core::DType::F64,
    }
}

/// Copies a host tensor to a device.
pub(crate) fn upload(host: &HostTensor, device: &Device) -> candle_core::Result<Tensor> {
    Tensor::from_raw_buffer(&host.bytes, candle_dtype(host.dtype), &host.shape, device)
}

/// candle's name for a format of ggml's.
pub(crate) fn candle_format(format: BlockFormat) -> GgmlDType {
    match format {
        BlockFormat::F32 => GgmlDType::F32,
        BlockFormat::F16 => GgmlDType::F16,
        BlockFormat::BF16 => GgmlDType::BF16,
        BlockFormat::Q4_0 => GgmlDType::Q4_0,
        BlockFormat::Q4_1 => GgmlDType::Q4_1,
        BlockFormat::Q5_0 => GgmlDType::Q5_0,
        BlockFormat::Q5_1 => GgmlDType::Q5_1,
        BlockFormat::Q8_0 => GgmlDType::Q8_0,
        BlockFormat::Q8_1 => GgmlDType::Q8_1,
        BlockFormat::Q2K => GgmlDType::Q2K,
        BlockFormat::Q3K => GgmlDType::Q3K,
        BlockFormat::Q4K => GgmlDType::Q4K,
        BlockFormat::Q5K => GgmlDType::Q5K,
        BlockFormat::Q6K => GgmlDType::Q6K,
        BlockFormat::Q8K => GgmlDType::Q8K,
    }
}

/// Applies a plan's steps to its base tensor.
pub(crate) fn view(base: Tensor, plan: &ViewPlan) -> candle_core::Result<Tensor> {
    plan.steps.iter().try_fold(base, |tensor, step| match step {
        ViewStep::Transpose(a, b) => tensor.transpose(*a, *b),
        ViewStep::Permute(axes) => tensor.permute(axes.as_slice()),
        ViewStep::Narrow { dim, start, len } => tensor.narrow(*dim, *start, *len),
        ViewStep::BroadcastAs(shape) => tensor.broadcast_as(shape.as_slice()),
        ViewStep::Squeeze(dim) => tensor.squeeze(*dim),
    })
}

/// Where a view's elements lie in its base, worked out from the plan alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    dims: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl Placement {
    /// The placement `plan` promises; `None` when a step cannot be a view.
    pub(crate) fn of_plan(plan: &ViewPlan) -> Option<Placement> {
        let mut place = Placement::contiguous(&plan.base_shape, 0);
        for step in &plan.steps {
            place = place.after(step)?;
        }
        Some(place)
    }

    /// The placement of a candle tensor.
    pub(crate) fn of_layout(layout: &Layout) -> Placement {
        Placement {
            dims: layout.dims().to_vec(),
            strides: layout.stride().to_vec(),
            offset: layout.start_offset(),
        }
    }

    fn contiguous(dims: &[usize], offset: usize) -> Placement {
        let mut strides = vec![1; dims.len()];
        for dim in (1..dims.len()).rev() {
            strides[dim - 1] = strides[dim] * dims[dim];
        }
        Placement {
            dims: dims.to_vec(),
            strides,
            offset,
        }
    }

    fn after(mut self, step: &ViewStep) -> Option<Placement> {
        match step {
            ViewStep::Transpose(a, b) => {
                self.dims.swap(*a, *b);
                self.strides.swap(*a, *b);
            }
            ViewStep::Permute(axes) => {
                self.dims = axes.iter().map(|&axis| self.dims[axis]).collect();
                self.strides = axes.iter().map(|&axis| self.strides[axis]).collect();
            }
            ViewStep::Narrow { dim, start, len } => {
                self.offset += start * self.strides[*dim];
                self.dims[*dim] = *len;
            }
            ViewStep::BroadcastAs(shape) => {
                let added = shape.len().checked_sub(self.dims.len())?;
                let mut strides = vec![0; added];
                for (dim, stride) in self.strides.iter().enumerate() {
                    strides.push(if self.dims[dim] == shape[added + dim] {
                        *stride
                    } else {
                        0
                    });
                }
                self = Placement {
                    dims: shape.clone(),
                    strides,
                    offset: self.offset,
                };
            }
            ViewStep::Squeeze(dim) => {
                self.dims.remove(*dim);
                self.strides.remove(*dim);
            }
        }
        Some(self)
    }

    /// Whether both name the same elements in the same order. The stride of a dimension of extent 1 does not count.
    /// For tensors without elements only the shape counts.
    pub(crate) fn agrees_with(&self, other: &Placement) -> bool {
        let empty = self.dims.contains(&0);
        let strides = |place: &Placement| {
            let long = place
                .dims
                .iter()
                .zip(&place.strides)
                .filter(|(extent, _)| **extent > 1);
            long.map(|(_, stride)| *stride).collect::<Vec<_>>()
        };
        self.dims == other.dims && (empty || (self.offset == other.offset && strides(self) == strides(other)))
    }

    /// Index into the storage of every element, in row-major order.
    fn indices(&self) -> Vec<usize> {
        let mut indices = vec![self.offset];
        if self.dims.contains(&0) {
            indices.clear();
        }
        for (extent, stride) in self.dims.iter().zip(&self.strides) {
            indices = indices
                .iter()
                .flat_map(|base| (0..*extent).map(move |i| base + i * stride))
                .collect();
        }
        indices
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "dims {:?}, strides {:?}, offset {}",
            self.dims, self.strides, self.offset
        )
    }
}

/// Copies a result to the host.
///
/// The outer error is candle's; the inner one says how the result contradicts its own layout.
pub(crate) fn download(tensor: &Tensor) -> candle_core::Result<Result<HostTensor, String>> {
    let on_host = tensor.to_device(&Device::Cpu)?;
    let (storage, layout) = on_host.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else {
        return Ok(Err(format!(
            "a copy on the CPU lies on {:?}",
            on_host.device().location()
        )));
    };
    let indices = Placement::of_layout(layout).indices();
    let (dtype, bytes) = match storage {
        CpuStorage::U8(data) => (DType::U8, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::U32(data) => (DType::U32, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::I16(data) => (DType::I16, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::I32(data) => (DType::I32, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::I64(data) => (DType::I64, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::BF16(data) => (DType::BF16, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::F16(data) => (DType::F16, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::F32(data) => (DType::F32, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::F64(data) => (DType::F64, gather(data, &indices, |x| x.to_le_bytes())),
        CpuStorage::F8E4M3(data) => (DType::F8E4M3, gather(data, &indices, |x| [x.to_bits()])),
        CpuStorage::F6E2M3(_) | CpuStorage::F6E3M2(_) | CpuStorage::F4(_) | CpuStorage::F8E8M0(_) => {
            return Ok(Err(format!(
                "the result has the storage-only dtype {:?}",
                on_host.dtype()
            )));
        }
    };
    if candle_dtype(dtype) != on_host.dtype() {
        return Ok(Err(format!(
            "the result says {:?} and holds {dtype}",
            on_host.dtype()
        )));
    }
    Ok(bytes.map(|bytes| HostTensor {
        dtype,
        shape: layout.dims().to_vec(),
        bytes,
    }))
}

fn gather<T: Copy, const N: usize>(
    data: &[T],
    indices: &[usize],
    to_bytes: impl Fn(T) -> [u8; N],
) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(indices.len() * N);
    for &index in indices {
        let value = data.get(index).ok_or_else(|| {
            format!(
                "the result's layout reaches element {index} of a storage of {} elements",
                data.len()
            )
        })?;
        bytes.extend(to_bytes(*value));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(base_shape: &[usize], steps: &[ViewStep]) -> ViewPlan {
        ViewPlan {
            base_shape: base_shape.to_vec(),
            steps: steps.to_vec(),
        }
    }

    /// `0, 1, 2, …` as `u8`.
    fn counting(shape: &[usize]) -> HostTensor {
        let len = shape.iter().product::<usize>();
        let bytes = (0..len).map(|i| u8::try_from(i).unwrap()).collect();
        HostTensor {
            dtype: DType::U8,
            shape: shape.to_vec(),
            bytes,
        }
    }

    #[track_caller]
    fn check(base_shape: &[usize], steps: &[ViewStep], want: &[u8]) {
        let plan = plan(base_shape, steps);
        let tensor = view(upload(&counting(base_shape), &Device::Cpu).unwrap(), &plan).unwrap();
        let planned = Placement::of_plan(&plan).unwrap();
        let found = Placement::of_layout(tensor.layout());
        assert!(planned.agrees_with(&found), "planned {planned}, found {found}");
        assert_eq!(download(&tensor).unwrap().unwrap().bytes, want);
    }

    #[test]
    fn views_lie_where_the_plan_says_and_read_back_in_order() {
        check(&[2, 3], &[], &[0, 1, 2, 3, 4, 5]);
        check(&[2, 3], &[ViewStep::Transpose(0, 1)], &[0, 3, 1, 4, 2, 5]);
        check(&[2, 1, 2], &[ViewStep::Permute(vec![2, 0, 1])], &[0, 2, 1, 3]);
        check(
            &[3, 2],
            &[ViewStep::Narrow {
                dim: 0,
                start: 1,
                len: 2,
            }],
            &[2, 3, 4, 5],
        );
        check(
            &[1, 2],
            &[ViewStep::BroadcastAs(vec![2, 2, 2])],
            &[0, 1, 0, 1, 0, 1, 0, 1],
        );
        check(
            &[3, 2],
            &[
                ViewStep::Narrow {
                    dim: 1,
                    start: 1,
                    len: 1,
                },
                ViewStep::Squeeze(1),
            ],
            &[1, 3, 5],
        );
        check(&[2, 0], &[ViewStep::Transpose(0, 1)], &[]);
        check(&[], &[], &[0]);
    }

    #[test]
    fn a_copy_is_not_taken_for_a_view() {
        let plan = plan(&[2, 3], &[ViewStep::Transpose(0, 1)]);
        let tensor = view(upload(&counting(&[2, 3]), &Device::Cpu).unwrap(), &plan).unwrap();
        let planned = Placement::of_plan(&plan).unwrap();
        let copied = Placement::of_layout(tensor.contiguous().unwrap().layout());
        assert!(!planned.agrees_with(&copied), "{copied} passes for {planned}");
    }

    #[test]
    fn a_broadcast_to_fewer_dimensions_is_no_plan() {
        assert_eq!(
            Placement::of_plan(&plan(&[1, 2], &[ViewStep::BroadcastAs(vec![2])])),
            None
        );
    }

    #[test]
    fn a_layout_beyond_its_storage_is_reported() {
        let error = gather(&[1_u8, 2], &[0, 2], |x| [x]).unwrap_err();
        assert!(error.contains("element 2 of a storage of 2"), "{error}");
    }
}
