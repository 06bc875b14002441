//! Op specs: TOML text to groups, groups to cases. No file is read here; the caller has the text.
//!
//! Parsing walks the spanned document by hand instead of deriving `Deserialize`, because everything that is wrong with
//! a file is to be reported in one go, each with its place. `op-specs/README.md` documents the format.

mod expand;
pub(crate) mod known;
mod parse;
mod reader;

use std::ops::Range;

use crate::{Check, DType, Family, Layout, LimitSpec, Op, Tier, ValueSet};

pub use expand::expand;
pub use parse::{GROUP_KEYS, parse};

/// One thing wrong with a spec or a list of known failures.
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

/// One `[[group]]`: the cross of its lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The place of the group in the file, in bytes.
    pub span: Range<usize>,
    /// The ops.
    pub ops: Vec<Op>,
    /// Parameter lists, values for [`Op::params`]; one empty list for ops without.
    pub params: Vec<Vec<f64>>,
    /// The dtypes of the data: lists of one for all of it. Of cases that are to be refused, also one for each argument.
    pub dtypes: Vec<Vec<DType>>,
    /// The dtypes of ids or conditions; empty for ops without.
    pub index_dtypes: Vec<DType>,
    /// The logical shapes: lists of one for all arguments, or one for each.
    pub shapes: Vec<Vec<Vec<usize>>>,
    /// Layouts: lists of one for all arguments, or one for each.
    pub layouts: Vec<Vec<Layout>>,
    /// The value sets.
    pub values: Vec<ValueSet>,
    /// What is asked of the outputs.
    pub checks: Vec<Check>,
    /// The tier.
    pub tier: Tier,
    /// Whether combinations that cannot be, of shapes with parameters, layouts or checks, are left out; otherwise they are errors.
    pub skip_impossible: bool,
    /// The limit.
    pub limit: LimitSpec,
    /// Seconds a case may take on one backend; the run's limit if there is none.
    pub timeout: Option<f64>,
    /// Whether every case gets a worker of its own.
    pub isolated: bool,
    /// Words by which the cases can be selected.
    pub tags: Vec<String>,
}

#[cfg(test)]
mod tests;
