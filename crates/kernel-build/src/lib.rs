//! Compiles HIP kernels to AMD GPU code objects: a stock clang with its AMDGPU target, lld and AMD's device libraries;
//! no ROCm, no HIP header. rocm-backend's build script is the main caller; tests compile altered kernels with it. For NVIDIA's
//! targets kernels become PTX, by the same clang and NVIDIA's libdevice.
//!
//! The caller says what is compiled; `rocm-backend` loads the code objects.
//!
//! The toolchain is that of [`rocm_env::CLANG`] and [`rocm_env::DEVICE_LIBS`]. What one build compiled, another copies from
//! the folder of [`rocm_env::KERNEL_CACHE`].

mod compile;
mod compiler;
mod level;
mod target;
mod toolchain;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use compile::Plan;
use rocm_env::names;

pub use compiler::Compiler;
pub use level::OptLevel;
pub use target::Target;

/// The environment variables that a compilation hangs on.
pub const ENVIRONMENT: [&str; 5] = [
    names::TARGETS,
    names::PREBUILT_KERNELS,
    names::CLANG,
    names::DEVICE_LIBS,
    names::KERNEL_CACHE,
];

/// The environment variables of others that a compilation for NVIDIA's targets hangs on: where the CUDA toolkit is.
pub const CUDA_ENVIRONMENT: [&str; 2] = toolchain::CUDA_VARIABLES;

/// One code object: a kernel file, compiled for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeObject {
    /// The target's name.
    pub target: String,
    /// The kernel file's name without its extension.
    pub module: String,
    /// The ELF file, named `MODULE.TARGET.hsaco`; for NVIDIA's targets text, `MODULE.TARGET.ptx`.
    pub path: PathBuf,
}

/// What a compilation gave.
#[derive(Clone, Debug, Default)]
pub struct Built {
    /// One per target and kernel file that is for it, by target, then by file name.
    pub code_objects: Vec<CodeObject>,
    /// The compiler's warnings, a line each.
    pub warnings: Vec<String>,
    /// Files outside the kernel folder whose change makes the code objects stale: the compiler and the device libraries, or
    /// the code objects that were there.
    pub toolchain: Vec<PathBuf>,
}

/// The kernels of `kernel_dir` for every target: those of [`rocm_env::PREBUILT_KERNELS`] where it is set, else compiled. Without a
/// target nothing is looked for.
///
/// # Errors
/// Those of [`prebuilt`] or of [`compile`]; a folder of kernels for no target.
pub fn build(kernel_dir: &Path, targets: &[Target], out_dir: &Path, jobs: usize) -> Result<Built, String> {
    let folder = rocm_env::PREBUILT_KERNELS
        .get()
        .map_err(|error| error.to_string())?;
    match folder.path() {
        Some(_) if targets.is_empty() => Err(format!(
            "{folder} has kernels to build in, and {targets}=none wants none: name their targets, such as {targets}=gfx1100",
            folder = names::PREBUILT_KERNELS,
            targets = names::TARGETS
        )),
        None if targets.is_empty() => Ok(Built::default()),
        Some(dir) => prebuilt(kernel_dir, targets, dir)
            .map_err(|error| format!("{}: {error}", names::PREBUILT_KERNELS)),
        None => compile(kernel_dir, targets, out_dir, jobs),
    }
}

/// Compiles every `*.hip` of `kernel_dir` for every target into `out_dir`, `jobs` at a time; `*_nvidia.hip` for NVIDIA's targets
/// alone. A code object is compiled anew only when its source, a header, the flags or the toolchain changed.
///
/// # Errors
/// In words for the user: what is missing, where it was looked for and how to get it; or the compiler's own errors, all of
/// them.
pub fn compile(kernel_dir: &Path, targets: &[Target], out_dir: &Path, jobs: usize) -> Result<Built, String> {
    compile_at(OptLevel::default(), kernel_dir, targets, out_dir, jobs)
}

/// [`compile`] at a level of optimisation. Other levels than the usual one are for tests of the compiler, of cards and of kernels.
///
/// # Errors
/// Those of [`compile`].
pub fn compile_at(
    level: OptLevel,
    kernel_dir: &Path,
    targets: &[Target],
    out_dir: &Path,
    jobs: usize,
) -> Result<Built, String> {
    let sources = kernel_files(kernel_dir)?;
    let headers = files_with_extension(kernel_dir, "h")?;
    let toolchain = toolchain::Toolchain::find()?;
    let cache = rocm_env::KERNEL_CACHE.get().map_err(|error| error.to_string())?;
    let mut plan = Plan::new(&toolchain, &headers, out_dir)?
        .with_cache(cache.0.clone())
        .with_level(level);
    let mut files: Vec<_> = toolchain.files().map(Path::to_path_buf).collect();
    if targets.iter().any(Target::is_nvidia) {
        let libdevice = toolchain.libdevice()?;
        plan = plan.with_libdevice(&libdevice)?;
        files.push(libdevice);
    }
    let work: Vec<_> = targets
        .iter()
        .flat_map(|t| sources.iter().map(|s| plan.job(t, s)))
        .filter(|job| is_for(job.target, &job.module))
        .collect();
    let warnings = plan.run(&work, jobs)?;
    let code_objects = work.iter().map(|job| job.code_object(out_dir)).collect();
    Ok(Built {
        code_objects,
        warnings,
        toolchain: files,
    })
}

/// The code objects of `dir` for every `*.hip` of `kernel_dir` and every target that it is for, as [`compile`] names them. No compiler is
/// looked for. Whether they were compiled of these very sources is not known here.
///
/// # Errors
/// A text for the user: which files are missing or are not code objects, and what makes them.
pub fn prebuilt(kernel_dir: &Path, targets: &[Target], dir: &Path) -> Result<Built, String> {
    let dir = fs::canonicalize(dir).map_err(|error| format!("cannot read {}: {error}", dir.display()))?;
    let mut code_objects = Vec::new();
    let mut wrong = Vec::new();
    for target in targets {
        for source in kernel_files(kernel_dir)? {
            let module = source
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if !is_for(target, &module) {
                continue;
            }
            let path = dir.join(format!("{module}.{}.{}", target.name, target.extension()));
            match fs::read(&path) {
                Ok(bytes) if target.is_nvidia() && is_ptx(&bytes) => {}
                Ok(_) if target.is_nvidia() => wrong.push(format!("{} is not PTX", path.display())),
                Ok(bytes) if bytes.starts_with(b"\x7fELF") => {}
                Ok(_) => wrong.push(format!("{} is not an ELF file", path.display())),
                Err(error) => wrong.push(format!("cannot read {}: {error}", path.display())),
            }
            code_objects.push(CodeObject {
                target: target.name.clone(),
                module,
                path,
            });
        }
    }
    if !wrong.is_empty() {
        return Err(format!(
            "{}\n`cargo run -p kernel-build --example compile -- KERNELS OBJECTS TARGETS` makes them on a machine with clang",
            wrong.join("\n")
        ));
    }
    let toolchain = code_objects.iter().map(|object| object.path.clone()).collect();
    Ok(Built {
        code_objects,
        warnings: Vec::new(),
        toolchain,
    })
}

/// Whether a file is PTX: comments, and then the version of the language.
fn is_ptx(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut code = lines.filter(|line| !line.is_empty() && !line.starts_with(b"//"));
    code.next().is_some_and(|line| line.starts_with(b".version"))
}

/// The compiler that [`compile`] would use, with its version, and the device libraries.
///
/// # Errors
/// As [`compile`], when something is missing.
pub fn find_toolchain() -> Result<(String, Vec<PathBuf>), String> {
    let found = toolchain::Toolchain::find()?;
    Ok((
        found.version.clone(),
        found.files().map(Path::to_path_buf).collect(),
    ))
}

/// Names and texts of a folder's kernels and headers, sorted by name: all that is compiled of it.
///
/// # Errors
/// In words: which folder or file cannot be read.
pub fn sources(kernel_dir: &Path) -> Result<Vec<(String, String)>, String> {
    let mut files = files_with_extension(kernel_dir, "hip")?;
    files.extend(files_with_extension(kernel_dir, "h")?);
    files.sort();
    let read = |path: PathBuf| {
        let text =
            fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default();
        Ok((name.to_string_lossy().into_owned(), text))
    };
    files.into_iter().map(read).collect()
}

/// A number that tells apart what [`sources`] gave at two times, to programs that one compiler made.
pub fn fingerprint(sources: &[(String, String)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    hasher.finish()
}

/// Whether a kernel file is compiled for a target: one whose name ends in `_nvidia` for NVIDIA's alone.
fn is_for(target: &Target, module: &str) -> bool {
    target.is_nvidia() || !module.ends_with("_nvidia")
}

/// The kernels of a folder, of which there must be one.
fn kernel_files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let files = files_with_extension(dir, "hip")?;
    if files.is_empty() {
        return Err(format!("no *.hip file in {}", dir.display()));
    }
    Ok(files)
}

/// The files of a folder that end in `.extension`, sorted by name, so that a build does not depend on the file system.
fn files_with_extension(dir: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("cannot list {}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    Ok(files)
}
