//! What the models of AMD's libraries have in common: objects that handles name, device memory at an address, and the names
//! of statuses. Which status a refusal has is each library's own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::device::{Device, device};
use crate::error;
use crate::handles::{HandleKind, Table};

/// The living objects of a library, for every thread.
pub(crate) struct Objects<T>(Mutex<Table<T>>);

impl<T> Objects<T> {
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Objects(Mutex::new(Table::new(kind)))
    }

    fn table(&self) -> MutexGuard<'_, Table<T>> {
        // One change of one object at a time: a panic cannot leave the table half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a new object.
    pub(crate) fn insert(&self, object: T) -> usize {
        self.table().insert(object)
    }

    /// What `f` makes of an object; `None` when the handle has none.
    pub(crate) fn with<R>(&self, handle: usize, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.table().get_mut(handle).map(f).ok()
    }

    /// Ends an object; `None` when the handle has none.
    pub(crate) fn remove(&self, handle: usize) -> Option<T> {
        self.table().remove(handle).ok()
    }
}

/// The device as a library's call sees it.
pub(crate) struct Reach<S> {
    /// The call or the library, for the account of what went wrong.
    pub(crate) who: &'static str,
    /// The status when the device is missing.
    pub(crate) missing: S,
    /// The status of an access that is not inside one allocation: a card would fault.
    pub(crate) outside: S,
}

impl<S: Copy> Reach<S> {
    pub(crate) fn device(&self) -> Result<&'static Device, S> {
        device().map_err(|_| self.missing)
    }

    /// `len` bytes of device memory.
    pub(crate) fn read(&self, address: u64, len: usize) -> Result<Vec<u8>, S> {
        let mut bytes = vec![0; len];
        let read = self.device()?.read(address, &mut bytes);
        read.map_err(|_| self.keep("reads", address, len))?;
        Ok(bytes)
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), S> {
        let written = self.device()?.write(address, bytes);
        written.map_err(|_| self.keep("writes", address, bytes.len()))
    }

    fn keep(&self, does: &str, address: u64, bytes: usize) -> S {
        error::keep(format!(
            "{} {does} {bytes} bytes at {address:#x}, which are not all of one allocation",
            self.who
        ));
        self.outside
    }
}

/// Defines `status_name`: the name of a status as the library gives it, which is its constant's without bindgen's prefix.
macro_rules! status_names {
    ($status:ty, $bindings:ident, $prefix:literal, otherwise $otherwise:literal: $($name:ident)*) => {
        /// The name of a status.
        pub(crate) fn status_name(status: $status) -> &'static core::ffi::CStr {
            $(if status == $bindings::$name {
                const NAME: &str = concat!(stringify!($name), "\0");
                let (_, name) = NAME.as_bytes().split_at($prefix.len());
                return core::ffi::CStr::from_bytes_with_nul(name).unwrap_or(c"");
            })*
            $otherwise
        }
    };
}
pub(crate) use status_names;
