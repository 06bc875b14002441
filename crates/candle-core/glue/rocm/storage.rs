//! [`RocmStorage`]: a candle tensor's elements on a ROCm device, and the ops on them.

use std::fmt;

use rocm_backend::{Buffer, View, ops};

use super::{RocmDevice, RocmError, dtype};
use crate::{
    CpuStorage, DType, Error, Layout, Result,
    backend::BackendStorage as _,
    op::{BinaryOpT, CmpOp, ReduceOp, UnaryOpT},
    scalar::Scalar,
};

/// Elements on a ROCm device.
pub struct RocmStorage {
    buffer: Buffer,
    device: RocmDevice,
}

impl RocmStorage {
    pub(super) fn new(buffer: Buffer, device: RocmDevice) -> RocmStorage {
        RocmStorage { buffer, device }
    }

    /// The device memory itself, for kernels that candle does not know.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Copies the elements to another device, through the host: nothing is assumed of links between the two.
    pub fn transfer_to_device(&self, device: &RocmDevice) -> Result<RocmStorage> {
        device.upload(&self.to_cpu_storage()?)
    }

    /// The elements on the host.
    pub(crate) fn download(&self) -> Result<CpuStorage> {
        Ok(dtype::from_bytes(self.buffer.dtype(), &self.buffer.download()?))
    }

    /// Elements from the host, on this storage's device.
    pub(crate) fn upload_beside(&self, host: &CpuStorage) -> Result<RocmStorage> {
        self.device.upload(host)
    }

    fn beside(&self, buffer: Buffer) -> RocmStorage {
        RocmStorage::new(buffer, self.device.clone())
    }

    fn view<'a>(&'a self, layout: &'a Layout) -> View<'a> {
        View {
            buffer: &self.buffer,
            dims: layout.dims(),
            strides: layout.stride(),
            offset: layout.start_offset(),
        }
    }

    fn not_implemented(&self, op: &'static str) -> Error {
        Error::Rocm(RocmError::Unsupported {
            op,
            dtype: self.dtype(),
        })
        .bt()
    }
}

impl fmt::Debug for RocmStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dtype, len) = (self.buffer.dtype(), self.buffer.len());
        write!(f, "RocmStorage({len} of {dtype} on {:?})", self.device)
    }
}

impl crate::backend::BackendStorage for RocmStorage {
    type Device = RocmDevice;

    fn try_clone(&self, _: &Layout) -> Result<Self> {
        Ok(self.beside(self.buffer.try_clone()?))
    }

    fn dtype(&self) -> DType {
        dtype::from_backend(self.buffer.dtype())
    }

    fn device(&self) -> &RocmDevice {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        self.download()
    }

    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        Ok(self.beside(ops::affine(self.view(layout), mul, add)?))
    }

    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        Ok(self.beside(ops::unary_param("upowf", exponent, self.view(layout))?))
    }

    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        Ok(self.beside(ops::unary_param("uelu", alpha, self.view(layout))?))
    }

    fn cmp(&self, op: CmpOp, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        let kernel = match op {
            CmpOp::Eq => "eq",
            CmpOp::Ne => "ne",
            CmpOp::Le => "le",
            CmpOp::Ge => "ge",
            CmpOp::Lt => "lt",
            CmpOp::Gt => "gt",
        };
        Ok(self.beside(ops::compare(kernel, self.view(layout), rhs.view(rhs_layout))?))
    }

    fn unary_impl<B: UnaryOpT>(&self, layout: &Layout) -> Result<Self> {
        Ok(self.beside(ops::unary(B::KERNEL, self.view(layout))?))
    }

    fn binary_impl<B: BinaryOpT>(&self, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        Ok(self.beside(ops::binary(B::KERNEL, self.view(layout), rhs.view(rhs_layout))?))
    }

    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_layout: &Layout) -> Result<()> {
        Ok(ops::copy_strided(
            self.view(src_layout),
            &mut dst.buffer,
            dst_offset,
        )?)
    }

    fn copy2d(
        &self,
        dst: &mut Self,
        d1: usize,
        d2: usize,
        src_stride1: usize,
        dst_stride1: usize,
        src_offset: usize,
        dst_offset: usize,
    ) -> Result<()> {
        Ok(ops::copy2d(
            &self.buffer,
            &mut dst.buffer,
            d1,
            d2,
            src_stride1,
            dst_stride1,
            src_offset,
            dst_offset,
        )?)
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        let (dims, strides, offset) = (layout.dims(), layout.stride(), layout.start_offset());
        Ok(ops::fill(
            &mut self.buffer,
            dims,
            strides,
            offset,
            dtype::scalar(value),
        )?)
    }
}
