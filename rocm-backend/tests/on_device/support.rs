//! What the device tests share: elements, layouts, and the host's own walk over a view.

use std::fmt::Debug;

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, View};

/// A host type of one dtype.
pub(crate) trait Element: Copy + PartialEq + PartialOrd + Debug {
    const DTYPE: DType;
    /// A small whole number, negative where the type can.
    fn small(n: i32) -> Self;
    fn push(self, bytes: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($host:ty, $dtype:ident, |$n:ident| $small:expr;)*) => {$(
        impl Element for $host {
            const DTYPE: DType = DType::$dtype;
            fn small($n: i32) -> Self { $small }
            fn push(self, bytes: &mut Vec<u8>) { bytes.extend(self.to_le_bytes()); }
            fn read(bytes: &[u8]) -> Self { Self::from_le_bytes(bytes.try_into().unwrap()) }
        }
    )*};
}

elements! {
    u8, U8, |n| n.unsigned_abs() as u8;
    u32, U32, |n| n.unsigned_abs();
    i16, I16, |n| n as i16;
    i32, I32, |n| n;
    i64, I64, |n| n.into();
    bf16, BF16, |n| bf16::from_f32(n as f32);
    f16, F16, |n| f16::from_f32(n as f32);
    f32, F32, |n| n as f32;
    f64, F64, |n| n.into();
}

// It has no `to_le_bytes`.
impl Element for F8E4M3 {
    const DTYPE: DType = DType::F8E4M3;
    fn small(n: i32) -> Self {
        F8E4M3::from_f32(n as f32)
    }
    fn push(self, bytes: &mut Vec<u8>) {
        bytes.push(self.to_bits());
    }
    fn read(bytes: &[u8]) -> Self {
        F8E4M3::from_bits(bytes[0])
    }
}

/// Sizes, strides and offset of a view into [`LEN`] elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk {
    pub(crate) dims: &'static [usize],
    pub(crate) strides: &'static [usize],
    pub(crate) offset: usize,
}

/// Elements in the buffer that [`WALKS`] view.
pub(crate) const LEN: usize = 64;

const fn walk(dims: &'static [usize], strides: &'static [usize], offset: usize) -> Walk {
    Walk {
        dims,
        strides,
        offset,
    }
}

/// One of each kind of layout.
pub(crate) const WALKS: &[Walk] = &[
    walk(&[4, 6], &[6, 1], 0),
    walk(&[4, 6], &[6, 1], 40), // to the last element
    walk(&[6, 4], &[1, 6], 3),  // transposed
    walk(&[3, 4], &[12, 2], 1), // stepped
    walk(&[7], &[9], 0),
    walk(&[5, 4], &[0, 1], 2), // broadcast
    walk(&[5, 4], &[1, 0], 2),
    walk(&[3, 3], &[0, 0], 63), // one element, nine times
    walk(&[2, 3, 2, 2], &[1, 2, 6, 12], 4),
    walk(&[1, 4, 1], &[usize::MAX, 3, 99], 0), // the stride of a size-1 dimension means nothing
    walk(&[], &[], 17),
    walk(&[0, 3], &[3, 1], 0),
    walk(&[2, 0], &[1, 1], 64),
    walk(&[2, 16], &[24, 1], 8), // rows of whole packs of every dtype, apart
    walk(&[2, 16], &[3, 0], 5),  // and of one element each
];

impl Walk {
    pub(crate) fn view<'a>(&self, buffer: &'a DynBuffer) -> View<'a> {
        View::new(buffer, self.dims, self.strides).at(self.offset)
    }

    /// The elements in row-major order, as the host finds them.
    pub(crate) fn gather<T: Copy>(&self, data: &[T]) -> Vec<T> {
        let mut found = Vec::new();
        self.visit(|at| found.push(data[at]));
        found
    }

    /// Calls `f` with the place of each element.
    pub(crate) fn visit(&self, mut f: impl FnMut(usize)) {
        let count: usize = self.dims.iter().product();
        let mut index = vec![0; self.dims.len()];
        for _ in 0..count {
            f(self.offset
                + index
                    .iter()
                    .zip(self.strides)
                    .map(|(i, stride)| i * stride)
                    .sum::<usize>());
            for d in (0..index.len()).rev() {
                index[d] += 1;
                if index[d] < self.dims[d] {
                    break;
                }
                index[d] = 0;
            }
        }
    }
}

/// The device, with a stream of this test's own: a test is a thread.
pub(crate) fn device() -> Device {
    thread_local!(static DEVICE: Device = Device::new(0).unwrap());
    DEVICE.with(Device::clone)
}

/// Another handle of the device, with a stream and a random sequence of its own.
pub(crate) fn another_device() -> Device {
    Device::new(0).unwrap()
}

/// `LEN` elements, `seed` apart from one another's neighbours: -9 to 9, none equal to the next.
pub(crate) fn data<T: Element>(seed: i32) -> Vec<T> {
    (0..LEN as i32)
        .map(|i| T::small((i * 7 + seed * 5) % 10 - (i + seed) % 4))
        .collect()
}

pub(crate) fn upload<T: Element>(device: &Device, data: &[T]) -> DynBuffer {
    let mut bytes = Vec::new();
    data.iter().for_each(|&element| element.push(&mut bytes));
    DynBuffer::from_bytes(device, T::DTYPE, &bytes).unwrap()
}

#[track_caller]
pub(crate) fn download<T: Element>(buffer: &DynBuffer) -> Vec<T> {
    assert_eq!(buffer.dtype(), T::DTYPE);
    let bytes = buffer.download_bytes().unwrap();
    let elements: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(T::read).collect();
    assert_eq!(elements.len(), buffer.len());
    elements
}

/// All of `buffer`, contiguous; `dims` is `[buffer.len()]`.
pub(crate) fn flat<'a>(buffer: &'a DynBuffer, dims: &'a [usize; 1]) -> View<'a> {
    View::new(buffer, dims, &[1])
}
