//! Runs: instructions that a wave executes one after the other, once it is at the first of them.

use crate::isa::lower::Inst;

/// Instructions that a wave executes one after the other, once it is at the first of them. The executor's table has a
/// function for each of them, only waits are between them, and only the last may set EXEC. A branch may go to any of them.
/// So a run begins at each of them, and the runs of the later ones are parts of those of the earlier ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// How many, waits aside; none where the instruction is of another kind.
    pub(crate) count: u16,
    /// What they count, with the waits between and after them.
    pub(crate) cost: u16,
    /// Index of the instruction after the run.
    pub(crate) next: u32,
    /// Index of the first among the instructions of all runs.
    pub(super) first: u32,
    /// One more than the highest vector register that they may write, or that the one instruction of another kind may.
    pub(crate) touches: u16,
}

impl Run {
    /// No run.
    pub(super) const NONE: Run = Run {
        count: 0,
        cost: 0,
        next: 0,
        first: 0,
        touches: 0,
    };
    /// Instructions of a run at most, so that what they cost with their waits fits.
    const LONGEST: u16 = 256;

    /// The run of every instruction, which may write registers below `touches`, and what they execute.
    pub(super) fn all(insts: &[Inst], touches: &[u16]) -> (Vec<Run>, Vec<Inst>) {
        let straight: Vec<Inst> = insts.iter().filter(|inst| inst.quick).cloned().collect();
        let mut runs: Vec<Run> = touches
            .iter()
            .map(|touches| Run {
                touches: *touches,
                ..Run::NONE
            })
            .collect();
        let mut first = straight.len() as u32;
        for (index, inst) in insts.iter().enumerate().rev().filter(|(_, inst)| inst.quick) {
            first -= 1;
            let next = index + usize::from(inst.stride);
            let rest = runs.get(next).copied().unwrap_or(Run::NONE);
            let end = Run {
                next: next as u32,
                ..Run::NONE
            };
            let rest = if (1..Run::LONGEST).contains(&rest.count) && !inst.may_set_exec() {
                rest
            } else {
                end
            };
            runs[index] = Run {
                count: 1 + rest.count,
                cost: inst.cost + rest.cost,
                next: rest.next,
                first,
                touches: rest.touches.max(touches[index]),
            };
        }
        (runs, straight)
    }
}
