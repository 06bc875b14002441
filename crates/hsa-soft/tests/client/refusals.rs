//! What a broken program does: each call answers an error, each packet ends in one, and nothing crashes or hangs.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::compile::compile;
use crate::library::{KERNEL_OBJECT, call, function, load, qword, signal, symbol, system, wait};

const SOURCE: &str = "KERNEL one(int* x) { x[tid(0)] = 1; }";

const INVALID_ARGUMENT: u32 = 0x1001;
const INVALID_PACKET: u32 = 0x1009;
const INVALID_CODE_OBJECT: u32 = 0x1010;

#[test]
fn handles_that_nobody_gave_out_are_refused() {
    let system = system();
    for handle in [0, 1, 7, 72, 1 << 40, u64::MAX, u64::MAX - 63, system.device] {
        let mut number = 0_u64;
        let refused = [
            call!(hsa_signal_destroy(handle => u64)),
            call!(hsa_amd_signal_value_pointer(handle => u64, &mut number => *mut u64)),
            call!(hsa_queue_destroy(handle => u64)),
            call!(hsa_executable_destroy(handle => u64)),
            call!(hsa_executable_freeze(handle => u64, std::ptr::null() => *const u8)),
            call!(hsa_code_object_reader_destroy(handle => u64)),
            call!(hsa_executable_symbol_get_info(handle => u64, 0 => u32, &mut number => *mut u64)),
            call!(hsa_agent_get_info(handle => u64, 17 => u32, &mut number => *mut u64)),
            call!(hsa_isa_get_info_alt(handle => u64, 0 => u32, &mut number => *mut u64)),
            call!(hsa_amd_profiling_get_async_copy_time(handle => u64, &mut number => *mut u64)),
        ];
        assert!(!refused.contains(&0), "{handle:#x}: {refused:x?}");
        // Values of what does not exist are 0.
        assert_eq!(call!(hsa_signal_load_relaxed(handle => u64) -> i64), 0);
        assert_eq!(call!(hsa_queue_load_read_index_relaxed(handle => u64) -> u64), 0);
        call!(hsa_signal_store_relaxed(handle => u64, 1 => i64) -> ());
    }
    let destroyed = signal(5);
    assert_eq!(call!(hsa_signal_destroy(destroyed => u64)), 0);
    assert_ne!(call!(hsa_signal_destroy(destroyed => u64)), 0);
}

#[test]
fn places_that_are_null_and_sizes_that_cannot_be_are_refused() {
    let system = system();
    let null = std::ptr::null_mut::<u64>();
    assert_eq!(
        call!(hsa_agent_get_info(system.card => u64, 0 => u32, null => *mut u64)),
        INVALID_ARGUMENT
    );
    let mut address = 0_u64;
    for (bytes, status) in [
        (0, 0x1001),
        (1 << 45, 0x1008),
        (usize::MAX, 0x1008),
        (17 << 30, 0x1008),
    ] {
        let got = call!(hsa_amd_memory_pool_allocate(
            system.device => u64, bytes => usize, 0 => u32, &mut address => *mut u64
        ));
        assert_eq!(got, status, "{bytes}");
    }
    let got =
        call!(hsa_amd_memory_pool_allocate(system.device => u64, 8 => usize, 0 => u32, null => *mut u64));
    assert_eq!(got, INVALID_ARGUMENT);
    for size in [0, 3, 1 << 20, u32::MAX] {
        let got = call!(hsa_queue_create(
            system.card => u64, size => u32, 0 => u32, std::ptr::null() => *const u8, null => *mut u64,
            0 => u32, 0 => u32, &mut address => *mut u64
        ));
        assert_eq!(got, 0x1002, "{size}");
    }
    let mut value = [0_u64; 32];
    assert_eq!(
        call!(hsa_agent_get_info(system.card => u64, 0xdead => u32, &mut value => *mut [u64; 32])),
        INVALID_ARGUMENT
    );
}

#[test]
fn copies_that_leave_an_allocation_are_refused() {
    let system = system();
    let (small, large) = (
        system.allocate(system.device, 64),
        system.allocate(system.fine, 1 << 20),
    );
    let copy =
        |to: u64, from: u64, bytes: usize| call!(hsa_memory_copy(to => u64, from => u64, bytes => usize));
    assert_eq!(copy(small, large, 64), 0);
    for (to, from, bytes) in [
        (small, large, 1 << 20),
        (large, small, 1 << 20),
        (0, large, 8),
        (large, 16, 8),
        (large, u64::MAX - 3, 8),
        (large, large, usize::MAX),
    ] {
        assert_ne!(copy(to, from, bytes), 0, "{to:#x} {from:#x} {bytes}");
    }
    assert_eq!(call!(hsa_amd_memory_pool_free(small => u64)), 0);
    assert_ne!(call!(hsa_amd_memory_pool_free(small => u64)), 0);
    assert_ne!(copy(small, large, 64), 0, "the target was freed");
}

#[test]
fn a_malformed_packet_is_told_to_its_queue_and_completes() {
    let system = system();
    let executable = load(&system, &compile("hsa-soft-refusals", "gfx1100", SOURCE, &[])).unwrap();
    let kernel = symbol(executable, "one.kd", KERNEL_OBJECT);
    let arguments = system.allocate(system.fine, 64);
    qword(arguments).store(system.allocate(system.fine, 4096), SeqCst);
    // Kernel, work-items, workgroup, arguments.
    let dispatches = [
        (0, 64, 64, arguments),
        (kernel + 4, 64, 64, arguments),
        (u64::MAX, 64, 64, arguments),
        (kernel, 0, 64, arguments),
        (kernel, 64, 0, arguments),
        (kernel, 64, 2000, arguments),
        (kernel, 64, 64, 0),
        (kernel, 64, 64, 0x7000_0000_0000),
    ];
    let outcome = |push: &dyn Fn(crate::library::Queue, u64)| {
        let told: &AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
        let queue = system.queue(told);
        let (done, after) = (signal(1), signal(1));
        push(queue, done);
        queue.barrier(&[], after);
        // What comes after it completes too: nobody waits for ever.
        assert_eq!(wait(after, 20_000), 0);
        assert_eq!(call!(hsa_queue_destroy(queue.address => u64)), 0);
        told.load(SeqCst)
    };
    let right = |queue: crate::library::Queue, done| queue.dispatch(kernel, 64, 64, arguments, done);
    assert_eq!(outcome(&right), 0);
    for (kernel, items, block, arguments) in dispatches {
        let status = outcome(&|queue, done| queue.dispatch(kernel, items, block, arguments, done));
        assert_eq!(
            status, INVALID_PACKET,
            "{kernel:#x} {items} {block} {arguments:#x}"
        );
    }
    for header in [0, 0xff, 4, 6, 0xffff_ff00, 3 << 16] {
        let status = outcome(&|queue, _| queue.push(header, &[0; 15]));
        assert_eq!(status, INVALID_PACKET, "{header:#x}");
    }
    // Barriers whose handle names no signal.
    for handle in [1, 64, u64::MAX, kernel] {
        let status = outcome(&|queue, done| queue.barrier(&[handle], done));
        assert_eq!(status, INVALID_PACKET, "{handle:#x}");
    }
}

/// Whether an address is of an allocation.
fn is_allocated(address: u64) -> bool {
    // A structure of 56 bytes, which says so first, and then what it is.
    let mut info = [0_u64; 7];
    info[0] = 56;
    let none = std::ptr::null::<u64>();
    let status = call!(hsa_amd_pointer_info(
        address => u64, info.as_mut_ptr() => *mut u64, none => *const u64, none => *const u64, none => *const u64
    ));
    assert_eq!(status, 0);
    info[0] >> 32 == 1
}

#[test]
fn the_memory_of_a_queue_is_freed_with_it() {
    let system = system();
    let queue = || system.queue(Box::leak(Box::new(AtomicU32::new(0)))).address;
    let busy = queue();
    // Its thread is told, and lets go of it in its own time.
    let ended = queue();
    assert!(is_allocated(ended) && is_allocated(busy));
    assert_eq!(call!(hsa_queue_destroy(ended => u64)), 0);
    while is_allocated(ended) {
        std::thread::yield_now();
    }
    assert!(is_allocated(busy), "it is another one's");
    let inactive = queue();
    assert_eq!(call!(hsa_queue_inactivate(inactive => u64)), 0);
    assert!(is_allocated(inactive));
}

#[test]
fn malformed_code_objects_are_refused() {
    let system = system();
    let object = compile("hsa-soft-objects", "gfx1100", SOURCE, &[]);
    for len in (0..object.len()).step_by(97) {
        let status = load(&system, &object[..len]).unwrap_err();
        assert!(
            [INVALID_ARGUMENT, INVALID_CODE_OBJECT].contains(&status),
            "{len}: {status:#x}"
        );
    }
    let mut state = 1_u32;
    for _ in 0..200 {
        let mut broken = object.clone();
        for _ in 0..8 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = state as usize % broken.len();
            broken[at] ^= (state >> 24) as u8 | 1;
        }
        // Some of these bytes do not matter; whatever the answer is, it is one.
        if let Ok(executable) = load(&system, &broken) {
            assert_eq!(call!(hsa_executable_destroy(executable => u64)), 0);
        }
    }
    let other = compile("hsa-soft-other", "gfx942", SOURCE, &[]);
    assert_eq!(
        load(&system, &other).unwrap_err(),
        INVALID_CODE_OBJECT,
        "it is for another card"
    );
    let executable = load(&system, &object).unwrap();
    let mut found = 0_u64;
    let status = call!(hsa_executable_get_symbol_by_name(
        executable => u64, c"two.kd".as_ptr() => *const std::ffi::c_char, std::ptr::null() => *const u64,
        &mut found => *mut u64
    ));
    assert_eq!(status, 0x1013);
}

#[test]
fn what_has_no_body_answers_an_error() {
    system();
    assert_eq!(call!(hsa_amd_vmem_import_shareable_handle()), 0x1000);
    assert_eq!(call!(hsa_amd_ipc_memory_create()), 0x1000);
    let mut text = std::ptr::null::<std::ffi::c_char>();
    assert_eq!(
        call!(hsa_status_string(0x1000 => u32, &mut text => *mut *const std::ffi::c_char)),
        0
    );
    assert!(!text.is_null());
    assert_eq!(
        call!(hsa_status_string(0x7777 => u32, &mut text => *mut *const std::ffi::c_char)),
        INVALID_ARGUMENT
    );
}

/// Of a list with more names than `least`, one a line, the library exports every one.
fn all_are_there(list: &str, least: usize) {
    let names: Vec<&str> = list.lines().collect();
    assert!(names.len() > least, "{}", names.len());
    for name in names {
        assert!(!function(name).is_null(), "{name}");
    }
}

/// The functions that libamdhip64 6.4.3 and 7.2.4 import.
const IMPORTED: &str = include_str!("imported.txt");

#[test]
fn every_function_that_amds_runtimes_import_is_exported() {
    all_are_there(IMPORTED, 95);
}

/// What Debian's libhsa-runtime64 6.4.3 and 7.2.4 export: `nm -D --defined-only`, without the version.
const EXPORTED: &str = include_str!("exported.txt");

#[test]
fn every_name_that_amds_own_driver_exports_is_exported() {
    all_are_there(EXPORTED, 260);
}
