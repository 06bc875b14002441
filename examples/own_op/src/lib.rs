//! An op that candle does not have: `gate / (1 + e^(-alpha gate)) up`, the gate of feed-forward layers with the sigmoid's approximation
//! of GELU. It is a `CustomOp2` with a loop for the CPU, a kernel of HIP for ROCm, one of CUDA behind a feature, and a gradient.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, backend::BackendStorage, bail};
use candle_core::{RocmStorage, rocm_backend};
use rocm_backend::DynBuffer;

/// The op on tensors of one shape and dtype: f16, f32 or f64.
///
/// # Errors
/// Tensors of two shapes, dtypes or devices, and dtypes that the op does not have.
pub fn quick_geglu(gate: &Tensor, up: &Tensor, alpha: f64) -> Result<Tensor> {
    if gate.shape() != up.shape() {
        bail!(
            "quick_geglu: gate {:?} and up {:?} have two shapes",
            gate.shape(),
            up.shape()
        );
    }
    gate.contiguous()?
        .apply_op2(&up.contiguous()?, QuickGeglu { alpha })
}

struct QuickGeglu {
    alpha: f64,
}

/// Where the elements of a contiguous tensor begin and end in its storage. A view of some rows does not begin at 0. A view of
/// no elements may begin anywhere, also past the end of the storage.
fn range(layout: &Layout) -> Result<(usize, usize)> {
    match layout.contiguous_offsets() {
        Some((start, end)) if start == end => Ok((0, 0)),
        Some(range) => Ok(range),
        None => bail!("quick_geglu takes contiguous tensors"),
    }
}

fn f32_of(gate: f32, up: f32, alpha: f32) -> f32 {
    gate / (1.0 + (-alpha * gate).exp()) * up
}

impl CustomOp2 for QuickGeglu {
    fn name(&self) -> &'static str {
        "quick_geglu"
    }

    fn cpu_fwd(
        &self,
        gate: &CpuStorage,
        g: &Layout,
        up: &CpuStorage,
        u: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ((g0, g1), (u0, u1)) = (range(g)?, range(u)?);
        let alpha = self.alpha;
        let out = match (gate, up) {
            (CpuStorage::F16(gate), CpuStorage::F16(up)) => {
                let pairs = gate[g0..g1].iter().zip(&up[u0..u1]);
                let one = |(g, u): (&half::f16, &half::f16)| f32_of(g.to_f32(), u.to_f32(), alpha as f32);
                CpuStorage::F16(pairs.map(one).map(half::f16::from_f32).collect())
            }
            (CpuStorage::F32(gate), CpuStorage::F32(up)) => {
                let pairs = gate[g0..g1].iter().zip(&up[u0..u1]);
                CpuStorage::F32(pairs.map(|(g, u)| f32_of(*g, *u, alpha as f32)).collect())
            }
            (CpuStorage::F64(gate), CpuStorage::F64(up)) => {
                let pairs = gate[g0..g1].iter().zip(&up[u0..u1]);
                CpuStorage::F64(pairs.map(|(g, u)| g / (1.0 + (-alpha * g).exp()) * u).collect())
            }
            _ => bail!("quick_geglu has no {:?} of {:?}", gate.dtype(), up.dtype()),
        };
        Ok((out, g.shape().clone()))
    }

    fn rocm_fwd(
        &self,
        gate: &RocmStorage,
        g: &Layout,
        up: &RocmStorage,
        u: &Layout,
    ) -> Result<(RocmStorage, Shape)> {
        let ((g0, g1), (u0, _)) = (range(g)?, range(u)?);
        let (len, dtype) = (g1 - g0, gate.buffer().dtype());
        let entry = match (gate.dtype(), up.dtype()) {
            (candle_core::DType::F16, candle_core::DType::F16) => "quick_geglu_f16",
            (candle_core::DType::F32, candle_core::DType::F32) => "quick_geglu_f32",
            (candle_core::DType::F64, candle_core::DType::F64) => "quick_geglu_f64",
            (gate, up) => bail!("quick_geglu has no {gate:?} of {up:?}"),
        };
        let device = gate.device().backend();
        let mut out = DynBuffer::uninit(device, dtype, len)?;
        if len > 0 {
            // The code object is kept in the kernel cache: it is compiled once for a GPU, and loaded from there.
            let module = device.compile(include_str!("quick_geglu.hip"))?;
            let kernel = module.kernel(entry)?.grid(len.div_ceil(256)).workgroup(256);
            let kernel = kernel
                .arg(len)
                .arg(self.alpha)
                .arg((gate.buffer(), g0))
                .arg((up.buffer(), u0));
            // SAFETY: thread i below `len` reads element i of both views, which lie inside of their buffers, and writes
            // element i of `out`, which has `len`.
            unsafe { kernel.arg(&mut out).launch()? };
        }
        Ok((gate.beside(out), g.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        gate: &candle_core::CudaStorage,
        g: &Layout,
        up: &candle_core::CudaStorage,
        u: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        cuda::forward(self.alpha, (gate, range(g)?), (up, range(u)?)).map(|out| (out, g.shape().clone()))
    }

    /// d/dgate = (s + alpha gate s (1 - s)) up and d/dup = gate s, with s = 1 / (1 + e^(-alpha gate)).
    fn bwd(
        &self,
        gate: &Tensor,
        up: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let sigmoid = ((gate * -self.alpha)?.exp()? + 1.0)?.recip()?;
        let slope = (((gate * self.alpha)? * (1.0 - &sigmoid)?)? + 1.0)?;
        let by_gate = ((sigmoid.clone() * slope)? * up)?;
        Ok((Some((by_gate * grad)?), Some(((gate * sigmoid)? * grad)?)))
    }
}

/// The op on an NVIDIA GPU.
#[cfg(feature = "cuda")]
mod cuda {
    use candle_core::backend::BackendStorage;
    use candle_core::cuda_backend::WrapErr;
    use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};
    use candle_core::{CudaStorage, DType, Result, bail};

    type View<'a> = (&'a CudaStorage, (usize, usize));

    pub(super) fn forward(
        alpha: f64,
        (gate, (g0, g1)): View<'_>,
        (up, (u0, u1)): View<'_>,
    ) -> Result<CudaStorage> {
        if (gate.dtype(), up.dtype()) != (DType::F32, DType::F32) {
            bail!(
                "quick_geglu has no {:?} of {:?} on CUDA",
                gate.dtype(),
                up.dtype()
            );
        }
        let device = gate.device();
        let source = concat!(
            "extern \"C\" __global__ void quick_geglu_f32(size_t n, float alpha, const float *gate, const float *up, float *out) {",
            "    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;",
            "    if (i < n) out[i] = gate[i] / (1.0f + expf(-alpha * gate[i])) * up[i];",
            "}"
        );
        let ptx = candle_core::cuda_backend::cudarc::nvrtc::compile_ptx(source)
            .map_err(candle_core::Error::wrap)?;
        let kernel = device.get_or_load_custom_func("quick_geglu_f32", "own_op", &ptx.to_src())?;
        let len = g1 - g0;
        let (gate, up) = (
            gate.as_cuda_slice::<f32>()?.slice(g0..g1),
            up.as_cuda_slice::<f32>()?.slice(u0..u1),
        );
        // SAFETY: the kernel writes each of the `len` elements before anybody reads them.
        let mut out = unsafe { device.alloc::<f32>(len)? };
        if len > 0 {
            let mut launch = kernel.builder();
            let alpha = alpha as f32;
            launch.arg(&len).arg(&alpha).arg(&gate).arg(&up).arg(&mut out);
            // SAFETY: the arguments are those of the kernel, and thread i touches element i alone, below `len`.
            unsafe { launch.launch(LaunchConfig::for_num_elems(len as u32)) }.w()?;
        }
        Ok(CudaStorage::wrap_cuda_slice(out, device.clone()))
    }
}
