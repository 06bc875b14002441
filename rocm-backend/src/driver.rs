//! Decides, once a process, who answers the HIP calls: `ROCM_DRIVER=auto|system|hsa|soft|nvidia`.
//!
//! `auto` takes a real `libamdhip64` when one loads, has every symbol needed, and has a device; else the software
//! device. The others insist; NVIDIA's driver, and AMD's runtime over the software GPU, are taken where they are asked for, and
//! nowhere else.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rocm_env::{Allocation, Driver};

use crate::allocator::Allocator;
use crate::hip::load::{self, Refusal};
use crate::hip::query;
use crate::libraries::{self, Libraries, Library, Which};
use crate::{Error, Result};

/// Sonames of the HIP runtime, newest first; the name without a version is a development package's.
const LIBRARIES: &[&str] = &[
    "libamdhip64.so.10",
    "libamdhip64.so.9",
    "libamdhip64.so.8",
    "libamdhip64.so.7",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "libamdhip64.so",
];

/// Who answers the HIP calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverKind {
    /// A `libamdhip64` of this machine.
    System,
    /// The software device in this program.
    Soft,
    /// NVIDIA's driver: this crate's kernels on an NVIDIA GPU.
    Nvidia,
}

/// The driver in use.
#[derive(Debug, Clone)]
pub struct DriverInfo {
    kind: DriverKind,
    libraries: Libraries,
    allocator: Allocator,
    version: String,
    library: Option<PathBuf>,
    is_software: bool,
    passed_over: Vec<Attempt>,
}

/// One library, or one place full of libraries, that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What was looked for.
    pub library: String,
    /// What came of it.
    pub outcome: String,
}

impl DriverInfo {
    /// System, software or NVIDIA's.
    pub fn kind(&self) -> DriverKind {
        self.kind
    }

    /// The driver's name.
    pub fn name(&self) -> &'static str {
        match self.kind {
            DriverKind::System => "HIP",
            DriverKind::Soft => "software ROCm",
            DriverKind::Nvidia => "HIP on NVIDIA",
        }
    }

    /// The HIP version the driver reports, as `7.1.52802`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Which libraries may serve operations.
    pub fn libraries(&self) -> Libraries {
        self.libraries
    }

    /// What becomes of memory that buffers give back.
    pub fn allocator(&self) -> Allocator {
        self.allocator
    }

    /// The rocBLAS that serves matrix products, if one does; over NVIDIA's driver it is cuBLAS. The first call loads it.
    pub fn rocblas(&self) -> &'static Library {
        libraries::library(Which::Rocblas, self)
    }

    /// The rocRAND that serves random numbers of f32 and f64, if one does; over NVIDIA's driver it is cuRAND. The first call loads it.
    pub fn rocrand(&self) -> &'static Library {
        libraries::library(Which::Rocrand, self)
    }

    /// The MIOpen that serves convolutions and means of windows, if one does; over NVIDIA's driver it is cuDNN. The first call loads it.
    pub fn miopen(&self) -> &'static Library {
        libraries::library(Which::Miopen, self)
    }

    /// What carries buffers between devices ([`comm`](crate::comm)): RCCL, over NVIDIA's driver NCCL, a model on the software device.
    /// The first call loads it.
    pub fn rccl(&self) -> &'static Library {
        libraries::library(Which::Rccl, self)
    }

    /// Whether kernels run on the software GPU: the driver is the software device, or AMD's HIP runtime over this workspace's
    /// libhsa-runtime64, as `ROCM_DRIVER=hsa` and `gfx exec` have it. Then AMD's libraries are real, and no card is.
    pub fn is_software(&self) -> bool {
        self.is_software
    }

    /// The library that answers; none for the software device.
    pub fn library(&self) -> Option<&Path> {
        self.library.as_deref()
    }

    /// What was tried before, and why it does not serve.
    pub fn passed_over(&self) -> &[Attempt] {
        &self.passed_over
    }
}

impl fmt::Display for DriverInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name(), self.version)?;
        if let Some(library) = &self.library {
            write!(f, " ({})", library.display())?;
        }
        if self.is_software && self.kind == DriverKind::System {
            f.write_str(" over the software GPU")?;
        }
        match self.libraries {
            // The driver contains none of the libraries, so that their names are written beside the driver's.
            Libraries::Auto if self.kind == DriverKind::Nvidia => {
                for (what, by) in [
                    ("products", self.rocblas()),
                    ("convolutions", self.miopen()),
                    ("random numbers", self.rocrand()),
                ] {
                    if let Library::System(library) = by {
                        write!(f, ", {what} by {}", library.display())?;
                    }
                }
            }
            Libraries::Auto => {}
            Libraries::Native => f.write_str(", no libraries")?,
            Libraries::Model => f.write_str(", libraries modelled on the host")?,
        }
        if self.allocator != Allocator::chosen(Allocation::Auto, self.kind) {
            f.write_str(match self.allocator {
                Allocator::Caching => ", memory is cached",
                Allocator::Exact => ", memory is not cached",
            })?;
        }
        match crate::module::origin() {
            Some(origin) => write!(f, ", {origin}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.library, self.outcome)
    }
}

/// Attempts as the tail of a message, one a line.
pub(crate) fn render(attempts: &[Attempt]) -> String {
    attempts.iter().map(|attempt| format!("\n  {attempt}")).collect()
}

/// The driver of this process. The first call decides; later ones give the same answer.
///
/// # Errors
/// [`Error::Environment`] when a variable of [`rocm_env`] has a value that it cannot have; [`Error::Driver`] when
/// `ROCM_DRIVER` insists on a driver that cannot be had, with every library that was looked for.
pub fn driver() -> Result<&'static DriverInfo> {
    static DRIVER: OnceLock<Result<DriverInfo>> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            rocm_env::check()?;
            choose(*rocm_env::DRIVER.get()?, rocm_env::PATH.get()?.path())
        })
        .as_ref()
        .map_err(Error::clone)
}

/// The software device for a test that must never run on a card, whatever `ROCM_DRIVER` says. The test's process must
/// not ask for [`driver`] as well.
#[cfg(test)]
pub(crate) fn soft_for_tests() -> &'static DriverInfo {
    Box::leak(Box::new(choose(Driver::Soft, None).unwrap()))
}

fn choose(choice: Driver, rocm_path: Option<&Path>) -> Result<DriverInfo> {
    let passed_over = match choice {
        Driver::Soft => Vec::new(),
        Driver::Nvidia => {
            let library = load::nvidia()?;
            return info(DriverKind::Nvidia, Some(library), Vec::new());
        }
        Driver::Hsa => {
            let (library, passed_over) = over_software_gpu(rocm_path)?;
            return info(DriverKind::System, Some(library), passed_over);
        }
        Driver::Auto | Driver::System => match system(&places(rocm_path)) {
            Ok((library, passed_over)) => {
                return info(DriverKind::System, Some(library), passed_over);
            }
            Err(NoSystem { tried, .. }) if choice == Driver::System => {
                let reason = "ROCM_DRIVER=system, and no usable ROCm was found; install ROCm, set ROCM_PATH to it, or use \
                              ROCM_DRIVER=soft"
                    .to_owned();
                return Err(Error::Driver { reason, tried });
            }
            Err(none) => none.tried,
        },
    };
    match load::soft() {
        Ok(()) => info(DriverKind::Soft, None, passed_over),
        // In a program without the software device, what was wrong with the system's is the answer.
        Err(Error::Driver { reason, .. }) => Err(Error::Driver {
            reason,
            tried: passed_over,
        }),
        Err(other) => Err(other),
    }
}

/// AMD's HIP runtime over this workspace's libhsa-runtime64, and nothing else: which library it is.
fn over_software_gpu(rocm_path: Option<&Path>) -> Result<(PathBuf, Vec<Attempt>)> {
    let refused = |reason: String, tried: Vec<Attempt>| Error::Driver { reason, tried };
    // `gfx exec` has put it there already.
    if !load::is_software_hsa() {
        let wrong = |why: String| refused(format!("ROCM_DRIVER=hsa: {why}"), vec![]);
        let file = rocm_env::HSA_SEAM.file();
        let file = file.map_err(|why| wrong(why.to_string()))?;
        load::software_hsa(&file)
            .map_err(|why| wrong(format!("{} could not be loaded: {why}", file.display())))?;
        if !load::is_software_hsa() {
            return Err(wrong(format!(
                "{} is not this workspace's libhsa-runtime64, or another library of that name was loaded before",
                file.display()
            )));
        }
    }
    let (library, passed_over) = system(&places(rocm_path)).map_err(|none| {
        let reason = match none.has_no_device {
            true => {
                "ROCM_DRIVER=hsa: AMD's HIP runtime has no device over the software GPU; one that is older than the card does not know it, as \
                 6.4 knows neither gfx950 nor gfx1250. Take a newer one, or another card (ROCM_SOFT_TARGET, `rocm:hsa:CARD` of parity)"
            }
            false => {
                "ROCM_DRIVER=hsa, and no usable libamdhip64 of AMD's was found; install Debian's libamdhip64-6 or libamdhip64-7, or AMD's \
                 ROCm, set ROCM_PATH to it, or name the folder of the library in LD_LIBRARY_PATH"
            }
        };
        refused(reason.to_owned(), none.tried)
    })?;
    if load::is_software_hip() {
        let reason = format!(
            "ROCM_DRIVER=hsa: {} is this workspace's and not AMD's; ROCM_DRIVER=system takes it",
            library.display()
        );
        return Err(refused(reason, passed_over));
    }
    Ok((library, passed_over))
}

fn info(kind: DriverKind, library: Option<PathBuf>, passed_over: Vec<Attempt>) -> Result<DriverInfo> {
    Ok(DriverInfo {
        kind,
        libraries: libraries::chosen(*rocm_env::LIBRARIES.get()?, kind)?,
        allocator: Allocator::chosen(*rocm_env::ALLOCATOR.get()?, kind),
        version: query::runtime_version()?,
        library,
        is_software: match kind {
            DriverKind::Soft => true,
            DriverKind::System => load::is_software_hip() || load::is_software_hsa(),
            DriverKind::Nvidia => false,
        },
        passed_over,
    })
}

/// Folders to look in, in order; `None` is the dynamic linker's own search.
fn places(rocm_path: Option<&Path>) -> Vec<Option<PathBuf>> {
    let named = rocm_path.map(|path| path.join("lib"));
    let mut places: Vec<_> = named.into_iter().map(Some).collect();
    places.extend([Some(PathBuf::from("/opt/rocm/lib")), None]);
    places
}

/// No library serves.
#[derive(Debug)]
struct NoSystem {
    tried: Vec<Attempt>,
    /// The last one has all that is needed but a device.
    has_no_device: bool,
}

/// Fills the seam from the first library that serves. The first that loads decides: two HIP runtimes in one process
/// do not get along.
fn system(places: &[Option<PathBuf>]) -> std::result::Result<(PathBuf, Vec<Attempt>), NoSystem> {
    let mut tried = Vec::new();
    for place in places {
        let mut absent = Vec::new();
        for &name in LIBRARIES {
            let path = place
                .as_ref()
                .map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
            if place.is_some() && !path.exists() {
                absent.push(name);
                continue;
            }
            let refusal = match load::system(&path) {
                Ok(()) => return Ok((path, tried)),
                Err(Refusal::NotLoaded(text)) if place.is_none() && is_absence(&text) => {
                    absent.push(name);
                    continue;
                }
                Err(refusal) => refusal,
            };
            tried.push(Attempt {
                library: path.display().to_string(),
                outcome: refusal.to_string(),
            });
            // A library that was loaded is the system's: others are not tried.
            if !matches!(refusal, Refusal::NotLoaded(_)) {
                return Err(NoSystem {
                    tried,
                    has_no_device: matches!(refusal, Refusal::NoDevice(_)),
                });
            }
        }
        if !absent.is_empty() {
            let place = place
                .as_ref()
                .map_or("the dynamic linker's path".to_owned(), |p| {
                    p.display().to_string()
                });
            tried.push(Attempt {
                library: place,
                outcome: format!("no {}", absent.join(", ")),
            });
        }
    }
    Err(NoSystem {
        tried,
        has_no_device: false,
    })
}

/// Whether dlopen's message says that there is no such library, rather than that it is broken.
fn is_absence(text: &str) -> bool {
    LIBRARIES
        .iter()
        .any(|name| text.starts_with(&format!("{name}: cannot open shared object file: No such file")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_library_every_name_and_place_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libamdhip64.so.6"), "no ELF file").unwrap();
        let tried = system(&[Some(folder.path().to_owned()), Some(PathBuf::from("/nowhere"))])
            .unwrap_err()
            .tried;
        let text = render(&tried);
        assert_eq!(tried.len(), 3, "{text}");
        assert!(tried[0].library.ends_with("/libamdhip64.so.6"), "{text}");
        assert!(tried[0].outcome.starts_with("could not be loaded: "), "{text}");
        assert!(
            !tried[1].outcome.contains("libamdhip64.so.6"),
            "it was found, if broken: {text}"
        );
        assert_eq!(tried[2].library, "/nowhere");
        for name in LIBRARIES {
            assert!(tried[2].outcome.contains(name), "{name} is missing in {text}");
        }
    }

    #[test]
    fn rocm_path_comes_first_and_the_dynamic_linker_last() {
        let opt = Some(PathBuf::from("/opt/rocm/lib"));
        assert_eq!(
            places(Some(Path::new("/my/rocm"))),
            [Some(PathBuf::from("/my/rocm/lib")), opt.clone(), None]
        );
        assert_eq!(places(None), [opt, None]);
    }

    #[test]
    fn an_absent_library_is_told_from_a_broken_one() {
        let absent = load::system(Path::new("libamdhip64.so.10.absent")).unwrap_err();
        let Refusal::NotLoaded(text) = absent else {
            panic!("{absent:?}")
        };
        assert!(is_absence(&text.replace(".absent", "")), "{text}");
        assert!(!is_absence("libamdhip64.so.10: invalid ELF header"));
        assert!(!is_absence(
            "libhsa.so.1: cannot open shared object file: No such file or directory"
        ));
    }
}
