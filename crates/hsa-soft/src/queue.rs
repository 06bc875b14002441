//! Queues: a ring of packets in memory that the program writes, and a thread that carries them out in order.
//!
//! Sources: HSA Runtime Specification, "Architected Queuing Language packets"; the layout of `amd_queue_t`, which AMD's HIP
//! runtime and kernels look into.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::signal::{self, Condition, Signal};
use soft_runtime::event;
use soft_runtime::host::{self, PAGE};
use soft_runtime::launch;
use soft_runtime::pools::Pool;
use soft_runtime::report;
use soft_runtime::runtime::{self, Runtime, now};
use soft_runtime::status::{Answer, Status};

/// Bytes of a packet.
pub(crate) const PACKET: u64 = 64;
/// Packets that a ring may have.
pub(crate) const MOST: u32 = 1 << 17;
/// Queues that a process may have.
const QUEUES: usize = 1024;
/// How often a queue without work looks at its ring; its doorbell is a call, which wakes it at once.
const IDLE: Duration = Duration::from_millis(100);

/// Fields of `amd_queue_t`.
const WRITE_INDEX: u64 = 56;
const READ_INDEX: u64 = 128;

/// What a queue's owner is told when a packet fails.
pub(crate) type Tell = Box<dyn Fn(Status) + Send + Sync>;

/// A queue.
pub(crate) struct Queue {
    /// Address of its `hsa_queue_t`.
    address: u64,
    size: u32,
    doorbell: Signal,
    stop: AtomicBool,
    /// Whether a packet is being carried out or completed.
    works: AtomicBool,
    on_error: Option<Tell>,
}

static QUEUES_BY_ADDRESS: Mutex<BTreeMap<u64, Arc<Queue>>> = Mutex::new(BTreeMap::new());

fn queues() -> MutexGuard<'static, BTreeMap<u64, Arc<Queue>>> {
    // One insertion or removal at a time: a panic cannot leave it half done.
    QUEUES_BY_ADDRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn word(address: u64) -> Answer<&'static AtomicU32> {
    let arena = host::arena().ok_or(Status::Error)?;
    arena.word(address).ok_or(Status::InvalidQueue)
}

fn wide(address: u64) -> Answer<&'static AtomicU64> {
    let arena = host::arena().ok_or(Status::Error)?;
    arena.wide(address).ok_or(Status::InvalidQueue)
}

/// Makes a queue of `size` packets and starts its thread; gives the address of its `hsa_queue_t`.
pub(crate) fn create(runtime: &'static Runtime, size: u32, kind: u32, on_error: Option<Tell>) -> Answer<u64> {
    if !size.is_power_of_two() || size > MOST || kind > 2 {
        return Err(Status::InvalidQueueCreation);
    }
    if queues().len() >= QUEUES {
        return Err(Status::OutOfResources);
    }
    let bytes = PAGE + PACKET * u64::from(size);
    let address = runtime.pools().allocate(Pool::HostFine, bytes)?;
    let ring = address + PAGE;
    for index in 0..u64::from(size) {
        word(ring + PACKET * index)?.store(INVALID, SeqCst);
    }
    let doorbell = Signal::make(runtime, 0, true)?;
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    word(address)?.store(kind, SeqCst);
    // It takes kernel dispatches, and no agent dispatches.
    word(address + 4)?.store(1, SeqCst);
    wide(address + 8)?.store(ring, SeqCst);
    wide(address + 16)?.store(doorbell.handle(), SeqCst);
    word(address + 24)?.store(size, SeqCst);
    wide(address + 32)?.store(NUMBER.fetch_add(1, SeqCst), SeqCst);
    let queue = Arc::new(Queue {
        address,
        size,
        doorbell,
        stop: AtomicBool::new(false),
        works: AtomicBool::new(false),
        on_error,
    });
    queues().insert(address, Arc::clone(&queue));
    let worker = std::thread::Builder::new().name("software GPU queue".to_owned());
    let started = worker.spawn(move || queue.work(runtime));
    match started {
        Ok(_) => Ok(address),
        Err(_) => {
            queues().remove(&address);
            Err(Status::OutOfResources)
        }
    }
}

/// The queue at an address.
pub(crate) fn known(address: u64) -> Answer<Arc<Queue>> {
    queues().get(&address).cloned().ok_or(Status::InvalidQueue)
}

/// Ends a queue. The packet that is carried out is finished; its memory is freed once its thread has ended.
pub(crate) fn destroy(address: u64) -> Answer<()> {
    let queue = queues().remove(&address).ok_or(Status::InvalidQueue)?;
    queue.stop.store(true, SeqCst);
    queue.doorbell.destroy();
    event::tell();
    Ok(())
}

/// Whether no queue has a packet to carry out.
pub(crate) fn are_idle() -> bool {
    queues().values().all(|queue| queue.is_idle())
}

/// The index of a queue that is read or written next.
pub(crate) fn index(address: u64, write: bool) -> Answer<&'static AtomicU64> {
    wide(address.wrapping_add(if write { WRITE_INDEX } else { READ_INDEX }))
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Ok(runtime) = runtime::get() {
            // It is this queue's alone; nothing is left to be told.
            runtime.pools().free(self.address).ok();
        }
    }
}

const INVALID: u32 = 1;

/// A packet that cannot be carried out.
fn malformed(what: &str) -> Status {
    report::finding(&format!("a packet of a queue is malformed: {what}"));
    Status::InvalidPacketFormat
}

fn not_a_signal(handle: u64) -> Status {
    malformed(&format!("a barrier waits for {handle:#x}, which is not a signal"))
}

impl Queue {
    fn work(&self, runtime: &'static Runtime) {
        let mut failed = false;
        while let Some(packet) = self.next() {
            let start = now();
            let carry_out = AssertUnwindSafe(|| self.carry_out(runtime, packet, failed));
            // Whoever waits for the packet must not wait for ever.
            let done = catch_unwind(carry_out).unwrap_or_else(|_| {
                report::finding("a bug of the software GPU: it panicked");
                Err(Status::Error)
            });
            if let Err(status) = done
                && !failed
            {
                failed = true;
                if let Some(tell) = &self.on_error {
                    tell(status);
                }
            }
            self.finish(packet, start);
            self.works.store(false, SeqCst);
            event::tell();
        }
    }

    /// Address and header of the place that is read next.
    fn place(&self) -> Answer<(u64, &'static AtomicU32)> {
        let read = wide(self.address + READ_INDEX)?.load(SeqCst);
        let packet = self.address + PAGE + PACKET * (read % u64::from(self.size));
        Ok((packet, word(packet)?))
    }

    /// Whether no packet is written that is not completed.
    fn is_idle(&self) -> bool {
        let is_written = |(_, header): (u64, &AtomicU32)| header.load(SeqCst) & 0xff != INVALID;
        // Asked before and after: a packet that is begun in between was written before.
        !self.works.load(SeqCst) && !self.place().is_ok_and(is_written) && !self.works.load(SeqCst)
    }

    /// Address of the next packet, once the program wrote it; `None` when the queue ends.
    fn next(&self) -> Option<u64> {
        let (packet, header) = self.place().ok()?;
        event::wait(None, IDLE, || {
            if self.stop.load(SeqCst) {
                return Some(None);
            }
            let is_written = header.load(SeqCst) & 0xff != INVALID;
            is_written.then(|| {
                self.works.store(true, SeqCst);
                Some(packet)
            })
        })
        .flatten()
    }

    /// Does what a packet says. After a failure packets are only completed, so that nobody waits for ever.
    fn carry_out(&self, runtime: &'static Runtime, packet: u64, failed: bool) -> Answer<()> {
        if failed {
            return Ok(());
        }
        let header = word(packet)?.load(SeqCst);
        match header & 0xff {
            2 => launch::packet(runtime, packet),
            3 => self.barrier(packet, signal::all_zero),
            5 => self.barrier(packet, |signals| {
                signals.is_empty() || signals.iter().any(|signal| signal.load() == 0)
            }),
            // AMD's packet that waits for a value, its only vendor packet for GPUs.
            0 if header >> 16 & 0xff == 2 => self.barrier_value(packet),
            kind => Err(malformed(&format!(
                "type {kind}, which is not a kernel dispatch or a barrier"
            ))),
        }
    }

    fn barrier(&self, packet: u64, met: impl Fn(&[Signal]) -> bool) -> Answer<()> {
        let mut signals = Vec::new();
        for index in 0..5 {
            let handle = wide(packet + 8 + 8 * index)?.load(SeqCst);
            let signal = Signal::optional(handle);
            signals.extend(signal.map_err(|_| not_a_signal(handle))?);
        }
        self.until(|| met(&signals));
        Ok(())
    }

    fn barrier_value(&self, packet: u64) -> Answer<()> {
        let field = |offset: u64| wide(packet + offset).map(|field| field.load(SeqCst));
        let handle = field(8)?;
        // AMD's HIP runtime writes one without a signal, for what waits for nothing: on gfx90a and gfx942 these are its markers.
        let Some(signal) = Signal::optional(handle).map_err(|_| not_a_signal(handle))? else {
            return Ok(());
        };
        let (value, mask) = (field(16)?.cast_signed(), field(24)?.cast_signed());
        let condition = Condition::new(word(packet + 32)?.load(SeqCst), value);
        let condition = condition.map_err(|_| malformed("a barrier has an unknown condition"))?;
        self.until(|| condition.holds(signal.load() & mask));
        Ok(())
    }

    /// Waits for a condition, or for the queue's end.
    fn until(&self, met: impl Fn() -> bool) {
        event::wait(None, event::LOOK, || {
            (met() || self.stop.load(SeqCst)).then_some(())
        });
    }

    /// Completes a packet: its place is free, the index moves on, and whoever waits is told.
    fn finish(&self, packet: u64, start: u64) {
        let handle = wide(packet + 56).map_or(0, |field| field.load(SeqCst));
        let signal = Signal::optional(handle);
        if let Ok(header) = word(packet) {
            header.store(INVALID, SeqCst);
        }
        if let Ok(read) = wide(self.address + READ_INDEX) {
            read.fetch_add(1, SeqCst);
        }
        match signal {
            Ok(Some(signal)) => signal.complete(start, now()),
            Ok(None) => event::tell(),
            // AMD's HIP runtime 7.2 destroys a stream's signal while its last barrier is in the queue.
            Err(_) if Signal::has_ended(handle) => event::tell(),
            Err(_) => drop(malformed("its completion signal is not a signal")),
        }
    }
}
