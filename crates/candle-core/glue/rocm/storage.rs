//! [`RocmStorage`]: a candle tensor's elements on a ROCm device, and the ops on them.

use std::{fmt, sync::Arc};

use rocm_backend::{
    DynBuffer, View, ViewMut,
    ops::{self, Bilinear, Binary, Compare, Reduce, Unary, UnaryParam, Window},
};

use super::{
    RocmDevice, RocmError,
    dtype::{self, Kept},
    watch::{self, OpKind, Pass, WatchedOp},
};
use crate::{
    CpuStorage, DType, Error, Layout, Result, Storage,
    backend::BackendStorage as _,
    bail,
    conv::{ParamsConv1D, ParamsConv2D, ParamsConvTranspose1D, ParamsConvTranspose2D},
    op::{BinaryOpT, CmpOp, ReduceOp, UnaryOpT},
    scalar::Scalar,
};

/// Elements on a ROCm device.
pub struct RocmStorage {
    buffer: DynBuffer,
    device: RocmDevice,
    /// What the elements are in the program computed in f64, where ops are watched.
    program: Option<Arc<CpuStorage>>,
    kept: Option<Kept>,
}

impl RocmStorage {
    pub(crate) fn new(buffer: DynBuffer, device: RocmDevice) -> RocmStorage {
        RocmStorage {
            buffer,
            device,
            program: None,
            kept: None,
        }
    }

    /// Packed elements of this dtype.
    pub(super) fn keep(dtype: DType, bytes: DynBuffer, device: &RocmDevice) -> Result<RocmStorage> {
        let empty = DynBuffer::uninit(device.backend(), rocm_backend::DType::U8, 0)?;
        let mut storage = RocmStorage::new(empty, device.clone());
        storage.kept = Some(Kept { dtype, bytes });
        Ok(storage)
    }

    /// The dtype of elements that nothing computes with.
    pub(super) fn kept(&self) -> Option<DType> {
        self.kept.as_ref().map(|kept| kept.dtype)
    }

    /// What [`watch`] kept here.
    pub(super) fn program(&self) -> Option<&CpuStorage> {
        self.program.as_deref()
    }

    pub(super) fn set_program(&mut self, program: Option<Arc<CpuStorage>>) {
        self.program = program;
    }

    /// The device memory itself, for kernels that candle does not know.
    pub fn buffer(&self) -> &DynBuffer {
        &self.buffer
    }

    /// Copies the elements to another device: HIP takes the way between the two.
    pub fn transfer_to_device(&self, device: &RocmDevice) -> Result<RocmStorage> {
        if let Some(kept) = &self.kept {
            return RocmStorage::keep(kept.dtype, kept.bytes.copy_to(device.backend())?, device);
        }
        let copy = self.buffer.copy_to(device.backend())?;
        Ok(RocmStorage::new(copy, device.clone()))
    }

    /// The elements on the host.
    pub(crate) fn download(&self) -> Result<CpuStorage> {
        match &self.kept {
            Some(kept) => kept.download(),
            None => dtype::download(&self.buffer),
        }
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

    pub(super) fn view_mut<'a>(&'a mut self, layout: &'a Layout) -> ViewMut<'a> {
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

/// The storage of one of `op`'s tensors, and its elements as kernels walk them.
///
/// # Errors
/// For a tensor on another device.
pub(super) fn on_rocm<'a>(
    op: &str,
    storage: &'a Storage,
    layout: &'a Layout,
) -> Result<(&'a RocmStorage, View<'a>)> {
    match storage {
        Storage::Rocm(storage) => Ok((storage, storage.view(layout))),
        _ => bail!("{op}: a tensor is not on a ROCm device"),
    }
}

impl fmt::Debug for RocmStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kept {
            Some(kept) => {
                let (dtype, len) = (kept.dtype.as_str(), kept.bytes.len());
                write!(f, "RocmStorage({len} bytes of {dtype} on {:?})", self.device)
            }
            None => {
                let (dtype, len) = (self.buffer.dtype(), self.buffer.len());
                write!(f, "RocmStorage({len} of {dtype} on {:?})", self.device)
            }
        }
    }
}

impl crate::backend::BackendStorage for RocmStorage {
    type Device = RocmDevice;

    fn try_clone(&self, _: &Layout) -> Result<Self> {
        if let Some(kept) = &self.kept {
            return RocmStorage::keep(kept.dtype, kept.bytes.try_clone()?, &self.device);
        }
        let mut copy = self.beside(self.buffer.try_clone()?);
        copy.program.clone_from(&self.program);
        Ok(copy)
    }

    fn dtype(&self) -> DType {
        let elements = || dtype::from_backend(self.buffer.dtype());
        self.kept().unwrap_or_else(elements)
    }

    fn device(&self) -> &RocmDevice {
        &self.device
    }

    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        self.download()
    }

    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        watch::op(
            ("affine", &[mul, add]),
            OpKind::Norm,
            &[(self, layout)],
            || Ok(self.beside(ops::affine(self.view(layout), mul, add)?)),
            |x, _| x[0].affine(layout, mul, add),
        )
    }

    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        watch::op(
            ("powf", &[exponent]),
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::unary_param(UnaryParam::Powf, exponent, self.view(layout))?)),
            |x, _| x[0].powf(layout, exponent),
        )
    }

    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        watch::op(
            ("elu", &[alpha]),
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::unary_param(UnaryParam::Elu, alpha, self.view(layout))?)),
            |x, _| x[0].elu(layout, alpha),
        )
    }

    fn cmp(&self, op: CmpOp, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        let (name, compare) = match op {
            CmpOp::Eq => ("eq", Compare::Eq),
            CmpOp::Ne => ("ne", Compare::Ne),
            CmpOp::Le => ("le", Compare::Le),
            CmpOp::Ge => ("ge", Compare::Ge),
            CmpOp::Lt => ("lt", Compare::Lt),
            CmpOp::Gt => ("gt", Compare::Gt),
        };
        watch::op(
            name,
            OpKind::Plain,
            &[(self, layout), (rhs, rhs_layout)],
            || Ok(self.beside(ops::compare(compare, self.view(layout), rhs.view(rhs_layout))?)),
            |x, _| x[0].cmp(op, &x[1], layout, rhs_layout),
        )
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
        watch::op(
            (op.name(), numbers(dims).as_slice()),
            OpKind::Sum,
            &[(self, layout)],
            || Ok(self.beside(ops::reduce(reduce, self.view(layout), dims)?)),
            |x, _| x[0].reduce_op(op, layout, dims),
        )
    }

    fn unary_impl<B: UnaryOpT>(&self, layout: &Layout) -> Result<Self> {
        let op = Unary::from_name(B::KERNEL).ok_or_else(|| self.not_implemented(B::NAME))?;
        watch::op(
            B::NAME,
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::unary(op, self.view(layout))?)),
            |x, _| x[0].unary_impl::<B>(layout),
        )
    }

    fn binary_impl<B: BinaryOpT>(&self, rhs: &Self, layout: &Layout, rhs_layout: &Layout) -> Result<Self> {
        let op = Binary::from_name(B::KERNEL).ok_or_else(|| self.not_implemented(B::NAME))?;
        watch::op(
            B::NAME,
            OpKind::Norm,
            &[(self, layout), (rhs, rhs_layout)],
            || Ok(self.beside(ops::binary(op, self.view(layout), rhs.view(rhs_layout))?)),
            |x, _| x[0].binary_impl::<B>(&x[1], layout, rhs_layout),
        )
    }

    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
        watch::op(
            WatchedOp::from("to_dtype").of(dtype.as_str()),
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::cast(self.view(layout), dtype::to_backend(dtype)?)?)),
            |x, pass: Pass| x[0].to_dtype(layout, pass.dtype(dtype)),
        )
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
        watch::op(
            "where_cond",
            OpKind::Plain,
            &[(self, layout), (t, t_layout), (f, f_layout)],
            || Ok(self.beside(ops::where_cond(self.view(layout), t_view, f_view)?)),
            |x, _| x[0].where_cond(layout, &x[1], t_layout, &x[2], f_layout),
        )
    }

    fn matmul(
        &self,
        rhs: &Self,
        bmnk: (usize, usize, usize, usize),
        layout: &Layout,
        rhs_layout: &Layout,
    ) -> Result<Self> {
        watch::op(
            "matmul",
            OpKind::Sum,
            &[(self, layout), (rhs, rhs_layout)],
            || Ok(self.beside(ops::matmul(self.view(layout), rhs.view(rhs_layout))?)),
            |x, _| x[0].matmul(&x[1], bmnk, layout, rhs_layout),
        )
    }

    fn gather(&self, layout: &Layout, ids: &Self, ids_layout: &Layout, dim: usize) -> Result<Self> {
        watch::op(
            ("gather", numbers(&[dim]).as_slice()),
            OpKind::Plain,
            &[(self, layout), (ids, ids_layout)],
            || Ok(self.beside(ops::gather(self.view(layout), ids.view(ids_layout), dim)?)),
            |x, _| x[0].gather(layout, &x[1], ids_layout, dim),
        )
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
        watch::change(
            ("scatter_set", numbers(&[dim]).as_slice()),
            self,
            &[(ids, ids_layout), (src, src_layout)],
            |to| {
                let (ids, src) = (ids.view(ids_layout), src.view(src_layout));
                Ok(ops::scatter_set(to.view_mut(layout), ids, src, dim)?)
            },
            |to, x, _| to.scatter_set(layout, &x[0], ids_layout, &x[1], src_layout, dim),
        )
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
        watch::change(
            ("scatter_add_set", numbers(&[dim]).as_slice()),
            self,
            &[(ids, ids_layout), (src, src_layout)],
            |to| {
                let (ids, src) = (ids.view(ids_layout), src.view(src_layout));
                Ok(ops::scatter_add_set(to.view_mut(layout), ids, src, dim)?)
            },
            |to, x, _| to.scatter_add_set(layout, &x[0], ids_layout, &x[1], src_layout, dim),
        )
    }

    fn index_select(&self, ids: &Self, layout: &Layout, ids_layout: &Layout, dim: usize) -> Result<Self> {
        watch::op(
            ("index_select", numbers(&[dim]).as_slice()),
            OpKind::Plain,
            &[(self, layout), (ids, ids_layout)],
            || Ok(self.beside(ops::index_select(self.view(layout), ids.view(ids_layout), dim)?)),
            |x, _| x[0].index_select(&x[1], layout, ids_layout, dim),
        )
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
        watch::op(
            ("index_add", numbers(&[dim]).as_slice()),
            OpKind::Sum,
            &[(self, layout), (ids, ids_layout), (src, src_layout)],
            || {
                let (ids, src) = (ids.view(ids_layout), src.view(src_layout));
                Ok(self.beside(ops::index_add(self.view(layout), ids, src, dim)?))
            },
            |x, _| x[0].index_add(layout, &x[1], ids_layout, &x[2], src_layout, dim),
        )
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
        watch::op(
            ("conv1d", numbers(&[p.padding, p.stride, p.dilation]).as_slice()),
            OpKind::Sum,
            &[(self, layout), (kernel, kernel_layout)],
            || {
                let (x, kernel) = (
                    self.view_as(&input, layout),
                    kernel.view_as(&weights, kernel_layout),
                );
                Ok(self.beside(ops::conv1d(x, kernel, window(p.stride, p.padding, p.dilation))?))
            },
            |x, _| x[0].conv1d(layout, &x[1], kernel_layout, p),
        )
    }

    fn conv_transpose1d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConvTranspose1D,
    ) -> Result<Self> {
        watch::op(
            (
                "conv_transpose1d",
                numbers(&[p.padding, p.output_padding, p.stride, p.dilation]).as_slice(),
            ),
            OpKind::Sum,
            &[(self, layout), (kernel, kernel_layout)],
            || {
                let (x, kernel) = (self.view(layout), kernel.view(kernel_layout));
                let window = window(p.stride, p.padding, p.dilation);
                let out = ops::conv_transpose1d(x, kernel, window, p.output_padding)?;
                Ok(self.beside(out))
            },
            |x, _| x[0].conv_transpose1d(layout, &x[1], kernel_layout, p),
        )
    }

    fn conv2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConv2D,
    ) -> Result<Self> {
        // As in `conv1d`.
        let (input, weights) = ([p.b_size, p.c_in, p.i_h, p.i_w], [p.c_out, p.c_in, p.k_h, p.k_w]);
        watch::op(
            ("conv2d", numbers(&[p.padding, p.stride, p.dilation]).as_slice()),
            OpKind::Sum,
            &[(self, layout), (kernel, kernel_layout)],
            || {
                let (x, kernel) = (
                    self.view_as(&input, layout),
                    kernel.view_as(&weights, kernel_layout),
                );
                Ok(self.beside(ops::conv2d(x, kernel, window(p.stride, p.padding, p.dilation))?))
            },
            |x, _| x[0].conv2d(layout, &x[1], kernel_layout, p),
        )
    }

    fn conv_transpose2d(
        &self,
        layout: &Layout,
        kernel: &Self,
        kernel_layout: &Layout,
        p: &ParamsConvTranspose2D,
    ) -> Result<Self> {
        watch::op(
            (
                "conv_transpose2d",
                numbers(&[p.padding, p.output_padding, p.stride, p.dilation]).as_slice(),
            ),
            OpKind::Sum,
            &[(self, layout), (kernel, kernel_layout)],
            || {
                let (x, kernel) = (self.view(layout), kernel.view(kernel_layout));
                let window = window(p.stride, p.padding, p.dilation);
                let out = ops::conv_transpose2d(x, kernel, window, p.output_padding)?;
                Ok(self.beside(out))
            },
            |x, _| x[0].conv_transpose2d(layout, &x[1], kernel_layout, p),
        )
    }

    fn avg_pool2d(&self, layout: &Layout, kernel: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        watch::op(
            (
                "avg_pool2d",
                numbers(&[kernel.0, kernel.1, stride.0, stride.1]).as_slice(),
            ),
            OpKind::Sum,
            &[(self, layout)],
            || Ok(self.beside(ops::avg_pool2d(self.view(layout), kernel, stride)?)),
            |x, _| x[0].avg_pool2d(layout, kernel, stride),
        )
    }

    fn max_pool2d(&self, layout: &Layout, kernel: (usize, usize), stride: (usize, usize)) -> Result<Self> {
        watch::op(
            (
                "max_pool2d",
                numbers(&[kernel.0, kernel.1, stride.0, stride.1]).as_slice(),
            ),
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::max_pool2d(self.view(layout), kernel, stride)?)),
            |x, _| x[0].max_pool2d(layout, kernel, stride),
        )
    }

    fn upsample_nearest1d(&self, layout: &Layout, size: usize) -> Result<Self> {
        watch::op(
            ("upsample_nearest1d", numbers(&[size]).as_slice()),
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::upsample_nearest1d(self.view(layout), size)?)),
            |x, _| x[0].upsample_nearest1d(layout, size),
        )
    }

    fn upsample_nearest2d(&self, layout: &Layout, h: usize, w: usize) -> Result<Self> {
        watch::op(
            ("upsample_nearest2d", numbers(&[h, w]).as_slice()),
            OpKind::Plain,
            &[(self, layout)],
            || Ok(self.beside(ops::upsample_nearest2d(self.view(layout), h, w)?)),
            |x, _| x[0].upsample_nearest2d(layout, h, w),
        )
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
        watch::op(
            (
                "upsample_bilinear2d",
                numbers(&[h, w, usize::from(align_corners)]).as_slice(),
            ),
            OpKind::Sum,
            &[(self, layout)],
            || Ok(self.beside(ops::upsample_bilinear2d(self.view(layout), how)?)),
            |x, _| x[0].upsample_bilinear2d(layout, h, w, align_corners, scale_h, scale_w),
        )
    }

    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_layout: &Layout) -> Result<()> {
        watch::change(
            "copy_strided_src",
            dst,
            &[(self, src_layout)],
            |dst| {
                let count = [src_layout.shape().elem_count()];
                let to = ViewMut::contiguous(&mut dst.buffer, &count).at(dst_offset);
                Ok(ops::copy(self.view(src_layout), to)?)
            },
            |dst, x, _| x[0].copy_strided_src(dst, dst_offset, src_layout),
        )
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
        // For a watch alone: where the elements are.
        let rows = Layout::new(crate::Shape::from((d1, d2)), vec![src_stride1, 1], src_offset);
        watch::change(
            "copy2d",
            dst,
            &[(self, &rows)],
            |dst| {
                let dims = [d1, d2];
                let (from, to) = ([src_stride1, 1], [dst_stride1, 1]);
                Ok(ops::copy2d(
                    View::new(&self.buffer, &dims, &from).at(src_offset),
                    ViewMut::new(&mut dst.buffer, &dims, &to).at(dst_offset),
                )?)
            },
            |dst, x, _| x[0].copy2d(dst, d1, d2, src_stride1, dst_stride1, src_offset, dst_offset),
        )
    }

    fn const_set(&mut self, value: Scalar, layout: &Layout) -> Result<()> {
        watch::change(
            "const_set",
            self,
            &[],
            |to| Ok(ops::fill(to.view_mut(layout), dtype::scalar(value))?),
            |to, _, _| {
                let wide = to.dtype() == DType::F64 && value.dtype() != DType::F64;
                to.const_set(if wide { Scalar::F64(value.to_f64()) } else { value }, layout)
            },
        )
    }
}

/// Sizes and places as parameters of an op that is watched.
fn numbers(sizes: &[usize]) -> Vec<f64> {
    sizes.iter().map(|size| *size as f64).collect()
}

fn window(stride: usize, padding: usize, dilation: usize) -> Window {
    Window {
        stride,
        padding,
        dilation,
    }
}
