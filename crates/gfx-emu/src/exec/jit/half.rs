//! Half precision: conversions, and two numbers in one register. The host computes in single precision and rounds again.

use super::asm::{Alu, If, RAX, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register, state};
use super::native::at;
use super::vector::{Check, MASKS, SIGN, TEMPORARY, THIRD, UNORDERED};
use crate::isa::{Inst, Op, Src};

const LOW: u32 = 0xffff;
const HIGH: u32 = 0xffff_0000;
/// Predicate of comparisons: less or greater.
const UNEQUAL: u8 = 12;

impl Compiler<'_> {
    /// A half in single precision.
    pub(super) fn widen(&mut self, inst: &Inst) -> bool {
        if (inst.abs | inst.neg) & 1 != 0 {
            return false;
        }
        let high = inst.op_sel & 1 != 0;
        let check = Check::Result { clamps: inst.clamp };
        self.lanes(inst, [false], check, |this, [a], to, mask| {
            let half = TEMPORARY[1];
            let by = if high { 16 } else { 0 };
            this.asm
                .vector(v::SHIFT_D, v::RIGHT, half, Rm::Reg(a), 0, Some(by));
            this.on(v::PMOVDW, half, 0, Rm::Reg(half));
            this.asm.vector(v::CVTPH2PS, to, 0, Rm::Reg(half), mask, None);
        })
    }

    /// Single precision to half, in one half of a register.
    pub(super) fn narrow(&mut self, inst: &Inst) -> bool {
        if inst.clamp {
            return false;
        }
        let high = inst.op_sel >> 3 & 1 != 0;
        self.lanes(inst, [true], Check::Sources, |this, [a], to, mask| {
            let [half, old] = TEMPORARY;
            this.narrowed(half, a, high);
            if !inst.clears_half {
                this.on(v::PANDD, old, to, Rm::Const(if high { LOW } else { HIGH }));
                this.on(v::PORD, half, half, Rm::Reg(old));
            }
            this.asm.vector(v::MOVE, to, 0, Rm::Reg(half), mask, None);
        })
    }

    /// Sixteen numbers, rounded to the nearest halves, in the low or the high halves of lanes whose rest is zero.
    fn narrowed(&mut self, to: Zmm, from: Zmm, high: bool) {
        self.asm.vector(v::CVTPS2PH, from, 0, Rm::Reg(to), 0, Some(0));
        self.on(v::PMOVZXWD, to, 0, Rm::Reg(to));
        if high {
            self.asm.vector(v::SHIFT_D, v::LEFT, to, Rm::Reg(to), 0, Some(16));
        }
    }

    /// Sums and products of both halves of `N` sources.
    pub(super) fn halves<const N: usize>(&mut self, inst: &Inst) -> bool {
        // Parts of registers would lie where the halves are widened.
        if inst.clamp || inst.parts.is_some() || !Self::has_plain_sources(inst, N) {
            return false;
        }
        let mut sources = [None; N];
        for (i, source) in sources.iter_mut().enumerate() {
            *source = Some(self.source(inst, i, false));
        }
        let place = self.held(inst.dst);
        let mut rare = None;
        let aside = Rm::Full(state(at::LINES));
        let numbers = [(inst.op_sel, inst.neg, false), (inst.op_sel_hi, inst.abs, true)];
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let from = sources.map(|source| source.map_or(0, |source| self.chunk(source, chunk)));
            for (select, negate, high) in numbers {
                // Sources that are not in vector registers have a row of their own, which comes after the registers.
                let mut operands = [0; N];
                for (i, operand) in operands.iter_mut().enumerate() {
                    *operand = 3 + i as Zmm;
                    let by = if select >> i & 1 != 0 { 16 } else { 0 };
                    self.asm
                        .vector(v::SHIFT_D, v::RIGHT, *operand, Rm::Reg(from[i]), 0, Some(by));
                    self.on(v::PMOVDW, *operand, 0, Rm::Reg(*operand));
                    self.on(v::CVTPH2PS, *operand, 0, Rm::Reg(*operand));
                    if negate >> i & 1 != 0 {
                        self.on(v::PXORD, *operand, *operand, Rm::Const(SIGN));
                    }
                }
                let out = operands[0];
                match (inst.op, &operands[..]) {
                    (Op::PkAddF16, [a, b]) => self.on(v::ADDPS, out, *a, Rm::Reg(*b)),
                    (Op::PkMulF16, [a, b]) => self.on(v::MULPS, out, *a, Rm::Reg(*b)),
                    (_, [a, b, c]) => self.fused_to_odd(out, [*a, *b, *c]),
                    _ => return false,
                }
                let seen = MASKS[usize::from(high)];
                self.asm
                    .vector(v::CMPPS, seen, out, Rm::Reg(out), mask, Some(UNORDERED));
                // The first number waits until the second needs no more of the sources.
                let to = TEMPORARY[0];
                self.narrowed(to, out, high);
                if !high {
                    self.on(v::STORE, to, 0, aside);
                }
            }
            self.rarely_if(MASKS[0], MASKS[1], &mut rare);
            let out = TEMPORARY[0];
            self.on(v::PORD, out, out, aside);
            self.asm
                .vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(out), mask, None);
        }
        self.finish(vec![(inst.dst, place)], rare);
        true
    }

    /// `a * b + c` of halves, rounded to odd, so that rounding it again is rounding once: the interpreter's steps.
    fn fused_to_odd(&mut self, sum: Zmm, [a, b, c]: [Zmm; 3]) {
        let (product, part) = (a, b);
        let [lost, rest] = TEMPORARY;
        self.on(v::MULPS, product, a, Rm::Reg(b));
        self.on(v::ADDPS, rest, product, Rm::Reg(c));
        self.on(v::SUBPS, part, rest, Rm::Reg(product));
        self.on(v::SUBPS, lost, rest, Rm::Reg(part));
        self.on(v::SUBPS, lost, product, Rm::Reg(lost));
        self.on(v::SUBPS, c, c, Rm::Reg(part));
        self.on(v::ADDPS, lost, lost, Rm::Reg(c));
        self.asm
            .vector(v::CMPPS, THIRD, lost, Rm::Const(0), 0, Some(UNEQUAL));
        // Rounded away from zero: one step back truncates.
        self.on(v::PXORD, lost, lost, Rm::Reg(rest));
        self.asm
            .vector(v::SHIFT_D, v::RIGHT_SIGNED, lost, Rm::Reg(lost), 0, Some(31));
        self.asm.vector(v::PADDD, rest, rest, Rm::Reg(lost), THIRD, None);
        self.asm.vector(v::PORD, rest, rest, Rm::Const(1), THIRD, None);
        self.on(v::MOVE, sum, 0, Rm::Reg(rest));
    }

    /// Bytes of two registers, as a scalar or a constant selects them. Selections of signs and constants are the interpreter's.
    pub(super) fn bytes(&mut self, inst: &Inst) -> bool {
        const OTHERS: u32 = 0xf8f8_f8f8;
        let mut rare = None;
        match inst.src[2] {
            Src::Const(select) if select as u32 & OTHERS == 0 => {}
            Src::Scalar(n) if Self::has_plain_sources(inst, 2) => {
                // All that is held has to be, before the way goes two ways.
                for src in &inst.src[..2] {
                    if let Src::Vgpr(n) = src {
                        self.held(*n);
                    }
                }
                self.held(inst.dst);
                let from = self.asm.label();
                self.asm.load(false, RAX, scalar_register(n.into()));
                self.asm.alu_constant(false, Alu::And, RAX, OTHERS as i32);
                self.asm.jump_if(If::NotEqual, from);
                rare = Some(from);
            }
            _ => return false,
        }
        self.lanes_or(
            inst,
            [false; 3],
            Check::Nothing,
            rare,
            |this, [a, b, select], to, mask| {
                let (byte, other) = (5, 3);
                let [low, high] = TEMPORARY;
                // The host selects among sixteen bytes, of which a lane has four.
                let lane = |lane: usize| 0x0404_0404 * (lane as u32 & 3);
                this.on(v::PANDD, byte, select, Rm::Const(0x0303_0303));
                this.on(v::PORD, byte, byte, Rm::Row(std::array::from_fn(lane)));
                // What has its highest bit set becomes zero.
                this.asm
                    .vector(v::SHIFT_D, v::LEFT, other, Rm::Reg(select), 0, Some(5));
                this.on(v::PANDD, other, other, Rm::Const(0x8080_8080));
                this.on(v::PORD, low, byte, Rm::Reg(other));
                this.on(v::PSHUFB, low, b, Rm::Reg(low));
                this.on(v::PXORD, other, other, Rm::Const(0x8080_8080));
                this.on(v::PORD, high, byte, Rm::Reg(other));
                this.on(v::PSHUFB, high, a, Rm::Reg(high));
                this.asm.vector(v::PORD, to, low, Rm::Reg(high), mask, None);
            },
        )
    }
}
