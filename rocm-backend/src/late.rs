//! This crate's kernels for a target that was not built in: compiled when the first of a module is asked for, and kept like
//! a caller's own (custom/compile.rs).

use std::borrow::Cow;
use std::path::Path;

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
    /// In the folder `dir`, as it is when they are asked for.
    Folder {
        dir: &'static str,
        /// The fingerprint of what it held when this program was built.
        built_of: u64,
    },
}

impl Sources {
    /// Names and texts, sorted by name.
    fn files(self) -> Result<Vec<(Cow<'static, str>, Cow<'static, str>)>> {
        Ok(match self {
            Sources::Embedded(files) => files.iter().map(|&(name, text)| (name.into(), text.into())).collect(),
            Sources::Folder { dir, .. } => kernel_build::sources(Path::new(dir))
                .map_err(|error| {
                    Error::Compile(format!(
                        "this program takes its kernels from {dir}, as ROCM_TARGETS=none had it built: {error}\n\
                         build it with targets, such as ROCM_TARGETS=gfx1100, where that folder does not stay"
                    ))
                })?
                .into_iter()
                .map(|(name, text)| (name.into(), text.into()))
                .collect(),
        })
    }

    /// Whether the files are others than those that this program was built of.
    fn changed(self) -> bool {
        match self {
            Sources::Embedded(_) => false,
            Sources::Folder { dir, built_of } => kernel_build::sources(Path::new(dir))
                .is_ok_and(|files| kernel_build::fingerprint(&files) != built_of),
        }
    }
}

/// Whether the kernels are others than those that this program was built of. A folder that cannot be read is an error of the first
/// kernel.
pub(crate) fn changed() -> bool {
    KERNEL_SOURCES.changed()
}

/// The code object of `module` for the device's target. `missing` is the error for one that is not built in.
///
/// # Errors
/// [`Error::Compile`], with what `missing` says, when there is no compiler or it refuses.
pub(crate) fn code_object(info: &DeviceInfo, module: &str, missing: &Error) -> Result<Vec<u8>> {
    let file = format!("{module}.hip");
    let files = KERNEL_SOURCES.files()?;
    let source = files.iter().find(|(name, _)| *name == file);
    let Some((_, text)) = source else {
        return Err(missing.clone());
    };
    let headers: Vec<_> = files
        .iter()
        .filter(|(name, _)| name.ends_with(".h"))
        .map(|(name, text)| (&**name, &**text))
        .collect();
    let unit = Unit {
        file: &file,
        prelude: "",
        text,
        headers: &headers,
        flags: &[],
    };
    compile::code(info, &unit)
        .map_err(|error| Error::Compile(format!("{missing}\nnor can they be compiled now: {error}")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_gives_its_kernels_and_headers_as_they_are_now_and_says_when_they_changed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("sort.hip", "two"), ("a.h", "a"), ("README.md", "")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let sources = Sources::Folder {
            dir: folder.path().display().to_string().leak(),
            built_of: kernel_build::fingerprint(&kernel_build::sources(folder.path()).unwrap()),
        };
        let held = |text: &'static str| vec![("a.h".into(), "a".into()), ("sort.hip".into(), text.into())];
        assert_eq!(
            (sources.files().unwrap(), sources.changed()),
            (held("two"), false)
        );
        fs::write(folder.path().join("sort.hip"), "three").unwrap();
        assert_eq!(
            (sources.files().unwrap(), sources.changed()),
            (held("three"), true)
        );
    }

    #[test]
    fn a_folder_that_is_gone_is_named_with_what_to_build_instead() {
        let gone = Sources::Folder {
            dir: "/nowhere/kernels",
            built_of: 0,
        };
        let text = gone.files().unwrap_err().to_string();
        assert!(
            text.contains("/nowhere/kernels") && text.contains("ROCM_TARGETS=gfx1100"),
            "{text}"
        );
    }

    #[test]
    fn a_program_that_carries_its_kernels_has_those_that_it_was_built_of() {
        let carried = Sources::Embedded(&[("a.h", "a"), ("fill.hip", "one")]);
        let held = vec![("a.h".into(), "a".into()), ("fill.hip".into(), "one".into())];
        assert_eq!((carried.files().unwrap(), carried.changed()), (held, false));
    }
}
