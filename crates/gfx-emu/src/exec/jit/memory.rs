//! Loads and stores of compiled code: the bounds of all lanes are compared at once, and the code goes to the host's memory itself.
//!
//! What is not within bounds, or not in the allocation where the instruction went the last time, is a call of the interpreter's
//! function, which finds the allocation or the fault.

use super::asm::{Alu, If, Label, MaskRegister, Mem, R15, RAX, RCX, RDX, RSI, Rm, Shift, Zmm, v};
use super::compile::{Beyond, Compiler, scalar_register, state};
use super::native::at;
use crate::isa::{Inst, ScalarAccess, Share, Space, Src, Transfer, Unit};
use crate::wave::reg;

/// Masks for what an instruction computes on its way.
const MASKS: [MaskRegister; 2] = [5, 6];
/// Predicates of integer comparisons.
const UNEQUAL: u8 = 4;
const ABOVE: u8 = 6;

/// Accesses of an instruction: so many dwords a lane, at each of some distances from the lane's place.
pub(super) struct DwordAccess {
    pub(super) words: usize,
    /// The distances, each with the first register.
    pub(super) turns: Vec<(i32, u16)>,
}

impl Compiler<'_> {
    /// Compiles an instruction that goes to memory, exchanges lanes as if it did, or multiplies matrices; `false` when it is none of those that are known here.
    pub(super) fn reach(&mut self, inst: &Inst) -> bool {
        if inst.dpp.is_some() || inst.parts.is_some() || inst.entangled {
            return false;
        }
        match inst.unit {
            Unit::Wmma(_) | Unit::Tiles(_) | Unit::Mfma(_) => self.product(inst),
            Unit::ScalarMemory(ScalarAccess::Load(words @ (1 | 2 | 4 | 8 | 16))) => {
                self.load_scalars(inst, words)
            }
            Unit::Memory(Transfer::Load(words)) => {
                let turns = vec![(0, inst.dst)];
                self.loads(
                    inst,
                    inst.imm,
                    &DwordAccess {
                        words: words.count(),
                        turns,
                    },
                )
            }
            Unit::Memory(Transfer::LoadPart(part)) => self.load_part(inst, part),
            Unit::Memory(Transfer::StorePart { bytes, high }) => self.store_part(inst, bytes, high),
            Unit::Memory(Transfer::Store(words)) => match inst.src[0] {
                Src::Vgpr(n) => self.stores(
                    inst,
                    inst.imm,
                    &DwordAccess {
                        words: words.count(),
                        turns: vec![(0, n)],
                    },
                ),
                _ => false,
            },
            Unit::Share(Share::Load2(words)) => {
                let [first, second] = offsets(inst);
                let turns = vec![(first, inst.dst), (second, inst.dst + words.count() as u16)];
                self.loads(
                    inst,
                    0,
                    &DwordAccess {
                        words: words.count(),
                        turns,
                    },
                )
            }
            Unit::Share(Share::Store2(words)) => match (inst.src[0], inst.src[1]) {
                (Src::Vgpr(a), Src::Vgpr(b)) => {
                    let turns = offsets(inst).into_iter().zip([a, b]).collect();
                    self.stores(
                        inst,
                        0,
                        &DwordAccess {
                            words: words.count(),
                            turns,
                        },
                    )
                }
                _ => false,
            },
            Unit::Share(Share::Bpermute) => self.permute(inst, None),
            Unit::Share(Share::Swizzle) => match swizzled(inst.imm as usize & 0xffff) {
                Some(lanes) => self.permute(inst, Some(lanes)),
                None => false,
            },
            _ => false,
        }
    }

    /// A field of the window of an instruction.
    fn window(inst: &Inst, field: i32) -> Mem {
        Mem {
            base: R15,
            disp: i32::from(inst.place) * at::WINDOW + field,
        }
    }

    pub(super) fn beyond(&mut self, from: Label, rows: Vec<(u16, Zmm)>) {
        let back = self.asm.label();
        self.asm.bind(back);
        self.beyond.push(Beyond {
            from,
            back,
            index: self.index,
            rows,
        });
    }

    /// Consecutive dwords to scalar registers.
    fn load_scalars(&mut self, inst: &Inst, words: u8) -> bool {
        let (base, dst) = (usize::from(inst.base), usize::from(inst.dst));
        let bytes = 4 * i32::from(words);
        if inst.space == Space::Buffer || base >= reg::NULL || dst + usize::from(words) > reg::NULL {
            return false;
        }
        let from = self.asm.label();
        self.asm.load(true, RCX, scalar_register(base));
        if usize::from(inst.soffset) != reg::NULL {
            self.asm.load(false, RAX, scalar_register(inst.soffset.into()));
            self.asm.alu(true, Alu::Add, RCX, RAX);
        }
        self.asm.alu_constant(true, Alu::Add, RCX, inst.imm);
        self.asm.alu_constant(true, Alu::And, RCX, -4);
        self.asm
            .alu_memory(true, Alu::Sub, RCX, Self::window(inst, at::WINDOW_BASE));
        self.asm.load(true, RDX, Self::window(inst, at::WINDOW_BYTES));
        self.asm.alu_constant(true, Alu::Sub, RDX, bytes);
        self.asm.jump_if(If::Below, from);
        self.asm.alu(true, Alu::Cmp, RCX, RDX);
        self.asm.jump_if(If::Above, from);
        self.asm
            .alu_memory(true, Alu::Add, RCX, Self::window(inst, at::WINDOW_WORDS));
        let wide = words > 1;
        for word in (0..i32::from(words)).step_by(if wide { 2 } else { 1 }) {
            self.asm.load(
                wide,
                RAX,
                Mem {
                    base: RCX,
                    disp: 4 * word,
                },
            );
            self.asm.store(wide, scalar_register(dst + word as usize), RAX);
        }
        self.beyond(from, Vec::new());
        true
    }

    /// Compares the places of all lanes, of `bytes` bytes each, with the bounds. After that RSI has a place of the host's, and the first host
    /// registers have each lane's distance from it. `None` where the rule of the addresses is not known here.
    pub(super) fn places(&mut self, inst: &Inst, imm: i32, bytes: i32, from: Label) -> Option<()> {
        let index = inst.address?;
        match inst.space {
            Space::Lds => {
                let imm = i32::from(imm as u16);
                let row = self.held(index);
                self.asm.load(true, RSI, state(at::LDS));
                self.asm.load(true, RCX, state(at::LDS_BYTES));
                self.asm.alu_constant(true, Alu::Sub, RCX, imm + bytes);
                self.asm.jump_if(If::Below, from);
                self.asm.alu_constant(true, Alu::Add, RSI, imm);
                for chunk in 0..self.chunks() as Zmm {
                    self.on(v::MOVE, chunk, 0, Rm::Reg(row + chunk));
                }
            }
            // An address in a window is one of device memory: windows end below the other apertures.
            Space::Global | Space::Flat => {
                let row = self.held(index);
                if usize::from(inst.base) == reg::NULL {
                    self.upper_half(index + 1, from);
                } else if usize::from(inst.base) < reg::NULL {
                    self.asm.load(true, RAX, scalar_register(inst.base.into()));
                } else {
                    return None;
                }
                self.asm.alu_constant(true, Alu::Add, RAX, imm);
                self.bounds(inst, bytes, from);
                self.on(v::SPLAT_GENERAL, 7, 0, Rm::Reg(RDX.0));
                for chunk in 0..self.chunks() as Zmm {
                    self.on(v::PSUBD, chunk, row + chunk, Rm::Reg(7));
                }
            }
            Space::Scratch | Space::Buffer => return None,
        }
        self.on(v::SPLAT_GENERAL, 6, 0, Rm::Reg(RCX.0));
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let place = chunk as Zmm;
            self.asm
                .vector(v::PCMPUD, MASKS[chunk % 2], place, Rm::Reg(6), mask, Some(ABOVE));
            // The patterns are told by a chunk's first lane, which may not be active, and anywhere.
            self.on(v::PMINUD, place, place, Rm::Reg(6));
            if chunk % 2 == 1 {
                self.asm.test_masks(MASKS[0], MASKS[1]);
                self.asm.jump_if(If::NotEqual, from);
            }
        }
        Some(())
    }

    /// The upper half of addresses in RAX, where all active lanes have the same.
    fn upper_half(&mut self, register: u16, from: Label) {
        let row = self.held(register);
        let first = self.memory(register, 0);
        self.asm.load(false, RAX, first);
        self.on(v::SPLAT_GENERAL, 7, 0, Rm::Reg(RAX.0));
        for chunk in 0..self.chunks() {
            let mask = self.exec(chunk);
            let to = MASKS[chunk % 2];
            self.asm
                .vector(v::PCMPD, to, row + chunk as Zmm, Rm::Reg(7), mask, Some(UNEQUAL));
            if chunk % 2 == 1 {
                self.asm.test_masks(MASKS[0], MASKS[1]);
                self.asm.jump_if(If::NotEqual, from);
            }
        }
        self.asm.shift_constant(true, Shift::Left, RAX, 32);
    }

    /// Of the base in RAX, to which each lane adds 32 bits: the least that a lane may add in RDX, how much more it may add in RCX, and where
    /// the least leads in RSI.
    fn bounds(&mut self, inst: &Inst, bytes: i32, from: Label) {
        let asm = &mut self.asm;
        asm.alu_memory(true, Alu::Sub, RAX, Self::window(inst, at::WINDOW_BASE));
        // The most: what is left behind the base, and no more than 32 bits.
        asm.load(true, RCX, Self::window(inst, at::WINDOW_BYTES));
        asm.alu_constant(true, Alu::Sub, RCX, bytes);
        asm.jump_if(If::Below, from);
        // The allocation's size has no sign, so an address half of all memory away makes one of the difference.
        asm.alu(true, Alu::Sub, RCX, RAX);
        asm.jump_if(If::Negative, from);
        asm.constant_to(RSI, u32::MAX.into());
        asm.alu(true, Alu::Cmp, RCX, RSI);
        asm.move_if(true, If::Above, RCX, RSI);
        // The least: the way from the base to the allocation, where that is ahead.
        asm.constant_to(RSI, 0);
        asm.copy(RDX, RAX);
        asm.negate(RDX);
        asm.move_if(true, If::Negative, RDX, RSI);
        asm.alu(true, Alu::Cmp, RDX, RCX);
        asm.jump_if(If::Above, from);
        asm.alu(true, Alu::Sub, RCX, RDX);
        asm.load(true, RSI, Self::window(inst, at::WINDOW_WORDS));
        asm.alu(true, Alu::Add, RSI, RAX);
        asm.alu(true, Alu::Add, RSI, RDX);
    }

    /// Loads of whole dwords.
    fn loads(&mut self, inst: &Inst, imm: i32, access: &DwordAccess) -> bool {
        if access.words == 3 || !is_known(inst) {
            return false;
        }
        let from = self.asm.label();
        if self.places(inst, imm, access.reach(), from).is_none() {
            return false;
        }
        let rows: Vec<(u16, Zmm)> = access.rows().map(|row| (row, self.held(row))).collect();
        for chunk in 0..self.chunks() {
            self.load_chunk(chunk, access, &rows);
        }
        for (row, place) in &rows {
            self.store_row(*row, *place);
        }
        self.beyond(from, rows);
        true
    }

    /// Stores of whole dwords.
    fn stores(&mut self, inst: &Inst, imm: i32, access: &DwordAccess) -> bool {
        if access.words == 3 || !is_known(inst) {
            return false;
        }
        let from = self.asm.label();
        // Before the first way off: there they are held, too.
        let rows: Vec<(u16, Zmm)> = access.rows().map(|row| (row, self.held(row))).collect();
        if self.places(inst, imm, access.reach(), from).is_none() {
            return false;
        }
        if access.words > 1 {
            // Words of several lanes may meet at one place, where the order of the lanes decides. They are stored word by word, which makes no
            // difference where two lanes have all words in common or none.
            for chunk in 0..self.chunks() {
                self.unless_aligned(chunk, access.words, from);
            }
        }
        // All lanes of one turn before the next, as the interpreter stores them.
        for ((distance, _), rows) in access.turns.iter().zip(rows.chunks(access.words)) {
            for chunk in 0..self.chunks() {
                let places: Vec<Zmm> = rows.iter().map(|(_, place)| place + chunk as Zmm).collect();
                self.store_chunk(chunk, *distance, &places);
            }
        }
        self.beyond(from, Vec::new());
        true
    }

    /// Each lane takes the value of a lane of its half of the wave: of one that it names, or of one in `lanes`. A lane that is not active
    /// gives zero.
    fn permute(&mut self, inst: &Inst, lanes: Option<[u32; 32]>) -> bool {
        let Some(address) = inst.address else {
            return false;
        };
        let data = match (inst.src[0], lanes) {
            // The pattern is in the instruction, and the data where the lane's name would be.
            (_, Some(_)) => address,
            (Src::Vgpr(n), None) => n,
            _ => return false,
        };
        let (names, data) = (self.held(address), self.held(data));
        // The cards of the other family permute whole waves.
        if lanes.is_none() && self.lanes > 32 && !inst.isa.is_rdna() {
            return self.permute_all(inst, names, data);
        }
        let place = self.held(inst.dst);
        for half in (0..self.chunks()).step_by(2) {
            for i in 0..2 {
                let (to, mask) = (4 + i as Zmm, self.exec(half + i));
                self.on(v::PXORD, to, to, Rm::Reg(to));
                self.asm
                    .vector(v::MOVE, to, 0, Rm::Reg(data + (half + i) as Zmm), mask, None);
            }
            for i in 0..2 {
                let (mask, name) = (self.exec(half + i), i as Zmm);
                match lanes {
                    Some(lanes) => {
                        let row = std::array::from_fn(|lane| lanes[16 * i + lane]);
                        self.on(v::LOAD, name, 0, Rm::Row(row));
                    }
                    None => {
                        let imm = Rm::Const(inst.imm as u32);
                        self.on(v::PADDD, name, names + (half + i) as Zmm, imm);
                        self.asm
                            .vector(v::SHIFT_D, v::RIGHT, name, Rm::Reg(name), 0, Some(2));
                    }
                }
                self.on(v::PERMI2D, name, 4, Rm::Reg(5));
                let to = place + (half + i) as Zmm;
                self.asm.vector(v::MOVE, to, 0, Rm::Reg(name), mask, None);
            }
        }
        self.store_row(inst.dst, place);
        true
    }
}

impl Compiler<'_> {
    /// The same of a wave of 64 lanes, any of which a lane may name.
    fn permute_all(&mut self, inst: &Inst, names: Zmm, data: Zmm) -> bool {
        let place = self.held(inst.dst);
        let [low, high, name] = [0, 1, 2];
        for chunk in 0..4 {
            let (to, mask) = (4 + chunk as Zmm, self.exec(chunk));
            self.on(v::PXORD, to, to, Rm::Reg(to));
            self.asm
                .vector(v::MOVE, to, 0, Rm::Reg(data + chunk as Zmm), mask, None);
        }
        for chunk in 0..4 {
            let (at, mask) = (chunk as Zmm, self.exec(chunk));
            self.on(v::PADDD, name, names + at, Rm::Const(inst.imm as u32));
            self.asm
                .vector(v::SHIFT_D, v::RIGHT, name, Rm::Reg(name), 0, Some(2));
            // Five bits of the name count, of each half of the wave.
            for (half, to) in [(4, low), (6, high)] {
                self.on(v::MOVE, to, 0, Rm::Reg(name));
                self.on(v::PERMI2D, to, half, Rm::Reg(half + 1));
            }
            self.on(v::PTESTMD, MASKS[0], name, Rm::Const(32));
            self.asm.vector(v::MOVE, low, 0, Rm::Reg(high), MASKS[0], None);
            self.asm.vector(v::MOVE, place + at, 0, Rm::Reg(low), mask, None);
        }
        self.store_row(inst.dst, place);
        true
    }
}

impl DwordAccess {
    /// Bytes from a lane's place to the end of what it accesses.
    fn reach(&self) -> i32 {
        let last = self.turns.iter().map(|(distance, _)| *distance).max();
        last.unwrap_or(0) + 4 * self.words as i32
    }

    /// The registers.
    fn rows(&self) -> impl Iterator<Item = u16> {
        let words = self.words as u16;
        self.turns
            .iter()
            .flat_map(move |(_, first)| *first..*first + words)
    }
}

/// Whether an access is one by the usual rules.
pub(super) fn is_known(inst: &Inst) -> bool {
    matches!(inst.space, Space::Lds | Space::Global | Space::Flat) && inst.address.is_some()
}

/// The two distances of an instruction of the data share, in bytes.
fn offsets(inst: &Inst) -> [i32; 2] {
    [inst.imm & 0xffff, inst.imm >> 16 & 0xffff].map(|offset| 4 * offset)
}

/// The lane that each lane of 32 reads under a pattern; `None` for those of the FFT.
fn swizzled(pattern: usize) -> Option<[u32; 32]> {
    let (low, middle, high) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    let from = |lane: usize| match pattern {
        0xc000.. => {
            let by = if high & 1 != 0 { 32 - middle } else { middle };
            lane & low | (lane + by) & 31 & !low
        }
        0x8000.. => lane & !3 | pattern >> (2 * (lane & 3)) & 3,
        _ => (lane & low | middle) ^ high,
    };
    (pattern < 0xe000).then(|| std::array::from_fn(|lane| from(lane) as u32))
}

/// A place of the host's, so far from a lane's.
pub(super) fn at_place(disp: i32) -> Mem {
    Mem { base: RAX, disp }
}
