//! Element-wise operations on views of buffers.
//!
//! Kernels are named as candle names them (`uexp`, `badd`, `eq`); the dtype is the views'. Results are new, contiguous
//! buffers. A view that leaves its buffer is refused before anything is launched; a view of no elements launches
//! nothing. A name or dtype without a kernel is [`Error::Unsupported`](crate::Error::Unsupported).

mod affine;
mod binary;
mod copy;
mod fill;
mod unary;

pub use affine::affine;
pub use binary::{binary, compare};
pub use copy::{copy_strided, copy2d};
pub use fill::fill;
pub use unary::{unary, unary_param};
