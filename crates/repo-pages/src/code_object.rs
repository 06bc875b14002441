//! What a compiled module says of its kernels: their names, the arguments each declares and what it takes, as the pages show
//! them. The crate `code-object` reads the file.

use std::{collections::BTreeMap, fmt};

use code_object::ArgKind;

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

/// Why a file is not a code object.
#[derive(Debug, thiserror::Error)]
pub enum BadCodeObject {
    /// The file is not called `module.target.hsaco`.
    #[error("a code object is called module.target.hsaco, as in unary.gfx1100.hsaco")]
    Name,
    /// The content is not a code object, or a broken one.
    #[error(transparent)]
    Content(#[from] code_object::Error),
    /// A code object without kernels.
    #[error("the file holds no kernel")]
    Empty,
}

impl CodeObject {
    /// Reads the kernels from a file's name and content.
    ///
    /// # Errors
    /// Another file name, content that is not a code object, or no kernel in it.
    pub fn read(file_name: &str, elf: &[u8]) -> Result<CodeObject, BadCodeObject> {
        let stem = file_name.strip_suffix(".hsaco").ok_or(BadCodeObject::Name)?;
        let (module, target) = stem.split_once('.').ok_or(BadCodeObject::Name)?;
        let described = code_object::CodeObject::parse(elf)?.metadata()?.kernels;
        if described.is_empty() {
            return Err(BadCodeObject::Empty);
        }
        let resources = described.iter().map(|kernel| {
            let taken = Resources {
                vgprs: kernel.vgprs.into(),
                sgprs: kernel.sgprs.into(),
                lds: kernel.group_segment_size.into(),
                scratch: kernel.private_segment_size.into(),
                workgroup: kernel.max_workgroup_size.into(),
                wave: kernel.wavefront_size.into(),
            };
            (kernel.name.clone(), taken)
        });
        let kernels = described.iter().map(|kernel| {
            let explicit = kernel.args.iter().filter(|arg| !arg.kind.is_hidden());
            let args = explicit.map(|arg| match arg.kind {
                ArgKind::GlobalBuffer => Arg::Pointer,
                _ => Arg::Value(arg.size.into()),
            });
            (kernel.name.clone(), args.collect())
        });
        Ok(CodeObject {
            module: module.to_owned(),
            target: target.to_owned(),
            kernels: kernels.collect(),
            resources: resources.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_code_object_is_refused() {
        let refused = |name, elf: &[u8]| CodeObject::read(name, elf).unwrap_err().to_string();
        assert!(refused("unary.so", b"").starts_with("a code object is called"));
        assert!(refused("unary.gfx1100.hsaco", b"text").starts_with("not a code object"));
    }
}
