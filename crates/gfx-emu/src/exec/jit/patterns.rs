//! Sixteen lanes at their places in memory: one after the other, all at one, or each somewhere.

use super::asm::{Alu, If, Label, MaskRegister, RAX, RCX, RSI, Rm, Zmm, v};
use super::compile::{Compiler, state};
use super::memory::{DwordAccess, at_place};
use super::native::at;

const MASK: MaskRegister = 5;
const OTHER: MaskRegister = 6;
const UNEQUAL: u8 = 4;
/// Host registers for what is loaded, and for what it is put together in.
const PARTS: [Zmm; 4] = [4, 5, 6, 7];

/// For each lane, of which of 32 lanes in two registers it takes its word.
fn row(from: impl Fn(usize) -> usize) -> Rm {
    Rm::Row(std::array::from_fn(|lane| from(lane) as u32 & 31))
}

impl Compiler<'_> {
    /// Goes to `other` unless the lanes of a chunk are so many bytes apart.
    pub(super) fn unless_apart(&mut self, chunk: usize, bytes: u32, other: Label) {
        let (place, line) = (chunk as Zmm, 7);
        let mask = self.exec(chunk);
        self.on(v::SPLAT_FIRST, line, 0, Rm::Reg(place));
        if bytes > 0 {
            let steps = std::array::from_fn(|lane| bytes * lane as u32);
            self.on(v::PADDD, line, line, Rm::Row(steps));
        }
        self.asm
            .vector(v::PCMPD, MASK, place, Rm::Reg(line), mask, Some(UNEQUAL));
        self.asm.test_masks(MASK, MASK);
        self.asm.jump_if(If::NotEqual, other);
    }

    /// Goes to `other` unless a chunk's lanes follow each other and all are active.
    fn unless_row(&mut self, chunk: usize, other: Label) {
        self.unless_apart(chunk, 4, other);
        self.unless_all(chunk, other);
    }

    /// Goes to `other` unless all lanes of a chunk are active, and those that fill a host register with their words follow each other.
    /// Their places are put aside.
    fn unless_parts(&mut self, chunk: usize, words: usize, other: Label) {
        let (place, line) = (chunk as Zmm, 7);
        let lanes = 16 / words;
        self.on(v::LOAD, line, 0, row(|lane| lane / lanes * lanes));
        self.on(v::PERMI2D, line, place, Rm::Reg(place));
        let steps = std::array::from_fn(|lane| (4 * words * (lane % lanes)) as u32);
        self.on(v::PADDD, line, line, Rm::Row(steps));
        self.asm
            .vector(v::PCMPD, MASK, place, Rm::Reg(line), 0, Some(UNEQUAL));
        self.asm.test_masks(MASK, MASK);
        self.asm.jump_if(If::NotEqual, other);
        self.unless_all(chunk, other);
        self.on(v::STORE, place, 0, Rm::Full(state(at::LINES)));
    }

    /// Goes to `other` unless the active lanes' places are whole accesses of so many words apart, or the same.
    pub(super) fn unless_aligned(&mut self, chunk: usize, words: usize, other: Label) {
        let (place, apart) = (chunk as Zmm, 7);
        let mask = self.exec(chunk);
        self.on(v::SPLAT_FIRST, apart, 0, Rm::Reg(place));
        self.on(v::PXORD, apart, apart, Rm::Reg(place));
        let rest = Rm::Const(4 * words as u32 - 1);
        self.asm.vector(v::PTESTMD, MASK, apart, rest, mask, None);
        self.asm.test_masks(MASK, MASK);
        self.asm.jump_if(If::NotEqual, other);
    }

    /// Where the lanes of a part go that were put aside, in RAX.
    fn part_place(&mut self, part: usize, words: usize) {
        let lane = part * 16 / words;
        self.asm.load(false, RAX, state(at::LINES + 4 * lane as i32));
        self.asm.alu(true, Alu::Add, RAX, RSI);
    }

    /// Goes to `other` unless all lanes of a chunk are active.
    pub(super) fn unless_all(&mut self, chunk: usize, other: Label) {
        let mask = self.exec(chunk);
        self.asm.test_masks(mask, mask);
        // The carry tells that all bits are set.
        self.asm.jump_if(If::AboveOrEqual, other);
    }

    /// Where the first lane goes, in RAX.
    pub(super) fn first_place(&mut self, chunk: usize) {
        self.asm.first_lane(RAX, chunk as Zmm);
        self.asm.alu(true, Alu::Add, RAX, RSI);
    }

    /// Loads a chunk of all rows.
    pub(super) fn load_chunk(&mut self, chunk: usize, access: &DwordAccess, rows: &[(u16, Zmm)]) {
        let words = access.words;
        let [apart, scattered, done] = [(); 3].map(|()| self.asm.label());
        let mask = self.exec(chunk);
        let places: Vec<Zmm> = rows.iter().map(|(_, place)| place + chunk as Zmm).collect();
        let turns: Vec<(i32, &[Zmm])> = access
            .turns
            .iter()
            .map(|(distance, _)| *distance)
            .zip(places.chunks(words))
            .collect();
        self.first_place(chunk);
        if words == 1 {
            self.unless_apart(chunk, 4, apart);
            for (distance, places) in &turns {
                self.asm
                    .vector(v::LOAD, places[0], 0, Rm::Full(at_place(*distance)), mask, None);
            }
        } else {
            self.unless_parts(chunk, words, apart);
            for (distance, places) in &turns {
                self.load_row_of(*distance, places, chunk as Zmm);
            }
        }
        self.asm.jump(done);
        self.asm.bind(apart);
        self.unless_apart(chunk, 0, scattered);
        for (distance, places) in &turns {
            for (word, place) in places.iter().enumerate() {
                let from = Rm::Splat(at_place(distance + 4 * word as i32));
                self.asm.vector(v::SPLAT, *place, 0, from, mask, None);
            }
        }
        self.asm.jump(done);
        self.asm.bind(scattered);
        if words == 4 {
            let some = self.asm.label();
            self.unless_all(chunk, some);
            self.load_quads(&places, chunk as Zmm);
            self.asm.jump(done);
            self.asm.bind(some);
        }
        for (distance, places) in &turns {
            for (word, place) in places.iter().enumerate() {
                self.asm.or_masks(OTHER, mask, mask);
                let disp = distance + 4 * word as i32;
                self.asm
                    .lanes_memory(false, *place, (RSI, chunk as Zmm), disp, OTHER);
            }
        }
        self.asm.bind(done);
    }

    /// Sixteen lanes of two or four dwords whose parts follow each other. `free` is a register for the way.
    fn load_row_of(&mut self, distance: i32, places: &[Zmm], free: Zmm) {
        let words = places.len();
        for (part, to) in PARTS.into_iter().take(words).enumerate() {
            self.part_place(part, words);
            self.on(v::LOAD, to, 0, Rm::Full(at_place(distance)));
        }
        self.words_of_parts(places, free);
    }

    /// Four dwords of each of sixteen lanes, wherever they are: sooner done than four times a dword of each.
    fn load_quads(&mut self, places: &[Zmm], free: Zmm) {
        const MASKS: [MaskRegister; 3] = [5, 6, 7];
        self.on(v::STORE, free, 0, Rm::Full(state(at::LINES)));
        for (i, mask) in MASKS.into_iter().enumerate() {
            self.asm.constant_to(RCX, 0xf0 << (4 * i));
            self.asm.mask_of(mask, RCX);
        }
        for (part, to) in PARTS.into_iter().enumerate() {
            for (i, mask) in [0].into_iter().chain(MASKS).enumerate() {
                self.part_place(4 * part + i, 16);
                self.asm
                    .vector(v::SPLAT_QUAD, to, 0, Rm::Full(at_place(0)), mask, None);
            }
        }
        self.words_of_parts(places, free);
    }

    /// The words of sixteen lanes, a row each, of the parts that hold all words of some lanes.
    fn words_of_parts(&mut self, places: &[Zmm], free: Zmm) {
        let words = places.len();
        for (word, place) in places.iter().enumerate() {
            self.on(v::LOAD, *place, 0, row(|lane| words * lane + word));
            self.on(v::PERMI2D, *place, PARTS[0], Rm::Reg(PARTS[1]));
            if words == 4 {
                // The first two registers hold the lower eight lanes, the others the upper ones.
                self.on(v::LOAD, free, 0, row(|lane| words * (lane & 7) + word));
                self.on(v::PERMI2D, free, PARTS[2], Rm::Reg(PARTS[3]));
                self.asm.constant_to(RCX, 0xff00);
                self.asm.mask_of(OTHER, RCX);
                self.asm.vector(v::MOVE, *place, 0, Rm::Reg(free), OTHER, None);
            }
        }
    }

    /// Stores a chunk of rows, at a distance from the lanes' places.
    pub(super) fn store_chunk(&mut self, chunk: usize, distance: i32, places: &[Zmm]) {
        let [apart, done] = [(); 2].map(|()| self.asm.label());
        if let [place] = places {
            self.first_place(chunk);
            self.unless_row(chunk, apart);
            self.on(v::STORE, *place, 0, Rm::Full(at_place(distance)));
        } else {
            self.unless_parts(chunk, places.len(), apart);
            self.store_row_of(distance, places);
        }
        self.asm.jump(done);
        self.asm.bind(apart);
        let mask = self.exec(chunk);
        self.asm.test_masks(mask, mask);
        self.asm.jump_if(If::Equal, done);
        for (word, place) in places.iter().enumerate() {
            self.asm.or_masks(OTHER, mask, mask);
            let disp = distance + 4 * word as i32;
            self.asm
                .lanes_memory(true, *place, (RSI, chunk as Zmm), disp, OTHER);
        }
        self.asm.bind(done);
    }

    /// Two or four dwords of sixteen lanes whose parts follow each other.
    fn store_row_of(&mut self, distance: i32, places: &[Zmm]) {
        let words = places.len();
        let lanes = 16 / words;
        for part in 0..words {
            let word = |lane: usize| lane % words;
            let from = |lane: usize| part * lanes + lane / words;
            let [a, b] = [PARTS[0], PARTS[1]];
            self.on(v::LOAD, a, 0, row(|lane| from(lane) + 16 * (word(lane) & 1)));
            if words == 4 {
                self.on(v::MOVE, b, 0, Rm::Reg(a));
                self.on(v::PERMI2D, b, places[2], Rm::Reg(places[3]));
            }
            self.on(v::PERMI2D, a, places[0], Rm::Reg(places[1]));
            if words == 4 {
                self.asm.constant_to(RCX, 0xcccc);
                self.asm.mask_of(OTHER, RCX);
                self.asm.vector(v::MOVE, a, 0, Rm::Reg(b), OTHER, None);
            }
            self.part_place(part, words);
            self.on(v::STORE, a, 0, Rm::Full(at_place(distance)));
        }
    }
}
