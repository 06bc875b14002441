//! Fills the seam's slots: from a shared library, from the software device, or from HIP's functions over NVIDIA's driver.
//!
//! It does one attempt and says what came of it; `driver.rs` decides which attempts are made, in which order.
#![expect(
    unsafe_code,
    reason = "runs a foreign library's initialisers and takes code addresses from it"
)]

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libloading::Library;

use super::{query, sys};
use crate::Error;
use crate::libraries::Which;

/// The library that AMD's HIP runtime reaches its cards by, and the name by which this workspace's tells itself from ROCr.
const HSA: &str = "libhsa-runtime64.so.1";
const SOFTWARE_GPU: &[u8] = b"hsa_soft_gpu\0";
/// The name by which this workspace's libamdhip64 tells itself from AMD's, and whether that was loaded.
const SOFTWARE_HIP: &[u8] = b"hip_soft_gpu\0";
static IS_SOFTWARE_HIP: AtomicBool = AtomicBool::new(false);

/// Why a library does not serve.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The dynamic linker did not find it or could not load it.
    NotLoaded(String),
    /// It lacks symbols this crate calls.
    Lacks(Vec<&'static str>),
    /// It loaded, and it has no device to offer.
    NoDevice(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotLoaded(text) => write!(f, "could not be loaded: {text}"),
            Refusal::Lacks(symbols) => write!(f, "too old or too new, it lacks {}", symbols.join(", ")),
            Refusal::NoDevice(text) => write!(f, "has no device: {text}"),
        }
    }
}

/// Loads `path`, fills the slots from it and asks it for devices. Refused, the slots are empty again.
///
/// A library once loaded stays loaded, refused or not: unloading a GPU runtime under its own threads crashes.
pub(crate) fn system(path: &Path) -> Result<(), Refusal> {
    load(path, sys::HIP)?;
    match query::device_count() {
        Ok(1..) => Ok(()),
        Ok(0) => Err(no_device("hipGetDeviceCount found no device".to_owned())),
        Err(error) => Err(no_device(error.to_string())),
    }
}

/// Whether the libamdhip64 that was loaded is this workspace's, which needs none of AMD's files.
pub(crate) fn is_software_hip() -> bool {
    IS_SOFTWARE_HIP.load(Relaxed)
}

/// Whether the libhsa-runtime64 that was loaded is this workspace's, so that AMD's HIP runtime has the software GPU below it.
pub(crate) fn is_software_hsa() -> bool {
    use libloading::os::unix::{Library, RTLD_LAZY};
    // Of glibc's and musl's <dlfcn.h>; ROCm is for Linux.
    const RTLD_NOLOAD: std::ffi::c_int = 4;
    // SAFETY: nothing is loaded, so that no initialiser runs.
    let loaded = unsafe { Library::open(Some(HSA), RTLD_LAZY | RTLD_NOLOAD) };
    // SAFETY: the symbol's address is not used.
    loaded.is_ok_and(|hsa| unsafe { hsa.get::<*const std::ffi::c_void>(SOFTWARE_GPU) }.is_ok())
}

/// Puts this workspace's libhsa-runtime64 below the HIP runtime that is loaded next. Once loaded it stays loaded, and by its name in the
/// library the dynamic linker takes it for the one which that runtime is linked with, wherever that lies.
pub(crate) fn software_hsa(file: &Path) -> Result<(), String> {
    // SAFETY: loading runs the library's initialisers. It lies beside this program or where the user's environment says.
    let library = unsafe { Library::new(file) }.map_err(|error| innermost(&error))?;
    Box::leak(Box::new(library));
    Ok(())
}

/// Loads one of AMD's libraries, for the HIP runtime that was loaded, and fills the slots of its table. Once loaded it stays
/// loaded.
pub(crate) fn load(path: &Path, table: &'static [sys::Symbol]) -> Result<(), Refusal> {
    // SAFETY: loading runs the library's initialisers. The paths come from the user's environment, as with any
    // program linked against ROCm, and name AMD's libraries.
    let library = unsafe { Library::new(path) }.map_err(|error| Refusal::NotLoaded(innermost(&error)))?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: the symbol's address is not used.
    if unsafe { library.get::<*const std::ffi::c_void>(SOFTWARE_HIP) }.is_ok() {
        IS_SOFTWARE_HIP.store(true, Relaxed);
    }
    // SAFETY: the addresses come from a library with the name of AMD's, under its own symbol names, whose signatures
    // rocm-rs declares; the library is never unloaded.
    let filled = unsafe {
        sys::fill(table, |name| {
            library
                .get::<*const std::ffi::c_void>(name)
                .ok()
                .map(|symbol| *symbol)
                .filter(|at| !at.is_null())
        })
    };
    filled.map_err(Refusal::Lacks)
}

/// libloading says that dlopen failed; what dlopen said is its source.
fn innermost(mut error: &dyn std::error::Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn no_device(reason: String) -> Refusal {
    sys::reset(sys::HIP);
    Refusal::NoDevice(reason)
}

/// Fills the slots with the software device's entry points.
pub(crate) fn soft() -> Result<(), Error> {
    part_of_this_program(sys::HIP)
}

/// Loads NVIDIA's driver, fills the slots with HIP's functions over it and asks it for devices; which library it is.
#[cfg(feature = "nvidia")]
pub(crate) fn nvidia() -> Result<PathBuf, Error> {
    let refused = |reason: String| Error::Driver {
        reason,
        tried: Vec::new(),
    };
    let library = Path::new(rocm_nvidia::LIBRARY);
    rocm_nvidia::load(library).map_err(|why| {
        refused(format!(
            "no NVIDIA driver: {} not found or not usable ({why}); install NVIDIA's driver, in a container use its container \
             toolkit, or use another ROCM_DRIVER",
            library.display()
        ))
    })?;
    // SAFETY: rocm-nvidia's functions have the signatures rocm-rs declares (it is written against the same declarations)
    // and are part of this program.
    let filled = unsafe { sys::fill(sys::HIP, rocm_nvidia::symbol) };
    filled.map_err(|missing| refused(format!("HIP on NVIDIA lacks {}", missing.join(", "))))?;
    match query::device_count() {
        Ok(1..) => Ok(library.to_owned()),
        Ok(0) => Err(refused("NVIDIA's driver has no device".to_owned())),
        Err(error) => Err(refused(format!("NVIDIA's driver has no device: {error}"))),
    }
}

/// Fills the slots of one of AMD's libraries with its functions over NVIDIA's; which library that is, or why there is none.
#[cfg(feature = "nvidia")]
pub(crate) fn over_nvidia(which: Which) -> Result<PathBuf, String> {
    type Load = fn(&Path) -> Result<(), rocm_nvidia::Missing>;
    let (names, load): (_, Load) = match which {
        Which::Rocblas => (rocm_nvidia::BLAS_LIBRARIES, rocm_nvidia::load_blas),
        Which::Miopen => (rocm_nvidia::DNN_LIBRARIES, rocm_nvidia::load_dnn),
        Which::Rocrand => (rocm_nvidia::RAND_LIBRARIES, rocm_nvidia::load_rand),
        Which::Rccl => return Err("NCCL has RCCL's functions by name".to_owned()),
    };
    let mut told = Vec::new();
    for library in names.iter().map(Path::new) {
        match load(library) {
            Ok(()) => {
                // SAFETY: as above.
                let filled = unsafe { sys::fill(which.table(), rocm_nvidia::symbol) };
                return match filled {
                    Ok(()) => Ok(library.to_owned()),
                    Err(missing) => Err(format!(
                        "over {}: lacks {}",
                        library.display(),
                        missing.join(", ")
                    )),
                };
            }
            Err(why) => told.push(format!("{}: {why}", library.display())),
        }
    }
    Err(told.join("; "))
}

#[cfg(not(feature = "nvidia"))]
pub(crate) fn over_nvidia(_: Which) -> Result<PathBuf, String> {
    Err("this program cannot use NVIDIA's libraries".to_owned())
}

#[cfg(not(feature = "nvidia"))]
pub(crate) fn nvidia() -> Result<PathBuf, Error> {
    Err(Error::Driver {
        reason: "this program cannot use NVIDIA's driver: build parity with `--features nvidia` (rocm-backend with its \
                 feature `nvidia`), after `eval \"$(ci/cuda-toolkit)\"` where no CUDA toolkit is installed"
            .to_owned(),
        tried: Vec::new(),
    })
}

/// What NVIDIA's driver or a library of NVIDIA's said about this thread's last call, if that failed.
#[cfg(feature = "nvidia")]
pub(super) fn take_detail() -> Option<String> {
    rocm_nvidia::take_detail()
}

#[cfg(not(feature = "nvidia"))]
pub(super) fn take_detail() -> Option<String> {
    None
}

/// What the software device says about the fault that failed a call of this thread, if one did.
#[cfg(feature = "soft")]
pub(super) fn take_fault() -> Option<String> {
    rocm_soft::take_fault()
}

#[cfg(not(feature = "soft"))]
pub(super) fn take_fault() -> Option<String> {
    None
}

/// Fills the slots of a library's table with those of its model on the host.
pub(crate) fn model(table: &'static [sys::Symbol]) -> Result<(), Error> {
    part_of_this_program(table)
}

#[cfg(feature = "soft")]
fn part_of_this_program(table: &'static [sys::Symbol]) -> Result<(), Error> {
    // SAFETY: rocm-soft's functions have the signatures rocm-rs declares (it is written against the same
    // declarations) and are part of this program.
    let filled = unsafe { sys::fill(table, rocm_soft::symbol) };
    filled.map_err(|missing| Error::Driver {
        reason: format!("the software device lacks {}", missing.join(", ")),
        tried: Vec::new(),
    })
}

#[cfg(not(feature = "soft"))]
fn part_of_this_program(_: &'static [sys::Symbol]) -> Result<(), Error> {
    Err(Error::Driver {
        reason:
            "there is no software device in this program: rocm-backend was built without its feature `soft`"
                .to_owned(),
        tried: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_software_gpu_is_told_from_rocr_by_the_library_that_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let build = |name: &str, text: &str| {
            let (source, library) = (folder.path().join("hsa.c"), folder.path().join(name));
            std::fs::write(&source, text).unwrap();
            let status = std::process::Command::new("cc")
                .args(["-shared", "-fPIC", "-Wl,-soname,libhsa-runtime64.so.1", "-o"])
                .args([&library, &source])
                .status();
            assert!(status.unwrap().success());
            library
        };
        let rocr = build("rocr.so", "unsigned hsa_init(void) { return 0; }");
        let ours = build("ours.so", "unsigned hsa_soft_gpu(void) { return 1; }");
        assert!(!is_software_hsa(), "none is loaded");
        for (file, is_software) in [(rocr, false), (ours, true)] {
            // SAFETY: it has no initialisers.
            let loaded = unsafe { Library::new(&file) }.unwrap();
            assert_eq!(is_software_hsa(), is_software, "{}", file.display());
            loaded.close().unwrap();
        }
        // Last, because a HIP that was loaded stays.
        let hip = build("hip.so", "unsigned hip_soft_gpu(void) { return 1; }");
        assert!(!is_software_hip());
        load(&hip, &[]).unwrap();
        assert!(is_software_hip());
    }
}
