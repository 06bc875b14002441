//! One wave on bare code: registers in, registers out.
//!
//! For tests and for looking at single instructions. A launch, with its kernel descriptor, arguments and workgroups, is
//! [`crate::launch()`].

use std::any::Any;

use super::jit::Compiling;
use super::run;
use crate::Target;
use crate::fault::{Fault, FaultKind};
use crate::isa::{DecodeError, Program};
use crate::memory::Memory;
use crate::wave::{Group, Stop, Wave};

/// Instructions it may execute.
const BUDGET: u64 = 1_000_000;

/// A wave of `W` lanes, all active, every register zero, in round-to-nearest-even mode with denormals.
#[derive(Debug)]
pub struct WaveProbe<const W: usize> {
    program: Program,
    wave: Wave<W>,
    lds: Vec<u8>,
    lds_as_card: bool,
    compiling: Compiling,
}

/// A wave of 32 lanes, as gfx11 runs them.
pub type Probe = WaveProbe<32>;
/// A wave of 64 lanes, as CDNA runs them, and gfx11 where it is asked to.
pub type Probe64 = WaveProbe<64>;

impl<const W: usize> WaveProbe<W> {
    /// Lanes of the wave.
    pub const LANES: usize = W;

    /// A wave about to execute `code`, which ends with `s_endpgm`. An error when the target has no waves
    /// of that width.
    pub fn new(target: Target, code: &[u8]) -> Result<Self, DecodeError> {
        let program = Program::of_text(target, W, code)?;
        Ok(WaveProbe {
            wave: Wave::new(program.most_registers()),
            program,
            lds: Vec::new(),
            lds_as_card: false,
            compiling: Compiling::Auto,
        })
    }

    /// As [`crate::LaunchOptions::lds_as_card`].
    pub fn lds_as_card(&mut self) {
        self.lds_as_card = true;
    }

    /// As [`crate::LaunchOptions::compiling`].
    pub fn set_compiling(&mut self, compiling: Compiling) {
        self.compiling = compiling;
    }

    /// Gives the wave `bytes` of zeroed LDS.
    pub fn set_lds(&mut self, bytes: usize) {
        self.lds = vec![0; bytes];
    }

    /// Gives every lane `bytes` of zeroed scratch.
    pub fn set_scratch(&mut self, bytes: usize) {
        self.wave.set_scratch(bytes);
    }

    /// Sets one lane of vector register `n` (0..=255; from 256 on the accumulation registers). A register or lane beyond
    /// the wave is ignored.
    pub fn set_vgpr(&mut self, n: u16, lane: usize, value: u32) {
        let row = self.wave.vgpr.get_mut(usize::from(n));
        if let Some(slot) = row.and_then(|row| row.get_mut(lane)) {
            *slot = value;
            self.wave.touched = self.wave.touched.max(n + 1);
        }
    }

    /// One lane of vector register `n`.
    pub fn vgpr(&self, n: u16, lane: usize) -> Option<u32> {
        self.wave.vgpr.get(usize::from(n))?.get(lane).copied()
    }

    /// Sets a scalar register by its operand code: `s0..=s105`, 106 `vcc_lo`, 125 `m0`, 126 `exec_lo`.
    pub fn set_sgpr(&mut self, code: u8, value: u32) {
        self.wave.set_sgpr(usize::from(code & 127), value);
    }

    /// A scalar register by its operand code.
    pub fn sgpr(&self, code: u8) -> u32 {
        self.wave.sgpr[usize::from(code & 127)]
    }

    /// Sets the scalar condition code.
    pub fn set_scc(&mut self, value: bool) {
        self.wave.scc = value;
    }

    /// The scalar condition code.
    pub fn scc(&self) -> bool {
        self.wave.scc
    }

    /// Lanes that are active, one bit a lane.
    pub fn exec(&self) -> u64 {
        self.wave.exec()
    }

    /// Runs to the end; barriers do not hold a single wave up. Gives the number of instructions executed.
    pub fn run(&mut self, memory: &Memory) -> Result<u64, Box<Fault>> {
        let mut group = Group {
            lds: std::mem::take(&mut self.lds),
            lds_as_card: self.lds_as_card,
            ..Group::new(memory, self.compiling)
        };
        let mut budget = BUDGET;
        let outcome = loop {
            match run_here(&mut self.wave, &self.program, &mut group, &mut budget) {
                Ok(Stop::Barrier) => {}
                Ok(Stop::End) => break Ok(BUDGET - budget),
                Err((pc, lane, kind)) => {
                    let instruction = self.program.text_at(pc);
                    break Err(Box::new(Fault {
                        kernel: "probe".into(),
                        pc,
                        instruction,
                        workgroup: [0; 3],
                        wave: 0,
                        lane,
                        work_item: None,
                        source: None,
                        kind,
                    }));
                }
            }
        };
        self.lds = group.lds;
        debug_assert!(
            self.wave.is_clear_from_touched(),
            "an instruction writes registers it does not name"
        );
        outcome
    }
}

/// What [`run`] gives: how the wave stopped, or where and why it could not go on.
type Ran = Result<Stop, (usize, Option<usize>, FaultKind)>;

/// [`run`] for the widths that waves have. Its code is in this crate: as a generic function it, and the whole executor
/// below it, would be compiled once more in every crate that has a probe.
fn run_here(wave: &mut dyn Any, program: &Program, group: &mut Group<'_>, budget: &mut u64) -> Ran {
    if let Some(wave) = wave.downcast_mut::<Wave<32>>() {
        return run(wave, program, group, budget);
    }
    match wave.downcast_mut::<Wave<64>>() {
        Some(wave) => run(wave, program, group, budget),
        None => unreachable!("no program is of waves of another width"),
    }
}
