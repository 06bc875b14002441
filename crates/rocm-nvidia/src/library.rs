//! Libraries of NVIDIA's, found at run time: how one is opened, how its functions are found, and why one does not serve. Which
//! functions those are, cuda.rs, cublas.rs, cudnn.rs and curand.rs say.
#![expect(unsafe_code, reason = "runs a foreign library's initialisers")]

use core::ffi::c_uint;
use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use libloading::Library;

/// `CUresult`, `cublasStatus_t`, `cudnnStatus_t`, `curandStatus_t`: an enumeration, 0 for success.
pub(crate) type Status = c_uint;

/// The result of an entry point of one of AMD's libraries before it becomes a status; 0 is success in each of them.
pub(crate) type EntryResult<T = ()> = core::result::Result<T, c_uint>;

/// Runs an entry point's body; a panic in it is a bug of ours and becomes `internal_error`.
pub(crate) fn guard(internal_error: c_uint, body: impl FnOnce() -> EntryResult) -> c_uint {
    crate::error::begin();
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status,
        Err(_) => internal_error,
    }
}

/// Calls a function of a library by its name and makes an [`EntryResult`] of its status by the caller's `done`:
/// `call!(library.cublasDestroy_v2(raw))`.
macro_rules! call {
    ($library:ident.$name:ident($($arg:expr),* $(,)?)) => {
        done(stringify!($name), ($library.$name)($($arg),*))
    };
}
pub(crate) use call;

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

/// Entry points of one of AMD's libraries: their functions, `SYMBOLS` and `addresses`. A signature that rocm-rs does not declare in
/// `declared` does not compile.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $value:ty $body:block)*) => {
        $(
            $(#[$doc])*
            unsafe extern "C" fn $name($($arg: $ty),*) -> $value $body
            // The signature is the one that rocm-rs declares.
            const _: [unsafe extern "C" fn($($ty),*) -> $value; 2] = [$name, declared::$name];
        )*

        /// Names of the entry points.
        pub(crate) const SYMBOLS: &[&str] = &[$(stringify!($name)),*];

        /// Their addresses, in the order of [`SYMBOLS`].
        pub(crate) fn addresses() -> [*const ::core::ffi::c_void; SYMBOLS.len()] {
            [$($name as *const ::core::ffi::c_void),*]
        }
    };
}
pub(crate) use entries;

/// The functions of one library, found once: `loaded()` and `load(path)` for a struct of [`functions!`].
macro_rules! once {
    ($library:ident) => {
        static LOADED: ::std::sync::OnceLock<$library> = ::std::sync::OnceLock::new();

        /// The library, once it was loaded.
        pub(crate) fn loaded() -> Option<&'static $library> {
            LOADED.get()
        }

        /// Loads the library, unless it is loaded. Once loaded it stays loaded.
        pub(crate) fn load(path: &::std::path::Path) -> Result<(), $crate::library::Missing> {
            static LOADING: ::std::sync::Mutex<()> = ::std::sync::Mutex::new(());
            let _turn = LOADING
                .lock()
                .unwrap_or_else(::std::sync::PoisonError::into_inner);
            if LOADED.get().is_some() {
                return Ok(());
            }
            let library = $crate::library::open(path)?;
            // SAFETY: the library has the name of the one whose functions these are, and is never unloaded.
            let found = unsafe { $library::resolve(library) }.map_err($crate::library::Missing::Functions)?;
            // Nobody else fills it: the lock is held.
            let _ = LOADED.set(found);
            Ok(())
        }
    };
}
pub(crate) use once;

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
