//! Sums and products of double precision, whose numbers lie in two registers: a chunk is two host registers of eight numbers.

use super::asm::{Opcode as X, Rm, Zmm, v};
use super::compile::{Compiler, scalar_register};
use super::vector::{MASKS, SIGN, TEMPORARY};
use crate::isa::{Inst, Src};
use crate::wave::reg;

/// The upper half of the least NaN that arithmetic makes.
const QUIET: u32 = 0x7ff8_0000;
const NOT_BELOW: u8 = 5;

impl Compiler<'_> {
    /// An instruction of the host's on `N` sources; with three it adds to the last.
    pub(super) fn doubles<const N: usize>(&mut self, inst: &Inst, op: X) -> bool {
        let known = |src: &Src| match *src {
            Src::Vgpr(_) | Src::Const(_) => true,
            Src::Scalar(n) => n < 127 && usize::from(n) != reg::NULL,
            _ => false,
        };
        if inst.clamp || !inst.src[..N].iter().all(known) {
            return false;
        }
        for i in 0..N {
            self.double_splat(inst, i);
        }
        let to = [self.held(inst.dst), self.held(inst.dst + 1)];
        let mut rare = None;
        for chunk in 0..self.chunks() {
            let (at, mask) = (chunk as Zmm, self.exec(chunk));
            let mut sources = [[0; 2]; N];
            for (i, source) in sources.iter_mut().enumerate() {
                *source = self.double_chunk(inst, i, chunk);
            }
            for (half, out) in TEMPORARY.into_iter().enumerate() {
                let part = |i: usize| sources[i][half];
                if N == 3 {
                    self.on(v::MOVE, out, 0, Rm::Reg(part(2)));
                }
                self.on(op, out, part(0), Rm::Reg(part(1)));
            }
            let [a, b] = TEMPORARY;
            // The lower halves of both, in order, then the upper ones.
            for (to, select) in to.into_iter().zip([0x88, 0xdd]) {
                self.asm
                    .vector(v::SHUFPS, to + at, a, Rm::Reg(b), mask, Some(select));
            }
            let seen = MASKS[chunk % 2];
            self.on(v::PANDD, a, to[1] + at, Rm::Const(!SIGN));
            self.asm
                .vector(v::PCMPUD, seen, a, Rm::Const(QUIET), mask, Some(NOT_BELOW));
            if chunk % 2 == 1 {
                self.rarely_if(MASKS[0], MASKS[1], &mut rare);
            }
        }
        let rows = [inst.dst, inst.dst + 1].into_iter().zip(to).collect();
        self.finish(rows, rare);
        true
    }

    /// Puts source `i` in each lane of a host register, where it is one number for all.
    fn double_splat(&mut self, inst: &Inst, i: usize) {
        let [low, high] = double_hosts(i);
        match inst.src[i] {
            Src::Scalar(n) => {
                for (half, host) in [low, high].into_iter().enumerate() {
                    let mem = scalar_register(usize::from(n) + half);
                    self.on(v::SPLAT, host, 0, Rm::Splat(mem));
                }
            }
            Src::Const(value) => {
                self.on(v::SPLAT, low, 0, Rm::Const(value as u32));
                self.on(v::SPLAT, high, 0, Rm::Const((value >> 32) as u32));
            }
            _ => return,
        }
        self.double_sign(inst, i, high);
        self.on(v::UNPCKLPS, low, low, Rm::Reg(high));
    }

    /// A chunk of source `i`, as two host registers. Rows are read from memory: three sources have more of them than places hold.
    fn double_chunk(&mut self, inst: &Inst, i: usize, chunk: usize) -> [Zmm; 2] {
        let [low, high] = double_hosts(i);
        let Src::Vgpr(n) = inst.src[i] else {
            return [low; 2];
        };
        self.strays |= usize::from(n) + 1 >= self.program.registers();
        let upper = TEMPORARY[0];
        self.on(v::LOAD, upper, 0, Rm::Full(self.memory(n + 1, chunk)));
        self.double_sign(inst, i, upper);
        self.on(v::LOAD, low, 0, Rm::Full(self.memory(n, chunk)));
        self.on(v::UNPCKHPS, high, low, Rm::Reg(upper));
        self.on(v::UNPCKLPS, low, low, Rm::Reg(upper));
        [low, high]
    }

    /// Absolute value and negation of source `i`, of whose upper halves these are some.
    fn double_sign(&mut self, inst: &Inst, i: usize, upper: Zmm) {
        if inst.abs >> i & 1 != 0 {
            self.on(v::PANDD, upper, upper, Rm::Const(!SIGN));
        }
        if inst.neg >> i & 1 != 0 {
            self.on(v::PXORD, upper, upper, Rm::Const(SIGN));
        }
    }
}

/// The host registers of source `i`.
fn double_hosts(i: usize) -> [Zmm; 2] {
    [2 * i as Zmm, 2 * i as Zmm + 1]
}
