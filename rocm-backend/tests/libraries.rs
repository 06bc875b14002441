//! What AMD's libraries serve, through their models on the host, against this crate's own kernels on the same inputs. A
//! process has one or the other, so each is asked in a child: an ignored test of this file.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::process::Command;

use half::{bf16, f16};
use rocm_backend::ops::{self, Window};
use rocm_backend::{DType, Device, DynBuffer, View, trace};

#[path = "on_device/ggml_blocks.rs"]
#[expect(dead_code, reason = "other tests of blocks want more kinds of numbers")]
mod ggml_blocks;

use ggml_blocks::{PRODUCTS, Random, Values, blocks};

const BEGIN: &str = "<<results";
const END: &str = "results>>";
const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// What a child computed: numbers by name, and who served what.
struct Answer {
    results: BTreeMap<String, Vec<f64>>,
    served: Vec<String>,
}

/// What the child says with `ROCM_LIBRARIES=libraries` on the software device.
fn ask(libraries: &str) -> Answer {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_computes", "--ignored", "--nocapture"])
        .env("ROCM_DRIVER", "soft")
        .env("ROCM_LIBRARIES", libraries)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (_, rest) = text.split_once(BEGIN).unwrap();
    let (body, _) = rest.split_once(END).unwrap();
    let mut answer = Answer {
        results: BTreeMap::new(),
        served: Vec::new(),
    };
    for line in body.lines().filter(|line| !line.is_empty()) {
        let (name, rest) = line.split_once(": ").unwrap();
        if name == "served" {
            answer.served.push(rest.to_owned());
        } else {
            let numbers = rest.split(' ').map(|x| x.parse().unwrap()).collect();
            answer.results.insert(name.to_owned(), numbers);
        }
    }
    answer
}

fn upload(device: &Device, dtype: DType, values: &[f32]) -> DynBuffer {
    let bytes: Vec<u8> = match dtype {
        DType::F16 => values
            .iter()
            .flat_map(|&x| f16::from_f32(x).to_le_bytes())
            .collect(),
        DType::BF16 => values
            .iter()
            .flat_map(|&x| bf16::from_f32(x).to_le_bytes())
            .collect(),
        DType::F64 => values.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    DynBuffer::from_bytes(device, dtype, &bytes).unwrap()
}

fn numbers(buffer: &DynBuffer) -> Vec<f64> {
    let bytes = buffer.download_bytes().unwrap();
    let elements = bytes.chunks_exact(buffer.dtype().size_in_bytes());
    elements
        .map(|x| match buffer.dtype() {
            DType::F16 => f16::from_le_bytes(x.try_into().unwrap()).to_f64(),
            DType::BF16 => bf16::from_le_bytes(x.try_into().unwrap()).to_f64(),
            DType::F64 => f64::from_le_bytes(x.try_into().unwrap()),
            _ => f32::from_le_bytes(x.try_into().unwrap()).into(),
        })
        .collect()
}

/// Whole numbers from -3 to 3: products and sums of a few are exact in every dtype here.
fn whole(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 5 + seed) % 7) as f32 - 3.0).collect()
}

/// A packed tensor.
struct Tensor {
    buffer: DynBuffer,
    dims: Vec<usize>,
    strides: Vec<usize>,
}

impl Tensor {
    fn new(device: &Device, dtype: DType, dims: &[usize], seed: usize) -> Tensor {
        let strides = (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect();
        Tensor {
            buffer: upload(device, dtype, &whole(dims.iter().product(), seed)),
            dims: dims.to_vec(),
            strides,
        }
    }

    fn view(&self) -> View<'_> {
        View::new(&self.buffer, &self.dims, &self.strides)
    }
}

/// Convolutions that are worth a product of matrices, of inputs that MIOpen does not take as they lie; in f64 it takes none.
fn convolve_much(device: &Device, dtype: DType, tell: &mut impl FnMut(String, DynBuffer)) {
    let tensor = |dims: &[usize], seed| Tensor::new(device, dtype, dims, seed);
    let window = |padding, stride, dilation| Window {
        stride,
        padding,
        dilation,
    };
    // Every second image and channel of a tensor, its rows and pixels turned.
    let (dims, strides) = ([2, 8, 17, 19], [2 * 16 * 19 * 17, 2 * 19 * 17, 1, 17]);
    for (c_out, padding, stride, dilation) in [(72, 2, 1, 2), (150, 3, 2, 1)] {
        let (x, k) = (tensor(&[4, 16, 19, 17], 10), tensor(&[c_out, 8, 3, 5], 11));
        let turned = View::new(&x.buffer, &dims, &strides).at(19 * 17);
        let y = ops::conv2d(turned, k.view(), window(padding, stride, dilation)).unwrap();
        tell(format!("much conv2d {dtype} {padding} {stride} {dilation}"), y);
    }
    let (x, k) = (tensor(&[3, 8, 2000], 12), tensor(&[64, 8, 3], 13));
    let (dims, strides) = ([3, 8, 999], [8 * 2000, 2000, 2]);
    for (padding, stride, dilation) in [(1, 1, 1), (5, 1, 7)] {
        let stepped = View::new(&x.buffer, &dims, &strides).at(1);
        let y = ops::conv1d(stepped, k.view(), window(padding, stride, dilation)).unwrap();
        tell(format!("much conv1d {dtype} {padding} {stride} {dilation}"), y);
    }
    // A window of one pixel: the columns are the input itself, where that is contiguous.
    let (x, k) = (tensor(&[2, 32, 33, 36], 14), tensor(&[64, 32, 1, 1], 15));
    let y = ops::conv2d(x.view(), k.view(), Window::default()).unwrap();
    tell(format!("much conv2d {dtype} pixels"), y);
}

/// Products of quantized weights with many rows. All numbers are whole, and every block of activations has the greatest, 127: so
/// q8_1 rounds none of them, and neither does bf16.
fn multiply_quantized(device: &Device, dtype: DType, tell: &mut impl FnMut(String, DynBuffer)) {
    let (rows, n, k) = (33, 150, 512);
    let numbers = (0..rows * k).map(|i| match i % 32 {
        5 => 127.0,
        _ => ((i * 37) % 255) as f32 - 127.0,
    });
    let x = upload(device, dtype, &numbers.collect::<Vec<_>>());
    for &ty in PRODUCTS {
        let values = vec![Values::Exact; n * k / ty.block_len()];
        let coded = blocks(ty, &values, &mut Random(21));
        let blocks = DynBuffer::from_bytes(device, DType::U8, &coded.bytes).unwrap();
        let y = ops::qmatmul(ty, &blocks, (n, k), View::contiguous(&x, &[rows, k])).unwrap();
        tell(format!("qmatmul {dtype} {}", ty.name()), y);
    }
}

#[test]
#[ignore = "the child process of this file's other tests"]
fn child_that_computes() {
    let device = Device::new(0).unwrap();
    let mut told = Vec::new();
    let mut tell = |name: String, buffer: DynBuffer| told.push((name, numbers(&buffer)));
    for dtype in FLOATS {
        let tensor = |dims: &[usize], seed| Tensor::new(&device, dtype, dims, seed);
        for (padding, stride, dilation) in [(0, 1, 1), (2, 2, 1), (1, 1, 2), (3, 2, 3)] {
            let at = format!("{dtype} {padding} {stride} {dilation}");
            let window = Window {
                stride,
                padding,
                dilation,
            };
            let (x, k) = (tensor(&[2, 3, 11], 1), tensor(&[4, 3, 3], 2));
            let y = ops::conv1d(x.view(), k.view(), window).unwrap();
            tell(format!("conv1d {at}"), y);
            let (x, k) = (tensor(&[2, 3, 9, 8], 3), tensor(&[5, 3, 3, 2], 4));
            let y = ops::conv2d(x.view(), k.view(), window).unwrap();
            tell(format!("conv2d {at}"), y);
            for extra in [0, stride - 1] {
                let (x, k) = (tensor(&[2, 3, 7], 5), tensor(&[3, 4, 3], 6));
                let y = ops::conv_transpose1d(x.view(), k.view(), window, extra).unwrap();
                tell(format!("conv_transpose1d {at} {extra}"), y);
                let (x, k) = (tensor(&[1, 3, 6, 5], 7), tensor(&[3, 2, 2, 3], 8));
                let y = ops::conv_transpose2d(x.view(), k.view(), window, extra).unwrap();
                tell(format!("conv_transpose2d {at} {extra}"), y);
            }
        }
        convolve_much(&device, dtype, &mut tell);
        multiply_quantized(&device, dtype, &mut tell);
        let x = tensor(&[2, 3, 8, 6], 9);
        for (window, stride) in [((2, 2), (2, 2)), ((4, 2), (1, 3))] {
            let y = ops::avg_pool2d(x.view(), window, stride).unwrap();
            tell(format!("avg_pool2d {dtype} {window:?} {stride:?}"), y);
            let y = ops::max_pool2d(x.view(), window, stride).unwrap();
            tell(format!("max_pool2d {dtype} {window:?} {stride:?}"), y);
        }
    }
    convolve_much(&device, DType::F64, &mut tell);
    for dtype in [DType::F32, DType::F64, DType::F16] {
        device.set_seed(42);
        for len in [1, 6, 1001] {
            let y = ops::rand_uniform(&device, dtype, len, -2.0, 6.0).unwrap();
            tell(format!("rand_uniform {dtype} {len}"), y);
            let y = ops::rand_normal(&device, dtype, len, 1.0, 3.0).unwrap();
            tell(format!("rand_normal {dtype} {len}"), y);
        }
    }
    println!("{BEGIN}");
    for (name, numbers) in told {
        let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
        println!("{name}: {}", numbers.join(" "));
    }
    for served in trace::served(&device) {
        println!("served: {} {} {}", served.op, served.by, served.level);
    }
    println!("{END}");
}

#[test]
fn convolutions_and_poolings_of_whole_numbers_are_the_same_either_way() {
    let (kernels, models) = (ask("native"), ask("model"));
    let of_images = |answer: &Answer| -> Vec<(String, Vec<f64>)> {
        let results = answer
            .results
            .iter()
            .filter(|(name, _)| !name.starts_with("rand") && !name.starts_with("qmatmul"));
        results
            .map(|(name, numbers)| (name.clone(), numbers.clone()))
            .collect()
    };
    let (kernels, models) = (of_images(&kernels), of_images(&models));
    assert_eq!(kernels.len(), 3 * (4 * (2 + 2) + 4) + 3 * 2 * 2 + 4 * (2 + 2 + 1));
    for ((name, want), (_, got)) in kernels.iter().zip(&models) {
        assert_eq!(got, want, "{name}");
    }
    assert!(
        kernels
            .iter()
            .any(|(_, numbers)| numbers.iter().any(|&x| x != 0.0))
    );
}

#[test]
fn quantized_weights_times_many_rows_are_the_same_either_way() {
    let (kernels, models) = (ask("native"), ask("model"));
    let products = |answer: &Answer| -> Vec<(String, Vec<f64>)> {
        let results = answer
            .results
            .iter()
            .filter(|(name, _)| name.starts_with("qmatmul"));
        results
            .map(|(name, numbers)| (name.clone(), numbers.clone()))
            .collect()
    };
    let (kernels, models) = (products(&kernels), products(&models));
    assert_eq!(kernels.len(), FLOATS.len() * PRODUCTS.len());
    assert_eq!(kernels, models);
    // The negative control: they are numbers of some size, and not those of another format.
    assert!(
        kernels
            .iter()
            .all(|(_, numbers)| numbers.iter().any(|x| x.abs() > 100.0))
    );
    assert_ne!(kernels[0].1, kernels[1].1);
}

#[test]
fn random_numbers_come_from_the_same_words_either_way() {
    let (kernels, models) = (ask("native"), ask("model"));
    for (name, want) in kernels
        .results
        .iter()
        .filter(|(name, _)| name.starts_with("rand"))
    {
        let mut got = models.results[name].clone();
        assert_eq!(got.len(), want.len(), "{name}");
        let mut words = name.split(' ');
        match (words.next().unwrap(), words.next().unwrap()) {
            // No library draws these.
            (_, "f16") => assert_eq!(&got, want, "{name}"),
            ("rand_uniform", "f32") => {
                // One step of the coarser of the two, of a range of 8.
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 8.0 * 2f64.powi(-23);
                assert!(got.iter().zip(want).all(close), "{name}");
                assert!(got.iter().all(|x| (-2.0..6.0).contains(x)), "{name}");
            }
            ("rand_normal", "f32") => {
                got.chunks_mut(2)
                    .filter(|pair| pair.len() == 2)
                    .for_each(|pair| pair.swap(0, 1));
                let pairs = got.len() / 2 * 2;
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4;
                assert!(got[..pairs].iter().zip(want).all(close), "{name}");
            }
            // Words are put together to 53 bits in another way.
            _ => assert_ne!(&got, want, "{name}"),
        }
    }
    assert_eq!(models.results, ask("model").results, "one seed, the same numbers");
}

#[test]
fn what_served_is_told_with_its_level() {
    let models = ask("model").served;
    for served in [
        "conv1d miopenConvolutionForwardImmediate model",
        "conv2d miopenConvolutionForwardImmediate model",
        "conv1d rocblas_gemm_strided_batched_ex model",
        "conv2d rocblas_gemm_strided_batched_ex model",
        "conv_transpose1d miopenConvolutionBackwardDataImmediate model",
        "conv_transpose2d miopenConvolutionBackwardDataImmediate model",
        "qmatmul rocblas_gemm_strided_batched_ex model",
        "avg_pool2d miopenPoolingForward model",
        "avg_pool2d avg_pool2d isa",
        "max_pool2d max_pool2d isa",
        "rand_uniform rocrand_generate_uniform model",
        "rand_uniform rocrand_generate_uniform_double model",
        "rand_normal rocrand_generate_normal model",
        "rand_normal rocrand_generate_normal_double model",
        "rand_normal rand_normal isa",
    ] {
        assert!(models.iter().any(|line| line == served), "{served} in {models:?}");
    }
    let kernels = ask("native").served;
    assert!(
        !kernels.is_empty() && kernels.iter().all(|line| line.ends_with(" isa")),
        "{kernels:?}"
    );
}
