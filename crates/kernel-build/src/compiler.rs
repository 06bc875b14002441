//! One source at a time, for programs that compile while they run. Keeps nothing: the caller has the cache.

use std::path::{Path, PathBuf};

use crate::Target;
use crate::compile::{CODE_OBJECT_VERSION, FLAGS, Plan, read};
use crate::toolchain::Toolchain;

/// A toolchain that was found.
#[derive(Debug)]
pub struct Compiler {
    toolchain: Toolchain,
}

impl Compiler {
    /// Looks for the compiler and the device libraries.
    ///
    /// # Errors
    /// As [`crate::compile`], when something is missing.
    pub fn find() -> Result<Compiler, String> {
        let toolchain = Toolchain::find()?;
        Ok(Compiler { toolchain })
    }

    /// Bytes that are others whenever this compiler may make another code object of the same source, target and flags: its
    /// version and own flags, and the device libraries whole (some megabytes).
    ///
    /// # Errors
    /// When a device library cannot be read.
    pub fn fingerprint(&self) -> Result<Vec<u8>, String> {
        let Toolchain {
            clang,
            version,
            device_libs,
        } = &self.toolchain;
        let mut bytes =
            format!("{}\n{version}\n{FLAGS}\n{CODE_OBJECT_VERSION}\n", clang.display()).into_bytes();
        for library in device_libs {
            bytes.extend(read(library)?);
        }
        Ok(bytes)
    }

    /// Compiles one HIP source into `out_dir`, which must be this call's alone, with `flags` beside the usual ones.
    ///
    /// # Errors
    /// The compiler's own words.
    pub fn compile(
        &self,
        source: &Path,
        target: &Target,
        flags: &[&str],
        out_dir: &Path,
    ) -> Result<PathBuf, String> {
        let plan = Plan::new(&self.toolchain, &[], out_dir)?.with_flags(flags);
        let job = plan.job(target, source);
        plan.run(std::slice::from_ref(&job), 1)?;
        Ok(job.code_object(out_dir).path)
    }
}
