//! `Device::Rocm` as a user of candle meets it: on the device there is, which may be the software one.
//!
//! These tests check that candle reaches the kernels, and what it says when it cannot. parity checks what the kernels compute.
#![expect(
    unexpected_cfgs,
    reason = "candle's test_device! asks for candle's own features"
)]

use std::{env, process::Command};

use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, DType, Device, DeviceLocation, InplaceOp1, Layout, Result, RocmError,
    Shape, Tensor, Var, rocm,
    rocm_backend::{View, ops, trace},
    test_device,
};
use float8::F8E4M3;
use half::{bf16, f16};

fn gpu() -> Result<Device> {
    Device::new_rocm(0)
}

fn unsupported(error: &candle_core::Error) -> bool {
    RocmError::of(error).is_some_and(RocmError::is_unsupported)
}

#[test]
fn the_device_is_rocm_and_nothing_else() -> Result<()> {
    let gpu = gpu()?;
    assert!(gpu.is_rocm() && !gpu.is_cpu() && !gpu.is_cuda() && !gpu.is_metal());
    assert_eq!(gpu.location(), DeviceLocation::Rocm { gpu_id: 0 });
    assert!(gpu.as_rocm_device().is_ok());
    assert!(
        gpu.as_metal_device()
            .unwrap_err()
            .to_string()
            .contains("got rocm")
    );
    assert!(
        Device::Cpu
            .as_rocm_device()
            .unwrap_err()
            .to_string()
            .contains("expected a rocm device, got cpu")
    );
    Ok(())
}

#[test]
fn a_device_that_does_not_exist_is_an_error() {
    assert!(Device::new_rocm(4096).is_err());
}

#[test]
fn two_handles_of_one_ordinal_are_one_device() -> Result<()> {
    let (a, b) = (gpu()?, gpu()?);
    assert!(a.same_device(&b));
    let sum = (Tensor::new(&[1f32, 2.], &a)? + Tensor::new(&[10f32, 20.], &b)?)?;
    assert_eq!(sum.to_vec1::<f32>()?, [11., 22.]);
    Ok(())
}

#[test]
fn every_dtype_survives_the_way_to_the_device_and_back() -> Result<()> {
    fn check<T: candle_core::WithDType + std::fmt::Debug>(elements: &[T]) -> Result<()> {
        let there = Tensor::new(elements, &gpu()?)?;
        assert_eq!(there.dtype(), T::DTYPE);
        assert_eq!(there.to_device(&Device::Cpu)?.to_vec1::<T>()?, elements);
        assert_eq!(
            there.copy()?.to_vec1::<T>()?,
            elements,
            "a copy of {:?}",
            T::DTYPE
        );
        Ok(())
    }
    check(&[0u8, 1, 255])?;
    check(&[0u32, 1, u32::MAX])?;
    check(&[i16::MIN, -1, i16::MAX])?;
    check(&[i32::MIN, -1, i32::MAX])?;
    check(&[i64::MIN, -1, i64::MAX])?;
    check(&[bf16::MIN, bf16::NEG_ZERO, bf16::MIN_POSITIVE_SUBNORMAL])?;
    check(&[f16::MIN, f16::NEG_ZERO, f16::MIN_POSITIVE_SUBNORMAL])?;
    check(&[f32::MIN, -0., f32::from_bits(1), f32::INFINITY])?;
    check(&[f64::MIN, -0., f64::from_bits(1), f64::INFINITY])?;
    check(&[
        F8E4M3::from_bits(0),
        F8E4M3::from_bits(0x7e),
        F8E4M3::from_bits(0xfe),
    ])
}

#[test]
fn candles_placeholder_dtypes_are_refused() -> Result<()> {
    for dtype in [DType::F4, DType::F6E2M3, DType::F6E3M2, DType::F8E8M0] {
        let error = Tensor::zeros(2, dtype, &gpu()?).unwrap_err();
        assert!(unsupported(&error), "{dtype:?}: {error}");
    }
    Ok(())
}

#[test]
fn a_strided_view_reaches_the_kernels_as_it_is() -> Result<()> {
    let x = Tensor::arange(0f32, 12., &Device::Cpu)?.reshape((3, 4))?;
    let y = Tensor::new(&[[1f32], [10.], [100.]], &Device::Cpu)?;
    let f = |x: &Tensor, y: &Tensor| -> Result<Vec<Vec<f32>>> {
        let view = x.narrow(1, 1, 2)?;
        (view.affine(2., 1.)? + y.broadcast_as((3, 2))?)?
            .t()?
            .contiguous()?
            .to_vec2()
    };
    assert_eq!(f(&x.to_device(&gpu()?)?, &y.to_device(&gpu()?)?)?, f(&x, &y)?);
    Ok(())
}

#[test]
fn an_op_that_is_not_there_says_which_and_for_what_dtype() -> Result<()> {
    let error = Tensor::zeros(2, DType::U8, &gpu()?)?.exp().unwrap_err();
    assert!(unsupported(&error), "{error}");
    let text = RocmError::of(&error).map(ToString::to_string);
    assert_eq!(text.as_deref(), Some("rocm has no kernel for `uexp` on u8"));
    Ok(())
}

#[test]
fn the_rocm_error_is_found_under_context_and_not_in_others() -> Result<()> {
    let error = Tensor::zeros(2, DType::U8, &gpu()?)?
        .exp()
        .unwrap_err()
        .context("while testing")
        .with_path("a/path");
    assert!(unsupported(&error), "{error}");
    assert!(RocmError::of(&candle_core::Error::msg("no such thing")).is_none());
    Ok(())
}

/// Custom ops that know the CPU only. Each test has names of its own: the counts are the process's.
struct Doubles(&'static str);

fn doubled(host: &CpuStorage, layout: &Layout) -> Result<Vec<f32>> {
    let (start, end) = layout
        .contiguous_offsets()
        .ok_or_else(|| candle_core::Error::msg("not contiguous"))?;
    Ok(host.as_slice::<f32>()?[start..end]
        .iter()
        .map(|x| 2. * x)
        .collect())
}

impl CustomOp1 for Doubles {
    fn name(&self) -> &'static str {
        self.0
    }

    fn cpu_fwd(&self, host: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(doubled(host, layout)?), layout.shape().clone()))
    }
}

impl CustomOp2 for Doubles {
    fn name(&self) -> &'static str {
        self.0
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        host: &CpuStorage,
        l: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        Ok((CpuStorage::F32(doubled(host, l)?), l.shape().clone()))
    }
}

impl InplaceOp1 for Doubles {
    fn name(&self) -> &'static str {
        self.0
    }

    fn cpu_fwd(&self, host: &mut CpuStorage, layout: &Layout) -> Result<()> {
        *host = CpuStorage::F32(doubled(host, layout)?);
        Ok(())
    }
}

fn fallbacks_of(op: &str) -> u64 {
    rocm::fallbacks()
        .into_iter()
        .find(|(name, _)| *name == op)
        .map_or(0, |(_, count)| count)
}

#[test]
fn a_custom_op_without_rocm_code_runs_on_the_cpu_and_is_counted() -> Result<()> {
    let x = Tensor::new(&[1f32, 2., 3.], &gpu()?)?;
    let y = x.apply_op1_no_bwd(&Doubles("one"))?;
    assert!(y.device().is_rocm());
    assert_eq!(y.to_vec1::<f32>()?, [2., 4., 6.]);
    assert_eq!(
        x.apply_op2_no_bwd(&y, &Doubles("two"))?.to_vec1::<f32>()?,
        [4., 8., 12.]
    );
    x.inplace_op1(&Doubles("in place"))?;
    x.inplace_op1(&Doubles("in place"))?;
    assert_eq!(x.to_vec1::<f32>()?, [4., 8., 12.]);
    assert_eq!(
        ["one", "two", "in place", "never"].map(fallbacks_of),
        [1, 1, 2, 0]
    );
    Ok(())
}

#[test]
fn an_op_on_cpu_tensors_is_no_fallback() -> Result<()> {
    Tensor::new(&[1f32], &Device::Cpu)?.apply_op1_no_bwd(&Doubles("on the cpu"))?;
    assert_eq!(fallbacks_of("on the cpu"), 0);
    Ok(())
}

/// Runs in a process of its own, in which the environment refuses fallbacks.
#[test]
fn a_fallback_can_be_refused() -> Result<()> {
    const NAME: &str = "a_fallback_can_be_refused";
    if env::var_os("ROCM_FALLBACK").is_none() {
        let child = Command::new(env::current_exe()?)
            .args(["--exact", NAME])
            .env("ROCM_FALLBACK", "refuse")
            .status()?;
        assert!(child.success());
        return Ok(());
    }
    let error = Tensor::new(&[1f32], &gpu()?)?
        .apply_op1_no_bwd(&Doubles("refused"))
        .unwrap_err();
    assert!(unsupported(&error), "{error}");
    assert!(error.to_string().contains("ROCM_FALLBACK=refuse"), "{error}");
    assert_eq!(fallbacks_of("refused"), 0);
    Ok(())
}

/// Runs in a process of its own, which has two software cards.
#[test]
fn tensors_go_from_one_card_to_another_and_back() -> Result<()> {
    const NAME: &str = "tensors_go_from_one_card_to_another_and_back";
    const CARDS: &str = "ROCM_SOFT_DEVICES";
    if env::var_os(CARDS).is_none() {
        let child = Command::new(env::current_exe()?)
            .args(["--exact", NAME])
            .env("ROCM_DRIVER", "soft")
            .env(CARDS, "gfx1100,gfx942")
            .status()?;
        assert!(child.success());
        return Ok(());
    }
    let (one, other) = (Device::new_rocm(0)?, Device::new_rocm(1)?);
    assert!(!one.same_device(&other));
    let x = Tensor::arange(0f32, 12., &one)?.reshape((3, 4))?;
    let there = (x.t()?.to_device(&other)? * 2.)?;
    assert_eq!(there.device().location(), DeviceLocation::Rocm { gpu_id: 1 });
    assert!((&x.t()? + &there).is_err(), "tensors of two cards do not meet");
    let back = there.to_device(&one)?.t()?;
    assert_eq!(back.to_vec2::<f32>()?, (&x * 2.)?.to_vec2::<f32>()?);
    Ok(())
}

fn shows_its_device(device: &Device) -> Result<()> {
    let text = Tensor::new(&[1f32], device)?.to_string();
    assert_eq!(text.contains("rocm:0"), device.is_rocm(), "{text}");
    Ok(())
}

// With five names, as pull request 3801 has it, and with upstream's four.
test_device!(
    shows_its_device,
    shown_on_cpu,
    shown_on_cuda,
    shown_on_metal,
    shown_on_rocm
);
test_device!(shows_its_device, also_on_cpu, also_on_cuda, also_on_metal);

/// The normal distribution function: candle has no op for it, the backend has a kernel.
fn normcdf(x: &Tensor) -> Result<Tensor> {
    rocm::fused1(
        "normcdf",
        x,
        |x| ((x / std::f64::consts::SQRT_2)?.erf()? + 1.0)? / 2.0,
        |x| Ok((ops::unary(ops::Unary::NormCdf, x)?, x.dims().into())),
    )
}

/// The sums of the products of rows.
fn row_products(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    rocm::fused2(
        "row_products",
        [x, y],
        |x, y| x.mul(y)?.sum_keepdim(1),
        |x, y| {
            let products = ops::binary(ops::Binary::Mul, x, y)?;
            let products = View::contiguous(&products, x.dims());
            let sums = ops::reduce(ops::Reduce::Sum, products, &[1])?;
            Ok((sums, (x.dims()[0], 1).into()))
        },
    )
}

/// A layer norm: rows, and what they are scaled and shifted by.
fn normed(x: &Tensor, alpha: &Tensor, beta: &Tensor) -> Result<Tensor> {
    rocm::fused3(
        "normed",
        [x, alpha, beta],
        |x, alpha, beta| {
            let x = x.broadcast_sub(&x.mean_keepdim(1)?)?;
            let variance = x.sqr()?.mean_keepdim(1)?;
            x.broadcast_div(&(variance + 1e-5)?.sqrt()?)?
                .broadcast_mul(alpha)?
                .broadcast_add(beta)
        },
        |x, alpha, beta| Ok((ops::layer_norm(x, alpha, beta, 1e-5)?, x.dims().into())),
    )
}

/// Numbers and their shape.
type Input<'a> = (&'a [f32], &'a [usize]);

/// A result and the gradients of its squares' sum, as one list of numbers.
fn with_gradients(
    device: &Device,
    inputs: &[Input<'_>],
    op: impl Fn(&[Var]) -> Result<Tensor>,
) -> Result<Vec<f32>> {
    let vars = inputs
        .iter()
        .map(|(host, dims)| Var::from_tensor(&Tensor::from_slice(host, *dims, device)?))
        .collect::<Result<Vec<Var>>>()?;
    let out = op(&vars)?;
    let grads = out.sqr()?.sum_all()?.backward()?;
    let mut numbers = out.flatten_all()?.to_vec1()?;
    for var in &vars {
        let grad = grads.get(var).expect("a gradient");
        numbers.extend(grad.flatten_all()?.to_vec1::<f32>()?);
    }
    Ok(numbers)
}

#[test]
fn an_op_of_ones_own_runs_its_kernel_and_has_the_gradients_of_its_composition() -> Result<()> {
    let (x, y): (&[f32], &[f32]) = (
        &[-2.0, -0.5, 0.0, 0.25, 1.0, 3.0],
        &[1.0, 2.0, -1.0, 0.5, 4.0, -3.0],
    );
    let three: &[f32] = &[1.0, 2.0, 0.5];
    let gpu = gpu()?;
    let backend = gpu.as_rocm_device()?.backend();
    type Op = fn(&[Var]) -> Result<Tensor>;
    let cases: [(&str, &[Input<'_>], Op); 3] = [
        ("unormcdf_f32", &[(x, &[2, 3])], |v| normcdf(&v[0])),
        ("fast_sum_small_f32", &[(x, &[2, 3]), (y, &[2, 3])], |v| {
            row_products(&v[0], &v[1])
        }),
        (
            "layernorm_f32",
            &[(x, &[2, 3]), (three, &[3]), (three, &[3])],
            |v| normed(&v[0], &v[1], &v[2]),
        ),
    ];
    for (kernel, inputs, op) in cases {
        trace::take(backend);
        let got = with_gradients(&gpu, inputs, op)?;
        let ran: Vec<String> = trace::take(backend)
            .iter()
            .map(|step| step.by.to_string())
            .collect();
        assert!(ran.iter().any(|name| name == kernel), "{kernel} in {ran:?}");
        let want = with_gradients(&Device::Cpu, inputs, op)?;
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(&want) {
            assert!(
                (got - want).abs() <= 1e-4 * want.abs().max(1.0),
                "{kernel}: {got}, expected {want}"
            );
        }
    }
    Ok(())
}

#[test]
fn packed_elements_of_f4_f6_and_f8e8m0_are_carried_byte_for_byte_and_computed_with_by_nothing() -> Result<()>
{
    let gpu = gpu()?;
    for (dtype, bytes) in [
        (DType::F4, vec![0x21, 0x43, 0x65, 0x87]),
        (DType::F6E2M3, vec![1, 2, 3, 4, 5, 6]),
        (DType::F6E3M2, vec![6, 5, 4, 3, 2, 1]),
        (DType::F8E8M0, vec![127, 128, 0, 255, 1, 2, 3, 4]),
    ] {
        let packed = Tensor::from_raw_buffer(&bytes, dtype, &[8], &gpu)?;
        assert_eq!((packed.dtype(), packed.device().is_rocm()), (dtype, true));
        let back = packed
            .to_device(&Device::Cpu)?
            .to_device(&gpu)?
            .to_device(&Device::Cpu)?;
        let (storage, _) = back.storage_and_layout();
        let found = match &*storage {
            candle_core::Storage::Cpu(
                CpuStorage::F4(found)
                | CpuStorage::F6E2M3(found)
                | CpuStorage::F6E3M2(found)
                | CpuStorage::F8E8M0(found),
            ) => found,
            other => panic!("{other:?}"),
        };
        assert_eq!((back.dtype(), found), (dtype, &bytes));
        for refused in [
            packed.to_dtype(DType::F32),
            packed.exp(),
            packed.add(&packed),
            Tensor::cat(&[&packed, &packed], 0),
            Tensor::zeros(8, dtype, &gpu),
        ] {
            let error = refused.unwrap_err();
            assert!(unsupported(&error), "{error}");
            assert!(error.to_string().contains(dtype.as_str()), "{error}");
        }
    }
    Ok(())
}

#[test]
fn products_of_f8e4m3_have_the_scales_of_their_rows_and_columns_on_both_devices() -> Result<()> {
    let gpu = gpu()?;
    let bytes = |shape: (usize, usize), factor: usize| {
        let count = shape.0 * shape.1;
        let numbers = (0..count).map(|at| (at * factor % 31) as f32 / 4.0 - 3.75);
        Tensor::from_iter(numbers, &Device::Cpu)?
            .reshape(shape)?
            .to_dtype(DType::F8E4M3)
    };
    let (a, b) = (bytes((5, 40), 7)?, bytes((33, 40), 11)?);
    let scales = [
        Tensor::arange(1f32, 6., &Device::Cpu)?,
        Tensor::arange(1f32, 34., &Device::Cpu)?,
    ];
    let run = |device: &Device, dtype: DType| {
        let [rows, columns] = scales.each_ref().map(|scale| scale.to_device(device));
        let b = b.to_device(device)?.t()?;
        rocm::matmul_f8(&a.to_device(device)?, &b, &rows?, &columns?, dtype)
    };
    for dtype in [DType::F32, DType::BF16] {
        let (ours, theirs) = (run(&gpu, dtype)?, run(&Device::Cpu, dtype)?);
        assert_eq!((ours.dims(), ours.dtype()), (&[5, 33][..], dtype));
        let [ours, theirs] = [ours, theirs].map(|x| x.to_device(&Device::Cpu)?.to_dtype(DType::F32));
        let (ours, theirs) = (ours?, theirs?);
        let apart = (&ours - &theirs)?.abs()?.max_all()?.to_scalar::<f32>()?;
        let largest = theirs.abs()?.max_all()?.to_scalar::<f32>()?;
        // Sums of these numbers are exact in f32, and products with the scales.
        assert!(apart == 0.0 && largest > 1e3, "{apart} of {largest}");
    }
    let refused = rocm::matmul_f8(&a, &b.t()?, &scales[1], &scales[1], DType::F32);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("scales of [33], expected [1] or [5]")
    );
    Ok(())
}
