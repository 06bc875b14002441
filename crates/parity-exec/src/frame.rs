//! Length-prefixed MessagePack frames between the supervisor and its workers. Each carries the protocol's version, so that
//! two builds of `parity`, as on two hosts, never misread each other.
//!
//! Knows bytes only; what the messages say is [`crate::protocol`]'s.

use std::io::{self, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

use crate::protocol::PROTOCOL;

/// First bytes of every frame, so that stray output is told from a message.
const MAGIC: [u8; 4] = *b"PRTY";

/// A length above this is taken for garbage rather than allocated.
const MAX_LENGTH: u32 = 1 << 30;

/// A frame that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the pipe failed: {0}")]
    Pipe(#[from] io::Error),
    #[error("expected a frame, found the bytes {0:02x?}")]
    NotAFrame([u8; 4]),
    #[error("it speaks version {0} of the worker protocol, this parity version {PROTOCOL}")]
    Version(u32),
    #[error("a frame claims {0} bytes, more than the limit of {MAX_LENGTH}")]
    TooLong(u64),
    #[error("the pipe ended inside a frame")]
    Truncated,
    #[error("a frame cannot be encoded: {0}")]
    Encode(#[from] rmp_serde::encode::Error),
    #[error("a frame cannot be decoded: {0}")]
    Decode(#[from] rmp_serde::decode::Error),
}

/// Writes one message and flushes it.
pub(crate) fn write<T: Serialize>(out: &mut impl Write, message: &T) -> Result<(), FrameError> {
    let body = rmp_serde::to_vec_named(message)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|&length| length <= MAX_LENGTH);
    let length = length.ok_or(FrameError::TooLong(body.len() as u64))?;
    out.write_all(&MAGIC)?;
    out.write_all(&PROTOCOL.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&body)?;
    out.flush()?;
    Ok(())
}

/// Reads one message; `None` when the pipe ended between two frames.
pub(crate) fn read<T: DeserializeOwned>(input: &mut impl Read) -> Result<Option<T>, FrameError> {
    let Some(magic) = read_word(input)? else {
        return Ok(None);
    };
    if magic != MAGIC {
        return Err(FrameError::NotAFrame(magic));
    }
    let version = u32::from_le_bytes(read_word(input)?.ok_or(FrameError::Truncated)?);
    if version != PROTOCOL {
        return Err(FrameError::Version(version));
    }
    let length = u32::from_le_bytes(read_word(input)?.ok_or(FrameError::Truncated)?);
    if length > MAX_LENGTH {
        return Err(FrameError::TooLong(u64::from(length)));
    }
    let mut body = vec![0; length as usize];
    input.read_exact(&mut body).map_err(truncated)?;
    Ok(Some(rmp_serde::from_slice(&body)?))
}

/// Four bytes, or `None` at the end of the pipe.
fn read_word(input: &mut impl Read) -> Result<Option<[u8; 4]>, FrameError> {
    let mut word = [0; 4];
    loop {
        match input.read(&mut word[..1]) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    input.read_exact(&mut word[1..]).map_err(truncated)?;
    Ok(Some(word))
}

fn truncated(error: io::Error) -> FrameError {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        FrameError::Truncated
    } else {
        error.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &text).unwrap();
        bytes
    }

    #[test]
    fn messages_come_back_in_order_and_the_end_is_none() {
        let bytes = [frame("one"), frame("two")].concat();
        let mut input = bytes.as_slice();
        assert_eq!(read::<String>(&mut input).unwrap().as_deref(), Some("one"));
        assert_eq!(read::<String>(&mut input).unwrap().as_deref(), Some("two"));
        assert_eq!(read::<String>(&mut input).unwrap(), None);
    }

    #[test]
    fn stray_output_is_not_taken_for_a_frame() {
        let error = read::<String>(&mut b"hello, world".as_slice()).unwrap_err();
        assert!(matches!(error, FrameError::NotAFrame(bytes) if &bytes == b"hell"));
    }

    #[test]
    fn a_cut_frame_is_truncated_at_every_length() {
        let whole = frame("text");
        for length in 1..whole.len() {
            let error = read::<String>(&mut &whole[..length]).unwrap_err();
            assert!(matches!(error, FrameError::Truncated), "{length}: {error}");
        }
    }

    #[test]
    fn an_absurd_length_is_refused_before_it_is_allocated() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(PROTOCOL.to_le_bytes());
        bytes.extend(u32::MAX.to_le_bytes());
        assert!(matches!(
            read::<String>(&mut bytes.as_slice()),
            Err(FrameError::TooLong(_))
        ));
    }

    #[test]
    fn a_frame_of_another_version_is_told_from_garbage_whatever_it_holds() {
        let mut bytes = frame("text");
        bytes[MAGIC.len()] += 1;
        let error = read::<Vec<u64>>(&mut bytes.as_slice()).unwrap_err();
        assert!(
            matches!(error, FrameError::Version(found) if found == PROTOCOL + 1),
            "{error}"
        );
    }
}
