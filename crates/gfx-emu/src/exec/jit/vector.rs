//! Vector instructions as instructions of AVX-512: a chunk of sixteen lanes at a time, under EXEC as a mask.

use super::asm::{Alu, If, Label, Mask, Mem, Op as X, R12, RAX, RCX, Rm, Shift, Zmm, v};
use super::compile::{Compiler, Rarely, scalar_register};
use crate::isa::{Inst, Op, Src};
use crate::wave::reg;

/// Masks for what an instruction computes on its way.
pub(super) const MASKS: [Mask; 2] = [5, 6];
pub(super) const THIRD: Mask = 7;
/// Host registers for the same.
pub(super) const TEMPORARY: [Zmm; 2] = [6, 7];
/// Predicates of comparisons.
const UNORDERED: u8 = 3;
pub(super) const SIGN: u32 = 0x8000_0000;

/// A source: the host register of its first chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    first: Zmm,
    /// Each chunk has one, else all have this one.
    is_row: bool,
    /// Absolute value and negation that each chunk needs yet.
    abs: bool,
    neg: bool,
    /// Where a chunk with a sign of its own goes.
    own: Zmm,
}

impl Compiler<'_> {
    pub(super) fn chunks(&self) -> usize {
        self.lanes / 16
    }

    /// An instruction of the host's on a chunk, under no mask.
    pub(super) fn on(&mut self, op: X, to: Zmm, first: Zmm, rm: Rm) {
        self.asm.vector(op, to, first, rm, 0, None);
    }

    pub(super) fn on_imm(&mut self, op: X, to: Zmm, first: Zmm, rm: Rm, imm: u8) {
        self.asm.vector(op, to, first, rm, 0, Some(imm));
    }

    /// Where a chunk of a vector register lies.
    pub(super) fn memory(&self, row: u16, chunk: usize) -> Mem {
        let row = i32::from(row) * 4 * self.lanes as i32;
        Mem {
            base: R12,
            disp: row + 64 * chunk as i32,
        }
    }

    /// Loads a row to its place.
    pub(super) fn load_row(&mut self, row: u16, place: Zmm) {
        for chunk in 0..self.chunks() {
            let from = Rm::Full(self.memory(row, chunk));
            self.on(v::LOAD, place + chunk as Zmm, 0, from);
        }
    }

    /// A row that is held from here on.
    pub(super) fn held(&mut self, row: u16) -> Zmm {
        let (place, is_there) = self.rows.place(row);
        if !is_there {
            self.load_row(row, place);
        }
        place
    }

    pub(super) fn store_row(&mut self, row: u16, place: Zmm) {
        for chunk in 0..self.chunks() {
            let to = Rm::Full(self.memory(row, chunk));
            self.on(v::STORE, place + chunk as Zmm, 0, to);
        }
    }

    /// EXEC's mask of a chunk.
    pub(super) fn exec(&mut self, chunk: usize) -> Mask {
        if !self.has_exec {
            self.load_exec();
        }
        1 + chunk as Mask
    }

    /// Source `i` as 32-bit lanes, with its sign changed where it is a float.
    pub(super) fn source(&mut self, inst: &Inst, i: usize, float: bool) -> Source {
        let has = |bits: u8| float && bits >> i & 1 != 0;
        let (abs, neg) = (has(inst.abs), has(inst.neg));
        let (own, first) = (3 + i as Zmm, i as Zmm);
        let row = Source {
            first,
            is_row: false,
            abs: false,
            neg: false,
            own,
        };
        match inst.src[i] {
            Src::Vgpr(n) => Source {
                first: self.held(n),
                is_row: true,
                abs,
                neg,
                own,
            },
            Src::Scalar(n) => {
                self.on(v::SPLAT, first, 0, Rm::Splat(scalar_register(n.into())));
                self.change_sign(first, first, abs, neg);
                row
            }
            Src::Const(value) => {
                let value = if abs { value as u32 & !SIGN } else { value as u32 };
                let value = if neg { value ^ SIGN } else { value };
                self.on(v::SPLAT, first, 0, Rm::Const(value));
                row
            }
            _ => row,
        }
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
    pub(super) fn chunk(&mut self, source: Source, chunk: usize) -> Zmm {
        if !source.is_row {
            return source.first;
        }
        let first = source.first + chunk as Zmm;
        if source.abs || source.neg {
            self.change_sign(source.own, first, source.abs, source.neg);
            return source.own;
        }
        first
    }

    /// Whether an instruction's first sources are vector registers, scalar registers or constants.
    pub(super) fn has_plain_sources(inst: &Inst, count: usize) -> bool {
        let mut sources = inst.src.iter().take(count);
        sources.all(|src| matches!(src, Src::Vgpr(_) | Src::Scalar(_) | Src::Const(_)))
    }

    /// Goes to the interpreter's function for this instruction where one of the masks is not empty. What the instruction computed so far is
    /// forgotten, since nothing was stored.
    pub(super) fn rarely_if(&mut self, a: Mask, b: Mask, rare: &mut Option<Label>) {
        let from = match *rare {
            Some(label) => label,
            None => *rare.insert(self.asm.label()),
        };
        self.asm.test_masks(a, b);
        self.asm.jump_if(If::NotEqual, from);
    }

    /// Stores the destinations, after which the rare way comes back.
    pub(super) fn finish(&mut self, rows: Vec<(u16, Zmm)>, rare: Option<Label>) {
        self.finish_with(rows, Vec::new(), rare);
    }

    /// The same, where the rare way has to load the rows in `late`, too.
    pub(super) fn finish_with(&mut self, rows: Vec<(u16, Zmm)>, late: Vec<(u16, Zmm)>, rare: Option<Label>) {
        for (row, place) in &rows {
            self.store_row(*row, *place);
        }
        if let Some(from) = rare {
            let back = self.asm.label();
            self.asm.bind(back);
            self.rarely.push(Rarely {
                from,
                back,
                index: self.index as u32,
                rows: [rows, late].concat(),
            });
        }
    }

    /// An instruction of `N` sources whose chunks `f` computes into a host register, under a mask. Where the results are floats that may
    /// be NaNs, and one is, the interpreter's function has the last word.
    pub(super) fn lanes<const N: usize>(
        &mut self,
        inst: &Inst,
        floats: [bool; N],
        checks: Check,
        f: impl FnMut(&mut Self, [Zmm; N], Zmm, Mask),
    ) -> bool {
        self.lanes_or(inst, floats, checks, None, f)
    }

    /// The same, with a place from where code may have gone to the interpreter's function already.
    fn lanes_or<const N: usize>(
        &mut self,
        inst: &Inst,
        floats: [bool; N],
        checks: Check,
        mut rare: Option<Label>,
        mut f: impl FnMut(&mut Self, [Zmm; N], Zmm, Mask),
    ) -> bool {
        if !Self::has_plain_sources(inst, N) {
            return false;
        }
        let mut sources = [None; N];
        for (i, source) in sources.iter_mut().enumerate() {
            *source = Some(self.source(inst, i, floats[i]));
        }
        let place = self.held(inst.dst);
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let chunks = sources.map(|source| source.map_or(0, |source| self.chunk(source, chunk)));
            let to = place + chunk as Zmm;
            let seen = MASKS[chunk % 2];
            let (clamps, to_now, mask_now) = match checks {
                Check::Result { clamps: true } => (true, TEMPORARY[0], 0),
                _ => (false, to, mask),
            };
            if let Check::Sources = checks {
                self.asm.vector(v::CMPPS, seen, chunks[0], Rm::Reg(chunks[N - 1]), mask, Some(UNORDERED));
                if N > 2 {
                    self.asm.vector(v::CMPPS, THIRD, chunks[1], Rm::Reg(chunks[1]), mask, Some(UNORDERED));
                    self.asm.or_masks(seen, seen, THIRD);
                }
            }
            f(self, chunks, to_now, mask_now);
            match checks {
                Check::Nothing | Check::Sources => {}
                Check::Result { .. } => {
                    self.asm.vector(v::CMPPS, seen, to_now, Rm::Reg(to_now), mask, Some(UNORDERED));
                }
                Check::Equals(value) => {
                    self.asm.vector(v::PCMPD, seen, to_now, Rm::Const(value), mask, Some(0));
                }
            }
            if clamps {
                self.on(v::MAXPS, to_now, to_now, Rm::Const(0));
                self.on(v::MINPS, to_now, to_now, Rm::Const(1_f32.to_bits()));
                self.asm.vector(v::MOVE, to, 0, Rm::Reg(to_now), mask, None);
            }
            if !matches!(checks, Check::Nothing) && chunk % 2 == 1 {
                self.rarely_if(MASKS[0], MASKS[1], &mut rare);
            }
        }
        self.finish(vec![(inst.dst, place)], rare);
        true
    }

    /// One or two floats to a float by an instruction of the host's that does the same, but for NaNs.
    fn floats2(&mut self, inst: &Inst, op: X, swapped: bool) -> bool {
        let check = Check::Result { clamps: inst.clamp };
        self.lanes(inst, [true; 2], check, |this, [a, b], to, mask| {
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            this.asm.vector(op, to, a, Rm::Reg(b), mask, None);
        })
    }

    fn floats1(&mut self, inst: &Inst, op: X, imm: Option<u8>) -> bool {
        let check = Check::Result { clamps: inst.clamp };
        self.lanes(inst, [true], check, |this, [a], to, mask| {
            this.asm.vector(op, to, 0, Rm::Reg(a), mask, imm);
        })
    }

    fn bits1(&mut self, inst: &Inst, op: X) -> bool {
        self.lanes(inst, [false], Check::Nothing, |this, [a], to, mask| {
            this.asm.vector(op, to, 0, Rm::Reg(a), mask, None);
        })
    }

    fn bits2(&mut self, inst: &Inst, op: X, swapped: bool) -> bool {
        self.lanes(inst, [false; 2], Check::Nothing, |this, [a, b], to, mask| {
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            this.asm.vector(op, to, a, Rm::Reg(b), mask, None);
        })
    }

    /// Two instructions of the host's, one after the other.
    fn bits3(&mut self, inst: &Inst, first: X, second: X) -> bool {
        self.lanes(inst, [false; 3], Check::Nothing, |this, [a, b, c], to, mask| {
            this.on(first, TEMPORARY[0], a, Rm::Reg(b));
            this.asm.vector(second, to, TEMPORARY[0], Rm::Reg(c), mask, None);
        })
    }

    /// Any function of the bits of two or three sources, by its table.
    fn logic3(&mut self, inst: &Inst, table: u8) -> bool {
        self.lanes(inst, [false; 3], Check::Nothing, |this, [a, b, c], to, mask| {
            this.on(v::MOVE, TEMPORARY[0], 0, Rm::Reg(a));
            this.on_imm(v::PTERNLOGD, TEMPORARY[0], b, Rm::Reg(c), table);
            this.asm.vector(v::MOVE, to, 0, Rm::Reg(TEMPORARY[0]), mask, None);
        })
    }

    /// `to = from` shifted by another register, of which five bits count, or by a constant.
    fn shifted(&mut self, to: Zmm, from: Zmm, by: (Src, Zmm), (variable, constant): (X, u8), mask: Mask) {
        if let Src::Const(amount) = by.0 {
            let amount = amount as u8 & 31;
            // The destination is where others have a source.
            self.asm.vector(v::SHIFT_D, constant, to, Rm::Reg(from), mask, Some(amount));
        } else {
            self.on(v::PANDD, TEMPORARY[1], by.1, Rm::Const(31));
            self.asm.vector(variable, to, from, Rm::Reg(TEMPORARY[1]), mask, None);
        }
    }

    fn shift(&mut self, inst: &Inst, shift: (X, u8)) -> bool {
        let by = inst.src[0];
        self.lanes(inst, [false; 2], Check::Nothing, |this, [a, b], to, mask| {
            this.shifted(to, b, (by, a), shift, mask);
        })
    }

    /// `(a << b)` and then another one with `c`.
    fn shift_then(&mut self, inst: &Inst, then: X) -> bool {
        let by = inst.src[1];
        self.lanes(inst, [false; 3], Check::Nothing, |this, [a, b, c], to, mask| {
            this.shifted(TEMPORARY[0], a, (by, b), (v::PSLLVD, v::LEFT), 0);
            this.asm.vector(then, to, TEMPORARY[0], Rm::Reg(c), mask, None);
        })
    }

    /// `a * b + c`, rounded once.
    fn fma(&mut self, inst: &Inst) -> bool {
        self.fma_or(inst, None)
    }

    /// The same, with a place from where code may have gone to the interpreter's function already.
    pub(super) fn fma_or(&mut self, inst: &Inst, rare: Option<Label>) -> bool {
        let check = Check::Result { clamps: inst.clamp };
        self.lanes_or(inst, [true; 3], check, rare, |this, [a, b, c], to, mask| {
            if to == c {
                this.asm.vector(v::FMADD231PS, to, a, Rm::Reg(b), mask, None);
            } else if to == a || to == b {
                let other = if to == a { b } else { a };
                this.asm.vector(v::FMADD213PS, to, other, Rm::Reg(c), mask, None);
            } else {
                this.on(v::MOVE, TEMPORARY[0], 0, Rm::Reg(c));
                this.on(v::FMADD231PS, TEMPORARY[0], a, Rm::Reg(b));
                this.asm.vector(v::MOVE, to, 0, Rm::Reg(TEMPORARY[0]), mask, None);
            }
        })
    }

    /// Fields of bits at constant places; others are called.
    fn field(&mut self, inst: &Inst, signed: bool) -> bool {
        let [_, Src::Const(first), Src::Const(count)] = inst.src else {
            return false;
        };
        let (first, count) = (first as u32 & 31, count as u32 & 31);
        self.lanes(inst, [false], Check::Nothing, |this, [a], to, mask| {
            let right = if signed { v::RIGHT_SIGNED } else { v::RIGHT };
            let temporary = TEMPORARY[0];
            if count == 0 {
                this.asm.vector(v::SPLAT, to, 0, Rm::Const(0), mask, None);
            } else if signed {
                // The field goes up to the sign and down again. What is beyond the register is its sign, as well.
                this.asm.vector(v::SHIFT_D, right, temporary, Rm::Reg(a), 0, Some(first as u8));
                let up = (32 - count) as u8;
                this.asm.vector(v::SHIFT_D, v::LEFT, temporary, Rm::Reg(temporary), 0, Some(up));
                this.asm.vector(v::SHIFT_D, right, to, Rm::Reg(temporary), mask, Some(up));
            } else {
                this.asm.vector(v::SHIFT_D, right, temporary, Rm::Reg(a), 0, Some(first as u8));
                this.asm.vector(v::PANDD, to, temporary, Rm::Const((1 << count) - 1), mask, None);
            }
        })
    }

    /// Products of 24 bits.
    fn product24(&mut self, inst: &Inst, adds: bool) -> bool {
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
    fn product_high(&mut self, inst: &Inst, of: Option<u32>) -> bool {
        let [even, odd] = TEMPORARY;
        self.lanes(inst, [false; 2], Check::Nothing, |this, [a, b], to, mask| {
            let (mut a, mut b) = (a, b);
            if let Some(bits) = of {
                this.on(v::PANDD, 5, a, Rm::Const(bits));
                this.on(v::PANDD, 2, b, Rm::Const(bits));
                (a, b) = (5, 2);
            }
            this.products(a, b);
            this.asm.vector(v::SHIFT_Q, v::RIGHT, even, Rm::Reg(even), 0, Some(32));
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
    pub(super) fn odd_lanes(&mut self, mask: Mask) {
        self.asm.constant_to(RAX, 0xaaaa);
        self.asm.mask_of(mask, RAX);
    }

    /// `a * b + c` of 64 bits.
    fn wide_product(&mut self, inst: &Inst) -> bool {
        let carries = usize::from(inst.sdst) != reg::NULL;
        if !self.is_mask(inst.sdst.into()) || !Self::has_plain_sources(inst, 2) {
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
                this.asm.vector(v::SHIFT_Q, v::LEFT, addend, Rm::Reg(d + at), 0, Some(32));
                this.asm.vector(v::PBLENDMD, addend, c + at, Rm::Reg(addend), THIRD, None);
                this.on(v::PADDQ, even, even, Rm::Reg(addend));
                this.asm.vector(v::SHIFT_Q, v::RIGHT, addend, Rm::Reg(c + at), 0, Some(32));
                this.asm.vector(v::PBLENDMD, addend, addend, Rm::Reg(d + at), THIRD, None);
                this.on(v::PADDQ, odd, odd, Rm::Reg(addend));
            }
            this.asm.vector(v::SHIFT_Q, v::LEFT, addend, Rm::Reg(odd), 0, Some(32));
            this.asm.vector(v::PBLENDMD, addend, even, Rm::Reg(addend), THIRD, None);
            this.asm.vector(v::SHIFT_Q, v::RIGHT, upper, Rm::Reg(even), 0, Some(32));
            this.asm.vector(v::PBLENDMD, upper, upper, Rm::Reg(odd), THIRD, None);
            if carries {
                // The sum is less than the addend.
                let less = Some(1);
                if let [Some(c), Some(d)] = c {
                    this.asm.vector(v::PCMPUD, THIRD, upper, Rm::Reg(d + at), mask, less);
                    this.asm.vector(v::PCMPD, to, upper, Rm::Reg(d + at), mask, Some(0));
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
    pub(super) fn source64(&mut self, inst: &Inst, i: usize) -> Option<[Source; 2]> {
        let splat = |first| Source {
            first,
            is_row: false,
            abs: false,
            neg: false,
            own: first,
        };
        let hosts = [2 * i as Zmm, 2 * i as Zmm + 1];
        match inst.src[i] {
            Src::Vgpr(n) => Some([n, n + 1].map(|row| Source {
                is_row: true,
                ..splat(self.held(row))
            })),
            Src::Scalar(n) if n < 127 && usize::from(n) != reg::NULL => {
                for (half, host) in hosts.into_iter().enumerate() {
                    let mem = scalar_register(usize::from(n) + half);
                    self.on(v::SPLAT, host, 0, Rm::Splat(mem));
                }
                Some(hosts.map(splat))
            }
            Src::Const(value) => {
                self.on(v::SPLAT, hosts[0], 0, Rm::Const(value as u32));
                self.on(v::SPLAT, hosts[1], 0, Rm::Const((value >> 32) as u32));
                Some(hosts.map(splat))
            }
            _ => None,
        }
    }

    /// Shifts of 64 bits by a constant below 32.
    fn shift64(&mut self, inst: &Inst, to_left: bool) -> bool {
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
        let (there, back) = if to_left { (v::LEFT, v::RIGHT) } else { (v::RIGHT, v::LEFT) };
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let at = chunk as Zmm;
            self.asm.vector(v::SHIFT_D, there, a, Rm::Reg(from[mixed] + at), 0, Some(by));
            self.asm.vector(v::SHIFT_D, back, b, Rm::Reg(from[plain] + at), 0, Some(32 - by));
            self.asm.vector(v::SHIFT_D, there, 5, Rm::Reg(from[plain] + at), 0, Some(by));
            self.asm.vector(v::PORD, to[mixed] + at, a, Rm::Reg(b), mask, None);
            self.asm.vector(v::MOVE, to[plain] + at, 0, Rm::Reg(5), mask, None);
        }
        self.store_row(inst.dst, to[0]);
        self.store_row(inst.dst + 1, to[1]);
        true
    }

    /// Two registers at once.
    fn move64(&mut self, inst: &Inst) -> bool {
        let Some(from) = self.source64(inst, 0) else { return false };
        let to = [self.held(inst.dst), self.held(inst.dst + 1)];
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let at = chunk as Zmm;
            // Both are read before either is written.
            let [low, high] = from.map(|source| self.chunk(source, chunk));
            self.on(v::MOVE, TEMPORARY[0], 0, Rm::Reg(high));
            self.asm.vector(v::MOVE, to[0] + at, 0, Rm::Reg(low), mask, None);
            self.asm.vector(v::MOVE, to[1] + at, 0, Rm::Reg(TEMPORARY[0]), mask, None);
        }
        self.store_row(inst.dst, to[0]);
        self.store_row(inst.dst + 1, to[1]);
        true
    }

    /// `(a << b) + c` of 64 bits, with a constant below 8.
    fn shift_add64(&mut self, inst: &Inst) -> bool {
        let Src::Const(by) = inst.src[1] else { return false };
        let by = by as u8 & 7;
        let known = |src| matches!(src, Src::Vgpr(_) | Src::Const(_)) || matches!(src, Src::Scalar(n) if usize::from(n) < reg::NULL);
        if !known(inst.src[0]) || !known(inst.src[2]) {
            return false;
        }
        let (Some(a), Some(c)) = (self.source64(inst, 0), self.source64(inst, 2)) else { return false };
        let to = [self.held(inst.dst), self.held(inst.dst + 1)];
        let [low, high] = TEMPORARY;
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let at = chunk as Zmm;
            let [a, b] = a.map(|source| self.chunk(source, chunk));
            let [c, d] = c.map(|source| self.chunk(source, chunk));
            self.asm.vector(v::SHIFT_D, v::RIGHT, 3, Rm::Reg(a), 0, Some(32 - by));
            self.asm.vector(v::SHIFT_D, v::LEFT, high, Rm::Reg(b), 0, Some(by));
            self.asm.vector(v::SHIFT_D, v::LEFT, low, Rm::Reg(a), 0, Some(by));
            self.on(v::PORD, high, high, Rm::Reg(3));
            self.on(v::PADDD, low, low, Rm::Reg(c));
            self.asm.vector(v::PCMPUD, THIRD, low, Rm::Reg(c), 0, Some(1));
            self.on(v::PADDD, high, high, Rm::Reg(d));
            // All ones are one less than zero.
            self.asm.vector(v::PSUBD, high, high, Rm::Const(u32::MAX), THIRD, None);
            self.asm.vector(v::MOVE, to[0] + at, 0, Rm::Reg(low), mask, None);
            self.asm.vector(v::MOVE, to[1] + at, 0, Rm::Reg(high), mask, None);
        }
        self.store_row(inst.dst, to[0]);
        self.store_row(inst.dst + 1, to[1]);
        true
    }

    /// Stores the masks of all chunks, made by `f` one after the other, as lanes of a scalar register.
    fn masks(&mut self, register: usize, mut f: impl FnMut(&mut Self, usize, Mask)) {
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
    fn compare(&mut self, inst: &Inst, op: X, float: bool) -> bool {
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
    fn compare64(&mut self, inst: &Inst, upper: X) -> bool {
        if !self.is_target(inst) {
            return false;
        }
        let Some(a) = self.source64(inst, 0) else { return false };
        let Some(b) = self.source64(inst, 1) else { return false };
        let relations = inst.relations;
        self.masks(inst.dst.into(), |this, chunk, to| {
            let mask = this.exec(chunk);
            let [a, c] = a.map(|source| this.chunk(source, chunk));
            let [b, d] = b.map(|source| this.chunk(source, chunk));
            this.asm.vector(upper, THIRD, c, Rm::Reg(d), mask, Some(predicate(relations & 5)));
            this.asm.vector(v::PCMPD, to, c, Rm::Reg(d), mask, Some(0));
            this.asm.vector(v::PCMPUD, to, a, Rm::Reg(b), to, Some(predicate(relations)));
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
    fn is_target(&self, inst: &Inst) -> bool {
        let register = usize::from(inst.dst);
        self.is_mask(register) && !(inst.writes_exec && register == reg::NULL)
    }

    /// What comes after a comparison that writes EXEC, too.
    fn follow(&mut self, inst: &Inst) {
        if !inst.writes_exec || usize::from(inst.dst) == reg::EXEC {
            return;
        }
        let halves = [RAX, RCX].into_iter().take(self.lanes / 32).enumerate();
        // Both are read before EXEC changes: it may be one of them.
        for (half, register) in halves.clone() {
            self.asm.load(false, register, scalar_register(usize::from(inst.dst) + half));
        }
        for (half, register) in halves {
            self.asm.store(false, scalar_register(reg::EXEC + half), register);
        }
    }

    /// Loads the part of a mask in a scalar register that is a chunk's.
    fn mask_part(&mut self, to: Mask, register: usize, chunk: usize) {
        let mut mem = scalar_register(register);
        mem.disp += 2 * chunk as i32;
        self.asm.load_mask(to, mem);
    }

    /// The scalar register with the mask that is the third source.
    fn mask_source(&self, inst: &Inst) -> Option<usize> {
        match inst.src[2] {
            Src::Scalar(n) if usize::from(n) != reg::NULL && usize::from(n) + self.lanes / 32 <= 128 => Some(n.into()),
            _ => None,
        }
    }

    fn select(&mut self, inst: &Inst) -> bool {
        let Some(register) = self.mask_source(inst).filter(|_| Self::has_plain_sources(inst, 2)) else {
            return false;
        };
        let [a, b] = [0, 1].map(|i| self.source(inst, i, true));
        let place = self.held(inst.dst);
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            self.mask_part(MASKS[0], register, chunk);
            let (a, b) = (self.chunk(a, chunk), self.chunk(b, chunk));
            self.asm.vector(v::PBLENDMD, TEMPORARY[0], a, Rm::Reg(b), MASKS[0], None);
            self.asm.vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(TEMPORARY[0]), mask, None);
        }
        self.store_row(inst.dst, place);
        true
    }

    /// Sums and differences with carries.
    fn carry(&mut self, inst: &Inst, subtracts: bool, swapped: bool, takes: bool) -> bool {
        let taken = if takes { self.mask_source(inst) } else { None };
        let known = (taken.is_some() || !takes) && !inst.clamp && self.is_mask(inst.sdst.into());
        if !known || !Self::has_plain_sources(inst, 2) {
            return false;
        }
        let [a, b] = [0, 1].map(|i| self.source(inst, i, false));
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        let place = self.held(inst.dst);
        let (op, back) = if subtracts { (v::PSUBD, v::PADDD) } else { (v::PADDD, v::PSUBD) };
        // The mask may be where the carries go, and is read to its end before they do.
        if let Some(register) = taken {
            for half in 0..self.lanes / 32 {
                self.asm.load(false, [RAX, RCX][half], scalar_register(register + half));
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
                this.asm.vector(v::PCMPUD, THIRD, x, Rm::Reg(y), mask, Some(below));
                this.asm.or_masks(to, to, THIRD);
                this.asm.vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(with), mask, None);
            } else {
                this.asm.vector(v::MOVE, place + chunk as Zmm, 0, Rm::Reg(sum), mask, None);
            }
        });
        self.store_row(inst.dst, place);
        true
    }

    /// The first active lane of a register.
    fn first_lane(&mut self, inst: &Inst) -> bool {
        let Src::Vgpr(n) = inst.src[0] else { return false };
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

    /// Compiles a vector instruction; `false` when it is none of those that are known here.
    #[rustfmt::skip] // one operation a line
    pub(super) fn vector(&mut self, inst: &Inst) -> bool {
        const LEFT: (X, u8) = (v::PSLLVD, v::LEFT);
        match inst.op {
            Op::MovB32 | Op::AccMov => self.bits1(inst, v::MOVE),
            Op::NotB32 => self.lanes(inst, [false], Check::Nothing, |this, [a], to, mask| {
                this.asm.vector(v::PXORD, to, a, Rm::Const(u32::MAX), mask, None);
            }),
            Op::AddF32 => self.floats2(inst, v::ADDPS, false),
            Op::SubF32 => self.floats2(inst, v::SUBPS, false),
            Op::SubrevF32 => self.floats2(inst, v::SUBPS, true),
            Op::MulF32 => self.floats2(inst, v::MULPS, false),
            Op::MinF32 if !inst.clamp => self.extreme(inst, 4),
            Op::MaxF32 if !inst.clamp => self.extreme(inst, 5),
            Op::FmaF32 => self.fma(inst),
            Op::Max3F32 if !inst.clamp => self.extreme3(inst, 5),
            Op::Min3F32 if !inst.clamp => self.extreme3(inst, 4),
            Op::ExpF32 => self.exp(inst),
            Op::RcpF32 => self.rcp(inst),
            Op::RsqF32 => self.rsq(inst),
            Op::SqrtF32 => self.sqrt(inst),
            Op::DivScaleF32 => self.div_scale(inst),
            Op::DivFmasF32 => self.div_fmas(inst),
            Op::DivFixupF32 => self.div_fixup(inst),
            Op::PkFmaF32 => self.pair(inst, 3),
            Op::PkMulF32 => self.pair(inst, 2),
            Op::PkAddF32 => self.pair(inst, 2),
            Op::CvtF32F16 => self.widen(inst),
            Op::RndneF32 => self.floats1(inst, v::RNDSCALEPS, Some(8)),
            Op::FloorF32 => self.floats1(inst, v::RNDSCALEPS, Some(9)),
            Op::CeilF32 => self.floats1(inst, v::RNDSCALEPS, Some(10)),
            Op::TruncF32 => self.floats1(inst, v::RNDSCALEPS, Some(11)),
            Op::LdexpF32 => self.lanes(inst, [true, false], Check::Result { clamps: inst.clamp }, |this, [a, b], to, mask| {
                this.on(v::CVTDQ2PS, TEMPORARY[1], 0, Rm::Reg(b));
                this.asm.vector(v::SCALEFPS, to, a, Rm::Reg(TEMPORARY[1]), mask, None);
            }),
            Op::CvtF32I32 if !inst.clamp => self.bits1(inst, v::CVTDQ2PS),
            Op::CvtF32U32 if !inst.clamp => self.bits1(inst, v::CVTUDQ2PS),
            Op::CvtI32F32 => self.convert(inst, v::CVTTPS2DQ, SIGN),
            Op::CvtU32F32 => self.convert(inst, v::CVTTPS2UDQ, u32::MAX),
            Op::AddU32 | Op::AddI32 => self.bits2(inst, v::PADDD, false),
            Op::SubU32 | Op::SubI32 => self.bits2(inst, v::PSUBD, false),
            Op::SubrevU32 => self.bits2(inst, v::PSUBD, true),
            Op::MulLoU32 => self.bits2(inst, v::PMULLD, false),
            Op::MulHiU32 => self.product_high(inst, None),
            Op::MulHiU32U24 => self.product_high(inst, Some(0xff_ffff)),
            Op::MulU32U24 => self.product24(inst, false),
            Op::MadU32U24 => self.product24(inst, true),
            Op::MinI32 => self.bits2(inst, v::PMINSD, false),
            Op::MinU32 => self.bits2(inst, v::PMINUD, false),
            Op::MaxI32 => self.bits2(inst, v::PMAXSD, false),
            Op::MaxU32 => self.bits2(inst, v::PMAXUD, false),
            Op::AndB32 => self.bits2(inst, v::PANDD, false),
            Op::OrB32 => self.bits2(inst, v::PORD, false),
            Op::XorB32 => self.bits2(inst, v::PXORD, false),
            Op::XnorB32 => self.lanes(inst, [false; 2], Check::Nothing, |this, [a, b], to, mask| {
                this.on(v::PXORD, TEMPORARY[0], a, Rm::Reg(b));
                this.asm.vector(v::PXORD, to, TEMPORARY[0], Rm::Const(u32::MAX), mask, None);
            }),
            Op::LshlrevB32 => self.shift(inst, LEFT),
            Op::LshrrevB32 => self.shift(inst, (v::PSRLVD, v::RIGHT)),
            Op::AshrrevI32 => self.shift(inst, (v::PSRAVD, v::RIGHT_SIGNED)),
            Op::BfeU32 => self.field(inst, false),
            Op::BfeI32 => self.field(inst, true),
            Op::BfiB32 => self.logic3(inst, 0xca),
            Op::Or3B32 => self.logic3(inst, 0xfe),
            Op::Xor3B32 => self.logic3(inst, 0x96),
            Op::AndOrB32 => self.logic3(inst, 0xea),
            Op::Add3U32 => self.bits3(inst, v::PADDD, v::PADDD),
            Op::XadU32 => self.bits3(inst, v::PXORD, v::PADDD),
            Op::LshlAddU32 => self.shift_then(inst, v::PADDD),
            Op::LshlOrB32 => self.shift_then(inst, v::PORD),
            Op::AddLshlU32 => {
                let by = inst.src[2];
                self.lanes(inst, [false; 3], Check::Nothing, |this, [a, b, c], to, mask| {
                    this.on(v::PADDD, TEMPORARY[0], a, Rm::Reg(b));
                    this.shifted(to, TEMPORARY[0], (by, c), LEFT, mask);
                })
            }
            Op::LshlrevB64 => self.shift64(inst, true),
            Op::LshrrevB64 => self.shift64(inst, false),
            Op::MovB64 => self.move64(inst),
            Op::LshlAddU64 => self.shift_add64(inst),
            Op::MadU64U32 => self.wide_product(inst),
            Op::CmpF32 => self.compare(inst, v::CMPPS, true),
            Op::CmpI32 => self.compare(inst, v::PCMPD, false),
            Op::CmpU32 => self.compare(inst, v::PCMPUD, false),
            Op::CmpI64 => self.compare64(inst, v::PCMPD),
            Op::CmpU64 => self.compare64(inst, v::PCMPUD),
            Op::CndmaskB32 => self.select(inst),
            Op::AddCoU32 => self.carry(inst, false, false, false),
            Op::SubCoU32 => self.carry(inst, true, false, false),
            Op::SubrevCoU32 => self.carry(inst, true, true, false),
            Op::AddCoCiU32 => self.carry(inst, false, false, true),
            Op::SubCoCiU32 => self.carry(inst, true, false, true),
            Op::SubrevCoCiU32 => self.carry(inst, true, true, true),
            Op::ReadFirstLane => self.first_lane(inst),
            _ => false,
        }
    }

    /// The lesser or the greater of two floats: `range` is the immediate of the host's instruction that puts -0 below 0.
    fn extreme(&mut self, inst: &Inst, range: u8) -> bool {
        self.lanes(inst, [true; 2], Check::Sources, |this, [a, b], to, mask| {
            this.asm.vector(v::RANGEPS, to, a, Rm::Reg(b), mask, Some(range));
        })
    }

    /// The same of three.
    fn extreme3(&mut self, inst: &Inst, range: u8) -> bool {
        self.lanes(inst, [true; 3], Check::Sources, |this, [a, b, c], to, mask| {
            this.on_imm(v::RANGEPS, TEMPORARY[0], a, Rm::Reg(b), range);
            this.asm.vector(v::RANGEPS, to, TEMPORARY[0], Rm::Reg(c), mask, Some(range));
        })
    }

    /// A float to an integer; `odd` is what the host answers where the integer has no room for it.
    fn convert(&mut self, inst: &Inst, op: X, odd: u32) -> bool {
        self.lanes(inst, [true], Check::Equals(odd), |this, [a], to, mask| {
            this.asm.vector(op, to, 0, Rm::Reg(a), mask, None);
        })
    }
}

/// What of an instruction the interpreter has to see.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Nothing,
    /// A NaN among the results. They may be clamped, once none is.
    Result { clamps: bool },
    /// A NaN among the sources.
    Sources,
    /// This integer among the results.
    Equals(u32),
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
