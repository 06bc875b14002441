//! Runs the compiler: every kernel file for every target, in parallel, and only where the last result is stale.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use super::target::Target;
use super::toolchain::Toolchain;

/// Of the code objects; the driver's launch argument layout hangs on it. Version 5 is ROCm 5.6 and later.
pub const CODE_OBJECT_VERSION: u32 = 5;

const FLAGS: &str = "-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fuse-cuid=none \
                     -std=c++17 -O3 -g0 -DNDEBUG -Wall -Wextra";

/// Everything that the compilations have in common.
#[derive(Debug)]
pub struct Plan<'a> {
    toolchain: &'a Toolchain,
    out_dir: &'a Path,
    /// Headers, compiler and device libraries, hashed.
    common: u64,
}

/// One kernel file for one target.
#[derive(Debug)]
pub struct Job<'a> {
    pub target: &'a Target,
    /// The kernel file's name without its extension.
    pub module: String,
    source: &'a Path,
}

impl Job<'_> {
    /// The name of the code object in the output folder.
    pub fn file_name(&self) -> String {
        format!("{}.{}.hsaco", self.module, self.target.name)
    }
}

impl<'a> Plan<'a> {
    /// Hashes what every compilation reads.
    pub fn new(toolchain: &'a Toolchain, headers: &[PathBuf], out_dir: &'a Path) -> Result<Plan<'a>, String> {
        // DefaultHasher may differ between Rust releases; the worst that follows is one needless compilation.
        let mut hasher = DefaultHasher::new();
        (&toolchain.clang, &toolchain.version, FLAGS, CODE_OBJECT_VERSION).hash(&mut hasher);
        for header in headers {
            (header, read(header)?).hash(&mut hasher);
        }
        for library in &toolchain.device_libs {
            (library, read(library)?).hash(&mut hasher);
        }
        Ok(Plan {
            toolchain,
            out_dir,
            common: hasher.finish(),
        })
    }

    /// The compilation of one file for one target.
    pub fn job<'t>(&self, target: &'t Target, source: &'t Path) -> Job<'t> {
        let module = source
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Job {
            target,
            module,
            source,
        }
    }

    /// Runs what is stale. Every error is reported, not only the first.
    pub fn run(&self, jobs: &[Job]) -> Result<(), String> {
        let workers = env::var("NUM_JOBS")
            .ok()
            .and_then(|count| count.parse().ok())
            .unwrap_or(1)
            .clamp(1, jobs.len());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut errors = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                errors.extend(self.bring_up_to_date(job).err());
            }
            errors
        };
        let errors: Vec<String> = thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let panicked = |_| vec!["a compilation thread panicked".to_owned()];
            handles
                .into_iter()
                .flat_map(|handle| handle.join().unwrap_or_else(panicked))
                .collect()
        });
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.join("\n\n"))
        }
    }

    /// Compiles unless the code object of exactly these inputs is already there.
    fn bring_up_to_date(&self, job: &Job) -> Result<(), String> {
        let controls = job.target.device_lib_controls();
        let mut hasher = DefaultHasher::new();
        (self.common, &controls, &job.target.name, read(job.source)?).hash(&mut hasher);
        let key = format!("{:016x}", hasher.finish());

        let object = self.out_dir.join(job.file_name());
        let key_file = object.with_extension("key");
        if object.is_file() && fs::read_to_string(&key_file).is_ok_and(|old| old == key) {
            return Ok(());
        }
        let controls = self.compile_controls(job, &controls)?;
        self.compile(job, &controls, &object)?;
        write(&key_file, &key)
    }

    /// The device libraries' configuration as bitcode, which is the only form that clang links in.
    fn compile_controls(&self, job: &Job, ir: &str) -> Result<PathBuf, String> {
        let source = self.out_dir.join(job.file_name()).with_extension("controls.ll");
        let bitcode = source.with_extension("bc");
        write(&source, ir)?;
        let mut command = Command::new(&self.toolchain.clang);
        command.args([
            "-x",
            "ir",
            "--target=amdgcn-amd-amdhsa",
            "-nogpulib",
            "-Wno-override-module",
            "-emit-llvm",
            "-c",
        ]);
        command.arg(&source).arg("-o").arg(&bitcode);
        run(&mut command, &source)?;
        Ok(bitcode)
    }

    fn compile(&self, job: &Job, controls: &Path, object: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.toolchain.clang);
        command.args(FLAGS.split_whitespace());
        command.arg(format!("-mcode-object-version={CODE_OBJECT_VERSION}"));
        command.arg(format!("--offload-arch={}", job.target.name));
        for library in self
            .toolchain
            .device_libs
            .iter()
            .map(PathBuf::as_path)
            .chain([controls])
        {
            command
                .args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang"])
                .arg(library);
        }
        command.arg(job.source).arg("-o").arg(object);
        run(&mut command, job.source)
    }
}

/// Runs a compiler. Its errors are passed on whole; its warnings become cargo's.
fn run(command: &mut Command, source: &Path) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!(
            "cannot compile {} ({}):\n{text}\nThe command was:\n{command:?}",
            source.display(),
            output.status
        ));
    }
    for line in text.lines() {
        println!("cargo::warning={line}");
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
