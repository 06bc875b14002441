//! Lanes as bits of scalar registers: comparisons, carries, and what chooses by them.

use super::asm::{MaskRegister, Opcode as X, RAX, RCX, Rm, Shift, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::vector::{MASKS, TEMPORARY, THIRD};
use crate::isa::{Inst, Src};
use crate::wave::reg;

impl Compiler<'_> {
    /// Stores the masks of all chunks, made by `f` one after the other, as lanes of a scalar register.
    pub(super) fn masks(&mut self, register: usize, mut f: impl FnMut(&mut Self, usize, MaskRegister)) {
        for pair in 0..self.chunks() / 2 {
            for (half, to) in MASKS.into_iter().enumerate() {
                f(self, 2 * pair + half, to);
            }
            if register == reg::NULL {
                continue;
            }
            self.asm.unpack_masks(MASKS[0], MASKS[1], MASKS[0]);
            self.asm.store_mask(scalar_register(register + pair), MASKS[0]);
        }
    }

    /// A comparison of 32 bits.
    pub(super) fn compare(&mut self, inst: &Inst, op: X, float: bool) -> bool {
        if !Self::has_plain_sources(inst, 2) || !self.is_target(inst) {
            return false;
        }
        let [a, b] = [0, 1].map(|i| self.source(inst, i, float));
        let predicate = if float {
            float_predicate(inst.relations)
        } else {
            predicate(inst.relations)
        };
        self.masks(inst.dst.into(), |this, chunk, to| {
            let mask = this.exec(chunk);
            let (a, b) = (this.chunk(a, chunk), this.chunk(b, chunk));
            this.asm.vector(op, to, a, Rm::Reg(b), mask, Some(predicate));
        });
        self.follow(inst);
        true
    }

    /// A comparison of 64 bits: of the upper halves, and where they are equal of the lower ones.
    pub(super) fn compare64(&mut self, inst: &Inst, upper: X) -> bool {
        if !self.is_target(inst) {
            return false;
        }
        let Some(a) = self.source64(inst, 0) else {
            return false;
        };
        let Some(b) = self.source64(inst, 1) else {
            return false;
        };
        let relations = inst.relations;
        self.masks(inst.dst.into(), |this, chunk, to| {
            let mask = this.exec(chunk);
            let [a, c] = a.map(|source| this.chunk(source, chunk));
            let [b, d] = b.map(|source| this.chunk(source, chunk));
            this.asm
                .vector(upper, THIRD, c, Rm::Reg(d), mask, Some(predicate(relations & 5)));
            this.asm.vector(v::PCMPD, to, c, Rm::Reg(d), mask, Some(0));
            this.asm
                .vector(v::PCMPUD, to, a, Rm::Reg(b), to, Some(predicate(relations)));
            this.asm.or_masks(to, to, THIRD);
        });
        self.follow(inst);
        true
    }

    /// Whether a register can have the lanes of a wave.
    pub(super) fn is_mask(&self, register: usize) -> bool {
        register == reg::NULL || register + self.lanes / 32 <= 128
    }

    /// Whether a comparison's result can go where it should.
    pub(super) fn is_target(&self, inst: &Inst) -> bool {
        let register = usize::from(inst.dst);
        self.is_mask(register) && !(inst.writes_exec && register == reg::NULL)
    }

    /// What comes after a comparison that writes EXEC, too.
    pub(super) fn follow(&mut self, inst: &Inst) {
        if !inst.writes_exec || usize::from(inst.dst) == reg::EXEC {
            return;
        }
        let halves = [RAX, RCX].into_iter().take(self.lanes / 32).enumerate();
        // Both are read before EXEC changes: it may be one of them.
        for (half, register) in halves.clone() {
            self.asm
                .load(false, register, scalar_register(usize::from(inst.dst) + half));
        }
        for (half, register) in halves {
            self.asm.store(false, scalar_register(reg::EXEC + half), register);
        }
    }

    /// Loads the part of a mask in a scalar register that is a chunk's.
    pub(super) fn mask_part(&mut self, to: MaskRegister, register: usize, chunk: usize) {
        let mut mem = scalar_register(register);
        mem.disp += 2 * chunk as i32;
        self.asm.load_mask(to, mem);
    }

    /// The scalar register with the mask that is the third source.
    pub(super) fn mask_source(&self, inst: &Inst) -> Option<usize> {
        match inst.src[2] {
            Src::Scalar(n) if usize::from(n) != reg::NULL && usize::from(n) + self.lanes / 32 <= 128 => {
                Some(n.into())
            }
            _ => None,
        }
    }

    pub(super) fn select(&mut self, inst: &Inst) -> bool {
        let Some(register) = self
            .mask_source(inst)
            .filter(|_| Self::has_plain_sources(inst, 2))
        else {
            return false;
        };
        let [a, b] = [0, 1].map(|i| self.source(inst, i, true));
        let place = self.held(inst.dst);
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            self.mask_part(MASKS[0], register, chunk);
            let (a, b) = (self.chunk(a, chunk), self.chunk(b, chunk));
            self.asm
                .vector(v::PBLENDMD, TEMPORARY[0], a, Rm::Reg(b), MASKS[0], None);
            self.asm.vector(
                v::MOVE,
                place + chunk as Zmm,
                0,
                Rm::Reg(TEMPORARY[0]),
                mask,
                None,
            );
        }
        self.store_row(inst.dst, place);
        true
    }

    /// Sums and differences with carries.
    pub(super) fn carry(&mut self, inst: &Inst, subtracts: bool, swapped: bool, takes: bool) -> bool {
        let taken = if takes { self.mask_source(inst) } else { None };
        let known = (taken.is_some() || !takes) && !inst.clamp && self.is_mask(inst.sdst.into());
        if !known || !Self::has_plain_sources(inst, 2) {
            return false;
        }
        let [a, b] = [0, 1].map(|i| self.source(inst, i, false));
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let place = self.held(inst.dst);
        let (op, back) = if subtracts {
            (v::PSUBD, v::PADDD)
        } else {
            (v::PADDD, v::PSUBD)
        };
        // The mask may be where the carries go, and is read to its end before they do.
        if let Some(register) = taken {
            for half in 0..self.lanes / 32 {
                self.asm
                    .load(false, [RAX, RCX][half], scalar_register(register + half));
            }
        }
        let below = 1;
        self.masks(inst.sdst.into(), |this, chunk, to| {
            let mask = this.exec(chunk);
            let (a, b) = (this.chunk(a, chunk), this.chunk(b, chunk));
            let sum = TEMPORARY[0];
            this.on(op, sum, a, Rm::Reg(b));
            let (x, y) = if subtracts { (a, b) } else { (sum, a) };
            this.asm.vector(v::PCMPUD, to, x, Rm::Reg(y), mask, Some(below));
            if takes {
                let from = [RAX, RCX][chunk / 2];
                this.asm.mask_of(THIRD, from);
                this.asm.shift_constant(false, Shift::Right, from, 16);
                let with = TEMPORARY[1];
                this.on(v::MOVE, with, 0, Rm::Reg(sum));
                // All ones are one less than zero.
                this.asm.vector(back, with, sum, Rm::Const(u32::MAX), THIRD, None);
                let (x, y) = if subtracts { (sum, with) } else { (with, sum) };
                this.asm
                    .vector(v::PCMPUD, THIRD, x, Rm::Reg(y), mask, Some(below));
                this.asm.or_masks(to, to, THIRD);
                this.asm
                    .vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(with), mask, None);
            } else {
                this.asm
                    .vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(sum), mask, None);
            }
        });
        self.store_row(inst.dst, place);
        true
    }
}

/// The host's number of what a comparison of integers counts as true.
fn predicate(relations: u8) -> u8 {
    [3, 1, 0, 2, 6, 4, 5, 7][usize::from(relations & 7)]
}

/// The same of floats, quiet.
fn float_predicate(relations: u8) -> u8 {
    [
        0x0b, 0x11, 0x00, 0x12, 0x1e, 0x0c, 0x1d, 0x07, 0x03, 0x19, 0x08, 0x1a, 0x16, 0x04, 0x15, 0x0f,
    ][usize::from(relations & 15)]
}
