//! This crate's kernels for a target that was not built in: compiled when the first of a module is asked for, and kept like
//! a caller's own (custom/compile.rs).

use std::borrow::Cow;
use std::path::Path;
use std::{fs, io};

use crate::custom::compile::{self, Unit};
use crate::{DeviceInfo, Error, Result};

// `KERNEL_SOURCES`, written by build.rs.
include!(concat!(env!("OUT_DIR"), "/kernel_sources.rs"));

/// Where the files of `kernels/` are when a program runs.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "a build has one of the two, as ROCM_TARGETS says")
)]
#[derive(Clone, Copy)]
pub(crate) enum Sources {
    /// In the program: names and texts.
    Embedded(&'static [(&'static str, &'static str)]),
    /// In this folder, of which the newest is taken.
    Folder(&'static str),
}

/// A file's name and text.
type File = (Cow<'static, str>, Cow<'static, str>);

impl Sources {
    /// The file `name`, if there is one, and the headers.
    fn file_and_headers(self, name: &str) -> Result<(Option<File>, Vec<File>)> {
        let mut files: Vec<File> = match self {
            Sources::Embedded(files) => files
                .iter()
                .map(|(name, text)| (Cow::Borrowed(*name), Cow::Borrowed(*text)))
                .collect(),
            Sources::Folder(dir) => read(Path::new(dir), name).map_err(|error| {
                Error::Compile(format!(
                    "this program takes its kernels from {dir}, as ROCM_TARGETS=none had it built, and cannot read them: {error}\n\
                     build it with targets, such as ROCM_TARGETS=gfx1100, where that folder does not stay"
                ))
            })?,
        };
        let file = files.iter().position(|(found, _)| found == name);
        let file = file.map(|index| files.swap_remove(index));
        files.retain(|(name, _)| name.ends_with(".h"));
        Ok((file, files))
    }
}

/// The file `name` of a folder and its headers, sorted.
fn read(dir: &Path, name: &str) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(found) = entry.file_name().into_string() else {
            continue;
        };
        if found == name || found.ends_with(".h") {
            let text = fs::read_to_string(entry.path())?;
            files.push((found.into(), text.into()));
        }
    }
    files.sort();
    Ok(files)
}

/// The code object of `module` for the device's target. `missing` is the error for one that is not built in.
///
/// # Errors
/// [`Error::Compile`], with what `missing` says, when there is no compiler or it refuses.
pub(crate) fn code_object(info: &DeviceInfo, module: &str, missing: &Error) -> Result<Vec<u8>> {
    let file = format!("{module}.hip");
    let (source, headers) = KERNEL_SOURCES.file_and_headers(&file)?;
    let Some((_, text)) = source else {
        return Err(missing.clone());
    };
    let mut headers: Vec<_> = headers.iter().map(|(name, text)| (&**name, &**text)).collect();
    headers.sort_unstable();
    let unit = Unit {
        file: &file,
        prelude: "",
        text: &text,
        headers: &headers,
        flags: &[],
    };
    compile::code(info, &unit)
        .map_err(|error| Error::Compile(format!("{missing}\nnor can they be compiled now: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_the_kernel_and_its_headers_as_they_are_now() {
        let folder = tempfile::tempdir().unwrap();
        let dir: &'static str = folder.path().display().to_string().leak();
        for (name, text) in [
            ("fill.hip", "one"),
            ("sort.hip", "two"),
            ("b.h", "b"),
            ("a.h", "a"),
            ("README.md", ""),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let headers = [("a.h", "a"), ("b.h", "b")].map(|(name, text)| (Cow::from(name), Cow::from(text)));
        let taken = || Sources::Folder(dir).file_and_headers("fill.hip").unwrap();
        assert_eq!(
            taken(),
            (Some(("fill.hip".into(), "one".into())), headers.to_vec())
        );
        fs::write(folder.path().join("fill.hip"), "three").unwrap();
        assert_eq!(taken().0, Some(("fill.hip".into(), "three".into())));
    }

    #[test]
    fn a_folder_that_is_gone_is_named_with_what_to_build_instead() {
        let gone = Sources::Folder("/nowhere/kernels").file_and_headers("fill.hip");
        let text = gone.unwrap_err().to_string();
        assert!(
            text.contains("/nowhere/kernels") && text.contains("ROCM_TARGETS=gfx1100"),
            "{text}"
        );
    }

    #[test]
    fn a_program_that_carries_its_kernels_finds_them_in_itself() {
        let carried = Sources::Embedded(&[("a.h", "a"), ("fill.hip", "one"), ("sort.hip", "two")]);
        let (file, headers) = carried.file_and_headers("fill.hip").unwrap();
        assert_eq!(file, Some(("fill.hip".into(), "one".into())));
        assert_eq!(headers, [("a.h".into(), "a".into())]);
    }
}
