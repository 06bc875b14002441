//! The code objects that build.rs compiled, for tests that read them and run none.

use std::io::Read;

include!(concat!(env!("OUT_DIR"), "/code_objects.rs"));

/// Every code object: target, module, ELF file.
pub(crate) fn code_objects() -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    CODE_OBJECTS.iter().map(|(target, module, compressed)| {
        let mut elf = Vec::new();
        let read = flate2::read::ZlibDecoder::new(*compressed).read_to_end(&mut elf);
        read.unwrap_or_else(|error| panic!("{module} for {target}: {error}"));
        (*target, *module, elf)
    })
}
