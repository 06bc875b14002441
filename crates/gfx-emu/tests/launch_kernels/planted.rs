//! More planted bugs: accesses outside of what a kernel was given, races between workgroups and against loads, private
//! memory, launches that do not fit. Each corrected twin runs in silence.

use crate::support::Arg::{self, Ptr, U32};
use crate::support::{Device, lanes, on_each_target};
use gfx_emu::{Access, Fault, FaultKind, LaunchError, LaunchOptions, Place};

on_each_target! {
    a_pointer_kept_after_its_free_is_named_as_such
    a_store_just_behind_an_allocation_is_found
    a_load_just_in_front_of_an_allocation_is_found
    a_missing_tail_check_is_found
    a_null_pointer_is_named_as_such
    arguments_of_the_wrong_size_are_refused
    an_index_past_the_end_of_a_private_array_is_found
    a_private_array_that_was_filled_in_part_is_found
    too_little_dynamic_lds_is_found
    too_little_dynamic_lds_keeps_nothing_where_a_launch_asks_for_what_a_card_does
    storing_what_another_wave_loaded_without_a_barrier_is_a_race
    two_workgroups_that_store_different_values_race
    reading_what_another_workgroup_stored_is_a_race
    workgroups_that_meet_at_an_atomic_do_not_race
    one_wave_that_waits_once_more_is_divergence
    a_misaligned_atomic_in_device_memory_is_found
    a_loop_without_an_end_is_stopped
}

fn device(target: &str, name: &str, source: &str) -> Device {
    let wave = lanes(target);
    let constants = format!("constexpr unsigned WAVE = {wave}; constexpr unsigned N = 2 * WAVE;\n");
    Device::on(target, name, &(constants + source))
}

/// Two waves a workgroup.
fn run(device: &Device, kernel: &str, groups: u32, args: &[Arg]) -> Result<(), LaunchError> {
    let block = [2 * device.lanes() as u32, 1, 1];
    device.launch(kernel, [groups, 1, 1], block, args).map(|_| ())
}

#[track_caller]
fn fault(result: Result<(), LaunchError>) -> Fault {
    match result.unwrap_err() {
        LaunchError::Fault(fault) => *fault,
        other => panic!("not a fault: {other}"),
    }
}

#[track_caller]
fn place(result: Result<(), LaunchError>) -> (Access, Place) {
    match fault(result).kind {
        FaultKind::Memory(memory) => (memory.access, memory.place),
        other => panic!("{other}"),
    }
}

const PLAIN: &str = r#"
KERNEL copy(const unsigned* in, unsigned* out) { out[bid(0) * N + tid(0)] = in[bid(0) * N + tid(0)]; }
KERNEL tail(const unsigned* in, unsigned* out, unsigned n) {
    unsigned i = bid(0) * N + tid(0);
    if (i < n) out[i] = in[i];
}
KERNEL shift(const unsigned* in, unsigned* out, unsigned by) { out[tid(0)] = in[tid(0) - by]; }
KERNEL push(unsigned* out, unsigned by) { out[tid(0) + by] = 1; }
KERNEL count(unsigned char* at) {
    __hip_atomic_fetch_add((unsigned*)at, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL spin(volatile unsigned* x, unsigned n) { for (unsigned i = 0; i != n; i += 2) x[tid(0)] = i; }"#;

fn a_pointer_kept_after_its_free_is_named_as_such(target: &'static str) {
    let mut device = device(target, "plant_free", PLAIN);
    let n = 2 * device.lanes();
    let (input, out) = (device.upload(&vec![1; n as usize]), device.fresh(n));
    run(&device, "copy", 1, &[Ptr(input), Ptr(out)]).unwrap();
    device.memory.free(input).unwrap();
    let found = place(run(&device, "copy", 1, &[Ptr(input), Ptr(out)]));
    let freed = Place::Freed {
        base: input,
        size: 4 * n,
    };
    assert_eq!(found, (Access::Load, freed));
}

fn a_store_just_behind_an_allocation_is_found(target: &'static str) {
    let mut device = device(target, "plant_behind", PLAIN);
    let n = 2 * device.lanes();
    let out = device.fresh(n);
    run(&device, "push", 1, &[Ptr(out), U32(0)]).unwrap();
    let (access, place) = place(run(&device, "push", 1, &[Ptr(out), U32(1)]));
    let after = Place::After {
        base: out,
        size: 4 * n,
        past: 0,
    };
    assert_eq!((access, place), (Access::Store, after));
}

fn a_load_just_in_front_of_an_allocation_is_found(target: &'static str) {
    let mut device = device(target, "plant_front", PLAIN);
    let n = 2 * device.lanes();
    let (input, out) = (device.upload(&vec![1; n as usize]), device.fresh(n));
    run(&device, "shift", 1, &[Ptr(input), Ptr(out), U32(0)]).unwrap();
    // The index wraps at 32 bits, so the first lane reads four billion elements too far or one too early.
    let (access, _) = place(run(&device, "shift", 1, &[Ptr(input), Ptr(out), U32(1)]));
    assert_eq!(access, Access::Load);
}

fn a_missing_tail_check_is_found(target: &'static str) {
    let mut device = device(target, "plant_tail", PLAIN);
    let n = 2 * device.lanes() + 5;
    let (input, out) = (device.upload(&vec![1; n as usize]), device.fresh(n));
    run(&device, "tail", 2, &[Ptr(input), Ptr(out), U32(n as u32)]).unwrap();
    let fault = fault(run(&device, "copy", 2, &[Ptr(input), Ptr(out)]));
    assert_eq!((fault.workgroup, fault.lane), ([1, 0, 0], Some(5)), "{fault}");
}

fn a_null_pointer_is_named_as_such(target: &'static str) {
    let mut device = device(target, "plant_null", PLAIN);
    let n = 2 * device.lanes();
    let (input, out) = (device.upload(&vec![1; n as usize]), device.fresh(n));
    run(&device, "copy", 1, &[Ptr(input), Ptr(out)]).unwrap();
    let found = place(run(&device, "copy", 1, &[Ptr(input), Ptr(0)]));
    assert_eq!(found, (Access::Store, Place::Null));
}

fn arguments_of_the_wrong_size_are_refused(target: &'static str) {
    let mut device = device(target, "plant_kernarg", PLAIN);
    let n = 2 * device.lanes();
    let (input, out) = (device.upload(&vec![1; n as usize]), device.fresh(n));
    run(&device, "copy", 1, &[Ptr(input), Ptr(out)]).unwrap();
    for (args, got) in [(&[Ptr(input)][..], 8), (&[Ptr(input), Ptr(out), Ptr(out)], 24)] {
        let error = run(&device, "copy", 1, args).unwrap_err();
        assert!(
            matches!(error, LaunchError::KernargSize { got: bytes, expected: 16, .. } if bytes == got),
            "{error}"
        );
    }
}

/// A private array that the compiler cannot keep in registers.
const PRIVATE: &str = r#"DEVICE void body(unsigned* out, const unsigned* order, unsigned filled, unsigned by) {
    unsigned slots[64];
    for (unsigned i = 0; i < filled; ++i) slots[order[i]] = i;
    out[tid(0)] = *(volatile unsigned*)(slots + order[tid(0) % 64] + by);
}
KERNEL good(unsigned* out, const unsigned* order) { body(out, order, 64, 0); }
KERNEL partly(unsigned* out, const unsigned* order) { body(out, order, 63, 0); }
KERNEL beyond(unsigned* out, const unsigned* order) { body(out, order, 64, 1 << 16); }"#;

fn private(target: &'static str, kernel: &str) -> FaultKind {
    let mut device = device(target, &format!("plant_private_{kernel}"), PRIVATE);
    let order: Vec<u32> = (0..64).map(|i| (i * 7) % 64).collect();
    let (order, out) = (device.upload(&order), device.fresh(2 * device.lanes()));
    run(&device, "good", 1, &[Ptr(out), Ptr(order)]).unwrap();
    fault(run(&device, kernel, 1, &[Ptr(out), Ptr(order)])).kind
}

fn an_index_past_the_end_of_a_private_array_is_found(target: &'static str) {
    let kind = private(target, "beyond");
    assert!(
        matches!(
            kind,
            FaultKind::Scratch {
                access: Access::Load,
                bytes: 4,
                ..
            }
        ),
        "{kind}"
    );
}

fn a_private_array_that_was_filled_in_part_is_found(target: &'static str) {
    let kind = private(target, "partly");
    assert!(
        matches!(kind, FaultKind::UnwrittenScratch { bytes: 4, .. }),
        "{kind}"
    );
}

const TURN: &str = r#"extern SHARED unsigned s[];
    KERNEL turn(unsigned* out) { s[tid(0)] = tid(0) + 1; barrier(); out[tid(0)] = s[N - 1 - tid(0)]; }"#;

/// Runs `turn` of [`TURN`] on one workgroup that has `lds` bytes.
fn turn(device: &Device, out: u64, lds: u64, options: &LaunchOptions) -> Result<(), LaunchError> {
    let block = [2 * device.lanes() as u32, 1, 1];
    device
        .launch_with("turn", [1; 3], block, lds as u32, &[Ptr(out)], options)
        .map(|_| ())
}

fn too_little_dynamic_lds_is_found(target: &'static str) {
    let mut device = device(target, "plant_dynamic", TURN);
    let n = 2 * device.lanes();
    let out = device.fresh(n);
    let options = LaunchOptions {
        sanitize: true,
        ..LaunchOptions::default()
    };
    turn(&device, out, 4 * n, &options).unwrap();
    let kind = fault(turn(&device, out, 4 * n - 4, &options)).kind;
    assert!(
        matches!(kind, FaultKind::Lds { offset, access: Access::Store, .. } if offset == 4 * n - 4),
        "{kind}"
    );
}

fn too_little_dynamic_lds_keeps_nothing_where_a_launch_asks_for_what_a_card_does(target: &'static str) {
    let mut device = device(target, "plant_absent", TURN);
    let n = 2 * device.lanes();
    let out = device.fresh(n);
    let as_card = |sanitize| LaunchOptions {
        lds_as_card: true,
        sanitize,
        ..LaunchOptions::default()
    };
    turn(&device, out, 4 * n - 4, &as_card(false)).unwrap();
    let turned: Vec<u32> = (1..n as u32).rev().collect();
    assert_eq!(device.download(out, n as usize), [&[0], &turned[..]].concat());

    let plain = fault(turn(&device, out, 4 * n - 4, &LaunchOptions::default())).kind;
    let sanitized = fault(turn(&device, out, 4 * n - 4, &as_card(true))).kind;
    for kind in [plain, sanitized] {
        assert!(matches!(kind, FaultKind::Lds { .. }), "{kind}");
    }
}

fn storing_what_another_wave_loaded_without_a_barrier_is_a_race(target: &'static str) {
    let source = r#"template <bool SYNCS> DEVICE void body(volatile unsigned* x, unsigned* out) {
        unsigned first = x[tid(0) % WAVE];
        if (SYNCS) barrier();
        if (tid(0) >= WAVE) x[tid(0) - WAVE] = first + 1;
        out[tid(0)] = first;
    }
    KERNEL good(volatile unsigned* x, unsigned* out) { body<true>(x, out); }
    KERNEL bad(volatile unsigned* x, unsigned* out) { body<false>(x, out); }"#;
    let mut device = device(target, "plant_war", source);
    let n = 2 * device.lanes();
    let (x, out) = (device.upload(&vec![1; n as usize]), device.fresh(n));
    run(&device, "good", 1, &[Ptr(x), Ptr(out)]).unwrap();
    let fault = fault(run(&device, "bad", 1, &[Ptr(x), Ptr(out)]));
    assert!(
        matches!(
            fault.kind,
            FaultKind::DeviceRace { address, access: Access::Store, other: Access::Load, wave: 0, .. } if address == x
        ),
        "{fault}"
    );
    assert_eq!(fault.wave, 1);
}

fn two_workgroups_that_store_different_values_race(target: &'static str) {
    let source = r#"KERNEL good(unsigned* out) { if (tid(0) == 0) out[0] = 7; }
    KERNEL bad(unsigned* out) { if (tid(0) == 0) out[0] = bid(0); }"#;
    let mut device = device(target, "plant_groups_store", source);
    let out = device.fresh(1);
    run(&device, "good", 3, &[Ptr(out)]).unwrap();
    let fault = fault(run(&device, "bad", 3, &[Ptr(out)]));
    assert!(
        matches!(fault.kind, FaultKind::GroupRace { address, access: Access::Store, group: [0, 0, 0], .. } if address == out),
        "{fault}"
    );
    assert_eq!(fault.workgroup, [1, 0, 0]);
}

fn reading_what_another_workgroup_stored_is_a_race(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* x, unsigned* out, unsigned from) {
        if (tid(0) == 0) { x[bid(0)] = bid(0) + 1; out[bid(0)] = ((volatile unsigned*)x)[from]; }
    }
    KERNEL good(unsigned* x, unsigned* out) { body(x, out, bid(0)); }
    KERNEL bad(unsigned* x, unsigned* out) { body(x, out, 0); }"#;
    let mut device = device(target, "plant_groups_load", source);
    let (x, out) = (device.fresh(2), device.fresh(2));
    run(&device, "good", 2, &[Ptr(x), Ptr(out)]).unwrap();
    let (x, out) = (device.fresh(2), device.fresh(2));
    let fault = fault(run(&device, "bad", 2, &[Ptr(x), Ptr(out)]));
    assert!(
        matches!(fault.kind, FaultKind::GroupRace { address, access: Access::Load, group: [0, 0, 0], .. } if address == x),
        "{fault}"
    );
}

fn workgroups_that_meet_at_an_atomic_do_not_race(target: &'static str) {
    // The last workgroup to arrive adds up what all have stored.
    let source = r#"KERNEL total(unsigned* parts, unsigned* arrived, unsigned* out) {
        if (tid(0) != 0) return;
        parts[bid(0)] = bid(0) + 1;
        unsigned before = __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        if (before == 2) out[0] = parts[0] + parts[1] + parts[2];
    }"#;
    let mut device = device(target, "plant_groups_meet", source);
    let (parts, arrived, out) = (device.fresh(3), device.upload(&[0]), device.fresh(1));
    run(&device, "total", 3, &[Ptr(parts), Ptr(arrived), Ptr(out)]).unwrap();
    assert_eq!(device.download(out, 1), [6]);
}

fn one_wave_that_waits_once_more_is_divergence(target: &'static str) {
    let source = r#"DEVICE void body(unsigned* out, unsigned rounds) {
        for (unsigned i = 0; i < rounds; ++i) asm volatile(BARRIER ::: "memory");
        out[tid(0)] = 1;
    }
    KERNEL good(unsigned* out) { body(out, 3); }
    KERNEL bad(unsigned* out) { body(out, tid(0) < WAVE ? 4 : 3); }"#;
    let mut device = device(target, "plant_rounds", source);
    let out = device.fresh(2 * device.lanes());
    run(&device, "good", 1, &[Ptr(out)]).unwrap();
    let fault = fault(run(&device, "bad", 1, &[Ptr(out)]));
    assert_eq!(fault.kind, FaultKind::BarrierDivergence { wave: 1, at: None });
}

fn a_misaligned_atomic_in_device_memory_is_found(target: &'static str) {
    let mut device = device(target, "plant_odd", PLAIN);
    let at = device.upload(&[0, 0]);
    run(&device, "count", 1, &[Ptr(at + 4)]).unwrap();
    let (access, place) = place(run(&device, "count", 1, &[Ptr(at + 2)]));
    assert_eq!(
        (access, place),
        (Access::Atomic, Place::Misaligned { base: at, size: 8 })
    );
}

fn a_loop_without_an_end_is_stopped(target: &'static str) {
    let mut device = device(target, "plant_spin", PLAIN);
    let out = device.fresh(2 * device.lanes());
    let launch = |n: u32| {
        let options = LaunchOptions {
            max_wave_instructions: 10_000,
            sanitize: true,
            ..LaunchOptions::default()
        };
        let block = [2 * device.lanes() as u32, 1, 1];
        device
            .launch_with("spin", [1; 3], block, 0, &[Ptr(out), U32(n)], &options)
            .map(|_| ())
    };
    launch(10).unwrap();
    // Even numbers never meet an odd one.
    let kind = fault(launch(11)).kind;
    assert_eq!(kind, FaultKind::Watchdog { limit: 10_000 });
}

#[test]
fn a_fault_names_the_source_line_where_there_is_debug_information() {
    let source = "\n#line 100 \"planted.hip\"\nKERNEL line(unsigned* out) {\n    unsigned i = tid(0);\n    out[i + 1] = i;\n}";
    for (flag, known) in [("-g", true), ("-g0", false)] {
        let mut device = Device::with_flags("gfx1100", &format!("plant_line{flag}"), source, &[flag]);
        let out = device.fresh(32);
        let fault = fault(device.launch("line", [1; 3], [32, 1, 1], &[Ptr(out)]).map(|_| ()));
        let text = fault.to_string();
        assert_eq!(fault.source.is_some(), known, "{text}");
        if let Some(source) = fault.source {
            assert!(
                source.ends_with("planted.hip:102") && text.contains(", source "),
                "{text}"
            );
        }
    }
}
