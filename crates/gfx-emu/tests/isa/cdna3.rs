//! What CDNA3 computes that RDNA3 does not: register pairs, 8-bit floats, indexed and accumulation registers, atomics, and
//! 16-bit results that clear the other half of their register.

use gfx_emu::{FaultKind, Memory};

use crate::lines::ask_together;
use crate::llvm::CDNA3;
use crate::wave::{check_cdna2, check64, get, probe64, run, set};

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn halves_that_are_not_written_are_cleared_except_by_the_operations_with_op_sel() {
    let before = [
        ("v0", 0xabcd_1234),
        ("v1", 0x3c00),
        ("v2", 0x4000),
        ("v3", 0x3c00),
    ];
    check64(&[
        ("v_add_f16 v0, v1, v2", &before, &[("v0", 0x4200)]),
        ("v_add_f16_e64 v0, v1, v2", &before, &[("v0", 0x4200)]),
        ("v_add_u16 v0, v1, v2", &before, &[("v0", 0x7c00)]),
        ("v_subrev_u16 v0, v1, v2", &before, &[("v0", 0x0400)]),
        ("v_cvt_f16_f32 v0, 1.0", &before, &[("v0", 0x3c00)]),
        ("v_mad_legacy_u16 v0, v1, 1, 1", &before, &[("v0", 0x3c01)]),
        ("v_mad_legacy_i16 v0, v1, 1, 1", &before, &[("v0", 0x3c01)]),
        ("v_mad_legacy_f16 v0, v1, v2, v3", &before, &[("v0", 0x4200)]),
        ("v_fma_legacy_f16 v0, v1, v2, v3", &before, &[("v0", 0x4200)]),
        (
            "v_div_fixup_legacy_f16 v0, v1, v2, v3",
            &before,
            &[("v0", 0x3c00)],
        ),
        ("v_mad_u16 v0, v1, 1, 1", &before, &[("v0", 0xabcd_3c01)]),
        ("v_mad_f16 v0, v1, v2, v3", &before, &[("v0", 0xabcd_4200)]),
        (
            "v_fma_f16 v0, v1, v2, v3 op_sel:[0,0,0,1]",
            &before,
            &[("v0", 0x4200_1234)],
        ),
        ("v_max3_f16 v0, v1, v2, v3", &before, &[("v0", 0xabcd_4000)]),
    ]);
}

#[test]
fn multiply_add_in_half_precision_rounds_twice() {
    // (1 + 3/1024)^2 is 1 + 6/1024 + 9/2^20: the last part is lost before 1 is taken off.
    let before = [("v0", 0xbc00), ("v1", 0x3c03), ("v2", 0x3c03), ("v3", 0xbc00)];
    check64(&[
        ("v_mac_f16 v0, v1, v2", &before, &[("v0", 0x1e00)]),
        ("v_mad_legacy_f16 v0, v1, v2, v3", &before, &[("v0", 0x1e00)]),
        ("v_madmk_f16 v0, v1, 0x3c03, v3", &before, &[("v0", 0x1e00)]),
        ("v_madak_f16 v0, v1, v2, 0xbc00", &before, &[("v0", 0x1e00)]),
        ("v_fma_legacy_f16 v0, v1, v2, v3", &before, &[("v0", 0x1e02)]),
    ]);
}

#[test]
fn scalar_and_wide_operations_of_its_own() {
    check64(&[
        ("s_ff0_i32_b32 s0, s1", &[("s1", 0x0000_ffff)], &[("s0", 16)]),
        ("s_ff0_i32_b32 s0, s1", &[("s1", u32::MAX)], &[("s0", u32::MAX)]),
        (
            "s_ff0_i32_b64 s0, s[2:3]",
            &[("s2", u32::MAX), ("s3", 7)],
            &[("s0", 35)],
        ),
        (
            "v_lshl_add_u64 v[0:1], v[2:3], 3, v[4:5]",
            &[("v2", 0x8000_0001), ("v3", 1), ("v4", 0xffff_ffff), ("v5", 0)],
            &[("v0", 7), ("v1", 13)],
        ),
        (
            "v_mov_b64 v[0:1], v[2:3]",
            &[("v2", 5), ("v3", 6)],
            &[("v0", 5), ("v1", 6)],
        ),
        (
            "v_mov_b64 v[0:1], -2",
            &[],
            &[("v0", 0xffff_fffe), ("v1", u32::MAX)],
        ),
        (
            "v_fmac_f64 v[0:1], v[2:3], 2.0",
            &[("v1", 0x3ff0_0000), ("v3", 0x4008_0000)],
            &[("v0", 0), ("v1", 0x401c_0000)],
        ),
        (
            "v_fmamk_f32 v0, v1, 0x40000000, v2",
            &[("v1", f(3.0)), ("v2", f(1.0))],
            &[("v0", f(7.0))],
        ),
        (
            "v_fmaak_f32 v0, v1, v2, 0x3f800000",
            &[("v1", f(3.0)), ("v2", f(2.0))],
            &[("v0", f(7.0))],
        ),
        (
            "v_cvt_pkaccum_u8_f32 v0, v1, 2",
            &[("v0", 0x1122_3344), ("v1", f(200.0))],
            &[("v0", 0x11c8_3344)],
        ),
    ]);
}

#[test]
fn integer_dot_products_saturate_where_they_are_clamped() {
    let ones = u32::MAX;
    let (most, least) = (i32::MAX as u32, i32::MIN as u32);
    check64(&[
        (
            "v_dot4_u32_u8 v0, v1, v1, v2",
            &[("v1", ones), ("v2", ones)],
            &[("v0", 4 * 255 * 255 - 1)],
        ),
        (
            "v_dot4_u32_u8 v0, v1, v1, v2 clamp",
            &[("v1", ones), ("v2", ones)],
            &[("v0", ones)],
        ),
        (
            "v_dot4_u32_u8 v0, v1, v1, v2 clamp",
            &[("v1", ones), ("v2", 7)],
            &[("v0", 4 * 255 * 255 + 7)],
        ),
        (
            "v_dot8_u32_u4 v0, v1, v1, v2 clamp",
            &[("v1", ones), ("v2", ones - 1)],
            &[("v0", ones)],
        ),
        (
            "v_dot2_u32_u16 v0, v1, v1, v2 clamp",
            &[("v1", ones), ("v2", 0)],
            &[("v0", ones)],
        ),
        (
            "v_dot2_i32_i16 v0, v1, v1, v2 clamp",
            &[("v1", 0x8000_8000), ("v2", 5)],
            &[("v0", most)],
        ),
        (
            "v_dot2_i32_i16 v0, v1, v3, v2 clamp",
            &[("v1", 0x8000_8000), ("v3", 0x7fff_7fff), ("v2", least)],
            &[("v0", least)],
        ),
        (
            "v_dot4_i32_i8 v0, v1, v3, v2 clamp",
            &[("v1", 0x8080_8080), ("v3", 0x7f7f_7f7f), ("v2", least)],
            &[("v0", least)],
        ),
        (
            "v_dot8_i32_i4 v0, v1, v1, v2 clamp",
            &[("v1", 0x8888_8888), ("v2", most)],
            &[("v0", most)],
        ),
        (
            "v_dot8_i32_i4 v0, v1, v1, v2",
            &[("v1", 0x8888_8888), ("v2", most)],
            &[("v0", least + 511)],
        ),
    ]);
}

#[test]
fn integer_dot_products_are_signed_or_not() {
    let before = [("v0", 10), ("v1", 0x01ff_02fe), ("v2", 0x0304_0506)];
    check64(&[
        // 1*3 + -1*4 + 2*5 + -2*6 + 10
        ("v_dot4_i32_i8 v0, v1, v2, v0", &before, &[("v0", 7)]),
        ("v_dot4c_i32_i8 v0, v1, v2", &before, &[("v0", 7)]),
        (
            "v_dot4_u32_u8 v0, v1, v2, v0",
            &before,
            &[("v0", 3 + 255 * 4 + 10 + 254 * 6 + 10)],
        ),
        // 0x01ff * 0x0304 + 0x02fe * 0x0506
        (
            "v_dot2_i32_i16 v0, v1, v2, v0",
            &before,
            &[("v0", 511 * 772 + 766 * 1286 + 10)],
        ),
        (
            "v_dot2c_i32_i16 v0, v1, v2",
            &before,
            &[("v0", 511 * 772 + 766 * 1286 + 10)],
        ),
        (
            "v_dot2_i32_i16 v0, v1, v2, 0",
            &[("v1", 0xffff_0002), ("v2", 0x0005_0003)],
            &[("v0", 1)],
        ),
        (
            "v_dot2_u32_u16 v0, v1, v2, 0",
            &[("v1", 0xffff_0002), ("v2", 0x0005_0003)],
            &[("v0", 65535 * 5 + 6)],
        ),
        (
            "v_dot8_i32_i4 v0, v1, v2, 1",
            &[("v1", 0xf000_0002), ("v2", 0x7000_0003)],
            &[("v0", 0)],
        ),
        (
            "v_dot8c_i32_i4 v0, v1, v2",
            &[("v0", 1), ("v1", 0xf000_0002), ("v2", 0x7000_0003)],
            &[("v0", 0)],
        ),
    ]);
}

#[test]
fn pairs_of_single_precision_numbers_choose_halves_and_signs() {
    let before = [
        ("v2", f(1.0)),
        ("v3", f(2.0)),
        ("v4", f(10.0)),
        ("v5", f(20.0)),
        ("v6", f(0.5)),
        ("v7", f(0.25)),
        ("s2", f(3.0)),
        ("s3", f(4.0)),
    ];
    check64(&[
        (
            "v_pk_add_f32 v[0:1], v[2:3], v[4:5]",
            &before,
            &[("v0", f(11.0)), ("v1", f(22.0))],
        ),
        (
            "v_pk_add_f32 v[0:1], v[2:3], v[4:5] neg_lo:[0,1] neg_hi:[1,0]",
            &before,
            &[("v0", f(-9.0)), ("v1", f(18.0))],
        ),
        (
            "v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,1]",
            &before,
            &[("v0", f(20.0)), ("v1", f(20.0))],
        ),
        (
            "v_pk_mul_f32 v[0:1], v[2:3], s[2:3]",
            &before,
            &[("v0", f(3.0)), ("v1", f(8.0))],
        ),
        (
            "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
            &before,
            &[("v0", f(10.5)), ("v1", f(40.25))],
        ),
        (
            "v_pk_add_f32 v[0:1], v[2:3], 1.0 op_sel_hi:[1,0]",
            &before,
            &[("v0", f(2.0)), ("v1", f(3.0))],
        ),
        // The second half of a constant is refused below, but that of zero can only be zero.
        (
            "v_pk_add_f32 v[0:1], v[2:3], 0 neg_lo:[1,1] neg_hi:[1,1]",
            &before,
            &[("v0", f(-1.0)), ("v1", f(-2.0))],
        ),
        (
            "v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]",
            &before,
            &[("v0", f(2.0)), ("v1", f(10.0))],
        ),
        (
            "v_pk_mov_b32 v[0:1], 1, v[2:3]",
            &before,
            &[("v0", 1), ("v1", f(1.0))],
        ),
        // Both halves are read before either is written.
        (
            "v_pk_mov_b32 v[2:3], v[2:3], v[2:3] op_sel:[1,0]",
            &before,
            &[("v2", f(2.0)), ("v3", f(1.0))],
        ),
    ]);
    let fault = run(&mut probe64("v_pk_add_f32 v[0:1], v[2:3], 1.0")).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Unimplemented { .. }), "{fault}");
}

#[test]
fn eight_bit_floats_are_those_without_infinity() {
    check64(&[
        // 1.0 has the biased exponent 8; the largest number is 240.
        ("v_cvt_f32_fp8 v0, v1", &[("v1", 0x40)], &[("v0", f(1.0))]),
        ("v_cvt_f32_fp8 v0, v1", &[("v1", 0xff)], &[("v0", f(-240.0))]),
        (
            "v_cvt_f32_fp8 v0, v1",
            &[("v1", 0x01)],
            &[("v0", f(2f32.powi(-10)))],
        ),
        ("v_cvt_f32_fp8 v0, v1", &[("v1", 0x80)], &[("v0", 0x7fc0_0000)]),
        ("v_cvt_f32_bf8 v0, v1", &[("v1", 0x40)], &[("v0", f(1.0))]),
        ("v_cvt_f32_bf8 v0, v1", &[("v1", 0x7f)], &[("v0", f(57344.0))]),
        (
            "v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_2",
            &[("v1", 0x0048_0000)],
            &[("v0", f(2.0))],
        ),
        (
            "v_cvt_pk_f32_fp8 v[2:3], v1",
            &[("v1", 0x4840)],
            &[("v2", f(1.0)), ("v3", f(2.0))],
        ),
        (
            "v_cvt_pk_f32_bf8_sdwa v[2:3], v1 src0_sel:WORD_1",
            &[("v1", 0x4440_0000)],
            &[("v2", f(1.0)), ("v3", f(2.0))],
        ),
        (
            "v_cvt_pk_fp8_f32 v0, v1, v2",
            &[("v0", 0xabcd_0000), ("v1", f(1.0)), ("v2", f(-2.0))],
            &[("v0", 0xabcd_c840)],
        ),
        // A tie goes to the even one; too large and too small.
        (
            "v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]",
            &[("v0", 0x1234), ("v1", f(1.0625)), ("v2", f(1.1875))],
            &[("v0", 0x4240_1234)],
        ),
        (
            "v_cvt_pk_bf8_f32 v0, v1, v2",
            &[("v1", f(1e9)), ("v2", f(-1e-9))],
            &[("v0", 0x0080)],
        ),
    ]);
}

#[test]
fn every_eight_bit_float_comes_back_from_single_precision() {
    for (there, back) in [
        ("v_cvt_f32_fp8", "v_cvt_pk_fp8_f32"),
        ("v_cvt_f32_bf8", "v_cvt_pk_bf8_f32"),
    ] {
        for codes in [0, 64, 128, 192] {
            let mut wave = probe64(&format!("{there} v2, v1\n{back} v3, v2, 0"));
            (0..64).for_each(|lane| wave.set_vgpr(1, lane, codes + lane as u32));
            run(&mut wave).unwrap();
            for lane in 0..64 {
                assert_eq!(wave.vgpr(3, lane), Some(codes + lane as u32), "{there}");
            }
        }
    }
}

#[test]
fn registers_are_indexed_by_m0() {
    let before = [
        ("v2", 20),
        ("v3", 30),
        ("v4", 40),
        ("v5", 50),
        ("s0", 2),
        ("m0", 0xdead_0b03),
    ];
    check64(&[
        (
            "s_set_gpr_idx_on s0, gpr_idx(SRC0)\nv_mov_b32 v0, v2\ns_set_gpr_idx_off\nv_mov_b32 v1, v2",
            &before,
            &[("v0", 40), ("v1", 20), ("m0", 0xdead_1b02 & !0xf000 | 0x1000)],
        ),
        (
            "s_set_gpr_idx_on s0, gpr_idx(DST)\nv_mov_b32 v2, v3\ns_set_gpr_idx_off",
            &before,
            &[("v2", 20), ("v4", 30)],
        ),
        (
            "s_set_gpr_idx_on s0, gpr_idx(DST)\ns_set_gpr_idx_mode gpr_idx(SRC1)\nv_add_u32 v0, v2, v3\ns_set_gpr_idx_off",
            &before,
            &[("v0", 70)],
        ),
        (
            "s_set_gpr_idx_on s0, gpr_idx(SRC0)\ns_set_gpr_idx_idx 3\nv_mov_b32 v0, v2\ns_set_gpr_idx_off",
            &before,
            &[("v0", 50)],
        ),
    ]);
}

#[test]
fn accumulation_registers_are_a_file_of_their_own() {
    check64(&[
        (
            "v_accvgpr_write_b32 a1, v1\nv_accvgpr_mov_b32 a2, a1\nv_accvgpr_read_b32 v2, a2",
            &[("v1", 7), ("v1@63", 9), ("v2", 1)],
            &[("a1", 7), ("a2@63", 9), ("v2", 7), ("v2@63", 9), ("v1", 7)],
        ),
        ("v_accvgpr_write_b32 a255, 1.0", &[], &[("a255", f(1.0))]),
    ]);
    // Memory instructions load and store them.
    let mut memory = Memory::new(1 << 20);
    let address = memory.alloc(1024).unwrap();
    let mut wave =
        probe64("global_load_dwordx2 a[2:3], v0, s[2:3]\nglobal_store_dword v0, a3, s[2:3] offset:4");
    set(&mut wave, "s2", address as u32);
    set(&mut wave, "s3", (address >> 32) as u32);
    (0..64).for_each(|lane| wave.set_vgpr(0, lane, 8 * lane as u32));
    let bytes: Vec<u8> = (0..128u32).flat_map(u32::to_le_bytes).collect();
    memory.write(address, &bytes).unwrap();
    wave.run(&memory).unwrap();
    assert_eq!((get(&wave, "a2@5"), get(&wave, "a3@5")), (10, 11));
}

#[test]
fn loads_of_half_a_register_clear_the_other_half() {
    let mut memory = Memory::new(1 << 20);
    let address = memory.alloc(64).unwrap();
    memory.write(address, &[0xfe, 0x81, 0x34, 0x12]).unwrap();
    let mut wave = probe64(
        "global_load_short_d16 v1, v0, s[2:3]\nglobal_load_sbyte_d16_hi v2, v0, s[2:3]\nglobal_load_ubyte_d16 v3, v0, s[2:3]",
    );
    set(&mut wave, "s2", address as u32);
    set(&mut wave, "s3", (address >> 32) as u32);
    for register in ["v1", "v2", "v3"] {
        set(&mut wave, register, 0x7777_7777);
    }
    wave.run(&memory).unwrap();
    let loaded = ["v1", "v2", "v3"].map(|register| get(&wave, register));
    assert_eq!(loaded, [0x81fe, 0xfffe_0000, 0xfe]);
}

#[test]
fn atomics_of_double_precision_and_of_pairs() {
    let mut memory = Memory::new(1 << 20);
    let address = memory.alloc(64).unwrap();
    let cases: [(&str, u64, u64, u64); 6] = [
        (
            "atomic_add_f64",
            1.5f64.to_bits(),
            2.0f64.to_bits(),
            3.5f64.to_bits(),
        ),
        (
            "atomic_min_f64",
            1.5f64.to_bits(),
            (-2.0f64).to_bits(),
            (-2.0f64).to_bits(),
        ),
        (
            "atomic_max_f64",
            1.5f64.to_bits(),
            (-2.0f64).to_bits(),
            1.5f64.to_bits(),
        ),
        ("atomic_pk_add_f16", 0x4000_3c00, 0x3c00_3c00, 0x4200_4000),
        ("atomic_pk_add_bf16", 0x4000_3f80, 0x3f80_3f80, 0x4040_4000),
        (
            "atomic_add_f32",
            u64::from(f(1.0)),
            u64::from(f(2.0)),
            u64::from(f(3.0)),
        ),
    ];
    let asm = |space: &str, name: &str| {
        let wide = name.ends_with("f64");
        let data = if wide { "v[2:3]" } else { "v2" };
        let result = if wide { "v[4:5]" } else { "v4" };
        let off = if space == "flat" { "" } else { ", off" };
        format!("{space}_{name} {result}, v[0:1], {data}{off} sc0")
    };
    let in_both = cases.map(|(name, ..)| ["flat", "global"].map(|space| asm(space, name)));
    ask_together(CDNA3, in_both.into_iter().flatten());
    for (name, old, operand, new) in cases {
        for space in ["flat", "global"] {
            memory.write(address, &old.to_le_bytes()).unwrap();
            let mut wave = probe64(&asm(space, name));
            set(&mut wave, "exec", 1);
            set(&mut wave, "exec_hi", 0);
            for (register, value) in [
                ("v0", address),
                ("v1", address >> 32),
                ("v2", operand),
                ("v3", operand >> 32),
            ] {
                set(&mut wave, register, value as u32);
            }
            wave.run(&memory).unwrap();
            let mut bytes = [0; 8];
            memory.read(address, &mut bytes).unwrap();
            assert_eq!(u64::from_le_bytes(bytes), new, "{space}_{name}");
            assert_eq!(get(&wave, "v4"), old as u32, "{space}_{name}");
        }
    }
}

#[test]
fn multiply_add_of_cdna2_rounds_twice_and_flushes_denormals() {
    // (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24: the last part is lost before 1 is taken off.
    let x = f(1.0 + 2f32.powi(-12));
    let before = [("v0", f(-1.0)), ("v1", x), ("v2", x), ("v3", f(-1.0))];
    let rounded = f(2f32.powi(-11));
    check_cdna2(&[
        ("v_mad_f32 v0, v1, v2, v3", &before, &[("v0", rounded)]),
        ("v_mac_f32 v0, v1, v2", &before, &[("v0", rounded)]),
        ("v_madak_f32 v0, v1, v2, 0xbf800000", &before, &[("v0", rounded)]),
        (
            "v_madmk_f32 v0, v1, 0x3f800000, v3",
            &before,
            &[("v0", f(2f32.powi(-12)))],
        ),
        // A denormal factor, product and sum.
        (
            "v_mad_f32 v0, v1, 1.0, 1.0",
            &[("v1", 0x7f_ffff)],
            &[("v0", f(1.0))],
        ),
        ("v_mad_f32 v0, v1, 0.5, 0", &[("v1", 0x8080_0000)], &[("v0", 0)]),
        (
            "v_mad_f32 v0, v1, 1.0, v2",
            &[("v1", 0x0080_0001), ("v2", 0x8080_0000)],
            &[("v0", 0)],
        ),
        (
            "v_fma_f32 v0, v1, 1.0, 0",
            &[("v1", 0x7f_ffff)],
            &[("v0", 0x7f_ffff)],
        ),
    ]);
}
