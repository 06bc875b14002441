//! The code objects of this crate's kernels for a card of each architecture, for tests that read them and run none: as the build has
//! them, compiled now where it has no such target.

use std::path::Path;
use std::sync::OnceLock;

use kernel_build::Target;

/// RDNA 3, with waves of 32 lanes, and CDNA 3, with waves of 64.
const TARGETS: &str = "gfx1100,gfx942";

type CodeObjects = Vec<(String, String, Vec<u8>)>;

/// Every code object: target, module, ELF file.
pub(crate) fn code_objects() -> impl Iterator<Item = (&'static str, &'static str, &'static [u8])> {
    static COMPILED: OnceLock<CodeObjects> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| compile().unwrap_or_else(|error| panic!("{error}")));
    compiled
        .iter()
        .map(|(target, module, elf)| (target.as_str(), module.as_str(), elf.as_slice()))
}

fn compile() -> Result<CodeObjects, String> {
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let built = kernel_build::build(&kernels, &Target::parse_list(TARGETS)?, out.path(), jobs)?;
    let read = |object: kernel_build::CodeObject| {
        let elf = std::fs::read(&object.path).map_err(|error| error.to_string())?;
        Ok((object.target, object.module, elf))
    };
    built.code_objects.into_iter().map(read).collect()
}
