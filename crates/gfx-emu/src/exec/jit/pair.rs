//! Two numbers of single precision in consecutive registers, as CDNA computes them.

use super::asm::{Mask, Op as X, Rm, Zmm, v};
use super::compile::Compiler;
use super::vector::{MASKS, SIGN, TEMPORARY};
use crate::isa::{Inst, Op, Src};

/// Predicate of comparisons.
const UNORDERED: u8 = 3;

/// A source of one of the two numbers.
#[derive(Clone, Copy)]
struct Half {
    row: u16,
    negated: bool,
}

impl Compiler<'_> {
    /// Sums and products of both numbers, of vector registers.
    pub(super) fn pair(&mut self, inst: &Inst, sources: usize) -> bool {
        let half = |i: usize, second: bool| {
            let (select, negate) = if second {
                (inst.op_sel_hi, inst.abs)
            } else {
                (inst.op_sel, inst.neg)
            };
            match inst.src[i] {
                Src::Vgpr(n) => Some(Half {
                    row: n + u16::from(select >> i & 1),
                    negated: negate >> i & 1 != 0,
                }),
                _ => None,
            }
        };
        let all = |second: bool| (0..sources).map(|i| half(i, second)).collect::<Option<Vec<_>>>();
        let (Some(first), Some(second)) = (all(false), all(true)) else {
            return false;
        };
        // The second number is computed when the first is there already.
        if inst.clamp || second.iter().any(|source| source.row == inst.dst) {
            return false;
        }
        let op = match inst.op {
            Op::PkMulF32 => v::MULPS,
            Op::PkAddF32 => v::ADDPS,
            _ => v::FMADD231PS,
        };
        let mut rare = None;
        let mut rows = Vec::with_capacity(2);
        // Held since a way off may have been taken, so that it has to load them.
        let mut late = Vec::new();
        for (number, sources) in [first, second].into_iter().enumerate() {
            self.rows.step();
            // What was computed stays held until it is stored.
            for (row, _) in &rows {
                self.held(*row);
            }
            let row = inst.dst + number as u16;
            let held: Vec<Zmm> = sources.iter().map(|source| self.held(source.row)).collect();
            if number == 1 {
                late.extend(sources.iter().map(|source| source.row).zip(held.iter().copied()));
            }
            let place = self.held(row);
            for chunk in 0..self.chunks() {
                let mask = self.exec(chunk);
                let at = chunk as Zmm;
                let operands: Vec<Zmm> = held
                    .iter()
                    .zip(&sources)
                    .enumerate()
                    .map(|(i, (place, source))| self.signed(place + at, source.negated, i as Zmm))
                    .collect();
                self.half(op, place + at, &operands, mask);
                let to = place + at;
                self.asm
                    .vector(v::CMPPS, MASKS[chunk % 2], to, Rm::Reg(to), mask, Some(UNORDERED));
                if chunk % 2 == 1 {
                    self.rarely_if(MASKS[0], MASKS[1], &mut rare);
                }
            }
            rows.push((row, place));
        }
        self.finish_with(rows, late, rare);
        true
    }

    fn signed(&mut self, from: Zmm, negated: bool, free: Zmm) -> Zmm {
        if !negated {
            return from;
        }
        self.on(v::PXORD, free, from, Rm::Const(SIGN));
        free
    }

    fn half(&mut self, op: X, to: Zmm, operands: &[Zmm], mask: Mask) {
        match *operands {
            [a, b, c] if c == to => self.asm.vector(op, to, a, Rm::Reg(b), mask, None),
            [a, b, c] => {
                let sum = TEMPORARY[0];
                self.on(v::MOVE, sum, 0, Rm::Reg(c));
                self.on(op, sum, a, Rm::Reg(b));
                self.asm.vector(v::MOVE, to, 0, Rm::Reg(sum), mask, None);
            }
            [a, b] => self.asm.vector(op, to, a, Rm::Reg(b), mask, None),
            _ => {}
        }
    }
}
