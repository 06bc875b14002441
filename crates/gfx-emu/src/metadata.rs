//! The `NT_AMDGPU_METADATA` note: a MessagePack map with each kernel's arguments and limits.
//!
//! Layout: LLVM, "User Guide for AMDGPU Backend", "Code Object V5 Metadata". Says what the compiler wrote;
//! whether a launch fits to it is launch.rs's business.

use rmpv::Value;

use crate::elf::LoadError;

/// What an argument is and who fills it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// A service of the host runtime, or padding: null on this device.
    HiddenNull,
}

impl ArgKind {
    /// By the metadata's `.value_kind`.
    fn parse(name: &str) -> Option<ArgKind> {
        let dim = match name.as_bytes().last()? {
            b'x' => 0,
            b'y' => 1,
            _ => 2,
        };
        Some(match name {
            "by_value" => ArgKind::ByValue,
            "global_buffer" => ArgKind::GlobalBuffer,
            "dynamic_shared_pointer" => ArgKind::DynamicSharedPointer,
            "hidden_block_count_x" | "hidden_block_count_y" | "hidden_block_count_z" => {
                ArgKind::HiddenBlockCount(dim)
            }
            "hidden_group_size_x" | "hidden_group_size_y" | "hidden_group_size_z" => {
                ArgKind::HiddenGroupSize(dim)
            }
            "hidden_remainder_x" | "hidden_remainder_y" | "hidden_remainder_z" => {
                ArgKind::HiddenRemainder(dim)
            }
            "hidden_global_offset_x" | "hidden_global_offset_y" | "hidden_global_offset_z" => {
                ArgKind::HiddenGlobalOffset(dim)
            }
            "hidden_grid_dims" => ArgKind::HiddenGridDims,
            "hidden_dynamic_lds_size" => ArgKind::HiddenDynamicLdsSize,
            "hidden_private_base" => ArgKind::HiddenPrivateBase,
            "hidden_shared_base" => ArgKind::HiddenSharedBase,
            "hidden_none"
            | "hidden_printf_buffer"
            | "hidden_hostcall_buffer"
            | "hidden_multigrid_sync_arg"
            | "hidden_heap_v1"
            | "hidden_default_queue"
            | "hidden_completion_action"
            | "hidden_queue_ptr" => ArgKind::HiddenNull,
            _ => return None,
        })
    }

    /// Whether the runtime fills it in, and not the caller.
    pub fn is_hidden(self) -> bool {
        !matches!(
            self,
            ArgKind::ByValue | ArgKind::GlobalBuffer | ArgKind::DynamicSharedPointer
        )
    }
}

/// One argument in the kernarg segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelArg {
    /// Byte offset in the segment.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// What it is.
    pub kind: ArgKind,
}

/// What the note says about one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelMetadata {
    pub(crate) name: String,
    /// Symbol of the descriptor.
    pub(crate) symbol: String,
    pub(crate) args: Vec<KernelArg>,
    pub(crate) kernarg_size: u32,
    pub(crate) max_workgroup_size: u32,
    pub(crate) wavefront_size: u32,
    pub(crate) vgprs: u32,
    pub(crate) sgprs: u32,
}

/// Arguments reach at most this far; a kernarg segment is a few hundred bytes in practice.
pub(crate) const MAX_KERNARG: u32 = 4096 + 256;

/// Reads the note's content.
pub(crate) fn parse(mut note: &[u8]) -> Result<Vec<KernelMetadata>, LoadError> {
    let root =
        rmpv::decode::read_value(&mut note).map_err(|e| malformed(&format!("not MessagePack: {e}")))?;
    let kernels = get(&root, "amdhsa.kernels").and_then(Value::as_array);
    kernels
        .ok_or_else(|| malformed("no list `amdhsa.kernels`"))?
        .iter()
        .map(kernel)
        .collect()
}

fn malformed(what: &str) -> LoadError {
    LoadError::Malformed {
        part: "metadata note",
        what: what.to_owned(),
    }
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?
        .iter()
        .find(|(k, _)| k.as_str() == Some(key))
        .map(|(_, v)| v)
}

fn number(map: &Value, key: &str) -> Result<u32, LoadError> {
    get(map, key)
        .and_then(Value::as_u64)
        .and_then(|v| u32::try_from(v).ok())
        .ok_or_else(|| malformed(&format!("no 32-bit number `{key}`")))
}

fn text<'a>(map: &'a Value, key: &str) -> Result<&'a str, LoadError> {
    get(map, key)
        .and_then(Value::as_str)
        .ok_or_else(|| malformed(&format!("no text `{key}`")))
}

fn kernel(map: &Value) -> Result<KernelMetadata, LoadError> {
    let kernarg_size = number(map, ".kernarg_segment_size")?;
    if kernarg_size > MAX_KERNARG {
        return Err(malformed(&format!(
            "a kernarg segment of {kernarg_size} bytes; at most {MAX_KERNARG} fit"
        )));
    }
    let args = match get(map, ".args") {
        None => &[][..],
        Some(list) => list.as_array().ok_or_else(|| malformed("`.args` is no list"))?,
    };
    Ok(KernelMetadata {
        name: text(map, ".name")?.to_owned(),
        symbol: text(map, ".symbol")?.to_owned(),
        args: args
            .iter()
            .map(|arg| argument(arg, kernarg_size))
            .collect::<Result<_, _>>()?,
        kernarg_size,
        max_workgroup_size: number(map, ".max_flat_workgroup_size")?,
        wavefront_size: number(map, ".wavefront_size")?,
        vgprs: number(map, ".vgpr_count")?,
        sgprs: number(map, ".sgpr_count")?,
    })
}

fn argument(map: &Value, kernarg_size: u32) -> Result<KernelArg, LoadError> {
    let kind = text(map, ".value_kind")?;
    let arg = KernelArg {
        offset: number(map, ".offset")?,
        size: number(map, ".size")?,
        kind: ArgKind::parse(kind).ok_or_else(|| malformed(&format!("unknown `.value_kind` `{kind}`")))?,
    };
    match arg.offset.checked_add(arg.size) {
        Some(end) if end <= kernarg_size => Ok(arg),
        _ => Err(malformed(&format!(
            "an argument at {} of {} bytes in a kernarg segment of {kernarg_size}",
            arg.offset, arg.size
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: Vec<(&str, Value)>) -> Value {
        Value::Map(entries.into_iter().map(|(k, v)| (Value::from(k), v)).collect())
    }

    /// A note with one kernel that has one argument at `offset`.
    fn note(kind: &str, offset: u32, size: u32) -> Vec<u8> {
        let arg = map(vec![
            (".offset", offset.into()),
            (".size", size.into()),
            (".value_kind", kind.into()),
        ]);
        let kernel = map(vec![
            (".name", "k".into()),
            (".symbol", "k.kd".into()),
            (".args", Value::Array(vec![arg])),
            (".kernarg_segment_size", 16.into()),
            (".max_flat_workgroup_size", 1024.into()),
            (".wavefront_size", 32.into()),
            (".vgpr_count", 8.into()),
            (".sgpr_count", 16.into()),
        ]);
        let root = map(vec![("amdhsa.kernels", Value::Array(vec![kernel]))]);
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &root).unwrap();
        bytes
    }

    #[test]
    fn an_argument_is_read_with_its_place_and_kind() {
        let kernels = parse(&note("hidden_remainder_y", 8, 2)).unwrap();
        assert_eq!(
            kernels[0].args,
            [KernelArg {
                offset: 8,
                size: 2,
                kind: ArgKind::HiddenRemainder(1)
            }]
        );
    }

    #[test]
    fn an_argument_outside_the_segment_is_refused() {
        assert!(parse(&note("by_value", 8, 8)).is_ok());
        let error = parse(&note("by_value", 12, 8)).unwrap_err().to_string();
        assert!(error.contains("at 12 of 8 bytes"), "{error}");
        parse(&note("by_value", u32::MAX, 8)).unwrap_err();
    }

    #[test]
    fn an_unknown_kind_is_refused_by_name() {
        let error = parse(&note("hidden_new_thing", 0, 8)).unwrap_err().to_string();
        assert!(error.contains("hidden_new_thing"), "{error}");
    }

    #[test]
    fn every_prefix_of_a_note_is_refused() {
        let whole = note("by_value", 0, 8);
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_err(), "{end}");
        }
    }
}
