//! What stops a launch: refused dispatches, memory faults and the watchdog, each with the facts a report
//! needs.

use std::sync::OnceLock;
use std::time::Instant;

use crate::support::Arg::{self, Ptr, U32};
use crate::support::{Device, on_each_target};
use gfx_emu::{
    Access, BARE_KERNEL, CodeObject, Dispatch, Fault, FaultKind, LaunchError, LaunchOptions, Memory, Place,
    Target, TimeLimit, launch,
};

on_each_target! {
    a_check_that_fails_traps_and_the_others_go_on
}

const FILL: &str = r#"KERNEL fill(unsigned* out, unsigned n) {
    unsigned i = bid(0) * bdim(0) + tid(0);
    if (i < n) out[i] = i;
}
KERNEL read(const unsigned* in, unsigned* out) { out[tid(0)] = in[tid(0)]; }
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 64))) small(unsigned* out) { out[tid(0)] = 1; }"#;

#[track_caller]
fn fault(result: Result<impl std::fmt::Debug, LaunchError>) -> Fault {
    match result.unwrap_err() {
        LaunchError::Fault(fault) => *fault,
        other => panic!("not a fault: {other}"),
    }
}

#[test]
fn one_element_too_many_names_kernel_lane_address_and_allocation() {
    let mut device = Device::new("fault_over", FILL);
    let out = device.upload(&[0; 100]);
    device
        .launch("fill", [2, 1, 1], [64, 1, 1], &[Ptr(out), U32(100)])
        .unwrap();
    let fault = fault(device.launch("fill", [2, 1, 1], [64, 1, 1], &[Ptr(out), U32(101)]));
    assert_eq!(
        (fault.kernel.as_str(), fault.workgroup, fault.wave),
        ("fill", [1, 0, 0], 1)
    );
    assert_eq!((fault.lane, fault.work_item), (Some(4), Some([36, 0, 0])));
    let FaultKind::Memory(memory) = fault.kind else {
        panic!("{fault}")
    };
    assert_eq!(
        (memory.address, memory.bytes, memory.access),
        (out + 400, 4, Access::Store)
    );
    assert_eq!(
        memory.place,
        Place::After {
            base: out,
            size: 400,
            past: 0
        }
    );
    assert!(
        fault.instruction.contains("global_store_b32"),
        "{}",
        fault.instruction
    );
    let text = fault.to_string();
    for part in [
        "`fill`",
        "lane 4",
        &format!("{:#x}", out + 400),
        &format!("{out:#x} of 400 bytes"),
    ] {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn reading_freed_memory_is_a_use_after_free() {
    let mut device = Device::new("fault_freed", FILL);
    let (input, out) = (device.upload(&[1; 32]), device.upload(&[0; 32]));
    device
        .launch("read", [1; 3], [32, 1, 1], &[Ptr(input), Ptr(out)])
        .unwrap();
    device.memory.free(input).unwrap();
    let fault = fault(device.launch("read", [1; 3], [32, 1, 1], &[Ptr(input), Ptr(out)]));
    assert!(fault.to_string().contains("use after free"), "{fault}");
    assert_eq!(fault.lane, Some(0));
}

#[test]
fn a_null_pointer_is_called_one() {
    let mut device = Device::new("fault_null", FILL);
    let out = device.upload(&[0; 32]);
    let fault = fault(device.launch("read", [1; 3], [32, 1, 1], &[Ptr(0), Ptr(out)]));
    assert!(fault.to_string().contains("null pointer"), "{fault}");
}

#[test]
fn the_first_workgroup_in_grid_order_is_reported_whatever_the_threads() {
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let fault = pool.install(|| {
            let mut device = Device::new(&format!("fault_first_{threads}"), FILL);
            let out = device.upload(&[0; 10 * 32]);
            fault(device.launch("fill", [200, 1, 1], [32, 1, 1], &[Ptr(out), U32(u32::MAX)]))
        });
        assert_eq!(fault.workgroup, [10, 0, 0], "{threads} threads");
    }
}

#[test]
fn an_endless_loop_meets_the_watchdog() {
    let source = "KERNEL spin(volatile unsigned* flag) { while (*flag == 0) {} }";
    let mut device = Device::new("fault_spin", source);
    let (never, now) = (device.upload(&[0]), device.upload(&[1]));
    let options = LaunchOptions {
        max_wave_instructions: 10_000,
        ..LaunchOptions::default()
    };
    let launch = |flag| device.launch_with("spin", [1; 3], [1, 1, 1], 0, &[Ptr(flag)], &options);
    launch(now).unwrap();
    assert_eq!(fault(launch(never)).kind, FaultKind::Watchdog { limit: 10_000 });
}

/// Turns until `flag` is set, with a loop of `n` rounds before.
const TURN: &str = "KERNEL turn(volatile unsigned* flag, unsigned n, unsigned* out) {
    unsigned x = 1;
    for (unsigned i = 0; i < n; ++i) x = x * 1664525 + i;
    while (*flag == 0) {}
    out[tid(0)] = x;
}";

/// Milliseconds since the first call.
fn clock() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64
}

#[test]
fn a_launch_is_stopped_when_its_time_is_over() {
    for sanitize in [false, true] {
        let mut device = Device::new("fault_time", TURN);
        let (never, now, out) = (device.upload(&[0]), device.upload(&[1]), device.fresh(32));
        let limit = 200;
        let options = LaunchOptions {
            max_wave_instructions: u64::MAX,
            max_time: Some(TimeLimit { clock, limit }),
            sanitize,
            ..LaunchOptions::default()
        };
        let launch = |flag| {
            let args = [Ptr(flag), U32(1), Ptr(out)];
            device.launch_with("turn", [2, 1, 1], [32, 1, 1], 0, &args, &options)
        };
        launch(now).unwrap();
        let fault = fault(launch(never));
        assert_eq!(fault.kind, FaultKind::Timeout { limit }, "{fault}");
        assert!(fault.to_string().contains("more than 200 ms"), "{fault}");
    }
}

#[test]
fn a_limit_of_time_changes_neither_results_nor_counts_nor_the_limit_of_instructions() {
    let mut device = Device::new("fault_slices", TURN);
    let (never, now) = (device.upload(&[0]), device.upload(&[1]));
    let limits = [None, Some(3_600_000), Some(u64::MAX)];
    let ran = limits.map(|limit| {
        let out = device.fresh(32);
        let options = LaunchOptions {
            // More than are executed between two looks at the clock.
            max_wave_instructions: 500_001,
            max_time: limit.map(|limit| TimeLimit { clock, limit }),
            ..LaunchOptions::default()
        };
        let launch = |flag, n| {
            let args = [Ptr(flag), U32(n), Ptr(out)];
            device.launch_with("turn", [1; 3], [32, 1, 1], 0, &args, &options)
        };
        let stats = launch(now, 50_000).unwrap();
        assert!(stats.instructions > 150_000, "{stats:?}");
        assert_eq!(
            fault(launch(never, 1)).kind,
            FaultKind::Watchdog { limit: 500_001 }
        );
        (stats, device.download(out, 32))
    });
    assert_eq!(ran[0], ran[1]);
    assert_eq!(ran[0], ran[2]);
}

fn a_check_that_fails_traps_and_the_others_go_on(target: &'static str) {
    let source = "KERNEL check(unsigned* x) {
        if (x[tid(0)] == 9) __builtin_trap();
        x[tid(0)] += 1;
    }";
    for flags in [&["-O3"], &["-O0"]] {
        let mut device = Device::with_flags(target, "fault_trap", source, flags);
        let [good, bad] = [vec![1; 64], [vec![1; 40], vec![9; 24]].concat()].map(|data| device.upload(&data));
        let launch = |x| {
            let options = LaunchOptions::default();
            device.launch_with("check", [1; 3], [64, 1, 1], 0, &[Ptr(x)], &options)
        };
        launch(good).unwrap();
        assert_eq!(device.download(good, 64), [2; 64], "{target} {flags:?}");
        assert_eq!(
            fault(launch(bad)).kind,
            FaultKind::Trap { id: 2 },
            "{target} {flags:?}"
        );
    }
}

#[test]
fn arguments_of_another_size_are_refused() {
    let mut device = Device::new("fault_kernarg", FILL);
    let out = device.upload(&[0; 64]);
    let launch = |args: &[Arg]| device.launch("fill", [1; 3], [64, 1, 1], args);
    launch(&[Ptr(out), U32(64)]).unwrap();
    let error = launch(&[Ptr(out)]).unwrap_err();
    assert_eq!(
        error,
        LaunchError::KernargSize {
            kernel: "fill".into(),
            got: 8,
            expected: 12
        }
    );
    launch(&[Ptr(out), Ptr(out), U32(64)]).unwrap_err();
    launch(&[]).unwrap_err();
}

#[test]
fn empty_and_oversize_grids_and_blocks_are_refused() {
    let mut device = Device::new("fault_sizes", FILL);
    let out = device.upload(&[0; 1024]);
    let launch = |grid, block| device.launch("fill", grid, block, &[Ptr(out), U32(1024)]);
    launch([1; 3], [1024, 1, 1]).unwrap();
    for block in [[1025, 1, 1], [32, 33, 1], [0, 1, 1], [u32::MAX, u32::MAX, 2]] {
        let error = launch([1; 3], block).unwrap_err();
        assert_eq!(
            error,
            LaunchError::BlockSize {
                kernel: "fill".into(),
                block,
                limit: 1024
            }
        );
    }
    for grid in [[0, 1, 1], [1, 1, 0], [1 << 30, 1, 1], [1 << 22, 1 << 22, 1 << 22]] {
        let error = launch(grid, [64, 1, 1]).unwrap_err();
        assert_eq!(
            error,
            LaunchError::GridSize {
                kernel: "fill".into(),
                grid
            }
        );
    }
    let mut rdna4 = Device::on(
        "gfx1201",
        "fault_ids",
        "KERNEL ids(unsigned* out) { *out = bid(1) + bid(2); }",
    );
    let last = rdna4.upload(&[0]);
    for (grid, fits) in [
        ([1, 1 << 16, 1], true),
        ([1, (1 << 16) + 1, 1], false),
        ([1, 1, (1 << 16) + 1], false),
    ] {
        let result = rdna4.launch_with("ids", grid, [1; 3], 0, &[Ptr(last)], &LaunchOptions::default());
        assert_eq!(result.is_ok(), fits, "{grid:?}: {result:?}");
    }
    let small = |block| device.launch("small", [1; 3], block, &[Ptr(out)]);
    small([64, 1, 1]).unwrap();
    let error = small([65, 1, 1]).unwrap_err();
    assert_eq!(
        error,
        LaunchError::BlockSize {
            kernel: "small".into(),
            block: [65, 1, 1],
            limit: 64
        }
    );
}

#[test]
fn more_lds_than_a_workgroup_has_is_refused() {
    let mut device = Device::new("fault_lds", FILL);
    let out = device.upload(&[0; 32]);
    let launch = |lds| {
        device.launch_with(
            "fill",
            [1; 3],
            [32, 1, 1],
            lds,
            &[Ptr(out), U32(32)],
            &LaunchOptions::default(),
        )
    };
    launch(65536).unwrap();
    let error = launch(65537).unwrap_err();
    assert_eq!(
        error,
        LaunchError::Lds {
            kernel: "fill".into(),
            requested: 65537,
            limit: 65536
        }
    );
}

#[test]
fn more_private_memory_than_a_wave_can_have_is_refused() {
    // An end, two user SGPRs, and more scratch than a card's 8 MiB a wave.
    let end = 0xbfb0_0000_u32.to_le_bytes();
    for (scratch, runs) in [(1 << 18, true), ((1 << 18) + 4, false), (u32::MAX, false)] {
        let code = CodeObject::bare(Target::Gfx1100, &end, 2 << 1, scratch, 0).unwrap();
        let mut memory = Memory::new(64);
        let dispatch = Dispatch {
            kernel: code.kernel(BARE_KERNEL).unwrap(),
            placement: code.place(&mut memory).unwrap(),
            grid: [1; 3],
            block: [1; 3],
            dynamic_lds: 0,
            kernarg: &[],
        };
        let result = launch(&code, &dispatch, &memory, &LaunchOptions::default());
        match result {
            Ok(_) => assert!(runs, "{scratch}"),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    !runs && text.contains(&format!("{scratch} bytes of private memory")),
                    "{text}"
                );
            }
        }
    }
}
