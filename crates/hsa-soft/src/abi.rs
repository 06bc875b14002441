//! C's side: what AMD's headers `hsa.h`, `hsa_ext_amd.h` and `hsa_ven_amd_loader.h` declare. Pointers become values here, and
//! nowhere else in this crate.
//!
//! What the headers demand of a caller is relied on: a pointer is null or points to what the header says. Handles and sizes
//! are checked. No panic crosses into C.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers; AMD's headers say what is relied on"
)]

mod code;
mod copies;
mod memory;
mod queues;
mod refused;
mod signals;
mod system;
mod vmem;

use core::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::agent::Value;
use crate::deferred::{COPIES, HANDLERS};
use crate::queue;
use soft_runtime::event;
use soft_runtime::report;
use soft_runtime::status::{Answer, Status};

/// What a call answers: 0, or a status code, which may be a callback's own.
type Reply = Result<(), u32>;

/// Runs a call's body and gives its status.
fn reply(name: &'static str, body: impl FnOnce() -> Reply) -> u32 {
    report::call(name);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => {
            report::refused(name, status);
            status
        }
        Err(_) => Status::Error.into(),
    }
}

/// Runs the body of a call that gives a value; 0 when it fails.
fn value<T: Default>(name: &'static str, body: impl FnOnce() -> Answer<T>) -> T {
    report::call(name);
    let result = catch_unwind(AssertUnwindSafe(body));
    match result {
        Ok(Ok(value)) => value,
        Ok(Err(_)) | Err(_) => T::default(),
    }
}

/// Functions that answer a status.
macro_rules! calls {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        /// # Safety
        /// As AMD's header demands of its caller.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> u32 {
            $crate::abi::reply(stringify!($name), move || -> $crate::abi::Reply { $body })
        }
    )*};
}

/// Functions that give a value.
macro_rules! values {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $value:ty $body:block)*) => {$(
        /// # Safety
        /// As AMD's header demands of its caller.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $value {
            $crate::abi::value(stringify!($name), move || -> soft_runtime::status::Answer<$value> { $body })
        }
    )*};
}

/// Functions that are exported and have no body.
macro_rules! bodiless {
    ($($name:ident)*) => {$(
        /// # Safety
        /// It looks at no argument.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() -> u32 {
            $crate::abi::reply(stringify!($name), || {
                soft_runtime::report::missing(stringify!($name));
                Err(soft_runtime::status::Status::Error.into())
            })
        }
    )*};
}

use {bodiless, calls, values};

/// Where a call puts a value. C's callers alone make one: null, or a place for a `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Out<T>(*mut T);

// SAFETY: the place is the caller's, for the length of the call, whichever thread fills it.
unsafe impl<T> Send for Out<T> {}

impl<T> Out<T> {
    /// Puts the value there.
    fn put(self, value: T) -> Answer<()> {
        match self.0.is_null() {
            true => Err(Status::InvalidArgument),
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
            unsafe { self.0.write_unaligned(value) };
        }
    }

    fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Where a call puts an attribute: a place that is as large as the attribute asked for.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Room(*mut c_void);

impl Room {
    fn put(self, value: &Value) -> Answer<()> {
        if self.0.is_null() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: C's caller gave a place of the attribute's size, which the header fixes.
        unsafe { core::ptr::copy_nonoverlapping(value.0.as_ptr(), self.0.cast::<u8>(), value.0.len()) };
        Ok(())
    }
}

/// Values that a call reads. C's callers alone make one: null, or as many values as another argument says.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct List<T>(*const T);

/// Values that a list may have: a count beyond is a mistake, not a demand for memory.
const LIST: usize = 1 << 16;

impl<T: Copy> List<T> {
    fn read(self, count: usize) -> Answer<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() || count > LIST {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: C's caller gave as many values.
        Ok((0..count)
            .map(|i| unsafe { self.0.add(i).read_unaligned() })
            .collect())
    }

    fn first(self) -> Answer<T> {
        self.read(1)?.pop().ok_or(Status::InvalidArgument)
    }
}

/// A text that ends with a zero byte, or null.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Text(*const c_char);

impl Text {
    fn read(self) -> Answer<String> {
        if self.0.is_null() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: C's caller gave a text that ends.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// The bytes at an address, which the caller promised to be as many.
fn bytes_at(address: *const c_void, bytes: usize) -> Answer<Vec<u8>> {
    if address.is_null() || bytes == 0 || bytes > isize::MAX as usize {
        return Err(Status::InvalidArgument);
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes)
        .map_err(|_| Status::OutOfResources)?;
    // SAFETY: C's caller gave as many bytes.
    copy.extend_from_slice(unsafe { core::slice::from_raw_parts(address.cast::<u8>(), bytes) });
    Ok(copy)
}

/// A pointer of the program that goes back to it unchanged, in whichever thread.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Data(*mut c_void);

// SAFETY: nothing here looks at what it points to.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

/// A function that visits handles.
type Visit = Option<unsafe extern "C" fn(u64, Data) -> u32>;

/// A function that visits symbols or code objects of an executable.
type VisitPart = Option<unsafe extern "C" fn(u64, u64, Data) -> u32>;
/// A signal's handler: whether it is to be called again.
type Handler = unsafe extern "C" fn(i64, Data) -> bool;
/// What is called once, in a thread of this library.
type Action = unsafe extern "C" fn(Data);
/// What a queue's owner is told errors by: the status, the queue, and the owner's data.
type OnError = unsafe extern "C" fn(u32, u64, Data);
/// Gives memory for a list, as `malloc` does.
type Allocate = unsafe extern "C" fn(usize) -> *mut u64;

/// Calls `visit` with each handle, until it answers other than success.
fn visit(visit: Visit, data: Data, handles: impl IntoIterator<Item = u64>) -> Reply {
    let visit = visit.ok_or(Status::InvalidArgument)?;
    for handle in handles {
        // SAFETY: the function is C's caller's own, made for these arguments.
        match unsafe { visit(handle, data) } {
            0 => (),
            other => return Err(other),
        }
    }
    Ok(())
}

/// The longest wait, when the process ends, for work that was submitted.
const PATIENCE: Duration = Duration::from_secs(2);

unsafe extern "C" {
    /// C's library calls the function when the process ends, before those that were registered earlier.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Waits until what was submitted is done and no handler is left to call.
extern "C" fn finish() {
    // As below.
    drop(catch_unwind(|| {
        event::wait(Some(PATIENCE), event::LOOK, || {
            // Copies and handlers may write packets, and packets make them ready: each is asked after what it waits for.
            let is_quiet = || queue::are_idle() && COPIES.is_idle() && HANDLERS.is_idle();
            (is_quiet() && is_quiet()).then_some(())
        })
    }));
}

/// Has the process wait for the work that was submitted before what the program registered until now is taken down: a handler that
/// is called later finds nothing of it. AMD's HIP runtime 7.2 does not wait for its own.
fn finish_at_exit() {
    // Without a place for it the process ends as it did without it.
    let _full = atexit(finish);
}

extern "C" fn at_exit() {
    // A panic would end the process in an unkind way at its very end.
    drop(catch_unwind(report::end));
}

/// Has the report written when the process ends.
#[used]
// SAFETY: the section holds addresses of functions without arguments, which the dynamic linker calls at the end.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;
