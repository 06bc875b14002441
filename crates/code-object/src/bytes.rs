//! A part of a file that knows where in the file it lies. Every read is checked against the end.

use crate::Error;

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a> {
    /// What the part is called in errors.
    pub(crate) part: &'static str,
    /// Offset of the first byte in the file.
    pub(crate) offset: u64,
    pub(crate) data: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// A whole file, or a part of it that was found at `offset`.
    pub(crate) fn new(part: &'static str, offset: u64, data: &'a [u8]) -> Self {
        Bytes { part, offset, data }
    }

    /// `len` bytes from `at` on, as a part called `part`.
    pub(crate) fn slice(&self, part: &'static str, at: u64, len: u64) -> Result<Bytes<'a>, Error> {
        let cut = || Error::Malformed {
            part,
            offset: self.offset.saturating_add(at),
            expected: format!("{len} bytes"),
            found: match (self.data.len() as u64).checked_sub(at) {
                Some(left) => format!("the end of the {} after {left}", self.part),
                None => format!("the end of the {} before it", self.part),
            },
        };
        let start = usize::try_from(at).map_err(|_| cut())?;
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| start.checked_add(len))
            .ok_or_else(cut)?;
        let data = self.data.get(start..end).ok_or_else(cut)?;
        Ok(Bytes::new(part, self.offset + at, data))
    }

    fn field<const N: usize>(&self, at: u64) -> Result<[u8; N], Error> {
        let found = self.slice(self.part, at, N as u64)?;
        let mut field = [0; N];
        field.copy_from_slice(found.data);
        Ok(field)
    }

    /// The 16-bit number at `at`.
    pub(crate) fn u16(&self, at: u64) -> Result<u16, Error> {
        self.field(at).map(u16::from_le_bytes)
    }

    /// The 32-bit number at `at`.
    pub(crate) fn u32(&self, at: u64) -> Result<u32, Error> {
        self.field(at).map(u32::from_le_bytes)
    }

    /// The 64-bit number at `at`.
    pub(crate) fn u64(&self, at: u64) -> Result<u64, Error> {
        self.field(at).map(u64::from_le_bytes)
    }

    /// The error for the byte `at`.
    pub(crate) fn wrong(&self, at: u64, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::Malformed {
            part: self.part,
            offset: self.offset.saturating_add(at),
            expected: expected.into(),
            found: found.into(),
        }
    }
}
