//! Reciprocals, roots, powers and the helpers of divisions, as the interpreter computes them: in double precision and rounded once, or by
//! an instruction of the host's that rounds once and so gives the same.

use super::asm::{Alu, If, Opcode as X, RAX, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::vector::{Check, MASKS, SIGN, TEMPORARY, THIRD};
use crate::exec::transcendental::{EXP2_ROUND, EXP2_SERIES};
use crate::isa::{Inst, Src};
use crate::wave::reg;

/// The smallest normal number.
const LEAST: u32 = 0x0080_0000;
const INFINITY: u32 = 0x7f80_0000;
/// Predicates of comparisons.
const BELOW: u8 = 1;
const ABOVE: u8 = 6;
const NOT_BELOW: u8 = 5;

/// A number of double precision for each of eight lanes.
fn double(value: f64) -> Rm {
    let bits = value.to_bits();
    Rm::Row(std::array::from_fn(|i| (bits >> (32 * (i & 1))) as u32))
}

impl Compiler<'_> {
    /// Denormals of a register become zeros of their sign, by way of another one.
    fn flush(&mut self, register: Zmm, free: Zmm) {
        self.on(v::PANDD, free, register, Rm::Const(!SIGN));
        self.asm
            .vector(v::PCMPUD, THIRD, free, Rm::Const(LEAST), 0, Some(BELOW));
        self.asm
            .vector(v::PANDD, register, register, Rm::Const(SIGN), THIRD, None);
    }

    /// `f` of the sixteen numbers in `from`, in double precision: it gets two registers with eight each. Rounded to `to`.
    fn doubled(&mut self, to: Zmm, from: Zmm, [low, high]: [Zmm; 2], f: impl FnOnce(&mut Self)) {
        self.asm
            .vector(v::EXTRACT_HALF, from, 0, Rm::Reg(high), 0, Some(1));
        self.on(v::CVTPS2PD, low, 0, Rm::Reg(from));
        self.on(v::CVTPS2PD, high, 0, Rm::Reg(high));
        f(self);
        self.on(v::CVTPD2PS, low, 0, Rm::Reg(low));
        self.on(v::CVTPD2PS, high, 0, Rm::Reg(high));
        self.asm
            .vector(v::INSERT_HALF, to, low, Rm::Reg(high), 0, Some(1));
    }

    /// The same instruction on two registers.
    fn twice(&mut self, op: X, to: [Zmm; 2], first: [Zmm; 2], last: [Rm; 2]) {
        for i in 0..2 {
            self.on(op, to[i], first[i], last[i]);
        }
    }

    /// `2^a`. The series is the interpreter's, product by product and sum by sum.
    pub(super) fn exp(&mut self, inst: &Inst) -> bool {
        if inst.clamp {
            return false;
        }
        self.lanes(inst, [true], Check::Sources, |this, [a], to, mask| {
            let (x, shifted, sum) = ([1, 4], [2, 5], TEMPORARY);
            let (x_now, shifted_now, sum_now) = (x.map(Rm::Reg), shifted.map(Rm::Reg), sum.map(Rm::Reg));
            this.doubled(sum[0], a, x, |this| {
                this.twice(v::MAXPD, x, x, [double(-200.0); 2]);
                this.twice(v::MINPD, x, x, [double(200.0); 2]);
                this.twice(v::ADDPD, shifted, x, [double(EXP2_ROUND); 2]);
                this.twice(v::SUBPD, sum, shifted, [double(EXP2_ROUND); 2]);
                this.twice(v::SUBPD, x, x, sum_now);
                this.twice(v::LOAD, sum, [0; 2], [double(EXP2_SERIES[14]); 2]);
                for term in EXP2_SERIES[..14].iter().rev() {
                    this.twice(v::MULPD, sum, sum, x_now);
                    this.twice(v::ADDPD, sum, sum, [double(*term); 2]);
                }
                let bias = double(f64::from_bits(1023));
                this.twice(v::PADDQ, shifted, shifted, [bias; 2]);
                for i in 0..2 {
                    this.asm
                        .vector(v::SHIFT_Q, v::LEFT, shifted[i], shifted_now[i], 0, Some(52));
                }
                this.twice(v::MULPD, x, sum, shifted_now);
            });
            this.flush(sum[0], sum[1]);
            this.asm.vector(v::MOVE, to, 0, Rm::Reg(sum[0]), mask, None);
        })
    }

    /// `1 / a`: a quotient in double precision that is rounded again is the quotient that is rounded once.
    pub(super) fn rcp(&mut self, inst: &Inst) -> bool {
        self.flushed(inst, |this, number, out| {
            this.on(v::SPLAT, out, 0, Rm::Const(1_f32.to_bits()));
            this.on(v::DIVPS, out, out, Rm::Reg(number));
        })
    }

    /// The square root. The same goes for it.
    pub(super) fn sqrt(&mut self, inst: &Inst) -> bool {
        self.flushed(inst, |this, number, out| {
            this.on(v::SQRTPS, out, 0, Rm::Reg(number))
        })
    }

    /// `1 / sqrt(a)`.
    pub(super) fn rsq(&mut self, inst: &Inst) -> bool {
        self.flushed(inst, |this, number, out| {
            let x = [1, 4];
            this.doubled(out, number, x, |this| {
                this.twice(v::SQRTPD, x, [0; 2], x.map(Rm::Reg));
                this.twice(v::LOAD, [2, 5], [0; 2], [double(1.0); 2]);
                this.twice(v::DIVPD, x, [2, 5], x.map(Rm::Reg));
            });
        })
    }

    /// A function without denormals in its source and its result.
    fn flushed(&mut self, inst: &Inst, f: impl Fn(&mut Self, Zmm, Zmm)) -> bool {
        if inst.clamp {
            return false;
        }
        let [number, out] = TEMPORARY;
        self.lanes(
            inst,
            [true],
            Check::Result { clamps: false },
            |this, [a], to, mask| {
                this.on(v::MOVE, number, 0, Rm::Reg(a));
                this.flush(number, out);
                f(this, number, out);
                this.flush(out, number);
                this.asm.vector(v::MOVE, to, 0, Rm::Reg(out), mask, None);
            },
        )
    }

    /// The exponent of a number.
    fn exponent(&mut self, to: Zmm, of: Zmm) {
        self.asm
            .vector(v::SHIFT_D, v::RIGHT, to, Rm::Reg(of), 0, Some(23));
        self.on(v::PANDD, to, to, Rm::Const(0xff));
    }

    /// One operand of a division, where no operand has to be scaled; the interpreter scales.
    pub(super) fn div_scale(&mut self, inst: &Inst) -> bool {
        if inst.clamp || !Self::has_plain_sources(inst, 3) || !self.is_mask(inst.sdst.into()) {
            return false;
        }
        let [a, b, c] = [0, 1, 2].map(|i| self.source(inst, i, true));
        let place = self.held(inst.dst);
        let mut rare = None;
        let [x, y] = TEMPORARY;
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let [b, c] = [b, c].map(|source| self.chunk(source, chunk));
            self.exponent(x, c);
            self.exponent(y, b);
            // Neither tiny nor huge, and so is the quotient.
            self.on(v::PSUBD, 4, x, Rm::Const(24));
            self.asm
                .vector(v::PCMPUD, MASKS[0], 4, Rm::Const(254 - 24), mask, Some(ABOVE));
            self.on(v::PSUBD, 4, y, Rm::Const(1));
            self.asm
                .vector(v::PCMPUD, MASKS[1], 4, Rm::Const(252 - 1), mask, Some(ABOVE));
            self.on(v::PSUBD, x, x, Rm::Reg(y));
            self.on(v::PADDD, x, x, Rm::Const(124));
            self.asm
                .vector(v::PCMPUD, THIRD, x, Rm::Const(124 + 95), mask, Some(ABOVE));
            self.asm.or_masks(THIRD, THIRD, MASKS[0]);
            self.rarely_if(THIRD, MASKS[1], &mut rare);
            let a = self.chunk(a, chunk);
            self.asm
                .vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(a), mask, None);
        }
        if usize::from(inst.sdst) != reg::NULL {
            self.asm.constant_to(RAX, 0);
            for half in 0..self.lanes / 32 {
                let to = scalar_register(usize::from(inst.sdst) + half);
                self.asm.store(false, to, RAX);
            }
        }
        self.finish(vec![(inst.dst, place)], rare);
        true
    }

    /// `a * b + c`, where no quotient has to be scaled back.
    pub(super) fn div_fmas(&mut self, inst: &Inst) -> bool {
        if inst.clamp || !Self::has_plain_sources(inst, 3) {
            return false;
        }
        let wide = self.lanes > 32;
        let scaled = self.asm.label();
        // All that is held has to be, before the way goes two ways.
        for i in 0..3 {
            if let Src::Vgpr(n) = inst.src[i] {
                self.held(n);
            }
        }
        self.held(inst.dst);
        self.asm.load(wide, RAX, scalar_register(reg::VCC));
        self.asm
            .alu_memory(wide, Alu::And, RAX, scalar_register(reg::EXEC));
        self.asm.jump_if(If::NotEqual, scaled);
        self.fma_or(inst, Some(scaled))
    }

    /// The quotient, put right where it has to be by the interpreter.
    pub(super) fn div_fixup(&mut self, inst: &Inst) -> bool {
        if inst.clamp || !Self::has_plain_sources(inst, 3) {
            return false;
        }
        let [a, b, c] = [0, 1, 2].map(|i| self.source(inst, i, true));
        let place = self.held(inst.dst);
        let mut rare = None;
        let [x, y] = TEMPORARY;
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let [a, b, c] = [a, b, c].map(|source| self.chunk(source, chunk));
            // The sign is that of both, the size the quotient's.
            self.on(v::PXORD, x, b, Rm::Reg(c));
            self.on(v::PANDD, x, x, Rm::Const(SIGN));
            self.on(v::PANDD, y, a, Rm::Const(!SIGN));
            self.asm
                .vector(v::PCMPUD, THIRD, y, Rm::Const(INFINITY), mask, Some(NOT_BELOW));
            self.on(v::PORD, 0, x, Rm::Reg(y));
            self.exponent(x, c);
            self.exponent(y, b);
            for (register, to) in [(x, MASKS[0]), (y, MASKS[1])] {
                self.on(v::PSUBD, 1, register, Rm::Const(1));
                self.asm
                    .vector(v::PCMPUD, to, 1, Rm::Const(253), mask, Some(ABOVE));
            }
            self.asm.or_masks(THIRD, THIRD, MASKS[0]);
            self.on(v::PSUBD, x, x, Rm::Reg(y));
            let least = -150_i32;
            self.asm
                .vector(v::PCMPD, MASKS[0], x, Rm::Const(least as u32), mask, Some(BELOW));
            self.asm.or_masks(THIRD, THIRD, MASKS[0]);
            self.rarely_if(THIRD, MASKS[1], &mut rare);
            self.asm
                .vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(0), mask, None);
        }
        self.finish(vec![(inst.dst, place)], rare);
        true
    }
}
