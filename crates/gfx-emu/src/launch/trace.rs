//! A launch of one workgroup of which one wave tells every instruction it executes and what that changed.
//!
//! For looking at kernels. It is slow: the registers are compared after each instruction. What a launch does is
//! unchanged; the other workgroups do not run.

use std::collections::BTreeMap;

use super::{
    Advanced, Dispatch, Launch, LaunchError, LaunchOptions, LaunchStats, Setup, WorkgroupState, check,
    decoded, located, slot,
};
use crate::code::CodeObject;
use crate::fault::FaultKind;
use crate::isa::Program;
use crate::memory::Memory;
use crate::wave::{Group, Wave, reg};

/// One executed instruction of the traced wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Byte offset of the instruction from the kernel's first one.
    pub pc: usize,
    /// The instruction in assembly text.
    pub text: String,
    /// Lanes that were active, one bit a lane.
    pub exec: u64,
    /// Scalar registers that have another value now, by name; `scc` is 0 or 1.
    pub scalars: Vec<(String, u32)>,
    /// Vector registers that have another value in some lanes, by number (256 and up: accumulation registers): the lanes
    /// and their new values.
    pub vectors: BTreeMap<usize, Vec<(usize, u32)>>,
}

/// Which wave of a launch tells what it does, and to whom.
pub struct Trace<'a> {
    /// The workgroup that runs.
    pub workgroup: [u32; 3],
    /// The wave within it.
    pub wave: usize,
    /// Gets each instruction after it was executed; one that faults comes with nothing changed.
    pub visit: &'a mut dyn FnMut(Step),
}

impl std::fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace")
            .field("workgroup", &self.workgroup)
            .field("wave", &self.wave)
            .finish_non_exhaustive()
    }
}

/// Runs the one workgroup and shows each instruction of the one wave. A workgroup or wave that the launch does not have is
/// refused as [`LaunchError::Unsupported`].
pub fn trace(
    code: &CodeObject,
    dispatch: &Dispatch<'_>,
    memory: &Memory,
    options: &LaunchOptions,
    trace: Trace<'_>,
) -> Result<LaunchStats, LaunchError> {
    let kernel = dispatch.kernel;
    check(code.target(), dispatch)?;
    let program = decoded(code, kernel)?;
    let slot = memory.slot().ok_or_else(|| LaunchError::Busy {
        kernel: kernel.name.clone(),
    })?;
    slot::write(dispatch, memory, &slot);
    let setup = Setup::of_slot(dispatch, &slot);
    if !options.sanitize {
        memory.trust();
    }
    let result = match kernel.descriptor.wavefront_size() {
        32 => traced(
            &Launch::<32>::new(dispatch, &setup, program, memory, options),
            trace,
        ),
        _ => traced(
            &Launch::<64>::new(dispatch, &setup, program, memory, options),
            trace,
        ),
    };
    result.map_err(|error| located(error, code, kernel))
}

fn traced<const W: usize>(run: &Launch<'_, W>, trace: Trace<'_>) -> Result<LaunchStats, LaunchError> {
    let inside = trace
        .workgroup
        .iter()
        .zip(run.dispatch.grid)
        .all(|(id, size)| *id < size);
    if !inside || trace.wave >= run.waves() {
        return Err(LaunchError::Unsupported {
            kernel: run.dispatch.kernel.name.clone(),
            what: format!(
                "wave {} of workgroup {:?}; it has {} waves a workgroup and {:?} workgroups",
                trace.wave,
                trace.workgroup,
                run.waves(),
                run.dispatch.grid
            ),
        });
    }
    let Trace {
        workgroup,
        wave: watched,
        visit,
    } = trace;
    let mut doubles = vec![None; run.waves()];
    let executed = run.schedule(
        &mut WorkgroupState::default(),
        workgroup,
        |index, wave, group, budget| {
            let double = &mut doubles[index];
            if index != watched {
                return run.advance(Some(double), wave, group, budget);
            }
            steps(wave, run.program, group, budget, visit, |wave, group, budget| {
                run.advance(Some(double), wave, group, budget)
            })
        },
    );
    Ok(LaunchStats {
        waves: run.waves() as u64,
        instructions: executed?,
        counters: None,
    })
}

/// Runs a wave to its next barrier or its end by `advance`, one instruction at a time.
fn steps<const W: usize>(
    wave: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
    budget: &mut u64,
    visit: &mut dyn FnMut(Step),
    mut advance: impl FnMut(&mut Wave<W>, &mut Group<'_>, &mut u64) -> Advanced,
) -> Advanced {
    loop {
        let before = wave.clone();
        // A budget of one instruction: the watchdog stops the wave in front of the next.
        let mut one = (*budget).min(1);
        let given = one;
        let result = advance(wave, group, &mut one);
        *budget -= given - one;
        let stopped = matches!(result, Err((_, _, FaultKind::Watchdog { .. })));
        if stopped && given == one {
            return result;
        }
        visit(step(&before, wave, program));
        if !stopped {
            return result;
        }
    }
}

fn step<const W: usize>(before: &Wave<W>, after: &Wave<W>, program: &Program) -> Step {
    let pc = program.pc(before.pc);
    let registers = before.sgpr.iter().zip(&after.sgpr).enumerate();
    let mut scalars: Vec<(String, u32)> = registers
        .filter(|(_, (old, new))| old != new)
        .map(|(code, (_, new))| (scalar_name(code), *new))
        .collect();
    if before.scc != after.scc {
        scalars.push(("scc".to_owned(), u32::from(after.scc)));
    }
    let rows = before.vgpr.iter().zip(&after.vgpr).enumerate();
    let changed = rows.filter(|(_, (old, new))| old != new);
    let vectors = changed.map(|(register, (old, new))| {
        let lanes = old.iter().zip(&new.0).enumerate();
        let lanes = lanes.filter(|(_, (old, new))| old != new);
        (register, lanes.map(|(lane, (_, new))| (lane, *new)).collect())
    });
    Step {
        pc,
        text: program.text_at(pc),
        exec: before.exec(),
        vectors: vectors.collect(),
        scalars,
    }
}

fn scalar_name(code: usize) -> String {
    match code {
        reg::VCC => "vcc_lo".into(),
        107 => "vcc_hi".into(),
        108..=123 => format!("ttmp{}", code - 108),
        reg::M0 => "m0".into(),
        reg::EXEC => "exec_lo".into(),
        127 => "exec_hi".into(),
        _ => format!("s{code}"),
    }
}
