//! Handles: numbers that name streams, events, modules and functions.
//!
//! A handle carries its kind and is never used again, so that a stale one or one of another kind is not
//! found. No handle is a pointer to anything.

use std::collections::BTreeMap;

use rocm_rs::hip::bindings as hip;

use crate::error::Result;

/// The object that a handle names; the number is in its upper half, above eight bits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HandleKind {
    Stream = 1,
    Event = 2,
    Module = 3,
    Function = 4,
    Blas = 6,
    Rand = 7,
    Nn = 8,
    Graph = 9,
    Executable = 10,
    Comm = 11,
}

/// Which bits of a handle hold the device's number.
const DEVICE_BIT: u32 = 32;

/// The device whose handle this is. For a number that is not a handle, the result is arbitrary.
pub(crate) fn device_of(handle: usize) -> usize {
    handle >> DEVICE_BIT & 0xff
}

/// The living objects of one kind.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kind: HandleKind,
    /// Whose handles these are.
    device: usize,
    made: usize,
    live: BTreeMap<usize, T>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Table::on(kind, 0)
    }

    /// The objects of one device.
    pub(crate) const fn on(kind: HandleKind, device: usize) -> Self {
        Table {
            kind,
            device,
            made: 0,
            live: BTreeMap::new(),
        }
    }

    pub(crate) fn insert(&mut self, value: T) -> usize {
        self.made += 1;
        let handle = (self.kind as usize) << 40 | self.device << DEVICE_BIT | self.made;
        self.live.insert(handle, value);
        handle
    }

    pub(crate) fn get(&self, handle: usize) -> Result<&T> {
        self.live
            .get(&handle)
            .ok_or(hip::hipError_t_hipErrorInvalidHandle)
    }

    pub(crate) fn get_mut(&mut self, handle: usize) -> Result<&mut T> {
        self.live
            .get_mut(&handle)
            .ok_or(hip::hipError_t_hipErrorInvalidHandle)
    }

    pub(crate) fn remove(&mut self, handle: usize) -> Result<T> {
        self.live
            .remove(&handle)
            .ok_or(hip::hipError_t_hipErrorInvalidHandle)
    }

    /// The handle of the first object for which `test` holds.
    pub(crate) fn find(&self, test: impl Fn(&T) -> bool) -> Option<usize> {
        self.live
            .iter()
            .find(|(_, value)| test(value))
            .map(|(handle, _)| *handle)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.live.retain(|_, value| keep(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_is_not_given_to_the_next_object() {
        let mut table = Table::new(HandleKind::Event);
        let first = table.insert("first");
        assert_eq!(table.remove(first), Ok("first"));
        let second = table.insert("second");
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(hip::hipError_t_hipErrorInvalidHandle));
        assert_eq!(table.get(second), Ok(&"second"));
    }

    #[test]
    fn a_handle_knows_its_device() {
        let mut table = Table::on(HandleKind::Stream, 3);
        let handle = table.insert(());
        assert_eq!(device_of(handle), 3);
        assert!(Table::<()>::on(HandleKind::Stream, 2).get(handle).is_err());
    }

    #[test]
    fn a_handle_of_another_kind_is_not_found() {
        let mut events = Table::new(HandleKind::Event);
        let mut streams = Table::new(HandleKind::Stream);
        let event = events.insert(());
        streams.insert(());
        assert!(events.get(event).is_ok());
        assert!(streams.get(event).is_err());
    }
}
