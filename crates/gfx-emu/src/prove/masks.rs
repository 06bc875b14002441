//! Scalar registers as sets of lanes: what instructions make of them, and which of the sets contain which.

use super::function::{Applied, Bits, Function};
use crate::isa::{Inst, Op, Src, Unit};
use crate::wave::reg;

/// A set of registers, one bit each.
pub(super) type Set = u128;

/// A trap temporary, which holds the old EXEC while an instruction is looked at.
const OLD: u8 = 120;
/// The register of EXEC, as a mask.
pub(super) const EXEC: u8 = reg::EXEC as u8;

/// A mask as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// In this register, and the one after it where waves have 64 lanes.
    In(u8),
    /// No lane.
    Nobody,
    /// Every lane.
    Everybody,
    /// Any set of lanes.
    Any,
}

/// A mask that an instruction computes of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) dst: u8,
    pub(super) f: Bits,
    pub(super) a: Mask,
    pub(super) b: Mask,
}

/// What a mask instruction does: EXEC goes to a register first, where it is saved, and then a mask is computed of the old ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MaskOp {
    pub(super) saved: Option<u8>,
    pub(super) assigned: Assignment,
}

fn mask(src: Src, lanes: usize) -> Mask {
    let all = if lanes == 64 {
        u64::MAX
    } else {
        u64::from(u32::MAX)
    };
    match src {
        Src::Scalar(n) if usize::from(n) == reg::NULL => Mask::Nobody,
        Src::Scalar(n) => Mask::In(n),
        Src::Const(0) => Mask::Nobody,
        Src::Const(number) if number & all == all => Mask::Everybody,
        _ => Mask::Any,
    }
}

/// The masks of a scalar instruction as wide as a wave, where it is one of these.
pub(super) fn of(inst: &Inst, lanes: usize) -> Option<MaskOp> {
    if inst.unit != Unit::Scalar {
        return None;
    }
    let [a, b] = [inst.src[0], inst.src[1]].map(|src| mask(src, lanes));
    let dst = u8::try_from(inst.dst).ok()?;
    if let Some((f, wide)) = saves(inst.op) {
        let reversed = matches!(
            inst.op,
            Op::SAndNot0SaveexecB32
                | Op::SAndNot0SaveexecB64
                | Op::SOrNot0SaveexecB32
                | Op::SOrNot0SaveexecB64
        );
        let (a, b) = if reversed {
            (Mask::In(EXEC), a)
        } else {
            (a, Mask::In(EXEC))
        };
        let assigned = Assignment { dst: EXEC, f, a, b };
        return (wide == (lanes == 64)).then_some(MaskOp {
            saved: Some(dst),
            assigned,
        });
    }
    let Applied {
        function: Function::Bits(f),
        bits,
        ..
    } = Applied::of(inst.op)?
    else {
        return None;
    };
    let assigned = Assignment { dst, f, a, b };
    (bits as usize == lanes).then_some(MaskOp {
        saved: None,
        assigned,
    })
}

/// What an operation that saves EXEC makes of its source and EXEC, and whether it has 64 bits.
fn saves(op: Op) -> Option<(Bits, bool)> {
    Some(match op {
        Op::SAndSaveexecB32 => (Bits::And, false),
        Op::SAndSaveexecB64 => (Bits::And, true),
        Op::SOrSaveexecB32 => (Bits::Or, false),
        Op::SOrSaveexecB64 => (Bits::Or, true),
        Op::SXorSaveexecB32 => (Bits::Xor, false),
        Op::SXorSaveexecB64 => (Bits::Xor, true),
        Op::SAndNot0SaveexecB32 | Op::SAndNot1SaveexecB32 => (Bits::AndNot, false),
        Op::SAndNot0SaveexecB64 | Op::SAndNot1SaveexecB64 => (Bits::AndNot, true),
        Op::SOrNot0SaveexecB32 | Op::SOrNot1SaveexecB32 => (Bits::OrNot, false),
        Op::SOrNot0SaveexecB64 | Op::SOrNot1SaveexecB64 => (Bits::OrNot, true),
        _ => return None,
    })
}

/// How the active lanes after an instruction are to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The same.
    Same,
    /// Some of them.
    Fewer,
    /// They and others.
    More,
    /// None of them.
    Others,
    /// Any.
    Any,
}

/// Which masks contain which: bit `n` of entry `m` says that every lane of mask `m` is in mask `n`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Masks {
    over: [Set; 128],
    lanes: usize,
}

pub(super) fn bit(n: u8) -> Set {
    1 << (n & 127)
}

impl Masks {
    /// Nothing is known, but that each mask contains itself.
    pub(super) fn new(lanes: usize) -> Masks {
        Masks {
            over: std::array::from_fn(|n| 1 << n),
            lanes,
        }
    }

    /// The masks that contain mask `n`.
    pub(super) fn over(&self, n: u8) -> Set {
        self.over[usize::from(n & 127)]
    }

    /// Whether every lane of `inner` is in `outer`.
    pub(super) fn contains(&self, outer: u8, inner: u8) -> bool {
        self.over(inner) & bit(outer) != 0
    }

    /// The masks that contain an operand.
    pub(super) fn over_operand(&self, mask: Mask) -> Set {
        match mask {
            Mask::In(n) => self.over(n),
            Mask::Nobody => Set::MAX,
            Mask::Everybody | Mask::Any => 0,
        }
    }

    fn is_over(&self, mask: Mask, inner: usize) -> bool {
        match mask {
            Mask::In(n) => self.over[inner] & bit(n) != 0,
            Mask::Everybody => true,
            Mask::Nobody | Mask::Any => false,
        }
    }

    /// What holds on both of two ways; whether that is less than was known.
    pub(super) fn meet(&mut self, other: &Masks) -> bool {
        let mut less = false;
        for (mine, theirs) in self.over.iter_mut().zip(&other.over) {
            less |= *mine & theirs != *mine;
            *mine &= theirs;
        }
        less
    }

    /// Scalar registers from `first` on have other contents.
    pub(super) fn forget(&mut self, first: u8, count: u8) {
        // A mask of 64 lanes begins in the register before.
        let before = if self.lanes == 64 && first > 0 { 1 } else { 0 };
        for n in first - before..first.saturating_add(count).min(128) {
            for over in &mut self.over {
                *over &= !bit(n);
            }
            self.over[usize::from(n)] = bit(n);
        }
    }

    /// How EXEC changes, if that is what is assigned.
    pub(super) fn change(&self, assigned: Assignment) -> Change {
        let Assignment { dst, f, a, b } = assigned;
        let exec = Mask::In(EXEC);
        if dst != EXEC {
            return Change::Same;
        }
        let has = |mask: Mask| mask == exec || self.is_over(mask, usize::from(EXEC));
        let within = |mask: Mask| match mask {
            Mask::In(n) => self.contains(EXEC, n),
            Mask::Nobody => true,
            Mask::Everybody | Mask::Any => false,
        };
        match f {
            Bits::And if within(a) || within(b) => Change::Fewer,
            Bits::Or if has(a) || has(b) => Change::More,
            Bits::AndNot if within(a) => Change::Fewer,
            Bits::AndNot if has(b) => Change::Others,
            Bits::Copy if has(a) => Change::More,
            Bits::Copy if within(a) => Change::Fewer,
            Bits::Xor if within(a) && within(b) => Change::Fewer,
            Bits::Xor if a == exec && has(b) || b == exec && has(a) => Change::Others,
            _ => Change::Any,
        }
    }

    /// The mask that EXEC becomes by an instruction that joins it to the active lanes, where it contains them.
    pub(super) fn restored(&self, inst: &Inst) -> Option<u8> {
        let op = of(inst, self.lanes).filter(|op| op.saved.is_none() && op.assigned.dst == EXEC)?;
        let other = match (op.assigned.a, op.assigned.b) {
            (Mask::In(EXEC), Mask::In(n)) | (Mask::In(n), Mask::In(EXEC)) => n,
            _ => return None,
        };
        (op.assigned.f == Bits::Or && self.contains(other, EXEC)).then_some(other)
    }

    /// A mask is computed of others.
    pub(super) fn assign(&mut self, assigned: Assignment) {
        let Assignment { dst, f, a, b } = assigned;
        let (over_a, over_b) = (self.over_operand(a), self.over_operand(b));
        let over = match f {
            Bits::Copy | Bits::AndNot => over_a,
            Bits::And => over_a | over_b,
            Bits::Or | Bits::Xor => over_a & over_b,
            _ => 0,
        };
        let mut inner: Set = 0;
        for n in 0..128 {
            let [in_a, in_b] = [a, b].map(|mask| self.is_over(mask, n));
            let is_in = match f {
                Bits::Copy => in_a,
                Bits::And => in_a && in_b,
                Bits::Or => in_a || in_b,
                _ => false,
            };
            inner |= Set::from(is_in) << n;
        }
        self.replace(dst, over, inner);
    }

    /// The masks of an instruction.
    pub(super) fn apply(&mut self, op: MaskOp) {
        let Some(saved) = op.saved else {
            return self.assign(op.assigned);
        };
        // The source may be the register that EXEC is saved in.
        let copy = |dst, a| Assignment {
            dst,
            f: Bits::Copy,
            a: Mask::In(a),
            b: Mask::Any,
        };
        self.assign(copy(OLD, EXEC));
        self.assign(op.assigned);
        self.assign(copy(saved, OLD));
        self.forget(OLD, 1);
    }

    /// A mask becomes one that the active lanes contain.
    pub(super) fn assign_active(&mut self, dst: u8) {
        let over = self.over(EXEC);
        self.replace(dst, over, 0);
    }

    /// A mask becomes another one, which is in the masks `over` and contains those of `inner`, as they were before.
    fn replace(&mut self, dst: u8, over: Set, inner: Set) {
        let width = if self.lanes == 64 { 2 } else { 1 };
        // What other masks were to the registers that are overwritten is over.
        self.forget(dst, width);
        let mut gone = bit(dst);
        if self.lanes == 64 {
            gone |= bit(dst.wrapping_add(1)) | bit(dst.wrapping_sub(1));
        }
        self.over[usize::from(dst & 127)] = over & !gone | bit(dst);
        for n in 0..128 {
            if inner & !gone & 1 << n != 0 {
                self.over[n] |= bit(dst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VCC: u8 = reg::VCC as u8;

    fn assigned(dst: u8, f: Bits, a: u8, b: u8) -> Assignment {
        let (a, b) = (Mask::In(a), Mask::In(b));
        Assignment { dst, f, a, b }
    }

    #[test]
    fn a_saved_mask_contains_what_is_left_of_it() {
        for lanes in [32, 64] {
            let mut masks = Masks::new(lanes);
            masks.assign(assigned(4, Bits::Copy, EXEC, EXEC));
            assert_eq!(masks.change(assigned(EXEC, Bits::And, VCC, EXEC)), Change::Fewer);
            masks.assign(assigned(EXEC, Bits::And, VCC, EXEC));
            assert!(masks.contains(4, EXEC) && !masks.contains(EXEC, 4));
            // The inner mask of two is in the outer one, and so is what it is joined with.
            masks.assign(assigned(6, Bits::Copy, EXEC, EXEC));
            masks.assign(assigned(EXEC, Bits::AndNot, EXEC, 10));
            assert_eq!(masks.change(assigned(EXEC, Bits::Copy, 6, 6)), Change::More);
            masks.assign(assigned(EXEC, Bits::Or, EXEC, 6));
            assert!(masks.contains(4, EXEC) && masks.contains(EXEC, 6) && masks.contains(4, 6));
            masks.forget(4, 1);
            assert!(!masks.contains(4, EXEC) && masks.contains(EXEC, 6));
            // Half of a mask is another mask where lanes are 64.
            masks.forget(7, 1);
            assert_eq!(masks.contains(EXEC, 6), lanes == 32);
        }
    }

    #[test]
    fn the_rest_of_a_mask_is_others() {
        let mut masks = Masks::new(32);
        masks.assign(assigned(4, Bits::Copy, EXEC, EXEC));
        masks.assign(assigned(EXEC, Bits::And, VCC, EXEC));
        assert_eq!(masks.change(assigned(EXEC, Bits::Xor, EXEC, 4)), Change::Others);
        assert_eq!(
            masks.change(assigned(EXEC, Bits::AndNot, 4, EXEC)),
            Change::Others
        );
        assert_eq!(masks.change(assigned(EXEC, Bits::Xor, EXEC, 5)), Change::Any);
        let mut other = Masks::new(32);
        assert!(masks.meet(&other) && masks == Masks::new(32) && !other.meet(&masks));
    }
}
