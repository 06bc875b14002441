//! Where the software GPU stands under a program: below AMD's own HIP runtime, or in its place.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use code_object::Elf;
use rocm_env::{HIP_SEAM, HSA_SEAM, SeamLibrary};

/// What `--seam` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Seam {
    /// `hip` for a program that is linked with libamdhip64 and does not find it, else `hsa`.
    #[default]
    Auto,
    /// This workspace's libamdhip64, in the place of AMD's: no file of AMD's is needed.
    Hip,
    /// This workspace's libhsa-runtime64, below AMD's own libamdhip64.
    Hsa,
}

/// A program's interpreter is found in so many of its first bytes, and its name has so many.
const FIRST: u64 = 1 << 30;
const PT_INTERP: u32 = 3;

impl Seam {
    /// The libraries of both, the one in AMD's place first.
    pub(crate) const LIBRARIES: [&SeamLibrary; 2] = [&HIP_SEAM, &HSA_SEAM];

    /// The library to put under a program.
    pub(crate) fn library(self, program: &OsStr) -> &'static SeamLibrary {
        let hip = match self {
            Seam::Auto => misses_hip(program).unwrap_or(false),
            Seam::Hip => true,
            Seam::Hsa => false,
        };
        if hip { &HIP_SEAM } else { &HSA_SEAM }
    }
}

/// The file of a command.
fn command(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|file| file.is_file())
}

/// Whether a program is linked with libamdhip64 and does not find it, as its own dynamic linker says; `None` for what is no
/// dynamically linked program.
fn misses_hip(program: &OsStr) -> Option<bool> {
    let path = command(program)?;
    let mut file = Vec::new();
    std::fs::File::open(&path)
        .ok()?
        .take(FIRST)
        .read_to_end(&mut file)
        .ok()?;
    let elf = Elf::parse(&file).ok()?;
    let interpreter = elf.segments().iter().find(|segment| segment.kind == PT_INTERP)?;
    let interpreter = interpreter.content.strip_suffix(b"\0")?;
    // The linker lists what it would load, and starts nothing.
    let listed = Command::new(std::str::from_utf8(interpreter).ok()?)
        .arg("--list")
        .arg(&path)
        .output()
        .ok()?;
    let text =
        String::from_utf8_lossy(&listed.stdout).into_owned() + &String::from_utf8_lossy(&listed.stderr);
    Some(says_hip_is_missing(&text))
}

/// Of a list of the dynamic linker's. It names what it does not find in one of two ways.
fn says_hip_is_missing(list: &str) -> bool {
    list.lines().any(|line| {
        line.contains("libamdhip64.so")
            && (line.contains("not found") || line.contains("cannot open shared object file"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_misses_hip_when_its_linker_says_so() {
        assert!(says_hip_is_missing(
            "\tlibamdhip64.so.6 => not found\n\tlibc.so.6 => /lib/libc.so.6\n"
        ));
        assert!(says_hip_is_missing(
            "./sums: error while loading shared libraries: libamdhip64.so.7: cannot open shared object file: No such file or directory"
        ));
        assert!(!says_hip_is_missing(
            "\tlibamdhip64.so.6 => /opt/rocm/lib/libamdhip64.so.6 (0x1)\n\tlibz.so.1 => not found\n"
        ));
    }

    #[test]
    fn a_script_and_a_program_without_hip_are_left_to_the_lower_seam() {
        assert_eq!(misses_hip(OsStr::new("Cargo.toml")), None);
        assert_eq!(misses_hip(OsStr::new("sh")), Some(false));
        assert_eq!(Seam::Auto.library(OsStr::new("sh")).package, "hsa-soft");
    }
}
