//! Tests: compiled code leaves a wave as the interpreter does, whatever the instructions, the registers and the budget.

use super::compile::{compile, is_native};
use super::draw::{ADDRESSES, BASE, BYTES, DISTANCE, LDS, LENGTH, PLACES, ROWS, SGPRS};
use super::{Compiling, is_possible};
use crate::Target;
use crate::exec::{random::Random, run};
use crate::fault::FaultKind;
use crate::isa::{Program, Unit};
use crate::memory::Memory;
use crate::wave::{Group, Row, Stop, Wave, reg};

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

type RunEnd = Result<Stop, (usize, Option<usize>, FaultKind)>;

#[derive(Debug, PartialEq)]
struct WaveState<const W: usize> {
    rows: Vec<Row<W>>,
    scalars: Vec<u32>,
    scc: bool,
    pc: usize,
    left: u64,
    lds: Vec<u8>,
    memory: Vec<u8>,
    outcome: RunEnd,
}

/// The wave that a seed makes, after a program.
fn after<const W: usize>(program: &Program, seed: u64, budget: u64, compiling: Compiling) -> WaveState<W> {
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
        ..Group::new(&memory, compiling)
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
    WaveState {
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
