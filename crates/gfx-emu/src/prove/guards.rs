//! What comparisons say about the lanes of a mask: numbers of a vector register are at most so large.
//!
//! A loop over elements goes on in lanes whose number is below a count, and that bounds what the next round adds to.

use super::function::Bits;
use super::masks::{Assignment, Change, EXEC, Mask};
use super::operands;
use super::value::{Value, low};
use crate::isa::{Inst, Op, Src};

/// A bound that holds in lanes of a mask, or in those outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    /// The register of the mask.
    mask: u8,
    /// In its lanes, whether active or not; else in lanes that are not in it and were active at the comparison.
    inside: bool,
    pub(super) bound: Bound,
}

/// A bound of a number in one vector register or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) first: u16,
    pub(super) words: u8,
    /// No number is greater.
    pub(super) most: u64,
}

/// The bounds that hold at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Guards(Vec<Guard>);

impl Guards {
    /// What a comparison says; its sources are these.
    pub(super) fn of_comparison(inst: &Inst, [a, b, _]: [Value; 3]) -> Vec<Guard> {
        let words = match inst.op {
            Op::CmpU32 => 1,
            Op::CmpU64 => 2,
            _ => return vec![],
        };
        if !operands::is_plain(inst) {
            return vec![];
        }
        let Ok(mask) = u8::try_from(inst.dst) else {
            return vec![];
        };
        let mut found = vec![];
        for inside in [true, false] {
            let counts = if inside {
                inst.relations
            } else {
                !inst.relations & 7
            };
            // Of a register that is less than another one, the other's limit is one too many.
            let mut bound = |src: Src, other: Value, exceeds: u8| {
                if let Src::Vgpr(first) = src
                    && counts != 0
                    && counts & exceeds == 0
                {
                    let most = other.hi.saturating_sub(u64::from(counts & 2 == 0));
                    let bound = Bound { first, words, most };
                    if most < low(32 * u32::from(words)) {
                        found.push(Guard { mask, inside, bound });
                    }
                }
            };
            bound(inst.src[0], b, 4);
            bound(inst.src[1], a, 1);
        }
        found
    }

    /// Adds what a comparison said.
    pub(super) fn add(&mut self, guards: &[Guard]) {
        self.0.extend_from_slice(guards);
    }

    /// A vector register is written.
    pub(super) fn forget_vector(&mut self, n: usize) {
        self.0.retain(|guard| {
            let first = usize::from(guard.bound.first);
            !(first..first + usize::from(guard.bound.words)).contains(&n)
        });
    }

    /// Masks in these registers are overwritten.
    pub(super) fn forget_masks(&mut self, gone: &std::ops::Range<u8>) {
        self.0.retain(|guard| !gone.contains(&guard.mask));
        if gone.contains(&EXEC) {
            self.forget_outside();
        }
    }

    /// Lanes become active that were not.
    pub(super) fn forget_outside(&mut self) {
        self.0.retain(|guard| guard.inside);
    }

    /// What holds of a mask that is computed of others.
    pub(super) fn of_assigned(&self, Assignment { dst, f, a, b }: Assignment) -> Vec<Guard> {
        let is = |mask: Mask, guard: &Guard| mask == Mask::In(guard.mask);
        let of_result = |guard: &&Guard| match f {
            Bits::Copy => is(a, guard),
            Bits::And => guard.inside && (is(a, guard) || is(b, guard)),
            Bits::AndNot => guard.inside && is(a, guard),
            // What is outside of both is outside of either.
            Bits::Or => !guard.inside && (is(a, guard) || is(b, guard)),
            _ => false,
        };
        let guards = self.0.iter().filter(of_result);
        guards.map(|guard| Guard { mask: dst, ..*guard }).collect()
    }

    /// What holds of the lanes that are active once EXEC is computed of other masks, and how they change by that.
    pub(super) fn of_active(&self, assigned: Assignment, change: Change) -> Vec<Bound> {
        let Assignment { f, a, b, .. } = assigned;
        let is = |mask: Mask, guard: &Guard| mask == Mask::In(guard.mask);
        let holds = |guard: &&Guard| match f {
            Bits::Copy => guard.inside && is(a, guard),
            Bits::And => guard.inside && (is(a, guard) || is(b, guard)),
            Bits::AndNot => {
                guard.inside && is(a, guard) || !guard.inside && is(b, guard) && change == Change::Fewer
            }
            _ => false,
        };
        self.0.iter().filter(holds).map(|guard| guard.bound).collect()
    }

    /// What holds on both of two ways; whether that is less.
    pub(super) fn meet(&mut self, other: &Guards) -> bool {
        let count = self.0.len();
        self.0.retain(|guard| other.0.contains(guard));
        self.0.len() != count
    }
}

impl Guard {
    /// The bound, where it holds in the lanes of the mask.
    pub(super) fn inside(&self) -> Option<Bound> {
        self.inside.then_some(self.bound)
    }
}
