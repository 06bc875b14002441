//! Random numbers: the generator against its published vectors, distributions against their laws at fixed seeds, and what
//! a seed promises.

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, Error, ops};

use crate::support::{another_device, device, download};

const FLOATS: [DType; 5] = [DType::BF16, DType::F16, DType::F32, DType::F64, DType::F8E4M3];

/// The elements of a buffer of floats.
fn numbers(buffer: &DynBuffer) -> Vec<f64> {
    let bytes = buffer.download_bytes().unwrap();
    let two = |f: fn([u8; 2]) -> f64| bytes.chunks_exact(2).map(|x| f(x.try_into().unwrap())).collect();
    match buffer.dtype() {
        DType::BF16 => two(|x| bf16::from_le_bytes(x).to_f64()),
        DType::F16 => two(|x| f16::from_le_bytes(x).to_f64()),
        DType::F32 => download::<f32>(buffer).into_iter().map(f64::from).collect(),
        DType::F64 => download::<f64>(buffer),
        DType::F8E4M3 => bytes.iter().map(|&x| F8E4M3::from_bits(x).to_f64()).collect(),
        other => panic!("{other} is not a float"),
    }
}

fn seeded(seed: u64) -> Device {
    let device = device();
    device.set_seed(seed);
    device
}

#[test]
fn philox_makes_the_published_words() {
    // Random123 1.14, tests/kat_vectors, "philox4x32 10": counter and key, then the words, least word first.
    let words = |words: [u32; 4]| {
        words
            .iter()
            .rev()
            .fold(0, |wide, &word| wide << 32 | u128::from(word))
    };
    let device = device();
    for (counter, key, wanted) in [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        (
            [u32::MAX; 4],
            [u32::MAX; 2],
            [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
        ),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ] {
        let key = words([key[0], key[1], 0, 0]) as u64;
        let out = ops::philox(&device, 4, key, words(counter)).unwrap();
        assert_eq!(download::<u32>(&out), wanted, "counter {counter:x?}, key {key:x}");
    }
}

#[test]
fn philox_counts_on_through_all_its_128_bits() {
    let device = device();
    for start in [0, u128::from(u32::MAX), u128::from(u64::MAX) - 2, u128::MAX - 1] {
        let run = download::<u32>(&ops::philox(&device, 4 * 5, 3, start).unwrap());
        let single = (0..5)
            .flat_map(|i| download::<u32>(&ops::philox(&device, 4, 3, start.wrapping_add(i)).unwrap()))
            .collect::<Vec<_>>();
        assert_eq!(run, single, "from {start}");
    }
}

#[test]
fn uniform_numbers_are_the_words_of_the_seed_scaled_to_the_range() {
    let device = seeded(77);
    let words = download::<u32>(&ops::philox(&device, 1000, 77, 0).unwrap());
    let out = ops::rand_uniform(&device, DType::F32, 1000, -2.0, 6.0).unwrap();
    let wanted: Vec<f32> = words
        .iter()
        .map(|word| ((word >> 8) as f32 * 2f32.powi(-24)).mul_add(8.0, -2.0))
        .collect();
    assert_eq!(download::<f32>(&out), wanted);
    device.set_seed(77);
    let out = ops::rand_uniform(&device, DType::F64, 500, -2.0, 6.0).unwrap();
    let wanted: Vec<f64> = words
        .chunks_exact(2)
        .map(|pair| (u64::from(pair[1]) << 32 | u64::from(pair[0])) >> 11)
        .map(|bits| (bits as f64 * 2f64.powi(-53)).mul_add(8.0, -2.0))
        .collect();
    assert_eq!(download::<f64>(&out), wanted);
}

#[test]
fn normal_numbers_are_those_of_box_and_muller_for_the_words_of_the_seed() {
    let device = seeded(78);
    let words = download::<u32>(&ops::philox(&device, 1000, 78, 0).unwrap());
    let wanted = words.chunks_exact(2).flat_map(|pair| {
        let [a, b] = [pair[0], pair[1] >> 8 << 8].map(|word| f64::from(word) * 2f64.powi(-32));
        let radius = (-2.0 * (a + 2f64.powi(-33)).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * b).sin_cos();
        [radius * cos, radius * sin].map(|z| 3.0 + 0.5 * z)
    });
    let out = ops::rand_normal(&device, DType::F32, 1000, 3.0, 0.5).unwrap();
    for (i, (x, y)) in numbers(&out).into_iter().zip(wanted).enumerate() {
        assert!((x - y).abs() < 4e-6, "number {i}: {x}, expected {y}");
    }
}

#[test]
fn a_seed_makes_the_same_numbers_again_and_another_seed_others() {
    for dtype in FLOATS {
        let device = seeded(5);
        let draw = || {
            let uniform = ops::rand_uniform(&device, dtype, 65, 0.0, 1.0).unwrap();
            let normal = ops::rand_normal(&device, dtype, 33, 0.0, 1.0).unwrap();
            [numbers(&uniform), numbers(&normal)]
        };
        let (first, second) = (draw(), draw());
        assert_ne!(first, second, "{dtype}: the sequence goes on");
        device.set_seed(5);
        assert_eq!([draw(), draw()], [first.clone(), second], "{dtype}");
        device.set_seed(6);
        assert_ne!(draw(), first, "{dtype}");
    }
}

#[test]
fn clones_of_a_device_share_its_sequence_and_other_devices_have_their_own() {
    let one = seeded(5);
    let draw = |device: &Device| numbers(&ops::rand_uniform(device, DType::F32, 8, 0.0, 1.0).unwrap());
    let first = draw(&one);
    assert_ne!(draw(&one.clone()), first);
    assert_eq!(draw(&seeded(5)), first);
    assert_eq!((one.seed(), another_device().seed()), (5, 299_792_458));
}

#[test]
fn a_longer_draw_begins_with_the_shorter_one_at_every_length() {
    let lengths = [0, 1, 2, 3, 4, 5, 31, 33, 255, 257, 1023, 1025];
    for dtype in FLOATS {
        let draw = |len| {
            let uniform = ops::rand_uniform(&seeded(9), dtype, len, -1.0, 1.0).unwrap();
            let normal = ops::rand_normal(&seeded(9), dtype, len, 0.0, 1.0).unwrap();
            [uniform, normal].map(|buffer| numbers(&buffer))
        };
        let longest = draw(1500);
        for len in lengths {
            let wanted = longest.each_ref().map(|numbers| numbers[..len].to_vec());
            assert_eq!(draw(len), wanted, "{dtype}, {len}");
        }
    }
}

#[test]
fn uniform_numbers_stay_below_the_upper_limit_and_reach_the_number_before_it() {
    for (dtype, last) in [
        (DType::BF16, 2f64.powi(-8)),
        (DType::F16, 2f64.powi(-11)),
        (DType::F8E4M3, 2f64.powi(-4)),
    ] {
        let x = numbers(&ops::rand_uniform(&seeded(3), dtype, 20_000, 0.0, 1.0).unwrap());
        let greatest = x.iter().copied().fold(f64::MIN, f64::max);
        assert_eq!(greatest, 1.0 - last, "{dtype}");
    }
    // Ranges of one or two numbers, where rounding would reach the limit in every second draw.
    for (dtype, lo, up, wanted) in [
        (DType::F16, 1.0, 1.0 + 2f64.powi(-10), vec![1.0]),
        (DType::F32, 1.0, 1.0 + 2f64.powi(-23), vec![1.0]),
        (DType::F64, 1.0, 1.0 + 2f64.powi(-52), vec![1.0]),
        (DType::F8E4M3, -1.125, -0.9375, vec![-1.125, -1.0]),
        (DType::F32, -(2f64.powi(-149)), 0.0, vec![-(2f64.powi(-149))]),
    ] {
        let mut x = numbers(&ops::rand_uniform(&seeded(3), dtype, 100, lo, up).unwrap());
        x.sort_by(f64::total_cmp);
        x.dedup();
        assert_eq!(x, wanted, "{dtype} from {lo} up to {up}");
    }
}

/// The greatest distance between the share of `x` up to a value and the law's, times the root of the count.
fn kolmogorov(mut x: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
    x.sort_by(f64::total_cmp);
    let count = x.len() as f64;
    let distance = x.iter().enumerate().map(|(i, &x)| {
        let (below, upto) = (i as f64 / count, (i + 1) as f64 / count);
        (law(x) - below).abs().max((upto - law(x)).abs())
    });
    distance.fold(0.0, f64::max) * count.sqrt()
}

fn mean_and_variance(x: &[f64]) -> (f64, f64) {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count)
}

/// The normal distribution function, by Simpson's rule.
fn normal_law(x: f64) -> f64 {
    const STEPS: u32 = 200;
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let h = x / f64::from(STEPS);
    let inner = (1..STEPS).map(|i| density(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 });
    0.5 + (density(0.0) + density(x) + inner.sum::<f64>()) * h / 3.0
}

const COUNT: usize = 10_001;
/// A true sample's Kolmogorov distance is beyond this once in a thousand seeds.
const KOLMOGOROV: f64 = 1.95;

#[test]
fn uniform_numbers_follow_the_uniform_law() {
    for dtype in [DType::F32, DType::F64] {
        let x = numbers(&ops::rand_uniform(&seeded(1), dtype, COUNT, 2.0, 6.0).unwrap());
        let distance = kolmogorov(x.clone(), |x| (x - 2.0) / 4.0);
        assert!(distance < KOLMOGOROV, "{dtype}: {distance}");
        let wrong = kolmogorov(x, |x| (x - 2.0) / 4.2);
        assert!(
            wrong > KOLMOGOROV,
            "a range five in a hundred wider is told apart: {wrong}"
        );
    }
}

#[test]
fn normal_numbers_follow_the_normal_law() {
    for dtype in [DType::F32, DType::F64] {
        let x = numbers(&ops::rand_normal(&seeded(2), dtype, COUNT, -1.0, 3.0).unwrap());
        let distance = kolmogorov(x.clone(), |x| normal_law((x + 1.0) / 3.0));
        assert!(distance < KOLMOGOROV, "{dtype}: {distance}");
        let wrong = kolmogorov(x, |x| normal_law((x + 1.0) / 3.3));
        assert!(wrong > KOLMOGOROV, "a tenth more width is told apart: {wrong}");
    }
}

#[test]
fn mean_and_variance_are_those_of_the_distribution_in_every_dtype() {
    // Five standard errors of a sample of COUNT, and what rounding to the coarsest dtype may add.
    let root = (COUNT as f64).sqrt();
    for dtype in FLOATS {
        let (mean, variance) = mean_and_variance(&numbers(
            &ops::rand_uniform(&seeded(4), dtype, COUNT, 0.0, 1.0).unwrap(),
        ));
        assert!(
            (mean - 0.5).abs() < 5.0 * 0.289 / root,
            "{dtype}: uniform mean {mean}"
        );
        assert!(
            (variance - 1.0 / 12.0).abs() < 5.0 * 0.075 / root,
            "{dtype}: uniform variance {variance}"
        );
        let (mean, variance) = mean_and_variance(&numbers(
            &ops::rand_normal(&seeded(4), dtype, COUNT, 0.0, 1.0).unwrap(),
        ));
        assert!(mean.abs() < 5.0 / root, "{dtype}: normal mean {mean}");
        assert!(
            (variance - 1.0).abs() < 5.0 * 1.42 / root,
            "{dtype}: normal variance {variance}"
        );
    }
}

#[test]
fn neighbours_are_not_correlated() {
    for dtype in [DType::F32, DType::F64] {
        let x = numbers(&ops::rand_normal(&seeded(8), dtype, COUNT, 0.0, 1.0).unwrap());
        for distance in 1..=5 {
            let products = x.iter().zip(&x[distance..]).map(|(x, y)| x * y);
            let correlation = products.sum::<f64>() / (COUNT - distance) as f64;
            assert!(
                correlation.abs() < 5.0 / (COUNT as f64).sqrt(),
                "{dtype}, {distance} apart: {correlation}"
            );
        }
    }
}

#[test]
fn what_is_no_distribution_is_refused() {
    let device = device();
    let uniform = |dtype, lo, up| ops::rand_uniform(&device, dtype, 4, lo, up).map(drop);
    let normal = |dtype, mean, std| ops::rand_normal(&device, dtype, 4, mean, std).map(drop);
    for (i, refusal) in [
        uniform(DType::F32, 1.0, 1.0),
        uniform(DType::F32, 1.0, 0.0),
        uniform(DType::F32, f64::NAN, 1.0),
        uniform(DType::F32, 0.0, f64::INFINITY),
        uniform(DType::F32, f64::from(f32::MIN), f64::from(f32::MAX)),
        uniform(DType::F64, f64::MIN, f64::MAX),
        uniform(DType::F8E4M3, 1.0, 1.01), // one number, once rounded
        normal(DType::F32, 0.0, f64::INFINITY),
        normal(DType::F64, 0.0, f64::NAN),
        normal(DType::F16, 0.0, 1e6),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(
            matches!(refusal, Err(Error::Parameter { .. })),
            "{i}: {refusal:?}"
        );
    }
    for dtype in DType::ALL.iter().copied().filter(|dtype| !FLOATS.contains(dtype)) {
        assert!(
            matches!(uniform(dtype, 0.0, 1.0), Err(Error::Unsupported { .. })),
            "{dtype}"
        );
        assert!(
            matches!(normal(dtype, 0.0, 1.0), Err(Error::Unsupported { .. })),
            "{dtype}"
        );
    }
    assert!(uniform(DType::F16, -65504.0, 65504.0).is_ok());
    assert!(normal(DType::F32, 0.0, 0.0).is_ok());
}
