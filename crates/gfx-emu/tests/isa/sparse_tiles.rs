//! The sparse products of RDNA4 in every element type against a dense product of the same numbers, in waves of both widths.
//!
//! Layouts: AMD's matrix instruction calculator, `--architecture rdna4 --detail-instruction`, whose formulas are here as it prints them.

use gfx_emu::{FaultKind, WaveProbe};

use crate::lines::ask_together;
use crate::llvm::{Card, RDNA4, RDNA4_WAVE64};
use crate::tiles::Element::{self, Bf8, Bf16, F16, F32, Fp8, I4, I8, I32};
use crate::tiles::{Place, list, put};
use crate::wave::{Numbers, program_on, run, set};

/// Mnemonic, elements of A, of B, and of C and D, depth.
type Row = (&'static str, Element, Element, Element, usize);

const ROWS: &[Row] = &[
    ("v_swmmac_f32_16x16x32_f16", F16, F16, F32, 32),
    ("v_swmmac_f32_16x16x32_bf16", Bf16, Bf16, F32, 32),
    ("v_swmmac_f16_16x16x32_f16", F16, F16, F16, 32),
    ("v_swmmac_bf16_16x16x32_bf16", Bf16, Bf16, Bf16, 32),
    ("v_swmmac_i32_16x16x32_iu8", I8, I8, I32, 32),
    ("v_swmmac_i32_16x16x32_iu4", I4, I4, I32, 32),
    ("v_swmmac_i32_16x16x64_iu4", I4, I4, I32, 64),
    ("v_swmmac_f32_16x16x32_fp8_fp8", Fp8, Fp8, F32, 32),
    ("v_swmmac_f32_16x16x32_fp8_bf8", Fp8, Bf8, F32, 32),
    ("v_swmmac_f32_16x16x32_bf8_fp8", Bf8, Fp8, F32, 32),
    ("v_swmmac_f32_16x16x32_bf8_bf8", Bf8, Bf8, F32, 32),
];

/// Two of four places.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// Where the two elements of A of steps `k` to `k + 3` are.
fn of_a(lanes: usize, bits: usize, depth: usize, k: usize) -> Place {
    match (lanes, bits, depth) {
        (32, 16, _) => (k / 8 % 2, 2 * (k / 16) + k / 4 % 2, 0),
        (_, 16, _) => (k / 8, k / 4 % 2, 0),
        (32, 8, _) => (k / 16, k / 8 % 2, 16 * (k / 4 % 2)),
        (_, 8, _) => (2 * (k / 8 % 2) + k / 16, 0, 16 * (k / 4 % 2)),
        (_, _, 32) => (k / 16, 0, 8 * (k / 4 % 4)),
        (32, _, _) => (k / 32, k / 16 % 2, 8 * (k / 4 % 4)),
        _ => (2 * (k / 16 % 2) + k / 32, 0, 8 * (k / 4 % 4)),
    }
}

/// Where their places are, four bits, in the first set.
fn of_places(lanes: usize, bits: usize, depth: usize, k: usize) -> Place {
    match (lanes, bits, depth) {
        (32, 16, _) => (k / 8 % 2, 0, 8 * (k / 16) + 4 * (k / 4 % 2)),
        (_, 16, _) => (k / 8, 0, 4 * (k / 4 % 2)),
        (32, 8, _) => (k / 16, 0, 4 * (k / 4 % 4)),
        (_, 8, _) => (2 * (k / 8 % 2) + k / 16, 0, 4 * (k / 4 % 2)),
        (_, _, 32) => (k / 16, 0, 4 * (k / 4 % 4)),
        (32, _, _) => (k / 32, 0, 4 * (k / 4 % 8)),
        _ => (2 * (k / 16 % 2) + k / 32, 0, 4 * (k / 4 % 4)),
    }
}

/// Where the element of B of step `k` is.
fn of_b(lanes: usize, bits: usize, depth: usize, k: usize) -> Place {
    match (lanes, bits, depth) {
        (32, 16, _) => (k / 8 % 2, 4 * (k / 16) + k / 2 % 4, 16 * (k % 2)),
        (_, 16, _) => (k / 8, k / 2 % 4, 16 * (k % 2)),
        (32, 8, _) => (k / 16, k / 4 % 4, 8 * (k % 4)),
        (_, 8, _) => (2 * (k / 8 % 2) + k / 16, k / 4 % 2, 8 * (k % 4)),
        (32, _, 32) => (k / 16, k / 8 % 2, 4 * (k % 8)),
        (_, _, 32) => (2 * (k / 8 % 2) + k / 16, 0, 4 * (k % 8)),
        (32, _, _) => (k / 32, k / 8 % 4, 4 * (k % 8)),
        _ => (2 * (k / 16 % 2) + k / 32, k / 8 % 2, 4 * (k % 8)),
    }
}

/// Where the element of C and D in row `i` is.
fn of_sum(lanes: usize, bits: usize, i: usize) -> Place {
    let group = if lanes == 32 {
        i / 8
    } else {
        2 * (i / 4 % 2) + i / 8
    };
    let item = i % (256 / lanes);
    match bits {
        16 => (group, item / 2, 16 * (item % 2)),
        _ => (group, item, 0),
    }
}

/// How many registers of each 32 bits hold what the last place is in.
fn count(place: impl Fn(usize) -> Place, steps: usize) -> usize {
    (0..steps).map(|k| place(k).1 + 1).max().unwrap()
}

/// Sets of places that a register has room for.
fn sets(lanes: usize, bits: usize, depth: usize) -> usize {
    let last = (0..depth / 4).map(|quad| of_places(lanes, bits, depth, 4 * quad).2);
    32 / (last.max().unwrap() + 4).next_power_of_two()
}

fn asm<const W: usize>(&(name, a_type, _, sum_type, depth): &Row, set: usize) -> String {
    let bits = a_type.bits();
    let held = count(|k| of_a(W, bits, depth, k), depth);
    let wide = count(|k| of_b(W, bits, depth, k), depth);
    let sums = count(|i| of_sum(W, sum_type.bits(), i), 16);
    let key = if set == 0 {
        String::new()
    } else {
        format!(" index_key:{set}")
    };
    let signs = if sum_type == I32 { " neg_lo:[1,1,0]" } else { "" };
    format!(
        "{name} {}, {}, {}, v40{key}{signs}",
        list(48, sums),
        list(0, held),
        list(16, wide)
    )
}

/// Each instruction with how many results are wrong, where its places are in the set that is `beside` after the one it names.
fn products<const W: usize>(card: Card, beside: usize) -> Vec<(String, usize)> {
    let of_row = |row: &Row| {
        let row = *row;
        (0..sets(W, row.1.bits(), row.4)).map(move |set| asm::<W>(&row, set))
    };
    ask_together(card, ROWS.iter().flat_map(of_row));
    let mut numbers = Numbers(1204);
    let mut found = Vec::new();
    for row in ROWS {
        let &(_, a_type, b_type, sum_type, depth) = row;
        let bits = a_type.bits();
        let room = 32 / sets(W, bits, depth);
        for named in 0..sets(W, bits, depth) {
            let used = (named + beside) % sets(W, bits, depth);
            let asm = asm::<W>(row, named);
            let code = program_on(card, &asm);
            let mut wave = WaveProbe::<W>::new(card.target, &code).unwrap();
            let mut below = |n: u64| (numbers.next() % n) as usize;
            let mut dense = vec![0; 16 * depth];
            let mut b = vec![0; depth * 16];
            let mut c = vec![0; 256];
            for line in 0..16 {
                for lane in (line..W).step_by(16) {
                    // Sets that are not used have other places.
                    let others = below(1 << 32) as u32 & !((u32::MAX >> (32 - room)) << (room * used));
                    wave.set_vgpr(40, lane, others);
                }
                for quad in (0..depth).step_by(4) {
                    let chosen = PAIRS[below(6)];
                    let (group, register, at) = of_places(W, bits, depth, quad);
                    let places = (chosen[0] | chosen[1] << 2) as u32;
                    put(&mut wave, 40, line, (group, register, at + room * used), places);
                    let (group, register, at) = of_a(W, bits, depth, quad);
                    for (i, place) in chosen.into_iter().enumerate() {
                        let value = below(5) as i64 - 2;
                        dense[line * depth + quad + place] = value;
                        put(
                            &mut wave,
                            0,
                            line,
                            (group, register, at + i * bits),
                            a_type.encode(value),
                        );
                    }
                }
                for k in 0..depth {
                    let value = below(5) as i64 - 2;
                    b[k * 16 + line] = value;
                    put(&mut wave, 16, line, of_b(W, bits, depth, k), b_type.encode(value));
                }
                for row in 0..16 {
                    let value = below(17) as i64 - 8;
                    c[row * 16 + line] = value;
                    put(
                        &mut wave,
                        48,
                        line,
                        of_sum(W, sum_type.bits(), row),
                        sum_type.encode(value),
                    );
                }
            }
            // Lanes that are switched off take part.
            set(&mut wave, "exec", 5);
            run(&mut wave).unwrap();
            let places = (0..16).flat_map(|row| (0..16).map(move |column| (row, column)));
            let wrong = places.filter(|(row, column)| {
                let product: i64 = (0..depth)
                    .map(|k| dense[row * depth + k] * b[k * 16 + column])
                    .sum();
                let (group, register, bit) = of_sum(W, sum_type.bits(), *row);
                let word = wave.vgpr((48 + register) as u16, column + 16 * group).unwrap();
                let got = word >> bit & (u32::MAX >> (32 - sum_type.bits()));
                got != sum_type.encode(product + c[row * 16 + column])
            });
            let wrong = wrong.count();
            found.push((asm, wrong));
        }
    }
    found
}

#[test]
fn a_sparse_product_of_rdna4_is_the_dense_one_of_the_elements_that_are_there() {
    for (asm, wrong) in products::<32>(RDNA4, 0) {
        assert_eq!(wrong, 0, "{asm}");
    }
}

#[test]
fn waves_of_64_lanes_of_rdna4_have_sparse_products_too() {
    for (asm, wrong) in products::<64>(RDNA4_WAVE64, 0) {
        assert_eq!(wrong, 0, "{asm}");
    }
}

/// The control: places in another set than the instruction names give another product.
#[test]
fn places_of_another_set_are_noticed() {
    let found = [products::<32>(RDNA4, 1), products::<64>(RDNA4_WAVE64, 1)].concat();
    for (asm, wrong) in found {
        let has_one_set = asm.starts_with("v_swmmac_i32_16x16x64_iu4 v[48:55]");
        assert_eq!(wrong == 0, has_one_set, "{asm}");
    }
}

#[test]
fn sparse_integers_saturate_with_clamp_and_zeros_that_are_left_out_are_not_multiplied() {
    let asm = "v_swmmac_i32_16x16x32_iu8 v[24:31], v[0:1], v[8:11], v40";
    for (modifiers, want) in [
        (" clamp", 0x7fff_ffff),
        ("", 0x7fff_ff00_u32.wrapping_add(16 * 127 * 127)),
    ] {
        let code = program_on(RDNA4, &format!("{asm}{modifiers}"));
        let mut wave = WaveProbe::<32>::new(RDNA4.target, &code).unwrap();
        for register in ["v0", "v1", "v8", "v9", "v10", "v11"] {
            set(&mut wave, register, 0x7f7f_7f7f);
        }
        (24..32).for_each(|v| set(&mut wave, &format!("v{v}"), 0x7fff_ff00));
        run(&mut wave).unwrap();
        assert_eq!(wave.vgpr(31, 31), Some(want), "{modifiers}");
    }
    // An infinity in a place that A has not: no NaN.
    let code = program_on(RDNA4, "v_swmmac_f32_16x16x32_f16 v[24:31], v[0:3], v[8:15], v40");
    let mut wave = WaveProbe::<32>::new(RDNA4.target, &code).unwrap();
    (8..16).for_each(|v| set(&mut wave, &format!("v{v}"), 0x7c00_3c00));
    (0..4).for_each(|v| set(&mut wave, &format!("v{v}"), 0x3c00_3c00));
    // Places 0 and 2.
    set(&mut wave, "v40", 0x8888);
    run(&mut wave).unwrap();
    assert_eq!(wave.vgpr(24, 0), Some(16_f32.to_bits()));
}

#[test]
fn signs_of_sparse_floats_are_refused_by_name() {
    let asm = "v_swmmac_f32_16x16x32_f16 v[24:31], v[0:3], v[8:15], v40 neg_lo:[1,0,0]";
    let code = program_on(RDNA4, asm);
    let fault = run(&mut WaveProbe::<32>::new(RDNA4.target, &code).unwrap()).unwrap_err();
    let FaultKind::Unimplemented { what } = &fault.kind else {
        panic!("{fault}")
    };
    assert!(what.contains(asm), "{what}");
}
