//! Tests: the quick ways of matrix products, interpreted and compiled, have the bits of the general one.

use super::host::Portable;
use super::jit::Compiling;
use super::random::Random;
use super::tile::{self, Tiled};
use super::{multiply, run};
use crate::Target;
use crate::isa::Program;
use crate::memory::Memory;
use crate::wave::{Group, Row, Wave};

/// Vector registers of the waves.
const ROWS: usize = 128;
/// Waves an opcode is tried with.
const TRIES: u64 = 60;

impl Random {
    /// A number of a format with so many bits of fraction in so many bits. One of `rare` is an infinity, a NaN, a zero or subnormal, or
    /// as large as can be.
    fn number(&mut self, bits: u32, fraction: u32, rare: u32) -> u32 {
        let sign = self.below(2) << (bits - 1);
        let infinity = (1 << (bits - 1)) - (1 << fraction);
        let part = self.word() & ((1 << fraction) - 1);
        if self.below(rare) == 0 {
            let some = [
                0,
                part,
                part,
                infinity,
                infinity | part,
                infinity - 1,
                1 << fraction,
            ];
            return sign | self.one_of(&some);
        }
        // The exponents around that of one.
        let exponent = (infinity >> fraction) / 2 + self.below(6) - 3;
        sign | exponent << fraction | part
    }

    /// A register's lane: one number, or two of a half each, or bytes.
    fn lane(&mut self, format: u32, rare: u32) -> u32 {
        match format {
            0 => self.number(16, 10, rare) << 16 | self.number(16, 10, rare),
            1 => self.number(16, 7, rare) << 16 | self.number(16, 7, rare),
            2 => self.number(32, 23, rare),
            3 => (0..4).fold(0, |word, _| word << 8 | self.number(8, 3, rare)),
            _ => self.word(),
        }
    }
}

/// The state of a wave before the instruction: C is in single precision, factors are in one format.
fn wave<const W: usize>(random: &mut Random, addend: u32) -> Wave<W> {
    let mut wave = Wave::<W>::new(ROWS);
    let format = random.below(5);
    let rare = random.one_of(&[u32::MAX, 1000, 100, 8]);
    for (n, row) in wave.vgpr.iter_mut().enumerate() {
        let format = if n >= addend as usize { 2 } else { format };
        row.0 = std::array::from_fn(|_| random.lane(format, rare));
    }
    wave
}

fn program(target: Target, lanes: usize, words: [u32; 2], end: u32) -> Option<Program> {
    let code: Vec<u8> = [words[0], words[1], end, end]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    Program::of_text(target, lanes, &code).ok()
}

/// The registers after the program, which is one instruction.
fn after<const W: usize>(program: &Program, wave: &Wave<W>, compiling: Compiling) -> Vec<Row<W>> {
    let memory = Memory::new(0);
    let mut group = Group::new(&memory, compiling);
    let mut wave = wave.clone();
    run(&mut wave, program, &mut group, &mut 100).expect("it goes to its end");
    wave.vgpr
}

/// Tries every opcode that has tiles; gives how many there are.
fn try_all<const W: usize>(target: Target, is_cdna: bool, seed: u64) -> usize {
    let mut random = Random(seed);
    let (prefix, opcodes, end) = if is_cdna {
        (0xd380_0000, 128, 0xbf81_0000)
    } else {
        (0xcc00_0000, 256, 0xbfb0_0000)
    };
    let mut known = Vec::new();
    for op in 0..opcodes {
        for _ in 0..TRIES {
            // Apart from each other, or anywhere.
            let (a, b, c) = (random.below(2) * 16, 32 + random.below(2) * 16, 64);
            let to = random.one_of(&[c, c, 96, a, b, c + 4]);
            let addend = random.one_of(&[256 + c, 256 + c, 128, 242]);
            let broadcast = if is_cdna {
                let blocks = random.below(3);
                let block = random.below(1 << blocks);
                [blocks << 8 | block << 11, random.below(8) << 29]
            } else {
                [0; 2]
            };
            let broadcast = if random.below(3) == 0 { broadcast } else { [0; 2] };
            let words = [
                prefix | op << 16 | to | broadcast[0],
                broadcast[1] | addend << 18 | (256 + b) << 9 | (256 + a),
            ];
            let Some(program) = program(target, W, words, end) else {
                continue;
            };
            let inst = &program.insts()[program.start()];
            let Some(tiled) = Tiled::of(inst, W) else { continue };
            // Of fewer blocks than are named, nothing is known.
            let places = (0..tiled.count() * tiled.depth())
                .map(|i| tiled.factor(0, i / tiled.depth(), i % tiled.depth()));
            if places.into_iter().any(|place| place.group >= W / tile::SIDE) {
                continue;
            }
            if !known.contains(&inst.op) {
                known.push(inst.op);
            }
            let wave = wave::<W>(&mut random, c);
            let mut want = wave.clone();
            assert!(multiply(&mut want, inst).is_ok(), "{}", program.text_at(0));
            let mut portable = wave.clone();
            tile::execute(Portable, &mut portable, tiled);
            let others = [
                ("portable", portable.vgpr),
                ("interpreted", after(&program, &wave, Compiling::Off)),
                ("compiled", after(&program, &wave, Compiling::AtOnce)),
            ];
            for (way, got) in others {
                let apart = want.vgpr.iter().zip(&got).position(|(want, got)| want != got);
                assert_eq!(apart, None, "{way} on {target}: `{}`", program.text_at(0));
            }
        }
    }
    known.len()
}

#[test]
fn every_product_of_rdna_has_the_bits_of_the_general_way() {
    assert_eq!(try_all::<32>(Target::Gfx1100, false, 1), 2);
    assert_eq!(try_all::<64>(Target::Gfx1100, false, 2), 2);
    assert_eq!(try_all::<32>(Target::Gfx1200, false, 3), 6);
    assert_eq!(try_all::<64>(Target::Gfx1200, false, 4), 6);
    assert_eq!(try_all::<32>(Target::Gfx1250, false, 5), 11);
}

#[test]
fn every_product_of_cdna_has_the_bits_of_the_general_way() {
    assert_eq!(try_all::<64>(Target::Gfx90a, true, 6), 16);
    assert_eq!(try_all::<64>(Target::Gfx942, true, 7), 22);
    assert_eq!(try_all::<64>(Target::Gfx950, true, 8), 26);
}
