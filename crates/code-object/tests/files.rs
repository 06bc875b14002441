//! Files as clang writes them: code objects, bundles and compressed bundles, whole, cut off and changed.
//!
//! Code objects are compiled here. The bundles in `data/` were written by clang-offload-bundler 19, with `-compress` and
//! without, of an empty host entry and of two such code objects, for gfx1100 and gfx90a.

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use code_object::{ArgKind, CodeObject, Elf, Error, RelocationKind, SymbolKind, bundle};

    const SOURCE: &str = r#"
        #define DEVICE __attribute__((device))
        DEVICE unsigned counter = 7;
        DEVICE unsigned* pointer = &counter;
        extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
        void two_args(unsigned* out, unsigned n) { if (n) *out = *pointer; }
        extern "C" __attribute__((global)) void no_args() {}
    "#;

    /// What clang makes of [`SOURCE`] with more flags. A machine without clang cannot run these tests, and the failure says so.
    fn compile(name: &str, flags: &[&str]) -> Vec<u8> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let file = |ext: &str| -> PathBuf { folder.join(format!("{name}-{}.{ext}", std::process::id())) };
        let (source, out) = (file("hip"), file("out"));
        std::fs::write(&source, SOURCE).unwrap();
        let output = Command::new("clang++-19")
            .args([
                "-x",
                "hip",
                "--cuda-device-only",
                "-nogpuinc",
                "-nogpulib",
                "-O2",
                "-fno-discard-value-names",
            ])
            .args(flags)
            .arg("-o")
            .args([&out, &source])
            .output()
            .unwrap_or_else(|error| {
                panic!("clang++-19 is needed for these tests and did not start: {error}")
            });
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let bytes = std::fs::read(&out).unwrap();
        std::fs::remove_file(source).unwrap();
        std::fs::remove_file(out).unwrap();
        bytes
    }

    fn object(name: &str) -> Vec<u8> {
        compile(name, &["--offload-arch=gfx1100", "--no-gpu-bundle-output"])
    }

    /// Everything that can be asked of a file; panics where an answer contradicts the file.
    fn ask(file: &[u8]) -> Result<usize, Error> {
        let object = CodeObject::parse(file)?;
        let image = object.image()?;
        let symbols = object.symbols()?;
        for relocation in object.relocations()? {
            assert!(relocation.place + relocation.kind.bytes() <= image.len() as u64);
        }
        let metadata = object.metadata()?;
        for kernel in &metadata.kernels {
            let ends = kernel.args.iter().map(|arg| arg.offset + arg.size);
            assert!(ends.max().unwrap_or(0) <= kernel.kernarg_size);
            if let Some(symbol) = symbols.iter().find(|symbol| symbol.name == kernel.symbol) {
                object.descriptor(&image, symbol.address)?;
            }
        }
        Ok(metadata.kernels.len())
    }

    #[test]
    fn a_code_object_says_what_clang_put_into_it() {
        let file = object("whole");
        let object = CodeObject::parse(&file).unwrap();
        assert_eq!(object.machine(), 0x41);
        let metadata = object.metadata().unwrap();
        assert_eq!(metadata.target.as_deref(), Some("gfx1100"));
        let kernel = metadata
            .kernels
            .iter()
            .find(|kernel| kernel.name == "two_args")
            .unwrap();
        let explicit: Vec<_> = kernel.args.iter().filter(|arg| !arg.kind.is_hidden()).collect();
        assert_eq!(
            (explicit[0].offset, explicit[0].size, &explicit[0].kind),
            (0, 8, &ArgKind::GlobalBuffer)
        );
        assert_eq!(
            (explicit[1].name.as_deref(), &explicit[1].kind),
            (Some("n"), &ArgKind::ByValue)
        );
        assert_eq!((kernel.max_workgroup_size, kernel.wavefront_size), (256, 32));
        let (symbols, image) = (object.symbols().unwrap(), object.image().unwrap());
        let symbol = |name: &str| symbols.iter().find(|symbol| symbol.name == name).unwrap();
        let descriptor = object.descriptor(&image, symbol("two_args.kd").address).unwrap();
        assert_eq!(
            (descriptor.wavefront_size(), descriptor.kernarg_size),
            (32, kernel.kernarg_size)
        );
        let entry = symbol("two_args.kd")
            .address
            .checked_add_signed(descriptor.entry_offset);
        assert_eq!(
            (entry, symbol("two_args").kind),
            (Some(symbol("two_args").address), SymbolKind::Function)
        );
        let at = symbol("counter").address as usize;
        assert_eq!(image[at..at + 4], 7_u32.to_le_bytes());
    }

    #[test]
    fn a_pointer_to_a_variable_is_a_relocation() {
        let file = object("relocated");
        let object = CodeObject::parse(&file).unwrap();
        let symbols = object.symbols().unwrap();
        let address = |name: &str| symbols.iter().find(|symbol| symbol.name == name).unwrap().address;
        let relocations = object.relocations().unwrap();
        let relocation = relocations
            .iter()
            .find(|one| one.place == address("pointer"))
            .unwrap();
        let symbol = symbols[relocation.symbol as usize].address;
        assert_eq!(
            relocation.value(0x10_0000, symbol),
            0x10_0000 + address("counter")
        );
        assert!(matches!(
            relocation.kind,
            RelocationKind::Abs64 | RelocationKind::Relative64
        ));
    }

    #[test]
    fn another_file_is_refused_with_what_it_is() {
        let host = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let error = CodeObject::parse(&host).unwrap_err();
        assert!(
            matches!(
                error,
                Error::OtherMachine {
                    field: "the ELF machine",
                    ..
                }
            ),
            "{error}"
        );
        let unlinked = compile(
            "unlinked",
            &[
                "--offload-arch=gfx1100",
                "--no-gpu-bundle-output",
                "-c",
                "-fgpu-rdc",
            ],
        );
        assert!(CodeObject::parse(&unlinked).is_err());
        for begin in [&b"__CLANG_OFFLOAD_BUNDLE__ and more"[..], b"CCOB and more"] {
            let error = CodeObject::parse(begin).unwrap_err().to_string();
            assert!(error.contains("--no-gpu-bundle-output"), "{error}");
        }
        assert!(matches!(CodeObject::parse(b""), Err(Error::NotElf { .. })));
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_at_every_length() {
        let whole = object("cut");
        assert_eq!(ask(&whole).unwrap(), 2);
        for end in 0..whole.len() {
            assert!(
                Elf::parse(&whole[..end]).is_err(),
                "{end} of {} bytes",
                whole.len()
            );
        }
    }

    #[test]
    fn a_flipped_bit_never_panics() {
        let mut file = object("flipped");
        let mut refused = 0;
        for at in 0..file.len() {
            for bit in [0, 4, 7] {
                file[at] ^= 1 << bit;
                refused += usize::from(ask(&file).is_err());
                file[at] ^= 1 << bit;
            }
        }
        assert!(refused > 100, "only {refused} of the flips were noticed");
    }

    /// A bundle as clang writes it, and its compressed form.
    const PLAIN: &[u8] = include_bytes!("data/bundle.bin");
    const PACKED: &[u8] = include_bytes!("data/bundle-zstd.bin");

    #[test]
    fn a_bundle_holds_a_code_object_for_each_processor() {
        assert_eq!(*bundle::unpack(PLAIN).unwrap(), *PLAIN);
        let entries = bundle::entries(PLAIN).unwrap();
        let targets: Vec<_> = entries.iter().map(bundle::Entry::target).collect();
        assert_eq!(targets, [None, Some("gfx1100"), Some("gfx90a")]);
        assert!(entries[0].content.is_empty());
        for entry in &entries[1..] {
            assert_eq!(ask(entry.content).unwrap(), 1);
        }
        for end in 0..PLAIN.len() {
            assert!(bundle::entries(&PLAIN[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn a_compressed_bundle_is_the_plain_one_after_a_header() {
        assert_eq!(*bundle::unpack(PACKED).unwrap(), *PLAIN);
        for end in 4..PACKED.len() {
            assert!(bundle::unpack(&PACKED[..end]).is_err(), "{end} bytes");
        }
    }

    /// A compressed bundle of `version` around compressed data.
    fn packed(version: u16, method: u16, size: u64, data: &[u8]) -> Vec<u8> {
        let total = data.len() as u64 + [20, 24, 32][usize::from(version) - 1];
        let sizes = match version {
            1 => (size as u32).to_le_bytes().to_vec(),
            2 => [(total as u32).to_le_bytes(), (size as u32).to_le_bytes()].concat(),
            _ => [total.to_le_bytes(), size.to_le_bytes()].concat(),
        };
        let (version, method) = (version.to_le_bytes(), method.to_le_bytes());
        // The last eight bytes of the header are a hash of the content, which readers need not know.
        [&b"CCOB"[..], &version, &method, &sizes, &[0; 8], data].concat()
    }

    #[test]
    fn every_version_and_both_methods_are_read_and_sizes_that_lie_are_refused() {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(PLAIN).unwrap();
        let zlib = encoder.finish().unwrap();
        let size = PLAIN.len() as u64;
        // clang 19 writes version 2, whose header has 24 bytes.
        for (method, data) in [(1, &PACKED[24..]), (0, &zlib)] {
            for version in 1..=3 {
                let file = packed(version, method, size, data);
                assert_eq!(*bundle::unpack(&file).unwrap(), *PLAIN, "version {version}");
                for lie in [size - 1, size + 1, u64::from(u32::MAX)] {
                    assert!(bundle::unpack(&packed(version, method, lie, data)).is_err());
                }
                // What follows belongs to another bundle. Only version 1 does not say where it begins.
                let more = [&file, PACKED].concat();
                assert!(version == 1 || *bundle::unpack(&more).unwrap() == *PLAIN);
            }
        }
        let refused = |version, method| {
            bundle::unpack(&packed(version, method, size, &zlib))
                .unwrap_err()
                .to_string()
        };
        assert!(refused(2, 7).contains("found 7"));
        let mut unknown = PACKED.to_vec();
        unknown[4] = 9;
        assert!(
            bundle::unpack(&unknown)
                .unwrap_err()
                .to_string()
                .contains("version 9")
        );
    }
}
