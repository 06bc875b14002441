//! Runs the compiler: every kernel file for every target, in parallel, and only where the last result is stale.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use crate::CodeObject;
use crate::level::OptLevel;
use crate::target::Target;
use crate::toolchain::Toolchain;

/// Of the code objects; the driver's launch argument layout hangs on it. Version 5 is ROCm 5.6 and later.
pub(crate) const CODE_OBJECT_VERSION: u32 = 5;

pub(crate) const FLAGS: &str = "-x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -fuse-cuid=none \
                     -std=c++17 -O3 -g0 -DNDEBUG -Wall -Wextra";

/// For NVIDIA's targets. The instructions that the kernels use are of PTX 8.0, which drivers of CUDA 12.0 and later take. A
/// CUDA toolkit that is newer than clang does not matter: none of its headers is read. Fusing is HIP's default, which, unlike CUDA's,
/// leaves alone what `#pragma clang fp contract(off)` covers.
const NVIDIA_FLAGS: &str = "-x cuda --cuda-device-only -nocudainc -nocudalib -S -Xclang -target-feature -Xclang +ptx80 \
                            -ffp-contract=fast-honor-pragmas -std=c++17 -O3 -g0 -DNDEBUG -Wall -Wextra -Wno-unknown-cuda-version";

/// Everything that the compilations have in common.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    toolchain: &'a Toolchain,
    out_dir: &'a Path,
    /// Flags beside the usual ones.
    extra_flags: &'a [&'a str],
    /// Written after the flags, whose `-O3` it replaces.
    level: Option<OptLevel>,
    /// Headers, compiler and device libraries, hashed.
    common: u64,
    /// Where code objects of other builds may lie, by key.
    cache: Option<PathBuf>,
    /// NVIDIA's math library, and its hash; for NVIDIA's targets alone.
    libdevice: Option<(PathBuf, u64)>,
}

/// One kernel file for one target.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) target: &'a Target,
    /// The kernel file's name without its extension.
    pub(crate) module: String,
    source: &'a Path,
}

impl Job<'_> {
    /// What the compilation leaves in the output folder.
    pub(crate) fn code_object(&self, out_dir: &Path) -> CodeObject {
        let path = out_dir.join(self.file_name());
        CodeObject {
            target: self.target.name.clone(),
            module: self.module.clone(),
            path,
        }
    }

    fn file_name(&self) -> String {
        format!("{}.{}.{}", self.module, self.target.name, self.target.extension())
    }
}

impl<'a> Plan<'a> {
    /// Hashes what every compilation reads.
    pub(crate) fn new(
        toolchain: &'a Toolchain,
        headers: &[PathBuf],
        out_dir: &'a Path,
    ) -> Result<Plan<'a>, String> {
        // DefaultHasher may differ between Rust releases; the worst that follows is one needless compilation.
        let mut hasher = DefaultHasher::new();
        (&toolchain.clang, &toolchain.version, FLAGS, CODE_OBJECT_VERSION).hash(&mut hasher);
        // By name and content, wherever the checkout lies: a clone takes what another one compiled.
        for header in headers {
            (header.file_name(), read(header)?).hash(&mut hasher);
        }
        for library in &toolchain.device_libs {
            (library, read(library)?).hash(&mut hasher);
        }
        Ok(Plan {
            toolchain,
            out_dir,
            extra_flags: &[],
            level: None,
            common: hasher.finish(),
            cache: None,
            libdevice: None,
        })
    }

    /// The same plan, with NVIDIA's math library for its targets.
    pub(crate) fn with_libdevice(self, libdevice: &Path) -> Result<Plan<'a>, String> {
        let mut hasher = DefaultHasher::new();
        (NVIDIA_FLAGS, read(libdevice)?).hash(&mut hasher);
        Ok(Plan {
            libdevice: Some((libdevice.to_owned(), hasher.finish())),
            ..self
        })
    }

    /// The same plan at another level of optimisation; its code objects have keys of their own.
    pub(crate) fn with_level(self, level: OptLevel) -> Plan<'a> {
        let level = (level != OptLevel::O3).then_some(level);
        Plan { level, ..self }
    }

    /// The same plan, with a folder that other builds share.
    pub(crate) fn with_cache(self, cache: Option<PathBuf>) -> Plan<'a> {
        Plan { cache, ..self }
    }

    /// The same plan with additional flags. A change of these flags does not make a code object stale, so
    /// `out_dir` must not be shared with other flags.
    pub(crate) fn with_flags(self, extra_flags: &'a [&'a str]) -> Plan<'a> {
        Plan { extra_flags, ..self }
    }

    /// The compilation of one file for one target.
    pub(crate) fn job<'t>(&self, target: &'t Target, source: &'t Path) -> Job<'t> {
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

    /// Runs what is stale and gives the compiler's warnings. Every error is reported, not only the first.
    pub(crate) fn run(&self, jobs: &[Job], workers: usize) -> Result<Vec<String>, String> {
        for job in jobs {
            self.toolchain.knows(&job.target.name)?;
        }
        let workers = workers.clamp(1, jobs.len().max(1));
        let next = AtomicUsize::new(0);
        let work = || {
            let mut results = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                results.push(self.bring_up_to_date(job));
            }
            results
        };
        let results: Vec<Result<Vec<String>, String>> = thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            let panicked = |_| vec![Err("a compilation thread panicked".to_owned())];
            handles
                .into_iter()
                .flat_map(|handle| handle.join().unwrap_or_else(panicked))
                .collect()
        });
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        for result in results {
            match result {
                Ok(lines) => warnings.extend(lines),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(warnings)
        } else {
            Err(errors.join("\n\n"))
        }
    }

    /// Compiles unless the code object of exactly these inputs is already there.
    fn bring_up_to_date(&self, job: &Job) -> Result<Vec<String>, String> {
        let controls = job.target.device_lib_controls();
        let mut hasher = DefaultHasher::new();
        let source = (job.source.file_name(), read(job.source)?);
        // What the device libraries are configured by; of NVIDIA's there is but one.
        match (&controls, &self.libdevice) {
            (Some(controls), _) => (self.common, controls, &job.target.name, source).hash(&mut hasher),
            (None, libdevice) => {
                let library = libdevice.as_ref().map(|(_, hash)| hash);
                (self.common, library, &job.target.name, source).hash(&mut hasher);
            }
        }
        // Where a release needs none, code objects keep the keys that they had before there were such flags.
        let flags = self.toolchain.flags_for(job.target);
        if !flags.is_empty() {
            flags.hash(&mut hasher);
        }
        if let Some(level) = self.level {
            level.flag().hash(&mut hasher);
        }
        let key = format!("{:016x}", hasher.finish());

        let object = self.out_dir.join(job.file_name());
        let key_file = object.with_extension("key");
        if object.is_file() && fs::read_to_string(&key_file).is_ok_and(|old| old == key) {
            return Ok(Vec::new());
        }
        let extension = job.target.extension();
        let cached = self
            .cache
            .as_ref()
            .map(|dir| dir.join(format!("{key}.{extension}")));
        let warnings = match &cached {
            // A folder that cannot be read is one without the object.
            Some(cached) if fs::copy(cached, &object).is_ok() => Vec::new(),
            _ => match &controls {
                Some(controls) => {
                    let controls = self.compile_controls(job, controls)?;
                    self.compile(job, &controls, &object)?
                }
                None => self.compile_ptx(job, &object)?,
            },
        };
        // What came with warnings is compiled again, so that each build shows them.
        if let (Some(cached), true) = (&cached, warnings.is_empty()) {
            share(&object, cached);
        }
        write(&key_file, &key)?;
        Ok(warnings)
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

    fn compile(&self, job: &Job, controls: &Path, object: &Path) -> Result<Vec<String>, String> {
        let mut command = Command::new(&self.toolchain.clang);
        command
            .args(FLAGS.split_whitespace())
            .args(self.toolchain.flags_for(job.target))
            .args(self.level.map(OptLevel::flag))
            .args(self.extra_flags);
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

    fn compile_ptx(&self, job: &Job, object: &Path) -> Result<Vec<String>, String> {
        let Some((libdevice, _)) = &self.libdevice else {
            return Err(format!(
                "{} is NVIDIA's; source is compiled at run time for AMD's targets only",
                job.target.name
            ));
        };
        let mut command = Command::new(&self.toolchain.clang);
        command
            .args(NVIDIA_FLAGS.split_whitespace())
            .args(self.level.map(OptLevel::flag))
            .args(self.extra_flags);
        command.arg(format!("--offload-arch={}", job.target.name));
        command
            .args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang"])
            .arg(libdevice);
        command.arg(job.source).arg("-o").arg(object);
        run(&mut command, job.source)
    }
}

/// Runs a compiler. Its errors are passed on whole; its warnings are the result.
fn run(command: &mut Command, source: &Path) -> Result<Vec<String>, String> {
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
    Ok(text.lines().map(str::to_owned).collect())
}

/// Puts a code object where other builds find it: whole or not at all, as they may be running. A folder that cannot be
/// written costs them time, nothing else.
fn share(object: &Path, cached: &Path) {
    let Some(dir) = cached.parent().filter(|_| !cached.exists()) else {
        return;
    };
    let part = cached.with_extension(format!("{}.part", std::process::id()));
    let shared = fs::create_dir_all(dir)
        .and_then(|()| fs::copy(object, &part))
        .and_then(|_| fs::rename(&part, cached));
    if shared.is_err() {
        drop(fs::remove_file(part));
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds one kernel and its header in a checkout called `name`; whether the compiler ran, and what came of it.
    fn build(dir: &Path, name: &str, value: u32, level: OptLevel, cache: &Path) -> (bool, Vec<u8>) {
        let toolchain = Toolchain::find().unwrap();
        let checkout = dir.join(name);
        let out = checkout.join("out");
        fs::create_dir_all(&out).unwrap();
        let (source, header) = (checkout.join("kernel.hip"), checkout.join("value.h"));
        let kernel = "extern \"C\" __attribute__((global)) void store(unsigned *out) { *out = VALUE; }";
        fs::write(&source, format!("#include \"value.h\"\n{kernel}")).unwrap();
        fs::write(&header, format!("#define VALUE {value}")).unwrap();
        let plan = Plan::new(&toolchain, &[header], &out).unwrap();
        let plan = plan.with_cache(Some(cache.to_path_buf())).with_level(level);
        let targets = Target::parse_list("gfx1100").unwrap();
        let job = plan.job(&targets[0], &source);
        plan.run(&[job], 1).unwrap();
        (
            out.join("kernel.gfx1100.controls.ll").exists(),
            fs::read(out.join("kernel.gfx1100.hsaco")).unwrap(),
        )
    }

    #[test]
    fn what_one_checkout_compiled_another_copies_until_the_source_changes() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let cache = dir.join("cache");
        let (compiled, first) = build(dir, "first", 1, OptLevel::O3, &cache);
        let (again, second) = build(dir, "second", 1, OptLevel::O3, &cache);
        let (anew, third) = build(dir, "third", 2, OptLevel::O3, &cache);
        assert_eq!((compiled, again, anew), (true, false, true));
        assert_eq!(first, second);
        assert_ne!(first, third);
    }

    #[test]
    fn what_is_compiled_at_another_level_is_not_what_others_copy() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let cache = dir.join("cache");
        let (compiled, first) = build(dir, "first", 1, OptLevel::O3, &cache);
        let (anew, plain) = build(dir, "first", 1, OptLevel::O0, &cache);
        assert_eq!((compiled, anew), (true, true));
        assert_ne!(first, plain);
        let (again, second) = build(dir, "second", 1, OptLevel::O0, &cache);
        assert_eq!((again, second), (false, plain));
        let (again, third) = build(dir, "third", 1, OptLevel::O3, &cache);
        assert_eq!((again, third), (false, first));
    }
}
