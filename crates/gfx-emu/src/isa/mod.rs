//! The instruction set: tables, decoder, printer, and the compact form the executor runs.
//!
//! It says what instructions are; what they do to a wave is in [`crate::exec`].

mod decode;
mod immediate;
mod instruction;
mod listing;
mod lower;
mod modes;
mod mutate;
pub(crate) mod ops;
mod print;
mod program;
mod tables;
mod unit;

pub(crate) use instruction::{Dpp, Isa, Name, Shuffle, WHOLE};
pub(crate) use listing::names;
pub use listing::{Coverage, coverage, disassemble};
pub(crate) use lower::{Inst, Space, Src};
pub(crate) use mutate::Mutagen;
pub use mutate::MutationKind;
pub(crate) use ops::{Kind, OPS, Op};
pub use program::DecodeError;
pub(crate) use program::{Code, Program};
pub(crate) use unit::{
    Atomic, Atomic32, Atomic64, Condition, Control, Element, Mfma, Part, RegisterCount, Relative,
    ScalarAccess, Share, Smfmac, TRAP_DEBUG, Tiles, Transfer, Unit, Wmma, extended, matrix_products,
    reaching_out, registers_alone,
};
