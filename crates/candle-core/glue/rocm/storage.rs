//! [`RocmStorage`]: a candle tensor's elements on a ROCm device, and the ops on them.

use std::fmt;

use rocm_backend::{
    DynBuffer, View, ViewMut,
    ops::{self, Bilinear, Binary, Compare, Reduce, Unary, UnaryParam, Window},
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
    buffer: DynBuffer,
    device: RocmDevice,
}

impl RocmStorage {
    pub(crate) fn new(buffer: DynBuffer, device: RocmDevice) -> RocmStorage {
        RocmStorage { buffer, device }
    }

    /// The device memory itself, for kernels that candle does not know.
    pub fn buffer(&self) -> &DynBuffer {
        &self.buffer
    }

    /// Copies the elements to another device: HIP takes the way between the two.
    pub fn transfer_to_device(&self, device: &RocmDevice) -> Result<RocmStorage> {
        let copy = self.buffer.copy_to(device.backend())?;
        Ok(RocmStorage::new(copy, device.clone()))
    }

    /// The elements on the host.
    pub(crate) fn download(&self) -> Result<CpuStorage> {
        dtype::download(&self.buffer)
    }

    /// Elements from the host, on this storage's device.
    pub(crate) fn upload_beside(&self, host: &CpuStorage) -> Result<RocmStorage> {
        self.device.upload(host)
    }

    /// `buffer`, on the same device, as a storage: what a kernel made of this one.
    pub fn beside(&self, buffer: DynBuffer) -> RocmStorage {
        RocmStorage::new(buffer, self.device.clone())
    }

    /// The elements as kernels walk them.
    pub fn view<'a>(&'a self, layout: &'a Layout) -> View<'a> {
        self.view_as(layout.dims(), layout)
    }

    fn view_as<'a>(&'a self, dims: &'a [usize], layout: &'a Layout) -> View<'a> {
        View::new(&self.buffer, dims, layout.stride()).at(layout.start_offset())
    }

    fn view_mut<'a>(&'a mut self, layout: &'a Layout) -> ViewMut<'a> {
        ViewMut::new(&mut self.buffer, layout.dims(), layout.stride()).at(layout.start_offset())
    }

    /// For a kernel that the backend does not have; candle-overlay calls it in the methods that this file does not have.
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
        Ok(self.beside(ops::unary_param(UnaryParam::Powf, exponent, self.view(layout))?))
    }

    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        Ok(self.beside(ops::unary_param(UnaryParam::Elu, alpha, self.view(layout))?))
    }

    fn cmp(&self, op: CmpOp, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        let op = match op {
            CmpOp::Eq => Compare::Eq,
            CmpOp::Ne => Compare::Ne,
            CmpOp::Le => Compare::Le,
            CmpOp::Ge => Compare::Ge,
            CmpOp::Lt => Compare::Lt,
            CmpOp::Gt => Compare::Gt,
        };
        Ok(self.beside(ops::compare(op, self.view(layout), rhs.view(rhs_layout))?))
    }

    fn reduce_op(&self, op: ReduceOp, layout: &Layout, dims: &[usize]) -> Result<Self> {
        if op != ReduceOp::Sum && layout.shape().elem_count() == 0 {
            return Err(Error::EmptyTensor { op: "reduce" }.bt());
        }
        let reduce = match op {
            ReduceOp::Sum => Reduce::Sum,
            ReduceOp::Min => Reduce::Min,
            ReduceOp::Max => Reduce::Max,
            ReduceOp::ArgMin => Reduce::ArgMin,
            ReduceOp::ArgMax => Reduce::ArgMax,
        };
        if matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax) && dims.len() != 1 {
            let (op, dims) = (op.name(), dims.to_vec());
            return Err(Error::OnlySingleDimension { op, dims }.bt());
        }
        Ok(self.beside(ops::reduce(reduce, self.view(layout), dims)?))
    }

    fn unary_impl<B: UnaryOpT>(&self, layout: &Layout) -> Result<Self> {
        let op = Unary::from_name(B::KERNEL).ok_or_else(|| self.not_implemented(B::NAME))?;
        Ok(self.beside(ops::unary(op, self.view(layout))?))
    }

    fn binary_impl<B: BinaryOpT>(&self, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        let op = Binary::from_name(B::KERNEL).ok_or_else(|| self.not_implemented(B::NAME))?;
        Ok(self.beside(ops::binary(op, self.view(layout), rhs.view(rhs_layout))?))
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
        _bmnk: (usize, usize, usize, usize),
        layout: &Layout,
        rhs_layout: &Layout,
    ) -> Result<Self> {
        Ok(self.beside(ops::matmul(self.view(layout), rhs.view(rhs_layout))?))
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
        Ok(ops::scatter_set(self.view_mut(layout), ids, src, dim)?)
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
        Ok(ops::scatter_add_set(self.view_mut(layout), ids, src, dim)?)
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
        // Where groups do not divide the output channels, candle counts fewer of them than it hands over.
        let (input, weights) = ([p.b_size, p.c_in, p.l_in], [p.c_out, p.c_in, p.k_size]);
        let (x, kernel) = (self.view_as(&input, layout), kernel.view_as(&weights, kernel_layout));
        Ok(self.beside(ops::conv1d(x, kernel, window(p.stride, p.padding, p.dilation))?))
    }

    fn conv_transpose1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConvTranspose1D,
    ) -> Result<Self> {
        let (x, kernel) = (self.view(layout), kernel.view(kernel_layout));
        let window = window(p.stride, p.padding, p.dilation);
        let out = ops::conv_transpose1d(x, kernel, window, p.output_padding)?;
        Ok(self.beside(out))
    }

    fn conv2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConv2D,
    ) -> Result<Self> {
        // As in `conv1d`.
        let (input, weights) = (
            [p.b_size, p.c_in, p.i_h, p.i_w],
            [p.c_out, p.c_in, p.k_h, p.k_w],
        );
        let (x, kernel) = (self.view_as(&input, layout), kernel.view_as(&weights, kernel_layout));
        Ok(self.beside(ops::conv2d(x, kernel, window(p.stride, p.padding, p.dilation))?))
    }

    fn conv_transpose2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConvTranspose2D,
    ) -> Result<Self> {
        let (x, kernel) = (self.view(layout), kernel.view(kernel_layout));
        let window = window(p.stride, p.padding, p.dilation);
        let out = ops::conv_transpose2d(x, kernel, window, p.output_padding)?;
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
        let how = Bilinear {
            size: [h, w],
            align_corners,
            scale: [scale_h, scale_w],
        };
        Ok(self.beside(ops::upsample_bilinear2d(self.view(layout), how)?))
    }

    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_layout: &Layout) -> Result<()> {
        let count = [src_layout.shape().elem_count()];
        let to = ViewMut::contiguous(&mut dst.buffer, &count).at(dst_offset);
        Ok(ops::copy(self.view(src_layout), to)?)
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
        let dims = [d1, d2];
        let (from, to) = ([src_stride1, 1], [dst_stride1, 1]);
        Ok(ops::copy2d(
            View::new(&self.buffer, &dims, &from).at(src_offset),
            ViewMut::new(&mut dst.buffer, &dims, &to).at(dst_offset),
        )?)
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        Ok(ops::fill(self.view_mut(layout), dtype::scalar(value))?)
    }
}

fn window(stride: usize, padding: usize, dilation: usize) -> Window {
    Window {
        stride,
        padding,
        dilation,
    }
}
