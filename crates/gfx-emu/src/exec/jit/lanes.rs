//! Lanes by their numbers: the first one, one that is named, and how many are below each.

use super::asm::{Alu, Mem, R12, RAX, RCX, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::vector::THIRD;
use crate::isa::{Inst, Src};
use crate::wave::reg;

impl Compiler<'_> {
    /// The first active lane of a register.
    pub(super) fn first_lane(&mut self, inst: &Inst) -> bool {
        let Src::Vgpr(n) = inst.src[0] else { return false };
        self.held(n);
        let wide = self.lanes > 32;
        self.asm.load(wide, RAX, scalar_register(reg::EXEC));
        self.asm.trailing_zeros(wide, RAX, RAX);
        self.asm.alu_constant(false, Alu::And, RAX, self.lanes as i32 - 1);
        let disp = self.memory(n, 0).disp;
        self.asm.load_indexed(RAX, R12, RAX, disp);
        if usize::from(inst.dst) != reg::NULL {
            self.asm.store(false, scalar_register(inst.dst.into()), RAX);
        }
        true
    }

    /// The number of lanes below each, of the 32 from `first` on, plus another number. Compilers ask for all lanes; a count of some is called.
    pub(super) fn lanes_below(&mut self, inst: &Inst, first: usize) -> bool {
        if !matches!(inst.src[0], Src::Const(value) if value as u32 == u32::MAX)
            || !Self::has_plain_sources(inst, 2)
        {
            return false;
        }
        let addend = self.source(inst, 1, false);
        let place = self.held(inst.dst);
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let addend = self.chunk(addend, chunk);
            let below = |lane: usize| (16 * chunk + lane).saturating_sub(first).min(32) as u32;
            let to = place + chunk as Zmm;
            self.asm.vector(
                v::PADDD,
                to,
                addend,
                Rm::Row(std::array::from_fn(below)),
                mask,
                None,
            );
        }
        self.finish(vec![(inst.dst, place)], None);
        true
    }

    /// A lane with a constant number, to a scalar register.
    pub(super) fn read_lane(&mut self, inst: &Inst) -> bool {
        let (Src::Vgpr(n), Src::Const(lane)) = (inst.src[0], inst.src[1]) else {
            return false;
        };
        self.strays |= usize::from(n) >= self.program.registers();
        let lane = lane as usize % self.lanes;
        let from = Mem {
            base: R12,
            disp: self.memory(n, 0).disp + 4 * lane as i32,
        };
        self.asm.load(false, RAX, from);
        if usize::from(inst.dst) != reg::NULL {
            self.asm.store(false, scalar_register(inst.dst.into()), RAX);
        }
        true
    }

    /// A scalar to a lane with a constant number, whatever EXEC says.
    pub(super) fn write_lane(&mut self, inst: &Inst) -> bool {
        let Src::Const(lane) = inst.src[1] else {
            return false;
        };
        match inst.src[0] {
            Src::Scalar(n) => self.asm.load(false, RAX, scalar_register(n.into())),
            Src::Const(value) => self.asm.constant_to(RAX, u64::from(value as u32)),
            _ => return false,
        }
        let lane = lane as usize % self.lanes;
        let chunk = lane / 16;
        let to = self.held(inst.dst) + chunk as Zmm;
        self.asm.constant_to(RCX, 1 << (lane % 16));
        self.asm.mask_of(THIRD, RCX);
        self.asm
            .vector(v::SPLAT_GENERAL, to, 0, Rm::Reg(RAX.0), THIRD, None);
        let row = Rm::Full(self.memory(inst.dst, chunk));
        self.on(v::STORE, to, 0, row);
        true
    }
}
