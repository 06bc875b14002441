//! Elements of any dtype as f64, for tests that compare with the host's arithmetic: conversion, rounding units, rows.

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, View};

pub(crate) const FLOATS: &[DType] = &[DType::BF16, DType::F16, DType::F32, DType::F64, DType::F8E4M3];
/// The dtypes of softmax, norms and rotary embeddings.
pub(crate) const NEURAL: &[DType] = &[DType::BF16, DType::F16, DType::F32, DType::F64];

/// A value as an element. Integers take the low bytes. A value with more bits than f32 is rounded to f32 first.
pub(crate) fn encode(dtype: DType, value: f64) -> Vec<u8> {
    match dtype {
        DType::BF16 => bf16::from_f32(value as f32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f32(value as f32).to_le_bytes().to_vec(),
        DType::F32 => (value as f32).to_le_bytes().to_vec(),
        DType::F64 => value.to_le_bytes().to_vec(),
        DType::F8E4M3 => vec![F8E4M3::from_f32(value as f32).to_bits()],
        _ => (value as i128).to_le_bytes()[..dtype.size_in_bytes()].to_vec(),
    }
}

/// An element as a number; exact but for integers beyond 2^53.
pub(crate) fn decode(dtype: DType, bytes: &[u8]) -> f64 {
    let mut low = [0; 8];
    low[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(low);
    match dtype {
        DType::BF16 => bf16::from_bits(word as u16).to_f64(),
        DType::F16 => f16::from_bits(word as u16).to_f64(),
        DType::F32 => f32::from_bits(word as u32).into(),
        DType::F64 => f64::from_bits(word),
        DType::F8E4M3 => F8E4M3::from_bits(word as u8).to_f64(),
        DType::I16 => (word as i16).into(),
        DType::I32 => (word as i32).into(),
        DType::I64 => word as i64 as f64,
        DType::U8 | DType::U32 => word as f64,
    }
}

/// The nearest value of the dtype.
pub(crate) fn rounded(dtype: DType, value: f64) -> f64 {
    decode(dtype, &encode(dtype, value))
}

/// Half the distance of 1 to the next value: what one rounding changes at most, relatively.
pub(crate) fn unit(dtype: DType) -> f64 {
    let bits = match dtype {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        DType::F64 => 53,
        DType::F8E4M3 => 4,
        _ => panic!("{dtype} is not a float"),
    };
    0.5_f64.powi(bits)
}

/// [`unit`] of what the dtype is computed in.
pub(crate) fn wide_unit(dtype: DType) -> f64 {
    unit(if dtype == DType::F64 { dtype } else { DType::F32 })
}

/// Roundings between a term of a sum of `terms` and the sum, at most: a chain of 64 and of the chains, then a tree.
pub(crate) fn depth(terms: usize) -> f64 {
    let threads = if terms <= 32 {
        1
    } else {
        terms.div_ceil(4).clamp(32, 1024).next_power_of_two()
    };
    let per_thread = terms.div_ceil(threads);
    (per_thread.min(64) + per_thread.div_ceil(64) + 10) as f64
}

pub(crate) fn upload(device: &Device, dtype: DType, values: &[f64]) -> DynBuffer {
    let bytes: Vec<u8> = values.iter().flat_map(|&value| encode(dtype, value)).collect();
    DynBuffer::from_bytes(device, dtype, &bytes).unwrap()
}

pub(crate) fn download(buffer: &DynBuffer) -> Vec<f64> {
    let dtype = buffer.dtype();
    let bytes = buffer.download_bytes().unwrap();
    bytes
        .chunks_exact(dtype.size_in_bytes())
        .map(|element| decode(dtype, element))
        .collect()
}

/// A contiguous view from element `offset` on.
pub(crate) fn packed<'a>(
    buffer: &'a DynBuffer,
    dims: &'a [usize],
    strides: &'a [usize],
    offset: usize,
) -> View<'a> {
    View::new(buffer, dims, strides).at(offset)
}

/// The strides of a contiguous tensor.
pub(crate) fn contiguous(dims: &[usize]) -> Vec<usize> {
    (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect()
}

/// `count` values of the dtype between -range and range, always the same.
pub(crate) fn random(dtype: DType, count: usize, range: f64, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            rounded(dtype, ((state >> 11) as f64 / 2.0_f64.powi(52) - 1.0) * range)
        })
        .collect()
}

/// Whether `got` is `want` but for `error` in what led to it and the rounding to `dtype`, near zero half a subnormal.
pub(crate) fn is_near(dtype: DType, got: f64, want: f64, error: f64) -> bool {
    let tiny = match dtype {
        DType::F8E4M3 => 0.5_f64.powi(10),
        DType::F16 => 0.5_f64.powi(25),
        DType::F64 => f64::from_bits(1),
        _ => 0.5_f64.powi(134),
    };
    let limit = error + unit(dtype) * (want.abs() + error) + tiny;
    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= limit
}
