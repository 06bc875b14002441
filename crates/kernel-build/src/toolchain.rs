//! Finds the compiler, its linker and AMD's device libraries; says what is missing, where it was looked for, and what
//! to install. Never runs a compilation.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::Target;

/// Code object version 5 and `--no-gpu-bundle-output` as we use them need this release.
const OLDEST_CLANG: u32 = 17;
const NEWEST_CLANG: u32 = 23;
/// The first that may make instructions on halves of registers unasked.
const CLANG_WITH_HALVES: u32 = 20;
/// Targets that only a newer clang knows.
const NEWER_TARGETS: [(&str, u32); 2] = [("gfx950", 20), ("gfx1250", 23)];

const INSTALL: &str = "\
To install what the kernels are compiled with (no GPU and no ROCm runtime are needed):
    Debian           apt install clang-19 lld-19 llvm-19 rocm-device-libs
    Ubuntu           apt install clang-19 lld-19 llvm-19 rocm-device-libs-17
    Fedora           dnf install clang lld llvm rocm-device-libs
    Arch             pacman -S clang lld llvm rocm-device-libs
    ROCm             the rocm-llvm package (it installs /opt/rocm/llvm/bin/clang++)
Or name your own: ROCM_CLANG=/path/to/clang++ ROCM_DEVICE_LIB_PATH=/path/to/amdgcn/bitcode";

/// Where distributions put `ocml.bc`; a `*` matches any one folder name.
const DEVICE_LIB_DIRS: &[&str] = &[
    "/usr/lib/*/amdgcn/bitcode",                  // Debian, Ubuntu: x86_64-linux-gnu
    "/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode", // Debian, Ubuntu: rocm-device-libs-17, -21
    "/opt/rocm/amdgcn/bitcode",                   // Arch, AMD's packages
    "/opt/rocm/lib/llvm/lib/clang/*/lib/amdgcn/bitcode", // AMD's packages, newer
    "/usr/lib64/rocm/llvm/lib/clang/*/lib/amdgcn/bitcode", // Fedora, newer
    "/usr/lib64/rocm/llvm/lib/clang/*/amdgcn/bitcode", // Fedora
    "/usr/lib/clang/*/lib/amdgcn/bitcode",        // Fedora, older
    "/usr/lib/clang/*/amdgcn/bitcode",            // Fedora, older still
    "/usr/lib/amdgcn/bitcode",
    "/usr/share/amdgcn/bitcode",
    "/opt/rocm-*/amdgcn/bitcode",
];

/// NVIDIA's math library, below the folder of a CUDA toolkit.
const LIBDEVICE: &str = "nvvm/libdevice/libdevice.10.bc";

/// What names the folder of the CUDA toolkit; the first counts before the second.
pub(crate) const CUDA_VARIABLES: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

/// Where installers put the CUDA toolkit.
const CUDA_DIRS: [&str; 4] = [
    "/usr/local/cuda",
    "/opt/cuda",
    "/usr/lib/cuda",
    "/usr/lib/nvidia-cuda-toolkit",
];

/// What a compilation needs.
#[derive(Debug)]
pub(crate) struct Toolchain {
    /// The compiler driver.
    pub(crate) clang: PathBuf,
    /// The first line of `--version`: part of every result's cache key.
    pub(crate) version: String,
    /// `ocml.bc` (math) and `ockl.bc` (work-item queries), in linking order.
    pub(crate) device_libs: [PathBuf; 2],
}

impl Toolchain {
    /// Looks everything up. The error is for the user, complete.
    pub(crate) fn find() -> Result<Toolchain, String> {
        let (clang, version) = find_clang()?;
        let device_libs = find_device_libs(&clang)?;
        Ok(Toolchain {
            clang,
            version,
            device_libs,
        })
    }

    /// Whether the compiler knows a target, as far as its release says.
    pub(crate) fn knows(&self, target: &str) -> Result<(), String> {
        let major = release_of(&self.version);
        let wanted = NEWER_TARGETS.iter().find(|(name, _)| *name == target);
        match wanted.zip(major) {
            Some(((_, least), major)) if major < *least => Err(format!(
                "{target} needs clang {least} or newer, set ROCM_CLANG ({} is clang {major})",
                self.clang.display()
            )),
            _ => Ok(()),
        }
    }

    /// The flags that this release needs for a target beside those that all need.
    pub(crate) fn flags_for(&self, target: &Target) -> &'static [&'static str] {
        if self.makes_halves() {
            target.whole_registers()
        } else {
            &[]
        }
    }

    /// Whether it may make instructions on halves of registers unasked, as far as its release says.
    pub(crate) fn makes_halves(&self) -> bool {
        release_of(&self.version).is_none_or(|release| release >= CLANG_WITH_HALVES)
    }

    /// NVIDIA's math library, for its targets: in the CUDA toolkit that the environment names, or where it is installed.
    pub(crate) fn libdevice(&self) -> Result<PathBuf, String> {
        if !output_of(&self.clang, "-print-targets")?.contains("nvptx64") {
            return Err(format!(
                "{} was built without the nvptx64 target, which NVIDIA's GPUs need; name another with ROCM_CLANG",
                self.clang.display()
            ));
        }
        let named = CUDA_VARIABLES.iter().filter_map(env::var_os).map(PathBuf::from);
        let homes: Vec<PathBuf> = named.chain(CUDA_DIRS.map(PathBuf::from)).collect();
        let mut files = homes.iter().map(|home| home.join(LIBDEVICE));
        files.find(|file| file.is_file()).ok_or_else(|| {
            let tried: String = homes.iter().map(|home| format!("    {}\n", home.display())).collect();
            format!(
                "kernels for NVIDIA's GPUs need NVIDIA's math library, {LIBDEVICE}.\nLooked in:\n{tried}Set CUDA_HOME to a \
                 CUDA toolkit, or run `eval \"$(ci/cuda-toolkit)\"`, which assembles one."
            )
        })
    }

    /// The files whose change makes every code object stale.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.clang]
            .into_iter()
            .chain(&self.device_libs)
            .map(PathBuf::as_path)
    }
}

/// The number of the release in what `--version` says.
fn release_of(version: &str) -> Option<u32> {
    let mut words = version.split_whitespace().skip_while(|word| *word != "version");
    words.nth(1)?.split('.').next()?.parse().ok()
}

/// The compiler and its version: `ROCM_CLANG` or nothing else if that is set, else the first usable candidate.
fn find_clang() -> Result<(PathBuf, String), String> {
    let named = rocm_env::CLANG.get().map_err(|error| error.to_string())?;
    let candidates: Vec<PathBuf> = match named.path() {
        Some(path) => vec![path.to_owned()],
        None => (OLDEST_CLANG..=19)
            .rev()
            .chain(20..=NEWEST_CLANG)
            .map(|major| format!("clang++-{major}"))
            .chain(
                [
                    "clang++",
                    "/opt/rocm/llvm/bin/clang++",
                    "/opt/rocm/lib/llvm/bin/clang++",
                ]
                .map(String::from),
            )
            .map(PathBuf::from)
            .collect(),
    };
    let mut tried = String::new();
    for clang in candidates {
        match on_path(&clang).and_then(|clang| Ok((probe_clang(&clang)?, clang))) {
            Ok((version, clang)) => return Ok((clang, version)),
            Err(reason) => tried += &format!("    {}: {reason}\n", clang.display()),
        }
    }
    Err(format!(
        "compiling the GPU kernels needs clang++ {OLDEST_CLANG} or newer with the amdgcn target, and lld.\nTried:\n{tried}{INSTALL}"
    ))
}

/// The file that a program's name leads to.
fn on_path(program: &Path) -> Result<PathBuf, String> {
    let dirs = env::var_os("PATH").unwrap_or_default();
    let mut files = match program.components().count() {
        1 => env::split_paths(&dirs).map(|dir| dir.join(program)).collect(),
        _ => vec![program.to_owned()],
    };
    files.retain(|file| file.is_file());
    files.into_iter().next().ok_or_else(|| "not found".to_owned())
}

/// Whether this clang can do the work; if not, why.
fn probe_clang(clang: &Path) -> Result<String, String> {
    let version = output_of(clang, "--version")?
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    let release = output_of(clang, "-dumpversion")?;
    let major: u32 = release
        .split('.')
        .next()
        .and_then(|major| major.trim().parse().ok())
        .unwrap_or(0);
    if major < OLDEST_CLANG {
        return Err(format!("release {} is too old", release.trim()));
    }
    if !output_of(clang, "-print-targets")?.contains("amdgcn") {
        return Err("built without the amdgcn target".into());
    }
    // The driver links code objects with `lld`; it prints the bare name back when it finds none.
    let lld = output_of(clang, "-print-prog-name=lld")?;
    if !Path::new(lld.trim()).is_absolute() {
        return Err(format!(
            "has no lld beside it or on PATH (on Debian and Ubuntu: apt install lld-{major})"
        ));
    }
    Ok(version)
}

fn output_of(program: &Path, argument: &str) -> Result<String, String> {
    let output = Command::new(program)
        .arg(argument)
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "`{argument}` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The device libraries: `ROCM_DEVICE_LIB_PATH` or nothing else if that is set, else the compiler's own, else the
/// distribution's.
fn find_device_libs(clang: &Path) -> Result<[PathBuf; 2], String> {
    let named = rocm_env::DEVICE_LIBS.get().map_err(|error| error.to_string())?;
    let patterns: Vec<PathBuf> = match named.path() {
        Some(path) => vec![path.to_owned()],
        None => {
            let resources = PathBuf::from(output_of(clang, "-print-resource-dir")?.trim());
            ["amdgcn/bitcode", "lib/amdgcn/bitcode"]
                .map(|dir| resources.join(dir))
                .into_iter()
                .chain(DEVICE_LIB_DIRS.iter().map(PathBuf::from))
                .collect()
        }
    };
    for dir in patterns.iter().flat_map(|pattern| expand(pattern)) {
        let libs = ["ocml.bc", "ockl.bc"].map(|name| dir.join(name));
        if libs.iter().all(|lib| lib.is_file()) {
            return Ok(libs);
        }
    }
    let tried: String = patterns
        .iter()
        .map(|pattern| format!("    {}\n", pattern.display()))
        .collect();
    Err(format!(
        "compiling the GPU kernels needs AMD's device libraries, ocml.bc and ockl.bc.\nLooked in:\n{tried}{INSTALL}"
    ))
}

/// The existing folders that match a pattern; the last by name first, because that is the newest version.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let part = part.as_os_str().to_string_lossy();
        found = match part.split_once('*') {
            None => found.into_iter().map(|dir| dir.join(&*part)).collect(),
            Some((prefix, suffix)) => found
                .iter()
                .flat_map(|dir| matching_entries(dir, prefix, suffix))
                .collect(),
        };
    }
    found.retain(|dir| dir.is_dir());
    found
}

fn matching_entries(dir: &Path, prefix: &str, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut matching: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.len() >= prefix.len() + suffix.len() && name.starts_with(prefix) && name.ends_with(suffix)
        })
        .map(|entry| entry.path())
        .collect();
    matching.sort();
    matching.reverse();
    matching
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolchain(version: &str) -> Toolchain {
        Toolchain {
            clang: "clang++".into(),
            version: version.to_owned(),
            device_libs: ["ocml.bc".into(), "ockl.bc".into()],
        }
    }

    #[test]
    fn clang_from_20_on_is_told_to_leave_halves_of_registers_alone_where_there_are_such() {
        let targets = Target::parse_list("gfx942,gfx1030,gfx1100,gfx1201,sm_80").unwrap();
        let told = |version: &str| {
            let toolchain = toolchain(version);
            let told = targets
                .iter()
                .filter(|target| toolchain.flags_for(target).ends_with(&["-real-true16"]));
            told.map(|target| target.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(told("Debian clang version 19.1.7 (3)"), [""; 0]);
        assert_eq!(told("clang version 20.1.0"), ["gfx1100", "gfx1201"]);
        assert_eq!(told("Debian clang version 21.1.8 (3)"), ["gfx1100", "gfx1201"]);
        assert_eq!(told("another"), ["gfx1100", "gfx1201"]);
    }

    #[test]
    fn a_target_that_the_compiler_is_too_old_for_is_told() {
        let old = toolchain("Debian clang version 19.1.7 (3)");
        let message = old.knows("gfx950").unwrap_err();
        assert!(
            message.contains("gfx950 needs clang 20 or newer, set ROCM_CLANG"),
            "{message}"
        );
        assert_eq!(old.knows("gfx942"), Ok(()));
        assert_eq!(toolchain("clang version 21.1.8").knows("gfx950"), Ok(()));
        // Whatever it is, it may know.
        assert_eq!(toolchain("another").knows("gfx950"), Ok(()));
    }
}
