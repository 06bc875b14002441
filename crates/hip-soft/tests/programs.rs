//! Whole programs, compiled as users compile them and linked with the library, on several cards.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

#[path = "../../hsa-soft/tests/client/built.rs"]
mod built;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// A machine without these cannot run the tests, and the failure says so.
const CLANG: &str = "clang++-19";
const READELF: &str = "llvm-readelf-19";

/// A folder with the library under its names; `ROCM_HIP_LIBRARY` says where it is, if it was built.
static LIBRARY: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let file = match std::env::var_os("ROCM_HIP_LIBRARY") {
        Some(file) => file.into(),
        None => built::built("hip-soft", "libhip_soft.so"),
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["libamdhip64.so.6", "libamdhip64.so.7"] {
        std::os::unix::fs::symlink(&file, folder.path().join(name)).unwrap();
    }
    folder
});

fn ran(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// The program, with code for two cards; `flags` are the compiler's.
fn program(name: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/whole.hip");
    let output = ran(Command::new(CLANG)
        .args(["-x", "hip", "-O2", "-std=c++17", "-nogpuinc", "-nogpulib"])
        .args(["--offload-arch=gfx1100", "--offload-arch=gfx942"])
        .args(["-mcode-object-version=5", "-Wno-unused-command-line-argument"])
        .args(flags)
        .arg(source)
        .args(["--hip-link", "-no-hip-rt", "-o"])
        .arg(&file)
        .arg("-Xlinker")
        .arg(LIBRARY.path().join("libamdhip64.so.6")));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    file
}

/// Runs a program on a card; what it printed, and its exit code.
fn run(program: &Path, card: &str, arguments: &[&str]) -> (String, Option<i32>) {
    let output = ran(Command::new(program)
        .args(arguments)
        .env("LD_LIBRARY_PATH", LIBRARY.path())
        .env("ROCM_SOFT_DEVICES", card));
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

#[test]
fn a_program_with_a_fat_binary_runs_as_it_is() {
    let program = program("plain", &[]);
    for card in ["gfx1100", "gfx942"] {
        assert_eq!(
            run(&program, card, &[]),
            ("all is right\n".to_owned(), Some(0)),
            "{card}"
        );
    }
}

#[test]
fn a_fat_binary_may_be_compressed() {
    let program = program("compressed", &["--offload-compress"]);
    assert_eq!(
        run(&program, "gfx1100", &[]),
        ("all is right\n".to_owned(), Some(0))
    );
}

/// A compressed bundle of version 1, whose header does not say how long it is.
fn of_version_1(content: &[u8], method: u16) -> Vec<u8> {
    let data = if method == 0 {
        let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    } else {
        ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let size = u32::try_from(content.len()).unwrap();
    // Readers need not know the hash.
    let header = [
        &b"CCOB\x01\x00"[..],
        &method.to_le_bytes(),
        &size.to_le_bytes(),
        &[0; 8],
    ];
    [&header.concat()[..], &data].concat()
}

/// The program's code objects in a plain bundle.
fn plain_bundle() -> Vec<u8> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bundle-{}", std::process::id()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/whole.hip");
    let output = ran(Command::new(CLANG)
        .args(["-x", "hip", "-O2", "-std=c++17", "-nogpuinc", "-nogpulib"])
        .args(["--offload-arch=gfx1100", "--offload-arch=gfx942"])
        .args([
            "-mcode-object-version=5",
            "--cuda-device-only",
            "--gpu-bundle-output",
            "-o",
        ])
        .args([&file, &source]));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read(file).unwrap()
}

/// The program around a fat binary that is made already.
fn program_around(name: &str, bundle: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}-{}.hipfb", std::process::id()));
    std::fs::write(&file, bundle).unwrap();
    let flags = [
        "--cuda-host-only",
        "-Xclang",
        "-fcuda-include-gpubinary",
        "-Xclang",
    ];
    program(name, &[&flags[..], &[file.to_str().unwrap()]].concat())
}

#[test]
fn a_fat_binary_may_be_compressed_as_in_version_1() {
    let plain = plain_bundle();
    for (name, method) in [("zlib", 0), ("zstd", 1)] {
        let packed = of_version_1(&plain, method);
        let program = program_around(name, &packed);
        for card in ["gfx1100", "gfx942"] {
            let is_right = ("all is right\n".to_owned(), Some(0));
            assert_eq!(run(&program, card, &[]), is_right, "{name}, {card}");
        }
        // A module of its own, in memory that ends where it does, or that goes on.
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.v1", std::process::id()));
        for rest in [0, 100_000] {
            std::fs::write(&file, [&packed[..], &vec![0xa5; rest]].concat()).unwrap();
            let ran = run(&program, "gfx1100", &["load", file.to_str().unwrap()]);
            assert_eq!(ran, ("it is loaded\n".to_owned(), Some(0)), "{name}, {rest}");
        }
        // Cut off: refused, once, and what reads it does not go beyond its memory.
        for end in [64, 1000, packed.len() - 1] {
            std::fs::write(&file, &packed[..end]).unwrap();
            let (text, code) = run(&program, "gfx1100", &["load", file.to_str().unwrap()]);
            assert_eq!(code, Some(1), "{name}, {end}: {text}");
            assert_eq!(
                text.matches("a module is refused: malformed code object: compressed data")
                    .count(),
                1,
                "{text}"
            );
            assert!(text.contains("hipErrorInvalidImage"), "{name}, {end}: {text}");
        }
    }
    let cut = of_version_1(&plain, 0);
    let (text, code) = run(&program_around("cut", &cut[..cut.len() / 2]), "gfx1100", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("a module is refused: malformed code object: compressed data")
            && text.contains("a fat binary of the program is not registered: hipErrorInvalidImage"),
        "{text}"
    );
}

#[test]
fn a_program_without_code_for_the_card_is_told_so() {
    let (text, code) = run(&program("other", &[]), "gfx90a", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("hipErrorNoBinaryForGpu"), "{text}");
}

#[test]
fn a_kernel_that_faults_ends_the_device_and_is_named() {
    let (text, code) = run(&program("fault", &[]), "gfx1100", &["fault"]);
    assert_eq!(code, Some(3), "{text}");
    for part in [
        "the fault is told",
        "beyond",
        "invalid memory access: store of 4 bytes",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn kernels_that_run_when_the_program_ends_end_first() {
    let program = program("leave", &[]);
    let folder = tempfile::tempdir().unwrap();
    let output = ran(Command::new(program)
        .arg("leave")
        .env("LD_LIBRARY_PATH", LIBRARY.path())
        .env("ROCM_SOFT_REPORT", folder.path()));
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    let report = std::fs::read_to_string(file.path()).unwrap();
    assert!(report.contains("\"launches\":20"), "{report}");
}

#[test]
fn a_program_whose_kernels_get_a_wrong_instruction_fails_and_a_name_that_is_none_is_refused() {
    let program = program("flipped", &[]);
    let flipped = |name: &str, sanitize: &str| {
        let output = ran(Command::new(&program)
            .env("LD_LIBRARY_PATH", LIBRARY.path())
            .env("ROCM_FLIP", name)
            .env("ROCM_SANITIZE", sanitize));
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{name}: {text}");
        text
    };
    assert!(!flipped("global_store_b32", "0").contains("software GPU"));
    assert!(flipped("v_ad_f32", "0").contains("`v_ad_f32` names no instruction"));
    assert!(flipped("v_add_f32,v_mul_f32", "0").contains("is not the mnemonic of an instruction"));
    assert!(flipped("v_add_f32", "1").contains("exclude each other"));
}

/// Programs that AMD's library was linked to ask for a version of each function.
#[test]
fn the_library_has_the_versions_that_programs_ask_for() {
    let map = include_str!("../versions.map");
    let versions: Vec<&str> = map.lines().filter_map(|line| line.strip_suffix(" {};")).collect();
    assert!(
        versions.contains(&"hip_4.2") && versions.contains(&"hip_6.0"),
        "{versions:?}"
    );
    let output = ran(Command::new(READELF)
        .arg("--version-info")
        .arg(LIBRARY.path().join("libamdhip64.so.6")));
    let text = String::from_utf8(output.stdout).unwrap();
    for version in versions {
        assert!(text.contains(&format!("Name: {version}\n")), "{version}: {text}");
    }
}

/// What rocBLAS, rocRAND, hipBLASLt, MIOpen, rocFFT, ggml, Triton, tinygrad, bitsandbytes, OpenMM, CuPy, JAX and ONNX Runtime import of it.
const NEEDED: &str = include_str!("needed.txt");

#[test]
fn every_function_that_known_programs_import_is_exported() {
    let names: Vec<&str> = NEEDED.lines().collect();
    assert_eq!(names.len(), 132);
    for library in ["libamdhip64.so.6", "libamdhip64.so.7"] {
        let output = ran(Command::new(READELF)
            .args(["--dyn-syms", "--wide"])
            .arg(LIBRARY.path().join(library)));
        let text = String::from_utf8(output.stdout).unwrap();
        let defined = text
            .lines()
            .filter(|line| line.contains(" FUNC ") && !line.contains(" UND "));
        let exported: BTreeSet<&str> = defined
            .filter_map(|line| line.split_whitespace().last()?.split('@').next())
            .collect();
        let missing: Vec<&&str> = names.iter().filter(|name| !exported.contains(*name)).collect();
        assert_eq!(missing, [&""; 0], "{library}");
        assert!(!exported.contains("hipNoSuchFunction"));
    }
}
