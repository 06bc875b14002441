//! Kernels compiled while the program runs, and kept in a folder for the next time: by the clang that kernel-build finds, which
//! serves every machine, else by the hipRTC of the ROCm in use. The software GPU has no hipRTC.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use kernel_build::{Compiler, Target};
use sha2::{Digest, Sha256};

use super::Module;
use super::image::Image;
use crate::hip::rtc::{self, Rtc};
use crate::{Device, DeviceInfo, Error, Result};

/// The text that is put before every source.
const PRELUDE: &str = include_str!("prelude.h");
/// So that errors name lines of the caller's source.
const FIRST_LINE: &str = "#line 1 \"kernel.hip\"\n";
/// The prelude's property members, and the arguments' names in the code object, for errors.
const FLAGS: [&str; 2] = ["-fdeclspec", "-fno-discard-value-names"];

/// What is compiled.
pub(crate) struct Unit<'a> {
    /// The file's name, for messages.
    pub(crate) file: &'a str,
    /// What is put before the text where clang compiles it: hipRTC has it built in.
    pub(crate) prelude: &'a str,
    pub(crate) text: &'a str,
    /// Names and texts of the headers that it may include.
    pub(crate) headers: &'a [(&'a str, &'a str)],
    /// For clang, beside the usual ones.
    pub(crate) flags: &'a [&'a str],
}

/// Who compiles.
enum Maker {
    Clang(&'static Found),
    Rtc(&'static Rtc),
}

/// The process's compiler, and the SHA-256 of its fingerprint.
struct Found {
    compiler: Compiler,
    fingerprint: [u8; 32],
}

impl Device {
    /// Compiles HIP source for this device and loads it. As under hipRTC nothing need be included: `__global__` and its
    /// like, `threadIdx` and its like, `__syncthreads` and the math library are there, and HIP's host API is not.
    ///
    /// The code object is kept in the folder of [`rocm_env::KERNEL_CACHE`] under a hash of all that it depends on, and taken
    /// from there the next time. What is there is trusted.
    ///
    /// # Errors
    /// [`Error::Compile`] with the compiler's own words, or with what is missing when there is none; those of
    /// [`Device::load`].
    pub fn compile(&self, source: &str) -> Result<Module> {
        self.takes_own_kernels()?;
        let prelude = [PRELUDE, FIRST_LINE].concat();
        let unit = Unit {
            file: "kernel.hip",
            prelude: &prelude,
            text: source,
            headers: &[],
            flags: &FLAGS,
        };
        self.load(&code(self.info(), &unit)?)
    }
}

/// The code object of `unit` for the device, from the cache if it is there, else made and put there.
pub(crate) fn code(info: &DeviceInfo, unit: &Unit<'_>) -> Result<Vec<u8>> {
    let maker = Maker::find(info)?;
    let target = info.target();
    let key = key(&maker.fingerprint(target), target, unit);
    let cache = rocm_env::KERNEL_CACHE.get()?.0.as_ref();
    let kept = cache.map(|dir| dir.join(format!("{key}.{target}.hsaco")));
    if let Some(code) = kept.as_deref().and_then(intact) {
        return Ok(code);
    }
    let (Some(dir), Some(path)) = (cache, &kept) else {
        return maker.compile(target, unit);
    };
    // A cache that cannot be locked or written costs time, not the result.
    let _turn = Turn::wait_for(dir, path);
    if let Some(code) = intact(path) {
        return Ok(code);
    }
    let code = maker.compile(target, unit)?;
    let _ = keep(dir, path, &code);
    Ok(code)
}

/// The turn to make the code object of one path: threads and processes that want the same one at once wait for whoever makes
/// it, and then find it made. A process that dies loses its turn with it.
struct Turn {
    lock: File,
    path: PathBuf,
}

impl Turn {
    fn wait_for(dir: &Path, kept: &Path) -> io::Result<Turn> {
        fs::create_dir_all(dir)?;
        let path = kept.with_extension("lock");
        let lock = File::create(&path)?;
        lock.lock()?;
        Ok(Turn { lock, path })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Who waits for this very file finds the code object made. Who comes later makes a file of its own, and at worst
        // the same code object again.
        let _ = fs::remove_file(&self.path);
        let _ = self.lock.unlock();
    }
}

impl Maker {
    fn find(info: &DeviceInfo) -> Result<Maker> {
        match (found(), rtc::of(info.driver())) {
            (Ok(found), _) => Ok(Maker::Clang(found)),
            (Err(_), Some(rtc)) => Ok(Maker::Rtc(rtc)),
            (Err(error), None) => Err(error),
        }
    }

    fn fingerprint(&self, target: &str) -> [u8; 32] {
        match self {
            Maker::Clang(found) => found.fingerprint,
            Maker::Rtc(rtc) => {
                Sha256::digest([rtc.identity.as_str(), &rtc_options(target).join(" ")].join("\n")).into()
            }
        }
    }

    fn compile(&self, target: &str, unit: &Unit<'_>) -> Result<Vec<u8>> {
        match self {
            Maker::Clang(found) => compile(&found.compiler, target, unit),
            Maker::Rtc(rtc) => rtc.compile(unit.file, unit.text, unit.headers, &rtc_options(target)),
        }
    }
}

/// As kernel-build has clang compile: optimized, products and sums fused, whole registers.
fn rtc_options(target: &str) -> Vec<String> {
    let whole = Target::parse_list(target).map_or(&[][..], |targets| targets[0].whole_registers());
    let mut options = vec![format!("--offload-arch={target}")];
    options.extend(
        ["-O3", "-std=c++17", "-ffp-contract=fast-honor-pragmas"]
            .iter()
            .chain(whole)
            .map(|&option| option.to_owned()),
    );
    options
}

/// The process's compiler, looked for once: that starts a few programs.
fn found() -> Result<&'static Found> {
    static FOUND: OnceLock<std::result::Result<Found, String>> = OnceLock::new();
    let find = || {
        let compiler = Compiler::find()?;
        let fingerprint = Sha256::digest(compiler.fingerprint()?).into();
        Ok(Found {
            compiler,
            fingerprint,
        })
    };
    FOUND
        .get_or_init(find)
        .as_ref()
        .map_err(|reason| Error::Compile(reason.clone()))
}

/// The SHA-256, in hexadecimal, of all that a code object depends on. Every part is preceded by its length, so that no
/// two lists of parts read the same.
fn key(fingerprint: &[u8; 32], target: &str, unit: &Unit<'_>) -> String {
    let flags = unit.flags.join(" ");
    let own = [flags.as_str(), target, unit.prelude, unit.file, unit.text];
    let headers = unit.headers.iter().flat_map(|(name, text)| [*name, *text]);
    let mut hasher = Sha256::new();
    let texts = own.into_iter().chain(headers).map(str::as_bytes);
    for part in [&fingerprint[..]].into_iter().chain(texts) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A kept code object, if it is there and whole.
fn intact(path: &Path) -> Option<Vec<u8>> {
    let code = fs::read(path).ok()?;
    Image::parse(&code).is_ok().then_some(code)
}

/// Puts `code` at `path` in one step: no reader sees half of it, whoever writes at the same time.
fn keep(dir: &Path, path: &Path, code: &[u8]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    io::Write::write_all(&mut file, code)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Compiles in a folder of its own, which is gone afterwards.
fn compile(compiler: &Compiler, target: &str, unit: &Unit<'_>) -> Result<Vec<u8>> {
    let work = || {
        let targets = Target::parse_list(target)?;
        let dir = tempfile::tempdir().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let write = |name: &str, text: &str| {
            let file = dir.path().join(name);
            fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            Ok::<_, String>(file)
        };
        for (name, text) in unit.headers {
            write(name, text)?;
        }
        let file = write(unit.file, &[unit.prelude, unit.text].concat())?;
        let object = compiler.compile(&file, &targets[0], unit.flags, dir.path())?;
        fs::read(&object).map_err(|error| format!("cannot read {}: {error}", object.display()))
    };
    work().map_err(Error::Compile)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn the_key_depends_on_every_part_and_on_where_it_ends() {
        const UNIT: Unit<'_> = Unit {
            file: "a.hip",
            prelude: "",
            text: "source",
            headers: &[("a.h", "b")],
            flags: &["-g"],
        };
        let one = key(&[1; 32], "gfx1100", &UNIT);
        assert_eq!(one.len(), 64);
        assert_eq!(one, key(&[1; 32], "gfx1100", &UNIT));
        let other = |unit| key(&[1; 32], "gfx1100", &unit);
        let others = [
            key(&[2; 32], "gfx1100", &UNIT),
            key(&[1; 32], "gfx942", &UNIT),
            other(Unit {
                text: "other",
                ..UNIT
            }),
            other(Unit {
                file: "b.hip",
                ..UNIT
            }),
            other(Unit { prelude: "x", ..UNIT }),
            other(Unit { flags: &[], ..UNIT }),
            other(Unit {
                headers: &[("a.h", "c")],
                ..UNIT
            }),
            other(Unit {
                headers: &[("a.hb", "")],
                ..UNIT
            }),
        ];
        for other in others {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn two_that_want_one_code_object_at_once_take_turns_and_leave_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept.gfx1100.hsaco");
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _turn = Turn::wait_for(dir.path(), &path).unwrap();
                    if intact(&path).is_none() {
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        let (_, _, code) = crate::module::built_in().next().unwrap();
                        keep(dir.path(), &path, &code).unwrap();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1);
        let left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["kept.gfx1100.hsaco"]);
    }

    #[test]
    fn a_kept_code_object_is_read_back_and_half_of_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (_, _, code) = crate::module::built_in().next().unwrap();
        let path = dir.path().join("below").join("kept.hsaco");
        keep(path.parent().unwrap(), &path, &code).unwrap();
        assert_eq!(intact(&path), Some(code.clone()));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        fs::write(&path, &code[..code.len() / 2]).unwrap();
        assert_eq!(intact(&path), None);
    }
}
