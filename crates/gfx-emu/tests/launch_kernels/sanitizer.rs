//! Planted bugs: each is reported as what it is, and its corrected twin runs in silence.
//!
//! Two waves a workgroup everywhere, whatever the card's width: `WAVE` is the number of lanes.

use crate::support::Arg::{Ptr, U32};
use crate::support::{Arg, Device, lanes, on_each_target};
use gfx_emu::{Access, Fault, FaultKind, LaunchError, LaunchOptions};

on_each_target! {
    reading_what_nobody_wrote_names_lane_address_and_allocation
    an_element_that_the_producer_skipped_is_found_in_the_consumer
    adding_to_an_accumulator_that_was_not_cleared_is_a_read
    a_copy_does_not_initialise_what_its_source_was_not
    a_uniform_read_of_what_nobody_wrote_is_found
    one_byte_that_nobody_wrote_is_found
    a_wide_load_with_one_word_that_nobody_wrote_is_found
    reading_lds_that_no_wave_wrote_is_found
    reading_another_waves_lds_without_a_barrier_is_a_race
    overwriting_what_another_wave_reads_is_a_race
    two_waves_that_store_different_values_race
    a_plain_read_of_a_counter_races_with_the_atomics_on_it
    reading_another_waves_device_memory_without_a_barrier_is_a_race
    two_waves_that_store_different_values_to_device_memory_race
    a_barrier_that_one_wave_skips_is_divergence
    two_barriers_in_two_branches_are_divergence
    an_index_past_the_end_of_lds_is_found
    a_misaligned_uniform_pointer_is_found
    a_misaligned_atomic_in_lds_is_found
    reading_past_the_arguments_is_found
    an_unwatched_launch_leaves_no_false_positives_behind
    without_the_sanitizer_the_bugs_run_on
}

/// A device with `source` compiled for two waves of `WAVE` lanes.
fn device(target: &str, name: &str, source: &str) -> Device {
    let wave = lanes(target);
    Device::on(
        target,
        name,
        &format!("constexpr unsigned WAVE = {wave}; constexpr unsigned N = 2 * WAVE;\n{source}"),
    )
}

/// One workgroup of two waves.
fn run(device: &Device, kernel: &str, args: &[Arg]) -> Result<(), LaunchError> {
    let block = [2 * device.lanes() as u32, 1, 1];
    device.launch(kernel, [1; 3], block, args).map(|_| ())
}

#[track_caller]
fn fault(result: Result<(), LaunchError>) -> Fault {
    match result.unwrap_err() {
        LaunchError::Fault(fault) => *fault,
        other => panic!("not a fault: {other}"),
    }
}

/// The finding in `bad`, after `good` with the same arguments ran in silence.
#[track_caller]
fn finding(device: &Device, args: &[Arg]) -> Fault {
    run(device, "good", args).unwrap();
    fault(run(device, "bad", args))
}

const COPY: &str = r#"KERNEL words(const unsigned* in, unsigned* out) { out[tid(0)] = in[tid(0)]; }
KERNEL most(const unsigned* in, unsigned* out, unsigned n) { if (tid(0) < n) out[tid(0)] = in[tid(0)]; }
KERNEL bytes(const unsigned char* in, unsigned* out) { out[tid(0)] = in[tid(0)]; }
KERNEL first(const unsigned* in, unsigned* out) { out[tid(0)] = in[0]; }
KERNEL odd(const unsigned char* in, unsigned at, unsigned* out) { out[tid(0)] = *(const unsigned*)(in + at); }
typedef unsigned Four __attribute__((ext_vector_type(4)));
KERNEL wide(const Four* in, unsigned* out) {
    Four v = in[tid(0)];
    out[tid(0)] = v.x + v.y + v.z + v.w;
}
KERNEL sum(const unsigned* in, unsigned* out) {
    __hip_atomic_fetch_add(out, in[tid(0)], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}"#;

fn reading_what_nobody_wrote_names_lane_address_and_allocation(target: &'static str) {
    let mut device = device(target, "san_words", COPY);
    let n = 2 * device.lanes();
    let (input, out) = (device.fresh(n), device.fresh(n));
    let written = vec![7; 4 * (n as usize - 3)];
    device.memory.write(input, &written).unwrap();
    let fault = fault(run(&device, "words", &[Ptr(input), Ptr(out)]));
    let address = input + 4 * (n - 3);
    let kind = FaultKind::Unwritten {
        access: Access::Load,
        address,
        bytes: 4,
        unwritten: address,
        base: input,
        size: 4 * n,
    };
    assert_eq!(fault.kind, kind);
    let lane = device.lanes() as usize - 3;
    assert_eq!(
        (fault.kernel.as_str(), fault.wave, fault.lane),
        ("words", 1, Some(lane))
    );
    assert_eq!(fault.workgroup, [0; 3]);
    assert!(
        fault.instruction.contains("load_"),
        "{} is not a load",
        fault.instruction
    );
    assert!(fault.to_string().contains("never written"), "{fault}");
    device.memory.write(address, &[7; 12]).unwrap();
    run(&device, "words", &[Ptr(input), Ptr(out)]).unwrap();
}

fn an_element_that_the_producer_skipped_is_found_in_the_consumer(target: &'static str) {
    let mut device = device(target, "san_most", COPY);
    let n = 2 * device.lanes();
    let input = device.upload(&vec![1; n as usize]);
    for (count, silent) in [(n, true), (n - 1, false)] {
        let (middle, out) = (device.fresh(n), device.fresh(n));
        run(&device, "most", &[Ptr(input), Ptr(middle), U32(count as u32)]).unwrap();
        let result = run(&device, "words", &[Ptr(middle), Ptr(out)]);
        if silent {
            result.unwrap();
        } else {
            let last = middle + 4 * (n - 1);
            let kind = fault(result).kind;
            assert!(
                matches!(kind, FaultKind::Unwritten { unwritten, .. } if unwritten == last),
                "{kind}"
            );
        }
    }
}

fn adding_to_an_accumulator_that_was_not_cleared_is_a_read(target: &'static str) {
    let mut device = device(target, "san_sum", COPY);
    let input = device.upload(&vec![1; 2 * device.lanes() as usize]);
    let (fresh, cleared) = (device.fresh(1), device.fresh(1));
    device.memory.fill(cleared, &[0], 4).unwrap();
    run(&device, "sum", &[Ptr(input), Ptr(cleared)]).unwrap();
    let kind = fault(run(&device, "sum", &[Ptr(input), Ptr(fresh)])).kind;
    assert!(
        matches!(kind, FaultKind::Unwritten { access: Access::Atomic, address, .. } if address == fresh),
        "{kind}"
    );
}

fn a_copy_does_not_initialise_what_its_source_was_not(target: &'static str) {
    let mut device = device(target, "san_copied", COPY);
    let n = 2 * device.lanes();
    let source = device.upload(&vec![1; n as usize]);
    let (fresh, out) = (device.fresh(n), device.fresh(n));
    let (good, bad) = (device.fresh(n), device.fresh(n));
    device.memory.copy(good, source, 4 * n).unwrap();
    device.memory.copy(bad, fresh, 4 * n).unwrap();
    run(&device, "words", &[Ptr(good), Ptr(out)]).unwrap();
    let kind = fault(run(&device, "words", &[Ptr(bad), Ptr(out)])).kind;
    assert!(
        matches!(kind, FaultKind::Unwritten { base, .. } if base == bad),
        "{kind}"
    );
}

fn a_uniform_read_of_what_nobody_wrote_is_found(target: &'static str) {
    let mut device = device(target, "san_uniform", COPY);
    let (input, fresh, out) = (
        device.upload(&[1]),
        device.fresh(1),
        device.fresh(2 * device.lanes()),
    );
    run(&device, "first", &[Ptr(input), Ptr(out)]).unwrap();
    let fault = fault(run(&device, "first", &[Ptr(fresh), Ptr(out)]));
    assert!(
        matches!(fault.kind, FaultKind::Unwritten { base, .. } if base == fresh),
        "{fault}"
    );
    assert!(
        fault.instruction.starts_with("s_load") && fault.lane.is_none(),
        "{fault}"
    );
}

fn one_byte_that_nobody_wrote_is_found(target: &'static str) {
    let mut device = device(target, "san_bytes", COPY);
    let n = 2 * device.lanes();
    let (input, out) = (device.fresh(n / 4), device.fresh(n));
    let hole = input + 37;
    device.memory.write(input, &[1; 37]).unwrap();
    device.memory.fill(hole + 1, &[1], n - 38).unwrap();
    let kind = fault(run(&device, "bytes", &[Ptr(input), Ptr(out)])).kind;
    assert!(
        matches!(kind, FaultKind::Unwritten { address, bytes: 1, .. } if address == hole),
        "{kind}"
    );
    device.memory.write(hole, &[1]).unwrap();
    run(&device, "bytes", &[Ptr(input), Ptr(out)]).unwrap();
}

fn a_wide_load_with_one_word_that_nobody_wrote_is_found(target: &'static str) {
    let mut device = device(target, "san_wide", COPY);
    let n = 2 * device.lanes();
    let (input, out) = (device.fresh(4 * n), device.fresh(n));
    let hole = input + 16 * (n - 1) + 8;
    device.memory.fill(input, &[1], 16 * n - 8).unwrap();
    device.memory.write(hole + 4, &[1; 4]).unwrap();
    let kind = fault(run(&device, "wide", &[Ptr(input), Ptr(out)])).kind;
    assert!(
        matches!(kind, FaultKind::Unwritten { unwritten, bytes: 16, .. } if unwritten == hole),
        "{kind}"
    );
    device.memory.write(hole, &[1; 4]).unwrap();
    run(&device, "wide", &[Ptr(input), Ptr(out)]).unwrap();
}

fn reading_lds_that_no_wave_wrote_is_found(target: &'static str) {
    let source = r#"template <unsigned FILLED> DEVICE void tile(unsigned* out) {
        SHARED unsigned tile[N];
        if (tid(0) < FILLED) tile[tid(0)] = tid(0);
        barrier();
        out[tid(0)] = tile[N - 1 - tid(0)];
    }
    KERNEL good(unsigned* out) { tile<N>(out); }
    KERNEL bad(unsigned* out) { tile<N - 1>(out); }"#;
    let mut device = device(target, "san_tile", source);
    let n = 2 * device.lanes();
    let out = device.fresh(n);
    let fault = finding(&device, &[Ptr(out)]);
    let kind = FaultKind::UnwrittenLds {
        access: Access::Load,
        offset: 4 * (n - 1),
        bytes: 4,
        unwritten: 4 * (n - 1),
    };
    assert_eq!((fault.kind, fault.wave, fault.lane), (kind, 0, Some(0)));
}

/// A kernel in two variants: `SYNC()` is a barrier in the good one and nothing in the bad one.
fn with_and_without_barrier(body: &str) -> String {
    format!(
        "#define SYNC() do {{ if (SYNCS) barrier(); else asm volatile(\"\" ::: \"memory\"); }} while (0)\n\
         template <bool SYNCS> DEVICE void body(unsigned* out) {{ {body} }}\n\
         KERNEL good(unsigned* out) {{ body<true>(out); }}\nKERNEL bad(unsigned* out) {{ body<false>(out); }}"
    )
}

fn reading_another_waves_lds_without_a_barrier_is_a_race(target: &'static str) {
    let source = with_and_without_barrier(
        "SHARED unsigned s[N]; s[tid(0)] = tid(0); SYNC(); out[tid(0)] = s[tid(0) % WAVE];",
    );
    let mut device = device(target, "san_raw", &source);
    let out = device.fresh(2 * device.lanes());
    let fault = finding(&device, &[Ptr(out)]);
    let FaultKind::Race {
        offset: 0,
        access: Access::Load,
        other: Access::Store,
        wave: 0,
        pc,
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert!(pc < fault.pc, "the store is in front of the load: {fault}");
    assert_eq!((fault.wave, fault.lane), (1, Some(0)));
}

fn overwriting_what_another_wave_reads_is_a_race(target: &'static str) {
    let source = with_and_without_barrier(
        "SHARED unsigned s[N]; s[tid(0)] = tid(0); barrier(); unsigned v = s[N - 1 - tid(0)]; SYNC();
         s[tid(0)] = v + 1; barrier(); out[tid(0)] = s[tid(0)];",
    );
    let mut device = device(target, "san_war", &source);
    let out = device.fresh(2 * device.lanes());
    let fault = finding(&device, &[Ptr(out)]);
    // The second wave reads what the first has overwritten already.
    assert!(
        matches!(
            fault.kind,
            FaultKind::Race {
                wave: 0,
                other: Access::Store,
                ..
            }
        ),
        "{fault}"
    );
}

fn two_waves_that_store_different_values_race(target: &'static str) {
    let source = r#"DEVICE void flag(unsigned* out, unsigned value) {
        SHARED unsigned s[1];
        if (tid(0) % WAVE == 0) *(volatile SHARED unsigned*)s = value;
        barrier();
        out[tid(0)] = s[0];
    }
    KERNEL good(unsigned* out) { flag(out, 7); }
    KERNEL bad(unsigned* out) { flag(out, tid(0)); }"#;
    let mut device = device(target, "san_waw", source);
    let out = device.fresh(2 * device.lanes());
    let fault = finding(&device, &[Ptr(out)]);
    assert!(
        matches!(
            fault.kind,
            FaultKind::Race {
                access: Access::Store,
                other: Access::Store,
                wave: 0,
                ..
            }
        ),
        "{fault}"
    );
}

fn a_plain_read_of_a_counter_races_with_the_atomics_on_it(target: &'static str) {
    let source = with_and_without_barrier(
        "SHARED unsigned s[1]; if (tid(0) == 0) s[0] = 0; barrier();
         __hip_atomic_fetch_add(&s[0], tid(0), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
         SYNC(); out[tid(0)] = s[0];",
    );
    let mut device = device(target, "san_counter", &source);
    let out = device.fresh(2 * device.lanes());
    let fault = finding(&device, &[Ptr(out)]);
    let FaultKind::Race { access, other, .. } = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((access, other), (Access::Atomic, Access::Load));
}

fn reading_another_waves_device_memory_without_a_barrier_is_a_race(target: &'static str) {
    let source = with_and_without_barrier(
        "*(volatile unsigned*)(out + tid(0)) = 5; SYNC(); out[N + tid(0)] = *(volatile unsigned*)(out + tid(0) % WAVE);",
    );
    let mut device = device(target, "san_device_raw", &source);
    let n = 2 * device.lanes();
    for kernel in ["good", "bad"] {
        let out = device.fresh(2 * n);
        let result = run(&device, kernel, &[Ptr(out)]);
        if kernel == "good" {
            result.unwrap();
            continue;
        }
        let fault = fault(result);
        assert!(
            matches!(fault.kind, FaultKind::DeviceRace { address, access: Access::Load, wave: 0, .. } if address == out),
            "{fault}"
        );
        assert_eq!((fault.wave, fault.lane), (1, Some(0)));
    }
}

fn two_waves_that_store_different_values_to_device_memory_race(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned value) {
        if (tid(0) % WAVE == 0) *(volatile unsigned*)out = value;
    }
    KERNEL good(unsigned* out) { body(out, 7); }
    KERNEL bad(unsigned* out) { body(out, tid(0)); }"#;
    let mut device = device(target, "san_device_waw", source);
    let out = device.fresh(1);
    let kind = finding(&device, &[Ptr(out)]).kind;
    assert!(
        matches!(kind, FaultKind::DeviceRace { address, access: Access::Store, wave: 0, .. } if address == out),
        "{kind}"
    );
}

fn a_barrier_that_one_wave_skips_is_divergence(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned waits) {
        if (tid(0) < waits) asm volatile(BARRIER ::: "memory");
        out[tid(0)] = 1;
    }
    KERNEL good(unsigned* out) { body(out, N); }
    KERNEL bad(unsigned* out) { body(out, WAVE); }"#;
    let mut device = device(target, "san_skips", source);
    let out = device.fresh(2 * device.lanes());
    let fault = finding(&device, &[Ptr(out)]);
    assert_eq!(fault.kind, FaultKind::BarrierDivergence { wave: 1, at: None });
    let halves = target.starts_with("gfx12");
    let barrier = if halves {
        "s_barrier_wait 0xffff"
    } else {
        "s_barrier"
    };
    assert_eq!((fault.wave, fault.instruction.as_str()), (0, barrier));
    assert!(fault.to_string().contains("wave 1 has ended"), "{fault}");
}

fn two_barriers_in_two_branches_are_divergence(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned left) {
        if (tid(0) < left) asm volatile(BARRIER " ; left" ::: "memory");
        else asm volatile(BARRIER " ; right" ::: "memory");
        out[tid(0)] = 1;
    }
    KERNEL good(unsigned* out) { body(out, N); }
    KERNEL bad(unsigned* out) { body(out, WAVE); }"#;
    let mut device = device(target, "san_branches", source);
    let out = device.fresh(2 * device.lanes());
    let fault = finding(&device, &[Ptr(out)]);
    let FaultKind::BarrierDivergence {
        wave: 1,
        at: Some(pc),
    } = fault.kind
    else {
        panic!("{fault}")
    };
    assert_ne!(pc, fault.pc);
}

fn an_index_past_the_end_of_lds_is_found(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned by) {
        SHARED unsigned s[N];
        s[tid(0)] = 1;
        barrier();
        *(volatile SHARED unsigned*)(s + tid(0) + by) = 2;
        barrier();
        out[tid(0)] = s[tid(0)];
    }
    KERNEL good(unsigned* out) { body(out, 0); }
    KERNEL bad(unsigned* out) { body(out, 1); }"#;
    let mut device = device(target, "san_lds_end", source);
    let n = 2 * device.lanes();
    let out = device.fresh(n);
    let kind = finding(&device, &[Ptr(out)]).kind;
    assert!(
        matches!(kind, FaultKind::Lds { offset, access: Access::Store, .. } if offset == 4 * n),
        "{kind}"
    );
}

fn a_misaligned_uniform_pointer_is_found(target: &'static str) {
    let mut device = device(target, "san_odd", COPY);
    let (input, out) = (device.upload(&[1, 2]), device.fresh(2 * device.lanes()));
    let args = |at| [Ptr(input), U32(at), Ptr(out)];
    run(&device, "odd", &args(4)).unwrap();
    let kind = fault(run(&device, "odd", &args(2))).kind;
    assert!(
        matches!(kind, FaultKind::Misaligned { address, alignment: 4, .. } if address == input + 2),
        "{kind}"
    );
}

fn a_misaligned_atomic_in_lds_is_found(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned at) {
        SHARED unsigned s[2];
        if (tid(0) < 2) s[tid(0)] = 0;
        barrier();
        auto p = (SHARED unsigned*)((SHARED char*)s + at);
        __hip_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
        barrier();
        out[tid(0)] = s[0];
    }
    KERNEL good(unsigned* out) { body(out, 4); }
    KERNEL bad(unsigned* out) { body(out, 2); }"#;
    let mut device = device(target, "san_lds_odd", source);
    let out = device.fresh(2 * device.lanes());
    let kind = finding(&device, &[Ptr(out)]).kind;
    let want = FaultKind::Misaligned {
        access: Access::Atomic,
        address: 2,
        bytes: 4,
        alignment: 4,
    };
    assert_eq!(kind, want);
}

fn reading_past_the_arguments_is_found(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned at) {
        auto arguments = (const __attribute__((address_space(4))) unsigned*)__builtin_amdgcn_kernarg_segment_ptr();
        out[tid(0)] = arguments[at];
    }
    KERNEL good(unsigned* out) { body(out, 1); }
    KERNEL bad(unsigned* out) { body(out, 300); }"#;
    let mut device = device(target, "san_kernarg", source);
    let out = device.fresh(2 * device.lanes());
    let kind = finding(&device, &[Ptr(out)]).kind;
    assert!(
        matches!(
            kind,
            FaultKind::Kernarg {
                offset: 1200,
                bytes: 4,
                ..
            }
        ),
        "{kind}"
    );
}

/// A launch without the sanitizer.
fn run_unwatched(device: &Device, kernel: &str, args: &[Arg]) -> Result<(), LaunchError> {
    let block = [2 * device.lanes() as u32, 1, 1];
    let options = LaunchOptions::default();
    assert!(!options.sanitize);
    device
        .launch_with(kernel, [1; 3], block, 0, args, &options)
        .map(|_| ())
}

fn an_unwatched_launch_leaves_no_false_positives_behind(target: &'static str) {
    let mut device = device(target, "san_unwatched", COPY);
    let n = 2 * device.lanes();
    let input = device.upload(&vec![1; n as usize]);
    let (middle, out) = (device.fresh(n), device.fresh(n));
    run_unwatched(&device, "words", &[Ptr(input), Ptr(middle)]).unwrap();
    run(&device, "words", &[Ptr(middle), Ptr(out)]).unwrap();
    let later = device.fresh(n);
    fault(run(&device, "words", &[Ptr(later), Ptr(out)]));
}

fn without_the_sanitizer_the_bugs_run_on(target: &'static str) {
    let mut device = device(target, "san_off", COPY);
    let n = 2 * device.lanes();
    let (input, out) = (device.fresh(n), device.fresh(n));
    run_unwatched(&device, "words", &[Ptr(input), Ptr(out)]).unwrap();
}
