//! The library as C programs use it: compiled against the header, linked, run.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

#[path = "../../hsa-soft/tests/client/built.rs"]
mod built;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The C compiler. A machine without it cannot run these tests, and the failure says so.
const CC: &str = "clang-19";

/// The folder with the library; `ROCM_SOFT_LIBRARY` says where it is, if it was built: with the whole workspace it is made of the
/// same parts as every other test, by itself it needs its own.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("ROCM_SOFT_LIBRARY") {
    Some(folder) => folder.into(),
    None => built::built("rocm-soft-c", "librocm_soft.so")
        .parent()
        .unwrap()
        .to_owned(),
});

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles a C program of the repository and runs it.
#[track_caller]
fn run(source: &str) -> Output {
    let library = &*LIBRARY;
    let name = source.replace('/', "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let output = Command::new(CC)
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root().join("crates/rocm-soft-c/include"))
        .arg(root().join(source))
        .arg("-L")
        .arg(library)
        .arg("-lrocm_soft")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap_or_else(|e| panic!("{CC} is needed to compile the test's program and did not start: {e}"));
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");
    let output = Command::new(&program).output().unwrap();
    std::fs::remove_file(program).unwrap();
    output
}

#[test]
fn the_example_adds_one_and_shows_a_fault() {
    let output = run("examples/gfx_run/add_one.c");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.starts_with("100 elements, the last is 991\nfault: "),
        "{text}"
    );
    assert!(
        text.contains("global_load_b32 v2, v1, s[4:5]") && text.contains("lane 0"),
        "{text}"
    );
}

#[test]
fn every_promise_of_the_header_holds() {
    let output = run("crates/rocm-soft-c/tests/abi.c");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "kept\n");
    assert!(output.status.success());
}

/// Words, each with its assembly text in the comment after it.
fn listing(source: &str) -> Vec<(Vec<u32>, String)> {
    let text = std::fs::read_to_string(root().join(source)).unwrap();
    text.lines()
        .filter(|line| line.trim_start().starts_with("0x"))
        .map(|line| {
            let (words, assembly) = line.split_once("//").unwrap();
            let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
            let parse = |word: &str| u32::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
            (words.map(parse).collect(), assembly.trim().to_owned())
        })
        .collect()
}

#[test]
fn the_words_in_the_c_programs_are_the_instructions_beside_them() {
    for (source, card) in [
        ("examples/gfx_run/add_one.c", gfx_emu::Target::Gfx1100),
        ("crates/rocm-soft-c/tests/abi.c", gfx_emu::Target::Gfx942),
    ] {
        let listing = listing(source);
        assert!(listing.len() > 9, "{source}");
        for (words, assembly) in listing {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let ours = gfx_emu::disassemble(card, &bytes).unwrap();
            let tidy = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!((tidy(&ours.0), ours.1), (assembly, bytes.len()), "{source}");
        }
    }
}
