//! CDNA4 (gfx950): sparse products, loads that transpose, conversions of halves, and what is refused.

use crate::gfx950::{probe, sum_place, v, write};
use crate::wave::{Numbers, run};

/// An element that a small integer becomes, and its bits.
pub(crate) type Encode = (usize, fn(i32) -> u64);

pub(crate) const HALF: Encode = (16, |value| match value {
    0 => 0,
    _ => u64::from(
        ((value as f32).to_bits() >> 13).wrapping_sub(112 << 10) & 0x7fff | u32::from(value < 0) << 15,
    ),
});
pub(crate) const BRAIN: Encode = (16, |value| u64::from((value as f32).to_bits() >> 16));
pub(crate) const BYTE: Encode = (8, |value| u64::from(value as u8));
/// 8-bit floats of the Open Compute Project, from -4 to 4.
pub(crate) const FP8: Encode = (8, |value| {
    [0xc8, 0xc4, 0xc0, 0xb8, 0, 0x38, 0x40, 0x44, 0x48][(value + 4) as usize]
});
pub(crate) const BF8: Encode = (8, |value| {
    [0xc4, 0xc2, 0xc0, 0xbc, 0, 0x3c, 0x40, 0x42, 0x44][(value + 4) as usize]
});

fn sparse(opcode: u32, size: usize, depth: usize, [a, b]: [Encode; 2]) {
    let mut numbers = Numbers(u64::from(opcode));
    let (groups, held) = (64 / size, depth * size / 128);
    let mut wave = probe(&[0xd380_0000 | opcode << 16, v(32) | v(40) << 9 | v(50) << 18]);
    let sum = |value: i32| {
        if b.0 == 8 && b.1(1) == 1 {
            value as u32
        } else {
            (value as f32).to_bits()
        }
    };
    let mut left = vec![0; size * depth];
    let mut right = vec![0; size * depth];
    for lane in 0..64 {
        let start = lane % size * depth + lane / size * (depth / groups);
        let mut value = || (numbers.next() % 9) as i32 - 4;
        let of_a: Vec<i32> = (0..held).map(|_| value()).collect();
        let of_b: Vec<i32> = (0..2 * held).map(|_| value()).collect();
        let mut places = 0;
        for pair in 0..held / 2 {
            let [low, high] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]][numbers.next() as usize % 6];
            for (item, place) in [(2 * pair, low), (2 * pair + 1, high)] {
                left[start + 4 * pair + place] = of_a[item];
                places |= (place as u32) << (2 * item);
            }
        }
        right[start..start + 2 * held].copy_from_slice(&of_b);
        write(
            &mut wave,
            32,
            lane,
            a.0,
            &of_a.iter().map(|value| a.1(*value)).collect::<Vec<_>>(),
        );
        write(
            &mut wave,
            40,
            lane,
            b.0,
            &of_b.iter().map(|value| b.1(*value)).collect::<Vec<_>>(),
        );
        wave.set_vgpr(50, lane, places);
        (0..size * size / 64).for_each(|item| wave.set_vgpr(item as u16, lane, sum(lane as i32)));
    }
    run(&mut wave).unwrap();
    for (lane, item) in (0..64).flat_map(|lane| (0..size * size / 64).map(move |item| (lane, item))) {
        let (row, column) = sum_place(size, lane, item);
        let products = (0..depth).map(|k| left[row * depth + k] * right[column * depth + k]);
        let want = sum(products.sum::<i32>() + lane as i32);
        assert_eq!(
            wave.vgpr(item as u16, lane),
            Some(want),
            "{opcode:#x}: lane {lane}, {item}"
        );
    }
}

#[test]
fn wider_sparse_products_are_those_of_their_numbers() {
    for (opcode, size, depth, elements) in [
        (0x5a, 16, 64, [HALF; 2]),
        (0x5b, 32, 32, [HALF; 2]),
        (0x39, 16, 64, [BRAIN; 2]),
        (0x46, 32, 32, [BRAIN; 2]),
        (0x3a, 16, 128, [BYTE; 2]),
        (0x47, 32, 64, [BYTE; 2]),
        (0x3b, 16, 128, [BF8, BF8]),
        (0x3c, 16, 128, [BF8, FP8]),
        (0x3d, 16, 128, [FP8, BF8]),
        (0x43, 16, 128, [FP8, FP8]),
        (0x4b, 32, 64, [BF8, BF8]),
        (0x4e, 32, 64, [BF8, FP8]),
        (0x4f, 32, 64, [FP8, BF8]),
        (0x53, 32, 64, [FP8, FP8]),
    ] {
        sparse(opcode, size, depth, elements);
    }
}

#[test]
fn sixteen_lanes_load_columns_of_what_they_hold() {
    // The opcodes of a store as wide, and of the load.
    for (store, load, bits, words) in [
        (0x4d, 0xe0, 4, 2),
        (0xde, 0xe1, 6, 3),
        (0x4d, 0xe2, 8, 2),
        (0x4d, 0xe3, 16, 2),
    ] {
        let mut numbers = Numbers(bits);
        let bits = bits as usize;
        let each = 32 * words / bits;
        let mut wave = probe(&[
            0xd800_0000 | store << 17,
            2 << 8,
            0xd800_0000 | load << 17,
            8 << 24,
        ]);
        wave.set_lds(64 * 4 * words);
        let mut elements = vec![0; 64 * each];
        for lane in 0..64 {
            wave.set_vgpr(0, lane, (lane * 4 * words) as u32);
            let own = &mut elements[lane * each..][..each];
            own.iter_mut()
                .for_each(|element| *element = numbers.next() & ((1 << bits) - 1));
            write(&mut wave, 2, lane, bits, own);
        }
        run(&mut wave).unwrap();
        for lane in 0..64 {
            let group = &elements[lane / 16 * 16 * each..][..16 * each];
            let column: Vec<u64> = group.iter().copied().skip(lane % 16).step_by(16).collect();
            for bit in 0..32 * words {
                let got = wave.vgpr(8 + bit as u16 / 32, lane).unwrap() >> (bit % 32) & 1;
                assert_eq!(
                    u64::from(got),
                    column[bit / bits] >> (bit % bits) & 1,
                    "{bits} bits, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn halves_and_brain_floats_are_converted_as_single_ones_are() {
    let one = |value: f32| value.to_bits();
    let words = |opcode: u32, op_sel: u32| [0xd000_0000 | opcode << 16 | op_sel << 11, v(1) | v(2) << 9];
    let get = |words: &[u32], value: u32, scale: f32| {
        let mut wave = probe(words);
        wave.set_vgpr(0, 5, 0x1234_5678);
        wave.set_vgpr(1, 5, value);
        wave.set_vgpr(2, 5, one(scale));
        run(&mut wave).unwrap();
        wave.vgpr(0, 5).unwrap()
    };
    // 1.5 and -3, halved.
    for (opcode, value) in [(0x240, 0xc200_3e00), (0x244, 0xc040_3fc0)] {
        assert_eq!(get(&words(opcode, 8), value, 2.0), 0xbc34_5678);
    }
    for (opcode, value) in [(0x241, 0xc200_3e00), (0x245, 0xc040_3fc0)] {
        assert_eq!(get(&words(opcode, 0), value, 2.0), 0x1234_be3a);
    }
    for (opcode, value) in [(0x24c, 0xc200_3e00), (0x24d, 0xc040_3fc0)] {
        assert_eq!(get(&words(opcode, 12), value, 1.0), 0xd334_5678);
    }
    // 1.5 of each byte format, and of nibbles, doubled.
    for (opcode, value, want) in [
        (0x248, 0x3c3c, 0x4200_4200),
        (0x249, 0x3e3e, 0x4200_4200),
        (0x250, 0x33, 0x4200_4200),
        (0x269, 0x3c3c, 0x4040_4040),
        (0x26a, 0x3e3e, 0x4040_4040),
        (0x251, 0x33, 0x4040_4040),
    ] {
        assert_eq!(get(&words(opcode, 0), value, 2.0), want, "{opcode:#x}");
    }
    assert_eq!(get(&words(0x24a, 8), 0x3c, 2.0), 0x4200_5678);
    assert_eq!(get(&words(0x24b, 0), 0x3e, 2.0), 0x1234_4200);
}

#[test]
fn six_bits_are_converted_all_at_once() {
    // 32 halves of 1.5, doubled, and back.
    for (narrow, widen, bits, code) in [
        (0x258, 0x260, 0x3e00, 0x14),
        (0x25a, 0x262, 0x3e00, 0x12),
        (0x259, 0x261, 0x3fc0, 0x14),
        (0x25b, 0x263, 0x3fc0, 0x12),
    ] {
        let mut wave = probe(&[
            0xd000_0000 | narrow << 16,
            v(16) | v(50) << 9,
            0xd000_0000 | widen << 16 | 60,
            v(0) | v(50) << 9,
        ]);
        (16..32).for_each(|register| wave.set_vgpr(register, 5, bits << 16 | bits));
        wave.set_vgpr(50, 5, 0.5_f32.to_bits());
        run(&mut wave).unwrap();
        for bit in 0..192 {
            let got = wave.vgpr(bit / 32, 5).unwrap() >> (bit % 32) & 1;
            assert_eq!(got, code >> (bit % 6) & 1, "{narrow:#x}");
        }
        assert!(
            (60..76).all(|register| wave.vgpr(register, 5) == Some(bits << 16 | bits)),
            "{widen:#x}"
        );
    }
}

#[test]
fn conversions_by_random_bits_are_refused_by_name() {
    for (opcode, name) in [
        (0x237, "v_cvt_scalef32_sr_fp8_f32"),
        (0x254, "v_cvt_scalef32_sr_pk32_fp6_f32"),
        (0x2a7, "v_cvt_sr_bf16_f32"),
    ] {
        let words = [0xd000_0000 | opcode << 16, v(100) | v(2) << 9 | v(3) << 18];
        let message = run(&mut probe(&words)).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
}
