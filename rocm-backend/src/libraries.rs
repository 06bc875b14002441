//! Which of AMD's libraries serve operations instead of this crate's kernels: `ROCM_LIBRARIES=auto|native|model`.
//!
//! `auto` takes the libraries of the system's ROCm where there is one; over NVIDIA's driver cuBLAS, cuDNN and cuRAND,
//! in the places of rocBLAS, MIOpen and rocRAND, where the dynamic linker finds them; and on the software device none, so that every
//! result there comes from an executed code object. `native` takes none anywhere. `model` is for the software device:
//! models of rocBLAS, rocRAND and MIOpen on the host answer in their place, which tries the way to the libraries and computes
//! on no GPU at all; their results are of level [`Level::Model`](crate::trace::Level::Model). What devices send each other
//! ([`comm`](crate::comm)) is a library's in any case: RCCL's, NCCL's over NVIDIA's driver, a model's on the software device.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use rocm_env::Libraries;

use crate::hip::load::{self, Refusal};
use crate::hip::{blas, miopen, sys};
use crate::{DriverInfo, DriverKind, Error, Result};

/// A library of AMD's that serves operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Matrix products.
    Rocblas,
    /// Random numbers.
    Rocrand,
    /// Convolutions and poolings.
    Miopen,
    /// What devices send each other.
    Rccl,
}

impl Which {
    /// Its sonames, newest first; the one without a version is a development package's.
    fn sonames(self) -> &'static [&'static str] {
        match self {
            Which::Rocblas => &[
                "librocblas.so.6",
                "librocblas.so.5",
                "librocblas.so.4",
                "librocblas.so",
            ],
            Which::Rocrand => &["librocrand.so.2", "librocrand.so.1", "librocrand.so"],
            Which::Miopen => &["libMIOpen.so.2", "libMIOpen.so.1", "libMIOpen.so"],
            Which::Rccl => &["librccl.so.1", "librccl.so"],
        }
    }

    pub(crate) fn table(self) -> &'static [sys::Symbol] {
        match self {
            Which::Rocblas => sys::ROCBLAS,
            Which::Rocrand => sys::ROCRAND,
            Which::Miopen => sys::MIOPEN,
            Which::Rccl => sys::RCCL,
        }
    }
}

/// Where an operation's library comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// There is none; this crate's kernels serve. Why, in a few words.
    Absent(String),
    /// This file.
    System(PathBuf),
    /// A model on the host.
    Model,
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Library::Absent(why) => write!(f, "none ({why})"),
            Library::System(path) => write!(f, "{}", path.display()),
            Library::Model => f.write_str("a model on the host"),
        }
    }
}

/// Functions of AMD's libraries, and those that compute in their places over NVIDIA's driver.
const OVER_NVIDIA: &[(&str, &str)] = &[
    (blas::GEMM, "cublasGemmStridedBatchedEx"),
    (miopen::FORWARD, "cudnnConvolutionForward"),
    (miopen::POOLING, "cudnnPoolingForward"),
    ("rocrand_generate_uniform", "curandGenerateUniform"),
    ("rocrand_generate_uniform_double", "curandGenerateUniformDouble"),
    ("rocrand_generate_normal", "curandGenerateNormal"),
    ("rocrand_generate_normal_double", "curandGenerateNormalDouble"),
];

/// The function that computes for `driver` where this crate calls `function`, by the name that its own library has for it.
pub(crate) fn computing(function: &'static str, driver: &DriverInfo) -> &'static str {
    let other = OVER_NVIDIA
        .iter()
        .find(|(amd, _)| driver.kind() == DriverKind::Nvidia && *amd == function);
    other.map_or(function, |(_, nvidia)| nvidia)
}

/// What the variable asks for, where a driver can have it.
pub(crate) fn chosen(choice: Libraries, driver: DriverKind) -> Result<Libraries> {
    match (choice, driver) {
        (Libraries::Model, DriverKind::System | DriverKind::Nvidia) => Err(Error::Driver {
            reason: "ROCM_LIBRARIES=model is for the software device, ROCM_DRIVER=soft".to_owned(),
            tried: Vec::new(),
        }),
        (Libraries::Model, DriverKind::Soft) | (Libraries::Auto | Libraries::Native, _) => Ok(choice),
    }
}

/// The library of this process, for its one driver. The first call loads it.
pub(crate) fn library(which: Which, driver: &DriverInfo) -> &'static Library {
    static LIBRARIES: [OnceLock<Library>; 4] = [const { OnceLock::new() }; 4];
    LIBRARIES[which as usize].get_or_init(|| match (driver.libraries(), driver.kind(), driver.library()) {
        (Libraries::Native, ..) => Library::Absent("ROCM_LIBRARIES=native".to_owned()),
        (Libraries::Model, ..) => modelled(which),
        (Libraries::Auto, DriverKind::System, Some(hip)) => system(which, hip),
        (Libraries::Auto, DriverKind::Nvidia, _) => match which {
            // NCCL has RCCL's functions by name.
            Which::Rccl => found(which, NCCL.iter().map(PathBuf::from)),
            _ => load::over_nvidia(which).map_or_else(Library::Absent, Library::System),
        },
        // No kernel reaches another device's memory.
        (Libraries::Auto, DriverKind::Soft, _) if which == Which::Rccl => modelled(which),
        (Libraries::Auto, DriverKind::System | DriverKind::Soft, _) => {
            Library::Absent("the software device executes this crate's kernels".to_owned())
        }
    })
}

/// NCCL, as the dynamic linker searches it.
const NCCL: &[&str] = &["libnccl.so.2"];

fn modelled(which: Which) -> Library {
    match load::model(which.table()) {
        Ok(()) => Library::Model,
        Err(error) => Library::Absent(error.to_string()),
    }
}

/// The library that lies beside the HIP runtime; for a runtime that the dynamic linker found, the one it finds.
fn system(which: Which, hip: &Path) -> Library {
    found(which, which.sonames().iter().map(|name| hip.with_file_name(name)))
}

/// The first of the files that serves.
fn found(which: Which, paths: impl Iterator<Item = PathBuf>) -> Library {
    let mut told = Vec::new();
    for path in paths {
        match load::load(&path, which.table()) {
            Ok(()) => return Library::System(path),
            Err(Refusal::NotLoaded(text)) => told.push(text),
            Err(Refusal::Lacks(symbols)) => {
                told.push(format!("{} lacks {}", path.display(), symbols.join(", ")))
            }
            Err(Refusal::NoDevice(text)) => told.push(text),
        }
    }
    Library::Absent(told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_for_the_software_device_only() {
        assert_eq!(
            chosen(Libraries::Model, DriverKind::Soft).unwrap(),
            Libraries::Model
        );
        assert_eq!(
            chosen(Libraries::Native, DriverKind::System).unwrap(),
            Libraries::Native
        );
        for card in [DriverKind::System, DriverKind::Nvidia] {
            let refusal = chosen(Libraries::Model, card).unwrap_err().to_string();
            assert!(refusal.contains("is for the software device"), "{refusal}");
        }
    }

    #[test]
    fn a_library_that_is_not_there_is_told_by_each_of_its_names() {
        for which in [Which::Rocblas, Which::Rocrand, Which::Miopen, Which::Rccl] {
            let Library::Absent(why) = system(which, Path::new("/nowhere/libamdhip64.so.7")) else {
                panic!("a library in /nowhere")
            };
            for name in which.sonames() {
                assert!(
                    why.contains(&format!("/nowhere/{name}")),
                    "{name} is missing in {why}"
                );
            }
        }
    }
}
