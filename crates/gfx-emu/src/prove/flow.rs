//! The way of a wave through a kernel: blocks of instructions that are executed one after the other, and what follows them.

use std::collections::BTreeSet;

use crate::isa::{Condition, Control, Inst, Program, TRAP_DEBUG, Unit};

/// Blocks, in order of address.
#[derive(Debug)]
pub(super) struct Flow {
    /// Index of each block's first instruction, and of the one after the last block.
    starts: Vec<usize>,
    /// Numbers of the blocks that may come after each.
    after: Vec<Vec<usize>>,
    /// Number of the block at the entry.
    pub(super) entry: usize,
}

impl Flow {
    /// `None` where the next instruction or the number of a register is known only when the kernel runs.
    pub(super) fn of(program: &Program) -> Option<Flow> {
        let insts = program.insts();
        let mut starts = BTreeSet::from([0, program.start(), insts.len()]);
        for (index, inst) in insts.iter().enumerate() {
            let [next, target] = following(inst, index, insts.len())?;
            starts.extend(target);
            if target.is_some() || next.is_none() {
                starts.insert(index + 1);
            }
        }
        let starts: Vec<usize> = starts.into_iter().collect();
        let number = |index: usize| starts.binary_search(&index).ok();
        let ends = starts.windows(2).map(|pair| pair[1] - 1);
        let after = ends.map(|last| {
            let following = following(insts.get(last)?, last, insts.len())?;
            following.into_iter().flatten().map(number).collect()
        });
        let after = after.collect::<Option<Vec<Vec<usize>>>>()?;
        Some(Flow {
            entry: number(program.start())?,
            after,
            starts,
        })
    }

    /// How many blocks.
    pub(super) fn len(&self) -> usize {
        self.after.len()
    }

    /// Indices of a block's instructions.
    pub(super) fn block(&self, number: usize) -> std::ops::Range<usize> {
        self.starts[number]..self.starts[number + 1]
    }

    /// The block of an instruction.
    pub(super) fn block_of(&self, index: usize) -> usize {
        self.starts.partition_point(|start| *start <= index) - 1
    }

    /// The blocks that may come after a block.
    pub(super) fn after(&self, number: usize) -> &[usize] {
        &self.after[number]
    }
}

/// The instructions that may come after one: the next, and the one that it branches to. `None` where that is known only when
/// the kernel runs, or where its registers are.
pub(super) fn following(inst: &Inst, index: usize, count: usize) -> Option<[Option<usize>; 2]> {
    let next = (index + 1 < count).then_some(index + 1);
    let target = usize::try_from(inst.target).ok().filter(|target| *target < count);
    match inst.unit {
        Unit::Control(Control::End) => Some([None, None]),
        Unit::Control(Control::Trap) if inst.imm != TRAP_DEBUG => Some([None, None]),
        Unit::Control(Control::Branch(Condition::Always)) => Some([None, Some(target?)]),
        Unit::Control(Control::Branch(_)) => Some([Some(next?), Some(target?)]),
        Unit::Control(
            Control::SetPc
            | Control::SwapPc
            | Control::Call
            | Control::MoveRelative(..)
            | Control::IndexOn
            | Control::IndexValue
            | Control::IndexMode
            | Control::IndexOff,
        )
        | Unit::MoveRelative(_)
        | Unit::SwapRelative
        | Unit::Unsupported => None,
        _ => Some([Some(next?), None]),
    }
}
