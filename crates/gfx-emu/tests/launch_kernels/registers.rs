//! Planted bugs in registers that nobody wrote: each is reported where it matters, and what compilers may do with such
//! registers runs in silence.
//!
//! The hole is a register that only assembly names; clang would fold a variable without a value.

use crate::support::Arg::{self, Ptr};
use crate::support::{Device, on_each_target};
use gfx_emu::{Decision, Fault, FaultKind, LaunchError, LaunchOptions};

on_each_target! {
    storing_a_register_that_nobody_wrote_is_found
    a_result_of_arithmetic_keeps_the_hole
    an_accumulator_that_was_not_cleared_is_found_behind_its_loop
    one_lane_that_was_left_out_is_named
    half_a_register_that_nobody_wrote_is_found
    adding_it_to_memory_is_found
    storing_it_to_lds_is_found
    a_hole_behind_another_lane_is_found
    a_hole_that_went_through_private_memory_is_found
    an_address_that_nobody_wrote_is_found
    an_lds_address_that_nobody_wrote_is_found
    an_index_into_a_table_is_found
    a_divergent_branch_on_a_hole_is_found
    a_uniform_branch_on_a_hole_is_found
    a_loop_bound_that_nobody_wrote_is_found
    what_does_not_depend_on_the_hole_is_no_finding
    the_unused_half_of_a_register_is_no_finding
    lanes_that_are_switched_off_may_hold_anything
    the_fourth_of_three_elements_may_be_anything
    a_condition_that_another_one_covers_is_no_finding
    without_the_sanitizer_holes_read_as_zero
}

/// In front of every kernel: a register as the hardware left it, and a value that the compiler does not see.
const HOLES: &str = r#"
DEVICE inline unsigned untouched() { unsigned x; asm volatile("v_mov_b32 %0, v61" : "=v"(x) : : "v61"); return x; }
DEVICE inline float number(unsigned x) { return __builtin_bit_cast(float, x); }
DEVICE inline unsigned opaque(unsigned x) { asm volatile("" : "+v"(x)); return x; }
"#;

/// A device with `DEVICE void body(unsigned* in, unsigned* out, unsigned x)`, and kernels that give it a number and a hole.
fn device(target: &str, name: &str, body: &str) -> Device {
    let source = format!(
        "{HOLES}{body}
        KERNEL good(unsigned* in, unsigned* out) {{ body(in, out, opaque(1)); }}
        KERNEL bad(unsigned* in, unsigned* out) {{ body(in, out, untouched()); }}"
    );
    Device::on(target, &format!("reg_{name}"), &source)
}

/// One wave with 64 words to read and 256 to write, the latter zero.
fn arguments(device: &mut Device) -> [Arg; 2] {
    let input: Vec<u32> = (0..64).collect();
    [Ptr(device.upload(&input)), Ptr(device.upload(&[0; 256]))]
}

fn run(device: &Device, kernel: &str, args: &[Arg]) -> Result<(), LaunchError> {
    let block = [device.lanes() as u32, 1, 1];
    device.launch(kernel, [1; 3], block, args).map(|_| ())
}

/// The finding in `bad`, after `good` ran in silence.
#[track_caller]
fn finding(target: &str, name: &str, body: &str) -> Fault {
    let mut device = device(target, name, body);
    let args = arguments(&mut device);
    run(&device, "good", &args).unwrap();
    match run(&device, "bad", &args).unwrap_err() {
        LaunchError::Fault(fault) => *fault,
        other => panic!("not a fault: {other}"),
    }
}

#[track_caller]
fn finds(target: &str, name: &str, body: &str, decides: Decision) -> Fault {
    let fault = finding(target, name, body);
    assert_eq!(fault.kind, FaultKind::UnwrittenRegister { decides }, "{fault}");
    fault
}

/// Both kernels run in silence.
#[track_caller]
fn silent(target: &str, name: &str, body: &str) {
    let mut device = device(target, name, body);
    let args = arguments(&mut device);
    for kernel in ["good", "bad"] {
        run(&device, kernel, &args).unwrap_or_else(|error| panic!("{kernel}: {error}"));
    }
}

fn storing_a_register_that_nobody_wrote_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) { out[tid(0)] = x; }";
    let fault = finds(target, "store", body, Decision::Data);
    let text = fault.to_string();
    assert_eq!(fault.lane, Some(0));
    assert!(
        text.contains("the value that goes to memory depends on a vector register that was never written")
            && text.contains("store_"),
        "{text}"
    );
}

fn a_result_of_arithmetic_keeps_the_hole(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        float y = __builtin_fmaf(number(x), number(in[tid(0)]) + 1.5f, 2.0f) * 3.0f;
        out[tid(0)] = __builtin_bit_cast(unsigned, y) ^ in[1];
    }";
    finds(target, "arithmetic", body, Decision::Data);
}

fn an_accumulator_that_was_not_cleared_is_found_behind_its_loop(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned sum) {
        for (unsigned i = 0; i < 64; ++i) sum += in[i] * in[(i + tid(0)) % 64];
        out[tid(0)] = sum;
    }";
    finds(target, "accumulator", body, Decision::Data);
}

/// The cards that have matrix instructions.
const MATRICES: [&str; 6] = [
    "gfx1100",
    "gfx1100-wave64",
    "gfx1201",
    "gfx1201-wave64",
    "gfx942",
    "gfx90a",
];

#[test]
fn a_hole_in_a_factor_is_found_behind_the_matrix_core() {
    // The second product is of the first one's sums and of factors that everybody wrote.
    let body = "
    template <class T, int N> using Vector = T __attribute__((ext_vector_type(N)));
    using Sums = Vector<float, 256 / __AMDGCN_WAVEFRONT_SIZE__>;
    #if defined(__GFX9__)
    DEVICE Sums product(unsigned a, unsigned b, Sums c) {
        return __builtin_amdgcn_mfma_f32_16x16x4f32(number(a), number(b), c, 0, 0, 0);
    }
    #else
    #if defined(__GFX12__) && __AMDGCN_WAVEFRONT_SIZE__ == 64
    #define WORDS 2
    #define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w64_gfx12
    #elif defined(__GFX12__)
    #define WORDS 4
    #define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12
    #elif __AMDGCN_WAVEFRONT_SIZE__ == 64
    #define WORDS 8
    #define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w64
    #else
    #define WORDS 8
    #define WMMA __builtin_amdgcn_wmma_f32_16x16x16_f16_w32
    #endif
    DEVICE Sums product(unsigned a, unsigned b, Sums c) {
        using Factor = Vector<_Float16, 2 * WORDS>;
        Vector<unsigned, WORDS> left = a, right = b;
        return WMMA(__builtin_bit_cast(Factor, left), __builtin_bit_cast(Factor, right), c);
    }
    #endif
    DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        Sums sums = product(x, 0x3c003c00, Sums(1.0f));
        sums = product(in[tid(0)], 0x3c003c00, sums);
        out[tid(0)] = __builtin_bit_cast(unsigned, sums[1]);
    }";
    for target in MATRICES {
        finds(target, "product", body, Decision::Data);
    }
}

fn one_lane_that_was_left_out_is_named(target: &'static str) {
    // The assembly writes v60 in the lanes that get there.
    let source = r#"DEVICE void body(unsigned* out, unsigned lanes) {
        unsigned x;
        if (tid(0) < lanes) asm volatile("v_mov_b32 v60, 5" : : : "v60");
        asm volatile("v_mov_b32 %0, v60" : "=v"(x) : : "v60");
        out[tid(0)] = x;
    }
    KERNEL good(unsigned* in, unsigned* out) { body(out, 64); }
    KERNEL bad(unsigned* in, unsigned* out) { body(out, 31); }"#;
    let mut device = Device::on(target, "reg_lane", source);
    let args = arguments(&mut device);
    run(&device, "good", &args).unwrap();
    let LaunchError::Fault(fault) = run(&device, "bad", &args).unwrap_err() else {
        panic!("not a fault");
    };
    assert_eq!(
        (fault.lane, fault.work_item),
        (Some(31), Some([31, 0, 0])),
        "{fault}"
    );
}

fn half_a_register_that_nobody_wrote_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        unsigned both = opaque(in[tid(0)] & 0xffff | x << 16);
        ((unsigned short*)out)[2 * tid(0)] = both;
        asm volatile(\"s_nop 0\" ::: \"memory\");
        ((unsigned short*)out)[2 * tid(0) + 1] = both >> 16;
    }";
    finds(target, "half", body, Decision::Data);
}

fn adding_it_to_memory_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) {
        __hip_atomic_fetch_add(out, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }";
    // The optimiser adds the lanes up first where it can; either way the sum is not known.
    let kind = finding(target, "atomic", body).kind;
    assert!(matches!(kind, FaultKind::UnwrittenRegister { .. }), "{kind}");
}

fn storing_it_to_lds_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) {
        SHARED unsigned s[64];
        s[tid(0)] = x;
        barrier();
        out[tid(0)] = s[tid(0) ^ 1];
    }";
    let fault = finds(target, "lds", body, Decision::Data);
    assert!(fault.instruction.starts_with("ds_"), "{fault}");
}

fn a_hole_behind_another_lane_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) {
        out[tid(0)] = __builtin_amdgcn_ds_bpermute(4 * (tid(0) ^ 3), tid(0) == 5 ? x : 7);
    }";
    let fault = finds(target, "bpermute", body, Decision::Data);
    assert_eq!(fault.lane, Some(6), "{fault}");
}

fn a_hole_that_went_through_private_memory_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        volatile unsigned slots[16];
        for (unsigned i = 0; i < 16; ++i) slots[in[i]] = i == 9 ? x : i;
        out[tid(0)] = slots[in[9]];
    }";
    finds(target, "scratch", body, Decision::Data);
}

fn an_address_that_nobody_wrote_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) { out[tid(0)] = in[x]; }";
    finds(target, "address", body, Decision::Address);
}

fn an_lds_address_that_nobody_wrote_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) {
        SHARED unsigned s[64];
        s[tid(0)] = 1;
        barrier();
        out[tid(0)] = s[x % 64];
    }";
    finds(target, "lds_address", body, Decision::Address);
}

fn an_index_into_a_table_is_found(target: &'static str) {
    // A uniform index: it is read from the first lane, and the load is a scalar one.
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        out[tid(0)] = ((const __attribute__((address_space(4))) unsigned*)in)[__builtin_amdgcn_readfirstlane(x) & 31];
    }";
    finds(target, "table", body, Decision::Address);
}

fn a_divergent_branch_on_a_hole_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) {
        if (x * 3 < tid(0) + 4) { asm volatile(\"s_nop 1\" ::: \"memory\"); out[tid(0)] = 1; }
    }";
    finds(target, "divergent", body, Decision::Lanes);
}

fn a_uniform_branch_on_a_hole_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) {
        if (__builtin_amdgcn_readfirstlane(x) < 4) { asm volatile(\"s_nop 1\" ::: \"memory\"); out[tid(0)] = 1; }
    }";
    let fault = finds(target, "uniform", body, Decision::Branch);
    assert!(fault.instruction.starts_with("s_cbranch_"), "{fault}");
}

fn a_loop_bound_that_nobody_wrote_is_found(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        unsigned sum = 0;
        for (unsigned i = 0; i < x; ++i) { asm volatile(\"s_nop 1\" ::: \"memory\"); sum += in[i % 64]; }
        out[tid(0)] = sum;
    }";
    finds(target, "bound", body, Decision::Lanes);
}

fn what_does_not_depend_on_the_hole_is_no_finding(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        unsigned none = opaque(0), sixteen = opaque(16), no = in[0];
        out[tid(0)] = (x & none) + ((x << sixteen) & opaque(0xffff)) + (no ? x : 3);
        out[64 + tid(0)] = opaque(x ^ x);
        out[128 + tid(0)] = __builtin_amdgcn_perm(x, in[tid(0)], opaque(0x03020100));
        unsigned unused = opaque(x * 7);
        asm volatile(\"; %0\" : : \"v\"(unused));
    }";
    silent(target, "independent", body);
}

fn the_unused_half_of_a_register_is_no_finding(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        unsigned both = opaque(in[tid(0)] & 0xffff | x << 16);
        ((unsigned short*)out)[tid(0)] = both * 5 + 1;
        ((unsigned char*)out)[512 + tid(0)] = both + 3;
        out[192 + tid(0)] = (both + 9) & opaque(0xffff);
    }";
    silent(target, "unused_half", body);
}

fn lanes_that_are_switched_off_may_hold_anything(target: &'static str) {
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        unsigned y = opaque(tid(0) < 9 ? in[tid(0)] : x);
        if (tid(0) < 9) { asm volatile(\"s_nop 1\" ::: \"memory\"); if (y < 5) out[in[y]] = y; }
    }";
    silent(target, "inactive", body);
}

fn the_fourth_of_three_elements_may_be_anything(target: &'static str) {
    let body = "typedef unsigned __attribute__((ext_vector_type(4))) four;
    DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        ((four*)out)[tid(0)] = four{in[0], in[1], in[2], x};
    }";
    silent(target, "padding", body);
}

fn a_condition_that_another_one_covers_is_no_finding(target: &'static str) {
    // Both conditions are computed before either is looked at.
    let body = "DEVICE void body(unsigned* in, unsigned* out, unsigned x) {
        bool first = in[tid(0)] > 1000, second = opaque(x) < 7;
        if (first & second) out[tid(0)] = 1;
    }";
    silent(target, "covered", body);
}

fn without_the_sanitizer_holes_read_as_zero(target: &'static str) {
    let body = "DEVICE void body(unsigned*, unsigned* out, unsigned x) { out[tid(0)] = x; }";
    let mut device = device(target, "off", body);
    let args = arguments(&mut device);
    let block = [device.lanes() as u32, 1, 1];
    let options = LaunchOptions::default();
    device
        .launch_with("bad", [1; 3], block, 0, &args, &options)
        .unwrap();
    let Ptr(out) = args[1] else { unreachable!() };
    assert_eq!(device.download(out, 32), [0; 32]);
}
