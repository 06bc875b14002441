//! What a program hands libamdhip64: a fat binary before `main`, and a module in memory. Any bytes are refused in words, or loaded; nothing
//! beyond what their headers say is read.
#![no_main]

use core::ffi::{c_char, c_int, c_void};
use std::sync::LazyLock;

use code_object::extent::{self, Extent};
// Its functions are C's.
use hip_soft as _;
use libfuzzer_sys::fuzz_target;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};

#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    binary: *const c_void,
    unused: *const c_void,
}

unsafe extern "C" {
    fn __hipRegisterFatBinary(wrapper: *const Wrapper) -> usize;
    fn __hipUnregisterFatBinary(binary: usize);
    fn __hipRegisterFunction(
        binary: usize,
        host: *const c_void,
        name: *const c_char,
        device_name: *const c_char,
        limit: u32,
        thread: *const c_void,
        block_id: *const c_void,
        block: *const c_void,
        grid: *const c_void,
        warp: *const c_int,
    );
    fn hipGetFuncBySymbol(function: *mut usize, symbol: *const c_void) -> u32;
    fn hipModuleLoadData(module: *mut usize, file: *const c_void) -> u32;
    fn hipModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> u32;
    fn hipModuleUnload(module: usize) -> u32;
}

/// The word that compilers put first.
const MAGIC: u32 = 0x4849_5046;
const PAGE: usize = 4096;
/// Bytes for a file, before a page that cannot be read.
const ROOM: usize = 4 * PAGE;

static MEMORY: LazyLock<usize> = LazyLock::new(|| {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel picks addresses that nobody uses, and the last page is nobody's either.
    unsafe {
        let start =
            mmap_anonymous(std::ptr::null_mut(), ROOM + PAGE, protection, MapFlags::PRIVATE).expect("memory");
        mprotect(start.byte_add(ROOM), PAGE, MprotectFlags::empty()).expect("a page that nobody reads");
        start.addr()
    }
});

/// Whether the headers of a file say no more bytes than it has: C's callers promise that.
fn is_whole(file: &[u8]) -> bool {
    let mut len = extent::LEAST;
    while let Some(start) = file.get(..len) {
        match extent::of(start) {
            Ok(Extent::AtLeast(more)) => len = more,
            Ok(Extent::Whole | Extent::Unsaid) | Err(_) => return true,
        }
    }
    false
}

fuzz_target!(|input: &[u8]| {
    if input.len() > ROOM || !is_whole(input) {
        return;
    }
    let file = std::ptr::with_exposed_provenance_mut::<u8>(*MEMORY + ROOM - input.len());
    // SAFETY: the bytes before the page that cannot be read are this function's, and a file lies there that its headers say the length of.
    unsafe {
        std::ptr::copy_nonoverlapping(input.as_ptr(), file, input.len());
        let wrapper = Wrapper {
            magic: MAGIC,
            version: 1,
            binary: file.cast(),
            unused: std::ptr::null(),
        };
        let binary = __hipRegisterFatBinary(&wrapper);
        let (stub, name, none) = (MEMORY.wrapping_add(1), c"fill".as_ptr(), std::ptr::null());
        let stub = std::ptr::without_provenance(stub);
        __hipRegisterFunction(
            binary,
            stub,
            name,
            name,
            0,
            none,
            none,
            none,
            none,
            std::ptr::null(),
        );
        let mut function = 0;
        hipGetFuncBySymbol(&mut function, stub);
        __hipUnregisterFatBinary(binary);
        assert_ne!(
            hipGetFuncBySymbol(&mut function, stub),
            0,
            "its fat binary is gone"
        );
        let mut module = 0;
        if hipModuleLoadData(&mut module, file.cast()) == 0 {
            hipModuleGetFunction(&mut function, module, name);
            assert_eq!(hipModuleUnload(module), 0);
        }
    }
});
