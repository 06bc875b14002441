//! Tests: compiled code leaves a wave as the interpreter does, whatever the instructions, the registers and the budget.

use super::compile::{compile, is_native};
use super::{Compiling, is_possible};
use crate::Target;
use crate::exec::run;
use crate::fault::FaultKind;
use crate::isa::{Program, Unit};
use crate::memory::Memory;
use crate::wave::{Group, Row, Stop, Wave, reg};

/// Vector and scalar registers that instructions name.
const VGPRS: u32 = 14;
const SGPRS: u32 = 16;
/// Registers that waves have.
const ROWS: usize = 24;
/// The first of those with places in LDS, and of the pairs with addresses; scalar registers with an address, and a distance.
const PLACES: u32 = 14;
const ADDRESSES: u32 = 20;
const BASE: u32 = 20;
const DISTANCE: u32 = 22;
/// Bytes of LDS and of each of two allocations.
const LDS: usize = 4096;
const BYTES: usize = 8192;
/// Instructions of a program.
const LENGTH: usize = 30;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 16) as u32
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.word() % limit
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u32) as usize]
    }

    /// A number of a register: floats of every kind, small integers, any bits.
    fn value(&mut self) -> u32 {
        match self.below(16) {
            0 => self.one_of(&[
                0,
                0x8000_0000,
                0x7f80_0000,
                0xff80_0000,
                0x0000_0001,
                0x807f_ffff,
                0x7f7f_ffff,
                0x3f80_0000,
            ]),
            1 if self.below(4) == 0 => {
                self.one_of(&[0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x7fc1_2345])
            }
            2..=5 => self.below(70).wrapping_sub(5),
            6..=12 => ((self.below(2_000_001) as f32 - 1e6) / 1000.0).to_bits(),
            _ => self.word(),
        }
    }

    /// A source operand of nine bits, or of eight where `scalar`.
    fn source(&mut self, scalar: bool) -> u32 {
        match self.below(12) {
            0 | 1 => self.below(SGPRS),
            2 => self.one_of(&[106, 107, 126, 124]),
            3 => 128 + self.below(81),
            4 => 240 + self.below(8),
            _ if scalar => self.below(SGPRS),
            _ => 256 + self.below(VGPRS),
        }
    }

    fn target(&mut self) -> u32 {
        match self.below(8) {
            0 => 106,
            1 => 124,
            _ => self.below(SGPRS / 2) * 2,
        }
    }

    /// The words of what may be an access to memory.
    fn access(&mut self, cdna: bool) -> Vec<u32> {
        let (to, data, more) = (
            self.below(VGPRS - 3),
            self.below(VGPRS - 3),
            self.below(VGPRS - 3),
        );
        let place = PLACES + self.below(6);
        match self.below(6) {
            0..=2 => {
                let op = if self.below(2) == 0 {
                    self.one_of(&[
                        13, 14, 15, 30, 31, 84, 85, 86, 87, 90, 91, 160, 161, 162, 163, 166, 167, 53, 54, 55,
                        56, 57, 58, 59, 60, 61, 62, 63, 77, 78, 118, 119, 178, 179, 223, 255,
                    ])
                } else {
                    self.below(256)
                };
                let op = if cdna { op << 17 } else { op << 18 };
                let offset = self.one_of(&[0, 0, 16, 0x0100, 0x0403, 0x0201, 0x801f, 0x041f]);
                vec![
                    0xd800_0000 | op | offset,
                    to << 24 | more << 16 | data << 8 | place,
                ]
            }
            3 => {
                let op = self.below(5);
                let (op, to) = if cdna {
                    (0xc002_0000 | op << 18, to / 2)
                } else {
                    (0xf400_0000 | op << 18, to / 2)
                };
                let distance = if self.below(2) == 0 && !cdna {
                    DISTANCE << 25
                } else {
                    124 << 25
                };
                vec![
                    op | (to * 2) << 6 | (BASE / 2),
                    distance | self.one_of(&[0, 4, 64, 1024, 8180]),
                ]
            }
            _ => {
                let op = 16 + self.below(24);
                // Flat addresses have no base, and no high offsets.
                let flat = self.below(3) == 0;
                let none = 124 + u32::from(cdna) * 3;
                let (saddr, address) = if self.below(2) == 0 && !flat {
                    (BASE, place)
                } else {
                    (none, ADDRESSES)
                };
                let offset = if flat {
                    8
                } else {
                    self.one_of(&[0, 0, 8, 32, 0x1ff8])
                };
                let segment = if flat { 0 } else { 2 };
                let space = if cdna { segment << 14 } else { segment << 16 };
                let word = |data: u32| saddr << 16 | data << 8 | address;
                vec![0xdc00_0000 | space | op << 18 | offset, to << 24 | word(data)]
            }
        }
    }

    /// A row of places below `limit`, in one of the patterns that kernels have.
    fn places(&mut self, limit: u32) -> impl Fn(usize) -> u32 + use<> {
        let step = self.one_of(&[0, 4, 4, 8, 16, 16, 12, 20, 2, 1]);
        let first = self.below(limit / 8) * 4;
        let run = self.one_of(&[4, 8, 16, 32, 64]);
        let apart = self.one_of(&[0, 0, 64, 80, 256]);
        let odd = if self.below(4) == 0 { self.below(64) } else { 99 };
        move |lane| {
            let lane = lane as u32;
            first + step * (lane % run) + apart * (lane / run) + if lane == odd { 4 } else { 0 }
        }
    }

    /// The first word of an instruction whose second one says which parts of registers it takes.
    fn instruction_of_parts(&mut self, v: u32) -> u32 {
        let second = self.below(VGPRS) << 9;
        match self.below(3) {
            0 => 0x7e00_00f9 | v << 17 | self.below(80) << 9,
            1 => 0x7c00_00f9 | self.below(256) << 17 | second,
            _ => self.below(64) << 25 | 0xf9 | v << 17 | second,
        }
    }

    /// The words of an instruction of three operands that kernels often have, and chance hardly ever makes.
    fn often(&mut self, cdna: bool) -> Vec<u32> {
        let (to, a, b, c) = (
            self.below(VGPRS),
            self.source(false),
            self.source(false),
            self.source(false),
        );
        let (prefix, op) = if cdna {
            (
                0xd000_0000,
                self.one_of(&[0x28c, 0x28d, 0x289, 0x28a, 0x1ed, 0x1e8, 0x14a]),
            )
        } else {
            (
                0xd400_0000,
                self.one_of(&[0x31f, 0x320, 0x360, 0x361, 0x244, 0x2fe, 0x18a]),
            )
        };
        if self.below(2) == 0 {
            // Both halves of registers, or two of them.
            let (prefix, op) = if cdna {
                (0xd380_0000, self.below(24) + self.below(2) * 0x28)
            } else {
                (0xcc00_0000, self.below(24))
            };
            let select = self.below(8) << 11 | self.below(2) << 14;
            let select = if self.below(2) == 0 { 1 << 14 } else { select };
            let signs = if self.below(4) == 0 {
                self.word() & 0xe000_0700
            } else {
                0
            };
            let high = if self.below(2) == 0 {
                3 << 27
            } else {
                self.below(4) << 27
            };
            return vec![
                prefix | op << 16 | to | select | signs & 0x700,
                c << 18 | b << 9 | a | high | signs & 0xe000_0000,
            ];
        }
        // All lanes; a selection of bytes; a lane by its number.
        let a = if self.below(2) == 0 { 193 } else { a };
        let b = if self.below(2) == 0 {
            128 + self.below(64)
        } else {
            b
        };
        let carry = if self.below(3) == 0 { 106 << 8 } else { 124 << 8 };
        let carry = if matches!(op, 0x1e8 | 0x2fe) { carry } else { 0 };
        vec![prefix | op << 16 | carry | to, c << 18 | b << 9 | a]
    }

    /// The words of what may be an instruction.
    fn instruction(&mut self, target: Target) -> Vec<u32> {
        let cdna = target == Target::Gfx942;
        if self.below(4) == 0 {
            return self.access(cdna);
        }
        let v = 256 + self.below(VGPRS) - 256;
        let (a, b, c) = (self.source(false), self.source(false), self.source(false));
        let (x, y) = (self.source(true), self.source(true));
        match self.below(12) {
            10 => self.often(cdna),
            11 if cdna => {
                // A part of a register, or all of it, and signs; the result is most often all of one.
                let parts = self.below(7) << 16 | self.below(7) << 24 | self.below(2) << 19;
                let to = self.one_of(&[6, 6, 6, 0, 5]) << 8 | self.below(3) << 11;
                let signs = if self.below(3) == 0 {
                    self.word() & 0x3830_2000
                } else {
                    0
                };
                let first = self.instruction_of_parts(v);
                vec![first, parts | to | signs | self.below(VGPRS)]
            }
            0 | 1 => vec![self.below(64) << 25 | v << 17 | self.below(VGPRS) << 9 | a],
            2 => vec![0x7e00_0000 | v << 17 | self.below(256) << 9 | a],
            3 => vec![0x7c00_0000 | self.below(256) << 17 | self.below(VGPRS) << 9 | a],
            4 => vec![0x8000_0000 | self.below(96) << 23 | self.target() << 16 | x << 8 | y],
            5 => vec![0xbe80_0000 | self.target() << 16 | self.below(128) << 8 | x],
            6 => vec![0xbf00_0000 | self.below(32) << 16 | x << 8 | y],
            7 if !cdna => {
                let first =
                    0xc800_0000 | self.below(14) << 22 | self.below(28) << 17 | self.below(VGPRS) << 9 | a;
                vec![
                    first,
                    self.below(VGPRS) << 24 | v << 16 | self.below(VGPRS) << 9 | b,
                ]
            }
            _ => {
                let (prefix, space) = if cdna {
                    (0xd000_0000, 1024)
                } else {
                    (0xd400_0000, 1024)
                };
                let signs = if self.below(3) == 0 {
                    self.below(8) << 29
                } else {
                    0
                };
                let flags = if self.below(4) == 0 {
                    self.below(8) << 8 | self.below(2) << 15
                } else {
                    0
                };
                let op = self.below(space) << 16;
                let to = if self.below(3) == 0 { self.target() } else { v };
                let second = if self.below(4) == 0 {
                    self.target() << 8
                } else {
                    flags
                };
                vec![prefix | op | second | to, signs | c << 18 | b << 9 | a]
            }
        }
    }
}

fn end(target: Target) -> u32 {
    if target == Target::Gfx942 {
        0xbf81_0000
    } else {
        0xbfb0_0000
    }
}

fn program(target: Target, lanes: usize, words: &[u32]) -> Option<Program> {
    let end = [end(target); 2];
    let code: Vec<u8> = words
        .iter()
        .chain(&end)
        .copied()
        .flat_map(u32::to_le_bytes)
        .collect();
    Program::of_text(target, lanes, &code).ok()
}

/// One instruction that is executed from a table, of registers that the waves here have.
fn valid(random: &mut Random, target: Target, lanes: usize) -> Vec<u32> {
    loop {
        let words = random.instruction(target);
        let Some(program) = program(target, lanes, &words) else {
            continue;
        };
        let insts = program.insts();
        let known = insts.iter().all(|inst| match inst.unit {
            Unit::Control(_) | Unit::Memory(_) | Unit::Share(_) | Unit::ScalarMemory(_) => true,
            _ => inst.quick || inst.entangled || inst.parts.is_some(),
        });
        // A literal is not an instruction. Its word may be that of `s_endpgm`.
        let whole = insts
            .last()
            .is_some_and(|last| last.pc as usize == 4 * words.len());
        // Most of what is not compiled is the same function in both.
        let native = is_native(&program);
        if known
            && whole
            && !matches!(insts[0].unit, Unit::Control(_))
            && program.registers() <= ROWS
            && (native || random.below(10) == 0)
        {
            return words;
        }
    }
}

type Outcome = Result<Stop, (usize, Option<usize>, FaultKind)>;

#[derive(Debug, PartialEq)]
struct State<const W: usize> {
    rows: Vec<Row<W>>,
    scalars: Vec<u32>,
    scc: bool,
    pc: usize,
    left: u64,
    lds: Vec<u8>,
    memory: Vec<u8>,
    outcome: Outcome,
}

/// The wave that a seed makes, after a program.
fn after<const W: usize>(program: &Program, seed: u64, budget: u64, compiling: Compiling) -> State<W> {
    let mut random = Random(seed);
    let mut memory = Memory::new(1 << 20);
    let buffers = [(); 2].map(|()| memory.alloc(BYTES as u64).expect("there is room"));
    for buffer in buffers {
        let bytes: Vec<u8> = (0..BYTES / 4)
            .flat_map(|_| random.value().to_le_bytes())
            .collect();
        memory.write(buffer, &bytes).expect("it was allocated");
    }
    let mut group = Group {
        lds: (0..LDS / 4).flat_map(|_| random.value().to_le_bytes()).collect(),
        lds_as_card: false,
        memory: &memory,
        text_address: 0,
        watch: None,
        cover: false,
        tally: None,
        flips: None,
        windows: Vec::new(),
        compiling,
    };
    let mut wave = Wave::<W>::new(ROWS);
    for lane in wave.vgpr.iter_mut().flat_map(|row| &mut row.0) {
        *lane = random.value();
    }
    // Sometimes a few of them, or all, are out of bounds.
    let limit = random.one_of(&[LDS as u32, LDS as u32, LDS as u32, 4 * LDS as u32]);
    for row in &mut wave.vgpr[PLACES as usize..ADDRESSES as usize] {
        let place = random.places(limit);
        row.0 = std::array::from_fn(place);
    }
    let base = buffers[random.below(2) as usize];
    let place = random.places(limit);
    let start = base + u64::from(random.below(2)) * 1024;
    let addresses: [u64; W] = std::array::from_fn(|lane| start + u64::from(place(lane)));
    let pair = ADDRESSES as usize;
    wave.vgpr[pair].0 = addresses.map(|address| address as u32);
    wave.vgpr[pair + 1].0 = addresses.map(|address| (address >> 32) as u32);
    wave.set_sgpr64(BASE as usize, start);
    wave.set_sgpr(DISTANCE as usize, 4 * random.below(300));
    for n in (0..SGPRS as usize).chain([reg::VCC, reg::VCC + 1]) {
        wave.set_sgpr(n, random.value());
    }
    wave.scc = random.below(2) == 0;
    let exec = u64::from(random.word()) << 32 | u64::from(random.word());
    wave.set_exec(random.one_of(&[u64::MAX, u64::MAX, exec, exec & 0xff00_ff00_0f00_ff00, 1 << 13, 0]));
    let mut left = budget;
    let outcome = run(&mut wave, program, &mut group, &mut left);
    let mut bytes = vec![0; 2 * BYTES];
    for (part, buffer) in bytes.chunks_mut(BYTES).zip(buffers) {
        memory.read(buffer, part).expect("it was allocated");
    }
    State {
        rows: wave.vgpr.clone(),
        scalars: wave.sgpr.to_vec(),
        scc: wave.scc,
        pc: wave.pc,
        left,
        lds: group.lds,
        memory: bytes,
        outcome,
    }
}

fn words_of(random: &mut Random, target: Target, lanes: usize) -> Vec<Vec<u32>> {
    (0..LENGTH).map(|_| valid(random, target, lanes)).collect()
}

fn compare<const W: usize>(target: Target, seeds: std::ops::Range<u64>) {
    if !is_possible() {
        return;
    }
    for seed in seeds {
        let mut random = Random(seed);
        let words = words_of(&mut random, target, W);
        let make = || program(target, W, &words.concat()).expect("each of its instructions is one");
        let (interpreted, compiled) = (make(), make());
        for turn in 0..4 {
            let budget = if turn < 2 {
                1000
            } else {
                u64::from(random.below(2 * LENGTH as u32))
            };
            let state = seed << 8 | turn;
            let want = after::<W>(&interpreted, state, budget, Compiling::Off);
            let got = after::<W>(&compiled, state, budget, Compiling::AtOnce);
            if want != got {
                blame::<W>(target, &words, state);
                assert_eq!(want, got, "{target}, seed {seed}, turn {turn}");
            }
        }
        assert!(
            compiled.compiled().code.get().is_some_and(Option::is_some),
            "it was compiled"
        );
    }
}

/// Names the shortest beginning of a program that goes wrong.
#[track_caller]
fn blame<const W: usize>(target: Target, words: &[Vec<u32>], state: u64) {
    for count in 1..=words.len() {
        let make = || program(target, W, &words[..count].concat()).expect("a part of a program is one");
        let (interpreted, compiled) = (make(), make());
        let want = after::<W>(&interpreted, state, 1000, Compiling::Off);
        let got = after::<W>(&compiled, state, 1000, Compiling::AtOnce);
        if want != got {
            let last = words[..count - 1].concat().len() * 4;
            let rows = want.rows.iter().zip(&got.rows).enumerate();
            let apart: Vec<String> = rows
                .flat_map(|(row, (a, b))| {
                    let lanes = a
                        .iter()
                        .zip(b.iter())
                        .enumerate()
                        .filter(|(_, (a, b))| a != b)
                        .take(3);
                    lanes
                        .map(move |(lane, (a, b))| format!("v{row}[{lane}]: {a:#x}, not {b:#x}"))
                        .collect::<Vec<_>>()
                })
                .collect();
            let scalars = want
                .scalars
                .iter()
                .zip(&got.scalars)
                .enumerate()
                .filter(|(_, (a, b))| a != b);
            let scalars: Vec<String> = scalars
                .map(|(n, (a, b))| format!("s{n}: {a:#x}, not {b:#x}"))
                .collect();
            panic!(
                "`{}` is compiled wrong: {apart:?} {scalars:?}, SCC {} {}, {:?}, not {:?}",
                interpreted.text_at(last),
                want.scc,
                got.scc,
                want.outcome,
                got.outcome
            );
        }
    }
}

#[test]
fn random_instructions_do_the_same_compiled_in_waves_of_32() {
    compare::<32>(Target::Gfx1100, 0..1500);
}

#[test]
fn random_instructions_do_the_same_compiled_in_waves_of_64() {
    compare::<64>(Target::Gfx1100, 10_000..10_700);
}

#[test]
fn random_instructions_of_cdna_do_the_same_compiled() {
    compare::<64>(Target::Gfx942, 20_000..20_700);
}

/// A loop that is left when the first lane's sum is large, a branch over registers, and a trap at the end.
const LOOP: [u32; 17] = [
    0xbe80_0083, //        s_mov_b32 s0, 3
    0x7e02_0280, //        v_mov_b32 v1, 0
    0x4a02_0281, // loop:  v_add_nc_u32 v1, 1, v1
    0x0604_0503, //        v_add_f32 v2, v3, v2
    0xbf80_0000, //        s_nop 0
    0xbf80_0001, //        s_nop 1
    0x7c92_0283, //        v_cmp_lt_u32 vcc_lo, 3, v1
    0xbfa4_0003, //        s_cbranch_vccnz over
    0x8080_8100, //        s_sub_u32 s0, s0, 1
    0xd8d8_0000, //        ds_load_b32 v4, v14
    0x0400_000e,
    0x4a0a_0b04, // over:  v_add_nc_u32 v5, v4, v5
    0xbf07_8000, //        s_cmp_lg_u32 s0, 0
    0xbfa2_fff4, //        s_cbranch_scc1 loop
    0xbf90_0002, //        s_trap 2
    0xbfb0_0000, //        s_endpgm
    0xbfb0_0000,
];

#[test]
fn the_watchdog_stops_compiled_loops_at_the_same_instruction() {
    if !is_possible() {
        return;
    }
    let make = || {
        let code: Vec<u8> = LOOP.iter().flat_map(|word| word.to_le_bytes()).collect();
        Program::of_text(Target::Gfx1100, 32, &code).expect("the code is valid")
    };
    let (interpreted, compiled) = (make(), make());
    let mut faults = Vec::new();
    for budget in 0..60 {
        for seed in 0..6 {
            let want = after::<32>(&interpreted, seed, budget, Compiling::Off);
            let got = after::<32>(&compiled, seed, budget, Compiling::AtOnce);
            assert_eq!(want, got, "budget {budget}, seed {seed}");
            faults.extend(want.outcome.err().map(|(_, _, kind)| kind));
        }
    }
    assert!(
        faults.contains(&FaultKind::Trap { id: 2 }),
        "some come to the end"
    );
    assert!(
        faults.contains(&FaultKind::Watchdog { limit: 7 }),
        "and some do not"
    );
}

#[test]
fn a_program_is_compiled_once_it_pays() {
    if !is_possible() {
        return;
    }
    let words = [0x4a02_0281].repeat(50);
    let program = program(Target::Gfx1100, 32, &words).expect("the code is valid");
    let mut runs = 0;
    while program.compiled().code.get().is_none() {
        after::<32>(&program, runs, 1000, Compiling::Off);
        after::<32>(&program, runs, 1000, Compiling::Auto);
        runs += 1;
    }
    // So many instructions are interpreted before that, of those that may be compiled.
    let expected = (super::HEAT.0 * program.insts().len() as u64 + super::HEAT.1) / 51;
    assert!(runs.abs_diff(expected) < 3, "{runs} runs, not {expected}");
}

/// What one instruction is compiled to in the place of another is noticed.
#[test]
fn a_wrong_compilation_is_noticed() {
    if !is_possible() {
        return;
    }
    let pairs: [([u32; 2], [u32; 2]); 5] = [
        ([0x0602_0501, 0xbf80_0000], [0x0802_0501, 0xbf80_0000]), // v_add_f32 v1, v1, v2; v_sub_f32
        ([0xd613_0005, 0x040e_0501], [0xd613_0005, 0x240e_0501]), // v_fma_f32 v5, v1, v2, v3; v_fma_f32 v5, -v1, v2, v3
        ([0x7c22_0501, 0xbf80_0000], [0x7c24_0501, 0xbf80_0000]), // v_cmp_lt_f32 vcc_lo, v1, v2; v_cmp_eq_f32
        ([0x8001_0302, 0xbf80_0000], [0x8081_0302, 0xbf80_0000]), // s_add_u32 s1, s2, s3; s_sub_u32
        ([0x4a02_0501, 0xbf80_0000], [0x4a02_0502, 0xbf80_0000]), // v_add_nc_u32 v1, v1, v2; v_add_nc_u32 v1, v2, v2
    ];
    for (right, wrong) in pairs {
        let make = |words: &[u32]| program(Target::Gfx1100, 32, words).expect("the code is valid");
        let planted = make(&right);
        assert!(
            planted.compiled().code.set(compile(&make(&wrong))).is_ok(),
            "nothing was compiled before"
        );
        let noticed = (0..20).any(|seed| {
            let want = after::<32>(&make(&right), seed, 1000, Compiling::Off);
            assert_eq!(want, after::<32>(&make(&right), seed, 1000, Compiling::AtOnce));
            want != after::<32>(&planted, seed, 1000, Compiling::AtOnce)
        });
        assert!(noticed, "{}", planted.text_at(0));
    }
}
