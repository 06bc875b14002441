//! Tensors of ggml's block formats on the ROCm device, through candle's own calls, next to candle's CPU.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::{env, process::Command};

use candle_core::{
    DType, Device, Module as _, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};

const FORMATS: [GgmlDType; 15] = [
    GgmlDType::F32,
    GgmlDType::F16,
    GgmlDType::BF16,
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q8_1,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
    GgmlDType::Q8K,
];

fn rocm() -> Device {
    Device::new_rocm(0).unwrap()
}

/// Numbers between -1 and 1 that look random.
fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let numbers: Vec<f32> = (0..count as u32)
        .map(|i| (i.wrapping_mul(2654435761) >> 8) as f32 / f32::from(u16::MAX) / 128.0 - 1.0)
        .collect();
    Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap()
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    let flat = tensor.flatten_all().unwrap().to_dtype(DType::F32).unwrap();
    flat.to_vec1().unwrap()
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    floats(tensor).into_iter().map(f32::to_bits).collect()
}

/// The same blocks on both devices.
fn both(shape: &[usize], format: GgmlDType) -> [QTensor; 2] {
    let weights = numbers(shape);
    let on_rocm = QTensor::quantize(&weights.to_device(&rocm()).unwrap(), format).unwrap();
    [QTensor::quantize(&weights, format).unwrap(), on_rocm]
}

#[test]
fn blocks_and_weights_are_the_cpus_bit_for_bit() {
    for format in FORMATS {
        let [cpu, rocm] = both(&[3, 512], format);
        assert_eq!(cpu.data().unwrap(), rocm.data().unwrap(), "{format:?}");
        assert_eq!(cpu.storage_size_in_bytes(), rocm.storage_size_in_bytes());
        let [cpu_floats, rocm_floats] = [&cpu, &rocm].map(|q| q.dequantize(&q.device()).unwrap());
        assert_eq!(bits(&cpu_floats), bits(&rocm_floats), "{format:?}");
        let [cpu_halves, rocm_halves] = [&cpu, &rocm].map(|q| q.dequantize_f16(&q.device()).unwrap());
        assert_eq!(rocm_halves.dtype(), DType::F16);
        assert_eq!(bits(&cpu_halves), bits(&rocm_halves), "{format:?}");
    }
}

#[test]
fn a_view_becomes_as_many_blocks_as_it_has_or_is_refused_where_it_would_be_misread() {
    let weights = numbers(&[3, 512]).to_device(&rocm()).unwrap();
    let head = weights.narrow(0, 0, 1).unwrap();
    let copied = QTensor::quantize(&head.copy().unwrap(), GgmlDType::Q8_0).unwrap();
    let viewed = QTensor::quantize(&head, GgmlDType::Q8_0).unwrap();
    assert_eq!(viewed.storage_size_in_bytes(), copied.storage_size_in_bytes());
    assert_eq!(viewed.data().unwrap(), copied.data().unwrap());
    let refused = QTensor::quantize(&head, GgmlDType::F16)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("quantize a copy of the view"), "{refused}");
}

#[test]
fn blocks_quantized_from_the_host_are_the_ones_quantized_on_the_device() {
    let weights = numbers(&[2, 256]);
    let device = rocm();
    let onto = QTensor::quantize_onto(&weights, GgmlDType::Q4K, &device).unwrap();
    let there = QTensor::quantize(&weights.to_device(&device).unwrap(), GgmlDType::Q4K).unwrap();
    assert_eq!(onto.data().unwrap(), there.data().unwrap());
    let importance = vec![0.5; 256];
    let with = |q: candle_core::Result<QTensor>| q.unwrap().data().unwrap().into_owned();
    assert_eq!(
        with(QTensor::quantize_imatrix_onto(
            &weights,
            &importance,
            GgmlDType::Q4K,
            &device
        )),
        with(QTensor::quantize_imatrix(&weights, &importance, GgmlDType::Q4K)),
    );
}

/// The greatest difference between the CPU's product and the device's, of 9 rows.
fn apart(format: GgmlDType) -> f32 {
    let [cpu, rocm] = both(&[23, 512], format);
    let x = numbers(&[9, 512]);
    let on_cpu = x.apply_op1_no_bwd(&cpu).unwrap();
    let on_rocm = x
        .to_device(&self::rocm())
        .unwrap()
        .apply_op1_no_bwd(&rocm)
        .unwrap();
    let pairs = floats(&on_cpu).into_iter().zip(floats(&on_rocm));
    pairs.map(|(cpu, rocm)| (cpu - rocm).abs()).fold(0.0, f32::max)
}

/// Runs in a process of its own, in which the environment asks for the CPU's rounding.
#[test]
fn products_are_the_cpus_but_for_the_order_of_sums_where_activations_are_rounded_as_there() {
    const NAME: &str =
        "products_are_the_cpus_but_for_the_order_of_sums_where_activations_are_rounded_as_there";
    const HOW: &str = "ROCM_ACTIVATIONS";
    // Sums of 512 products of about 1/3. Formats with a minimum multiply it with the sums of blocks of q8_1, which are f16.
    const ORDER: f32 = 1e-4;
    let limit = |format| match format {
        GgmlDType::Q4_1 | GgmlDType::Q5_1 => 5e-3,
        _ => ORDER,
    };
    if env::var_os(HOW).is_none() {
        assert!(apart(GgmlDType::Q4K) > ORDER, "CUDA's rounding is another");
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(HOW, "cpu")
            .status();
        assert!(child.unwrap().success());
        return;
    }
    for format in FORMATS.into_iter().filter(|format| format.block_size() > 1) {
        assert!(apart(format) < limit(format), "{format:?}: {}", apart(format));
    }
    let [_, weights] = both(&[23, 512], GgmlDType::Q6K);
    let x = numbers(&[9, 512]).to_device(&rocm()).unwrap();
    let all = x.apply_op1_no_bwd(&weights).unwrap();
    let last = x.narrow(0, 8, 1).unwrap().apply_op1_no_bwd(&weights).unwrap();
    assert_eq!(
        bits(&all.narrow(0, 8, 1).unwrap()),
        bits(&last),
        "whatever the other rows"
    );
}

#[test]
fn products_are_near_those_with_the_dequantized_weights() {
    let device = rocm();
    for format in FORMATS {
        for (m, dtype) in [
            (1, DType::F32),
            (8, DType::BF16),
            (9, DType::F16),
            (33, DType::F32),
        ] {
            let [cpu, rocm] = both(&[67, 512], format);
            let x = numbers(&[1, m, 512]).to_dtype(dtype).unwrap();
            let wide = |tensor: &Tensor| tensor.to_dtype(DType::F64).unwrap();
            let weights = wide(&cpu.dequantize(&Device::Cpu).unwrap()).t().unwrap();
            let exact = floats(&wide(&x.squeeze(0).unwrap()).matmul(&weights).unwrap());
            let got = QMatMul::QTensor(rocm.into())
                .forward(&x.to_device(&device).unwrap())
                .unwrap();
            assert_eq!((got.dims(), got.dtype()), (&[1, m, 67][..], dtype));
            let largest = exact.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
            for (got, exact) in floats(&got).into_iter().zip(exact) {
                let error = (got - exact).abs() / largest;
                assert!(
                    error < 1e-2,
                    "{format:?} {m} rows of {dtype:?}: {got}, expected {exact}"
                );
            }
        }
    }
}

#[test]
fn an_embedding_is_the_cpus_and_refuses_what_the_cpu_refuses() {
    for format in FORMATS {
        let [cpu, rocm] = both(&[5, 256], format);
        let ids = Tensor::new(&[[4_u32, 0], [4, 2]], &Device::Cpu).unwrap();
        let [from_cpu, from_rocm] = [&cpu, &rocm].map(|q| q.embedding(&ids).unwrap());
        assert_eq!(from_rocm.dims(), [2, 2, 256]);
        assert_eq!(bits(&from_cpu), bits(&from_rocm), "{format:?}");
        let beyond = Tensor::new(&[5_u32], &Device::Cpu).unwrap();
        assert!(cpu.embedding(&beyond).is_err());
        assert!(rocm.embedding(&beyond).unwrap_err().to_string().contains("id 5"));
    }
}

#[test]
fn experts_are_chosen_by_id() {
    let device = rocm();
    let [cpu, rocm] = both(&[3, 7, 256], GgmlDType::Q4K);
    let weights = cpu.dequantize(&Device::Cpu).unwrap();
    let x = numbers(&[2, 1, 256]);
    let chosen = [[2_u32, 0], [1, 2]];
    let ids = Tensor::new(&chosen, &device).unwrap();
    let got = rocm
        .indexed_moe_forward(&x.to_device(&device).unwrap(), &ids)
        .unwrap();
    assert_eq!(got.dims(), [2, 2, 7]);
    for (token, experts) in chosen.into_iter().enumerate() {
        for (choice, expert) in experts.into_iter().enumerate() {
            let expert = weights.get(expert as usize).unwrap().t().unwrap();
            let exact = floats(&x.get(token).unwrap().matmul(&expert).unwrap());
            let got = floats(&got.get(token).unwrap().get(choice).unwrap());
            for (got, exact) in got.into_iter().zip(exact) {
                assert!(
                    (got - exact).abs() < 0.1,
                    "token {token} choice {choice}: {got}, expected {exact}"
                );
            }
        }
    }
}

#[test]
fn activations_that_are_not_contiguous_are_refused_on_the_cpu_alone() {
    let [cpu, rocm] = both(&[4, 32], GgmlDType::Q4_0).map(|q| {
        let x = numbers(&[32, 3]).to_device(&q.device()).unwrap().t().unwrap();
        let product = QMatMul::QTensor(q.into());
        (
            product.forward(&x),
            product.forward(&x.contiguous().unwrap()).unwrap(),
        )
    });
    assert!(cpu.0.unwrap_err().to_string().contains("contiguous"));
    assert_eq!(floats(&rocm.0.unwrap()), floats(&rocm.1));
}

#[test]
fn rows_meet_the_matrices_of_their_experts() {
    let (rows, n, k, topk) = (3, 5, 256, 2);
    let (input, weights) = (numbers(&[rows, k]), numbers(&[4, n, k]));
    // Six results of three rows, sorted by expert.
    let tokens = [1_u32, 4, 0, 5, 2, 3];
    let experts = [0_u32, 0, 1, 2, 3, 3];
    let on = |tensor: &Tensor| tensor.to_device(&rocm()).unwrap();
    let ids = |ids: &[u32]| Tensor::new(ids, &rocm()).unwrap();
    let quantized =
        |device: &Device| QTensor::quantize(&weights.to_device(device).unwrap(), GgmlDType::Q8_0).unwrap();
    let plain = candle_core::rocm::moe_gemm(
        &on(&input),
        &on(&weights),
        &None,
        &ids(&tokens),
        &ids(&experts),
        topk,
        true,
    );
    let blocks = candle_core::rocm::moe_gemm_gguf(
        &on(&input),
        &quantized(&rocm()),
        &None,
        &ids(&tokens),
        &ids(&experts),
        topk,
        false,
        DType::F16,
    );
    let of_blocks = quantized(&Device::Cpu).dequantize(&Device::Cpu).unwrap();
    for (out, weights) in [(plain.unwrap(), &weights), (blocks.unwrap(), &of_blocks)] {
        assert_eq!(out.dims(), [rows * topk, n]);
        for (token, expert) in tokens.into_iter().zip(experts) {
            let (token, expert) = (token as usize, expert as usize);
            let row = input.narrow(0, token / topk, 1).unwrap();
            let want = row.matmul(&weights.get(expert).unwrap().t().unwrap()).unwrap();
            let got = out.get(token).unwrap();
            for (got, want) in floats(&got).into_iter().zip(floats(&want)) {
                // 256 terms of at most 1 in f32, in any order.
                assert!(
                    (got - want).abs() <= 256.0 * 256.0 * f32::EPSILON,
                    "token {token}: {got} {want}"
                );
            }
        }
    }
    let refusal =
        candle_core::rocm::moe_gemm(&input, &weights, &None, &ids(&tokens), &ids(&experts), topk, true);
    assert!(refusal.unwrap_err().to_string().contains("not on a ROCm device"));
}
