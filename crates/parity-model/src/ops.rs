//! The rows of the table of ops, one file a family. `op/table.rs` describes what a row says; `op/forms.rs` makes the forms of an
//! op, which have no rows of their own.

use crate::op::table::ops;

pub(crate) mod binary;
pub(crate) mod cast;
pub(crate) mod conv;
pub(crate) mod copies;
pub(crate) mod grad;
pub(crate) mod indexing;
pub(crate) mod layers;
pub(crate) mod matmul;
pub(crate) mod nn;
pub(crate) mod pool;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod unary;
pub(crate) mod upsample;
