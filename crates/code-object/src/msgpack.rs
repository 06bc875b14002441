//! MessagePack as far as metadata notes use it: numbers, text, lists and maps, each with its place in the file.

use crate::Error;
use crate::bytes::Bytes;

/// Lists and maps lie in each other at most this deep; metadata notes need five.
const MAX_DEPTH: usize = 16;

/// A value and the place of its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    /// Byte offset in the note.
    pub(crate) at: u64,
    pub(crate) content: Content<'a>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    Number(u64),
    Text(&'a str),
    List(Vec<Value<'a>>),
    Map(Vec<[Value<'a>; 2]>),
    /// Negative and other numbers, truth values, bytes: no field of a note has one.
    Other,
}

/// Reads the value that fills `note`. Trailing zeros are the padding of the note.
pub(crate) fn parse(note: Bytes<'_>) -> Result<Value<'_>, Error> {
    let mut reader = Reader { note, at: 0 };
    let value = reader.value(MAX_DEPTH)?;
    let rest = &note.data[note.data.len().min(reader.at as usize)..];
    if rest.iter().any(|byte| *byte != 0) {
        return Err(note.wrong(
            reader.at,
            "the end of the note",
            format!("{} more bytes", rest.len()),
        ));
    }
    Ok(value)
}

struct Reader<'a> {
    note: Bytes<'a>,
    at: u64,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: u64) -> Result<&'a [u8], Error> {
        let taken = self.note.slice(self.note.part, self.at, len)?.data;
        self.at += len;
        Ok(taken)
    }

    /// A big-endian number of `bytes` bytes.
    fn number(&mut self, bytes: u64) -> Result<u64, Error> {
        let digits = self.take(bytes)?;
        Ok(digits
            .iter()
            .fold(0, |value, digit| value << 8 | u64::from(*digit)))
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Error> {
        let at = self.at;
        let tag = self.number(1)?;
        let content = match tag {
            0x00..=0x7f => Content::Number(tag),
            0x80..=0x8f => self.map(tag & 15, depth)?,
            0x90..=0x9f => self.list(tag & 15, depth)?,
            0xa0..=0xbf => self.text(tag & 31)?,
            0xcc => Content::Number(self.number(1)?),
            0xcd => Content::Number(self.number(2)?),
            0xce => Content::Number(self.number(4)?),
            0xcf => Content::Number(self.number(8)?),
            0xd9 => {
                let len = self.number(1)?;
                self.text(len)?
            }
            0xda => {
                let len = self.number(2)?;
                self.text(len)?
            }
            0xdb => {
                let len = self.number(4)?;
                self.text(len)?
            }
            0xdc => {
                let len = self.number(2)?;
                self.list(len, depth)?
            }
            0xdd => {
                let len = self.number(4)?;
                self.list(len, depth)?
            }
            0xde => {
                let len = self.number(2)?;
                self.map(len, depth)?
            }
            0xdf => {
                let len = self.number(4)?;
                self.map(len, depth)?
            }
            // Numbers that are negative or not whole, truth values, nothing.
            0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => Content::Other,
            0xd0 => self.skip(1)?,
            0xd1 => self.skip(2)?,
            0xca | 0xd2 => self.skip(4)?,
            0xcb | 0xd3 => self.skip(8)?,
            _ => {
                return Err(self
                    .note
                    .wrong(at, "a number, text, list or map", format!("the byte {tag:#x}")));
            }
        };
        Ok(Value { at, content })
    }

    fn skip(&mut self, len: u64) -> Result<Content<'a>, Error> {
        self.take(len)?;
        Ok(Content::Other)
    }

    fn text(&mut self, len: u64) -> Result<Content<'a>, Error> {
        let at = self.at;
        let text = std::str::from_utf8(self.take(len)?);
        let text = text.map_err(|_| self.note.wrong(at, "UTF-8 text", "other bytes"))?;
        Ok(Content::Text(text))
    }

    /// Every element takes a byte at least, so that a length which lies ends at the end of the note.
    fn list(&mut self, len: u64, depth: usize) -> Result<Content<'a>, Error> {
        let depth = self.deeper(depth)?;
        (0..len)
            .map(|_| self.value(depth))
            .collect::<Result<_, _>>()
            .map(Content::List)
    }

    fn map(&mut self, len: u64, depth: usize) -> Result<Content<'a>, Error> {
        let depth = self.deeper(depth)?;
        let entries = (0..len).map(|_| Ok([self.value(depth)?, self.value(depth)?]));
        entries.collect::<Result<_, _>>().map(Content::Map)
    }

    fn deeper(&self, depth: usize) -> Result<usize, Error> {
        let expected = format!("at most {MAX_DEPTH} lists and maps in each other");
        depth
            .checked_sub(1)
            .ok_or_else(|| self.note.wrong(self.at, expected, "more"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Content<'_>, String> {
        let value = parse(Bytes::new("note", 100, bytes));
        value
            .map(|value| value.content)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_of_every_width_are_read_big_endian() {
        for (bytes, want) in [
            (&[0x7f][..], 127),
            (&[0xcc, 200], 200),
            (&[0xcd, 1, 2], 0x102),
            (&[0xce, 1, 2, 3, 4], 0x0102_0304),
            (&[0xcf, 0, 0, 0, 1, 0, 0, 0, 2], 0x1_0000_0002),
        ] {
            assert_eq!(read(bytes), Ok(Content::Number(want)));
        }
    }

    #[test]
    fn a_map_keeps_its_entries_with_their_places() {
        // {"a": [1, nil]} and padding.
        let Ok(Content::Map(entries)) = read(&[0x81, 0xa1, b'a', 0x92, 1, 0xc0, 0, 0]) else {
            panic!("not a map");
        };
        assert_eq!(entries[0][0].content, Content::Text("a"));
        assert_eq!((entries[0][1].at, entries.len()), (3, 1));
        assert!(matches!(&entries[0][1].content, Content::List(list) if list[1].content == Content::Other));
    }

    #[test]
    fn a_length_that_lies_is_an_error_at_the_end() {
        let error = read(&[0xdd, 0xff, 0xff, 0xff, 0xff, 1, 2]).unwrap_err();
        assert!(error.contains("byte 0x6b"), "{error}");
        read(&[0xdb, 0xff, 0xff, 0xff, 0xff]).unwrap_err();
    }

    #[test]
    fn depth_trailing_bytes_and_unknown_tags_are_errors() {
        assert!(read(&[0x91; 20]).unwrap_err().contains("at most 16"));
        assert!(read(&[1, 2]).unwrap_err().contains("the end of the note"));
        assert!(read(&[0xc1]).unwrap_err().contains("the byte 0xc1"));
        assert!(read(&[0xa1, 0xff]).unwrap_err().contains("UTF-8"));
    }
}
