//! What works: kernels by packets, in place in shared memory, ordered by signals.

use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use crate::compile::compile;
use crate::library::{KERNEL_OBJECT, Queue, System, call, dwords, load, qword, signal, symbol, system, wait};

const SOURCE: &str = r#"
DEVICE int by = 3;
KERNEL scale(int* x, unsigned n) {
    unsigned i = bid(0) * bdim(0) + tid(0);
    if (i < n) x[i] = x[i] * by + (int)bdim(0);
}
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 64))) tell(int* x) {
    x[bid(0) * 1024 + tid(0)] = 1;
}
KERNEL meet(volatile unsigned long long* place) {
    while (place[0] == 0) {}
    if (place[0] != 1) *(volatile int*)place[0] = 77;
}
KERNEL race(int* x) {
    SHARED int part[128];
    part[tid(0)] = x[tid(0)];
    x[tid(0)] = part[127 - tid(0)];
}
"#;

static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| compile("hsa-soft", "gfx1100", SOURCE, &["-g1"]));
static NOBODY: AtomicU32 = AtomicU32::new(0);

#[test]
fn the_library_says_that_its_cards_are_software() {
    system();
    // By this name rocm-backend knows that no result is a card's.
    assert_eq!(call!(hsa_soft_gpu()), 1);
}

#[test]
fn a_card_has_no_images_but_says_so_attribute_by_attribute() {
    let system = system();
    // AMD's runtime asks for no other where this bit is not set, and has no pitch then.
    let mut extensions = [0_u8; 128];
    let status = call!(hsa_agent_get_info(system.card => u64, 20 => u32, &mut extensions => *mut [u8; 128]));
    assert_eq!((status, extensions[0]), (0, 2));
    for (attribute, words, value) in [
        (0x3003, 2, 0),
        (0x3007, 3, 0),
        (0x300a, 1, 0),
        (0x300b, 1, 0),
        (0x300c, 1, 256),
    ] {
        let mut answer = [77_u32; 4];
        let status =
            call!(hsa_agent_get_info(system.card => u64, attribute => u32, &mut answer => *mut [u32; 4]));
        assert_eq!((status, answer[0]), (0, value), "{attribute:#x}");
        let rest: Vec<bool> = answer.iter().map(|word| *word == 77).collect();
        assert_eq!(
            rest.iter().filter(|untouched| !**untouched).count(),
            words,
            "{attribute:#x}"
        );
    }
}

struct Setup {
    system: System,
    queue: Queue,
    executable: u64,
}

fn setup() -> Setup {
    let system = system();
    Setup {
        system,
        queue: system.queue(&NOBODY),
        executable: load(&system, &OBJECT).unwrap(),
    }
}

impl Setup {
    fn kernel(&self, name: &str) -> u64 {
        symbol(self.executable, &format!("{name}.kd"), KERNEL_OBJECT)
    }

    /// Arguments: an address and a number.
    fn arguments(&self, address: u64, count: u64) -> u64 {
        let arguments = self.system.allocate(self.system.fine, 256);
        for (index, value) in [address, count].into_iter().enumerate() {
            qword(arguments + 8 * index as u64).store(value, SeqCst);
        }
        // Hidden arguments of code object version 5, which the runtime fills in: the number of workgroups, then their size.
        dwords(arguments + 16, 3)
            .iter()
            .for_each(|word| word.store(4, SeqCst));
        dwords(arguments + 28, 1)[0].store(64 | 1 << 16, SeqCst);
        arguments
    }

    fn run(&self, kernel: &str, items: u32, block: u32, arguments: u64) {
        let done = signal(1);
        self.queue
            .dispatch(self.kernel(kernel), items, block, arguments, done);
        assert_eq!(wait(done, 20_000), 0);
        assert_eq!(call!(hsa_signal_destroy(done => u64)), 0);
    }
}

#[test]
fn a_packet_runs_its_kernel_on_memory_that_the_host_shares() {
    let setup = setup();
    let x = setup.system.allocate(setup.system.fine, 4 * 256);
    let words = dwords(x, 256);
    (0..).zip(words).for_each(|(i, word)| word.store(i, SeqCst));
    let arguments = setup.arguments(x, 250);
    setup.run("scale", 256, 64, arguments);
    for (i, word) in (0..).zip(words) {
        let expected = if i < 250 { 3 * i + 64 } else { i };
        assert_eq!(word.load(SeqCst), expected, "{i}");
    }
}

#[test]
fn a_variable_of_the_code_object_has_an_address_that_the_host_copies_to() {
    let setup = setup();
    let by = symbol(setup.executable, "by", 21);
    assert_eq!(symbol(setup.executable, "by", 9) as u32, 4);
    let new = 7_u32;
    let status = call!(hsa_memory_copy(by => u64, &new => *const u32, 4 => usize));
    assert_eq!(status, 0);
    let x = setup.system.allocate(setup.system.fine, 4 * 64);
    dwords(x, 64)[1].store(1, SeqCst);
    setup.run("scale", 64, 64, setup.arguments(x, 64));
    assert_eq!(dwords(x, 64)[1].load(SeqCst), 7 + 64);
}

#[test]
fn a_workgroup_may_be_larger_than_the_kernel_says_and_the_last_one_smaller() {
    let setup = setup();
    let x = setup.system.allocate(setup.system.device, 4 * 2048);
    let seen = setup.system.allocate(setup.system.fine, 4 * 2048);
    setup.run("tell", 1024 + 100, 1024, setup.arguments(x, 0));
    let done = signal(1);
    let status = call!(hsa_amd_memory_async_copy(
        seen => u64, setup.system.host => u64, x => u64, setup.system.card => u64, 4 * 2048 => usize, 0 => u32,
        std::ptr::null() => *const u64, done => u64
    ));
    assert_eq!((status, wait(done, 1000)), (0, 0));
    let set = dwords(seen, 2048).iter().filter(|word| word.load(SeqCst) == 1);
    assert_eq!(set.count(), 1024 + 100);
    assert_eq!(dwords(seen, 2048)[1123].load(SeqCst), 1);
}

#[test]
fn a_barrier_of_amd_waits_for_a_value_and_without_a_signal_for_nothing() {
    let setup = setup();
    let [waited, passed, nothing] = [signal(7), signal(1), signal(1)];
    setup.queue.barrier_value(waited, 3, passed);
    assert_eq!(wait(passed, 50), 1, "the value is 7");
    call!(hsa_signal_store_screlease(waited => u64, 3 => i64) -> ());
    assert_eq!(wait(passed, 20_000), 0);
    setup.queue.barrier_value(0, 3, nothing);
    assert_eq!(wait(nothing, 20_000), 0);
}

#[test]
fn barriers_and_copies_wait_for_signals_that_the_host_sets_later() {
    let setup = setup();
    let (source, target) = (
        setup.system.allocate(setup.system.fine, 4),
        setup.system.allocate(setup.system.device, 4),
    );
    let back = setup.system.allocate(setup.system.fine, 4);
    let (go, copied, passed, returned) = (signal(1), signal(1), signal(1), signal(1));
    let copy = |to: u64, from: u64, wait: u64, done: u64| {
        let status = call!(hsa_amd_memory_async_copy(
            to => u64, setup.system.card => u64, from => u64, setup.system.host => u64, 4 => usize, 1 => u32,
            &wait => *const u64, done => u64
        ));
        assert_eq!(status, 0);
    };
    copy(target, source, go, copied);
    setup.queue.barrier(&[copied], passed);
    copy(back, target, passed, returned);
    std::thread::sleep(Duration::from_millis(50));
    let value = |signal: u64| call!(hsa_signal_load_relaxed(signal => u64) -> i64);
    assert_eq!([copied, passed, returned].map(value), [1, 1, 1]);
    dwords(source, 1)[0].store(77, SeqCst);
    call!(hsa_signal_store_relaxed(go => u64, 0 => i64) -> ());
    assert_eq!(wait(returned, 5000), 0);
    assert_eq!(dwords(back, 1)[0].load(SeqCst), 77);
    let mut times = [0_u64; 2];
    assert_eq!(
        call!(hsa_amd_profiling_get_async_copy_time(returned => u64, &mut times => *mut [u64; 2])),
        0
    );
    assert!(times[0] > 0 && times[0] <= times[1], "{times:?}");
}

#[test]
fn a_handler_is_called_until_it_says_no_more() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn handler(value: i64, calls: *const AtomicU32) -> bool {
        assert!(value < 1);
        // SAFETY: it is a static.
        unsafe { &*calls }.fetch_add(1, SeqCst) < 2
    }
    type Handler = unsafe extern "C" fn(i64, *const AtomicU32) -> bool;
    system();
    let watched = signal(1);
    let status = call!(hsa_amd_signal_async_handler(
        watched => u64, 2 => u32, 1 => i64, handler => Handler, &raw const CALLS => *const AtomicU32
    ));
    assert_eq!((status, CALLS.load(SeqCst)), (0, 0));
    call!(hsa_signal_subtract_relaxed(watched => u64, 1 => i64) -> ());
    for _ in 0..1000 {
        std::thread::sleep(Duration::from_millis(5));
        if CALLS.load(SeqCst) == 3 {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(CALLS.load(SeqCst), 3);
}

#[test]
fn memory_that_the_program_locks_is_used_where_it_is() {
    let setup = setup();
    // Two ranges of one page: the page stays until both are unlocked.
    let own: Vec<AtomicU32> = (0..64).map(AtomicU32::new).collect();
    let address = own.as_ptr().addr() as u64;
    let lock = |at: u64, bytes: usize| {
        let mut locked = 0_u64;
        let status = call!(hsa_amd_memory_lock_to_pool(
            at => u64, bytes => usize, &setup.system.card => *const u64, 1 => i32, setup.system.fine => u64, 0 => u32,
            &mut locked => *mut u64
        ));
        assert_eq!((status, locked), (0, at));
    };
    lock(address, 128);
    lock(address + 128, 128);
    setup.run("scale", 64, 64, setup.arguments(address, 64));
    assert_eq!(own[5].load(SeqCst), 3 * 5 + 64);
    assert_eq!(call!(hsa_amd_memory_unlock(address + 128 => u64)), 0);
    setup.run("scale", 64, 64, setup.arguments(address, 64));
    assert_eq!(own[0].load(SeqCst), 3 * 64 + 64);
    assert_eq!(call!(hsa_amd_memory_unlock(address => u64)), 0);
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let queue = setup.system.queue(&TOLD);
    let done = signal(1);
    queue.dispatch(setup.kernel("scale"), 64, 64, setup.arguments(address, 64), done);
    assert_eq!(wait(done, 20_000), 0);
    assert_eq!(TOLD.load(SeqCst), 43, "a kernel used memory that was unlocked");
}

#[test]
fn large_allocations_begin_at_a_multiple_of_two_mebibytes() {
    let system = system();
    for bytes in [2 << 20, 100, (2 << 20) + 1, 9 << 20] {
        let address = system.allocate(system.fine, bytes);
        let align = if bytes < 2 << 20 { 4096 } else { 2 << 20 };
        assert_eq!(address % align, 0, "{bytes} bytes at {address:#x}");
    }
}

#[test]
fn a_running_kernel_reaches_memory_that_is_allocated_meanwhile() {
    let setup = setup();
    let place = setup.system.allocate(setup.system.fine, 64);
    let done = signal(1);
    setup
        .queue
        .dispatch(setup.kernel("meet"), 1, 1, setup.arguments(place, 0), done);
    // Long enough for the launch to begin; where it has not, the test shows less and passes all the same.
    std::thread::sleep(Duration::from_millis(200));
    let fresh = setup.system.allocate(setup.system.fine, 64);
    qword(place).store(fresh, SeqCst);
    assert_eq!(wait(done, 20_000), 0);
    assert_eq!(dwords(fresh, 1)[0].load(SeqCst), 77);
}

/// Run by the test below: a process that ends right after a launch. Its status is 40 and the calls of the handler until what was registered
/// before `hsa_init` is taken down.
#[test]
#[ignore = "it is the child of another test"]
#[expect(clippy::exit, reason = "a parent asks for the status")]
fn child_that_ends_right_after_a_launch() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" {
        safe fn atexit(function: extern "C" fn()) -> i32;
        safe fn _exit(status: i32) -> !;
    }
    unsafe extern "C" fn handler(_value: i64, _data: u64) -> bool {
        std::thread::sleep(Duration::from_millis(100));
        CALLS.fetch_add(1, SeqCst);
        false
    }
    extern "C" fn take_down() {
        _exit(40 + CALLS.load(SeqCst) as i32);
    }
    type Handler = unsafe extern "C" fn(i64, u64) -> bool;
    assert_eq!(atexit(take_down), 0);
    let setup = setup();
    let place = setup.system.allocate(setup.system.fine, 4 * 64);
    let (done, never) = (signal(1), signal(1));
    for watched in [done, never] {
        let status = call!(hsa_amd_signal_async_handler(
            watched => u64, 2 => u32, 1 => i64, handler => Handler, 0 => u64
        ));
        assert_eq!(status, 0);
    }
    setup
        .queue
        .dispatch(setup.kernel("scale"), 64, 64, setup.arguments(place, 64), done);
    std::process::exit(0);
}

#[test]
fn what_was_submitted_is_done_before_the_end_of_the_process_takes_down_what_handlers_need() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "runs::child_that_ends_right_after_a_launch",
            "--nocapture",
        ])
        .output()
        .unwrap();
    // One handler was called to its end. The other's signal never comes, and nobody waits for it.
    assert_eq!(output.status.code(), Some(41), "{output:?}");
}

/// Run by the test below, in a process with a limit.
#[test]
#[ignore = "it is the child of another test"]
fn child_with_an_endless_kernel() {
    end_with_the_status_of("meet", 1);
}

/// Runs a kernel of one workgroup, and ends the process with the status that the queue was told.
#[expect(clippy::exit, reason = "a parent asks for the status")]
fn end_with_the_status_of(kernel: &str, items: u32) {
    let setup = setup();
    let place = setup.system.allocate(setup.system.fine, 4 * 128);
    static TOLD: AtomicU32 = AtomicU32::new(0);
    let queue = setup.system.queue(&TOLD);
    let done = signal(1);
    queue.dispatch(
        setup.kernel(kernel),
        items,
        items,
        setup.arguments(place, 0),
        done,
    );
    assert_eq!(wait(done, 60_000), 0);
    std::process::exit(TOLD.load(SeqCst) as i32 & 0x7f);
}

#[test]
fn a_kernel_that_does_not_end_is_stopped_by_the_limits_of_the_environment() {
    for (variable, value, words) in [
        ("ROCM_SOFT_TIMEOUT", "0.3", "more than 300 ms"),
        (
            "ROCM_SOFT_MAX_INSTRUCTIONS",
            "20000",
            "executed 20000 instructions",
        ),
    ] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "runs::child_with_an_endless_kernel",
                "--nocapture",
            ])
            .env(variable, value)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0x16), "{text}");
        assert!(text.contains("kernel `meet`") && text.contains(words), "{text}");
    }
}

/// Run by the test below, in a process with the sanitizer.
#[test]
#[ignore = "it is the child of another test"]
fn child_with_a_race() {
    end_with_the_status_of("race", 128);
}

#[test]
fn the_sanitizer_finds_a_race_with_its_line_and_the_report_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = |sanitize: &str| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "runs::child_with_a_race", "--nocapture"])
            .env("ROCM_SANITIZE", sanitize)
            .env("ROCM_SOFT_REPORT", folder.path())
            .output()
            .unwrap();
        let mut report = String::new();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap().path();
            report += &std::fs::read_to_string(&file).unwrap();
            std::fs::remove_file(file).unwrap();
        }
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
            report,
        )
    };
    let (code, text, report) = run("1");
    // An exception, HSA's status 0x1016.
    assert_eq!(code, Some(0x16), "{text}");
    let line = SOURCE
        .lines()
        .position(|line| line.contains("127 - tid"))
        .unwrap();
    assert!(
        text.contains("software GPU: kernel `race`") && text.contains(".hip:"),
        "{line} {text}"
    );
    assert!(
        report.contains("\"findings\":1") && report.contains("kernel `race`"),
        "{report}"
    );
    let (code, text, report) = run("0");
    assert_eq!(code, Some(0), "{text}");
    assert!(
        report.contains("\"findings\":0") && report.contains("\"launches\":1"),
        "{report}"
    );
}
