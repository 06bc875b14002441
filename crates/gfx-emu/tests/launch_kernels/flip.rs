//! Flipped results: whoever looks at them must notice, and nothing is flipped that was not asked for.

use gfx_emu::{BARE_KERNEL, CodeObject, Compiling, Dispatch, Flip, LaunchOptions, Memory, Target, launch};

use crate::support::Arg::Ptr;
use crate::support::{Device, on_each_target};

on_each_target! {
    a_flipped_sum_of_floats_is_twice_as_large_or_half
    the_first_instruction_of_each_kind_makes_another_result
    what_is_not_asked_for_is_not_flipped
}

/// Work-items of a launch, more than a wave has.
const ITEMS: u32 = 100;
/// Of single precision, the lowest bit of the exponent.
const EXPONENT: u32 = 1 << 23;

const SUM: &str =
    "KERNEL sum(const float* a, const float* b, float* c) { c[tid(0)] = a[tid(0)] + b[tid(0)]; }";

const KINDS: &str = r#"KERNEL kinds(const int* a, const float* b, float* c) {
    SHARED static float tile[128];
    unsigned i = tid(0);
    float x = b[i] * 1.5f;
    tile[i] = a[i] < 40 ? x : -x;
    barrier();
    c[i] = tile[i ^ 1] + float(a[i] * 3);
}"#;

/// The kernel's results over `a` and `b`, with nothing flipped or an instruction.
fn results(device: &mut Device, kernel: &str, flip: Option<Flip>) -> Vec<u32> {
    let numbers: Vec<u32> = (0..ITEMS).collect();
    let floats: Vec<u32> = numbers.iter().map(|i| (*i as f32 + 0.25).to_bits()).collect();
    let a = if kernel == "sum" { &floats } else { &numbers };
    let [a, b, c] = [a, &floats, &vec![0; ITEMS as usize]].map(|data| device.upload(data));
    let options = LaunchOptions {
        flip,
        compiling: Compiling::AtOnce,
        ..LaunchOptions::default()
    };
    let args = [Ptr(a), Ptr(b), Ptr(c)];
    device
        .launch_with(kernel, [1; 3], [ITEMS, 1, 1], 0, &args, &options)
        .unwrap();
    device.download(c, ITEMS as usize)
}

fn a_flipped_sum_of_floats_is_twice_as_large_or_half(target: &'static str) {
    let mut device = Device::on(target, "flip_sum", SUM);
    let right = results(&mut device, "sum", None);
    let flip = Flip::of("v_add_f32").unwrap();
    let wrong = results(&mut device, "sum", Some(flip));
    let want: Vec<u32> = right.iter().map(|bits| bits ^ EXPONENT).collect();
    assert_eq!(wrong, want);
    assert_eq!(flip.results(), u64::from(ITEMS));
}

fn the_first_instruction_of_each_kind_makes_another_result(target: &'static str) {
    let mut device = Device::on(target, "flip_kinds", KINDS);
    let right = results(&mut device, "kinds", None);
    let kernel = device.code.kernel("kinds").unwrap();
    let mnemonics = device.code.mnemonics(kernel).unwrap();
    for kind in [
        "v_cmp_",
        "v_cndmask_",
        "v_cvt_f32_i32",
        "v_mul_f32",
        "global_load_",
        "global_store_",
        "ds_",
        "s_load_",
    ] {
        let mnemonic = mnemonics.iter().find(|name| name.starts_with(kind));
        let mnemonic = mnemonic.unwrap_or_else(|| panic!("{kind}: {mnemonics:?}"));
        let flip = Flip::of(mnemonic).unwrap();
        // An argument that is wrong is another address, where there may be nothing.
        if kind != "s_load_" {
            assert_ne!(results(&mut device, "kinds", Some(flip)), right, "{mnemonic}");
            assert!(
                flip.results() >= u64::from(ITEMS),
                "{mnemonic}: {}",
                flip.results()
            );
        }
    }
    for waits in ["s_waitcnt", "s_endpgm", "s_barrier"] {
        assert!(!mnemonics.contains(waits), "{waits}");
    }
}

fn what_is_not_asked_for_is_not_flipped(target: &'static str) {
    let mut device = Device::on(target, "flip_other", SUM);
    let right = results(&mut device, "sum", None);
    let sums = (0..ITEMS).map(|i| (2.0 * i as f32 + 0.5).to_bits());
    assert!(right.iter().copied().eq(sums), "{right:?}");
    let flip = Flip::of("v_sqrt_f32").unwrap();
    assert_eq!(results(&mut device, "sum", Some(flip)), right);
    assert_eq!(flip.results(), 0);
    // The sanitizer watches what is right.
    let flip = Flip::of("v_add_f32").unwrap();
    let a = device.upload(&right);
    let options = LaunchOptions {
        sanitize: true,
        flip: Some(flip),
        ..LaunchOptions::default()
    };
    let args = [Ptr(a), Ptr(a), Ptr(a)];
    device
        .launch_with("sum", [1; 3], [ITEMS, 1, 1], 0, &args, &options)
        .unwrap();
    assert_eq!(flip.results(), 0);
}

#[test]
fn a_name_that_nobody_knows_is_refused_with_those_that_are_alike() {
    for (text, words) in [
        ("v_ad_f32", "such as v_add"),
        ("x", "such as v_add_f32"),
        ("", "such as v_add_f32"),
        ("load_b32", "`load_b32` names no instruction"),
        ("v_add_f32_e32", "without `_e32` or the like, such as v_add_f32"),
        ("s_barrier", "leaves a result"),
        ("s_cbranch_scc1", "leaves a result"),
        ("global_load_lds_dword", "leaves a result"),
        ("ünknown", "names no instruction"),
    ] {
        let why = Flip::of(text).unwrap_err().to_string();
        assert!(why.contains(words), "{text}: {why}");
    }
    for text in [
        "v_add_f32",
        "global_load_b32",
        "global_load_dword",
        "v_dual_mov_b32",
        "v_cmp_lt_f32",
        "s_cmp_eq_u32",
    ] {
        assert_eq!(Flip::of(text).unwrap().to_string(), text);
    }
}

/// What work-items store of `v2` after a few instructions.
fn stored(instructions: &[u32], flip: &str) -> Vec<u32> {
    let mut words = vec![
        0xf404_0080,
        0xf800_0000, // s_load_b64 s[2:3], s[0:1], null
        0xbf89_fc07, // s_waitcnt lgkmcnt(0)
        0x3002_0082, // v_lshlrev_b32 v1, 2, v0
    ];
    words.extend(instructions);
    words.extend([
        0xdc6a_0000,
        0x0002_0201, // global_store_b32 v1, v2, s[2:3]
        0xbfb0_0000, // s_endpgm
        0xbfb0_0000,
    ]);
    let machine_code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let code = CodeObject::bare(Target::Gfx1100, &machine_code, 2 << 1, 0, 8).unwrap();
    let mut memory = Memory::new(1 << 20);
    let placement = code.place(&mut memory).unwrap();
    let out = memory.alloc(4 * u64::from(ITEMS)).unwrap();
    let dispatch = Dispatch {
        kernel: code.kernel(BARE_KERNEL).unwrap(),
        placement,
        grid: [1; 3],
        block: [ITEMS, 1, 1],
        dynamic_lds: 0,
        kernarg: &out.to_le_bytes(),
    };
    let options = LaunchOptions {
        flip: Some(Flip::of(flip).unwrap()),
        ..LaunchOptions::default()
    };
    launch(&code, &dispatch, &memory, &options).unwrap();
    let mut bytes = vec![0; 4 * ITEMS as usize];
    memory.read(out, &mut bytes).unwrap();
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect()
}

#[test]
fn of_a_dual_instruction_that_half_is_flipped_which_is_named() {
    // v_dual_add_f32 v2, v1, v3 :: v_dual_mov_b32 v3, v0, where v1 is tiny and v3 still zero.
    let apart = [0xc910_0701, 0x0202_0100];
    let right: Vec<u32> = (0..ITEMS).map(|i| 4 * i).collect();
    let flipped: Vec<u32> = right.iter().map(|bits| bits ^ EXPONENT).collect();
    assert_eq!(stored(&apart, "v_dual_add_f32"), flipped);
    assert_eq!(stored(&apart, "v_dual_mov_b32"), right);
    // v_mov_b32 v2, v1, then v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2, halves that each overwrite what the other reads.
    let entangled = [0x7e04_0301, 0xca10_0103, 0x0202_0102];
    assert_eq!(stored(&entangled, "v_mov_b32"), vec![0; ITEMS as usize]);
    assert_eq!(
        stored(&entangled, "v_dual_mov_b32"),
        vec![EXPONENT; ITEMS as usize]
    );
}

#[test]
fn lanes_that_are_off_and_what_is_stored_stay_as_they_were() {
    // v_mov_b32 v2, 5; s_mov_b32 s4, exec_lo; s_mov_b32 exec_lo, 1; v_mov_b32 v2, 7; s_mov_b32 exec_lo, s4
    let code = [0x7e04_0285, 0xbe84_007e, 0xbefe_0081, 0x7e04_0287, 0xbefe_0004];
    let words = stored(&code, "v_mov_b32");
    assert_eq!(words[..2], [7 ^ EXPONENT, 5 ^ EXPONENT]);
    // global_store_b32 v1, v2, s[2:3] twice: what the first flipped on its way was flipped back.
    let code = [0x7e04_0285, 0xdc6a_0000, 0x0002_0201];
    assert_eq!(
        stored(&code, "global_store_b32"),
        vec![5 ^ EXPONENT; ITEMS as usize]
    );
}
