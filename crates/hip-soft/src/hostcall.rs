//! What running kernels ask of the host: text that they print, memory for their `malloc`, calls of host functions.
//!
//! A wave takes a packet off one stack, fills it, puts it on another and waits until it is answered. Sources: AMD's device
//! libraries, `ockl/src/hostcall_impl.cl` and `services.cl`, for the layout and the numbers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use gfx_emu::ArgKind;
use rocm_rs::hip::bindings as hip;
use soft_runtime::pools::Pool;
use soft_runtime::runtime::Runtime;
use soft_runtime::{host, report};

use crate::abi;
use crate::error::{self, Result};

/// Packets there are; the first is used like the others.
const PACKETS: u64 = 64;
/// A stack's entry is a packet's number and, above it, a counter that tells its uses apart.
const INDEX_MASK: u64 = 127;
/// Bytes of a packet's header, and of what its 64 lanes say.
const HEADER: u64 = 24;
const PAYLOAD: u64 = 64 * LANE;
const LANE: u64 = 64;
/// Where the parts of the buffer are.
const SIGNAL: u64 = 64;
const HEADERS: u64 = 128;
const PAYLOADS: u64 = 4096;
/// Bytes of the allocator of device libraries. All zero, it has no memory yet and asks for it.
const HEAP: u64 = 128 << 10;
/// Between two looks for packets while a kernel runs.
const LOOK: Duration = Duration::from_micros(50);
/// A message may have so many numbers.
const LONGEST: usize = 1 << 20;

/// Buffers and heaps by card.
static BUFFERS: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());
static HEAPS: Mutex<BTreeMap<usize, u64>> = Mutex::new(BTreeMap::new());
/// Kernels that run and may ask.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static STARTED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

/// A kernel that may ask runs as long as this is there.
pub(crate) struct Asking(());

impl Asking {
    pub(crate) fn begin() -> Asking {
        RUNNING.fetch_add(1, SeqCst);
        // The lock keeps the service from falling asleep between its look and this.
        drop(STARTED.0.lock().unwrap_or_else(PoisonError::into_inner));
        STARTED.1.notify_all();
        Asking(())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, SeqCst);
    }
}

/// The value of a hidden argument that is a service of the host; `None` for another.
pub(crate) fn argument(runtime: &'static Runtime, card: usize, kind: &ArgKind) -> Result<Option<u64>> {
    match kind {
        ArgKind::HiddenOther(name) if name == "hidden_hostcall_buffer" => {
            of_card(&BUFFERS, card, || buffer(runtime, card)).map(Some)
        }
        ArgKind::HiddenOther(name) if name == "hidden_heap_v1" => {
            of_card(&HEAPS, card, || heap(runtime, card)).map(Some)
        }
        _ => Ok(None),
    }
}

/// What a card has one of; the first kernel that has it as an argument makes it.
fn of_card(
    known: &Mutex<BTreeMap<usize, u64>>,
    card: usize,
    make: impl FnOnce() -> Result<u64>,
) -> Result<u64> {
    // One insertion: a panic cannot leave it half done.
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&card) {
        return Ok(*known);
    }
    let made = make()?;
    known.insert(card, made);
    Ok(made)
}

/// A heap.
fn heap(runtime: &Runtime, card: usize) -> Result<u64> {
    let mut pools = runtime.pools();
    let made = pools.allocate(Pool::Device(card), HEAP).map_err(error::of)?;
    pools.written(made, HEAP);
    Ok(made)
}

/// A buffer, and the thread that looks at it.
fn buffer(runtime: &'static Runtime, card: usize) -> Result<u64> {
    let bytes = PAYLOADS + PACKETS * PAYLOAD;
    let start = runtime
        .pools()
        .allocate(Pool::HostFine, bytes)
        .map_err(error::of)?;
    let filled = fill(start);
    let service = std::thread::Builder::new().name("software GPU services".to_owned());
    let started = service.spawn(move || serve(runtime, card, start));
    filled
        .and(started.ok())
        .map(|_| start)
        .ok_or(hip::hipError_t_hipErrorOutOfMemory)
}

/// Puts all packets on the stack of free ones.
fn fill(start: u64) -> Option<()> {
    let first = INDEX_MASK + 1;
    let free = (0..PACKETS).try_fold(0, |below, index| {
        put(start + HEADERS + index * HEADER, below)?;
        Some(first + index)
    })?;
    let fields = [
        start + HEADERS,
        start + PAYLOADS,
        start + SIGNAL,
        free,
        0,
        INDEX_MASK,
    ];
    let mut places = (start..).step_by(8);
    fields
        .into_iter()
        .try_for_each(|field| put(places.next()?, field))
}

fn word(address: u64) -> Option<&'static AtomicU64> {
    host::arena().and_then(|arena| arena.wide(address))
}

fn put(address: u64, value: u64) -> Option<()> {
    word(address)?.store(value, SeqCst);
    Some(())
}

/// Answers what kernels ask, as long as the process lives.
fn serve(runtime: &'static Runtime, card: usize, start: u64) {
    let mut messages = Messages::default();
    loop {
        let guard = STARTED.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = STARTED.1.wait_while(guard, |()| RUNNING.load(SeqCst) == 0);
        drop(running.unwrap_or_else(PoisonError::into_inner));
        match answer_all(runtime, card, start, &mut messages) {
            Some(0) => std::thread::sleep(LOOK),
            Some(_) => {}
            // No place of the buffer is outside of it.
            None => return,
        }
    }
}

/// Answers the packets that are on the stack; gives how many.
fn answer_all(runtime: &'static Runtime, card: usize, start: u64, messages: &mut Messages) -> Option<u64> {
    let mut packet = word(start + 32)?.swap(0, SeqCst);
    let mut count = 0;
    while packet != 0 && count < PACKETS {
        let index = packet & INDEX_MASK;
        let header = start + HEADERS + index * HEADER;
        let next = word(header)?.load(SeqCst);
        let lanes = word(header + 8)?.load(SeqCst);
        // The service and, above it, whether the packet waits for its answer.
        let asked = word(header + 16)?;
        let service = asked.load(SeqCst) as u32;
        for lane in (0..64).filter(|lane| lanes >> lane & 1 == 1) {
            let place = start + PAYLOADS + index * PAYLOAD + lane * LANE;
            let mut slots = [0; 8];
            for (slot, offset) in slots.iter_mut().zip((0..).step_by(8)) {
                *slot = word(place + offset)?.load(SeqCst);
            }
            let [first, second] = answer(runtime, card, service, &slots, messages);
            put(place, first)?;
            put(place + 8, second)?;
        }
        asked.fetch_and(!(1 << 32), SeqCst);
        packet = next;
        count += 1;
    }
    Some(count)
}

/// What a lane asks for, and what it gets.
fn answer(
    runtime: &'static Runtime,
    card: usize,
    service: u32,
    slots: &[u64; 8],
    messages: &mut Messages,
) -> [u64; 2] {
    match service {
        1 => abi::print::call(slots),
        2 => [messages.take(slots), 0],
        3 => [memory(runtime, card, slots[0], slots[1]), 0],
        _ => {
            report::finding(&format!(
                "a kernel asks the host for service {service}, which is not offered"
            ));
            [0; 2]
        }
    }
}

/// Frees memory of a kernel's allocator, or allocates some.
fn memory(runtime: &Runtime, card: usize, address: u64, bytes: u64) -> u64 {
    let mut pools = runtime.pools();
    if address != 0 {
        if pools.free(address).is_err() {
            report::finding(&format!(
                "a kernel gives the host memory at {address:#x} back, which it never had"
            ));
        }
        return 0;
    }
    // Null, where there is none: `malloc` gives the kernel null too.
    pools.allocate(Pool::Device(card), bytes).unwrap_or(0)
}

/// Messages of which the ends are yet to come, by their numbers.
#[derive(Default)]
struct Messages(Vec<Option<Vec<u64>>>);

impl Messages {
    /// Takes a part of a message; gives what the next part is to begin with or, of the last, the characters that were printed.
    fn take(&mut self, slots: &[u64; 8]) -> u64 {
        let [descriptor, parts @ ..] = slots;
        let (begins, ends) = (descriptor & 1 == 1, descriptor & 2 == 2);
        let count = (descriptor >> 5 & 7) as usize;
        let number = match begins {
            true => self.begin(),
            false => (descriptor >> 8) as usize,
        };
        let Some(Some(message)) = self.0.get_mut(number) else {
            report::finding(&format!(
                "a kernel goes on with message {number}, which it never began"
            ));
            return 0;
        };
        if message.len() < LONGEST {
            message.extend(parts.iter().take(count));
        }
        match ends {
            true => {
                let message = self.0.get_mut(number).and_then(Option::take).unwrap_or_default();
                print(&message)
            }
            false => (descriptor & !1 & 0xff) | (number as u64) << 8,
        }
    }

    /// A number for a new message.
    fn begin(&mut self) -> usize {
        let free = self.0.iter().position(Option::is_none);
        let number = free.unwrap_or(self.0.len());
        match self.0.get_mut(number) {
            Some(place) => *place = Some(Vec::new()),
            None => self.0.push(Some(Vec::new())),
        }
        number
    }
}

/// A text of a message, in whole numbers up to its zero byte; the rest of the message is left.
fn text(message: &mut &[u64]) -> Vec<u8> {
    let mut text = Vec::new();
    while let [number, rest @ ..] = message {
        *message = rest;
        let bytes = number.to_le_bytes();
        let end = bytes.iter().position(|byte| *byte == 0);
        text.extend(&bytes[..end.unwrap_or(8)]);
        if end.is_some() {
            break;
        }
    }
    text
}

/// Prints a message as C's `printf` does: where to, the format, the arguments. Gives the number of its bytes.
fn print(message: &[u64]) -> u64 {
    let Some((to, mut message)) = message.split_first() else {
        return 0;
    };
    let format = text(&mut message);
    let mut next = |is_text: bool| match is_text {
        true => abi::print::Value::Text(text(&mut message)),
        false => {
            let number = message.first().copied().unwrap_or(0);
            message = message.get(1..).unwrap_or_default();
            abi::print::Value::Number(number)
        }
    };
    let out = formatted(&format, &mut next);
    abi::print::write(&out, to & 1 == 1);
    out.len() as u64
}

/// The text of a format and its arguments, which `next` gives: a text, or a number.
fn formatted(format: &[u8], next: &mut impl FnMut(bool) -> abi::print::Value) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some((before, after)) = rest
        .iter()
        .position(|byte| *byte == b'%')
        .map(|at| rest.split_at(at))
    {
        out.extend(before);
        let end = after
            .iter()
            .skip(1)
            .position(|byte| b"diouxXeEfFgGaAcspn%".contains(byte));
        let Some(end) = end else {
            // A conversion that does not end is text.
            out.extend(after);
            return out;
        };
        let (conversion, left) = after.split_at(end + 2);
        rest = left;
        // A width or precision of `*` is a number among the arguments.
        let mut whole = Vec::new();
        for byte in conversion {
            match byte {
                b'*' => {
                    let abi::print::Value::Number(number) = next(false) else {
                        continue;
                    };
                    whole.extend((number as i32).to_string().bytes());
                }
                byte => whole.push(*byte),
            }
        }
        match whole.last() {
            Some(b'%') => out.push(b'%'),
            // A number of characters that nobody reads.
            Some(b'n') => drop(next(false)),
            Some(last) => {
                let value = next(*last == b's');
                out.extend(abi::print::formatted(&whole, &value));
            }
            None => {}
        }
    }
    out.extend(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> Vec<u64> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let numbers = bytes
            .chunks(8)
            .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()));
        numbers.collect()
    }

    fn text_of(format: &str, arguments: &[u64]) -> String {
        let mut message = arguments;
        let mut next = |is_text: bool| match is_text {
            true => abi::print::Value::Text(text(&mut message)),
            false => {
                let number = message[0];
                message = &message[1..];
                abi::print::Value::Number(number)
            }
        };
        String::from_utf8(formatted(format.as_bytes(), &mut next)).unwrap()
    }

    #[test]
    fn a_kernels_text_is_what_printf_makes_of_it() {
        let minus = (-5_i64).cast_unsigned();
        assert_eq!(
            text_of("a %d, %5u|%-4x|\n", &[minus, 7, 255]),
            "a -5,     7|ff  |\n"
        );
        assert_eq!(
            text_of("%.2f %g %%", &[2.5_f64.to_bits(), 0.1_f64.to_bits()]),
            "2.50 0.1 %"
        );
        assert_eq!(text_of("%lld %hhd %c", &[minus, 0x1_02, 65]), "-5 2 A");
        assert_eq!(text_of("%*d", &[6, 42]), "    42");
        let mut arguments = packed("longer than eight");
        arguments.push(3);
        assert_eq!(text_of("%s: %d", &arguments), "longer than eight: 3");
        assert_eq!(text_of("100%% and %", &[]), "100% and %");
    }

    #[test]
    fn a_message_comes_in_parts() {
        let mut messages = Messages::default();
        let slots = |flags: u64, number: u64, parts: &[u64]| {
            let mut slots = [0; 8];
            slots[0] = flags | (parts.len() as u64) << 5 | number << 8;
            slots[1..=parts.len()].copy_from_slice(parts);
            slots
        };
        let descriptor = messages.take(&slots(1, 0, &[0]));
        assert_eq!(descriptor >> 8, 0);
        // Another one in between.
        assert_eq!(messages.take(&slots(1, 0, &[0])) >> 8, 1);
        assert_eq!(messages.take(&slots(0, 1, &packed("xyz"))) >> 8, 1);
        // Nothing is printed of a text without characters.
        assert_eq!(messages.take(&slots(2, 0, &packed(""))), 0);
        // The number is free again.
        assert_eq!(messages.take(&slots(1, 0, &[0])) >> 8, 0);
    }
}
