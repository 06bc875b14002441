//! Loads, stores and atomics in every address space.

use gfx_emu::{FaultKind, Memory, Probe};

use crate::lines::ask_together;
use crate::llvm::RDNA3;
use crate::wave::{get, probe, set};

/// Runs `asm` with 256 bytes of device memory, whose address is in `s[2:3]` and in `v[2:3]`, holding 0, 1, 2, … as bytes.
/// LDS and scratch have 256 bytes a piece. `v1` is the lane number.
#[track_caller]
fn run(asm: &str, before: &[(&str, u32)]) -> (Probe, Vec<u8>) {
    let (wave, bytes, fault) = attempt(asm, before);
    if let Some(fault) = fault {
        panic!("{asm}: {fault:?}");
    }
    (wave, bytes)
}

/// What went wrong, and in which lane.
type Blame = (FaultKind, Option<usize>);

#[track_caller]
fn attempt(asm: &str, before: &[(&str, u32)]) -> (Probe, Vec<u8>, Option<Blame>) {
    let mut memory = Memory::new(1 << 20);
    let base = memory.alloc(256).unwrap();
    let content: Vec<u8> = (0..=255).collect();
    memory.write(base, &content).unwrap();
    let mut wave = probe(asm);
    wave.set_lds(256);
    wave.set_scratch(256);
    for (low, high) in [("s2", "s3"), ("v2", "v3")] {
        set(&mut wave, low, base as u32);
        set(&mut wave, high, (base >> 32) as u32);
    }
    (0..Probe::LANES).for_each(|lane| wave.set_vgpr(1, lane, lane as u32));
    before
        .iter()
        .for_each(|(register, value)| set(&mut wave, register, *value));
    let fault = wave.run(&memory).err().map(|fault| (fault.kind, fault.lane));
    let mut bytes = vec![0; 256];
    memory.read(base, &mut bytes).unwrap();
    (wave, bytes, fault)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn narrow_loads_extend_or_keep_the_other_half() {
    let loads = [
        ("u8", 0x0000_0085),
        ("i8", 0xffff_ff85),
        ("u16", 0x0000_8685),
        ("i16", 0xffff_8685),
        ("b32", 0x8887_8685),
        ("d16_u8", 0xaaaa_0085),
        ("d16_i8", 0xaaaa_ff85),
        ("d16_b16", 0xaaaa_8685),
        ("d16_hi_u8", 0x0085_aaaa),
        ("d16_hi_i8", 0xff85_aaaa),
        ("d16_hi_b16", 0x8685_aaaa),
    ];
    let asm = |load: &str| format!("global_load_{load} v0, v[2:3], off offset:0x85");
    ask_together(RDNA3, loads.map(|(load, _)| asm(load)));
    for (load, want) in loads {
        let (wave, _) = run(&asm(load), &[("v0", 0xaaaa_aaaa)]);
        assert_eq!(get(&wave, "v0"), want, "{load}");
    }
}

#[test]
fn wide_loads_fill_consecutive_registers() {
    for (load, count) in [("b64", 2), ("b96", 3), ("b128", 4)] {
        let last = 4 + count - 1;
        let (wave, _) = run(
            &format!("global_load_{load} v[4:{last}], v[2:3], off offset:8"),
            &[],
        );
        for i in 0..5u32 {
            let want = if i < count {
                0x0b0a_0908 + 0x0404_0404 * i
            } else {
                0
            };
            assert_eq!(get(&wave, &format!("v{}", 4 + i)), want, "{load} {i}");
        }
    }
}

#[test]
fn addresses_are_made_of_base_index_and_signed_offset() {
    for asm in [
        "global_load_b32 v0, v5, s[2:3] offset:-4",
        "v_add_co_u32 v2, vcc_lo, v2, v5\nglobal_load_b32 v0, v[2:3], off offset:-4",
        "v_add_co_u32 v2, vcc_lo, v2, v5\nv_add_nc_u32 v2, v2, -4\nflat_load_b32 v0, v[2:3]",
    ] {
        let (wave, _) = run(asm, &[("v5", 16)]);
        assert_eq!(get(&wave, "v0"), 0x0f0e_0d0c, "{asm}");
    }
}

#[test]
fn lanes_load_and_store_their_own_words() {
    // Contiguous, reversed, and with a lane switched off.
    for (index, exec) in [
        ("v_lshlrev_b32 v4, 2, v1", u32::MAX),
        ("v_lshlrev_b32 v4, 2, v1\nv_sub_nc_u32 v4, 0x7c, v4", u32::MAX),
        ("v_lshlrev_b32 v4, 2, v1", !8),
    ] {
        let asm = format!(
            "{index}\nglobal_load_b32 v0, v4, s[2:3]\nv_not_b32 v0, v0\nglobal_store_b32 v4, v0, s[2:3]"
        );
        let (wave, bytes) = run(&asm, &[("exec", exec)]);
        for lane in 0..32usize {
            if exec >> lane & 1 != 0 {
                let at = get(&wave, &format!("v4@{lane}")) as usize;
                let old = u32::from_le_bytes(std::array::from_fn(|i| (at + i) as u8));
                assert_eq!(
                    (get(&wave, &format!("v0@{lane}")), word(&bytes, at)),
                    (!old, !old),
                    "{asm}, lane {lane}"
                );
            }
        }
        assert_eq!(
            word(&bytes, 12),
            if exec == !8 { 0x0f0e_0d0c } else { !0x0f0e_0d0c }
        );
    }
}

#[test]
fn narrow_and_wide_stores_write_their_bytes_only() {
    let stores = [
        ("b8", "v5", 0x2322_2144),
        ("b16", "v5", 0x2322_3344),
        ("d16_hi_b8", "v5", 0x2322_2122),
        ("d16_hi_b16", "v5", 0x2322_1122),
        ("b32", "v5", 0x1122_3344),
        ("b64", "v[5:6]", 0x1122_3344),
        ("b96", "v[5:7]", 0x1122_3344),
        ("b128", "v[5:8]", 0x1122_3344),
    ];
    let asm = |store: &str, data: &str| format!("global_store_{store} v[2:3], {data}, off offset:32");
    ask_together(RDNA3, stores.map(|(store, data, _)| asm(store, data)));
    for (store, data, want) in stores {
        let before = [("v5", 0x1122_3344), ("v6", 0x5566_7788), ("exec", 1)];
        let (_, bytes) = run(&asm(store, data), &before);
        assert_eq!(word(&bytes, 32), want, "{store}");
        let wide = matches!(store, "b64" | "b96" | "b128");
        assert_eq!(
            word(&bytes, 36),
            if wide { 0x5566_7788 } else { 0x2726_2524 },
            "{store}"
        );
    }
}

#[test]
fn scalar_loads_take_their_offset_from_everywhere() {
    let (wave, _) = run(
        "s_load_b32 s8, s[2:3], 0x10\ns_load_b64 s[10:11], s[2:3], s5 offset:0x4\ns_load_b128 s[12:15], s[2:3], null\ns_load_b512 s[16:31], s[2:3], 0x0",
        &[("s5", 8)],
    );
    for (register, want) in [
        ("s8", 0x1312_1110),
        ("s10", 0x0f0e_0d0c),
        ("s11", 0x1312_1110),
        ("s15", 0x0f0e_0d0c),
        ("s31", 0x3f3e_3d3c),
    ] {
        assert_eq!(get(&wave, register), want, "{register}");
    }
}

#[test]
fn an_access_outside_names_the_lane() {
    let (_, _, fault) = attempt(
        "v_lshlrev_b32 v4, 3, v1\nglobal_load_b32 v0, v4, s[2:3] offset:64",
        &[],
    );
    assert!(
        matches!(fault, Some((FaultKind::Memory(_), Some(24)))),
        "{fault:?}"
    );
    // Contiguous lanes, of which the last one is outside.
    let (_, bytes, fault) = attempt(
        "v_lshlrev_b32 v4, 2, v1\nglobal_store_b32 v4, v0, s[2:3] offset:132",
        &[("v0", 5)],
    );
    assert!(
        matches!(fault, Some((FaultKind::Memory(_), Some(31)))),
        "{fault:?}"
    );
    assert_eq!(word(&bytes, 252), 5, "the lanes before were stored");
    let (_, _, fault) = attempt("ds_load_b32 v0, v1 offset:224", &[]);
    assert!(
        matches!(fault, Some((FaultKind::Lds { offset: 253, .. }, Some(29)))),
        "{fault:?}"
    );
    let (_, _, fault) = attempt("scratch_load_b32 v0, off, off offset:253", &[]);
    assert!(
        matches!(fault, Some((FaultKind::Scratch { offset: 253, .. }, Some(0)))),
        "{fault:?}"
    );
    let (_, _, fault) = attempt("scratch_load_b32 v0, off, off offset:-4", &[]);
    assert!(
        matches!(fault, Some((FaultKind::Scratch { .. }, Some(0)))),
        "{fault:?}"
    );
}

#[test]
fn the_data_share_holds_what_was_stored() {
    let asm = "v_lshlrev_b32 v4, 3, v1\nds_store_b64 v4, v[5:6]\nds_load_b32 v7, v4 offset:4\nds_load_u16 v8, v4 offset:2\nds_load_i8 v9, v4 offset:1\n\
               ds_load_u8_d16_hi v10, v4\nv_mov_b32 v11, 0\nds_load_b128 v[12:15], v11 offset:8";
    let (wave, _) = run(asm, &[("v5", 0x1234_f678), ("v6", 0x9abc_def0), ("v10", 7)]);
    for (register, want) in [
        ("v7", 0x9abc_def0),
        ("v8", 0x1234),
        ("v9", 0xffff_fff6),
        ("v10", 0x0078_0007),
        ("v13", 0x9abc_def0),
        ("v14", 0x1234_f678),
    ] {
        assert_eq!(get(&wave, &format!("{register}@5")), want, "{register}");
    }
}

#[test]
fn two_addresses_count_in_elements_or_in_64_of_them() {
    let asm = "ds_store_2addr_b32 v4, v5, v6 offset0:1 offset1:3\nds_load_2addr_b32 v[8:9], v4 offset0:3 offset1:1\n\
               ds_load_2addr_b64 v[10:13], v4 offset1:1\nds_store_2addr_stride64_b32 v4, v6, v5 offset0:0\nds_load_b32 v14, v4";
    let (wave, _) = run(asm, &[("v5", 5), ("v6", 6), ("exec", 1)]);
    for (register, want) in [
        ("v8", 6),
        ("v9", 5),
        ("v10", 0),
        ("v11", 5),
        ("v13", 6),
        ("v14", 5),
    ] {
        assert_eq!(get(&wave, register), want, "{register}");
    }
    // An address below zero is reached with an offset: the sum wraps at 32 bits.
    let asm = "v_mov_b32 v4, -4\nds_store_b32 v4, v5 offset:8\nds_load_b32 v6, v4 offset:8\n\
               ds_load_2addr_b32 v[8:9], v4 offset0:1 offset1:2";
    let (wave, _) = run(asm, &[("v5", 5), ("exec", 1)]);
    assert_eq!((get(&wave, "v6"), get(&wave, "v8"), get(&wave, "v9")), (5, 0, 5));
    // The second element of a stride of 64 dwords is at byte 256.
    let (_, _, fault) = attempt("ds_load_2addr_stride64_b32 v[8:9], v4 offset1:1", &[("exec", 1)]);
    assert!(
        matches!(fault, Some((FaultKind::Lds { offset: 256, .. }, _))),
        "{fault:?}"
    );
}

#[test]
fn as_on_a_card_lds_beyond_the_workgroups_loads_zero_and_keeps_nothing() {
    let asm = "v_mov_b32 v4, 0xf00000\nds_store_b64 v4, v[5:6]\nds_load_b64 v[7:8], v4\nds_add_rtn_u32 v9, v4, v5\nds_load_b32 v10, v4\n\
               v_lshlrev_b32 v11, 2, v1\nds_store_b32 v11, v5 offset:132\nds_load_b32 v12, v11 offset:132";
    let mut wave = probe(asm);
    wave.set_lds(256);
    wave.lds_as_card();
    for (register, value) in [("v5", 5), ("v6", 6), ("v7", 7), ("v8", 8), ("v9", 9), ("v10", 10)] {
        set(&mut wave, register, value);
    }
    (0..Probe::LANES).for_each(|lane| wave.set_vgpr(1, lane, lane as u32));
    wave.run(&Memory::new(0)).unwrap();
    for register in ["v7", "v8", "v9", "v10", "v12@31"] {
        assert_eq!(get(&wave, register), 0, "{register}");
    }
    assert_eq!(get(&wave, "v12@30"), 5, "the last lane whose place is there");
}

#[test]
fn scratch_is_private_to_the_lane() {
    let asm = "scratch_store_b32 off, v1, off offset:16\nscratch_load_b32 v5, v6, off offset:-4\nscratch_load_b32 v7, off, s5\nscratch_load_u8 v8, v6, s5";
    let (wave, _) = run(asm, &[("v6", 20), ("s5", 16)]);
    for lane in [0, 9, 31] {
        assert_eq!(get(&wave, &format!("v5@{lane}")), lane);
        assert_eq!(get(&wave, &format!("v7@{lane}")), lane);
        assert_eq!(get(&wave, &format!("v8@{lane}")), 0);
    }
}

#[test]
fn flat_addresses_reach_lds_and_scratch_through_their_apertures() {
    let asm = "v_mov_b32 v4, 8\nv_mov_b32 v5, s9\nflat_store_b32 v[4:5], v1\nv_mov_b32 v6, 0\nds_load_b32 v7, v6 offset:8\n\
               v_mov_b32 v5, s11\nflat_store_b32 v[4:5], v1\nscratch_load_b32 v8, off, off offset:8";
    let asm = format!("s_mov_b64 s[8:9], src_shared_base\ns_mov_b64 s[10:11], src_private_base\n{asm}");
    let (wave, _) = run(&asm, &[]);
    // All lanes stored to one place of LDS, each to its own scratch.
    assert_eq!(get(&wave, "v7"), 31);
    assert_eq!((get(&wave, "v8@0"), get(&wave, "v8@17")), (0, 17));
}

#[test]
fn integer_atomics_give_back_what_was_there() {
    let old = 0x2322_2120u32;
    let operations = [
        ("swap_b32", 5, 5),
        ("add_u32", 5, old + 5),
        ("sub_u32", 5, old - 5),
        ("min_i32", u32::MAX, u32::MAX),
        ("min_u32", u32::MAX, old),
        ("max_i32", u32::MAX, old),
        ("max_u32", u32::MAX, u32::MAX),
        ("and_b32", 0xff, 0x20),
        ("or_b32", 0xff, 0x2322_21ff),
        ("xor_b32", 0xff, 0x2322_21df),
        ("inc_u32", 7, 0),
        ("dec_u32", 7, 7),
    ];
    let returning = |op: &str| format!("global_atomic_{op} v0, v[2:3], v5, off offset:32 glc");
    let silent = |op: &str| format!("global_atomic_{op} v[2:3], v5, off offset:32");
    let both = operations.map(|(op, ..)| [returning(op), silent(op)]);
    ask_together(RDNA3, both.into_iter().flatten());
    for (op, data, want) in operations {
        let before = [("v5", data), ("exec", 1)];
        let (wave, bytes) = run(&returning(op), &before);
        assert_eq!((get(&wave, "v0"), word(&bytes, 32)), (old, want), "{op}");
        let (wave, bytes) = run(&silent(op), &before);
        assert_eq!(
            (get(&wave, "v0"), word(&bytes, 32)),
            (0, want),
            "{op} without return"
        );
    }
}

#[test]
fn every_lane_takes_its_turn_in_an_atomic() {
    let (wave, bytes) = run(
        "v_mov_b32 v4, 0\nv_mov_b32 v5, 1\nglobal_atomic_add_u32 v0, v4, v5, s[2:3] glc",
        &[],
    );
    assert_eq!(word(&bytes, 0), 0x0302_0120);
    assert_eq!(get(&wave, "v0@31"), 0x0302_0100 + 31);
}

#[test]
fn compare_and_swap_takes_value_and_comparand() {
    let asm = "global_atomic_cmpswap_b32 v0, v[2:3], v[5:6], off offset:32 glc";
    let (wave, bytes) = run(asm, &[("v5", 9), ("v6", 0x2322_2120), ("exec", 1)]);
    assert_eq!((get(&wave, "v0"), word(&bytes, 32)), (0x2322_2120, 9));
    let (_, bytes) = run(asm, &[("v5", 9), ("v6", 1), ("exec", 1)]);
    assert_eq!(word(&bytes, 32), 0x2322_2120);
    let asm = "global_atomic_cmpswap_b64 v[0:1], v[2:3], v[5:8], off offset:32 glc";
    let before = [
        ("v5", 9),
        ("v6", 8),
        ("v7", 0x2322_2120),
        ("v8", 0x2726_2524),
        ("exec", 1),
    ];
    let (wave, bytes) = run(asm, &before);
    assert_eq!(
        (get(&wave, "v1"), word(&bytes, 32), word(&bytes, 36)),
        (0x2726_2524, 9, 8)
    );
    // In LDS they are two operands.
    let asm = "ds_store_b32 v4, v5\nds_cmpstore_rtn_b32 v0, v4, v6, v5\nds_load_b32 v7, v4";
    let (wave, _) = run(asm, &[("v5", 3), ("v6", 4), ("exec", 1)]);
    assert_eq!((get(&wave, "v0"), get(&wave, "v7")), (3, 4));
}

#[test]
fn float_and_64_bit_atomics() {
    let f = |value: f32| value.to_bits();
    let asm = "global_store_b32 v[2:3], v5, off\nglobal_atomic_add_f32 v0, v[2:3], v6, off glc\nglobal_atomic_max_f32 v[2:3], v7, off";
    let (wave, bytes) = run(
        asm,
        &[("v5", f(1.5)), ("v6", f(2.0)), ("v7", f(3.0)), ("exec", 1)],
    );
    assert_eq!((get(&wave, "v0"), word(&bytes, 0)), (f(1.5), f(3.5)));
    let (_, bytes) = run(
        "global_atomic_add_u64 v[2:3], v[5:6], off offset:8",
        &[("v5", u32::MAX), ("v6", 1), ("exec", 1)],
    );
    assert_eq!((word(&bytes, 8), word(&bytes, 12)), (0x0b0a_0907, 0x0f0e_0d0e));
    let (wave, _) = run(
        "ds_add_f32 v4, v5\nds_add_rtn_f32 v0, v4, v5\nds_add_u64 v4, v[8:9] offset:8\nds_load_b64 v[6:7], v4 offset:8",
        &[("v5", f(1.0)), ("v9", 4), ("exec", 1)],
    );
    assert_eq!((get(&wave, "v0"), get(&wave, "v7")), (f(1.0), 4));
}

#[test]
fn a_misaligned_atomic_is_a_fault() {
    let (_, _, fault) = attempt("global_atomic_add_u32 v[2:3], v5, off offset:2", &[]);
    assert!(
        matches!(fault, Some((FaultKind::Memory(_), Some(0)))),
        "{fault:?}"
    );
}

#[test]
fn append_and_consume_count_active_lanes() {
    let (wave, _) = run(
        "ds_append v0 offset:4\nds_append v5 offset:4\nds_consume v6 offset:4",
        &[("exec", 0b1011)],
    );
    assert_eq!(
        (get(&wave, "v0@3"), get(&wave, "v5@0"), get(&wave, "v6@1")),
        (0, 3, 6)
    );
}
