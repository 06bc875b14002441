//! Lists the specs and findings of this checkout, and the manifests of what was recorded on other machines, in `$OUT_DIR/carried.rs`
//! with their texts: the program carries them, and reads them where it finds no others.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Directories that are carried, from the repository's root, and which of their files.
const CARRIED: [(&str, &str); 3] = [("op-specs", "toml"), ("findings", "toml"), ("golden", "json")];

fn main() {
    if let Err(error) = build() {
        println!("cargo::error=the files that the program carries: {error}");
    }
}

fn build() -> io::Result<()> {
    let folder = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .ok_or(io::ErrorKind::NotFound)
    };
    let root = folder("CARGO_MANIFEST_DIR")?.join("..").canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    let mut list = "&[\n".to_owned();
    for (name, extension) in CARRIED {
        let mut files = Vec::new();
        collect(&root.join(name), extension, &mut files)?;
        files.sort();
        for file in files {
            let from_root = file.strip_prefix(&root).map_err(io::Error::other)?;
            let _ = writeln!(list, "    ({from_root:?}, include_str!({file:?})),");
        }
    }
    list.push_str("]\n");
    fs::write(folder("OUT_DIR")?.join("carried.rs"), list)
}

/// The files below a folder; cargo looks for new ones in each folder.
fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(())
}
