//! Replies as bytes on a worker's stdout. A model may print to stdout as well, so that each reply begins with a mark.

use std::io::{self, Write};

use crate::Reply;

/// What a reply begins with. No text has these bytes, because they are no UTF-8.
const MARK: [u8; 8] = [0xff, 0xfe, b'z', b'o', b'o', 0xfd, 0xff, 0xfe];

/// The most bytes of a worker's stdout that are read.
pub const MAX_REPLY: u64 = 1 << 30;

/// Bytes that are not a reply.
#[derive(Debug, thiserror::Error)]
#[error("the worker's reply cannot be read: {0}; it may be of another parity")]
pub struct FrameError(rmp_serde::decode::Error);

/// Writes a reply and flushes.
///
/// # Errors
/// Those of `to`.
pub fn write_reply(to: &mut dyn Write, reply: &Reply) -> io::Result<()> {
    let bytes = rmp_serde::to_vec_named(reply).map_err(io::Error::other)?;
    to.write_all(&MARK)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)?;
    to.flush()
}

/// The replies in what a worker wrote, in order. A reply that was cut off, and text between replies, are left out.
///
/// # Errors
/// A whole reply that has no meaning here.
pub fn read_replies(mut bytes: &[u8]) -> Result<Vec<Reply>, FrameError> {
    let mut replies = vec![];
    while let Some(at) = bytes.windows(MARK.len()).position(|window| window == MARK) {
        bytes = &bytes[at + MARK.len()..];
        let Some((length, rest)) = bytes.split_first_chunk() else {
            break;
        };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some(body) = rest.get(..length) else {
            break;
        };
        replies.push(rmp_serde::from_slice(body).map_err(FrameError)?);
        bytes = &rest[length..];
    }
    Ok(replies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_come_back_between_lines_of_text_and_a_cut_one_does_not() {
        let replies = [
            Reply::Failed("no".to_owned()),
            Reply::Unavailable("gone".to_owned()),
        ];
        let mut bytes = b"a model prints\n".to_vec();
        for reply in &replies {
            write_reply(&mut bytes, reply).unwrap();
            bytes.extend(b"more\n");
        }
        assert_eq!(read_replies(&bytes).unwrap(), replies);
        let whole = bytes.len();
        assert_eq!(read_replies(&bytes[..whole - 12]).unwrap().len(), 1);
    }

    #[test]
    fn bytes_that_mean_nothing_are_an_error() {
        let mut bytes = MARK.to_vec();
        bytes.extend(2u64.to_le_bytes());
        bytes.extend([0xc1, 0xc1]);
        assert!(read_replies(&bytes).is_err());
    }
}
