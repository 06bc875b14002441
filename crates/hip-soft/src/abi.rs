//! C's side: what AMD's header `hip_runtime_api.h` declares, and what compilers call of a program with fat binaries. Pointers become
//! values here, and nowhere else in this crate.
//!
//! What the header demands of a caller is relied on: a pointer is null or points to what the header says. Handles, addresses of
//! device memory and sizes are checked. No panic crosses into C.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers; AMD's header says what is relied on"
)]

mod copies;
mod devices;
mod events;
mod functions;
mod graphs;
mod memory;
mod modules;
pub(crate) mod print;
mod refused;
mod registers;
mod streams;

use core::ffi::{CStr, c_char, c_uint, c_void};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use code_object::bundle;
use code_object::extent::{self, Extent};
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;
use soft_runtime::report;

use crate::error::{self, INVALID_VALUE, Result};
use crate::mapped;

/// Runs a call's body and gives its code, which the thread remembers.
fn reply(name: &'static str, body: impl FnOnce() -> Result) -> hipError_t {
    report::call(name);
    let result = catch_unwind(AssertUnwindSafe(body));
    let code = error::record(result.unwrap_or(Err(hip::hipError_t_hipErrorUnknown)));
    if code != 0 {
        report::refused(name, code);
    }
    code
}

/// Functions that answer a code, once in a file.
macro_rules! calls {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
        /// # Safety
        /// As AMD's header demands of its caller.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> rocm_rs::hip::bindings::hipError_t {
            $crate::abi::reply(stringify!($name), move || -> $crate::error::Result { $body })
        }
        )*

        /// Their names and addresses.
        pub(super) fn calls() -> Vec<(&'static str, *const c_void)> {
            vec![$((stringify!($name), $name as *const c_void)),*]
        }
    };
}

/// Functions that give a value.
macro_rules! values {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $value:ty $body:block)*) => {$(
        /// # Safety
        /// As AMD's header demands of its caller.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $value {
            soft_runtime::report::call(stringify!($name));
            $body
        }
    )*};
}

/// Functions that are exported and have no body.
macro_rules! bodiless {
    ($($name:ident)*) => {$(
        /// # Safety
        /// It looks at no argument.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() -> rocm_rs::hip::bindings::hipError_t {
            $crate::abi::reply(stringify!($name), || {
                soft_runtime::report::missing(stringify!($name));
                Err($crate::error::NOT_SUPPORTED)
            })
        }
    )*};
}

use {bodiless, calls, values};

/// Where a call puts a value. C's callers alone make one: null, or a place for a `T`.
#[repr(transparent)]
struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Out<T> {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Puts the value there.
    fn put(self, value: T) -> Result {
        match self.0.is_null() {
            true => Err(INVALID_VALUE),
            false => {
                self.put_if(value);
                Ok(())
            }
        }
    }

    /// Puts the value there, if there is a place.
    fn put_if(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: C's caller gave a place for a `T`.
            unsafe { self.0.write(value) };
        }
    }

    fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// What the caller put there.
    fn read(self) -> Result<T> {
        match self.0.is_null() {
            true => Err(INVALID_VALUE),
            // SAFETY: C's caller put a `T` there.
            false => Ok(unsafe { self.0.read() }),
        }
    }

    /// Refuses null.
    fn check(self) -> Result {
        match self.0.is_null() {
            true => Err(INVALID_VALUE),
            false => Ok(()),
        }
    }
}

/// What a call reads: null, or a `T` of the caller's.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct In<T>(*const T);

impl<T: Copy> In<T> {
    fn get(self) -> Result<T> {
        match self.0.is_null() {
            true => Err(INVALID_VALUE),
            // SAFETY: C's caller gave a `T`.
            false => Ok(unsafe { self.0.read() }),
        }
    }

    /// As many as a count says, which C's caller gave with it.
    fn list(self, count: usize) -> Result<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = count.checked_mul(size_of::<T>());
        if self.0.is_null() || bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: C's caller gave `count` of them.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) }.to_vec())
    }
}

/// A text of the caller's.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Text(*const c_char);

impl Text {
    fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: C's caller gave a text that ends with a NUL.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| INVALID_VALUE)
    }
}

/// Three sizes, as HIP passes them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(dim: Dim3) -> [u32; 3] {
        [dim.x, dim.y, dim.z]
    }
}

impl From<hip::dim3> for Dim3 {
    fn from(dim: hip::dim3) -> Dim3 {
        Dim3 {
            x: dim.x,
            y: dim.y,
            z: dim.z,
        }
    }
}

/// A file in memory cannot be used.
fn refused(why: &dyn std::fmt::Display) -> hipError_t {
    report::say(&format!("a module is refused: {why}"));
    hip::hipError_t_hipErrorInvalidImage
}

/// The file that a pointer points to: HIP passes no length. One whose header has none either is decompressed, its decoder knows where it
/// ends.
///
/// # Errors
/// [`INVALID_VALUE`] for null, and the code of an invalid image for what is neither a code object nor a bundle.
fn image(pointer: *const c_void) -> Result<Cow<'static, [u8]>> {
    if pointer.is_null() {
        return Err(INVALID_VALUE);
    }
    let mut len = extent::LEAST;
    loop {
        // SAFETY: C's caller gave a whole file, whose own headers say that it has as many bytes; the first look is shorter than
        // any file is. It stays: HIP's modules keep no copy either.
        let start = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len) };
        match extent::of(start) {
            Ok(Extent::Whole) => return Ok(Cow::Borrowed(start)),
            Ok(Extent::AtLeast(more)) => len = more,
            Ok(Extent::Unsaid) => break,
            Err(why) => return Err(refused(&why)),
        }
    }
    let len = mapped::readable(address(pointer));
    let len = len.ok_or_else(|| refused(&"the system does not say where the memory ends that it lies in"))?;
    // SAFETY: so many bytes can be read. The decoder looks at those of the file, which C's caller gave, and at what is after them where the
    // file is cut off; nothing of them is kept.
    let memory = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len as usize) };
    let content = bundle::unpack(memory).map_err(|why| refused(&why))?;
    Ok(Cow::Owned(content.into_owned()))
}

/// A structure of C's that may be all zero.
///
/// # Safety
/// It has numbers and pointers alone.
unsafe trait Plain: Sized {
    /// All zero.
    fn zero() -> Self {
        // SAFETY: zero is a number, and null a pointer.
        unsafe { std::mem::zeroed() }
    }
}

// SAFETY: numbers and pointers.
unsafe impl Plain for hip::hipDeviceProp_tR0600 {}
// SAFETY: numbers.
unsafe impl Plain for hip::hipFuncAttributes {}
// SAFETY: numbers and pointers.
unsafe impl Plain for hip::hipPointerAttribute_t {}
// SAFETY: numbers and pointers.
unsafe impl Plain for hip::hipMemcpy3DParms {}
// SAFETY: numbers and pointers.
unsafe impl Plain for hip::hipMemAllocNodeParams {}

/// A callback of `hipStreamAddCallback`: the stream, the code of what was before it, and the program's data.
type StreamCallback = Option<unsafe extern "C" fn(usize, c_uint, usize)>;
/// A callback of `hipLaunchHostFunc`.
type HostFunction = Option<unsafe extern "C" fn(usize)>;

/// The same function, which gets its data as a number.
fn host_function(function: hip::hipHostFn_t) -> HostFunction {
    // SAFETY: C passes a pointer and a number alike.
    function.map(|function| unsafe {
        std::mem::transmute::<unsafe extern "C" fn(*mut c_void), unsafe extern "C" fn(usize)>(function)
    })
}

/// A handle as the pointer that C sees.
fn opaque<T>(handle: usize) -> *mut T {
    std::ptr::without_provenance_mut(handle)
}

/// An address of memory as the pointer that C sees.
fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// Every function with a body, for `hipGetProcAddress`.
fn all() -> Vec<(&'static str, *const c_void)> {
    [
        copies::calls(),
        devices::calls(),
        events::calls(),
        functions::calls(),
        graphs::calls(),
        memory::calls(),
        modules::calls(),
        streams::calls(),
    ]
    .concat()
}
