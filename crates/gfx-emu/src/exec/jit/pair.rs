//! Two numbers of single precision in consecutive registers, as CDNA computes them.

use super::asm::{MaskRegister, Opcode as X, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::source::SourceRegister;
use super::vector::{MASKS, SIGN, TEMPORARY, UNORDERED};
use crate::isa::{Inst, Op, Src};

/// A source of one of the two numbers.
#[derive(Clone, Copy)]
struct PairSource {
    from: From,
    negated: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum From {
    Row(u16),
    Scalar(usize),
    Const(u32),
}

impl Compiler<'_> {
    /// Sums and products of both numbers.
    pub(super) fn pair(&mut self, inst: &Inst, sources: usize) -> bool {
        let half = |i: usize, second: bool| {
            let (select, negate) = if second {
                (inst.op_sel_hi, inst.abs)
            } else {
                (inst.op_sel, inst.neg)
            };
            let select = select >> i & 1;
            let from = match inst.src[i] {
                Src::Vgpr(n) => From::Row(n + u16::from(select)),
                Src::Scalar(n) => From::Scalar((n + select).into()),
                // Lowering refuses the second of one.
                Src::Const(value) => From::Const(value as u32),
                _ => return None,
            };
            let negated = negate >> i & 1 != 0;
            Some(PairSource { from, negated })
        };
        let all = |second: bool| (0..sources).map(|i| half(i, second)).collect::<Option<Vec<_>>>();
        let (Some(first), Some(second)) = (all(false), all(true)) else {
            return false;
        };
        if inst.clamp {
            return false;
        }
        // A number is computed when the one before it is there already.
        let reads =
            |sources: &[PairSource], row: u16| sources.iter().any(|source| source.from == From::Row(row));
        let numbers = if !reads(&second, inst.dst) {
            [(0, first), (1, second)]
        } else if !reads(&first, inst.dst + 1) {
            [(1, second), (0, first)]
        } else {
            return false;
        };
        let op = match inst.op {
            Op::PkMulF32 => v::MULPS,
            Op::PkAddF32 => v::ADDPS,
            _ => v::FMADD231PS,
        };
        let mut rare = None;
        let mut rows = Vec::with_capacity(2);
        // Held since a way off may have been taken, so that it has to load them.
        let mut late = Vec::new();
        for (turn, (number, sources)) in numbers.into_iter().enumerate() {
            self.rows.step();
            // What was computed stays held until it is stored.
            for (row, _) in &rows {
                self.held(*row);
            }
            let row = inst.dst + number;
            let mut held = Vec::with_capacity(sources.len());
            for (i, source) in sources.iter().enumerate() {
                let free = i as Zmm;
                held.push(match source.from {
                    From::Row(row) => {
                        let place = self.held(row);
                        if turn == 1 {
                            late.push((row, place));
                        }
                        SourceRegister::row(place)
                    }
                    From::Scalar(n) => {
                        self.on(v::SPLAT, free, 0, Rm::Splat(scalar_register(n)));
                        SourceRegister::splat(free)
                    }
                    From::Const(value) => {
                        self.on(v::SPLAT, free, 0, Rm::Const(value));
                        SourceRegister::splat(free)
                    }
                });
            }
            let place = self.held(row);
            for chunk in 0..self.chunks() {
                let mask = self.exec(chunk);
                let to = place + chunk as Zmm;
                let mut operands = [0; 3];
                for (i, (held, source)) in held.iter().zip(&sources).enumerate() {
                    let from = self.chunk(*held, chunk);
                    operands[i] = self.signed(from, source.negated, 3 + i as Zmm);
                }
                self.half(op, to, &operands[..sources.len()], mask);
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

    fn half(&mut self, op: X, to: Zmm, operands: &[Zmm], mask: MaskRegister) {
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
