//! Op specs: TOML text to groups, groups to cases. No file is read here; the caller has the text.
//!
//! Parsing walks the spanned document by hand instead of deriving `Deserialize`, because everything that is wrong with
//! a file is to be reported in one go, each with its place. `op-specs/README.md` documents the format.

mod cross;
mod dtypes;
mod expand;
pub(crate) mod findings;
mod layouts;
mod params;
mod parse;
mod reader;
mod row;
mod shapes;

use std::ops::Range;

use crate::{Case, Family};

pub use expand::expand;
pub use parse::{DEFAULT_KEYS, GROUP_KEYS, PART_KEYS, ROW_KEYS, parse, read};

/// One thing wrong with a spec or a finding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct SpecError {
    /// The file's name, as the caller gave it.
    pub file: String,
    /// The place in the file, in bytes.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
}

/// A parsed spec file.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecFile {
    /// The file's name, as the caller gave it.
    pub name: String,
    /// The family of every op in it.
    pub family: Family,
    /// The groups, in file order.
    pub groups: Vec<Group>,
}

/// One `[[group]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The place of the group in the file, in bytes.
    pub span: Range<usize>,
    /// Its cases: the cross of the lists of each of its rows.
    pub cases: Vec<Case>,
}

#[cfg(test)]
mod tests;
