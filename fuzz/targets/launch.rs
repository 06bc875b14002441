//! What a program hands the software GPU: code objects, and dispatch packets with their arguments. Any bytes are refused in words, or
//! run to an end.
#![no_main]

use std::sync::LazyLock;
use std::sync::atomic::Ordering::SeqCst;

use libfuzzer_sys::fuzz_target;
use soft_runtime::pools::Pool;
use soft_runtime::runtime::{self, Runtime};
use soft_runtime::{host, launch, loader};

/// A kernel for gfx1100 that is as it should be: `fill`.
const OBJECT: &[u8] = include_bytes!("../seeds/code_object.bin");
/// Bytes of a packet; of the arguments; of memory that they may name.
const PACKET: usize = 64;
const ARGUMENTS: u64 = 4096;
const MEMORY: u64 = 64 << 10;

struct Setup {
    runtime: &'static Runtime,
    kernel: u64,
    packet: u64,
    arguments: u64,
    memory: u64,
}

static SETUP: LazyLock<Setup> = LazyLock::new(|| {
    let runtime = runtime::init().expect("the software GPU");
    let place = |pool, bytes| runtime.pools().allocate(pool, bytes).expect("memory");
    let (packet, arguments) = (place(Pool::HostFine, 4096), place(Pool::HostFine, ARGUMENTS));
    let memory = place(Pool::Device(0), MEMORY);
    let loaded = loader::load(runtime, 0, (0, OBJECT)).expect("the kernel");
    let kernel = loaded.placement.base() + loaded.code.kernels().next().expect("one").descriptor_offset;
    let mut loader = runtime.loader();
    let executable = loader.executable();
    loader.add(executable, loaded).expect("a place");
    drop(loader);
    Setup {
        runtime,
        kernel,
        packet,
        arguments,
        memory,
    }
});

/// Puts bytes into memory that kernels see.
fn put(address: u64, bytes: &[u8]) {
    let words = host::arena()
        .and_then(|arena| arena.words(address, bytes.len() as u64))
        .expect("allocated");
    for (word, bytes) in words.iter().zip(bytes.chunks(4)) {
        let mut value = [0; 4];
        value[..bytes.len()].copy_from_slice(bytes);
        word.store(u32::from_le_bytes(value), SeqCst);
    }
}

impl Setup {
    /// Launches a kernel with arguments that are numbers or addresses of memory.
    fn run(&self, packet: &[u8; PACKET], arguments: &[u8]) {
        put(
            self.arguments,
            &arguments[..arguments.len().min(ARGUMENTS as usize)],
        );
        put(self.packet, packet);
        // What it answers is its own business, as long as it answers.
        let _ = launch::packet(self.runtime, self.packet);
    }

    /// A packet that is as it should be.
    fn packet(&self, kernel: u64) -> [u8; PACKET] {
        let mut packet = [0; PACKET];
        packet[..2].copy_from_slice(&2_u16.to_le_bytes());
        packet[2] = 1;
        for (at, value) in [(4, 32_u32), (12, 64), (16, 1), (20, 1)] {
            packet[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        packet[32..40].copy_from_slice(&kernel.to_le_bytes());
        packet[40..48].copy_from_slice(&self.arguments.to_le_bytes());
        packet
    }

    /// Any packet; the bits of `kept` say which fields are as they should be.
    fn any_packet(&self, kept: u8, input: &[u8]) {
        let right = self.packet(self.kernel);
        let (fields, arguments) = input.split_at(input.len().min(PACKET));
        let mut packet = right;
        packet[..fields.len()].copy_from_slice(fields);
        for (bit, range) in [
            (1, 0..4),
            (2, 4..12),
            (3, 12..24),
            (4, 24..32),
            (5, 32..40),
            (6, 40..48),
        ] {
            if kept >> bit & 1 == 1 {
                packet[range.clone()].copy_from_slice(&right[range]);
            }
        }
        let address = self.memory.to_le_bytes();
        let known = [address.as_slice(), arguments].concat();
        self.run(&packet, if kept >> 7 == 1 { &known } else { arguments });
    }

    /// Any code object, and every kernel of what is one.
    fn any_object(&self, file: &[u8]) {
        let Ok(loaded) = loader::load(self.runtime, 0, (0, file)) else {
            return;
        };
        let base = loaded.placement.base();
        let kernels: Vec<u64> = loaded
            .code
            .kernels()
            .map(|kernel| base + kernel.descriptor_offset)
            .collect();
        let executable = {
            let mut loader = self.runtime.loader();
            let executable = loader.executable();
            loader.add(executable, loaded).expect("a place");
            executable
        };
        let arguments: Vec<u8> = [self.memory, 7, self.memory, 100]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for kernel in kernels.into_iter().take(4) {
            self.run(&self.packet(kernel), &arguments);
        }
        let mut loader = self.runtime.loader();
        loader
            .destroy(executable, &mut self.runtime.pools())
            .expect("it was loaded");
    }
}

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((kept, rest)) if kept & 1 == 1 => SETUP.any_packet(*kept, rest),
        Some((_, file)) => SETUP.any_object(file),
        None => {}
    }
});
