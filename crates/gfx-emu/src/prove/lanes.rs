//! Follows a mask that has other lanes in a mutant, until it is as it should be again.
//!
//! What is known of the lanes that differ: masks that contain all of them, and masks that contain none of them. `a | b` does not
//! differ where `a` does, if `b` contains these lanes; `a & b` does not, if `b` contains none of them.

use std::collections::{BTreeMap, BTreeSet};

use super::demand::Demand;
use super::flow::following;
use super::function::Bits;
use super::masks::{self, Assignment, EXEC, Mask, MaskOp, Masks, Set, bit};
use super::operands;
use super::{Known, Reason};
use crate::isa::{Control, Inst, Kind, Program, Unit};
use crate::wave::reg;

/// Instructions that are looked at before nothing is proven.
const MOST_STEPS: usize = 4000;

/// What is known at a place on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LaneState {
    /// Masks that contain all lanes that differ, in the kernel as it was.
    all: Set,
    /// Masks that contain none of them.
    none: Set,
    /// Masks that may differ in them.
    differ: Set,
}

impl LaneState {
    fn has_all(&self, mask: Mask) -> bool {
        match mask {
            Mask::In(n) => self.all & bit(n) != 0,
            Mask::Everybody => true,
            Mask::Nobody | Mask::Any => false,
        }
    }

    fn has_none(&self, mask: Mask) -> bool {
        match mask {
            Mask::In(n) => self.none & bit(n) != 0,
            Mask::Nobody => true,
            Mask::Everybody | Mask::Any => false,
        }
    }

    fn differs(&self, mask: Mask) -> bool {
        matches!(mask, Mask::In(n) if self.differ & bit(n) != 0)
    }

    /// Bits that a lane which differs may have in a mask of the kernel as it was.
    fn bits(&self, mask: Mask) -> &'static [bool] {
        match (self.has_all(mask), self.has_none(mask)) {
            (true, _) => &[true],
            (_, true) => &[false],
            _ => &[false, true],
        }
    }

    /// Whether a mask that is computed may differ.
    fn result_differs(&self, Assignment { f, a, b, .. }: Assignment) -> bool {
        let either = &[false, true][..];
        for x in self.bits(a) {
            for y in self.bits(b) {
                let other = |mask: Mask, bit: &'static bool| {
                    if self.differs(mask) {
                        either
                    } else {
                        std::slice::from_ref(bit)
                    }
                };
                for other_x in other(a, x) {
                    for other_y in other(b, y) {
                        // One register has one content.
                        let impossible = a == b && (x != y || other_x != other_y);
                        if !impossible && of(f, *x, *y) != of(f, *other_x, *other_y) {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }

    /// Whether a mask that is computed contains all lanes that differ, and whether it contains none.
    fn result(&self, Assignment { f, a, b, .. }: Assignment) -> (bool, bool) {
        let mut results = BTreeSet::new();
        for x in self.bits(a) {
            for y in self.bits(b) {
                if a != b || x == y {
                    results.insert(of(f, *x, *y));
                }
            }
        }
        (!results.contains(&false), !results.contains(&true))
    }

    /// Registers are overwritten with what is nothing of lanes. `same` says that the mutant writes the same.
    fn overwrite(&mut self, first: u16, count: u8, lanes: usize) {
        let Ok(first) = u8::try_from(first) else { return };
        if count == 0 || first >= 128 {
            return;
        }
        let width = (lanes / 32) as u8;
        let end = first.saturating_add(count).min(128);
        for n in first.saturating_sub(width - 1)..end {
            self.all &= !bit(n);
            self.none &= !bit(n);
            // A mask that is overwritten in part may still differ in the rest.
            if n >= first && n + width <= end {
                self.differ &= !bit(n);
            }
        }
    }

    fn put(&mut self, n: u8, (all, none): (bool, bool), differs: bool, lanes: usize) {
        self.overwrite(n.into(), (lanes / 32) as u8, lanes);
        if usize::from(n) == reg::NULL {
            return;
        }
        self.all |= if all { bit(n) } else { 0 };
        self.none |= if none { bit(n) } else { 0 };
        self.differ |= if differs { bit(n) } else { 0 };
    }

    /// From before a mask instruction to after it; `None` where SCC may differ and is looked at.
    fn assign(&mut self, op: MaskOp, writes_scc: bool, scc_live: bool, lanes: usize) -> Option<()> {
        let active = (self.has_all(Mask::In(EXEC)), self.has_none(Mask::In(EXEC)));
        let active_differs = self.differs(Mask::In(EXEC));
        let differs = self.result_differs(op.assigned);
        let result = self.result(op.assigned);
        if differs && writes_scc && scc_live {
            return None;
        }
        if let Some(saved) = op.saved {
            self.put(saved, active, active_differs, lanes);
        }
        self.put(op.assigned.dst, result, differs, lanes);
        Some(())
    }

    /// Both of two ways; whether less is known.
    fn join(&mut self, other: &LaneState) -> bool {
        let before = *self;
        self.all &= other.all;
        self.none &= other.none;
        self.differ |= other.differ;
        *self != before
    }
}

fn of(f: Bits, a: bool, b: bool) -> bool {
    f.of([u64::from(a), u64::from(b), 0]) & 1 != 0
}

/// What an instruction makes of a mask; of one that does nothing, the mask itself.
fn assigned(inst: &Inst, dst: u8, lanes: usize) -> Option<MaskOp> {
    if inst.unit == Unit::Control(Control::Wait) {
        let (f, a, b) = (Bits::Copy, Mask::In(dst), Mask::Any);
        return Some(MaskOp {
            saved: None,
            assigned: Assignment { dst, f, a, b },
        });
    }
    masks::of(inst, lanes)
}

/// What is known of the lanes in which two masks differ that are computed in the place of each other; `None` where there are
/// none.
fn differing(one: Assignment, other: Assignment, masks: &Masks) -> Option<LaneState> {
    let operands = [one.a, one.b, other.a, other.b];
    let mut registers: Vec<u8> = vec![];
    for mask in operands {
        if let Mask::In(n) = mask
            && !registers.contains(&n)
        {
            registers.push(n);
        }
    }
    let mut found: Option<LaneState> = None;
    // Each way in which a lane can be in the masks or not.
    for choice in 0..1_u32 << registers.len() {
        let is_in = |n: u8| {
            registers
                .iter()
                .position(|known| *known == n)
                .is_some_and(|at| choice >> at & 1 != 0)
        };
        let possible = registers.iter().all(|inner| {
            let outer_too = |outer: &u8| !masks.contains(*outer, *inner) || is_in(*outer);
            !is_in(*inner) || registers.iter().all(outer_too)
        });
        // An operand of which nothing is known is chosen for both alike only if it is the same one.
        let operand = |mask: Mask| match mask {
            Mask::In(n) => vec![is_in(n)],
            Mask::Nobody => vec![false],
            Mask::Everybody => vec![true],
            Mask::Any => vec![false, true],
        };
        let results = |assigned: Assignment| {
            let mut all = BTreeSet::new();
            for a in operand(assigned.a) {
                for b in operand(assigned.b) {
                    all.insert(of(assigned.f, a, b));
                }
            }
            all
        };
        let (results_one, results_other) = (results(one), results(other));
        if !possible || results_one.len() == 1 && results_one == results_other {
            continue;
        }
        let mut place = LaneState {
            all: 0,
            none: 0,
            differ: 0,
        };
        for n in &registers {
            if is_in(*n) {
                place.all |= masks.over(*n);
            } else {
                // Nor is the lane in a mask that this one contains.
                let within = (0..128).filter(|inner| masks.contains(*n, *inner));
                place.none |= within.map(bit).fold(0, |all, bit| all | bit);
            }
        }
        match &mut found {
            Some(found) => {
                found.join(&place);
            }
            none => *none = Some(place),
        }
    }
    found
}

/// Why a mutant of a mask instruction is equivalent, if it is.
pub(super) fn restored(
    program: &Program,
    known: &Known,
    masks: &Masks,
    index: usize,
    mutant: &Inst,
) -> Option<Reason> {
    let lanes = known.lanes;
    let inst = program.insts().get(index)?;
    let op = masks::of(inst, lanes)?;
    let other = assigned(mutant, op.assigned.dst, lanes)?;
    if (op.saved, op.assigned.dst) != (other.saved, other.assigned.dst) {
        return None;
    }
    let (live, scc_live) = known.live[index];
    let scc_alike = operands::writes_scc(inst.op) == operands::writes_scc(mutant.op);
    let Some(mut place) = differing(op.assigned, other.assigned, masks) else {
        return (scc_alike || !scc_live).then_some(Reason::Same);
    };
    if scc_live {
        return None;
    }
    // What the kernel as it was makes of it; the mutant makes something else.
    place.assign(op, false, false, lanes)?;
    place.differ = bit(op.assigned.dst);
    place.differ &= with_halves(live, lanes);
    if place.differ == 0 {
        return Some(Reason::Unread);
    }
    let walk = LaneWalk {
        program,
        known,
        lanes,
        site: index,
    };
    walk.ends(place).then_some(Reason::Lanes)
}

/// The masks that have a register of the set.
fn with_halves(registers: Set, lanes: usize) -> Set {
    if lanes == 64 {
        registers | registers >> 1
    } else {
        registers
    }
}

/// The way from a mutant on.
struct LaneWalk<'a> {
    program: &'a Program,
    known: &'a Known,
    lanes: usize,
    site: usize,
}

impl LaneWalk<'_> {
    /// Whether nothing differs any more at some point of each way, and nothing looked at what did.
    fn ends(&self, place: LaneState) -> bool {
        let mut places = BTreeMap::new();
        let mut pending = vec![];
        if !self.go_on(self.site, place, &mut places, &mut pending) {
            return false;
        }
        for _ in 0..MOST_STEPS {
            let Some(index) = pending.pop() else {
                return true;
            };
            let Some(mut place) = places.get(&index).copied() else {
                return false;
            };
            // The mutant would make something of it that is not known.
            if index == self.site || self.step(index, &mut place).is_none() {
                return false;
            }
            if place.differ != 0 && !self.go_on(index, place, &mut places, &mut pending) {
                return false;
            }
        }
        false
    }

    /// Takes a place after an instruction to those that may come next.
    fn go_on(
        &self,
        index: usize,
        place: LaneState,
        places: &mut BTreeMap<usize, LaneState>,
        pending: &mut Vec<usize>,
    ) -> bool {
        let insts = self.program.insts();
        let Some(next) = insts
            .get(index)
            .and_then(|inst| following(inst, index, insts.len()))
        else {
            return false;
        };
        for next in next.into_iter().flatten() {
            let changed = match places.get_mut(&next) {
                Some(there) => there.join(&place),
                None => {
                    places.insert(next, place);
                    true
                }
            };
            if changed {
                pending.push(next);
            }
        }
        true
    }

    /// From before an instruction to after it; `None` where it looks at what differs.
    fn step(&self, index: usize, place: &mut LaneState) -> Option<()> {
        let inst = self.program.insts().get(index)?;
        let (live, scc_live) = *self.known.live.get(index)?;
        if let Some(op) = masks::of(inst, self.lanes) {
            place.assign(op, operands::writes_scc(inst.op), scc_live, self.lanes)?;
        } else {
            let registers = if self.lanes == 64 {
                place.differ | place.differ << 1
            } else {
                place.differ
            };
            let looked_at = Demand::of_sources(inst, 0, self.lanes).scalars() & registers;
            if looked_at != 0 && !self.is_of_idle_lanes(inst, place) {
                return None;
            }
            self.overwrite(inst, place);
        }
        place.differ &= with_halves(live, self.lanes);
        Some(())
    }

    /// Whether an instruction looks at masks in active lanes only, and those do not differ.
    fn is_of_idle_lanes(&self, inst: &Inst, place: &LaneState) -> bool {
        let exec = Mask::In(EXEC);
        let mut kinds = inst.op.signature().src.iter();
        let masks_alone = kinds.all(|kind| *kind == Kind::Mask || kind.registers(self.lanes) <= 2);
        let in_masks = |n: u8| {
            let mut sources = inst.src.iter().zip(inst.op.signature().src);
            sources.all(|(src, kind)| {
                let crate::isa::Src::Scalar(first) = src else {
                    return true;
                };
                let words = kind.registers(self.lanes).max(1);
                let after = (*first..first.saturating_add(words))
                    .any(|word| word == n || self.lanes == 64 && word == n + 1);
                !after || *kind == Kind::Mask && *first == n
            })
        };
        inst.unit == Unit::Vector
            && !operands::of(inst, self.lanes).crosses
            && masks_alone
            && place.has_none(exec)
            && !place.differs(exec)
            && (0..128).filter(|n| place.differ & bit(*n) != 0).all(in_masks)
    }

    fn overwrite(&self, inst: &Inst, place: &mut LaneState) {
        let operands = operands::of(inst, self.lanes);
        let idle = (false, place.has_none(Mask::In(EXEC)));
        if !operands.dst_is_vector {
            // What is written in part only may still differ.
            let differ = place.differ;
            place.overwrite(inst.dst, operands.dst_words, self.lanes);
            if !operands.whole {
                place.differ = differ;
            }
        }
        place.overwrite(inst.sdst.into(), operands.mask_words, self.lanes);
        if operands.writes_exec {
            place.overwrite(EXEC.into(), operands.exec_words, self.lanes);
        }
        // Comparisons and carries hold in active lanes alone.
        let n = match inst.unit {
            Unit::Compare => u8::try_from(inst.dst).ok(),
            Unit::Vector if operands.mask_words > 0 => Some(inst.sdst),
            _ => None,
        };
        if let Some(n) = n.filter(|n| *n < 128) {
            place.put(n, idle, false, self.lanes);
        }
    }
}
