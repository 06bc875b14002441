//! Vector instructions as instructions of AVX-512: a chunk of sixteen lanes at a time, under EXEC as a mask.

use super::asm::{If, Label, MaskRegister, Mem, Opcode as X, R12, Rm, Zmm, v};
use super::compile::{Compiler, Rarely};
use crate::isa::{Inst, Op, Src};

/// Masks for what an instruction computes on its way.
pub(super) const MASKS: [MaskRegister; 2] = [5, 6];
pub(super) const THIRD: MaskRegister = 7;
/// Host registers for the same.
pub(super) const TEMPORARY: [Zmm; 2] = [6, 7];
/// Predicates of comparisons.
pub(super) const UNORDERED: u8 = 3;
pub(super) const SIGN: u32 = 0x8000_0000;

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
        // Whoever runs the code has as many rows as the program names.
        self.strays |= usize::from(row) >= self.program.registers();
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
    pub(super) fn exec(&mut self, chunk: usize) -> MaskRegister {
        if !self.has_exec {
            self.load_exec();
        }
        1 + chunk as MaskRegister
    }

    /// Goes to the interpreter's function for this instruction where one of the masks is not empty. What the instruction computed so far is
    /// forgotten, since nothing was stored.
    pub(super) fn rarely_if(&mut self, a: MaskRegister, b: MaskRegister, rare: &mut Option<Label>) {
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
            let rows = [rows, late].concat();
            if self.program.insts()[self.index].parts.is_some() {
                // The table's functions know no parts.
                return self.beyond(from, rows);
            }
            let back = self.asm.label();
            self.asm.bind(back);
            self.rarely.push(Rarely {
                from,
                back,
                index: self.index as u32,
                rows,
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
        f: impl FnMut(&mut Self, [Zmm; N], Zmm, MaskRegister),
    ) -> bool {
        self.lanes_or(inst, floats, checks, None, f)
    }

    /// The same, with a place from where code may have gone to the interpreter's function already.
    pub(super) fn lanes_or<const N: usize>(
        &mut self,
        inst: &Inst,
        floats: [bool; N],
        checks: Check,
        mut rare: Option<Label>,
        mut f: impl FnMut(&mut Self, [Zmm; N], Zmm, MaskRegister),
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
                self.asm.vector(
                    v::CMPPS,
                    seen,
                    chunks[0],
                    Rm::Reg(chunks[N - 1]),
                    mask,
                    Some(UNORDERED),
                );
                if N > 2 {
                    self.asm.vector(
                        v::CMPPS,
                        THIRD,
                        chunks[1],
                        Rm::Reg(chunks[1]),
                        mask,
                        Some(UNORDERED),
                    );
                    self.asm.or_masks(seen, seen, THIRD);
                }
            }
            f(self, chunks, to_now, mask_now);
            match checks {
                Check::Nothing | Check::Sources => {}
                Check::Result { .. } => {
                    self.asm
                        .vector(v::CMPPS, seen, to_now, Rm::Reg(to_now), mask, Some(UNORDERED));
                }
                Check::Equals(value) => {
                    self.asm
                        .vector(v::PCMPD, seen, to_now, Rm::Const(value), mask, Some(0));
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
    fn shifted(
        &mut self,
        to: Zmm,
        from: Zmm,
        by: (Src, Zmm),
        (variable, constant): (X, u8),
        mask: MaskRegister,
    ) {
        if let Src::Const(amount) = by.0 {
            let amount = amount as u8 & 31;
            // The destination is where others have a source.
            self.asm
                .vector(v::SHIFT_D, constant, to, Rm::Reg(from), mask, Some(amount));
        } else {
            self.on(v::PANDD, TEMPORARY[1], by.1, Rm::Const(31));
            self.asm
                .vector(variable, to, from, Rm::Reg(TEMPORARY[1]), mask, None);
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
                this.asm
                    .vector(v::SHIFT_D, right, temporary, Rm::Reg(a), 0, Some(first as u8));
                let up = (32 - count) as u8;
                this.asm
                    .vector(v::SHIFT_D, v::LEFT, temporary, Rm::Reg(temporary), 0, Some(up));
                this.asm
                    .vector(v::SHIFT_D, right, to, Rm::Reg(temporary), mask, Some(up));
            } else {
                this.asm
                    .vector(v::SHIFT_D, right, temporary, Rm::Reg(a), 0, Some(first as u8));
                this.asm
                    .vector(v::PANDD, to, temporary, Rm::Const((1 << count) - 1), mask, None);
            }
        })
    }

    /// Compiles a vector instruction; `false` when it is not one of those that are known here.
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
            Op::CvtF16F32 => self.narrow(inst),
            Op::PkAddF16 | Op::PkMulF16 => self.halves::<2>(inst),
            Op::PkFmaF16 => self.halves::<3>(inst),
            Op::PermB32 => self.bytes(inst),
            Op::AddF64 => self.doubles::<2>(inst, v::ADDPD),
            Op::MulF64 => self.doubles::<2>(inst, v::MULPD),
            Op::FmaF64 => self.doubles::<3>(inst, v::FMADD231PD),
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
            Op::ReadLane => self.read_lane(inst),
            Op::WriteLane => self.write_lane(inst),
            Op::MbcntLo => self.lanes_below(inst, 0),
            Op::MbcntHi => self.lanes_below(inst, 32),
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
            this.asm
                .vector(v::RANGEPS, to, TEMPORARY[0], Rm::Reg(c), mask, Some(range));
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
    Result {
        clamps: bool,
    },
    /// A NaN among the sources.
    Sources,
    /// This integer among the results.
    Equals(u32),
}
