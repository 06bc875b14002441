//! Specs and findings as files: on the disk, or carried by the program.
//!
//! A program that runs far from a checkout carries their texts and names them to [`carry`] when it starts. They are read
//! where no directory of specs is found, under names that begin with [`BUILT_IN`].

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The first part of the name of a carried file: `built-in:/op-specs/unary.toml`. `--spec-dir built-in:/op-specs` asks for
/// the carried specs where others are nearer.
pub const BUILT_IN: &str = "built-in:";

/// Files by their path from the repository's root, with `/`, and their texts.
pub type Carried = &'static [(&'static str, &'static str)];

static CARRIED: OnceLock<Carried> = OnceLock::new();

/// Names the files that this program carries. The first call of a process counts.
pub fn carry(files: Carried) {
    CARRIED.get_or_init(|| files);
}

/// The carried files; none before [`carry`].
pub fn carried() -> Carried {
    CARRIED.get().copied().unwrap_or_default()
}

/// The path in the repository of a name that begins with [`BUILT_IN`].
fn built_in(path: &Path) -> Option<&Path> {
    path.strip_prefix(BUILT_IN).ok()
}

/// Whether the path names a carried file or directory, or one that would be.
pub(crate) fn is_built_in(path: &Path) -> bool {
    built_in(path).is_some()
}

/// Whether there is such a directory.
pub(crate) fn is_dir(path: &Path) -> bool {
    match built_in(path) {
        Some(dir) => carried()
            .iter()
            .any(|(file, _)| Path::new(file) != dir && Path::new(file).starts_with(dir)),
        None => path.is_dir(),
    }
}

/// What a directory holds, in no order.
pub(crate) fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(dir) = built_in(path) else {
        return fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect();
    };
    let below = carried()
        .iter()
        .filter_map(|(file, _)| Path::new(file).strip_prefix(dir).ok());
    let first: BTreeSet<_> = below.filter_map(|rest| rest.components().next()).collect();
    match first.is_empty() {
        true => Err(io::ErrorKind::NotFound.into()),
        false => Ok(first.into_iter().map(|name| path.join(name)).collect()),
    }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    match built_in(path) {
        Some(wanted) => carried()
            .iter()
            .find(|(file, _)| Path::new(file) == wanted)
            .map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| io::ErrorKind::NotFound.into()),
        None => fs::read_to_string(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &str) -> Vec<String> {
        let mut names: Vec<_> = list(Path::new(dir))
            .unwrap()
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn carried_files_are_listed_and_read_as_those_of_a_disk() {
        carry(&[
            ("op-specs/unary.toml", "one"),
            ("op-specs/binary.toml", "two"),
            ("findings/relu/finding.toml", "three"),
        ]);
        assert_eq!(
            names("built-in:/op-specs"),
            ["built-in:/op-specs/binary.toml", "built-in:/op-specs/unary.toml"]
        );
        assert_eq!(names("built-in:/findings"), ["built-in:/findings/relu"]);
        assert!(is_dir(Path::new("built-in:/findings/relu")));
        assert!(!is_dir(Path::new("built-in:/findings/relu/finding.toml")));
        assert!(!is_dir(Path::new("built-in:/golden")));
        assert_eq!(read(Path::new("built-in:/op-specs/binary.toml")).unwrap(), "two");

        // Neither stands for a file of the disk that is there.
        assert!(read(Path::new("built-in:/Cargo.toml")).is_err());
        assert!(list(Path::new("built-in:/src")).is_err());
        assert!(read(Path::new("op-specs/binary.toml")).is_err());
    }
}
