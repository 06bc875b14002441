//! Tests: executing runs of instructions at once leaves a wave in the same state as executing one instruction at a time.

use crate::Target;
use crate::exec::jit::Compiling;
use crate::fault::FaultKind;
use crate::isa::Program;
use crate::memory::Memory;
use crate::wave::{Group, Row, Stop, Wave};

use super::{double, run};

/// Waits in front of, in and after runs; a loop into the middle of a run and one to its beginning, after waits; both kinds
/// of dual instructions; no active lane, then all but one; a trap.
const CODE: [u32; 27] = [
    0xbe80_0083, //         s_mov_b32 s0, 3
    0xbf89_fc07, //         s_waitcnt lgkmcnt(0)
    0x7e02_0200, //         v_mov_b32 v1, s0
    0xbf87_0001, //         s_delay_alu instid0(VALU_DEP_1)
    0xc910_0701, // loop:   v_dual_add_f32 v2, v1, v3 :: v_dual_mov_b32 v3, v0
    0x0202_0100,
    0xbf80_0000, //         s_nop 0
    0xbf80_0001, //         s_nop 1
    0x4a02_0501, // middle: v_add_nc_u32 v1, v1, v2
    0xca10_0105, //         v_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4
    0x0404_0104,
    0x8080_8100, //         s_sub_u32 s0, s0, 1
    0x7c92_0283, //         v_cmp_lt_u32 vcc_lo, 3, v1
    0xbefe_0080, //         s_mov_b32 exec_lo, 0
    0x7e0c_0200, //         v_mov_b32 v6, s0
    0xbefe_00ff, //         s_mov_b32 exec_lo, 0x7fffffff
    0x7fff_ffff,
    0x4a0e_0d07, //         v_add_nc_u32 v7, v7, v6
    0xbf0d_8000, //         s_bitcmp1_b32 s0, 0
    0xbfa2_fff4, //         s_cbranch_scc1 middle
    0xbf07_8000, //         s_cmp_lg_u32 s0, 0
    0xbfa2_ffee, //         s_cbranch_scc1 loop
    0xbf80_0000, //         s_nop 0
    0xbe81_0087, //         s_mov_b32 s1, 7
    0xbf90_0002, //         s_trap 2
    0xbfb0_0000, //         s_endpgm
    0xbfb0_0000,
];
/// Instructions with the trap: 4 in front of the loop, its 15, its first 13 and those from the middle on, 12, then 3.
const LENGTH: u64 = 47;

type StepsEnd = Result<Option<Stop>, (usize, FaultKind)>;

/// A wave after so many instructions, and what stopped it.
struct Moment {
    wave: Wave<32>,
    left: u64,
    outcome: StepsEnd,
}

impl Moment {
    fn state(&self) -> (usize, &[u32; 128], bool, &[Row<32>], u64, &StepsEnd) {
        let Wave {
            pc, sgpr, scc, vgpr, ..
        } = &self.wave;
        (*pc, sgpr, *scc, vgpr, self.left, &self.outcome)
    }
}

/// The wave after `count` instructions, given all at once or one by one.
fn after(code: &[u32], count: u64, at_once: bool) -> Moment {
    let code: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::of_text(Target::Gfx1100, 32, &code).expect("the code is valid");
    let memory = Memory::new(0);
    let mut group = Group::new(&memory, Compiling::Off);
    let mut wave = Wave::<32>::new(8);
    for (n, lane) in wave.vgpr.iter_mut().flat_map(|row| &mut row.0).enumerate() {
        *lane = (n as f32 / 7.0).to_bits();
    }
    let mut left = count;
    let outcome = if at_once {
        match run(&mut wave, &program, &mut group, &mut left) {
            Ok(stop) => Ok(Some(stop)),
            Err((_, _, FaultKind::Watchdog { .. })) => Ok(None),
            Err((pc, _, kind)) => Err((pc, kind)),
        }
    } else {
        let mut outcome = Ok(None);
        while left > 0 && outcome == Ok(None) {
            let step = double::step(&mut wave, &program, &mut group, &mut left);
            outcome = step.map_err(|(pc, _, kind)| (pc, kind));
        }
        outcome
    };
    Moment { wave, left, outcome }
}

#[test]
fn the_watchdog_stops_a_wave_at_the_same_instruction_whether_it_goes_by_runs_or_by_instructions() {
    for count in 0..LENGTH + 3 {
        let (all, single) = (after(&CODE, count, true), after(&CODE, count, false));
        assert_eq!(all.state(), single.state(), "after {count}");
        let trapped = all.outcome.is_err();
        assert_eq!(trapped, count >= LENGTH, "after {count}: {:?}", all.outcome);
    }
}

#[test]
fn a_trap_behind_a_run_is_found_with_everything_before_it_done() {
    let end = after(&CODE, 1000, true);
    assert_eq!(end.outcome, Err((4 * 24, FaultKind::Trap { id: 2 })));
    assert_eq!((end.wave.sgpr[0], end.wave.sgpr[1]), (0, 7));
    assert_eq!(end.wave.exec(), 0x7fff_ffff);
    // Without an active lane, v6 was never written.
    let start = after(&CODE, 0, true);
    assert_eq!(end.wave.vgpr[6], start.wave.vgpr[6]);
    assert_ne!(end.wave.vgpr[7], start.wave.vgpr[7]);
    assert_eq!(end.wave.vgpr[7][31], start.wave.vgpr[7][31]);
}

#[test]
fn a_loop_without_an_end_stops_when_nothing_is_left() {
    // s_mov_b32 s0, 3; s_nop 0; s_branch to the beginning; s_endpgm
    let code = [0xbe80_0083, 0xbf80_0000, 0xbfa0_fffd, 0xbfb0_0000];
    for count in [0, 1, 2, 3, 1000, 1001] {
        let end = after(&code, count, true);
        assert_eq!((&end.outcome, end.left), (&Ok(None), 0));
        assert_eq!(end.wave.pc, (count % 3) as usize);
    }
}

#[test]
fn a_run_as_long_as_the_program_is_executed_in_parts() {
    // 1000 times s_add_u32 s0, s0, 1, each with a wait after it.
    let mut code = [0x8000_8100, 0xbf80_0000].repeat(1000);
    code.push(0xbfb0_0000);
    let end = after(&code, 10_000, true);
    assert_eq!((end.wave.sgpr[0], end.left), (1000, 10_000 - 2001));
    assert_eq!(end.outcome, Ok(Some(Stop::End)));
}

#[test]
fn a_wave_knows_which_registers_it_may_have_written() {
    let end = after(&CODE, 1000, true);
    assert_eq!(end.wave.touched, 8);
    // Two moves to v1 and v3, then the end.
    let end = after(&[0x7e02_0200, 0x7e06_0200, 0xbfb0_0000], 1000, true);
    assert_eq!((end.wave.touched, end.wave.vgpr.len()), (4, 8));
}
