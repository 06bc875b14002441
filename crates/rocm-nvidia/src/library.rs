//! Libraries of NVIDIA's, found at run time: how one is opened, how its functions are found, and why one does not serve. Which
//! functions those are, cuda.rs and cublas.rs say.
#![expect(unsafe_code, reason = "runs a foreign library's initialisers")]

use core::ffi::c_uint;
use core::fmt;
use std::path::Path;

use libloading::Library;

/// `CUresult` and `cublasStatus_t`: an enumeration, 0 for success.
pub(crate) type Status = c_uint;

/// A struct of the functions of a library, each of which returns a [`Status`], and the function `resolve` that finds them.
macro_rules! functions {
    ($library:ident; $($name:ident($($ty:ty),* $(,)?);)*) => {
        /// The library's functions.
        #[expect(non_snake_case, reason = "each field has the name of its function")]
        pub(crate) struct $library {
            $(pub(crate) $name: unsafe extern "C" fn($($ty),*) -> $crate::library::Status,)*
        }

        impl $library {
            /// # Safety
            /// The library is the one of NVIDIA's that documents these functions, and stays loaded while the result is used.
            #[expect(non_snake_case, reason = "each variable has the name of its function")]
            unsafe fn resolve(library: &::libloading::Library) -> Result<$library, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    // SAFETY: the type is the one that NVIDIA documents for the function of this name.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($ty),*) -> $crate::library::Status>(stringify!($name))
                    }.ok().map(|function| *function);
                    if $name.is_none() {
                        missing.push(stringify!($name));
                    }
                )*
                match ($($name,)*) {
                    ($(Some($name),)*) => Ok($library { $($name),* }),
                    _ => Err(missing),
                }
            }
        }
    };
}
pub(crate) use functions;

/// Why a library of NVIDIA's does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The dynamic linker did not find the library or could not load it; its words.
    Library(String),
    /// It lacks these functions.
    Functions(Vec<&'static str>),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Library(words) => f.write_str(words),
            Missing::Functions(names) => write!(f, "too old, it lacks {}", names.join(", ")),
        }
    }
}

impl std::error::Error for Missing {}

/// Opens the library at `path`, for the rest of the process.
pub(crate) fn open(path: &Path) -> Result<&'static Library, Missing> {
    // SAFETY: loading runs the library's initialisers. The callers name libraries that every CUDA program loads.
    let library = unsafe { Library::new(path) }.map_err(|error| Missing::Library(innermost(&error)))?;
    // Never unloaded: unloading a GPU driver under its own threads crashes.
    Ok(Box::leak(Box::new(library)))
}

/// libloading says that dlopen failed; what dlopen said is its source.
fn innermost(mut error: &dyn std::error::Error) -> String {
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
