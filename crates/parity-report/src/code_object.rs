//! What a compiled module says of its kernels: their names, and the arguments each declares. Reads the metadata note that
//! compilers put into AMD code objects ("User Guide for AMDGPU Backend", "Code Object V3 Metadata"); executes nothing.

use std::{collections::BTreeMap, fmt};

use object::{
    Endianness,
    elf::NoteType,
    read::elf::{ElfFile64, SectionHeader as _},
};
use rmpv::Value;

/// `NT_AMDGPU_METADATA`, the note whose content is a MessagePack map that describes the kernels.
const NT_AMDGPU_METADATA: NoteType = NoteType(32);

/// The kernels in one compiled module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// Module, as the file is called: `unary`.
    pub module: String,
    /// Instruction-set target, e.g. `gfx1100`.
    pub target: String,
    /// Its kernels by name, with the arguments each declares.
    pub kernels: BTreeMap<String, Vec<Arg>>,
    /// What a wave of each kernel takes, by the kernel's name.
    pub resources: BTreeMap<String, Resources>,
}

/// What a kernel takes of a compute unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Vector registers of a lane, accumulation registers among them.
    pub vgprs: u64,
    /// Scalar registers of a wave.
    pub sgprs: u64,
    /// Bytes of LDS of a workgroup, without what a launch adds.
    pub lds: u64,
    /// Bytes of scratch memory of a lane, into which registers are spilled.
    pub scratch: u64,
    /// Work-items that a workgroup has at most.
    pub workgroup: u64,
    /// Lanes of a wave.
    pub wave: u64,
}

/// An argument that a kernel declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// An address in device memory.
    Pointer,
    /// A value of so many bytes.
    Value(u64),
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Pointer => f.write_str("*"),
            Arg::Value(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// Why a file is no code object.
#[derive(Debug, thiserror::Error)]
pub enum BadCodeObject {
    /// The file is not called `module.target.hsaco`.
    #[error("a code object is called module.target.hsaco, as in unary.gfx1100.hsaco")]
    Name,
    /// The content is no ELF file.
    #[error("not a 64-bit ELF file: {0}")]
    Elf(#[from] object::Error),
    /// The metadata note is damaged.
    #[error("its metadata cannot be read: {0}")]
    Metadata(String),
    /// An ELF file without kernels.
    #[error("the file holds no kernel")]
    Empty,
}

impl CodeObject {
    /// Reads the kernels from a file's name and content.
    ///
    /// # Errors
    /// Another file name, content that is no ELF file, damaged metadata, or no kernel in it.
    pub fn read(file_name: &str, elf: &[u8]) -> Result<CodeObject, BadCodeObject> {
        let stem = file_name.strip_suffix(".hsaco").ok_or(BadCodeObject::Name)?;
        let (module, target) = stem.split_once('.').ok_or(BadCodeObject::Name)?;
        let metadata = metadata(elf)?.ok_or(BadCodeObject::Empty)?;
        let listed = get(&metadata, "amdhsa.kernels").and_then(Value::as_array);
        let kernels = listed.into_iter().flatten().map(kernel);
        let kernels: Option<Vec<_>> = kernels.collect();
        let described = kernels.ok_or_else(|| {
            BadCodeObject::Metadata(
                "a kernel without a name or registers, or an argument without a size".to_owned(),
            )
        })?;
        if described.is_empty() {
            return Err(BadCodeObject::Empty);
        }
        let resources = described
            .iter()
            .map(|(name, _, taken)| (name.clone(), *taken))
            .collect();
        Ok(CodeObject {
            module: module.to_owned(),
            target: target.to_owned(),
            kernels: described
                .into_iter()
                .map(|(name, args, _)| (name, args))
                .collect(),
            resources,
        })
    }
}

/// The content of the metadata note, if there is one.
fn metadata(elf: &[u8]) -> Result<Option<Value>, BadCodeObject> {
    let file = ElfFile64::<Endianness>::parse(elf)?;
    let endian = file.endian();
    for section in file.elf_section_table().iter() {
        let Some(mut notes) = section.notes(endian, elf)? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            if note.n_type(endian) == NT_AMDGPU_METADATA {
                let read = rmpv::decode::read_value(&mut note.desc());
                return read
                    .map(Some)
                    .map_err(|error| BadCodeObject::Metadata(error.to_string()));
            }
        }
    }
    Ok(None)
}

/// A kernel's name, its arguments without those that the runtime fills in, and what it takes.
fn kernel(metadata: &Value) -> Option<(String, Vec<Arg>, Resources)> {
    let name = get(metadata, ".name")?.as_str()?;
    let mut args = Vec::new();
    for arg in get(metadata, ".args")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let kind = get(arg, ".value_kind")?.as_str()?;
        if kind == "global_buffer" {
            args.push(Arg::Pointer);
        } else if !kind.starts_with("hidden_") {
            args.push(Arg::Value(get(arg, ".size")?.as_u64()?));
        }
    }
    let number = |key| get(metadata, key).and_then(Value::as_u64);
    let resources = Resources {
        vgprs: number(".vgpr_count")?,
        sgprs: number(".sgpr_count")?,
        lds: number(".group_segment_fixed_size")?,
        scratch: number(".private_segment_fixed_size")?,
        workgroup: number(".max_flat_workgroup_size")?,
        wave: number(".wavefront_size")?,
    };
    Some((name.to_owned(), args, resources))
}

fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let entry = map
        .as_map()?
        .iter()
        .find(|(name, _)| name.as_str() == Some(key))?;
    Some(&entry.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_code_object_is_refused() {
        let refused = |name, elf: &[u8]| CodeObject::read(name, elf).unwrap_err().to_string();
        assert!(refused("unary.so", b"").starts_with("a code object is called"));
        assert!(refused("unary.gfx1100.hsaco", b"text").starts_with("not a 64-bit ELF file"));
    }
}
