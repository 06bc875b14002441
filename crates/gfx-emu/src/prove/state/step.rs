//! What an instruction changes of what is known.

use super::super::function::Bits;
use super::super::guards::{Bound, Guard, Guards};
use super::super::launches::Launches;
use super::super::masks::{self, Assignment, Change, EXEC, Mask, MaskOp};
use super::super::operands;
use super::super::value::{Value, low};
use super::{State, View};
use crate::isa::{Control, Inst, Op, ScalarAccess, Src, Unit};
use crate::wave::reg;

impl State {
    /// Forgets what was known of a scalar register as a mask.
    fn forget_mask(&mut self, first: u16, count: u8) {
        let Ok(first) = u8::try_from(first) else { return };
        if count == 0 || first >= 128 {
            return;
        }
        self.masks.forget(first, count);
        let before = if self.lanes == 64 {
            first.saturating_sub(1)
        } else {
            first
        };
        let gone = before..first.saturating_add(count);
        let is_exec = gone.contains(&EXEC);
        self.guards.forget_masks(&gone);
        self.views.retain(|(n, _)| !gone.contains(n));
        if is_exec {
            let unknown = View::Lanes(vec![Value::WORD; self.registers]);
            self.views.push((EXEC, unknown));
        }
    }

    /// The lanes of a mask that is about to be computed.
    fn view_of(&self, assigned: Assignment) -> Option<View> {
        let operand = |mask: Mask| match mask {
            Mask::In(n) => self.view(n).cloned(),
            Mask::Nobody => Some(View::Nobody),
            Mask::Everybody | Mask::Any => None,
        };
        let Assignment { f, a, b, .. } = assigned;
        let exec = Mask::In(EXEC);
        match f {
            Bits::Copy | Bits::AndNot => operand(a),
            // Either would do: of active lanes most is known.
            Bits::And if b == exec => operand(b),
            Bits::And => operand(a).or_else(|| operand(b)),
            Bits::Or | Bits::Xor => {
                let (mut a, b) = (operand(a)?, operand(b)?);
                a.join(&b, Value::or_else);
                Some(a)
            }
            _ => None,
        }
    }

    fn assign_mask(&mut self, op: MaskOp) {
        let view = self.view_of(op.assigned);
        let saved = op.saved.map(|saved| (saved, self.view(EXEC).cloned()));
        let width = (self.lanes / 32) as u8;
        let dst = op.assigned.dst;
        let change = self.masks.change(op.assigned);
        let mut guards = self.guards.of_assigned(op.assigned);
        let bounds = match dst {
            EXEC => self.guards.of_active(op.assigned, change),
            _ => vec![],
        };
        if dst == EXEC {
            guards.clear();
        }
        let kept = self.guards.clone();
        let before = self.masks.clone();
        for n in [Some(dst), op.saved].into_iter().flatten() {
            self.forget_mask(n.into(), width);
        }
        self.masks = before;
        self.masks.apply(op);
        let put = |views: &mut Vec<(u8, View)>, n: u8, view: Option<View>| {
            if let Some(view) = view.filter(|_| usize::from(n) != reg::NULL) {
                views.retain(|(mask, _)| *mask != n);
                views.push((n, view));
            }
        };
        if let Some((saved, view)) = saved {
            put(&mut self.views, saved, view);
        }
        put(&mut self.views, dst, view);
        if dst == EXEC {
            // What is outside of masks still holds where no lane became active.
            self.guards = kept;
            if let Some(saved) = op.saved {
                self.guards
                    .forget_masks(&(saved.saturating_sub(width - 1)..saved.saturating_add(width)));
            }
            if !matches!(change, Change::Same | Change::Fewer) {
                self.guards.forget_outside();
            }
        }
        self.guards.add(&guards);
        for bound in bounds {
            self.limit_active(bound);
        }
    }

    /// A number of the active lanes has a bound.
    fn limit_active(&mut self, Bound { first, words, most }: Bound) {
        let limited = |value: Value, most: u64| {
            let hi = value.hi.min(most);
            // Nothing is executed in a lane without a number.
            if hi < value.lo {
                value
            } else {
                Value { hi, ..value }.tightened()
            }
        };
        for (mask, view) in &mut self.views {
            let View::Lanes(all) = view else { continue };
            if *mask != EXEC {
                continue;
            }
            let first = usize::from(first);
            if words == 2
                && let Some(upper) = all.get_mut(first + 1)
            {
                *upper = limited(*upper, most >> 32);
            }
            if most <= low(32)
                && let Some(lower) = all.get_mut(first)
            {
                *lower = limited(*lower, most);
            }
        }
    }

    /// From before an instruction to after it.
    pub(in super::super) fn step(&mut self, inst: &Inst, launches: &Launches<'_>) {
        let operands = operands::of(inst, self.lanes);
        let lanes = self.lanes;
        let mask_op = masks::of(inst, lanes);
        let result = if operands.dst_words == 0 || !operands.whole {
            Value::any(64)
        } else {
            self.result(inst, launches)
        };
        let loaded: Vec<Value> = match inst.unit {
            Unit::ScalarMemory(ScalarAccess::Load(words @ 3..)) => {
                (0..words).map(|i| self.loaded(inst, i, launches)).collect()
            }
            _ => vec![],
        };
        let moved = self.moved_arguments(inst);
        let guards = match inst.unit {
            Unit::Compare => Guards::of_comparison(inst, self.sources(inst)),
            _ => vec![],
        };
        let carries = self.carries(inst);
        let (numbers, addresses) = (self.grid.results(inst, launches), self.grid.addresses_of(inst));
        self.scc = match inst.unit {
            Unit::Scalar if operands.writes_scc => carries,
            Unit::Scalar | Unit::Lane | Unit::Vector | Unit::Compare | Unit::Memory(_) => self.scc,
            Unit::ScalarMemory(ScalarAccess::Load(_)) => self.scc,
            Unit::Control(Control::Wait | Control::Branch(_)) => self.scc,
            _ => Value::up_to(1),
        };
        let word = |i: u8| match i {
            _ if !loaded.is_empty() => loaded.get(usize::from(i)).copied().unwrap_or(Value::WORD),
            0 => result.truncated(32),
            1 => result.upper(),
            _ => Value::WORD,
        };
        if operands.dst_is_vector {
            for i in 0..operands.dst_words {
                let n = usize::from(inst.dst) + usize::from(i);
                match operands.crosses || !operands.whole {
                    true => self.forget_vector(n),
                    false => self.set_vector(n, word(i)),
                }
            }
            if operands.crosses {
                self.forget_sources(inst);
            }
        } else {
            for i in 0..operands.dst_words {
                self.set_scalar(usize::from(inst.dst) + usize::from(i), word(i));
            }
        }
        for i in 0..operands.mask_words {
            let none = carries.number() == Some(0);
            let mask = if none { Value::exactly(0) } else { Value::WORD };
            self.set_scalar(usize::from(inst.sdst + i), mask);
        }
        if operands.writes_exec {
            for i in 0..operands.exec_words {
                self.set_scalar(reg::EXEC + usize::from(i), Value::WORD);
            }
        }
        self.arguments |= moved;
        self.grid.put(inst, numbers, addresses);
        match mask_op {
            Some(op) => self.assign_mask(op),
            None if inst.unit == Unit::Compare => {
                self.compared(inst, operands.writes_exec);
                if inst.dst != EXEC.into() && operands.whole {
                    self.guards.add(&guards);
                }
                if inst.dst == EXEC.into() || operands.writes_exec {
                    for bound in guards.iter().filter_map(Guard::inside) {
                        self.limit_active(bound);
                    }
                }
            }
            None => {
                if !operands.dst_is_vector {
                    self.forget_mask(inst.dst, operands.dst_words);
                }
                if operands.mask_words > 0 {
                    self.forget_mask(inst.sdst.into(), operands.mask_words);
                    self.masks.assign_active(inst.sdst);
                }
                if operands.writes_exec {
                    self.forget_mask(reg::EXEC as u16, operands.exec_words);
                }
            }
        }
    }

    /// The lanes in which a comparison holds are active ones.
    fn compared(&mut self, inst: &Inst, writes_exec: bool) {
        let active = self.view(EXEC).cloned();
        let dst = inst.dst as u8;
        let and = |dst| Assignment {
            dst,
            f: Bits::And,
            a: Mask::In(EXEC),
            b: Mask::Any,
        };
        let restore = |state: &mut State, active: Option<View>| {
            if let Some(active) = active {
                state.views.retain(|(mask, _)| *mask != EXEC);
                state.views.push((EXEC, active));
            }
        };
        if dst != EXEC {
            let masks = self.masks.clone();
            self.forget_mask(inst.dst, (self.lanes / 32) as u8);
            self.masks = masks;
            self.masks.assign(and(dst));
        }
        if dst == EXEC || writes_exec {
            self.masks.assign(and(EXEC));
            restore(self, active);
        }
    }

    /// Sources that an exchange may write.
    fn forget_sources(&mut self, inst: &Inst) {
        if matches!(inst.op, Op::SwapB32 | Op::Permlane16Swap | Op::Permlane32Swap)
            && let Src::Vgpr(n) = inst.src[0]
        {
            self.forget_vector(n.into());
        }
    }

    /// The registers that hold the address of the arguments after a move.
    fn moved_arguments(&self, inst: &Inst) -> u128 {
        match (inst.op, inst.src[0]) {
            (Op::SMovB64, Src::Scalar(n)) if self.arguments & masks::bit(n) != 0 && inst.dst < 127 => {
                1 << inst.dst
            }
            _ => 0,
        }
    }
}
