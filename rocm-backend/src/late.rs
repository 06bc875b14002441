//! This crate's kernels for a target that was not built in: compiled when the first of a module is asked for, and kept like
//! a caller's own (custom/compile.rs).

use crate::custom::compile::{self, Unit};
use crate::{DeviceInfo, Error, Result};

// `KERNEL_SOURCES: &[(file name, text)]`, the files of `kernels/`, written by build.rs.
include!(concat!(env!("OUT_DIR"), "/kernel_sources.rs"));

/// The code object of `module` for the device's target. `missing` is the error for one that is not built in.
///
/// # Errors
/// [`Error::Compile`], with what `missing` says, when there is no compiler or it refuses.
pub(crate) fn code_object(info: &DeviceInfo, module: &str, missing: &Error) -> Result<Vec<u8>> {
    let file = format!("{module}.hip");
    let source = KERNEL_SOURCES.iter().find(|(name, _)| *name == file);
    let Some((_, text)) = source else {
        return Err(missing.clone());
    };
    let headers: Vec<_> = KERNEL_SOURCES
        .iter()
        .filter(|(name, _)| name.ends_with(".h"))
        .copied()
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
