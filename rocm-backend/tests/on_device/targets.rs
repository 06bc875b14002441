//! The software GPU as another card: these tests again on each card under the sanitizer, and the same bits from waves of 32 lanes
//! and of 64.
//!
//! A process has one device, so the other card runs in a child: this test program itself.

use std::process::Command;

use rocm_backend::ops::{self, Binary, Compare, Unary, UnaryParam};
use rocm_backend::{DType, Device, DynBuffer, View};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sanitizer {
    On,
    /// Where results and counts are compared, of kernels that other tests run under it: it takes five times as long.
    Off,
}

const TARGETS: [&str; 2] = ["gfx1100", "gfx942"];

/// What takes seven seconds and more under the sanitizer, and runs without: other tests have these kernels under it, and so have the cases
/// of `ci/all-families`.
const LONGEST: [&str; 5] = [
    LARGEST,
    "ternary::where_of_two_packs_a_thread_takes_the_chosen_elements",
    "extremes::extremes_of_packs_of_columns_are_right_where_the_first_loads_were_of_nan",
    "extremes::extremes_of_long_columns_are_right_for_every_dtype",
    "extremes::extremes_are_right_where_whole_waves_have_met_nothing_but_nan",
];

/// Of 65,537 workgroups.
const LARGEST: &str = "matmul::a_batch_larger_than_a_grid_is_computed_to_its_last_matrix";

/// What this test program prints with `args` on a software card, whose sanitizer, where it is asked for, finds nothing.
#[track_caller]
fn run(target: &str, sanitizer: Sanitizer, args: &[&str]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(args)
        .env("ROCM_DRIVER", "soft")
        .env("ROCM_SOFT_TARGET", target)
        .env(
            "ROCM_SANITIZE",
            if sanitizer == Sanitizer::On { "1" } else { "0" },
        );
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{target}: {text}");
    text
}

#[test]
fn every_other_test_passes_on_waves_of_64_lanes_under_the_sanitizer() {
    every_other_test_passes("gfx942");
}

#[test]
fn every_other_test_passes_on_waves_of_32_lanes_under_the_sanitizer() {
    every_other_test_passes("gfx1100");
}

/// CDNA 2 and RDNA 4 have matrix instructions of their own; their code objects are compiled when they are asked for.
#[cfg(feature = "compile")]
#[test]
fn products_pass_on_the_matrix_cores_of_cdna_2_and_rdna_4() {
    for target in ["gfx90a", "gfx1201"] {
        let args = [
            "matmul::",
            "--skip",
            "in_a_process_of_their_own",
            "--skip",
            LARGEST,
        ];
        let text = run(target, Sanitizer::On, &args);
        assert!(text.contains("test result: ok. 13 passed"), "{target}: {text}");
    }
}

#[track_caller]
fn every_other_test_passes(target: &str) {
    let longest = LONGEST.iter().flat_map(|name| ["--skip", name]);
    let args: Vec<&str> = ["--skip", "targets::"].into_iter().chain(longest).collect();
    let text = run(target, Sanitizer::On, &args);
    let passed = text
        .split_once("test result: ok. ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    assert!(passed.is_some_and(|passed: usize| passed > 20), "{text}");
}

#[test]
fn the_longest_tests_pass_on_waves_of_64_lanes() {
    let args = [&["--exact"][..], &LONGEST].concat();
    let text = run("gfx942", Sanitizer::Off, &args);
    let all = format!("test result: ok. {} passed", LONGEST.len());
    assert!(text.contains(&all), "{text}");
}

#[test]
fn a_long_prefill_takes_a_third_of_the_instructions_of_a_matrix_of_scores() {
    let child = "attention::child_that_counts_the_instructions_of_a_long_prefill";
    for target in TARGETS {
        let text = run(target, Sanitizer::Off, &["--exact", child, "--ignored"]);
        assert!(text.contains("test result: ok. 1 passed"), "{text}");
    }
}

#[test]
fn both_cards_give_the_same_bits() {
    let child = [
        "--exact",
        "targets::child_that_prints_its_results",
        "--ignored",
        "--nocapture",
    ];
    let [narrow, wide] = TARGETS.map(|target| run(target, Sanitizer::Off, &child));
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| Some(line.split_once("result ")?.1.to_owned()))
            .collect()
    };
    let (narrow, wide) = (lines(&narrow), lines(&wide));
    assert_eq!(
        (narrow[0].as_str(), wide[0].as_str()),
        ("gfx1100 32", "gfx942 64")
    );
    assert!(
        narrow.len() > 200 && narrow.len() == wide.len(),
        "{} results",
        narrow.len()
    );
    let different: Vec<_> = narrow[1..]
        .iter()
        .zip(&wide[1..])
        .filter(|(a, b)| a != b)
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}

/// Bytes that look random, with the ends of every type and of every floating-point range among them.
fn bytes(seed: u64, elements: usize, size: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 16
    };
    let ends = [0x00, 0x80, 0x3f, 0x40, 0x7f, 0xff, 0xbf, 0x7c];
    let element = |i: usize, next: &mut dyn FnMut() -> u64| -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..size).map(|_| next() as u8).collect();
        // Zeros, ones, infinities and small numbers: few bits, and those at the top.
        if i.is_multiple_of(3) {
            bytes[..size - 1].fill(if i.is_multiple_of(2) { 0 } else { 0xff });
            bytes[size - 1] = ends[next() as usize % ends.len()];
        }
        bytes
    };
    (0..elements).flat_map(|i| element(i, &mut next)).collect()
}

/// Sign aside, the bits of infinity, for a float.
fn infinity(dtype: DType) -> Option<u64> {
    match dtype {
        DType::BF16 => Some(0x7f80),
        DType::F16 => Some(0x7c00),
        DType::F32 => Some(0x7f80_0000),
        DType::F64 => Some(0x7ff0_0000_0000_0000),
        _ => None,
    }
}

/// FNV-1a of a result's bytes. All NaNs count as one: whose payload a sum of two has depends on the order in which the
/// compiler put the operands.
fn digest(buffer: &DynBuffer) -> u64 {
    let size = buffer.dtype().size_in_bytes();
    let mut bytes = buffer.download_bytes().unwrap();
    for element in bytes.chunks_exact_mut(size) {
        let bits = element
            .iter()
            .rev()
            .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let magnitude = bits & (u64::MAX >> (65 - 8 * size));
        if infinity(buffer.dtype()).is_some_and(|infinity| magnitude > infinity) {
            element.fill(0xff);
        }
    }
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

const DTYPES: [DType; 9] = [
    DType::U8,
    DType::U32,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
];

#[test]
#[ignore = "the child process of this file's other tests"]
fn child_that_prints_its_results() {
    let device = Device::new(0).unwrap();
    println!("result {} {}", device.info().target(), device.info().warp_size());
    for dtype in DTYPES {
        let size = dtype.size_in_bytes();
        // Every 16-bit number, and as many of the others.
        let len = 1 << 16;
        let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let x = DynBuffer::from_bytes(&device, dtype, &if size == 2 { all } else { bytes(1, len, size) })
            .unwrap();
        let y = DynBuffer::from_bytes(&device, dtype, &bytes(2, len, size)).unwrap();
        let flat = |buffer| View::new(buffer, &[1 << 16], &[1]);
        let turned = |buffer| View::new(buffer, &[64, 1000], &[1, 64]).at(7);
        let print = |kernel: &str, result: rocm_backend::Result<DynBuffer>| {
            // A kernel that a dtype does not have, no card has.
            let text = result.map_or_else(
                |error| error.to_string(),
                |buffer| format!("{:016x}", digest(&buffer)),
            );
            println!("result {kernel} {dtype} {text}");
        };
        for &op in Unary::ALL {
            print(op.name(), ops::unary(op, flat(&x)));
            print(op.name(), ops::unary(op, turned(&x)));
        }
        for &op in UnaryParam::ALL {
            print(op.name(), ops::unary_param(op, 1.7, flat(&x)));
        }
        for &op in Binary::ALL {
            print(op.name(), ops::binary(op, flat(&x), flat(&y)));
            print(op.name(), ops::binary(op, turned(&x), turned(&y)));
        }
        for &op in Compare::ALL {
            print(op.name(), ops::compare(op, flat(&x), flat(&y)));
        }
        print("affine", ops::affine(turned(&x), 1.25, -3.5));
    }
}
