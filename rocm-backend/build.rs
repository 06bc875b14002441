//! Compiles `kernels/*.hip` to AMD GPU code objects, one for each gfx target, and lists them in
//! `$OUT_DIR/code_objects.rs`. No ROCm is needed: a stock clang with its AMDGPU target, lld and AMD's device libraries.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `ROCM_TARGETS` | gfx targets, separated by commas or spaces | `gfx1100,gfx942` |
//! | `ROCM_CLANG` | the clang++ to use | the newest usable one found |
//! | `ROCM_DEVICE_LIB_PATH` | the folder with `ocml.bc` and `ockl.bc` | where the distributions put it |

#[path = "build/compile.rs"]
mod compile;
#[path = "build/target.rs"]
mod target;
#[path = "build/toolchain.rs"]
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use compile::{Job, Plan};
use target::Target;
use toolchain::Toolchain;

const DEFAULT_TARGETS: &str = "gfx1100,gfx942";
const KERNEL_DIR: &str = "kernels";

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\n{message}\n");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    for name in ["ROCM_TARGETS", "ROCM_CLANG", "ROCM_DEVICE_LIB_PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for path in [KERNEL_DIR, "build.rs", "build"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let out_dir = PathBuf::from(required_env("OUT_DIR")?);
    let kernel_dir = Path::new(&required_env("CARGO_MANIFEST_DIR")?).join(KERNEL_DIR);

    let targets = Target::parse_list(&env::var("ROCM_TARGETS").unwrap_or_else(|_| DEFAULT_TARGETS.into()))?;
    let modules = files_with_extension(&kernel_dir, "hip")?;
    let headers = files_with_extension(&kernel_dir, "h")?;
    let toolchain = Toolchain::find()?;
    for path in toolchain.files() {
        println!("cargo::rerun-if-changed={}", path.display());
    }

    let plan = Plan::new(&toolchain, &headers, &out_dir)?;
    let jobs: Vec<Job> = targets
        .iter()
        .flat_map(|target| modules.iter().map(|source| plan.job(target, source)))
        .collect();
    plan.run(&jobs)?;
    write_table(&out_dir.join("code_objects.rs"), &jobs)
}

/// Writes the Rust source that embeds the code objects.
fn write_table(path: &Path, jobs: &[Job]) -> Result<(), String> {
    let mut source = String::from(
        "/// Code objects: gfx target, module (the kernel file's name), ELF image.\n\
         pub(crate) static CODE_OBJECTS: &[(&str, &str, &[u8])] = &[\n",
    );
    for job in jobs {
        source += &format!(
            "    ({:?}, {:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), {:?}))),\n",
            job.target.name,
            job.module,
            format!("/{}", job.file_name()),
        );
    }
    source += "];\n";
    fs::write(path, source).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The files of a folder that end in `.extension`, sorted by name, so that the build does not depend on the file system.
fn files_with_extension(dir: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(dir).map_err(|error| format!("cannot list {}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("no *.{extension} file in {}", dir.display()));
    }
    Ok(files)
}

fn required_env(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("{name} is not set; this script runs under cargo"))
}
