//! Kernel arguments and buffer contents as text: `u32:5`, `buf:f32:16:iota`, and elements back to text.

use std::path::PathBuf;
use std::str::FromStr;

use half::{bf16, f16};

use crate::kernel::at_most;

/// A type of scalars and elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Type {
    const ALL: [(&'static str, Type); 12] = [
        ("u8", Type::U8),
        ("i8", Type::I8),
        ("u16", Type::U16),
        ("i16", Type::I16),
        ("u32", Type::U32),
        ("i32", Type::I32),
        ("u64", Type::U64),
        ("i64", Type::I64),
        ("f16", Type::F16),
        ("bf16", Type::Bf16),
        ("f32", Type::F32),
        ("f64", Type::F64),
    ];

    fn named(name: &str) -> Result<Type, String> {
        let found = Type::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, ty)| *ty).ok_or_else(|| {
            let known: Vec<_> = Type::ALL.iter().map(|(name, _)| *name).collect();
            format!("no type `{name}`; there are {}", known.join(", "))
        })
    }

    /// Bytes of a value.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Type::U8 | Type::I8 => 1,
            Type::U16 | Type::I16 | Type::F16 | Type::Bf16 => 2,
            Type::U32 | Type::I32 | Type::F32 => 4,
            Type::U64 | Type::I64 | Type::F64 => 8,
        }
    }

    /// A number as the bytes of this type.
    fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        fn number<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
            text.parse().map_err(|error| format!("`{text}`: {error}"))
        }
        /// Decimal, or hexadecimal bits.
        fn integer<T: TryFrom<i128>>(text: &str) -> Result<T, String> {
            let value = match text.strip_prefix("0x") {
                Some(digits) => {
                    i128::from_str_radix(digits, 16).map_err(|error| format!("`{text}`: {error}"))?
                }
                None => number(text)?,
            };
            T::try_from(value).map_err(|_| format!("`{text}` does not fit the type"))
        }
        Ok(match self {
            Type::U8 => integer::<u8>(text)?.to_le_bytes().to_vec(),
            Type::I8 => integer::<i8>(text)?.to_le_bytes().to_vec(),
            Type::U16 => integer::<u16>(text)?.to_le_bytes().to_vec(),
            Type::I16 => integer::<i16>(text)?.to_le_bytes().to_vec(),
            Type::U32 => integer::<u32>(text)?.to_le_bytes().to_vec(),
            Type::I32 => integer::<i32>(text)?.to_le_bytes().to_vec(),
            Type::U64 => integer::<u64>(text)?.to_le_bytes().to_vec(),
            Type::I64 => integer::<i64>(text)?.to_le_bytes().to_vec(),
            Type::F16 => f16::from_f64(number(text)?).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f64(number(text)?).to_le_bytes().to_vec(),
            Type::F32 => number::<f32>(text)?.to_le_bytes().to_vec(),
            Type::F64 => number::<f64>(text)?.to_le_bytes().to_vec(),
        })
    }

    /// A small count as this type; integers wrap.
    fn count(self, value: u64) -> Vec<u8> {
        match self {
            Type::F16 => f16::from_f64(value as f64).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f64(value as f64).to_le_bytes().to_vec(),
            Type::F32 => (value as f32).to_le_bytes().to_vec(),
            Type::F64 => (value as f64).to_le_bytes().to_vec(),
            _ => value.to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// A number of an integer in -8 to 7, in quarters for floats; the sequence is always the same.
    fn random(self, state: &mut u64) -> Vec<u8> {
        // Constants of Knuth's MMIX generator; the upper bits are the good ones.
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let draw = (*state >> 58) as i64;
        let float = draw as f64 / 4.0 - 8.0;
        match self {
            Type::F16 => f16::from_f64(float).to_le_bytes().to_vec(),
            Type::Bf16 => bf16::from_f64(float).to_le_bytes().to_vec(),
            Type::F32 => (float as f32).to_le_bytes().to_vec(),
            Type::F64 => float.to_le_bytes().to_vec(),
            _ => (draw % 16).to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// An element's text.
    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let bits = bytes
            .iter()
            .rev()
            .fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        match self {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => bits.to_string(),
            Type::I8 => (bits as i8).to_string(),
            Type::I16 => (bits as i16).to_string(),
            Type::I32 => (bits as i32).to_string(),
            Type::I64 => (bits as i64).to_string(),
            Type::F16 => f16::from_bits(bits as u16).to_string(),
            Type::Bf16 => bf16::from_bits(bits as u16).to_string(),
            Type::F32 => f32::from_bits(bits as u32).to_string(),
            Type::F64 => f64::from_bits(bits).to_string(),
        }
    }
}

/// What a buffer holds before the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing was written there.
    Unwritten,
    Iota,
    Random,
    /// The same element everywhere.
    Each(Vec<u8>),
    File(PathBuf),
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Its bytes.
    Scalar(Vec<u8>),
    Buffer {
        ty: Type,
        count: usize,
        content: Content,
    },
}

impl Argument {
    /// Bytes of a buffer before the launch; `None` when it is not written at all.
    pub(crate) fn content(&self) -> Result<Option<Vec<u8>>, String> {
        let Argument::Buffer { ty, count, content } = self else {
            return Ok(None);
        };
        let mut state = 1;
        Ok(match content {
            Content::Unwritten => None,
            Content::Iota => Some((0..*count).flat_map(|i| ty.count(i as u64)).collect()),
            Content::Random => Some((0..*count).flat_map(|_| ty.random(&mut state)).collect()),
            Content::Each(bytes) => Some(bytes.repeat(*count)),
            Content::File(path) => {
                let size = count * ty.bytes();
                let bytes = at_most(path, size)?;
                if bytes.len() > size {
                    let path = path.display();
                    return Err(format!("{path} has more bytes than the buffer, which has {size}"));
                }
                if bytes.len() < size {
                    return Err(format!(
                        "{} has {} bytes, the buffer {size}",
                        path.display(),
                        bytes.len()
                    ));
                }
                Some(bytes)
            }
        })
    }
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = "an argument is `TYPE:VALUE` or `buf:TYPE:COUNT:CONTENT`";
        let (kind, rest) = text.split_once(':').ok_or_else(|| usage.to_owned())?;
        if kind != "buf" {
            return Ok(Argument::Scalar(Type::named(kind)?.parse(rest)?));
        }
        let mut parts = rest.splitn(3, ':');
        let (Some(ty), Some(count), Some(content)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(usage.to_owned());
        };
        let ty = Type::named(ty)?;
        let count: usize = count.parse().map_err(|error| format!("`{count}`: {error}"))?;
        let content = match content {
            "unwritten" => Content::Unwritten,
            "zero" => Content::Each(vec![0; ty.bytes()]),
            "iota" => Content::Iota,
            "random" => Content::Random,
            path if path.starts_with('@') => Content::File(path[1..].into()),
            number => Content::Each(ty.parse(number)?),
        };
        Ok(Argument::Buffer { ty, count, content })
    }
}

/// A buffer to show, or to write to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// The argument's number.
    pub(crate) argument: usize,
    pub(crate) file: Option<PathBuf>,
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, file) = match text.split_once(':') {
            Some((number, file)) => (number, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let argument = number.parse().map_err(|error| format!("`{number}`: {error}"))?;
        Ok(Output { argument, file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(text: &str) -> Argument {
        text.parse().unwrap()
    }

    #[test]
    fn a_scalar_is_its_bytes() {
        assert_eq!(argument("u32:5"), Argument::Scalar(vec![5, 0, 0, 0]));
        assert_eq!(argument("i16:-2"), Argument::Scalar(vec![0xfe, 0xff]));
        assert_eq!(argument("f16:1.5"), Argument::Scalar(vec![0, 0x3e]));
        assert_eq!(
            argument("u64:0x100"),
            Argument::Scalar(vec![0, 1, 0, 0, 0, 0, 0, 0])
        );
    }

    #[test]
    fn a_buffer_counts_repeats_or_is_left_alone() {
        let content = |text: &str| argument(text).content().unwrap();
        assert_eq!(content("buf:u8:3:iota"), Some(vec![0, 1, 2]));
        assert_eq!(content("buf:u16:2:7"), Some(vec![7, 0, 7, 0]));
        assert_eq!(content("buf:f32:2:unwritten"), None);
        assert_eq!(content("buf:i32:9:random"), content("buf:i32:9:random"));
    }

    #[test]
    fn what_is_no_argument_says_what_one_is() {
        let error = |text: &str| text.parse::<Argument>().unwrap_err();
        assert!(error("5").contains("TYPE:VALUE"));
        assert!(error("f8:5").contains("there are u8"));
        assert!(error("u8:256").contains("does not fit"));
        assert!(error("buf:f32:16").contains("COUNT"));
        assert!(error("buf:f32:many:zero").contains("many"));
    }

    #[test]
    fn an_element_reads_as_it_was_written() {
        for (ty, text) in [
            (Type::I8, "-3"),
            (Type::F32, "0.1"),
            (Type::Bf16, "2.5"),
            (Type::U64, "18446744073709551615"),
        ] {
            assert_eq!(ty.show(&ty.parse(text).unwrap()), text);
        }
    }
}
