//! GFX12.5 (gfx1250): what single instructions do to registers. LLVM 19 does not know the card: words and texts are of LLVM 23's assembler, and
//! the printer is held to the texts.

use gfx_emu::{Memory, Probe, Target, disassemble};

use crate::gfx950_rows::{BF8, BRAIN, BYTE, Encode, FP8, HALF};
use crate::wave::{Numbers, Registers, get, run, set};

const END: u32 = 0xbfb0_0000;

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A wave at the beginning of words of machine code.
fn probe(words: &[u32]) -> Probe {
    Probe::new(Target::Gfx1250, &bytes(&[words, &[END]].concat())).unwrap()
}

/// Texts of the instructions, their words, registers before, registers after.
type Row = (
    &'static str,
    &'static [u32],
    Registers<'static>,
    Registers<'static>,
);

#[rustfmt::skip] // one row a line
const ROWS: &[Row] = &[
    // Literals of 64 bits, and doubles with one of 32.
    ("s_add_nc_u64 s[0:1], s[2:3], 0x123456789abcdef0", &[0xa980fe02, 0x9abcdef0, 0x12345678], &[("s2", 0x76543211), ("s3", 0xfedcba98)], &[("s0", 0x11111101), ("s1", 0x11111111)]),
    ("s_mov_b64 s[0:1], 0x123456789abcdef0", &[0xbe8001fe, 0x9abcdef0, 0x12345678], &[], &[("s0", 0x9abcdef0), ("s1", 0x12345678)]),
    ("v_mov_b64_e32 v[0:1], 0x123456789abcdef0", &[0x7e003afe, 0x9abcdef0, 0x12345678], &[], &[("v0", 0x9abcdef0), ("v1", 0x12345678)]),
    ("v_add_f64_e32 v[0:1], 0x3ff0000012345678, v[2:3]", &[0x040004fe, 0x12345678, 0x3ff00000], &[("v2", 0x0), ("v3", 0x3ff80000)], &[("v0", 0x91a2b3c), ("v1", 0x40040000)]),
    ("v_fmaak_f64 v[0:1], v[2:3], v[4:5], 0x4000000000000001", &[0x48000902, 0x00000001, 0x40000000], &[("v2", 0x0), ("v3", 0x40080000), ("v4", 0x0), ("v5", 0x40000000)], &[("v0", 0x0), ("v1", 0x40200000)]),
    // Integers of 64 bits.
    ("v_add_nc_u64_e32 v[0:1], v[2:3], v[4:5]", &[0x50000902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x76543211), ("v5", 0xfedcba98)], &[("v0", 0x11111101), ("v1", 0x11111111)]),
    ("v_sub_nc_u64_e32 v[0:1], v[2:3], v[4:5]", &[0x52000902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x76543211), ("v5", 0xfedcba98)], &[("v0", 0x2468acdf), ("v1", 0x13579be0)]),
    ("v_mul_u64_e32 v[0:1], v[2:3], v[4:5]", &[0x54000902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x76543211), ("v5", 0xfedcba98)], &[("v0", 0xf0d5adf0), ("v1", 0x35a1df76)]),
    ("v_min_u64 v[0:1], v[2:3], v[4:5]", &[0xd7180000, 0x02020902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x5), ("v5", 0x80000000)], &[("v0", 0x9abcdef0), ("v1", 0x12345678)]),
    ("v_max_u64 v[0:1], v[2:3], v[4:5]", &[0xd7190000, 0x02020902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x5), ("v5", 0x80000000)], &[("v0", 0x5), ("v1", 0x80000000)]),
    ("v_min_i64 v[0:1], v[2:3], v[4:5]", &[0xd71a0000, 0x02020902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x5), ("v5", 0x80000000)], &[("v0", 0x5), ("v1", 0x80000000)]),
    ("v_max_i64 v[0:1], v[2:3], v[4:5]", &[0xd71b0000, 0x02020902], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x5), ("v5", 0x80000000)], &[("v0", 0x9abcdef0), ("v1", 0x12345678)]),
    ("v_lshl_add_u64 v[0:1], v[2:3], 3, v[4:5]", &[0xd6520000, 0x04110702], &[("v2", 0x9abcdef0), ("v3", 0x12345678), ("v4", 0x76543211), ("v5", 0xfedcba98)], &[("v0", 0x4c3b2991), ("v1", 0x907f6e5d)]),
    ("v_mad_nc_u64_u32 v[0:1], v2, v3, v[4:5]", &[0xd6fa0000, 0x04120702], &[("v2", 0xfffffffe), ("v3", 0x7), ("v4", 0x76543211), ("v5", 0xfedcba98)], &[("v0", 0x76543203), ("v1", 0xfedcba9f)]),
    ("v_mad_nc_i64_i32 v[0:1], v2, v3, v[4:5]", &[0xd6fb0000, 0x04120702], &[("v2", 0xfffffffe), ("v3", 0x7), ("v4", 0x5), ("v5", 0x0)], &[("v0", 0xfffffff7), ("v1", 0xffffffff)]),
    ("v_mad_u32 v0, v1, v2, v3", &[0xd6350000, 0x040e0501], &[("v1", 0x10001), ("v2", 0x20003), ("v3", 0x9)], &[("v0", 0x5000c)]),
    // Sums that stop at the end of their range, with an extreme.
    ("v_add_max_i32 v0, v1, v2, v3", &[0xd65e0000, 0x040e0501], &[("v1", 0x7fffffff), ("v2", 0x5), ("v3", 0x3)], &[("v0", 0x7fffffff)]),
    ("v_add_min_i32 v0, v1, v2, v3", &[0xd6600000, 0x040e0501], &[("v1", 0x80000001), ("v2", 0xfffffff0), ("v3", 0x3)], &[("v0", 0x80000000)]),
    ("v_add_max_u32 v0, v1, v2, v3", &[0xd65f0000, 0x040e0501], &[("v1", 0xffffffff), ("v2", 0x5), ("v3", 0x3)], &[("v0", 0xffffffff)]),
    ("v_add_min_u32 v0, v1, v2, v3", &[0xd6610000, 0x040e0501], &[("v1", 0xfffffff0), ("v2", 0x5), ("v3", 0xfffffff4)], &[("v0", 0xfffffff4)]),
    ("v_pk_add_max_i16 v0, v1, v2, v3", &[0xcc144000, 0x1c0e0501], &[("v1", 0x7fff0001), ("v2", 0x10002), ("v3", 0x9)], &[("v0", 0x7fff0009)]),
    ("v_pk_add_min_u16 v0, v1, v2, v3", &[0xcc2e4000, 0x1c0e0501], &[("v1", 0xffff0001), ("v2", 0x10002), ("v3", 0xffff0009)], &[("v0", 0xffff0003)]),
    ("v_pk_add_min_i16 v0, v1, v2, v3", &[0xcc2d4000, 0x1c0e0501], &[("v1", 0x80000001), ("v2", 0xffff0002), ("v3", 0x9)], &[("v0", 0x80000003)]),
    ("v_pk_add_max_u16 v0, v1, v2, v3", &[0xcc154000, 0x1c0e0501], &[("v1", 0xffff0001), ("v2", 0x10002), ("v3", 0x9)], &[("v0", 0xffff0009)]),
    ("v_pk_max3_i16 v0, v1, v2, v3", &[0xcc2f4000, 0x1c0e0501], &[("v1", 0xffff0001), ("v2", 0x10002), ("v3", 0x8000fff0)], &[("v0", 0x10002)]),
    ("v_pk_max3_u16 v0, v1, v2, v3", &[0xcc304000, 0x1c0e0501], &[("v1", 0xffff0001), ("v2", 0x10002), ("v3", 0x8000fff0)], &[("v0", 0xfffffff0)]),
    ("v_pk_min3_i16 v0, v1, v2, v3", &[0xcc314000, 0x1c0e0501], &[("v1", 0xffff0001), ("v2", 0x10002), ("v3", 0x8000fff0)], &[("v0", 0x8000fff0)]),
    ("v_pk_min3_u16 v0, v1, v2, v3", &[0xcc324000, 0x1c0e0501], &[("v1", 0xffff0001), ("v2", 0x10002), ("v3", 0x8000fff0)], &[("v0", 0x10001)]),
    // Functions of bits, and two operations in one instruction: each reads what was there before.
    ("v_bitop3_b32 v0, v1, v2, v3 bitop3:0xca", &[0xd6340100, 0x5c0e0501], &[("v1", 0xff00ff00), ("v2", 0x12345678), ("v3", 0x9abcdef0)], &[("v0", 0x12bc56f0)]),
    ("v_dual_mov_b32 v0, v1 :: v_dual_bitop2_b32 v3, v0, v2 bitop3:0x14", &[0xcf212101, 0x00000100, 0x03140200], &[("v0", 0xff00ff00), ("v1", 0x5), ("v2", 0xff00ff0)], &[("v0", 0x5), ("v3", 0xf0f0f0f0)]),
    ("v_dual_mov_b32 v0, v3 :: v_dual_bitop2_b32 v3, v0, v2 bitop3:0x40", &[0xcf212103, 0x00000100, 0x03400200], &[("v0", 0xff00ff00), ("v3", 0x5), ("v2", 0xff00ff0)], &[("v0", 0x5), ("v3", 0xf000f00)]),
    ("v_dual_fma_f32 v0, v1, -v2, v3 :: v_dual_fma_f32 v4, v6, v8, -v9", &[0xcf4d3101, 0x03024506, 0x04090800], &[("v1", 0x40000000), ("v2", 0x40400000), ("v3", 0x41200000), ("v6", 0x40800000), ("v8", 0x40a00000), ("v9", 0x3f800000)], &[("v0", 0x40800000), ("v4", 0x41980000)]),
    ("v_dual_add_f64 v[0:1], v[2:3], v[4:5] :: v_dual_mov_b32 v2, v1", &[0xcf848102, 0x00040101, 0x02000000], &[("v2", 0x0), ("v3", 0x3ff80000), ("v4", 0x0), ("v5", 0x40020000), ("v1", 0x4d)], &[("v0", 0x0), ("v1", 0x400e0000), ("v2", 0x4d)]),
    ("v_dual_cndmask_b32 v0, v1, v2, s4 :: v_dual_cndmask_b32 v5, v6, v7, vcc_lo", &[0xcf249101, 0x04020106, 0x056a0700], &[("v1", 0x1), ("v2", 0x2), ("v6", 0x3), ("v7", 0x4), ("s4", 0x1), ("vcc", 0x0)], &[("v0", 0x2), ("v5", 0x3)]),
    // Brain floats and halves.
    ("v_pk_add_bf16 v0, v1, v2", &[0xcc234000, 0x1a020501], &[("v1", 0xc0003fc0), ("v2", 0x40003e80)], &[("v0", 0x3fe0)]),
    ("v_pk_mul_bf16 v0, v1, v2", &[0xcc2a4000, 0x1a020501], &[("v1", 0xc0003fc0), ("v2", 0x40003e80)], &[("v0", 0xc0803ec0)]),
    ("v_pk_fma_bf16 v0, v1, v2, v3", &[0xcc114000, 0x1c0e0501], &[("v1", 0xc0003fc0), ("v2", 0x40003e80), ("v3", 0x3f803f80)], &[("v0", 0xc0403fb0)]),
    ("v_pk_max_num_bf16 v0, v1, v2", &[0xcc2c4000, 0x1a020501], &[("v1", 0xc0003fc0), ("v2", 0x40003e80)], &[("v0", 0x40003fc0)]),
    ("v_pk_min_num_bf16 v0, v1, v2", &[0xcc2b4000, 0x1a020501], &[("v1", 0xc0003fc0), ("v2", 0x40003e80)], &[("v0", 0xc0003e80)]),
    ("v_pk_max3_num_f16 v0, v1, v2, v3", &[0xcc394000, 0x1c0e0501], &[("v1", 0xc0003e00), ("v2", 0x40003400), ("v3", 0xc8804800)], &[("v0", 0x40004800)]),
    ("v_pk_min3_num_f16 v0, v1, v2, v3", &[0xcc384000, 0x1c0e0501], &[("v1", 0xc0003e00), ("v2", 0x40003400), ("v3", 0xc8804800)], &[("v0", 0xc8803400)]),
    ("v_fma_mix_f32_bf16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,1]", &[0xcc3d4800, 0x0c0e0501], &[("v1", 0x40407fff), ("v2", 0x3f802000), ("v3", 0x7fff3f00)], &[("v0", 0x40603000)]),
    ("v_fma_mixhi_bf16 v0, v1, v2, v3", &[0xcc3f0000, 0x040e0501], &[("v0", 0x1234), ("v1", 0x40400000), ("v2", 0x40800000), ("v3", 0x3f000000)], &[("v0", 0x41481234)]),
    ("v_fma_mixlo_bf16 v0, v1, v2, v3", &[0xcc3e0000, 0x040e0501], &[("v0", 0x12340000), ("v1", 0x40400000), ("v2", 0x40800000), ("v3", 0x3f000000)], &[("v0", 0x12344148)]),
    ("v_rcp_bf16_e32 v0, v1", &[0x7e00f301], &[("v1", 0x4080)], &[("v0", 0x3e80)]),
    ("v_rsq_bf16_e32 v0, v1", &[0x7e00f701], &[("v1", 0x4080)], &[("v0", 0x3f00)]),
    ("v_sqrt_bf16_e32 v0, v1", &[0x7e00f501], &[("v1", 0x4110)], &[("v0", 0x4040)]),
    ("v_exp_bf16_e32 v0, v1", &[0x7e00fb01], &[("v1", 0x40a0)], &[("v0", 0x4200)]),
    ("v_log_bf16_e32 v0, v1", &[0x7e00f901], &[("v1", 0x4200)], &[("v0", 0x40a0)]),
    ("v_sin_bf16_e32 v0, v1", &[0x7e00fd01], &[("v1", 0x3e80)], &[("v0", 0x3f80)]),
    ("v_cos_bf16_e32 v0, v1", &[0x7e00ff01], &[("v1", 0x3f00)], &[("v0", 0xbf80)]),
    ("v_tanh_bf16_e32 v0, v1", &[0x7e009501], &[("v1", 0x3f00)], &[("v0", 0x3eed)]),
    ("v_tanh_f32_e32 v0, v1", &[0x7e003d01], &[("v1", 0x3f000000)], &[("v0", 0x3eec9a9f)]),
    ("v_tanh_f16_e32 v0, v1", &[0x7e003f01], &[("v1", 0x3800)], &[("v0", 0x3765)]),
    ("v_cvt_f32_bf16_e32 v0, v1", &[0x7e00e501], &[("v1", 0x7fffc020)], &[("v0", 0xc0200000)]),
    ("v_exp_bf16_e32 v0, 2.0", &[0x7e00faf4], &[], &[("v0", 0x4080)]),
    // 8-bit floats of the Open Compute Project.
    ("v_cvt_pk_f16_fp8 v0, v1", &[0x7e00eb01], &[("v1", 0x7fffc038)], &[("v0", 0xc0003c00)]),
    ("v_cvt_pk_f16_bf8 v0, v1", &[0x7e00ed01], &[("v1", 0x7fffc03c)], &[("v0", 0xc0003c00)]),
    ("v_cvt_f16_fp8_e64 v0, v1 byte_sel:2", &[0xd5f70800, 0x02010101], &[("v1", 0xc43838)], &[("v0", 0xc200)]),
    ("v_cvt_f16_bf8_e32 v0, v1", &[0x7e00f101], &[("v1", 0xc43840)], &[("v0", 0x4000)]),
    ("v_cvt_pk_fp8_f16 v0, v1", &[0xd7720000, 0x02010101], &[("v0", 0x55550000), ("v1", 0xc2003c00)], &[("v0", 0x5555c438)]),
    ("v_cvt_pk_bf8_f16 v0, v1", &[0xd7730000, 0x02010101], &[("v0", 0x55550000), ("v1", 0xc0003c00)], &[("v0", 0x5555c03c)]),
    // Pairs of single precision.
    ("v_pk_add_f32 v[0:1], v[2:3], v[4:5]", &[0xcc294000, 0x1a020902], &[("v2", 0x3f800000), ("v3", 0x40000000), ("v4", 0x41200000), ("v5", 0x41a00000)], &[("v0", 0x41300000), ("v1", 0x41b00000)]),
    ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[1,0,0] op_sel_hi:[0,1,1]", &[0xcc1f4800, 0x141a0902], &[("v2", 0x3f800000), ("v3", 0x40000000), ("v4", 0x41200000), ("v5", 0x41a00000), ("v6", 0x3f000000), ("v7", 0x3e800000)], &[("v0", 0x41a40000), ("v1", 0x41a20000)]),
    // Registers beyond the first 256: sources and destination have banks of their own.
    ("s_set_vgpr_msb 0x41 ; v_add_f32_e32 v0, v1, v2 ; s_set_vgpr_msb 0x5b ; v_fma_f32 v3, v0, v1, v2 ; s_set_vgpr_msb 0x4100", &[0xbf860041, 0x06000501, 0xbf86005b, 0xd6130003, 0x040a0300, 0xbf864100], &[("v257", 0x3f800000), ("v2", 0x40000000), ("v768", 0x40a00000), ("v513", 0x40e00000), ("v258", 0x41300000)], &[("v256", 0x40400000), ("v259", 0x42380000)]),
];

#[test]
fn single_instructions_of_gfx1250() {
    for (text, words, before, after) in ROWS {
        let code = bytes(words);
        let (mut at, mut texts) = (0, Vec::new());
        while at < code.len() {
            let (text, size) = disassemble(Target::Gfx1250, &code[at..]).unwrap();
            texts.push(text);
            at += size;
        }
        assert_eq!(texts.join(" ; "), *text);
        let mut wave = probe(words);
        before
            .iter()
            .for_each(|(name, value)| set(&mut wave, name, *value));
        run(&mut wave).unwrap();
        for (name, value) in *after {
            let got = get(&wave, name);
            assert_eq!(got, *value, "{text}: {name} is {got:#x}, not {value:#x}");
        }
    }
}

const SINGLE: Encode = (32, |value| u64::from((value as f32).to_bits()));

/// A product by its opcode: `depth` steps, of which each half of the wave holds half of each row of A and column of B, alike.
fn product(opcode: u32, depth: usize, [a, b]: [Encode; 2], sum: Encode) {
    let mut numbers = Numbers(u64::from(opcode));
    let integers = a.1(1) == 1;
    let high = 0x120 | 0x140 << 9 | 0x100 << 18 | if integers { 3 << 29 } else { 0 };
    let mut wave = probe(&[0xcc00_4000 | opcode << 16, high]);
    let mut factors = [vec![0; 16 * depth], vec![0; 16 * depth]];
    for (side, encode) in [a, b].into_iter().enumerate() {
        for lane in 0..32 {
            let held: Vec<i32> = (0..depth / 2).map(|_| (numbers.next() % 9) as i32 - 4).collect();
            let start = lane % 16 * depth + lane / 16 * (depth / 2);
            factors[side][start..start + depth / 2].copy_from_slice(&held);
            let per_word = 32 / encode.0;
            for (i, part) in held.chunks(per_word).enumerate() {
                let word = part
                    .iter()
                    .rev()
                    .fold(0, |word, value| word << (encode.0 % 64) | encode.1(*value));
                wave.set_vgpr(32 + 32 * side as u16 + i as u16, lane, word as u32);
            }
        }
    }
    let each = 32 / sum.0;
    for lane in 0..32 {
        for item in 0..8 / each {
            let word = (0..each).rev().fold(0, |word, at| {
                word << (sum.0 % 64) | sum.1((item * each + at) as i32)
            });
            wave.set_vgpr(item as u16, lane, word as u32);
        }
    }
    run(&mut wave).unwrap();
    for (lane, item) in (0..32).flat_map(|lane| (0..8).map(move |item| (lane, item))) {
        let (row, column) = (lane / 16 * 8 + item, lane % 16);
        let products = (0..depth).map(|k| factors[0][row * depth + k] * factors[1][column * depth + k]);
        let total = products.sum::<i32>() + item as i32;
        let want = if integers {
            total as u32 as u64
        } else {
            sum.1(total)
        };
        let got = wave.vgpr((item / each) as u16, lane).unwrap() >> (item % each * sum.0);
        let got = u64::from(got) & (u64::MAX >> (64 - sum.0));
        assert_eq!(got, want, "{opcode:#x}: row {row}, column {column}");
    }
}

#[test]
fn products_are_those_of_their_numbers() {
    product(0x5d, 4, [SINGLE, SINGLE], SINGLE);
    product(0x60, 32, [HALF, HALF], SINGLE);
    product(0x61, 32, [HALF, HALF], HALF);
    product(0x62, 32, [BRAIN, BRAIN], SINGLE);
    product(0x72, 64, [BYTE, BYTE], (32, |value| u64::from(value as u32)));
    for (i, factors) in [[FP8, FP8], [FP8, BF8], [BF8, FP8], [BF8, BF8]]
        .into_iter()
        .enumerate()
    {
        product(0x6a + i as u32, 64, factors, SINGLE);
        product(0x6e + i as u32, 64, factors, HALF);
        product(0x80 + i as u32, 128, factors, SINGLE);
        product(0x84 + i as u32, 128, factors, HALF);
    }
}

#[test]
fn what_nothing_here_executes_is_refused_by_name() {
    for (words, name) in [
        // A factor whose format the clamp chooses.
        (&[0xd5ec_8800, 0x0201_0101][..], "v_cvt_f32_fp8"),
        (
            &[0xcc65_4000, 0x1c00_0000 | 0x100 | 0x110 << 9 | 0x120 << 18],
            "v_swmmac_f32_16x16x64_f16",
        ),
        (&[0xd6a8_0000, 0x0002_0501], "v_cvt_scale_pk8_f16_fp8"),
        (&[0xee18_007c, 1, 0x1002], "global_load_async_to_lds_b32"),
    ] {
        let error = run(&mut probe(words)).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

/// Device memory of 64 words, each its number.
fn numbered() -> (Memory, u64) {
    let mut memory = Memory::new(1 << 16);
    let address = memory.alloc(256).unwrap();
    memory
        .write(address, &bytes(&(0..64).collect::<Vec<_>>()))
        .unwrap();
    (memory, address)
}

#[test]
fn the_register_of_an_address_has_a_sign_and_may_count_what_is_accessed() {
    let (memory, base) = numbered();
    for (words, each, first) in [
        // global_load_b32 v0, v1, s[2:3] offset:16 scale_offset
        ([0xee05_0002, 0x0001_0000, 0x1001], 1, 36),
        // flat_load_b32 v0, v1, s[2:3] offset:16
        ([0xec05_0002, 0, 0x1001], 4, 36),
    ] {
        let mut wave = probe(&words);
        wave.set_sgpr(2, (base + 128) as u32);
        wave.set_sgpr(3, ((base + 128) >> 32) as u32);
        (0..32).for_each(|lane| wave.set_vgpr(1, lane, ((8 - lane as i32) * each) as u32));
        wave.run(&memory).unwrap();
        for lane in 0..32 {
            assert_eq!(wave.vgpr(0, lane), Some(first + 8 - lane as u32), "{words:x?}");
        }
    }
    // s_load_b32 s0, s[2:3], s4 offset:0x4 scale_offset
    let mut wave = probe(&[0xf400_0001, 0x0900_0004]);
    wave.set_sgpr(2, base as u32);
    wave.set_sgpr(3, (base >> 32) as u32);
    wave.set_sgpr(4, 7);
    wave.run(&memory).unwrap();
    assert_eq!(wave.sgpr(0), 8);
}

#[test]
fn private_memory_has_flat_addresses_with_the_number_of_the_lane() {
    // The address of byte 8 of the lane's own: s_mov_b64 s[0:1], src_flat_scratch_base_lo; v_mbcnt_lo_u32_b32 v3, -1, 0;
    // v_lshlrev_b32_e32 v3, 20, v3; v_mov_b32_e32 v2, 8; v_add_nc_u64_e32 v[2:3], s[0:1], v[2:3]
    let own = [
        0xbe80_01e6,
        0xd71f_0003,
        0x0201_00c1,
        0x3006_0694,
        0x7e04_0288,
        0x5004_0400,
    ];
    // v_add_nc_u32_e32 v3, 0x100000, v3
    let next = [0x4a06_06ff, 0x0010_0000];
    // flat_store_b32 v[2:3], v4; scratch_load_b32 v5, off, off offset:8
    let access = [0xec06_807c, 0x0200_0000, 2, 0xed05_007c, 5, 0x800];
    let ran = |words: &[u32]| {
        let mut wave = probe(words);
        wave.set_scratch(16);
        (0..32).for_each(|lane| wave.set_vgpr(4, lane, 100 + lane as u32));
        run(&mut wave).map(|_| wave)
    };
    let wave = ran(&[&own[..], &access].concat()).unwrap();
    for lane in 0..32 {
        assert_eq!(wave.vgpr(5, lane), Some(100 + lane as u32));
    }
    // The address names another lane's memory: the access fails.
    let error = ran(&[&own[..], &next, &access].concat()).unwrap_err().to_string();
    assert!(error.contains("flat_store_b32"), "{error}");
}

#[test]
fn registers_that_have_other_numbers_by_the_way_to_an_instruction_are_refused() {
    // s_cbranch_scc0 1; s_set_vgpr_msb 1; v_mov_b32_e32 v0, v1
    let code = bytes(&[0xbfa1_0001, 0xbf86_0001, 0x7e00_0301, END]);
    let error = Probe::new(Target::Gfx1250, &code).unwrap_err().to_string();
    assert!(
        error.contains("pc 0x8") && error.contains("s_set_vgpr_msb"),
        "{error}"
    );
}

#[test]
fn waves_have_32_lanes_alone() {
    assert!(gfx_emu::Probe64::new(Target::Gfx1250, &bytes(&[END])).is_err());
}
