//! The metadata note: each kernel's arguments, limits and resources, as the compiler wrote them.
//!
//! Layout: LLVM, "User Guide for AMDGPU Backend", "Code Object V3 Metadata" to "V5". What a field means for a launch is
//! decided by who launches.

use std::fmt;

use crate::Error;
use crate::bytes::Bytes;
use crate::msgpack::{Content, Value};

/// Arguments reach at most this far; a kernarg segment has a few hundred bytes in practice.
pub const MAX_KERNARG: u32 = 4096 + 256;
/// Bytes of a pointer to device memory.
const POINTER: u32 = 8;

/// What the notes of a code object say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Version of the notes' format: 1.1 in code objects of version 4, 1.2 in those of versions 5 and 6.
    pub version: [u32; 2],
    /// The processor with its features, such as `gfx90a:sramecc+`, without the triple in front of it.
    pub target: Option<String>,
    /// The kernels, in the order of the notes.
    pub kernels: Vec<KernelMetadata>,
}

/// What a note says about one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMetadata {
    /// Its name.
    pub name: String,
    /// The symbol of its descriptor.
    pub symbol: String,
    /// Whether the runtime starts it when it loads (`init`) or unloads (`fini`) the code object.
    pub runs_unasked: bool,
    /// Its arguments, the hidden ones included.
    pub args: Vec<Arg>,
    /// Bytes of the kernarg segment.
    pub kernarg_size: u32,
    /// Bytes of LDS of a workgroup, before those that a launch adds.
    pub group_segment_size: u32,
    /// Bytes of private memory of a work-item.
    pub private_segment_size: u32,
    /// Work-items that a workgroup may have.
    pub max_workgroup_size: u32,
    /// Lanes of a wave: 32 or 64.
    pub wavefront_size: u32,
    /// Vector registers of a lane, accumulation registers included.
    pub vgprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers that the compiler had to keep in private memory.
    pub spilled_vgprs: u32,
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Its name in the source, where the compiler kept it.
    pub name: Option<String>,
    /// Byte offset in the kernarg segment.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// What it is.
    pub kind: ArgKind,
}

/// What an argument is, and who fills it in: `.value_kind`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// Bytes of the caller.
    ByValue,
    /// A device pointer of the caller.
    GlobalBuffer,
    /// Dynamic LDS passed as a pointer.
    DynamicSharedPointer,
    /// Number of whole workgroups in dimension 0, 1 or 2.
    HiddenBlockCount(u8),
    /// Work-items of a workgroup in dimension 0, 1 or 2.
    HiddenGroupSize(u8),
    /// Work-items of the last, partial workgroup in dimension 0, 1 or 2.
    HiddenRemainder(u8),
    /// First global id in dimension 0, 1 or 2.
    HiddenGlobalOffset(u8),
    /// Number of dimensions.
    HiddenGridDims,
    /// Bytes of dynamic LDS.
    HiddenDynamicLdsSize,
    /// Upper half of the address range of private memory.
    HiddenPrivateBase,
    /// Upper half of the address range of LDS.
    HiddenSharedBase,
    /// Another hidden argument, by its name: a service of the runtime, or padding.
    HiddenOther(String),
    /// Another argument of the caller, by its name: an image, a sampler, a queue.
    Other(String),
}

/// The kinds that have a name of their own.
const ARG_KINDS: [(&str, ArgKind); 19] = [
    ("by_value", ArgKind::ByValue),
    ("global_buffer", ArgKind::GlobalBuffer),
    ("dynamic_shared_pointer", ArgKind::DynamicSharedPointer),
    ("hidden_block_count_x", ArgKind::HiddenBlockCount(0)),
    ("hidden_block_count_y", ArgKind::HiddenBlockCount(1)),
    ("hidden_block_count_z", ArgKind::HiddenBlockCount(2)),
    ("hidden_group_size_x", ArgKind::HiddenGroupSize(0)),
    ("hidden_group_size_y", ArgKind::HiddenGroupSize(1)),
    ("hidden_group_size_z", ArgKind::HiddenGroupSize(2)),
    ("hidden_remainder_x", ArgKind::HiddenRemainder(0)),
    ("hidden_remainder_y", ArgKind::HiddenRemainder(1)),
    ("hidden_remainder_z", ArgKind::HiddenRemainder(2)),
    ("hidden_global_offset_x", ArgKind::HiddenGlobalOffset(0)),
    ("hidden_global_offset_y", ArgKind::HiddenGlobalOffset(1)),
    ("hidden_global_offset_z", ArgKind::HiddenGlobalOffset(2)),
    ("hidden_grid_dims", ArgKind::HiddenGridDims),
    ("hidden_dynamic_lds_size", ArgKind::HiddenDynamicLdsSize),
    ("hidden_private_base", ArgKind::HiddenPrivateBase),
    ("hidden_shared_base", ArgKind::HiddenSharedBase),
];

impl ArgKind {
    fn named(name: &str) -> ArgKind {
        let known = ARG_KINDS.iter().find(|(known, _)| *known == name);
        match known {
            Some((_, kind)) => kind.clone(),
            None if name.starts_with("hidden_") => ArgKind::HiddenOther(name.to_owned()),
            None => ArgKind::Other(name.to_owned()),
        }
    }

    /// Whether the runtime fills it in, and not the caller.
    pub fn is_hidden(&self) -> bool {
        match self {
            ArgKind::ByValue | ArgKind::GlobalBuffer | ArgKind::DynamicSharedPointer | ArgKind::Other(_) => {
                false
            }
            ArgKind::HiddenBlockCount(_)
            | ArgKind::HiddenGroupSize(_)
            | ArgKind::HiddenRemainder(_)
            | ArgKind::HiddenGlobalOffset(_)
            | ArgKind::HiddenGridDims
            | ArgKind::HiddenDynamicLdsSize
            | ArgKind::HiddenPrivateBase
            | ArgKind::HiddenSharedBase
            | ArgKind::HiddenOther(_) => true,
        }
    }
}

impl fmt::Display for ArgKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgKind::HiddenOther(name) | ArgKind::Other(name) => f.write_str(name),
            known => {
                let named = ARG_KINDS.iter().find(|(_, kind)| kind == known);
                f.write_str(named.map_or("", |(name, _)| name))
            }
        }
    }
}

/// Reads the content of a note.
pub(crate) fn read(note: &Bytes<'_>, root: &Value<'_>) -> Result<Metadata, Error> {
    let root = Map { note, value: root };
    let kernels = root
        .list("amdhsa.kernels")?
        .ok_or_else(|| root.lacks("the list `amdhsa.kernels`"))?;
    let target = root.text("amdhsa.target")?;
    let version = root.get("amdhsa.version")?.map(|version| &version.content);
    let version = match version {
        Some(Content::List(numbers)) => match numbers.as_slice() {
            [major, minor] => [&major.content, &minor.content],
            _ => return Err(root.lacks("two numbers `amdhsa.version`")),
        },
        _ => return Err(root.lacks("the list `amdhsa.version`")),
    };
    let [
        Content::Number(major @ 0..=0xffff),
        Content::Number(minor @ 0..=0xffff),
    ] = version
    else {
        return Err(root.lacks("the numbers of `amdhsa.version`"));
    };
    Ok(Metadata {
        version: [*major as u32, *minor as u32],
        // `amdgcn-amd-amdhsa--gfx90a:sramecc+`: the environment between the last two dashes is empty.
        target: target.map(|target| {
            target
                .rsplit_once("--")
                .map_or(target, |(_, name)| name)
                .to_owned()
        }),
        kernels: kernels.map(kernel).collect::<Result<_, _>>()?,
    })
}

fn kernel(map: Map<'_, '_>) -> Result<KernelMetadata, Error> {
    let kernarg_size = map.number(".kernarg_segment_size")?;
    if kernarg_size > MAX_KERNARG {
        let found = format!("{kernarg_size} bytes");
        return Err(map.wrong(format!("a kernarg segment of at most {MAX_KERNARG} bytes"), found));
    }
    let required = |key| {
        map.text(key)?
            .ok_or_else(|| map.lacks(&format!("the text `{key}`")))
    };
    Ok(KernelMetadata {
        name: required(".name")?.to_owned(),
        symbol: required(".symbol")?.to_owned(),
        runs_unasked: matches!(map.text(".kind")?, Some("init" | "fini")),
        args: match map.list(".args")? {
            None => Vec::new(),
            Some(args) => args
                .map(|arg| argument(&arg, kernarg_size))
                .collect::<Result<_, _>>()?,
        },
        kernarg_size,
        group_segment_size: map.number(".group_segment_fixed_size")?,
        private_segment_size: map.number(".private_segment_fixed_size")?,
        max_workgroup_size: map.number(".max_flat_workgroup_size")?,
        wavefront_size: map.number(".wavefront_size")?,
        vgprs: map.number(".vgpr_count")?,
        sgprs: map.number(".sgpr_count")?,
        spilled_vgprs: match map.get(".vgpr_spill_count")? {
            Some(_) => map.number(".vgpr_spill_count")?,
            None => 0,
        },
    })
}

fn argument(map: &Map<'_, '_>, kernarg_size: u32) -> Result<Arg, Error> {
    let kind = map
        .text(".value_kind")?
        .ok_or_else(|| map.lacks("the text `.value_kind`"))?;
    let arg = Arg {
        name: map.text(".name")?.map(str::to_owned),
        offset: map.number(".offset")?,
        size: map.number(".size")?,
        kind: ArgKind::named(kind),
    };
    if arg.kind == ArgKind::GlobalBuffer && arg.size != POINTER {
        return Err(map.wrong(
            format!("a pointer of {POINTER} bytes"),
            format!("{} bytes", arg.size),
        ));
    }
    match arg.offset.checked_add(arg.size) {
        Some(end) if end <= kernarg_size => Ok(arg),
        _ => {
            let found = format!("{} bytes at {}", arg.size, arg.offset);
            Err(map.wrong(
                format!("an argument within the kernarg segment of {kernarg_size} bytes"),
                found,
            ))
        }
    }
}

/// A value that should be a map with texts as keys.
struct Map<'v, 'a> {
    note: &'v Bytes<'a>,
    value: &'v Value<'a>,
}

impl<'v, 'a> Map<'v, 'a> {
    /// The first entry of that key.
    fn get(&self, key: &str) -> Result<Option<&'v Value<'a>>, Error> {
        let Content::Map(entries) = &self.value.content else {
            return Err(self.wrong("a map", "another value"));
        };
        let mut entries = entries.iter();
        Ok(entries
            .find(|[name, _]| name.content == Content::Text(key))
            .map(|[_, value]| value))
    }

    fn number(&self, key: &str) -> Result<u32, Error> {
        let expected = || format!("the number `{key}`");
        let value = self.get(key)?.ok_or_else(|| self.lacks(&expected()))?;
        match value.content {
            Content::Number(number) => u32::try_from(number).ok(),
            _ => None,
        }
        .ok_or_else(|| {
            self.note
                .wrong(value.at, format!("{} in 32 bits", expected()), "another value")
        })
    }

    fn text(&self, key: &str) -> Result<Option<&'a str>, Error> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        match value.content {
            Content::Text(text) => Ok(Some(text)),
            _ => Err(self
                .note
                .wrong(value.at, format!("the text `{key}`"), "another value")),
        }
    }

    fn list(&self, key: &str) -> Result<Option<impl Iterator<Item = Map<'v, 'a>>>, Error> {
        let Some(value) = self.get(key)? else {
            return Ok(None);
        };
        let Content::List(list) = &value.content else {
            return Err(self
                .note
                .wrong(value.at, format!("the list `{key}`"), "another value"));
        };
        let note = self.note;
        Ok(Some(list.iter().map(move |value| Map { note, value })))
    }

    fn wrong(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        self.note.wrong(self.value.at, expected, found)
    }

    fn lacks(&self, expected: &str) -> Error {
        self.wrong(expected, "a map without it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msgpack;

    fn text(text: &str) -> Vec<u8> {
        [&[0xd9, text.len() as u8], text.as_bytes()].concat()
    }

    fn number(value: u32) -> Vec<u8> {
        [&[0xce], &value.to_be_bytes()[..]].concat()
    }

    fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let entries = entries
            .iter()
            .map(|(key, value)| [text(key), value.clone()].concat());
        let entries: Vec<_> = entries.collect();
        [vec![0x80 | entries.len() as u8], entries.concat()].concat()
    }

    fn list(element: Vec<u8>) -> Vec<u8> {
        [vec![0x91], element].concat()
    }

    /// A note with one kernel that has one argument; the entry `without` is left out of every map.
    fn note(kind: &str, offset: u32, size: u32, without: &str) -> Vec<u8> {
        let but = |entries: &[(&'static str, Vec<u8>)]| {
            let kept: Vec<_> = entries
                .iter()
                .filter(|(key, _)| *key != without)
                .cloned()
                .collect();
            map(&kept)
        };
        let arg = but(&[
            (".offset", number(offset)),
            (".size", number(size)),
            (".value_kind", text(kind)),
        ]);
        let kernel = but(&[
            (".name", text("k")),
            (".symbol", text("k.kd")),
            (".kind", text("init")),
            (".args", list(arg)),
            (".kernarg_segment_size", number(16)),
            (".group_segment_fixed_size", number(64)),
            (".private_segment_fixed_size", number(0)),
            (".max_flat_workgroup_size", number(1024)),
            (".wavefront_size", number(32)),
            (".vgpr_count", number(8)),
            (".sgpr_count", number(16)),
        ]);
        but(&[
            ("amdhsa.version", [vec![0x92], number(1), number(2)].concat()),
            ("amdhsa.target", text("amdgcn-amd-amdhsa--gfx90a:sramecc+")),
            ("amdhsa.kernels", list(kernel)),
        ])
    }

    fn parse(bytes: &[u8]) -> Result<Metadata, String> {
        let note = Bytes::new("metadata note", 0, bytes);
        let read = msgpack::parse(note).and_then(|root| read(&note, &root));
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn a_kernel_is_read_with_its_arguments() {
        let metadata = parse(&note("hidden_remainder_y", 8, 2, "")).unwrap();
        assert_eq!(metadata.target.as_deref(), Some("gfx90a:sramecc+"));
        let kernel = &metadata.kernels[0];
        let arg = Arg {
            name: None,
            offset: 8,
            size: 2,
            kind: ArgKind::HiddenRemainder(1),
        };
        assert_eq!((&kernel.args, kernel.runs_unasked), (&vec![arg], true));
        assert_eq!((kernel.group_segment_size, kernel.kernarg_size), (64, 16));
        assert_eq!((metadata.version, kernel.spilled_vgprs), ([1, 2], 0));
    }

    #[test]
    fn what_is_missing_is_named() {
        for key in [
            "amdhsa.version",
            "amdhsa.kernels",
            ".name",
            ".symbol",
            ".kernarg_segment_size",
            ".group_segment_fixed_size",
            ".private_segment_fixed_size",
            ".max_flat_workgroup_size",
            ".wavefront_size",
            ".vgpr_count",
            ".sgpr_count",
            ".offset",
            ".size",
            ".value_kind",
        ] {
            let error = parse(&note("by_value", 0, 8, key)).unwrap_err();
            assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
        }
        for key in ["amdhsa.target", ".kind", ".args"] {
            assert!(parse(&note("by_value", 0, 8, key)).is_ok(), "{key}");
        }
    }

    #[test]
    fn an_argument_outside_the_segment_is_refused() {
        assert!(parse(&note("by_value", 8, 8, "")).is_ok());
        let error = parse(&note("by_value", 12, 8, "")).unwrap_err();
        assert!(error.contains("8 bytes at 12"), "{error}");
        parse(&note("by_value", u32::MAX, 8, "")).unwrap_err();
    }

    #[test]
    fn a_pointer_has_the_size_of_an_address() {
        assert!(parse(&note("global_buffer", 0, 8, "")).is_ok());
        let error = parse(&note("global_buffer", 0, 4, "")).unwrap_err();
        assert!(error.contains("4 bytes"), "{error}");
    }

    #[test]
    fn every_kind_prints_as_it_is_written_and_others_keep_their_names() {
        let names = ARG_KINDS.iter().map(|(name, _)| *name);
        for name in names.chain(["hidden_hostcall_buffer", "image"]) {
            let kind = ArgKind::named(name);
            assert_eq!(
                (kind.to_string(), kind.is_hidden()),
                (name.into(), name.starts_with("hidden_"))
            );
        }
    }

    #[test]
    fn every_prefix_of_a_note_is_refused() {
        let whole = note("by_value", 0, 8, "");
        assert!(parse(&whole).is_ok());
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_err(), "{end}");
        }
    }
}
