//! Code objects and bundles: any bytes are read or refused, and what is read lies in the file.
#![no_main]

use code_object::extent::{self, Extent};
use code_object::{CodeObject, Error, bundle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    extents(input);
    let _ = object(input);
    let Ok(unpacked) = bundle::unpack(input) else {
        return;
    };
    for entry in bundle::entries(&unpacked).unwrap_or_default() {
        assert!(entry.content.len() <= unpacked.len());
        let _ = entry.target();
        let _ = object(entry.content);
    }
});

/// Follows the length of a file in memory: each answer asks for more, and the last one lies in the file or is refused.
fn extents(input: &[u8]) {
    let mut len = extent::LEAST;
    while let Some(start) = input.get(..len) {
        match extent::of(start) {
            Ok(Extent::AtLeast(more)) => {
                assert!(more > len);
                len = more;
            }
            Ok(Extent::Whole | Extent::Unsaid) | Err(_) => return,
        }
    }
}

/// Asks for everything, and holds the answers to the file.
fn object(file: &[u8]) -> Result<(), Error> {
    let object = CodeObject::parse(file)?;
    for section in object.elf().sections() {
        assert!(section.offset as usize + section.content.len() <= file.len());
    }
    let image = object.image();
    if let (Ok(image), Ok(relocations)) = (&image, object.relocations()) {
        for relocation in relocations {
            assert!(relocation.place + relocation.kind.bytes() <= image.len() as u64);
            let _ = relocation.value(u64::MAX, relocation.place);
        }
    }
    for kernel in object.metadata()?.kernels {
        for arg in &kernel.args {
            assert!(arg.offset + arg.size <= kernel.kernarg_size, "{arg:?}");
            assert!(!arg.kind.to_string().is_empty() || !arg.kind.is_hidden());
        }
    }
    for symbol in object.symbols()? {
        if let Ok(image) = &image {
            let descriptor = object.descriptor(image, symbol.address);
            assert!(descriptor.is_err() || symbol.address + 64 <= image.len() as u64);
        }
    }
    Ok(())
}
