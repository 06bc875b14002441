//! The environment variables of this workspace: one table, one parser. Every crate that reads one reads it here, so that a
//! value that nobody knows is the same error everywhere. What a value leads to is decided by its readers; where the libraries are
//! that stand in for AMD's ([`SeamLibrary`]) is decided here, as several readers put them below a program.
//!
//! A variable is read when it is first asked for, and then stays as it was. One that is set to nothing counts as not set.
//!
//! ```
//! // Nobody set it, so it has its default.
//! assert_eq!(rocm_env::FALLBACK.get(), Ok(&rocm_env::Fallback::Allow));
//! let why = rocm_env::FALLBACK.parse("Refuse".as_ref()).unwrap_err();
//! assert_eq!(why.to_string(), "ROCM_FALLBACK=Refuse is not one of allow, refuse");
//! ```

mod page;
mod seam;
mod table;
mod values;

use std::env;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

pub use page::page;
pub use seam::{HIP_SEAM, HSA_SEAM, NotFound, SeamLibrary};
pub use table::*;
pub use values::{
    Activations, Allocation, Bytes, Card, Cards, Driver, Fallback, File, Folder, Instructions, Jit,
    KernelCache, Libraries, Log, Mnemonic, Place, Program, Seconds, Switch, Targets, Value, clock,
};

/// What a variable is, for readers.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub does: &'static str,
    /// The words it takes, or what a value looks like.
    pub form: fn() -> String,
    /// What holds when it is not set.
    pub default: &'static str,
    /// The crates that read it.
    pub readers: &'static str,
    /// Whether it acts when crates are built, not when programs run.
    pub building: bool,
}

/// A variable whose values are of type `T`.
#[derive(Debug)]
pub struct Variable<T> {
    about: About,
    value: OnceLock<Result<T, UnknownValue>>,
}

/// A variable has a value that its readers do not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownValue {
    /// The variable's name.
    pub name: &'static str,
    /// The value found.
    pub value: OsString,
    /// The words it takes, or what a value looks like.
    pub form: String,
}

impl std::fmt::Display for UnknownValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnknownValue { name, value, form } = self;
        write!(f, "{name}={} is not {form}", value.display())
    }
}

impl std::error::Error for UnknownValue {}

impl<T: Value> Variable<T> {
    const fn new(about: About) -> Variable<T> {
        Variable {
            about,
            value: OnceLock::new(),
        }
    }

    /// The value in this process's environment, or the default.
    ///
    /// # Errors
    /// [`UnknownValue`] when the variable has a value that it cannot have.
    pub fn get(&self) -> Result<&T, UnknownValue> {
        let read = || match env::var_os(self.about.name) {
            Some(text) => self.parse(&text),
            None => Ok(T::default()),
        };
        self.value.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// What `text` means as a value.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn parse(&self, text: &OsStr) -> Result<T, UnknownValue> {
        if text.is_empty() {
            return Ok(T::nothing());
        }
        T::parse(text).ok_or_else(|| UnknownValue {
            name: self.about.name,
            value: text.to_owned(),
            form: T::form(),
        })
    }
}

/// A variable of any type.
pub trait Entry: Sync {
    /// What it is.
    fn about(&self) -> &About;

    /// Whether its value in this process's environment is one that it can have.
    ///
    /// # Errors
    /// [`UnknownValue`] when it is not.
    fn check(&self) -> Result<(), UnknownValue>;

    /// Its text in this process's environment, where it is set.
    fn set_to(&self) -> Option<OsString> {
        env::var_os(self.about().name)
    }

    /// Whether it is set to something in this process's environment.
    fn is_set(&self) -> bool {
        self.set_to().is_some_and(|text| !text.is_empty())
    }
}

impl<T: Value + Send + Sync> Entry for Variable<T> {
    fn about(&self) -> &About {
        &self.about
    }

    fn check(&self) -> Result<(), UnknownValue> {
        self.get().map(drop)
    }
}

/// Whether all variables that act when programs run have values that they can have.
///
/// # Errors
/// [`UnknownValue`] of the first that has not.
pub fn check() -> Result<(), UnknownValue> {
    let mut running = ALL.iter().filter(|entry| !entry.about().building);
    running.try_for_each(|entry| entry.check())
}
