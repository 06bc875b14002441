//! The library as AMD's HIP runtime uses it: loaded by its file, called by C's names.

use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use libloading::Library;

/// The file; `ROCM_HSA_LIBRARY` says where it is, if it was built.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("ROCM_HSA_LIBRARY") {
    Some(file) => file.into(),
    None => crate::built::built("hsa-soft", "libhsa_runtime64.so"),
});

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    // SAFETY: the library starts nothing when it is loaded.
    unsafe { Library::new(&*FILE) }.unwrap()
});

/// The address of a function.
pub(crate) fn function(name: &str) -> *const c_void {
    // SAFETY: only the address is taken.
    let symbol = unsafe { LIBRARY.get::<*const c_void>(name.as_bytes()) };
    *symbol.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Calls a function of the library: its name, the types of its arguments, its result, and the arguments.
macro_rules! call {
    ($name:ident($($value:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        let address = crate::library::function(stringify!($name));
        // SAFETY: the types are those of AMD's header.
        let function = unsafe {
            std::mem::transmute::<*const std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
        };
        // SAFETY: pointers are to locals of the caller, as the header asks for.
        unsafe { function($($value),*) }
    }};
    ($name:ident($($value:expr => $type:ty),* $(,)?)) => {
        call!($name($($value => $type),*) -> u32)
    };
}

pub(crate) use call;

/// The card's agent and pools, and the host's pool that kernels share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System {
    pub(crate) host: u64,
    pub(crate) card: u64,
    pub(crate) fine: u64,
    pub(crate) device: u64,
}

unsafe extern "C" fn collect(handle: u64, list: *mut c_void) -> u32 {
    // SAFETY: the caller of the iteration passes a vector, and waits for its end.
    unsafe { &mut *list.cast::<Vec<u64>>() }.push(handle);
    0
}

type Collect = unsafe extern "C" fn(u64, *mut c_void) -> u32;

/// Initialises the library and finds its agents and pools, as AMD's runtime does.
pub(crate) fn system() -> System {
    assert_eq!(call!(hsa_init()), 0);
    let list = |agent: Option<u64>| {
        let mut all: Vec<u64> = Vec::new();
        let place = (&raw mut all).cast::<c_void>();
        let status = match agent {
            None => call!(hsa_iterate_agents(collect => Collect, place => *mut c_void)),
            Some(agent) => {
                call!(hsa_amd_agent_iterate_memory_pools(agent => u64, collect => Collect, place => *mut c_void))
            }
        };
        assert_eq!(status, 0);
        all
    };
    let kind = |agent: u64| {
        let mut kind = 9_u32;
        let status = call!(hsa_agent_get_info(agent => u64, 17 => u32, &mut kind => *mut u32));
        assert_eq!(status, 0);
        kind
    };
    let agents = list(None);
    let find = |wanted| {
        agents
            .iter()
            .copied()
            .find(|agent| kind(*agent) == wanted)
            .unwrap()
    };
    let (host, card) = (find(0), find(1));
    System {
        host,
        card,
        fine: list(Some(host))[0],
        device: list(Some(card))[0],
    }
}

impl System {
    pub(crate) fn allocate(&self, pool: u64, bytes: usize) -> u64 {
        let mut address = 0;
        let status = call!(hsa_amd_memory_pool_allocate(
            pool => u64, bytes => usize, 0 => u32, &mut address => *mut u64
        ));
        assert_eq!(status, 0);
        address
    }

    /// A queue whose error status goes to `told`.
    pub(crate) fn queue(&self, told: &'static AtomicU32) -> Queue {
        unsafe extern "C" fn tell(status: u32, _queue: u64, told: *const AtomicU32) {
            // SAFETY: it is a static.
            unsafe { &*told }.store(status, SeqCst);
        }
        type Tell = unsafe extern "C" fn(u32, u64, *const AtomicU32);
        let mut address = 0_u64;
        let status = call!(hsa_queue_create(
            self.card => u64, 64 => u32, 0 => u32, tell => Tell, told => *const AtomicU32,
            u32::MAX => u32, u32::MAX => u32, &mut address => *mut u64
        ));
        assert_eq!(status, 0);
        Queue { address }
    }
}

/// The qword at an address that the library gave out.
pub(crate) fn qword(address: u64) -> &'static AtomicU64 {
    // SAFETY: the tests ask for addresses of allocations that they do not free.
    unsafe { &*(address as usize as *const AtomicU64) }
}

/// The dwords at such an address.
pub(crate) fn dwords(address: u64, count: usize) -> &'static [AtomicU32] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(address as usize as *const AtomicU32, count) }
}

pub(crate) fn signal(value: i64) -> u64 {
    let mut signal = 0_u64;
    let status = call!(hsa_signal_create(
        value => i64, 0 => u32, std::ptr::null() => *const u64, &mut signal => *mut u64
    ));
    assert_eq!(status, 0);
    signal
}

/// Waits until a signal is 0; gives its last value.
pub(crate) fn wait(signal: u64, milliseconds: u64) -> i64 {
    let limit = milliseconds * 1_000_000;
    call!(hsa_signal_wait_scacquire(signal => u64, 0 => u32, 0 => i64, limit => u64, 0 => u32) -> i64)
}

/// A queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) address: u64,
}

impl Queue {
    /// Writes a packet of 15 dwords after its header, then the header, and rings the doorbell.
    pub(crate) fn push(&self, header: u32, rest: &[u32; 15]) {
        let index = call!(hsa_queue_add_write_index_screlease(self.address => u64, 1 => u64) -> u64);
        let ring = qword(self.address + 8).load(SeqCst);
        let words = dwords(ring + 64 * (index % 64), 16);
        for (word, value) in words[1..].iter().zip(rest) {
            word.store(*value, SeqCst);
        }
        words[0].store(header, SeqCst);
        let doorbell = qword(self.address + 16).load(SeqCst);
        call!(hsa_signal_store_screlease(doorbell => u64, index as i64 => i64) -> ());
    }

    /// Launches `items` work-items in workgroups of `block`, all in x.
    pub(crate) fn dispatch(&self, kernel: u64, items: u32, block: u32, arguments: u64, done: u64) {
        let mut rest = [0; 15];
        rest[0] = block | 1 << 16;
        rest[1] = 1;
        rest[2..5].copy_from_slice(&[items, 1, 1]);
        for (at, value) in [(7, kernel), (9, arguments), (13, done)] {
            rest[at..at + 2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
        self.push(2 | 1 << 16, &rest);
    }

    /// Waits for all of `signals` to be 0.
    pub(crate) fn barrier(&self, signals: &[u64], done: u64) {
        let mut rest = [0; 15];
        for (index, value) in signals.iter().enumerate() {
            rest[1 + 2 * index..3 + 2 * index].copy_from_slice(&[*value as u32, (*value >> 32) as u32]);
        }
        rest[13..15].copy_from_slice(&[done as u32, (done >> 32) as u32]);
        self.push(3, &rest);
    }

    /// AMD's barrier: waits until `signal`, where it is not 0, is `value`.
    pub(crate) fn barrier_value(&self, signal: u64, value: u32, done: u64) {
        let mut rest = [0; 15];
        rest[1..5].copy_from_slice(&[signal as u32, (signal >> 32) as u32, value, 0]);
        rest[5..7].copy_from_slice(&[u32::MAX; 2]);
        rest[13..15].copy_from_slice(&[done as u32, (done >> 32) as u32]);
        self.push(2 << 16, &rest);
    }
}

/// Loads a code object; the status where it is refused, else the executable.
pub(crate) fn load(system: &System, object: &[u8]) -> Result<u64, u32> {
    let (mut reader, mut executable) = (0_u64, 0_u64);
    match call!(hsa_code_object_reader_create_from_memory(
        object.as_ptr() => *const u8, object.len() => usize, &mut reader => *mut u64
    )) {
        0 => (),
        status => return Err(status),
    }
    let status = call!(hsa_executable_create_alt(
        0 => u32, 0 => u32, std::ptr::null() => *const u8, &mut executable => *mut u64
    ));
    assert_eq!(status, 0);
    let loaded = call!(hsa_executable_load_agent_code_object(
        executable => u64, system.card => u64, reader => u64, std::ptr::null() => *const u8,
        std::ptr::null_mut() => *mut u64
    ));
    assert_eq!(call!(hsa_code_object_reader_destroy(reader => u64)), 0);
    match loaded {
        0 => {
            let status = call!(hsa_executable_freeze(executable => u64, std::ptr::null() => *const u8));
            assert_eq!(status, 0);
            Ok(executable)
        }
        status => {
            assert_eq!(call!(hsa_executable_destroy(executable => u64)), 0);
            Err(status)
        }
    }
}

/// An attribute of a symbol of an executable.
pub(crate) fn symbol(executable: u64, name: &str, attribute: u32) -> u64 {
    let name = CString::new(name).unwrap();
    let (mut symbol, mut value) = (0_u64, 0_u64);
    let status = call!(hsa_executable_get_symbol_by_name(
        executable => u64, name.as_ptr() => *const std::ffi::c_char, std::ptr::null() => *const u64, &mut symbol => *mut u64
    ));
    assert_eq!(status, 0);
    let status =
        call!(hsa_executable_symbol_get_info(symbol => u64, attribute => u32, &mut value => *mut u64));
    assert_eq!(status, 0);
    value
}

/// The attribute of a kernel that packets name it by.
pub(crate) const KERNEL_OBJECT: u32 = 22;
