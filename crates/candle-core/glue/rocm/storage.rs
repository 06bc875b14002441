//! [`RocmStorage`]: a candle tensor's elements on a ROCm device, and the ops on them.

use std::fmt;

use rocm_backend::{
    Buffer, View,
    ops::{self, Target},
};

use super::{RocmDevice, RocmError, dtype};
use crate::{
    CpuStorage, DType, Error, Layout, Result,
    backend::BackendStorage as _,
    conv::{ParamsConv1D, ParamsConv2D, ParamsConvTranspose1D, ParamsConvTranspose2D},
    op::{BinaryOpT, CmpOp, ReduceOp, UnaryOpT},
    scalar::Scalar,
};

/// Elements on a ROCm device.
pub struct RocmStorage {
    buffer: Buffer,
    device: RocmDevice,
}

impl RocmStorage {
    pub(crate) fn new(buffer: Buffer, device: RocmDevice) -> RocmStorage {
        RocmStorage { buffer, device }
    }

    /// The device memory itself, for kernels that candle does not know.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Copies the elements to another device: HIP takes the way between the two.
    pub fn transfer_to_device(&self, device: &RocmDevice) -> Result<RocmStorage> {
        let copy = self.buffer.copy_to(device.backend())?;
        Ok(RocmStorage::new(copy, device.clone()))
    }

    /// The elements on the host.
    pub(crate) fn download(&self) -> Result<CpuStorage> {
        Ok(dtype::from_bytes(self.buffer.dtype(), &self.buffer.download()?))
    }

    /// Elements from the host, on this storage's device.
    pub(crate) fn upload_beside(&self, host: &CpuStorage) -> Result<RocmStorage> {
        self.device.upload(host)
    }

    pub(super) fn beside(&self, buffer: Buffer) -> RocmStorage {
        RocmStorage::new(buffer, self.device.clone())
    }

    pub(crate) fn view<'a>(&'a self, layout: &'a Layout) -> View<'a> {
        View {
            buffer: &self.buffer,
            dims: layout.dims(),
            strides: layout.stride(),
            offset: layout.start_offset(),
        }
    }

    fn target<'a>(&'a mut self, layout: &'a Layout) -> Target<'a> {
        Target {
            buffer: &mut self.buffer,
            dims: layout.dims(),
            strides: layout.stride(),
            offset: layout.start_offset(),
        }
    }

    /// What candle-overlay calls in the methods that this file does not have.
    #[allow(dead_code, reason = "of this candle's methods there are none")]
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

    fn reduce_op(&self, op: ReduceOp, layout: &Layout, dims: &[usize]) -> Result<Self> {
        if op != ReduceOp::Sum && layout.shape().elem_count() == 0 {
            return Err(Error::EmptyTensor { op: "reduce" }.bt());
        }
        let x = self.view(layout);
        let only = || match *dims {
            [dim] => Ok(dim),
            _ => {
                let (op, dims) = (op.name(), dims.to_vec());
                Err(Error::OnlySingleDimension { op, dims }.bt())
            }
        };
        let out = match op {
            ReduceOp::Sum => ops::sum(x, dims)?,
            ReduceOp::Min => ops::min(x, dims)?,
            ReduceOp::Max => ops::max(x, dims)?,
            ReduceOp::ArgMin => ops::argmin(x, only()?)?,
            ReduceOp::ArgMax => ops::argmax(x, only()?)?,
        };
        Ok(self.beside(out))
    }

    fn unary_impl<B: UnaryOpT>(&self, layout: &Layout) -> Result<Self> {
        Ok(self.beside(ops::unary(B::KERNEL, self.view(layout))?))
    }

    fn binary_impl<B: BinaryOpT>(&self, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        Ok(self.beside(ops::binary(B::KERNEL, self.view(layout), rhs.view(rhs_layout))?))
    }

    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
        Ok(self.beside(ops::cast(self.view(layout), dtype::to_backend(dtype)?)?))
    }

    fn where_cond(
        &self,
        layout: &Layout,
        t: &Self,
        t_layout: &Layout,
        f: &Self,
        f_layout: &Layout,
    ) -> Result<Self> {
        let (t_view, f_view) = (t.view(t_layout), f.view(f_layout));
        Ok(self.beside(ops::where_cond(self.view(layout), t_view, f_view)?))
    }

    fn matmul(
        &self,
        rhs: &Self,
        bmnk: (usize, usize, usize, usize),
        layout: &Layout,
        rhs_layout: &Layout,
    ) -> Result<Self> {
        Ok(self.beside(ops::matmul(self.view(layout), rhs.view(rhs_layout), bmnk)?))
    }

    fn gather(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, dim: usize) -> Result<Self> {
        Ok(self.beside(ops::gather(self.view(layout), ids.view(ids_layout), dim)?))
    }

    fn scatter_set(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<()> {
        let (ids, src) = (ids.view(ids_layout), src.view(src_layout));
        Ok(ops::scatter_set(self.target(layout), ids, src, dim)?)
    }

    fn scatter_add_set(
        &mut self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<()> {
        let (ids, src) = (ids.view(ids_layout), src.view(src_layout));
        Ok(ops::scatter_add_set(self.target(layout), ids, src, dim)?)
    }

    fn index_select(&self, ids: &Self, layout: &Layout, ids_layout: &Layout, dim: usize) -> Result<Self> {
        Ok(self.beside(ops::index_select(self.view(layout), ids.view(ids_layout), dim)?))
    }

    fn index_add(
        &self,
        layout: &Layout,
        ids: &Self,
        ids_layout: &Layout,
        src: &Self,
        src_layout: &Layout,
        dim: usize,
    ) -> Result<Self> {
        let (ids, src) = (ids.view(ids_layout), src.view(src_layout));
        Ok(self.beside(ops::index_add(self.view(layout), ids, src, dim)?))
    }

    fn conv1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConv1D,
    ) -> Result<Self> {
        let x = View {
            dims: &[p.b_size, p.c_in, p.l_in],
            ..self.view(layout)
        };
        // Where groups do not divide the output channels, candle counts fewer of them than it hands over.
        let kernel = View {
            dims: &[p.c_out, p.c_in, p.k_size],
            ..kernel.view(kernel_layout)
        };
        Ok(self.beside(ops::conv1d(x, kernel, p.padding, p.stride, p.dilation)?))
    }

    fn conv_transpose1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConvTranspose1D,
    ) -> Result<Self> {
        let (x, kernel) = (self.view(layout), kernel.view(kernel_layout));
        let out = ops::conv_transpose1d(x, kernel, p.padding, p.output_padding, p.stride, p.dilation)?;
        Ok(self.beside(out))
    }

    fn conv2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConv2D,
    ) -> Result<Self> {
        let x = View {
            dims: &[p.b_size, p.c_in, p.i_h, p.i_w],
            ..self.view(layout)
        };
        // As in `conv1d`.
        let kernel = View {
            dims: &[p.c_out, p.c_in, p.k_h, p.k_w],
            ..kernel.view(kernel_layout)
        };
        Ok(self.beside(ops::conv2d(x, kernel, p.padding, p.stride, p.dilation)?))
    }

    fn conv_transpose2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConvTranspose2D,
    ) -> Result<Self> {
        let (x, kernel) = (self.view(layout), kernel.view(kernel_layout));
        let out = ops::conv_transpose2d(x, kernel, p.padding, p.output_padding, p.stride, p.dilation)?;
        Ok(self.beside(out))
    }

    fn avg_pool2d(&self, layout: &Layout, kernel: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        Ok(self.beside(ops::avg_pool2d(self.view(layout), kernel, stride)?))
    }

    fn max_pool2d(&self, layout: &Layout, kernel: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        Ok(self.beside(ops::max_pool2d(self.view(layout), kernel, stride)?))
    }

    fn upsample_nearest1d(&self, layout: &Layout, size: usize) -> Result<Self> {
        Ok(self.beside(ops::upsample_nearest1d(self.view(layout), size)?))
    }

    fn upsample_nearest2d(&self, layout: &Layout, h: usize, w: usize) -> Result<Self> {
        Ok(self.beside(ops::upsample_nearest2d(self.view(layout), h, w)?))
    }

    fn upsample_bilinear2d(
        &self,
        layout: &Layout,
        h: usize,
        w: usize,
        align_corners: bool,
        scale_h: Option<f64>,
        scale_w: Option<f64>,
    ) -> Result<Self> {
        let x = self.view(layout);
        let out = ops::upsample_bilinear2d(x, h, w, align_corners, scale_h, scale_w)?;
        Ok(self.beside(out))
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
