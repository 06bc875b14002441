//! What a program writes into a queue: barriers, and packets of other types, whose signals are signals, were signals, or are any number. The
//! queue carries them out or tells its owner of one that is malformed, and ends when it is told to, whatever it waits for.
#![no_main]

use core::ffi::c_void;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

// Its functions are C's.
use hsa_runtime64 as _;
use libfuzzer_sys::fuzz_target;

type Visit = unsafe extern "C" fn(agent: u64, data: *mut c_void) -> u32;
type OnError = unsafe extern "C" fn(status: u32, queue: u64, data: *mut c_void);

unsafe extern "C" {
    fn hsa_init() -> u32;
    fn hsa_iterate_agents(visit: Visit, data: *mut c_void) -> u32;
    fn hsa_agent_get_info(agent: u64, attribute: u32, value: *mut c_void) -> u32;
    fn hsa_queue_create(
        agent: u64,
        size: u32,
        kind: u32,
        callback: Option<OnError>,
        data: *mut c_void,
        private: u32,
        group: u32,
        queue: *mut u64,
    ) -> u32;
    fn hsa_queue_destroy(queue: u64) -> u32;
    fn hsa_queue_add_write_index_relaxed(queue: u64, value: u64) -> u64;
    fn hsa_queue_load_read_index_relaxed(queue: u64) -> u64;
    fn hsa_amd_pointer_info(
        address: u64,
        info: *mut u64,
        allocate: *const c_void,
        count: *mut u32,
        agents: *const c_void,
    ) -> u32;
    fn hsa_signal_create(value: i64, count: u32, agents: *const u64, signal: *mut u64) -> u32;
    fn hsa_signal_destroy(signal: u64) -> u32;
    fn hsa_signal_store_relaxed(signal: u64, value: i64);
}

/// Packets of a queue, and bytes of one.
const PACKETS: u64 = 16;
const PACKET: u64 = 64;
/// Bytes of the input for a packet: its type, the kind of each of its handles, a number.
const PART: usize = 16;
/// How long a queue may take to end.
const LIMIT: Duration = Duration::from_secs(5);

struct Setup {
    card: u64,
    signals: [u64; 4],
    ended: u64,
}

unsafe extern "C" fn keep_card(agent: u64, data: *mut c_void) -> u32 {
    let mut kind = 0_u32;
    // SAFETY: the attribute 17, of a device's type, is a number of 32 bits; `data` is the caller's number.
    unsafe {
        hsa_agent_get_info(agent, 17, (&raw mut kind).cast());
        if kind == 1 {
            *data.cast::<u64>() = agent;
        }
    }
    0
}

static SETUP: LazyLock<Setup> = LazyLock::new(|| {
    // SAFETY: places are locals.
    unsafe {
        assert_eq!(hsa_init(), 0);
        let mut card = 0_u64;
        assert_eq!(hsa_iterate_agents(keep_card, (&raw mut card).cast()), 0);
        let signal = || {
            let mut signal = 0;
            assert_eq!(hsa_signal_create(1, 0, std::ptr::null(), &mut signal), 0);
            signal
        };
        let setup = Setup {
            card,
            signals: [(); 4].map(|()| signal()),
            ended: signal(),
        };
        assert_eq!(hsa_signal_destroy(setup.ended), 0);
        setup
    }
});

/// A qword of a queue or of one of its packets.
fn qword(address: u64) -> &'static AtomicU64 {
    // SAFETY: queues are memory of this process, which stays.
    unsafe { &*std::ptr::with_exposed_provenance(address as usize) }
}

impl Setup {
    /// A handle of a kind: none, a signal, one that was one, something near by, or any number.
    fn handle(&self, kind: u8, number: u64) -> u64 {
        let signal = self.signals[usize::from(kind >> 3) % self.signals.len()];
        match kind & 7 {
            0 | 1 => 0,
            2 | 3 => signal,
            4 => self.ended,
            5 => signal.wrapping_add(number & 0xfff),
            6 => number,
            _ => signal ^ number,
        }
    }

    /// Writes a packet, its header last.
    fn write(&self, at: u64, part: &[u8; PART]) {
        let number = part
            .iter()
            .rev()
            .take(8)
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        for index in 0..6 {
            let value = self.handle(part[1 + index], number.rotate_left(8 * index as u32));
            // A kernel object where a dispatch has one, which is a handle of no kernel.
            qword(at + 8 + 8 * index as u64).store(value, SeqCst);
        }
        qword(at + 56).store(self.handle(part[7], number), SeqCst);
        if part[0] & 7 == 4 {
            // What a barrier waits for, of which there are four, and others.
            qword(at + 32).store(u64::from(part[5] % 6), SeqCst);
        }
        let header = match part[0] & 7 {
            0..=2 => 3,
            3 => 5,
            4 | 5 => 2 << 16,
            6 => 2,
            _ => u32::from(part[0] >> 3) | u32::from(part[1]) << 16,
        };
        // SAFETY: the first dword of a packet is its header.
        let first: &AtomicU32 = unsafe { &*std::ptr::with_exposed_provenance(at as usize) };
        first.store(header, SeqCst);
    }
}

/// Whether an address is of an allocation: a structure of 56 bytes says so first, and then what it is.
fn is_allocated(address: u64) -> bool {
    let mut info = [56_u64, 0, 0, 0, 0, 0, 0];
    // SAFETY: the structure is as long as it says; nothing else is asked for.
    let status = unsafe {
        hsa_amd_pointer_info(
            address,
            info.as_mut_ptr(),
            std::ptr::null(),
            std::ptr::null_mut(),
            std::ptr::null(),
        )
    };
    assert_eq!(status, 0);
    info[0] >> 32 == 1
}

unsafe extern "C" fn told(_status: u32, _queue: u64, _data: *mut c_void) {}

fuzz_target!(|input: &[u8]| {
    let setup = &*SETUP;
    let parts: Vec<&[u8; PART]> = input.as_chunks().0.iter().take(PACKETS as usize).collect();
    if parts.is_empty() {
        return;
    }
    // SAFETY: the queue is this function's.
    unsafe {
        let mut queue = 0;
        let status = hsa_queue_create(
            setup.card,
            PACKETS as u32,
            0,
            Some(told),
            std::ptr::null_mut(),
            0,
            0,
            &mut queue,
        );
        assert_eq!(status, 0, "a queue");
        let (ring, doorbell) = (qword(queue + 8).load(SeqCst), qword(queue + 16).load(SeqCst));
        setup
            .signals
            .iter()
            .for_each(|signal| hsa_signal_store_relaxed(*signal, 1));
        for part in &parts {
            let index = hsa_queue_add_write_index_relaxed(queue, 1);
            setup.write(ring + PACKET * (index % PACKETS), part);
            hsa_signal_store_relaxed(doorbell, index as i64);
        }
        setup
            .signals
            .iter()
            .for_each(|signal| hsa_signal_store_relaxed(*signal, 0));
        // The queue waits at a header of type 1, which says that the packet is not complete, and for a value that no signal gets. So the
        // test waits for 300 us at most.
        let start = Instant::now();
        while hsa_queue_load_read_index_relaxed(queue) < parts.len() as u64
            && start.elapsed() < Duration::from_micros(300)
        {
            std::hint::spin_loop();
        }
        assert!(is_allocated(queue));
        assert_eq!(hsa_queue_destroy(queue), 0);
        // Its thread frees it.
        while is_allocated(queue) {
            assert!(start.elapsed() < LIMIT, "the queue does not end");
            std::thread::yield_now();
        }
    }
});
