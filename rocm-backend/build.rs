//! Compiles `kernels/*.hip` to AMD GPU code objects, one for each gfx target, and lists them in
//! `$OUT_DIR/code_objects.rs`. kernel-build says for which targets, and by which toolchain or from which folder. With the
//! feature `nvidia`, compiles them to PTX as well, and lists that in `$OUT_DIR/ptx_modules.rs`. Both are compressed by zlib.
//! For `ROCM_TARGETS=none` it compiles none of AMD's: the program reads the kernels' folder when it first runs them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use kernel_build::{CodeObject, ENVIRONMENT, Target};

const KERNEL_DIR: &str = "kernels";

/// The target of NVIDIA's that is built where none is named: its PTX serves all later ones.
const NVIDIA_TARGET: &str = "sm_80";

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
    println!("cargo::rerun-if-changed=build.rs");
    let out_dir = PathBuf::from(required_env("OUT_DIR")?);
    // A workspace of links to this one (`parity run --candle`) may be gone when what it compiled is still used.
    let kernel_dir = Path::new(&required_env("CARGO_MANIFEST_DIR")?).join(KERNEL_DIR);
    let kernel_dir = kernel_dir
        .canonicalize()
        .map_err(|error| format!("cannot find {}: {error}", kernel_dir.display()))?;
    let jobs = env::var("NUM_JOBS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(1);
    let mut targets = Target::wanted()?;
    let late = targets.is_empty();
    if late && env::var_os("CARGO_FEATURE_COMPILE").is_none() {
        return Err("ROCM_TARGETS=none needs rocm-backend's feature `compile`, which compiles kernels when a program runs them".into());
    }
    let nvidia = env::var_os("CARGO_FEATURE_NVIDIA").is_some();
    match targets.iter().find(|target| target.is_nvidia()) {
        Some(target) if !nvidia => {
            return Err(format!(
                "ROCM_TARGETS names {}, one of NVIDIA's GPUs: build rocm-backend with its feature `nvidia`",
                target.name
            ));
        }
        None if nvidia => targets.extend(Target::parse_list(NVIDIA_TARGET)?),
        _ => {}
    }
    if nvidia {
        for name in kernel_build::CUDA_ENVIRONMENT {
            println!("cargo::rerun-if-env-changed={name}");
        }
    }

    if !targets.is_empty() {
        println!("cargo::rerun-if-changed={KERNEL_DIR}");
    }
    let mut built = kernel_build::build(&kernel_dir, &targets, &out_dir, jobs)?;
    for warning in &built.warnings {
        println!("cargo::warning={warning}");
    }
    for path in &built.toolchain {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let files = kernel_build::sources(&kernel_dir)?;
    let sources = if late {
        let (dir, built_of) = (
            kernel_dir.display().to_string(),
            kernel_build::fingerprint(&files),
        );
        format!("Sources::Folder {{ dir: {dir:?}, built_of: {built_of} }}")
    } else {
        let embedded = |(name, _): &(String, String)| {
            format!("({name:?}, include_str!({:?})),\n", kernel_dir.join(name))
        };
        format!(
            "Sources::Embedded(&[\n{}])",
            files.iter().map(embedded).collect::<String>()
        )
    };
    let sources =
        format!("/// This crate's kernels.\npub(crate) static KERNEL_SOURCES: Sources = {sources};\n");
    write(&out_dir.join("kernel_sources.rs"), &sources)?;
    let (ptx, objects) = std::mem::take(&mut built.code_objects)
        .into_iter()
        .partition(|object| {
            object
                .path
                .extension()
                .is_some_and(|extension| extension == "ptx")
        });
    built.code_objects = objects;
    write_table(&out_dir, "CODE_OBJECTS", &built.code_objects)?;
    write_table(&out_dir, "PTX_MODULES", &ptx)
}

/// Writes the Rust source that embeds code objects or PTX, compressed: they shrink to a seventh.
fn write_table(out_dir: &Path, name: &str, objects: &[CodeObject]) -> Result<(), String> {
    let mut source = format!("static {name}: &[(&str, &str, &[u8])] = &[\n");
    for CodeObject { target, module, path } in objects {
        let file = out_dir.join(format!("{module}.{target}.zlib"));
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        fs::read(path)
            .and_then(|code| encoder.write_all(&code))
            .and_then(|()| encoder.finish())
            .and_then(|compressed| fs::write(&file, compressed))
            .map_err(|error| {
                format!(
                    "cannot compress {} into {}: {error}",
                    path.display(),
                    file.display()
                )
            })?;
        source += &format!("    ({target:?}, {module:?}, include_bytes!({file:?})),\n");
    }
    source += "];\n";
    write(&out_dir.join(format!("{}.rs", name.to_lowercase())), &source)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn required_env(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("{name} is not set; this script runs under cargo"))
}
