//! One source at a time, for programs that compile while they run.

use std::path::{Path, PathBuf};

use crate::Target;
use crate::compile::{CODE_OBJECT_VERSION, FLAGS, Plan, read};
use crate::files_with_extension;
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
        if self.toolchain.makes_halves() {
            bytes.extend(b"whole registers\n");
        }
        for library in device_libs {
            bytes.extend(read(library)?);
        }
        Ok(bytes)
    }

    /// Compiles one HIP source, which may include the headers of its folder, into `out_dir`, which must be this call's alone, with
    /// `flags` beside the usual ones. Without any, it is taken from where builds keep theirs if one of them made it.
    ///
    /// # Errors
    /// The compiler's own words, or those of [`rocm_env::KERNEL_CACHE`].
    pub fn compile(
        &self,
        source: &Path,
        target: &Target,
        flags: &[&str],
        out_dir: &Path,
    ) -> Result<PathBuf, String> {
        let headers = source.parent().map(|dir| files_with_extension(dir, "h"));
        let plan = Plan::new(
            &self.toolchain,
            &headers.transpose()?.unwrap_or_default(),
            out_dir,
        )?;
        let plan = if flags.is_empty() {
            let cache = rocm_env::KERNEL_CACHE.get().map_err(|error| error.to_string())?;
            plan.with_cache(cache.0.clone())
        } else {
            plan.with_flags(flags)
        };
        let job = plan.job(target, source);
        plan.run(std::slice::from_ref(&job), 1)?;
        Ok(job.code_object(out_dir).path)
    }
}
