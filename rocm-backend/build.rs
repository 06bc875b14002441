//! Compiles `kernels/*.hip` to AMD GPU code objects, one for each gfx target, and lists them in
//! `$OUT_DIR/code_objects.rs`. kernel-build says for which targets, and by which toolchain or from which folder.

use std::path::{Path, PathBuf};
use std::{env, fs};

use kernel_build::{Built, ENVIRONMENT, Target};

const KERNEL_DIR: &str = "kernels";

fn main() {
    if let Err(message) = build() {
        // Cargo fails the build, and shows each of these lines.
        message.lines().for_each(|line| println!("cargo::error={line}"));
    }
}

fn build() -> Result<(), String> {
    for name in ENVIRONMENT {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for path in [KERNEL_DIR, "build.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let out_dir = PathBuf::from(required_env("OUT_DIR")?);
    let kernel_dir = Path::new(&required_env("CARGO_MANIFEST_DIR")?).join(KERNEL_DIR);
    let jobs = env::var("NUM_JOBS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1);
    let targets = Target::wanted()?;

    let built = kernel_build::build(&kernel_dir, &targets, &out_dir, jobs)?;
    for warning in &built.warnings {
        println!("cargo::warning={warning}");
    }
    for path in &built.toolchain {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    write_sources(&kernel_dir, &out_dir.join("kernel_sources.rs"))?;
    write_table(&out_dir.join("code_objects.rs"), &built)
}

/// Writes the Rust source that embeds the kernels' own, for targets that are compiled for at run time.
fn write_sources(kernel_dir: &Path, path: &Path) -> Result<(), String> {
    let entries =
        fs::read_dir(kernel_dir).map_err(|error| format!("cannot read {}: {error}", kernel_dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "hip" || extension == "h")
    });
    files.sort();
    let mut source = String::from(
        "/// The kernels' files: name and text.\npub(crate) static KERNEL_SOURCES: &[(&str, &str)] = &[\n",
    );
    for file in &files {
        let name = file.file_name().unwrap_or_default();
        source += &format!("    ({name:?}, include_str!({file:?})),\n");
    }
    source += "];\n";
    fs::write(path, source).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes the Rust source that embeds the code objects.
fn write_table(path: &Path, built: &Built) -> Result<(), String> {
    let mut source = String::from(
        "/// Code objects: gfx target, module (the kernel file's name), ELF image.\n\
         pub(crate) static CODE_OBJECTS: &[(&str, &str, &[u8])] = &[\n",
    );
    for object in &built.code_objects {
        source += &format!(
            "    ({:?}, {:?}, include_bytes!({:?})),\n",
            object.target, object.module, object.path
        );
    }
    source += "];\n";
    fs::write(path, source).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn required_env(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("{name} is not set; this script runs under cargo"))
}
