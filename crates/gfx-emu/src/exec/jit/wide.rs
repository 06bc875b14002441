//! Products of integers, and integers of 64 bits, which lie in two registers: a chunk of the lower halves and one of the upper ones.

use super::asm::{MaskRegister, RAX, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::source::SourceRegister;
use super::vector::{Check, TEMPORARY, THIRD};
use crate::isa::{Inst, Src};
use crate::wave::reg;

impl Compiler<'_> {
    /// Products of 24 bits.
    pub(super) fn product24(&mut self, inst: &Inst, adds: bool) -> bool {
        let product = |this: &mut Self, a: Zmm, b: Zmm| {
            this.on(v::PANDD, TEMPORARY[0], a, Rm::Const(0xff_ffff));
            this.on(v::PANDD, TEMPORARY[1], b, Rm::Const(0xff_ffff));
        };
        let [low, high] = TEMPORARY;
        if adds {
            return self.lanes(inst, [false; 3], Check::Nothing, |this, [a, b, c], to, mask| {
                product(this, a, b);
                this.on(v::PMULLD, low, low, Rm::Reg(high));
                this.asm.vector(v::PADDD, to, low, Rm::Reg(c), mask, None);
            });
        }
        self.lanes(inst, [false; 2], Check::Nothing, |this, [a, b], to, mask| {
            product(this, a, b);
            this.asm.vector(v::PMULLD, to, low, Rm::Reg(high), mask, None);
        })
    }

    /// The upper half of products, of some bits of the sources. The host multiplies every second lane.
    pub(super) fn product_high(&mut self, inst: &Inst, of: Option<u32>) -> bool {
        let [even, odd] = TEMPORARY;
        self.lanes(inst, [false; 2], Check::Nothing, |this, [a, b], to, mask| {
            let (mut a, mut b) = (a, b);
            if let Some(bits) = of {
                this.on(v::PANDD, 5, a, Rm::Const(bits));
                this.on(v::PANDD, 2, b, Rm::Const(bits));
                (a, b) = (5, 2);
            }
            this.products(a, b);
            this.asm
                .vector(v::SHIFT_Q, v::RIGHT, even, Rm::Reg(even), 0, Some(32));
            this.odd_lanes(THIRD);
            this.asm.vector(v::MOVE, even, 0, Rm::Reg(odd), THIRD, None);
            this.asm.vector(v::MOVE, to, 0, Rm::Reg(even), mask, None);
        })
    }

    /// The products of the even lanes, and those of the odd ones, each of 64 bits.
    pub(super) fn products(&mut self, a: Zmm, b: Zmm) {
        let [even, odd] = TEMPORARY;
        // What the sources' own registers are for: signs, which integers have none of.
        let [x, y] = [3, 4];
        self.on(v::PMULUDQ, even, a, Rm::Reg(b));
        self.asm.vector(v::SHIFT_Q, v::RIGHT, x, Rm::Reg(a), 0, Some(32));
        self.asm.vector(v::SHIFT_Q, v::RIGHT, y, Rm::Reg(b), 0, Some(32));
        self.on(v::PMULUDQ, odd, x, Rm::Reg(y));
    }

    /// A mask of every second lane.
    pub(super) fn odd_lanes(&mut self, mask: MaskRegister) {
        self.asm.constant_to(RAX, 0xaaaa);
        self.asm.mask_of(mask, RAX);
    }

    /// `a * b + c` of 64 bits.
    pub(super) fn wide_product(&mut self, inst: &Inst) -> bool {
        let carries = usize::from(inst.sdst) != reg::NULL;
        if inst.clamp || !self.is_mask(inst.sdst.into()) || !Self::has_plain_sources(inst, 2) {
            return false;
        }
        let [a, b] = [0, 1].map(|i| self.source(inst, i, false));
        let c = match inst.src[2] {
            Src::Vgpr(n) => [self.held(n), self.held(n + 1)].map(Some),
            Src::Const(0) => [None; 2],
            _ => return false,
        };
        let [low, high] = [self.held(inst.dst), self.held(inst.dst + 1)];
        let [even, odd] = TEMPORARY;
        let (addend, upper) = (3, 4);
        self.masks(inst.sdst.into(), |this, chunk, to| {
            let mask = this.exec(chunk);
            let at = chunk as Zmm;
            let (a, b) = (this.chunk(a, chunk), this.chunk(b, chunk));
            this.products(a, b);
            this.odd_lanes(THIRD);
            if let [Some(c), Some(d)] = c {
                // The even lanes' addends, then the odd ones'.
                this.asm
                    .vector(v::SHIFT_Q, v::LEFT, addend, Rm::Reg(d + at), 0, Some(32));
                this.asm
                    .vector(v::PBLENDMD, addend, c + at, Rm::Reg(addend), THIRD, None);
                this.on(v::PADDQ, even, even, Rm::Reg(addend));
                this.asm
                    .vector(v::SHIFT_Q, v::RIGHT, addend, Rm::Reg(c + at), 0, Some(32));
                this.asm
                    .vector(v::PBLENDMD, addend, addend, Rm::Reg(d + at), THIRD, None);
                this.on(v::PADDQ, odd, odd, Rm::Reg(addend));
            }
            this.asm
                .vector(v::SHIFT_Q, v::LEFT, addend, Rm::Reg(odd), 0, Some(32));
            this.asm
                .vector(v::PBLENDMD, addend, even, Rm::Reg(addend), THIRD, None);
            this.asm
                .vector(v::SHIFT_Q, v::RIGHT, upper, Rm::Reg(even), 0, Some(32));
            this.asm
                .vector(v::PBLENDMD, upper, upper, Rm::Reg(odd), THIRD, None);
            if carries {
                // The sum is less than the addend.
                let less = Some(1);
                if let [Some(c), Some(d)] = c {
                    this.asm
                        .vector(v::PCMPUD, THIRD, upper, Rm::Reg(d + at), mask, less);
                    this.asm
                        .vector(v::PCMPD, to, upper, Rm::Reg(d + at), mask, Some(0));
                    this.asm.vector(v::PCMPUD, to, addend, Rm::Reg(c + at), to, less);
                    this.asm.or_masks(to, to, THIRD);
                } else {
                    this.asm.vector(v::PCMPUD, to, upper, Rm::Reg(upper), mask, less);
                }
            }
            this.asm.vector(v::MOVE, low + at, 0, Rm::Reg(addend), mask, None);
            this.asm.vector(v::MOVE, high + at, 0, Rm::Reg(upper), mask, None);
        });
        self.store_row(inst.dst, low);
        self.store_row(inst.dst + 1, high);
        true
    }

    /// The two rows of a source of 64 bits, or two host registers with a constant or a scalar.
    pub(super) fn source64(&mut self, inst: &Inst, i: usize) -> Option<[SourceRegister; 2]> {
        let hosts = [2 * i as Zmm, 2 * i as Zmm + 1];
        match inst.src[i] {
            Src::Vgpr(n) => Some([n, n + 1].map(|row| SourceRegister::row(self.held(row)))),
            Src::Scalar(n) if n < 127 && usize::from(n) != reg::NULL => {
                for (half, host) in hosts.into_iter().enumerate() {
                    let mem = scalar_register(usize::from(n) + half);
                    self.on(v::SPLAT, host, 0, Rm::Splat(mem));
                }
                Some(hosts.map(SourceRegister::splat))
            }
            Src::Const(value) => {
                self.on(v::SPLAT, hosts[0], 0, Rm::Const(value as u32));
                self.on(v::SPLAT, hosts[1], 0, Rm::Const((value >> 32) as u32));
                Some(hosts.map(SourceRegister::splat))
            }
            _ => None,
        }
    }

    /// Shifts of 64 bits by a constant below 32.
    pub(super) fn shift64(&mut self, inst: &Inst, to_left: bool) -> bool {
        let (Src::Const(by), Src::Vgpr(n)) = (inst.src[0], inst.src[1]) else {
            return false;
        };
        let by = by as u8 & 63;
        if by >= 32 {
            return false;
        }
        let from = [self.held(n), self.held(n + 1)];
        let to = [self.held(inst.dst), self.held(inst.dst + 1)];
        let [a, b] = TEMPORARY;
        // What is shifted alone, and what gets the other's bits.
        let (plain, mixed) = if to_left { (0, 1) } else { (1, 0) };
        let (there, back) = if to_left {
            (v::LEFT, v::RIGHT)
        } else {
            (v::RIGHT, v::LEFT)
        };
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let at = chunk as Zmm;
            self.asm
                .vector(v::SHIFT_D, there, a, Rm::Reg(from[mixed] + at), 0, Some(by));
            self.asm
                .vector(v::SHIFT_D, back, b, Rm::Reg(from[plain] + at), 0, Some(32 - by));
            self.asm
                .vector(v::SHIFT_D, there, 5, Rm::Reg(from[plain] + at), 0, Some(by));
            self.asm
                .vector(v::PORD, to[mixed] + at, a, Rm::Reg(b), mask, None);
            self.asm
                .vector(v::MOVE, to[plain] + at, 0, Rm::Reg(5), mask, None);
        }
        self.store_row(inst.dst, to[0]);
        self.store_row(inst.dst + 1, to[1]);
        true
    }

    /// Two registers at once.
    pub(super) fn move64(&mut self, inst: &Inst) -> bool {
        let Some(from) = self.source64(inst, 0) else {
            return false;
        };
        let to = [self.held(inst.dst), self.held(inst.dst + 1)];
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let at = chunk as Zmm;
            // Both are read before either is written.
            let [low, high] = from.map(|source| self.chunk(source, chunk));
            self.on(v::MOVE, TEMPORARY[0], 0, Rm::Reg(high));
            self.asm.vector(v::MOVE, to[0] + at, 0, Rm::Reg(low), mask, None);
            self.asm
                .vector(v::MOVE, to[1] + at, 0, Rm::Reg(TEMPORARY[0]), mask, None);
        }
        self.store_row(inst.dst, to[0]);
        self.store_row(inst.dst + 1, to[1]);
        true
    }

    /// `(a << b) + c` of 64 bits, with a constant below 8.
    pub(super) fn shift_add64(&mut self, inst: &Inst) -> bool {
        let Src::Const(by) = inst.src[1] else { return false };
        let by = by as u8 & 7;
        let known = |src| {
            matches!(src, Src::Vgpr(_) | Src::Const(_))
                || matches!(src, Src::Scalar(n) if usize::from(n) < reg::NULL)
        };
        if !known(inst.src[0]) || !known(inst.src[2]) {
            return false;
        }
        let (Some(a), Some(c)) = (self.source64(inst, 0), self.source64(inst, 2)) else {
            return false;
        };
        let to = [self.held(inst.dst), self.held(inst.dst + 1)];
        let [low, high] = TEMPORARY;
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let at = chunk as Zmm;
            let [a, b] = a.map(|source| self.chunk(source, chunk));
            let [c, d] = c.map(|source| self.chunk(source, chunk));
            self.asm
                .vector(v::SHIFT_D, v::RIGHT, 3, Rm::Reg(a), 0, Some(32 - by));
            self.asm
                .vector(v::SHIFT_D, v::LEFT, high, Rm::Reg(b), 0, Some(by));
            self.asm.vector(v::SHIFT_D, v::LEFT, low, Rm::Reg(a), 0, Some(by));
            self.on(v::PORD, high, high, Rm::Reg(3));
            self.on(v::PADDD, low, low, Rm::Reg(c));
            self.asm.vector(v::PCMPUD, THIRD, low, Rm::Reg(c), 0, Some(1));
            self.on(v::PADDD, high, high, Rm::Reg(d));
            // All ones are one less than zero.
            self.asm
                .vector(v::PSUBD, high, high, Rm::Const(u32::MAX), THIRD, None);
            self.asm.vector(v::MOVE, to[0] + at, 0, Rm::Reg(low), mask, None);
            self.asm.vector(v::MOVE, to[1] + at, 0, Rm::Reg(high), mask, None);
        }
        self.store_row(inst.dst, to[0]);
        self.store_row(inst.dst + 1, to[1]);
        true
    }
}
