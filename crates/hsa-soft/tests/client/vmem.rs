//! Virtual memory: addresses that are reserved, and memory that is mapped there.

use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::compile::compile;
use crate::library::{KERNEL_OBJECT, Queue, System, call, dwords, load, qword, signal, symbol, system, wait};

const SOURCE: &str = "KERNEL count(unsigned* x) { x[bid(0) * 64 + tid(0)] += 1 + bid(0) * 64 + tid(0); }";
static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| compile("hsa-soft-vmem", "gfx1100", SOURCE, &[]));

const PAGE: usize = 4096;
const INVALID_ARGUMENT: u32 = 0x1001;
const INVALID_ALLOCATION: u32 = 0x1003;
const MEMORY_FAULT: u32 = 43;

fn reserve(bytes: usize, align: u64) -> Result<u64, u32> {
    let mut address = 0;
    match call!(hsa_amd_vmem_address_reserve_align(
        &mut address => *mut u64, bytes => usize, 0 => u64, align => u64, 0 => u64
    )) {
        0 => Ok(address),
        status => Err(status),
    }
}

fn create(pool: u64, bytes: usize) -> Result<u64, u32> {
    let mut handle = 0;
    match call!(hsa_amd_vmem_handle_create(
        pool => u64, bytes => usize, 1 => u32, 0 => u64, &mut handle => *mut u64
    )) {
        0 => Ok(handle),
        status => Err(status),
    }
}

fn map(address: u64, bytes: usize, offset: usize, handle: u64) -> u32 {
    call!(hsa_amd_vmem_map(address => u64, bytes => usize, offset => usize, handle => u64, 0 => u64))
}

fn unmap(address: u64, bytes: usize) -> u32 {
    call!(hsa_amd_vmem_unmap(address => u64, bytes => usize))
}

fn allow(address: u64, bytes: usize, agent: u64, access: u32) -> u32 {
    let list = [u64::from(access), agent];
    call!(hsa_amd_vmem_set_access(address => u64, bytes => usize, list.as_ptr() => *const u64, 1 => usize))
}

fn unreserve(address: u64, bytes: usize) -> u32 {
    call!(hsa_amd_vmem_address_free(address => u64, bytes => usize))
}

fn release(handle: u64) -> u32 {
    call!(hsa_amd_vmem_handle_release(handle => u64))
}

fn available(system: &System) -> u64 {
    let mut bytes = 0_u64;
    let status = call!(hsa_agent_get_info(system.card => u64, 0xa015 => u32, &mut bytes => *mut u64));
    assert_eq!(status, 0);
    bytes
}

/// Runs the kernel on some pages; what its queue was told.
fn count(system: &System, kernel: u64, address: u64, pages: usize) -> u32 {
    static TOLD: AtomicU32 = AtomicU32::new(0);
    TOLD.store(0, SeqCst);
    let queue: Queue = system.queue(&TOLD);
    let arguments = system.allocate(system.fine, 256);
    qword(arguments).store(address, SeqCst);
    let done = signal(1);
    queue.dispatch(kernel, (pages * PAGE / 4) as u32, 64, arguments, done);
    assert_eq!(wait(done, 20_000), 0);
    TOLD.load(SeqCst)
}

/// Run by the test below, in a process of its own: it looks at how much memory is free.
#[test]
#[ignore = "it is the child of another test"]
fn child_with_virtual_memory() {
    let system = system();
    let executable = load(&system, &OBJECT).unwrap();
    let kernel = symbol(executable, "count.kd", KERNEL_OBJECT);
    let count = |system: &System, address: u64, pages: usize| count(system, kernel, address, pages);
    let before = available(&system);
    let place = reserve(8 * PAGE, 1 << 20).unwrap();
    assert_eq!(place % (1 << 20), 0);
    let (first, second) = (
        create(system.device, 2 * PAGE).unwrap(),
        create(system.device, PAGE).unwrap(),
    );
    assert_eq!(before - available(&system), 3 * PAGE as u64);

    // Two memories side by side are one for kernels and copies, once somebody has access.
    assert_eq!(count(&system, place, 1), MEMORY_FAULT, "nothing is mapped");
    assert_eq!(
        (
            map(place, 2 * PAGE, 0, first),
            map(place + 2 * PAGE as u64, PAGE, 0, second)
        ),
        (0, 0)
    );
    assert_eq!(count(&system, place, 1), MEMORY_FAULT, "nobody has access");
    let mut access = 9_u32;
    let asked = |at: u64, access: &mut u32| call!(hsa_amd_vmem_get_access(at => u64, access => *mut u32, system.card => u64));
    assert_eq!(asked(place, &mut access), INVALID_ALLOCATION);
    assert_eq!(allow(place, 3 * PAGE, system.card, 3), 0);
    assert_eq!((asked(place + 2 * PAGE as u64, &mut access), access), (0, 3));
    assert_eq!(count(&system, place, 3), 0);
    let back = system.allocate(system.fine, 3 * PAGE);
    let copied = call!(hsa_memory_copy(back => u64, place => u64, 3 * PAGE => usize));
    assert_eq!(copied, 0);
    let numbers = |address: u64, count: usize| -> Vec<u32> {
        dwords(address, count)
            .iter()
            .map(|word| word.load(SeqCst))
            .collect()
    };
    assert_eq!(
        numbers(back, 3 * PAGE / 4),
        (1..=3 * PAGE as u32 / 4).collect::<Vec<_>>()
    );
    assert_eq!(
        count(&system, place, 4),
        MEMORY_FAULT,
        "the fourth page is nobody's"
    );

    // The same memory at a second place, from its second page on.
    let (other, at) = (reserve(PAGE, 0).unwrap(), PAGE / 4);
    assert_eq!(
        (map(other, PAGE, PAGE, first), allow(other, PAGE, system.card, 3)),
        (0, 0)
    );
    let was = numbers(other, at);
    assert_eq!(was, numbers(place + PAGE as u64, at));
    assert_eq!(count(&system, other, 1), 0);
    let expected: Vec<u32> = (1..).zip(&was).map(|(i, was)| was + i).collect();
    assert_eq!(numbers(place + PAGE as u64, at), expected);

    // What is mapped no more is nobody's, and the content stays with the handle.
    assert_eq!(unmap(place, 3 * PAGE), 0);
    assert_eq!(count(&system, place, 1), MEMORY_FAULT);
    assert_eq!(
        (map(place, PAGE, PAGE, first), allow(place, PAGE, system.card, 3)),
        (0, 0)
    );
    assert_eq!(numbers(place, at), expected);
    assert_eq!(allow(place, PAGE, system.card, 0), 0);
    assert_eq!(count(&system, place, 1), MEMORY_FAULT, "access was taken away");

    // A handle is kept by its uses and by its places.
    let mut same = 0_u64;
    let retained = call!(hsa_amd_vmem_retain_alloc_handle(&mut same => *mut u64, other + 8 => u64));
    assert_eq!((retained, same), (0, first));
    let (mut pool, mut kind) = (0_u64, 0_u32);
    let told = call!(hsa_amd_vmem_get_alloc_properties_from_handle(
        first => u64, &mut pool => *mut u64, &mut kind => *mut u32
    ));
    assert_eq!((told, pool, kind), (0, system.device, 1));
    assert_eq!([release(first), release(first), release(second)], [0; 3]);
    assert_eq!(release(first), INVALID_ALLOCATION);
    assert_eq!(before - available(&system), 2 * PAGE as u64);
    assert_eq!(unreserve(place, 8 * PAGE), INVALID_ARGUMENT, "memory is mapped");
    assert_eq!((unmap(place, PAGE), unmap(other, PAGE)), (0, 0));
    assert_eq!(available(&system), before);
    assert_eq!((unreserve(place, 8 * PAGE), unreserve(other, PAGE)), (0, 0));
}

#[test]
fn memory_is_mapped_where_addresses_were_reserved() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "vmem::child_with_virtual_memory",
            "--nocapture",
        ])
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{text:?}");
}

#[test]
fn ranges_and_handles_that_cannot_be_are_refused() {
    let system = system();
    assert_eq!(reserve(0, 0), Err(INVALID_ARGUMENT));
    assert_eq!(reserve(100, 0), Err(INVALID_ARGUMENT));
    assert_eq!(reserve(PAGE, 3 << 12), Err(INVALID_ARGUMENT));
    assert_eq!(reserve(PAGE, 1 << 63), Err(0x1008));
    assert_eq!(reserve(usize::MAX & !(PAGE - 1), 0), Err(0x1008));
    assert_eq!(create(system.device, 100), Err(INVALID_ARGUMENT));
    assert_eq!(create(system.device, 17 << 30), Err(0x1008));
    assert_eq!(create(7, PAGE), Err(40));
    let (place, handle) = (
        reserve(4 * PAGE, 0).unwrap(),
        create(system.fine, 2 * PAGE).unwrap(),
    );
    let pages = |count: usize| place + (count * PAGE) as u64;
    for (address, bytes, offset, memory) in [
        (place, 2 * PAGE, 0, handle + 1),
        (place, 3 * PAGE, 0, handle),
        (place, 2 * PAGE, PAGE, handle),
        (place, PAGE, usize::MAX & !(PAGE - 1), handle),
        (place, PAGE, 8, handle),
        (place, 0, 0, handle),
        (place + 8, PAGE, 0, handle),
        (pages(3), 2 * PAGE, 0, handle),
        (pages(4), PAGE, 0, handle),
        (0, PAGE, 0, handle),
        (system.allocate(system.fine, PAGE), PAGE, 0, handle),
    ] {
        let status = map(address, bytes, offset, memory);
        assert_eq!(status, INVALID_ARGUMENT, "{address:#x} {bytes} {offset} {memory}");
    }
    assert_eq!(map(pages(1), 2 * PAGE, 0, handle), 0);
    assert_eq!(
        map(pages(2), PAGE, 0, handle),
        INVALID_ARGUMENT,
        "memory is mapped there"
    );
    assert_eq!(
        call!(hsa_amd_memory_pool_free(pages(1) => u64)),
        INVALID_ALLOCATION
    );
    for refused in [
        unmap(place, PAGE),
        unmap(pages(1), PAGE),
        unmap(place, 3 * PAGE),
        unmap(u64::MAX, PAGE),
    ] {
        assert_eq!(refused, INVALID_ARGUMENT);
    }
    assert_eq!(allow(place, 4 * PAGE, system.card, 3), INVALID_ARGUMENT);
    assert_eq!(allow(pages(1), 2 * PAGE, system.card, 4), INVALID_ARGUMENT);
    assert_eq!(allow(pages(1), 2 * PAGE, 12345, 3), 0x1004);
    assert_eq!(unreserve(place, PAGE), INVALID_ARGUMENT);
    assert_eq!(unreserve(pages(1), PAGE), INVALID_ALLOCATION);
    assert_eq!(
        [
            unmap(pages(1), 2 * PAGE),
            unreserve(place, 4 * PAGE),
            release(handle)
        ],
        [0; 3]
    );
    assert_eq!(unreserve(place, 4 * PAGE), INVALID_ALLOCATION);
}
