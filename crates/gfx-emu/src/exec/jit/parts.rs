//! Loads and stores of one or two bytes a lane.

use super::asm::{Alu, If, MaskRegister, Mem, R13, RAX, RCX, RDI, RDX, RSI, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register, state};
use super::memory::{at_place, is_known};
use super::native::at;
use crate::isa::{Inst, Part, Src};
use crate::wave::reg;

const MASK: MaskRegister = 6;
/// Host registers for what is loaded or stored, and for what stays of a register.
const VALUE: Zmm = 4;
const OLD: Zmm = 5;

impl Compiler<'_> {
    /// Loads of one or two bytes. Four are read, where that many are in bounds.
    pub(super) fn load_part(&mut self, inst: &Inst, part: Part) -> bool {
        if !is_known(inst) {
            return false;
        }
        let from = self.asm.label();
        if self.places(inst, inst.imm, 4, from).is_none() {
            return false;
        }
        let place = self.held(inst.dst);
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            self.load_part_chunk(chunk, part);
            let to = place + chunk as Zmm;
            self.merge(to, part, inst.clears_half);
            self.asm.vector(v::MOVE, to, 0, Rm::Reg(VALUE), mask, None);
        }
        self.store_row(inst.dst, place);
        self.beyond(from, vec![(inst.dst, place)]);
        true
    }

    /// What becomes of a register in which the value goes to one half.
    fn merge(&mut self, old: Zmm, part: Part, clears: bool) {
        let Some(high) = part.half else { return };
        if high {
            self.asm
                .vector(v::SHIFT_D, v::LEFT, VALUE, Rm::Reg(VALUE), 0, Some(16));
        } else {
            self.on(v::PANDD, VALUE, VALUE, Rm::Const(0xffff));
        }
        if !clears {
            let others = if high { 0xffff } else { 0xffff_0000 };
            self.on(v::PANDD, OLD, old, Rm::Const(others));
            self.on(v::PORD, VALUE, VALUE, Rm::Reg(OLD));
        }
    }

    /// The bytes of a chunk's lanes, extended to dwords.
    fn load_part_chunk(&mut self, chunk: usize, part: Part) {
        let [apart, scattered, extend, done] = [(); 4].map(|()| self.asm.label());
        let mask = self.exec(chunk);
        let unused = 32 - 8 * part.bytes;
        self.first_place(chunk);
        self.unless_apart(chunk, part.bytes.into(), apart);
        self.unless_all(chunk, apart);
        let widen = if part.bytes == 2 { v::PMOVZXWD } else { v::PMOVZXBD };
        self.on(widen, VALUE, 0, Rm::Full(at_place(0)));
        if part.signed {
            self.asm
                .vector(v::SHIFT_D, v::LEFT, VALUE, Rm::Reg(VALUE), 0, Some(unused));
            self.asm.jump(extend);
        } else {
            self.asm.jump(done);
        }
        self.asm.bind(apart);
        self.unless_apart(chunk, 0, scattered);
        self.asm.load_part(RAX, at_place(0), part.bytes, part.signed);
        self.on(v::SPLAT_GENERAL, VALUE, 0, Rm::Reg(RAX.0));
        self.asm.jump(done);
        self.asm.bind(scattered);
        self.asm.or_masks(MASK, mask, mask);
        self.asm.lanes_memory(false, VALUE, (RSI, chunk as Zmm), 0, MASK);
        self.asm
            .vector(v::SHIFT_D, v::LEFT, VALUE, Rm::Reg(VALUE), 0, Some(unused));
        self.asm.bind(extend);
        let back = if part.signed { v::RIGHT_SIGNED } else { v::RIGHT };
        self.asm
            .vector(v::SHIFT_D, back, VALUE, Rm::Reg(VALUE), 0, Some(unused));
        self.asm.bind(done);
    }

    /// Stores of one or two bytes, of the low half of a register or of the high one.
    pub(super) fn store_part(&mut self, inst: &Inst, bytes: u8, high: bool) -> bool {
        let Src::Vgpr(n) = inst.src[0] else { return false };
        if !is_known(inst) {
            return false;
        }
        let from = self.asm.label();
        // Before the first way off: there it is held, too.
        let row = self.held(n);
        if self.places(inst, inst.imm, bytes.into(), from).is_none() {
            return false;
        }
        for chunk in 0..self.chunks() {
            let by = if high { 16 } else { 0 };
            let value = Rm::Reg(row + chunk as Zmm);
            self.asm.vector(v::SHIFT_D, v::RIGHT, VALUE, value, 0, Some(by));
            self.store_part_chunk(chunk, bytes);
        }
        self.beyond(from, Vec::new());
        true
    }

    fn store_part_chunk(&mut self, chunk: usize, bytes: u8) {
        let [apart, next, done] = [(); 3].map(|()| self.asm.label());
        self.first_place(chunk);
        self.unless_apart(chunk, bytes.into(), apart);
        self.unless_all(chunk, apart);
        let narrow = if bytes == 2 { v::PMOVDW } else { v::PMOVDB };
        self.on(narrow, VALUE, 0, Rm::Full(at_place(0)));
        self.asm.jump(done);
        self.asm.bind(apart);
        // The active lanes one by one, from the first on.
        let line = |number: i32| at::LINES + 64 * number;
        self.on(v::STORE, chunk as Zmm, 0, Rm::Full(state(line(0))));
        self.on(v::STORE, VALUE, 0, Rm::Full(state(line(1))));
        let exec = Mem {
            disp: scalar_register(reg::EXEC).disp + 2 * chunk as i32,
            ..scalar_register(reg::EXEC)
        };
        self.asm.load_part(RCX, exec, 2, false);
        self.asm.bind(next);
        self.asm.alu(false, Alu::Or, RCX, RCX);
        self.asm.jump_if(If::Equal, done);
        self.asm.trailing_zeros(false, RAX, RCX);
        self.asm.load_indexed(RDX, R13, RAX, line(0));
        self.asm.alu(true, Alu::Add, RDX, RSI);
        self.asm.load_indexed(RAX, R13, RAX, line(1));
        self.asm.store_part(Mem { base: RDX, disp: 0 }, RAX, bytes);
        self.asm.copy(RDI, RCX);
        self.asm.alu_constant(false, Alu::Sub, RDI, 1);
        self.asm.alu(false, Alu::And, RCX, RDI);
        self.asm.jump(next);
        self.asm.bind(done);
    }
}
