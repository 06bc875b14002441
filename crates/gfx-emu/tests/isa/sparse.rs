//! The sparse matrix cores of CDNA3 against a dense product, of which each four elements in a row of A have two.

use crate::lines::ask_together;
use crate::llvm::CDNA3;
use crate::matrix::{Element, fill, place};
use crate::wave::{Numbers, probe64, run};
use Element::{Bf8, Bf16, F16, F32, Fp8, I8};

/// Mnemonic, rows and columns, depth, element types.
type Shape = (&'static str, usize, usize, Element, Element);

const SHAPES: &[Shape] = &[
    ("v_smfmac_f32_16x16x32_f16", 16, 32, F16, F16),
    ("v_smfmac_f32_32x32x16_f16", 32, 16, F16, F16),
    ("v_smfmac_f32_16x16x32_bf16", 16, 32, Bf16, Bf16),
    ("v_smfmac_f32_32x32x16_bf16", 32, 16, Bf16, Bf16),
    ("v_smfmac_i32_16x16x64_i8", 16, 64, I8, I8),
    ("v_smfmac_i32_32x32x32_i8", 32, 32, I8, I8),
    ("v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, Bf8, Bf8),
    ("v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, Bf8, Fp8),
    ("v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, Fp8, Bf8),
    ("v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, Fp8, Fp8),
    ("v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, Bf8, Bf8),
    ("v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, Bf8, Fp8),
    ("v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, Fp8, Bf8),
    ("v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, Fp8, Fp8),
];

/// Which set of places is used: the first, another, and the first in spite of a number.
const SETS: [(usize, &str); 3] = [(0, ""), (1, " abid:1"), (0, " cbsz:1 abid:1")];

fn asm(name: &str, size: usize, controls: &str) -> String {
    let last = if size == 16 { 3 } else { 15 };
    format!("{name} v[0:{last}], v[20:21], v[24:27], v30{controls}")
}

#[test]
fn a_sparse_product_is_the_dense_one_of_the_elements_that_are_there() {
    let of_shape = |shape: &Shape| SETS.map(|(_, controls)| asm(shape.0, shape.1, controls));
    ask_together(CDNA3, SHAPES.iter().flat_map(of_shape));
    let mut numbers = Numbers(42);
    for &(name, size, depth, a_type, b_type) in SHAPES {
        for (set, controls) in SETS {
            let groups = 64 / size;
            let (held, sums) = (depth / 2 / groups, size * size / 64);
            let asm = asm(name, size, controls);
            let mut wave = probe64(&asm);
            let mut random = |below: u64| numbers.next() % below;
            let values: Vec<i64> = (0..64 * held).map(|_| random(9) as i64 - 4).collect();
            let b: Vec<i64> = (0..depth * size).map(|_| random(9) as i64 - 4).collect();
            // Two of four places for each pair of elements.
            let pairs: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
            let chosen: Vec<[usize; 2]> = (0..32 * held).map(|_| pairs[random(6) as usize]).collect();
            let place_of = |lane: usize, item: usize| chosen[lane * held / 2 + item / 2][item % 2];
            fill(&mut wave, 20, a_type, held, |lane, item| {
                values[lane * held + item]
            });
            let dense = |lane: usize, item: usize| (lane / size) * (depth / groups) + item;
            fill(&mut wave, 24, b_type, 2 * held, |lane, item| {
                b[dense(lane, item) * size + lane % size]
            });
            for lane in 0..64 {
                let places = (0..held).fold(0, |all, item| all | place_of(lane, item) << (2 * item));
                let others = random(1 << 32) as u32;
                let mask = ((1_u64 << (2 * held)) - 1) as u32;
                let shift = set * 2 * held;
                wave.set_vgpr(30, lane, others & !(mask << shift) | (places as u32) << shift);
                for v in 0..sums {
                    let old = (lane + v) as i64 - 20;
                    let bits = if a_type == I8 {
                        old as u32
                    } else {
                        F32.encode(old) as u32
                    };
                    wave.set_vgpr(v as u16, lane, bits);
                }
            }
            run(&mut wave).unwrap();
            let mut a = vec![0; size * depth];
            for (lane, item) in (0..64).flat_map(|lane| (0..held).map(move |item| (lane, item))) {
                let k = dense(lane, item / 2 * 4 + place_of(lane, item));
                a[lane % size * depth + k] = values[lane * held + item];
            }
            for (lane, v) in (0..64).flat_map(|lane| (0..sums).map(move |v| (lane, v))) {
                let (row, column, _) = place(size, false, lane, v);
                let product: i64 = (0..depth)
                    .map(|k| a[row * depth + k] * b[k * size + column])
                    .sum();
                let sum = product + (lane + v) as i64 - 20;
                let want = if a_type == I8 {
                    sum as u32
                } else {
                    F32.encode(sum) as u32
                };
                assert_eq!(
                    wave.vgpr(v as u16, lane),
                    Some(want),
                    "{} {asm}: lane {lane}, {v}",
                    CDNA3.name
                );
            }
        }
    }
}
