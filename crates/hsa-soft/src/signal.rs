//! Signals: 64 bytes in the arena, laid out as AMD's runtimes and kernels know them (`amd_signal_t`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use soft_runtime::event;
use soft_runtime::host::{self, Arena};
use soft_runtime::pools::Pool;
use soft_runtime::runtime::Runtime;
use soft_runtime::status::{Answer, Status};

/// Bytes of a signal.
const SIZE: u64 = 64;
/// Signals that are made at once.
const CHUNK: u64 = 1024;
const KIND_USER: u64 = 1;
/// Of a signal that was destroyed. AMD's headers have no such number.
const KIND_ENDED: u64 = 2;
const KIND_DOORBELL: u64 = u64::MAX;
const VALUE: u64 = 8;
const START: u64 = 32;
const END: u64 = 40;

/// Addresses of signals that are not in use.
static FREE: Mutex<VecDeque<u64>> = Mutex::new(VecDeque::new());

/// A signal that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    address: u64,
}

/// What a wait compares with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    code: u32,
    value: i64,
}

impl Condition {
    /// Of HSA's number for a comparison.
    pub(crate) fn new(code: u32, value: i64) -> Answer<Condition> {
        match code {
            0..=3 => Ok(Condition { code, value }),
            _ => Err(Status::InvalidArgument),
        }
    }

    pub(crate) fn holds(self, value: i64) -> bool {
        match self.code {
            0 => value == self.value,
            1 => value != self.value,
            2 => value < self.value,
            _ => value >= self.value,
        }
    }
}

/// The qword of a field; of an address outside of the arena some other qword that nobody reads.
fn field(address: u64) -> &'static AtomicU64 {
    static NOWHERE: AtomicU64 = AtomicU64::new(0);
    host::arena()
        .and_then(|arena| arena.wide(address))
        .unwrap_or(&NOWHERE)
}

impl Signal {
    /// A new signal of the process.
    pub(crate) fn make(runtime: &Runtime, value: i64, doorbell: bool) -> Answer<Signal> {
        Signal::new(value, doorbell, |bytes| {
            runtime.pools().allocate(Pool::HostFine, bytes)
        })
    }

    /// A new signal. `more` makes room for signals, [`CHUNK`] times 64 bytes, where all are in use.
    fn new(value: i64, doorbell: bool, more: impl FnOnce(u64) -> Answer<u64>) -> Answer<Signal> {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            let first = more(CHUNK * SIZE)?;
            free.extend((0..CHUNK).rev().map(|index| first + index * SIZE));
        }
        let address = free.pop_back().ok_or(Status::OutOfResources)?;
        for offset in (8..SIZE).step_by(8) {
            field(address + offset).store(0, SeqCst);
        }
        let signal = Signal { address };
        field(address + VALUE).store(value.cast_unsigned(), SeqCst);
        field(address).store(if doorbell { KIND_DOORBELL } else { KIND_USER }, SeqCst);
        Ok(signal)
    }

    /// What lies at a handle where a signal has its kind.
    fn kind(handle: u64) -> Option<u64> {
        let arena =
            host::arena().filter(|arena: &Arena| handle.is_multiple_of(SIZE) && arena.holds(handle, SIZE))?;
        Some(arena.wide(handle)?.load(SeqCst))
    }

    /// Whether a handle was a signal's that the program destroyed since.
    pub(crate) fn has_ended(handle: u64) -> bool {
        Signal::kind(handle) == Some(KIND_ENDED)
    }

    /// The signal of a handle.
    pub(crate) fn of(handle: u64) -> Answer<Signal> {
        let known = matches!(Signal::kind(handle), Some(KIND_USER | KIND_DOORBELL));
        match known {
            true => Ok(Signal { address: handle }),
            false => Err(Status::InvalidSignal),
        }
    }

    /// The same, where a handle of 0 means none.
    pub(crate) fn optional(handle: u64) -> Answer<Option<Signal>> {
        match handle {
            0 => Ok(None),
            _ => Signal::of(handle).map(Some),
        }
    }

    pub(crate) fn handle(self) -> u64 {
        self.address
    }

    /// Address of its value.
    pub(crate) fn value_address(self) -> u64 {
        self.address + VALUE
    }

    /// Ends the signal: its handle is refused from now on.
    pub(crate) fn destroy(self) {
        field(self.address).store(KIND_ENDED, SeqCst);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        // The oldest is used last: a handle that is used too late is found for a while.
        free.push_front(self.address);
    }

    pub(crate) fn load(self) -> i64 {
        field(self.address + VALUE).load(SeqCst).cast_signed()
    }

    /// A new value, of which nobody who waits is told.
    pub(crate) fn store_silently(self, value: i64) {
        field(self.address + VALUE).store(value.cast_unsigned(), SeqCst);
    }

    pub(crate) fn store(self, value: i64) {
        self.store_silently(value);
        event::tell();
    }

    pub(crate) fn add(self, value: i64) {
        field(self.address + VALUE).fetch_add(value.cast_unsigned(), SeqCst);
        event::tell();
    }

    pub(crate) fn subtract(self, value: i64) {
        self.add(value.wrapping_neg());
    }

    pub(crate) fn and(self, value: i64) {
        field(self.address + VALUE).fetch_and(value.cast_unsigned(), SeqCst);
        event::tell();
    }

    pub(crate) fn or(self, value: i64) {
        field(self.address + VALUE).fetch_or(value.cast_unsigned(), SeqCst);
        event::tell();
    }

    pub(crate) fn xor(self, value: i64) {
        field(self.address + VALUE).fetch_xor(value.cast_unsigned(), SeqCst);
        event::tell();
    }

    /// A new value; gives the old one.
    pub(crate) fn exchange(self, value: i64) -> i64 {
        let old = field(self.address + VALUE).swap(value.cast_unsigned(), SeqCst);
        event::tell();
        old.cast_signed()
    }

    /// A new value where the old one is `expected`; gives the old one.
    pub(crate) fn compare(self, expected: i64, value: i64) -> i64 {
        let [expected, value] = [expected, value].map(i64::cast_unsigned);
        let old = field(self.address + VALUE).compare_exchange(expected, value, SeqCst, SeqCst);
        event::tell();
        old.unwrap_or_else(|old| old).cast_signed()
    }

    /// What the signal stands for is done: it began and ended at these times in nanoseconds.
    pub(crate) fn complete(self, start: u64, end: u64) {
        field(self.address + START).store(start, SeqCst);
        field(self.address + END).store(end, SeqCst);
        self.add(-1);
    }

    /// When what it stands for began and ended.
    pub(crate) fn times(self) -> [u64; 2] {
        [START, END].map(|offset| field(self.address + offset).load(SeqCst))
    }

    /// Waits until the value meets a condition, for `limit` at most; gives the value that did, or the last one.
    pub(crate) fn wait(self, condition: Condition, limit: Option<Duration>) -> i64 {
        let met = || Some(self.load()).filter(|value| condition.holds(*value));
        event::wait(limit, event::LOOK, met).unwrap_or_else(|| self.load())
    }
}

/// Whether all of some signals are 0, as copies and barriers wait for.
pub(crate) fn all_zero(signals: &[Signal]) -> bool {
    signals.iter().all(|signal| signal.load() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_was_destroyed_is_none_any_more_but_was_one() {
        let more = |_| Ok(host::arena().unwrap().base().next_multiple_of(SIZE));
        let signal = Signal::new(7, false, more).unwrap();
        assert_eq!(Signal::of(signal.handle()), Ok(signal));
        signal.destroy();
        assert_eq!(Signal::of(signal.handle()), Err(Status::InvalidSignal));
        assert!(Signal::has_ended(signal.handle()));
        for never in [0, 8, signal.handle() + 1, u64::MAX] {
            assert!(!Signal::has_ended(never), "{never:#x}");
        }
    }
}
