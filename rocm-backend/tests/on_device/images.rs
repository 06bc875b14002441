//! What the tests of windows and images share: tensors on the host in every layout, and numbers in every dtype.

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, View};

use crate::floats::{FLOATS, decode};

pub(crate) fn is_float(dtype: DType) -> bool {
    FLOATS.contains(&dtype)
}

/// `value` to `digits` significant bits, ties to even; numbers below `least_unit * 2^digits` to whole `least_unit`s.
fn rounded(value: f64, digits: i32, least_unit: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = value.abs().log2().floor() as i32;
    let unit = 2_f64.powi(exponent - digits + 1).max(least_unit);
    (value / unit).round_ties_even() * unit
}

/// `value` as bytes of `dtype`: floats are rounded once, to nearest, from all of f64; integers keep their low bits.
pub(crate) fn encode_one(dtype: DType, value: f64) -> Vec<u8> {
    let whole = value as i64;
    match dtype {
        DType::U8 => vec![whole as u8],
        DType::U32 => (whole as u32).to_le_bytes().to_vec(),
        DType::I16 => (whole as i16).to_le_bytes().to_vec(),
        DType::I32 => (whole as i32).to_le_bytes().to_vec(),
        DType::I64 => whole.to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(rounded(value, 8, 0.0)).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(rounded(value, 11, 2_f64.powi(-24)))
            .to_le_bytes()
            .to_vec(),
        DType::F32 => (value as f32).to_le_bytes().to_vec(),
        DType::F64 => value.to_le_bytes().to_vec(),
        DType::F8E4M3 => vec![F8E4M3::from_f64(rounded(value, 4, 2_f64.powi(-9))).to_bits()],
    }
}

pub(crate) fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&value| encode_one(dtype, value))
        .collect()
}

/// The elements of `buffer`.
#[track_caller]
pub(crate) fn read(buffer: &DynBuffer) -> Vec<f64> {
    let bytes = buffer.download_bytes().unwrap();
    let size = buffer.dtype().size_in_bytes();
    bytes
        .chunks_exact(size)
        .map(|bytes| decode(buffer.dtype(), bytes))
        .collect()
}

/// `values` as `dtype` holds them.
pub(crate) fn held(dtype: DType, values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|&value| decode(dtype, &encode_one(dtype, value)))
        .collect()
}

/// How a tensor lies in its buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lie {
    Contiguous,
    /// From element 5 on.
    Offset,
    /// The last two dimensions the other way round.
    Transposed,
    /// With two elements between neighbours.
    Stepped,
    /// One batch, repeated.
    Repeated,
}

pub(crate) const LIES: [Lie; 5] = [
    Lie::Contiguous,
    Lie::Offset,
    Lie::Transposed,
    Lie::Stepped,
    Lie::Repeated,
];

/// A tensor on the host: a buffer, and how it is viewed.
#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    pub(crate) dims: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
    data: Vec<f64>,
}

impl Tensor {
    /// Element `i` of the buffer is `f(i)`.
    pub(crate) fn new(dims: &[usize], lie: Lie, f: impl Fn(usize) -> f64) -> Tensor {
        let packed = |dims: &[usize]| {
            let mut strides = vec![1; dims.len()];
            for d in (1..dims.len()).rev() {
                strides[d - 1] = strides[d] * dims[d].max(1);
            }
            strides
        };
        let (mut strides, mut offset) = (packed(dims), 0);
        match lie {
            Lie::Contiguous => {}
            Lie::Offset => offset = 5,
            Lie::Transposed => {
                let (mut swapped, last) = (dims.to_vec(), dims.len() - 1);
                swapped.swap(last, last - 1);
                strides = packed(&swapped);
                strides.swap(last, last - 1);
            }
            Lie::Stepped => {
                strides.iter_mut().for_each(|stride| *stride *= 3);
                offset = 2;
            }
            Lie::Repeated => strides[0] = 0,
        }
        let last: usize = dims
            .iter()
            .zip(&strides)
            .map(|(&dim, stride)| dim.saturating_sub(1) * stride)
            .sum();
        let len = if dims.contains(&0) { 0 } else { offset + last + 1 };
        Tensor {
            dims: dims.to_vec(),
            strides,
            offset: offset.min(len),
            data: (0..len).map(f).collect(),
        }
    }

    /// Contiguous, of these elements.
    pub(crate) fn of(dims: &[usize], values: &[f64]) -> Tensor {
        assert_eq!(dims.iter().product::<usize>(), values.len());
        Tensor::new(dims, Lie::Contiguous, |i| values[i])
    }

    /// Small whole numbers, each exact in every dtype: -4 to 4, of an unsigned dtype 0 to 4.
    pub(crate) fn small(dtype: DType, dims: &[usize], lie: Lie, seed: usize) -> Tensor {
        let signed = is_float(dtype) || !matches!(dtype, DType::U8 | DType::U32);
        Tensor::new(dims, lie, |i| {
            let mixed = (i * 37 + seed * 11 + (i / 7) * 5) % 9;
            if signed {
                mixed as f64 - 4.0
            } else {
                (mixed / 2) as f64
            }
        })
    }

    pub(crate) fn at(&self, index: &[usize]) -> f64 {
        let place: usize = index
            .iter()
            .zip(&self.strides)
            .map(|(i, stride)| i * stride)
            .sum();
        self.data[self.offset + place]
    }

    /// The element at (batch, channel, y, x) of a tensor of rows or images; `None` outside the image.
    pub(crate) fn pixel(&self, batch: usize, channel: usize, y: isize, x: isize) -> Option<f64> {
        let [.., width] = *self.dims else { return None };
        let height = if self.dims.len() == 4 { self.dims[2] } else { 1 };
        let y = usize::try_from(y).ok().filter(|&y| y < height)?;
        let x = usize::try_from(x).ok().filter(|&x| x < width)?;
        Some(if self.dims.len() == 4 {
            self.at(&[batch, channel, y, x])
        } else {
            self.at(&[batch, channel, x])
        })
    }

    pub(crate) fn upload(&self, device: &Device, dtype: DType) -> DynBuffer {
        DynBuffer::from_bytes(device, dtype, &encode(dtype, &self.data)).unwrap()
    }

    pub(crate) fn view<'a>(&'a self, buffer: &'a DynBuffer) -> View<'a> {
        View::new(buffer, &self.dims, &self.strides).at(self.offset)
    }
}

/// Every index of `dims`, in row-major order.
pub(crate) fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &dim in dims {
        let longer = all
            .iter()
            .flat_map(|index| (0..dim).map(move |i| index.iter().copied().chain([i]).collect()));
        all = longer.collect();
    }
    all
}
