//! What RDNA2 alone has among the cards of RDNA: parts of registers in waves of both widths, codes of M0 and NULL in the other order,
//! offsets of 11 and 12 bits, exchanges whose comparand comes first, and registers that say where private memory is.

use gfx_emu::{FaultKind, Memory, Probe, WaveProbe};

use crate::llvm::{CDNA2, CDNA3, Card, RDNA2, RDNA2_WAVE64};
use crate::wave::{Registers, check_rdna2, get, program_on, run, set};

fn f(value: f32) -> u32 {
    value.to_bits()
}

#[test]
fn parts_of_registers_are_read_extended_and_written() {
    let value: Registers<'_> = &[
        ("v0", 0x1122_3344),
        ("v1", 0x8142_fd07),
        ("v2", 0x0102_0304),
        ("s1", 0x1234_5678),
    ];
    check_rdna2(&[
        (
            "v_mov_b32_sdwa v0, v1 dst_sel:DWORD src0_sel:BYTE_3",
            value,
            &[("v0", 0x81)],
        ),
        (
            "v_mov_b32_sdwa v0, sext(v1) dst_sel:DWORD src0_sel:BYTE_1",
            value,
            &[("v0", 0xffff_fffd)],
        ),
        (
            "v_mov_b32_sdwa v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
            value,
            &[("v0", 0x1122_0744)],
        ),
        (
            "v_mov_b32_sdwa v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1",
            value,
            &[("v0", 0x00fd_0000)],
        ),
        // GFX9's name of the addition means a carry here.
        (
            "v_add_nc_u32_sdwa v0, v1, v2 dst_sel:DWORD src0_sel:WORD_1 src1_sel:BYTE_1",
            value,
            &[("v0", 0x8145)],
        ),
        (
            "v_add_nc_u32_sdwa v0, s1, v2 dst_sel:DWORD src0_sel:BYTE_0 src1_sel:BYTE_2",
            value,
            &[("v0", 0x7a)],
        ),
        (
            "v_add_nc_u32_sdwa v0, v2, s1 dst_sel:DWORD src0_sel:BYTE_0 src1_sel:WORD_1",
            value,
            &[("v0", 0x1238)],
        ),
        (
            "v_add_f16_sdwa v0, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
            &[("v0", 0x7777_1234), ("v1", 0x3c00_0000), ("v2", 0x4000)],
            &[("v0", 0x4200_1234)],
        ),
        (
            "v_cvt_f32_ubyte0_sdwa v0, v1 dst_sel:DWORD src0_sel:BYTE_2",
            value,
            &[("v0", f(66.0))],
        ),
    ]);
}

/// `v1` holds the lane number; gives the wave after `asm`.
fn by_lane<const W: usize>(card: Card, asm: &str) -> WaveProbe<W> {
    let mut wave = WaveProbe::<W>::new(card.target, &program_on(card, asm)).unwrap();
    for lane in 0..W {
        wave.set_vgpr(1, lane, lane as u32);
        wave.set_vgpr(2, lane, (lane as u32) << 8 | 0xaa);
    }
    set(&mut wave, "s6", 77);
    run(&mut wave).unwrap();
    wave
}

#[test]
fn comparisons_of_parts_write_a_mask_as_wide_as_the_wave_or_the_active_lanes_alone() {
    // Equal in every lane but the fifth of each eight.
    let compare = "v_xor_b32_e32 v3, 5, v1\nv_and_b32_e32 v3, 7, v3";
    let narrow = by_lane::<32>(
        RDNA2,
        &format!("{compare}\nv_cmp_ne_u32_sdwa s4, v3, v4 src0_sel:BYTE_0 src1_sel:DWORD"),
    );
    assert_eq!([get(&narrow, "s4"), get(&narrow, "s5")], [0xdfdf_dfdf, 0]);
    let wide = by_lane::<64>(
        RDNA2_WAVE64,
        &format!("{compare}\nv_cmp_ne_u32_sdwa s[4:5], v3, v4 src0_sel:BYTE_0 src1_sel:DWORD"),
    );
    assert_eq!(
        [get(&wide, "s4"), get(&wide, "s5"), get(&wide, "s6")],
        [0xdfdf_dfdf, 0xdfdf_dfdf, 77]
    );
    // The upper byte of v2 is the lane.
    let only = by_lane::<32>(
        RDNA2,
        "s_mov_b32 vcc_lo, 9\nv_cmpx_eq_u32_sdwa v2, v1 src0_sel:BYTE_0 src1_sel:DWORD",
    );
    assert_eq!([get(&only, "exec"), get(&only, "vcc")], [0, 9]);
    let all = by_lane::<32>(RDNA2, "v_cmpx_eq_u32_sdwa v2, v1 src0_sel:BYTE_1 src1_sel:DWORD");
    assert_eq!(get(&all, "exec"), u32::MAX);
}

#[test]
fn m0_and_null_are_what_their_names_say() {
    let before: Registers<'_> = &[("s1", 7), ("s2", 5), ("m0", 3)];
    check_rdna2(&[
        ("s_add_u32 s0, s1, m0", before, &[("s0", 10)]),
        ("s_add_u32 s0, s1, null", before, &[("s0", 7)]),
        (
            "s_mov_b32 m0, s1\ns_mov_b32 null, s2\ns_mov_b32 s0, m0",
            before,
            &[("s0", 7), ("m0", 7)],
        ),
        ("v_mov_b32_e32 v0, m0", before, &[("v0", 3)]),
        ("v_add3_u32 v0, m0, s1, null", before, &[("v0", 10)]),
        (
            "s_movrels_b32 s0, s1",
            &[("s1", 7), ("s3", 9), ("m0", 2)],
            &[("s0", 9)],
        ),
    ]);
    // VCC and EXEC that are zero are operands.
    check_rdna2(&[
        ("v_mov_b32_e32 v0, src_vccz", &[("vcc", 0)], &[("v0", 1)]),
        ("v_mov_b32_e32 v0, src_vccz", &[("vcc", 4)], &[("v0", 0)]),
        ("s_mov_b32 s0, src_execz", &[], &[("s0", 0)]),
    ]);
}

#[test]
fn results_of_16_bits_keep_the_other_half() {
    let before: Registers<'_> = &[("v0", 0x1234_5678), ("v1", f(1.5)), ("v2", 0x4000), ("v3", 3)];
    check_rdna2(&[
        ("v_cvt_f16_f32_e32 v0, v1", before, &[("v0", 0x1234_3e00)]),
        ("v_add_f16_e32 v0, v2, v2", before, &[("v0", 0x1234_4400)]),
        ("v_mul_lo_u16 v0, v3, v3", before, &[("v0", 0x1234_0009)]),
        ("v_mad_u16 v0, v3, v3, v3", before, &[("v0", 0x1234_000c)]),
        (
            "v_mad_u16 v0, v3, v3, v3 op_sel:[0,0,0,1]",
            before,
            &[("v0", 0x000c_5678)],
        ),
        // A register from 128 on is a whole one in the short encodings too.
        (
            "v_mov_b32_e32 v130, v2\nv_add_f16_e32 v0, v130, v130",
            before,
            &[("v0", 0x1234_4400)],
        ),
    ]);
}

#[test]
fn products_of_the_old_rules_and_dot_products() {
    let inf = f(f32::INFINITY);
    let before: Registers<'_> = &[("v0", f(2.0)), ("v1", 0), ("v2", inf), ("v3", f(3.0))];
    check_rdna2(&[
        ("v_fma_legacy_f32 v0, v1, v2, v3", before, &[("v0", f(3.0))]),
        ("v_fmac_legacy_f32_e32 v0, v1, v2", before, &[("v0", f(2.0))]),
        ("v_mul_legacy_f32_e32 v0, v1, v2", before, &[("v0", 0)]),
    ]);
    // -1 * 2 + 2 * 3 + 3 * 4 + 4 * 5, and the same of nibbles and halves.
    let bytes: Registers<'_> = &[("v0", 100), ("v1", 0x0403_02ff), ("v2", 0x0504_0302)];
    check_rdna2(&[
        ("v_dot4c_i32_i8 v0, v1, v2", bytes, &[("v0", 136)]),
        ("v_dot4_i32_i8 v0, v1, v2, v0", bytes, &[("v0", 136)]),
        ("v_dot4_u32_u8 v0, v1, v2, v0", bytes, &[("v0", 648)]),
        (
            "v_dot2_i32_i16 v0, v1, v2, v0",
            &[("v0", 1), ("v1", 0xffff_0003), ("v2", 0x0007_0005)],
            &[("v0", 9)],
        ),
        (
            "v_dot8_i32_i4 v0, v1, v2, v0",
            &[("v0", 1), ("v1", 0x432f), ("v2", 0x5432)],
            &[("v0", 37)],
        ),
        (
            "v_dot2c_f32_f16 v0, v1, v2",
            &[("v0", f(1.0)), ("v1", 0x4000_3c00), ("v2", 0x4200_4200)],
            &[("v0", f(10.0))],
        ),
        // Lane 0 takes the factor of lane 1.
        (
            "v_dot4c_i32_i8_dpp v0, v1, v2 dpp8:[1,0,2,3,4,5,6,7]",
            &[("v0", 0), ("v1", 1), ("v1@1", 0x0101), ("v2", 0x0302)],
            &[("v0@0", 5), ("v0@1", 2)],
        ),
    ]);
}

type Exchange = fn(Card, &str, u32, [u32; 2]) -> [u32; 2];

/// What a dword of LDS that holds `old` becomes, and what the exchange gives back.
fn exchanged<const W: usize>(card: Card, asm: &str, old: u32, data: [u32; 2]) -> [u32; 2] {
    let asm = format!("ds_write_b32 v4, v5\n{asm}\nds_read_b32 v7, v4");
    let mut wave = WaveProbe::<W>::new(card.target, &program_on(card, &asm)).unwrap();
    wave.set_lds(64);
    set(&mut wave, "exec", 1);
    set(&mut wave, "exec_hi", 0);
    for (register, value) in [("v4", 8), ("v5", old), ("v6", data[0]), ("v8", data[1])] {
        set(&mut wave, register, value);
    }
    run(&mut wave).unwrap();
    [get(&wave, "v7"), get(&wave, "v0")]
}

#[test]
fn the_comparand_of_an_exchange_in_the_data_share_comes_first_before_rdna3() {
    let cards: [(Card, Exchange); 4] = [
        (RDNA2, exchanged::<32>),
        (RDNA2_WAVE64, exchanged::<64>),
        (CDNA2, exchanged::<64>),
        (CDNA3, exchanged::<64>),
    ];
    for (card, exchanged) in cards {
        let integers = "ds_cmpst_rtn_b32 v0, v4, v6, v8";
        assert_eq!(exchanged(card, integers, 50, [50, 60]), [60, 50], "{}", card.name);
        assert_eq!(exchanged(card, integers, 50, [60, 50]), [50, 50], "{}", card.name);
        let floats = "ds_cmpst_rtn_f32 v0, v4, v6, v8";
        // Zeros are equal whatever their signs.
        assert_eq!(
            exchanged(card, floats, f(-0.0), [f(0.0), f(6.0)]),
            [f(6.0), f(-0.0)],
            "{}",
            card.name
        );
    }
}

/// Runs with device memory whose bytes are 0, 1, 2, …; address in `v[2:3]` and `s[2:3]`, 128 bytes after its begin.
fn in_memory(code: &[u8]) -> Result<Probe, FaultKind> {
    let mut memory = Memory::new(1 << 20);
    let base = memory.alloc(4096).unwrap();
    let content: Vec<u8> = (0..=255).cycle().take(4096).collect();
    memory.write(base, &content).unwrap();
    let mut wave = Probe::new(RDNA2.target, code).unwrap();
    wave.set_scratch(64);
    wave.set_lds(64);
    for (low, high) in [("s2", "s3"), ("v2", "v3")] {
        set(&mut wave, low, base as u32 + 128);
        set(&mut wave, high, (base >> 32) as u32);
    }
    set(&mut wave, "v1", 0);
    set(&mut wave, "exec", 1);
    wave.run(&memory).map_err(|fault| fault.kind)?;
    Ok(wave)
}

#[test]
fn offsets_have_12_bits_with_a_sign_and_those_of_flat_11_without() {
    let loaded = |asm: &str| get(&in_memory(&program_on(RDNA2, asm)).unwrap(), "v0");
    assert_eq!(loaded("global_load_ubyte v0, v[2:3], off offset:-8"), 120);
    assert_eq!(loaded("global_load_ubyte v0, v1, s[2:3] offset:127"), 255);
    assert_eq!(loaded("flat_load_ubyte v0, v[2:3] offset:16"), 144);
    // The same with bit 11, which FLAT ignores.
    let mut code = program_on(RDNA2, "flat_load_ubyte v0, v[2:3] offset:16");
    code[1] |= 0x08;
    assert_eq!(get(&in_memory(&code).unwrap(), "v0"), 144);
    assert_eq!(
        loaded(
            "s_mov_b32 s5, 8\nv_mov_b32_e32 v4, 42\nscratch_store_dword off, v4, s5 offset:-4\nscratch_load_dword v0, off, off offset:4"
        ),
        42
    );
}

#[test]
fn scalar_loads_and_buffers_take_m0_and_constants_as_offsets() {
    let loaded = |asm: &str, register: &str| get(&in_memory(&program_on(RDNA2, asm)).unwrap(), register);
    assert_eq!(
        loaded("s_movk_i32 m0, 0x4\ns_load_dword s0, s[2:3], m0 offset:0x4", "s0"),
        0x8b8a_8988
    );
    assert_eq!(loaded("s_load_dword s0, s[2:3], null", "s0"), 0x8382_8180);
    let descriptor = "s_mov_b64 s[8:9], s[2:3]\ns_mov_b32 s10, 64\ns_mov_b32 s11, 0x30000000\ns_movk_i32 m0, 0x8\nv_mov_b32_e32 v1, 4";
    assert_eq!(
        loaded(
            &format!("{descriptor}\nbuffer_load_ubyte v0, v1, s[8:11], m0 offen offset:1"),
            "v0"
        ),
        141
    );
    assert_eq!(
        loaded(
            &format!("{descriptor}\nbuffer_load_ubyte v0, off, s[8:11], null offset:63"),
            "v0"
        ),
        191
    );
    // Swizzled addresses in the texture cache change nothing of what is loaded; swizzled records are not modelled.
    let with =
        |bits: &str| format!("{descriptor}\ns_or_b32 s9, s9, {bits}\nbuffer_load_ubyte v0, off, s[8:11], 0");
    assert_eq!(loaded(&with("0x40000000"), "v0"), 128);
    let refused = in_memory(&program_on(RDNA2, &with("0x80000000")));
    assert!(matches!(refused, Err(FaultKind::Unimplemented { .. })));
    // Out of the buffer's 64 bytes.
    assert_eq!(
        loaded(
            &format!("{descriptor}\nbuffer_load_ubyte v0, off, s[8:11], 0 offset:64"),
            "v0"
        ),
        0
    );
}

#[test]
fn the_registers_of_private_memory_are_written_and_others_are_refused() {
    let ran = |asm: &str| {
        let mut wave = Probe::new(RDNA2.target, &program_on(RDNA2, asm)).unwrap();
        run(&mut wave)
            .map(|_| get(&wave, "s0"))
            .map_err(|fault| fault.kind)
    };
    let prologue = "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s4\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s5";
    assert_eq!(
        ran(&format!("{prologue}\ns_getreg_b32 s0, hwreg(HW_REG_HW_ID1)")),
        Ok(0)
    );
    // Two questions for the time have two answers.
    let clock = "s_getreg_b32 s1, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\ns_getreg_b32 s0, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\ns_sub_u32 s0, s0, s1";
    assert_eq!(ran(clock), Ok(1));
    for asm in [
        "s_setreg_b32 hwreg(HW_REG_HW_ID1), s4",
        "s_getreg_b32 s0, hwreg(HW_REG_TRAPSTS)",
        // RDNA3 gives registers back with this number; here it tells of the end of a geometry shader.
        "s_sendmsg sendmsg(3, 0, 0)",
    ] {
        assert!(matches!(ran(asm), Err(FaultKind::Unimplemented { .. })), "{asm}");
    }
}
