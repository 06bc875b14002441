//! Ops that candle does not have and the ROCm backend has a kernel for: [`fused1`], [`fused2`] and [`fused3`]. candle-nn's own
//! fused ops are `custom.rs`.
//!
//! Such an op says twice what it is: composed of candle's ops, and as a kernel. On every other device the composition is what
//! runs, and its gradients are candle's. On a ROCm device the kernel runs, and the gradients are those of the composition.

use rocm_backend::{DynBuffer, View};

use super::RocmStorage;
use crate::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, Var, bail};

/// An op of one tensor. `kernel` gives the result's elements, contiguous, and its shape.
///
/// ```ignore
/// use candle_core::{rocm, rocm_backend::ops::{self, Unary}};
///
/// // The normal distribution function, for which candle has no op and rocm-backend the kernel `unormcdf`.
/// fn normcdf(x: &Tensor) -> Result<Tensor> {
///     rocm::fused1(
///         "normcdf",
///         x,
///         |x| ((x / std::f64::consts::SQRT_2)?.erf()? + 1.0)? / 2.0,
///         |x| Ok((ops::unary(Unary::NormCdf, x)?, x.dims().into())),
///     )
/// }
/// ```
///
/// # Errors
/// Those of `composed` and of `kernel`.
pub fn fused1(
    name: &'static str,
    x: &Tensor,
    composed: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    kernel: impl Fn(View<'_>) -> Result<(DynBuffer, Shape)> + Send + Sync + 'static,
) -> Result<Tensor> {
    if !x.device().is_rocm() {
        return composed(x);
    }
    x.apply_op1(Fused { name, composed, kernel })
}

/// As [`fused1`], of two tensors.
///
/// # Errors
/// As [`fused1`]; also for tensors of two devices.
pub fn fused2(
    name: &'static str,
    [x, y]: [&Tensor; 2],
    composed: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    kernel: impl Fn(View<'_>, View<'_>) -> Result<(DynBuffer, Shape)> + Send + Sync + 'static,
) -> Result<Tensor> {
    if !x.device().is_rocm() {
        return composed(x, y);
    }
    x.apply_op2(y, Fused { name, composed, kernel })
}

/// As [`fused1`], of three tensors.
///
/// # Errors
/// As [`fused2`].
pub fn fused3(
    name: &'static str,
    [x, y, z]: [&Tensor; 3],
    composed: impl Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    kernel: impl Fn(View<'_>, View<'_>, View<'_>) -> Result<(DynBuffer, Shape)> + Send + Sync + 'static,
) -> Result<Tensor> {
    if !x.device().is_rocm() {
        return composed(x, y, z);
    }
    x.apply_op3(y, z, Fused { name, composed, kernel })
}

/// The op as candle keeps it for the backward pass.
struct Fused<C, K> {
    name: &'static str,
    composed: C,
    kernel: K,
}

impl<C, K> Fused<C, K> {
    /// The functions above give no tensor of another device to the op.
    fn elsewhere<T>(&self) -> Result<T> {
        bail!("{}: the tensors are not on a ROCm device", self.name)
    }
}

/// The gradients of `composed` for `args`, of which it has made its result, where `grad` is that of the result.
fn gradients<const N: usize>(
    args: [&Tensor; N],
    grad: &Tensor,
    composed: impl Fn([&Tensor; N]) -> Result<Tensor>,
) -> Result<[Option<Tensor>; N]> {
    let vars = args.map(Var::from_tensor);
    let vars = vars.into_iter().collect::<Result<Vec<Var>>>()?;
    let result = composed(std::array::from_fn(|i| vars[i].as_tensor()))?;
    let mut grads = result.mul(grad)?.sum_all()?.backward()?;
    Ok(std::array::from_fn(|i| grads.remove(&vars[i])))
}

impl<C, K> CustomOp1 for Fused<C, K>
where
    C: Fn(&Tensor) -> Result<Tensor>,
    K: Fn(View<'_>) -> Result<(DynBuffer, Shape)>,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        self.elsewhere()
    }

    fn rocm_fwd(&self, x: &RocmStorage, layout: &Layout) -> Result<(RocmStorage, Shape)> {
        let (out, shape) = (self.kernel)(x.view(layout))?;
        Ok((x.beside(out), shape))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let [x] = gradients([x], grad, |[x]| (self.composed)(x))?;
        Ok(x)
    }
}

impl<C, K> CustomOp2 for Fused<C, K>
where
    C: Fn(&Tensor, &Tensor) -> Result<Tensor>,
    K: Fn(View<'_>, View<'_>) -> Result<(DynBuffer, Shape)>,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.elsewhere()
    }

    fn rocm_fwd(
        &self,
        x: &RocmStorage,
        x_layout: &Layout,
        y: &RocmStorage,
        y_layout: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        let (out, shape) = (self.kernel)(x.view(x_layout), y.view(y_layout))?;
        Ok((x.beside(out), shape))
    }

    fn bwd(
        &self,
        x: &Tensor,
        y: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [x, y] = gradients([x, y], grad, |[x, y]| (self.composed)(x, y))?;
        Ok((x, y))
    }
}

impl<C, K> CustomOp3 for Fused<C, K>
where
    C: Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>,
    K: Fn(View<'_>, View<'_>, View<'_>) -> Result<(DynBuffer, Shape)>,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.elsewhere()
    }

    fn rocm_fwd(
        &self,
        x: &RocmStorage,
        x_layout: &Layout,
        y: &RocmStorage,
        y_layout: &Layout,
        z: &RocmStorage,
        z_layout: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        let (out, shape) = (self.kernel)(x.view(x_layout), y.view(y_layout), z.view(z_layout))?;
        Ok((x.beside(out), shape))
    }

    fn bwd(
        &self,
        x: &Tensor,
        y: &Tensor,
        z: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [x, y, z] = gradients([x, y, z], grad, |[x, y, z]| (self.composed)(x, y, z))?;
        Ok((x, y, z))
    }
}
