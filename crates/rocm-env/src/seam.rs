//! This workspace's libraries that take the place of AMD's below a program, and where they are found.

use std::path::{Path, PathBuf};
use std::{env, fmt, io};

use crate::{File, HIP_LIBRARY, HSA_LIBRARY, UnknownValue, Variable, names};

/// A library of this workspace that takes the place of one of AMD's.
#[derive(Debug)]
pub struct SeamLibrary {
    /// The files by which programs ask for it; the first is loaded before a program's own.
    pub names: &'static [&'static str],
    /// The crate.
    pub package: &'static str,
    /// The file that cargo writes.
    built: &'static str,
    variable: &'static Variable<File>,
    variable_name: &'static str,
}

/// The libamdhip64 over the software GPU, in the place of AMD's.
pub static HIP_SEAM: SeamLibrary = SeamLibrary {
    names: &["libamdhip64.so.6", "libamdhip64.so.7"],
    package: "hip-soft",
    built: "libhip_soft.so",
    variable: &HIP_LIBRARY,
    variable_name: names::HIP_LIBRARY,
};

/// The libhsa-runtime64 over the software GPU, below AMD's own libamdhip64.
pub static HSA_SEAM: SeamLibrary = SeamLibrary {
    names: &["libhsa-runtime64.so.1"],
    package: "hsa-soft",
    built: "libhsa_runtime64.so",
    variable: &HSA_LIBRARY,
    variable_name: names::HSA_LIBRARY,
};

/// Why a library of this workspace is not found.
#[derive(Debug)]
pub enum NotFound {
    /// Its variable has a value that it cannot have.
    Variable(UnknownValue),
    /// The running program cannot tell where its own file is.
    Program(io::Error),
    /// It is in none of these places.
    Nowhere {
        /// The library.
        library: &'static SeamLibrary,
        /// What was looked at, in the order of the search.
        places: Vec<PathBuf>,
    },
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotFound::Variable(unknown) => unknown.fmt(f),
            NotFound::Program(error) => write!(f, "cannot find the program's own file: {error}"),
            NotFound::Nowhere { library, places } => {
                let SeamLibrary {
                    built,
                    package,
                    variable_name,
                    ..
                } = library;
                let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
                write!(
                    f,
                    "{built} is not found; `cargo build --release -p {package}` makes it, and {variable_name} names it elsewhere. \
                     Looked at: {}",
                    places.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for NotFound {}

impl SeamLibrary {
    /// Where it may be, in the order of the search: what its variable names, else beside the program.
    fn places(&self) -> Result<Vec<PathBuf>, NotFound> {
        let named = self.variable.get().map_err(NotFound::Variable)?;
        if let Some(path) = named.path() {
            return Ok(vec![path.to_owned()]);
        }
        let program = env::current_exe().map_err(NotFound::Program)?;
        Ok(self.beside(&program))
    }

    /// Where it may be for a program that is this file.
    fn beside(&self, program: &Path) -> Vec<PathBuf> {
        let folder = program.parent().unwrap_or(Path::new("."));
        let mut folders = vec![folder.to_owned(), folder.join("../lib"), folder.join("deps")];
        // Of a test program, which cargo puts into `deps`.
        folders.extend(folder.parent().map(Path::to_owned));
        let files = |folder: PathBuf| {
            let names = self.names.iter().chain([&self.built]);
            names.map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        folders.into_iter().flat_map(files).collect()
    }

    /// The file, by its path without links.
    ///
    /// # Errors
    /// There is none, with everything that was looked at; or its variable has no value that it can have.
    pub fn file(&'static self) -> Result<PathBuf, NotFound> {
        let places = self.places()?;
        let found = places.iter().find(|place| place.is_file());
        let found = found.and_then(|place| place.canonicalize().ok());
        found.ok_or(NotFound::Nowhere {
            library: self,
            places,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_for_beside_the_program_in_lib_and_where_cargo_puts_it() {
        let places = HSA_SEAM.beside(Path::new("/opt/parity/bin/parity"));
        let of = |folder: &str| {
            ["libhsa-runtime64.so.1", "libhsa_runtime64.so"].map(|name| Path::new(folder).join(name))
        };
        let folders = [
            "/opt/parity/bin",
            "/opt/parity/bin/../lib",
            "/opt/parity/bin/deps",
            "/opt/parity",
        ];
        assert_eq!(places, folders.map(of).concat());
    }

    #[test]
    fn what_is_not_found_is_told_with_every_place_and_with_what_makes_it() {
        let places = vec![PathBuf::from("/a/libhsa_runtime64.so"), PathBuf::from("/b")];
        let library = &HSA_SEAM;
        let text = NotFound::Nowhere { library, places }.to_string();
        for part in [
            "libhsa_runtime64.so is not found",
            "`cargo build --release -p hsa-soft` makes it",
            "ROCM_HSA_LIBRARY names it elsewhere",
            "Looked at: /a/libhsa_runtime64.so, /b",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
