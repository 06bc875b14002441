//! The memory of the host process, as dwords that kernels and host threads share. One of the two places with unsafe code.
//!
//! The arena is a range of addresses that is reserved once and kept until the process ends. Every pool's memory, every
//! queue and every signal lies in it, so that an address inside it can always be read and written.
#![expect(unsafe_code, reason = "maps host memory and makes slices of it")]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous};

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Addresses to ask for at first; less where the process may not have as many.
const MOST: usize = 1 << 40;
/// The least that is of use.
const LEAST: usize = 1 << 30;

/// The range of addresses that pools hand out.
#[derive(Clone, Copy, Debug)]
pub struct Arena {
    words: &'static [AtomicU32],
}

/// The arena of this process; `None` when the host does not give it the addresses.
pub fn arena() -> Option<Arena> {
    static ARENA: OnceLock<Option<Arena>> = OnceLock::new();
    *ARENA.get_or_init(|| {
        let sizes = std::iter::successors(Some(MOST), |size| Some(size / 2));
        sizes.take_while(|size| *size >= LEAST).find_map(reserve)
    })
}

fn reserve(bytes: usize) -> Option<Arena> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel picks addresses that nobody uses.
    let start = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            bytes,
            protection,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )
    };
    let start = start.ok()?;
    // SAFETY: `bytes` bytes from `start` on can be read and written, are zero, and are never unmapped. They are atomics for
    // every Rust thread; what C code of the program stores there is seen as by another device.
    let words = unsafe { std::slice::from_raw_parts(start.cast::<AtomicU32>().cast_const(), bytes / 4) };
    Some(Arena { words })
}

impl Arena {
    /// Its first address.
    pub fn base(self) -> u64 {
        self.words.as_ptr().addr() as u64
    }

    /// Its size in bytes.
    pub fn size(self) -> u64 {
        4 * self.words.len() as u64
    }

    /// Whether all of a range is in it.
    pub fn holds(self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.base());
        offset <= self.size() && bytes <= self.size() - offset
    }

    /// The dwords from an address on that is a multiple of 4.
    pub fn words(self, address: u64, bytes: u64) -> Option<&'static [AtomicU32]> {
        let offset = address.wrapping_sub(self.base());
        let inside = self.holds(address, bytes) && offset.is_multiple_of(4);
        let first = (offset / 4) as usize;
        inside
            .then(|| self.words.get(first..first + bytes.div_ceil(4) as usize))
            .flatten()
    }

    /// The dword at an address.
    pub fn word(self, address: u64) -> Option<&'static AtomicU32> {
        self.words(address, 4)?.first()
    }

    /// The qword at an address that is a multiple of 8: a value of a signal, or an index of a queue.
    pub fn wide(self, address: u64) -> Option<&'static AtomicU64> {
        if !address.is_multiple_of(8) {
            return None;
        }
        let words = self.words(address, 8)?;
        // SAFETY: the two dwords are memory that stays, aligned to 8 bytes, and atomics are made for sharing. Kernels access
        // the same bytes as dwords; on x86-64 and Arm that is what a device of their own would do.
        Some(unsafe { &*words.as_ptr().cast::<AtomicU64>() })
    }

    /// Gives the host the pages of a range back; they read as zero from then on. The range is whole pages.
    pub fn discard(self, address: u64, bytes: u64) {
        let Some(start) = self.pages(address, bytes) else {
            return;
        };
        // SAFETY: the pages are of the arena. Their content changes to zero, as stores of another thread would change it.
        let discarded = unsafe { madvise(start, bytes as usize, Advice::LinuxDontNeed) };
        // Memory that the host keeps is a loss of memory only.
        discarded.ok();
    }
}

/// Memory of the host without an address: zero, whole pages.
pub fn unplaced(bytes: u64) -> Option<OwnedFd> {
    let file = memfd_create(c"software GPU", MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&file, bytes).ok()?;
    Some(file)
}

impl Arena {
    /// Puts memory without an address at one, from `offset` on; whether the host did. All are whole pages.
    pub fn put(self, address: u64, bytes: u64, file: impl AsFd, offset: u64) -> bool {
        let Some(start) = self.pages(address, bytes) else {
            return false;
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: the pages are of the arena, and can be read and written afterwards. Their content changes, as stores of another
        // thread would change it.
        unsafe { mmap(start, bytes as usize, protection, flags, file, offset) }.is_ok()
    }

    /// Takes such memory away; the pages read as zero from then on. Whether the host did.
    pub fn take(self, address: u64, bytes: u64) -> bool {
        let Some(start) = self.pages(address, bytes) else {
            return false;
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: as above.
        unsafe { mmap_anonymous(start, bytes as usize, protection, flags) }.is_ok()
    }

    /// The first of some whole pages.
    fn pages(self, address: u64, bytes: u64) -> Option<*mut core::ffi::c_void> {
        let whole = bytes > 0 && address.is_multiple_of(PAGE) && bytes.is_multiple_of(PAGE);
        let words = self.words(address, bytes).filter(|_| whole)?;
        Some(words.as_ptr().cast_mut().cast())
    }
}

/// Memory that the program asked to share with kernels: whole pages of its own, at their own address.
///
/// # Safety
/// The pages can be read and written until nobody uses the slice: the program keeps memory that it locked until it unlocks
/// it, as HSA demands.
pub unsafe fn locked(address: u64, bytes: u64) -> &'static [AtomicU32] {
    let start = std::ptr::with_exposed_provenance::<AtomicU32>(address as usize);
    // SAFETY: as the caller promises; pages are aligned.
    unsafe { std::slice::from_raw_parts(start, (bytes / 4) as usize) }
}

/// Copies bytes of the process; the ranges may overlap.
///
/// # Safety
/// The ranges can be read and written, as the caller of a copy promises to HSA.
pub unsafe fn copy(target: u64, source: u64, bytes: u64) {
    let source = std::ptr::with_exposed_provenance::<u8>(source as usize);
    let target = std::ptr::with_exposed_provenance_mut::<u8>(target as usize);
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy(source, target, bytes as usize) }
}

/// Fills `bytes` bytes of the process with a pattern again and again, the last one perhaps cut off.
///
/// # Safety
/// The range can be written, as the caller of a fill promises.
pub unsafe fn fill(target: u64, pattern: &[u8], bytes: u64) {
    let start = std::ptr::with_exposed_provenance_mut::<u8>(target as usize);
    if let [byte] = pattern {
        // SAFETY: as the caller promises.
        unsafe { std::ptr::write_bytes(start, *byte, bytes as usize) };
        return;
    }
    for (offset, byte) in pattern.iter().cycle().take(bytes as usize).enumerate() {
        // SAFETY: as the caller promises; the offset is below `bytes`.
        unsafe { start.add(offset).write(*byte) };
    }
}

/// Exposes the arena's address to [`copy`], which makes pointers of numbers.
pub fn expose(arena: Arena) {
    arena.words.as_ptr().expose_provenance();
}
