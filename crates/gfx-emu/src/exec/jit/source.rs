//! The sources of vector instructions: rows that are held, scalars and constants, parts of any of them, and their signs.

use super::asm::{Rm, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::vector::SIGN;
use crate::isa::{Inst, Src};

/// A source: the host register of its first chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceRegister {
    first: Zmm,
    /// Each chunk has one, else all have this one.
    is_row: bool,
    /// Absolute value and negation that each chunk needs yet, after a part of it was taken.
    abs: bool,
    neg: bool,
    part: Option<SubDword>,
    /// Where a chunk with a sign of its own goes.
    own: Zmm,
}

/// A part of a register that sub-dword addressing takes: how many bits are above it, how many there are but for its own, and whether it
/// is sign-extended.
#[derive(Clone, Copy, Debug)]
struct SubDword {
    above: u8,
    others: u8,
    signed: bool,
}

impl SourceRegister {
    /// One host register for all chunks.
    pub(super) fn splat(first: Zmm) -> SourceRegister {
        SourceRegister {
            first,
            is_row: false,
            abs: false,
            neg: false,
            part: None,
            own: first,
        }
    }

    /// One for each chunk, from this one on.
    pub(super) fn row(first: Zmm) -> SourceRegister {
        SourceRegister {
            is_row: true,
            ..SourceRegister::splat(first)
        }
    }
}

impl Compiler<'_> {
    /// Source `i` as 32-bit lanes, with its sign changed where it is a float.
    pub(super) fn source(&mut self, inst: &Inst, i: usize, float: bool) -> SourceRegister {
        let has = |bits: u8| float && bits >> i & 1 != 0;
        let (abs, neg) = (has(inst.abs), has(inst.neg));
        let (own, first) = (3 + i as Zmm, i as Zmm);
        let part = part(inst, i);
        match whole(inst, i) {
            Src::Vgpr(n) => SourceRegister {
                abs,
                neg,
                part,
                own,
                ..SourceRegister::row(self.held(n))
            },
            Src::Scalar(n) => {
                self.on(v::SPLAT, first, 0, Rm::Splat(scalar_register(n.into())));
                self.take_part(first, first, part);
                self.change_sign(first, first, abs, neg);
                SourceRegister::splat(first)
            }
            Src::Const(value) if part.is_some() => {
                self.on(v::SPLAT, first, 0, Rm::Const(value as u32));
                self.take_part(first, first, part);
                self.change_sign(first, first, abs, neg);
                SourceRegister::splat(first)
            }
            Src::Const(value) => {
                let value = if abs { value as u32 & !SIGN } else { value as u32 };
                let value = if neg { value ^ SIGN } else { value };
                self.on(v::SPLAT, first, 0, Rm::Const(value));
                SourceRegister::splat(first)
            }
            _ => SourceRegister::splat(first),
        }
    }

    /// Takes a part of a register, if one is to be taken.
    fn take_part(&mut self, to: Zmm, from: Zmm, part: Option<SubDword>) {
        let Some(part) = part else { return };
        let right = if part.signed { v::RIGHT_SIGNED } else { v::RIGHT };
        self.asm
            .vector(v::SHIFT_D, v::LEFT, to, Rm::Reg(from), 0, Some(part.above));
        self.asm
            .vector(v::SHIFT_D, right, to, Rm::Reg(to), 0, Some(part.others));
    }

    fn change_sign(&mut self, to: Zmm, from: Zmm, abs: bool, neg: bool) {
        let mut from = from;
        if abs {
            self.on(v::PANDD, to, from, Rm::Const(!SIGN));
            from = to;
        }
        if neg {
            self.on(v::PXORD, to, from, Rm::Const(SIGN));
        }
    }

    /// The host register that has a chunk of a source.
    pub(super) fn chunk(&mut self, source: SourceRegister, chunk: usize) -> Zmm {
        if !source.is_row {
            return source.first;
        }
        let first = source.first + chunk as Zmm;
        if source.part.is_some() {
            self.take_part(source.own, first, source.part);
            self.change_sign(source.own, source.own, source.abs, source.neg);
            return source.own;
        }
        if source.abs || source.neg {
            self.change_sign(source.own, first, source.abs, source.neg);
            return source.own;
        }
        first
    }

    /// Whether an instruction's first sources are vector registers, scalar registers or constants.
    pub(super) fn has_plain_sources(inst: &Inst, count: usize) -> bool {
        let mut sources = (0..count).map(|i| whole(inst, i));
        sources.all(|src| matches!(src, Src::Vgpr(_) | Src::Scalar(_) | Src::Const(_)))
    }
}

/// Source `i`, all of it where a part of it is taken.
fn whole(inst: &Inst, i: usize) -> Src {
    match (inst.src[i], &inst.parts) {
        (Src::Staged(n), Some(parts)) => parts.from[usize::from(n & 1)],
        (src, _) => src,
    }
}

/// The part of source `i`, if not all of it is taken.
fn part(inst: &Inst, i: usize) -> Option<SubDword> {
    let parts = inst.parts.as_deref()?;
    let (Src::Staged(_), Some(select)) = (inst.src[i], parts.sdwa.select.get(i)) else {
        return None;
    };
    let (low, count) = match *select {
        byte @ 0..=3 => (8 * byte, 8),
        half @ 4..=5 => (16 * (half - 4), 16),
        _ => return None,
    };
    Some(SubDword {
        above: 32 - low - count,
        others: 32 - count,
        signed: parts.sdwa.extend >> i & 1 != 0,
    })
}
