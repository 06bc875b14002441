//! candle-nn's products with experts' matrices on a ROCm device, and on the CPU, where crates.io's candle-nn has none.

use candle_core::{
    DType, Device, Result, Tensor,
    quantized::{GgmlDType, QTensor},
};
use candle_nn::moe::{moe_gemm, moe_gemm_gguf};

/// Three tokens with two experts each of four: ids sorted by expert, as `FusedMoe` has them.
const TOKENS: [u32; 6] = [2, 0, 5, 1, 3, 4];
const EXPERTS: [u32; 6] = [0, 1, 1, 2, 3, 3];

fn numbers(shape: &[usize], dtype: DType) -> Result<Tensor> {
    let count: usize = shape.iter().product();
    let numbers = (0..count).map(|at| (at * 37 % 64) as f32 / 64.0 - 0.5);
    Tensor::from_iter(numbers, &Device::Cpu)?
        .reshape(shape)?
        .to_dtype(dtype)
}

fn ids(device: &Device) -> Result<(Tensor, Tensor)> {
    Ok((Tensor::new(&TOKENS, device)?, Tensor::new(&EXPERTS, device)?))
}

/// The largest difference of two results, as f32.
fn apart(x: &Tensor, y: &Tensor) -> Result<f32> {
    let [x, y] = [x, y].map(|t| t.to_device(&Device::Cpu)?.to_dtype(DType::F32));
    (x? - y?)?.abs()?.max_all()?.to_scalar()
}

#[test]
fn a_row_is_multiplied_by_its_experts_matrix_on_both_devices() -> Result<()> {
    let gpu = Device::new_rocm(0)?;
    let (input, weights) = (numbers(&[3, 32], DType::F16)?, numbers(&[4, 5, 32], DType::F16)?);
    let run = |device: &Device, topk_weights: &Option<Tensor>, input: &Tensor| {
        let (tokens, experts) = ids(device)?;
        let (input, weights) = (input.to_device(device)?, weights.to_device(device)?);
        moe_gemm(&input, &weights, topk_weights, &tokens, &experts, 2, true)
    };
    let [ours, theirs] = [run(&gpu, &None, &input)?, run(&Device::Cpu, &None, &input)?];
    assert_eq!(ours.dims(), [6, 5]);
    assert!(apart(&ours, &theirs)? < 2e-3);
    // Row 5 is token 2, and its expert is number 1.
    let own = input.get(2)?.to_dtype(DType::F32)?.unsqueeze(0)?;
    let own = own.matmul(&weights.get(1)?.to_dtype(DType::F32)?.t()?)?;
    assert!(apart(&theirs.narrow(0, 5, 1)?, &own)? < 2e-3);
    // With weights each row has its own input, and is multiplied by its weight.
    let (rows, factors) = (numbers(&[6, 32], DType::F16)?, numbers(&[6], DType::F32)?);
    let ours = run(&gpu, &Some(factors.to_device(&gpu)?), &rows)?;
    assert!(apart(&ours, &run(&Device::Cpu, &Some(factors), &rows)?)? < 2e-3);
    Ok(())
}

#[test]
fn quantized_experts_are_those_that_their_blocks_stand_for() -> Result<()> {
    let gpu = Device::new_rocm(0)?;
    let (input, weights) = (numbers(&[3, 64], DType::F32)?, numbers(&[4, 5, 64], DType::F32)?);
    let run = |device: &Device| {
        let (tokens, experts) = ids(device)?;
        let weights = QTensor::quantize(&weights.to_device(device)?, GgmlDType::Q8_0)?;
        let input = input.to_device(device)?;
        moe_gemm_gguf(&input, &weights, &None, &tokens, &experts, 2, true, DType::F32)
    };
    let (ours, theirs) = (run(&gpu)?, run(&Device::Cpu)?);
    // The CPU rounds the input to blocks as well.
    assert!(apart(&ours, &theirs)? < 2e-2);
    Ok(())
}

#[test]
fn ids_that_no_row_or_two_rows_have_are_errors_on_the_cpu() -> Result<()> {
    let (input, weights) = (numbers(&[1, 32], DType::F32)?, numbers(&[2, 5, 32], DType::F32)?);
    for (tokens, words) in [
        ([0u32, 2], "from 0 to 1, each once; 1 is not"),
        ([1, 1], "0 is not"),
    ] {
        let tokens = Tensor::new(&tokens, &Device::Cpu)?;
        let experts = Tensor::new(&[0u32, 1], &Device::Cpu)?;
        let error = moe_gemm(&input, &weights, &None, &tokens, &experts, 2, true).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    Ok(())
}
