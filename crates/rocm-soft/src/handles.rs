//! Handles: numbers that stand for streams, events, modules and functions.
//!
//! A handle carries its kind and is never used again, so that a stale one or one of another kind is not
//! found. No handle is a pointer to anything.

use std::collections::BTreeMap;

use rocm_rs::hip::bindings as hip;

use crate::error::Result;

/// What a handle stands for; the number is in its upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Stream = 1,
    Event = 2,
    Module = 3,
    Function = 4,
    Blas = 6,
}

/// The living objects of one kind.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kind: Kind,
    made: usize,
    live: BTreeMap<usize, T>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Table {
            kind,
            made: 0,
            live: BTreeMap::new(),
        }
    }

    pub(crate) fn insert(&mut self, value: T) -> usize {
        self.made += 1;
        let handle = (self.kind as usize) << 40 | self.made;
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
        let mut table = Table::new(Kind::Event);
        let first = table.insert("first");
        assert_eq!(table.remove(first), Ok("first"));
        let second = table.insert("second");
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(hip::hipError_t_hipErrorInvalidHandle));
        assert_eq!(table.get(second), Ok(&"second"));
    }

    #[test]
    fn a_handle_of_another_kind_is_not_found() {
        let mut events = Table::new(Kind::Event);
        let mut streams = Table::new(Kind::Stream);
        let event = events.insert(());
        streams.insert(());
        assert!(events.get(event).is_ok());
        assert!(streams.get(event).is_err());
    }
}
