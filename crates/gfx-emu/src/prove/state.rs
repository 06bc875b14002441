//! What is known of the registers of a wave at a place in a kernel, whichever launch it is of.
//!
//! A scalar register is a set of numbers. Of vector registers more is known of some lanes than of all: the active ones, and
//! those that a mask in scalar registers names, which become active again when the mask is joined to EXEC. So each such
//! mask has its own sets, which hold for each lane of the mask. A lane's register is written while the lane is active.

use super::function::{Applied, Bits, Function};
use super::grid::Grid;
use super::guards::{Bound, Guard, Guards};
use super::launches::Launches;
use super::masks::{self, Assignment, Change, EXEC, Mask, MaskOp, Masks};
use super::operands::{self, Half};
use super::value::{Value, below, low};
use crate::isa::{Control, Inst, Isa, Op, Part, ScalarAccess, Space, Src, Transfer, Unit};
use crate::wave::reg;
use code_object::UserSgpr;

/// Bits of a work-item id of three that share a register.
const ID_BITS: u32 = 10;
/// Highest workgroup id: HIP takes grids of 2^31 - 1 workgroups at most in a dimension.
const LAST_GROUP: u64 = 0x7fff_fffe;

/// What the address of the arguments is a multiple of: the HSA runtime's manual, `kernarg_address` of a dispatch packet.
const KERNARG_ALIGN: u64 = 16;

/// Vector registers of the lanes of a mask.
#[derive(Clone, Debug, PartialEq, Eq)]
enum View {
    /// The mask has no lane.
    Nobody,
    /// Each register's set.
    Lanes(Vec<Value>),
}

/// What is known at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    scalar: [Value; 128],
    /// Registers that hold the lower half of the address of the arguments, and have its upper half after them.
    arguments: u128,
    pub(super) masks: Masks,
    scc: Value,
    guards: Guards,
    grid: Grid,
    /// By the number of the mask.
    views: Vec<(u8, View)>,
    registers: usize,
    lanes: usize,
}

impl State {
    /// At the entry of a kernel. Registers that the launch does not set may hold anything.
    pub(super) fn at_entry(launches: &Launches<'_>, isa: Isa, registers: usize, lanes: usize) -> State {
        let mut scalar = [Value::WORD; 128];
        scalar[reg::NULL] = Value::exactly(0);
        let descriptor = &launches.kernel.descriptor;
        let (mut next, mut arguments) = (0, 0);
        for register in descriptor.user_sgprs() {
            if register == UserSgpr::KernargSegmentPtr && next < 127 {
                arguments = 1 << next;
                scalar[next].zeros |= KERNARG_ALIGN - 1;
                scalar[next] = scalar[next].tightened();
            }
            next += register.registers();
        }
        for dword in descriptor.kernarg_preload() {
            if let Some(place) = scalar.get_mut(next) {
                *place = argument(launches, 4 * dword as u64);
            }
            next += 1;
        }
        let mut next = descriptor.user_sgpr_count();
        for enabled in descriptor.workgroup_id_enabled() {
            if enabled && !isa.is_gfx12() {
                if let Some(place) = scalar.get_mut(next) {
                    *place = Value::up_to(LAST_GROUP);
                }
                next += 1;
            }
        }
        if isa.is_gfx12() {
            scalar[reg::TTMP9] = Value::up_to(LAST_GROUP);
        }
        let mut vector = vec![Value::WORD; registers];
        if isa == Isa::Rdna2 {
            for id in vector.iter_mut().take(descriptor.work_item_ids()) {
                *id = Value::up_to(launches.last_item());
            }
        } else if let Some(ids) = vector.first_mut() {
            *ids = packed_ids(launches.last_item());
        }
        State {
            scalar,
            arguments,
            masks: Masks::new(lanes),
            scc: Value::up_to(1),
            guards: Guards::default(),
            grid: Grid::at_entry(launches, isa),
            views: vec![(EXEC, View::Lanes(vector))],
            registers,
            lanes,
        }
    }

    /// Adds what holds on another way to the place; whether less is known now. With `widen`, what grows does so at once.
    pub(super) fn join(&mut self, other: &State, widen: bool) -> bool {
        let joined = |a: Value, b: Value| if widen { a.widened(b, 32) } else { a.or_else(b) };
        let mut less = self.masks.meet(&other.masks);
        let arguments = self.arguments & other.arguments;
        less |= arguments != self.arguments;
        self.arguments = arguments;
        let scc = self.scc.or_else(other.scc);
        less |= scc != self.scc;
        self.scc = scc;
        less |= self.guards.meet(&other.guards);
        less |= self.grid.meet(&other.grid);
        for (mine, theirs) in self.scalar.iter_mut().zip(&other.scalar) {
            let both = joined(*mine, *theirs);
            less |= both != *mine;
            *mine = both;
        }
        self.views.retain_mut(|(n, view)| {
            let theirs = other.views.iter().find(|(other, _)| other == n);
            let Some((_, theirs)) = theirs else {
                less = true;
                return false;
            };
            less |= view.join(theirs, joined);
            true
        });
        less
    }

    /// Drops the masks that nothing looks at any more.
    pub(super) fn drop_views(&mut self, read: impl Fn(u8) -> bool) {
        self.views.retain(|(n, _)| *n == EXEC || read(*n));
    }

    /// A vector register in active lanes.
    pub(super) fn vector(&self, n: usize) -> Value {
        match self.view(EXEC) {
            Some(View::Lanes(all)) => all.get(n).copied().unwrap_or(Value::WORD),
            // Nothing is executed by nobody.
            _ => Value::WORD,
        }
    }

    fn view(&self, n: u8) -> Option<&View> {
        let own = self.views.iter().find(|(mask, _)| *mask == n);
        // Lanes that are active have what active lanes have.
        let active = || {
            let within = self.masks.contains(EXEC, n);
            self.views.iter().find(|(mask, _)| *mask == EXEC && within)
        };
        own.or_else(active).map(|(_, view)| view)
    }

    fn scalar(&self, n: usize) -> Value {
        self.scalar[n & 127]
    }

    fn scalars(&self, n: usize, words: u8) -> Value {
        match words {
            1 => self.scalar(n),
            2 if n == reg::NULL => Value::exactly(0),
            2 => Value::joined(self.scalar(n), self.scalar(n + 1)),
            _ => Value::any(64),
        }
    }

    /// Source `i` of an instruction, in active lanes, as wide as its kind.
    pub(super) fn source(&self, inst: &Inst, i: usize) -> Value {
        let Some(kind) = inst.op.signature().src.get(i).copied() else {
            return Value::any(64);
        };
        let words = kind.registers(self.lanes);
        let whole = match inst.src[i] {
            Src::Const(number) => Value::exactly(number),
            Src::Scalar(n) => self.scalars(usize::from(n), words),
            Src::Vgpr(n) if words == 1 => self.vector(n.into()),
            Src::Vgpr(n) if words == 2 => {
                Value::joined(self.vector(n.into()), self.vector(usize::from(n) + 1))
            }
            Src::Scc => self.scc,
            Src::Vccz | Src::Execz => Value::up_to(1),
            Src::Vgpr(_) | Src::Staged(_) | Src::None => return Value::any(64),
        };
        match (operands::half(inst, i, kind), inst.src[i]) {
            (Half::Whole, _) => whole,
            (_, Src::Const(_)) => whole,
            (Half::Low, _) => whole.truncated(16),
            (Half::High, _) => whole.shifted_right(16),
        }
    }

    /// Numbers that scalar registers hold in any case, of the sources of an instruction. They help to say what counts of the other
    /// sources, and not of each other: so there is one at most.
    pub(super) fn numbers(&self, inst: &Inst) -> [Option<u64>; 3] {
        let number = |i: usize| match inst.src[i] {
            Src::Scalar(_) => self.source(inst, i).number(),
            _ => None,
        };
        let mut numbers = [0, 1, 2].map(number);
        if numbers.iter().flatten().count() > 1 {
            numbers = [None; 3];
        }
        numbers
    }

    pub(super) fn sources(&self, inst: &Inst) -> [Value; 3] {
        [0, 1, 2].map(|i| self.source(inst, i))
    }

    /// What an instruction puts into its destination, where it is of one or two registers.
    pub(super) fn result(&self, inst: &Inst, launches: &Launches<'_>) -> Value {
        let [a, b, _] = self.sources(inst);
        match inst.unit {
            Unit::Memory(Transfer::LoadPart(Part {
                bytes,
                signed: false,
                half: None,
            }))
            | Unit::ScalarMemory(ScalarAccess::LoadPart { bytes, signed: false }) => {
                Value::any(8 * u32::from(bytes))
            }
            Unit::ScalarMemory(ScalarAccess::Load(words @ 1..=2)) => {
                let all = (0..words).map(|i| self.loaded(inst, i, launches));
                all.rev()
                    .fold(Value::exactly(0), |upper, word| Value::joined(word, upper))
            }
            Unit::Lane | Unit::Vector if !operands::is_plain(inst) => Value::any(64),
            Unit::Lane if inst.op.signature().dst.is_half() => {
                let applied = Applied::of(inst.op);
                applied.map_or(Value::any(16), |applied| applied.result(self.sources(inst)))
            }
            Unit::Lane | Unit::Vector | Unit::Scalar => match inst.op {
                Op::CndmaskB32 | Op::SCselectB32 | Op::SCselectB64 => a.or_else(b),
                Op::AddCoCiU32 | Op::SAddcU32 => a.plus(b, 32).plus(self.carried(inst), 32),
                Op::SubCoCiU32 | Op::SSubbU32 => a.minus(b, 32).minus(self.carried(inst), 32),
                Op::MbcntLo | Op::MbcntHi => b.plus(Value::up_to(32), 32),
                Op::BcntU32B32 => b.plus(Value::up_to(32), 32),
                Op::SBcnt0I32B32 | Op::SBcnt1I32B32 => Value::up_to(32),
                Op::SBcnt0I32B64 | Op::SBcnt1I32B64 => Value::up_to(64),
                Op::CvtU32U16 => a.truncated(16),
                Op::SPackLlB32B16 => a.truncated(16).or(b.truncated(16).shifted_left(16, 32)),
                op => Applied::of(op).map_or(Value::any(64), |applied| self.applied(applied, inst, launches)),
            },
            _ => Value::any(64),
        }
    }

    fn applied(&self, applied: Applied, inst: &Inst, launches: &Launches<'_>) -> Value {
        let sources = self.sources(inst);
        let of_work_items = |items: Value| match applied.function {
            Function::Mul => items,
            Function::MulHigh { signed: false } => Value::exactly(0),
            Function::Mad64 => items.plus(sources[2], 64),
            _ => applied.result(sources),
        };
        match launches.most_work_items() {
            Some(most) if self.grid.are_factors(inst.src[0], inst.src[1]) => {
                of_work_items(Value::up_to(most))
            }
            _ => applied.result(sources),
        }
    }

    /// What a sum or difference gets from the one below it.
    pub(super) fn carried(&self, inst: &Inst) -> Value {
        match inst.op {
            Op::SAddcU32 | Op::SSubbU32 => self.scc,
            Op::AddCoCiU32 | Op::SubCoCiU32 | Op::SubrevCoCiU32 => match self.source(inst, 2).number() {
                Some(0) => Value::exactly(0),
                _ => Value::up_to(1),
            },
            _ => Value::exactly(0),
        }
    }

    /// What a sum or difference of 32 bits gives to the one above it, in active lanes.
    fn carries(&self, inst: &Inst) -> Value {
        let [a, b, _] = self.sources(inst);
        let carried = self.carried(inst);
        let vector = matches!(
            inst.op,
            Op::AddCoU32
                | Op::SubCoU32
                | Op::SubrevCoU32
                | Op::AddCoCiU32
                | Op::SubCoCiU32
                | Op::SubrevCoCiU32
        );
        if vector && !operands::is_plain(inst) {
            return Value::up_to(1);
        }
        match inst.op {
            Op::SAddU32 | Op::SAddcU32 | Op::AddCoU32 | Op::AddCoCiU32 => carry(a, b, carried),
            Op::SSubU32 | Op::SSubbU32 | Op::SubCoU32 | Op::SubCoCiU32 => borrow(a, b, carried),
            Op::SubrevCoU32 | Op::SubrevCoCiU32 => borrow(b, a, carried),
            _ => Value::up_to(1),
        }
    }

    /// Dword `i` of what a scalar load loads.
    fn loaded(&self, inst: &Inst, i: u8, launches: &Launches<'_>) -> Value {
        if let Some(offset) = self.grid.offset(inst) {
            return argument(launches, offset + 4 * u64::from(i));
        }
        let of_arguments = self.arguments & masks::bit(inst.base) != 0
            && inst.space == Space::Global
            && usize::from(inst.soffset) == reg::NULL;
        match u64::try_from(inst.imm) {
            // The card drops the lowest two bits of the address.
            Ok(offset) if of_arguments => argument(launches, (offset & !3) + 4 * u64::from(i)),
            _ => Value::WORD,
        }
    }

    fn set_scalar(&mut self, n: usize, value: Value) {
        if n < 128 && n != reg::NULL {
            self.scalar[n] = value;
            self.grid.forget(n);
            // As the lower half and as the upper one.
            self.arguments &= !(1 << n | 1 << n >> 1);
        }
    }

    fn set_vector(&mut self, n: usize, value: Value) {
        self.guards.forget_vector(n);
        let mut active = Value::WORD;
        for (mask, view) in &mut self.views {
            let View::Lanes(all) = view else { continue };
            let Some(place) = all.get_mut(n) else { continue };
            if *mask == EXEC {
                *place = value;
                active = value;
            }
        }
        // Lanes of other masks may be active.
        for (mask, view) in &mut self.views {
            if let View::Lanes(all) = view
                && *mask != EXEC
                && let Some(place) = all.get_mut(n)
            {
                *place = place.or_else(active);
            }
        }
    }

    /// A vector register of any lane may be anything.
    fn forget_vector(&mut self, n: usize) {
        self.guards.forget_vector(n);
        for (_, view) in &mut self.views {
            if let View::Lanes(all) = view
                && let Some(place) = all.get_mut(n)
            {
                *place = Value::WORD;
            }
        }
    }

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

    /// How an instruction changes the active lanes.
    pub(super) fn change(&self, inst: &Inst) -> Change {
        if let Some(op) = masks::of(inst, self.lanes) {
            return self.masks.change(op.assigned);
        }
        match inst.unit {
            // Of the active lanes, those in which a comparison holds.
            Unit::Compare if inst.writes_exec || inst.dst == EXEC.into() => Change::Fewer,
            _ if inst.may_set_exec() => Change::Any,
            _ => {
                let operands = operands::of(inst, self.lanes);
                let end = inst.dst + u16::from(operands.dst_words);
                if operands.dst_is_vector || end <= EXEC.into() {
                    Change::Same
                } else {
                    Change::Any
                }
            }
        }
    }

    /// From before an instruction to after it.
    pub(super) fn step(&mut self, inst: &Inst, launches: &Launches<'_>) {
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

impl View {
    fn join(&mut self, other: &View, joined: impl Fn(Value, Value) -> Value) -> bool {
        match (&mut *self, other) {
            (_, View::Nobody) => false,
            (View::Nobody, View::Lanes(_)) => {
                *self = other.clone();
                true
            }
            (View::Lanes(mine), View::Lanes(theirs)) => {
                let mut less = false;
                for (mine, theirs) in mine.iter_mut().zip(theirs) {
                    let both = joined(*mine, *theirs);
                    less |= both != *mine;
                    *mine = both;
                }
                less
            }
        }
    }
}

/// Three ids that share a register, each up to `last`.
fn packed_ids(last: u64) -> Value {
    let of_each = |id: u64| id | id << ID_BITS | id << (2 * ID_BITS);
    let used = of_each(below(last));
    Value {
        lo: 0,
        hi: of_each(last),
        zeros: !used,
        ones: 0,
    }
}

/// A dword of the kernarg segment.
fn argument(launches: &Launches<'_>, offset: u64) -> Value {
    Value {
        lo: 0,
        hi: !launches.zeros_of_argument(offset),
        zeros: launches.zeros_of_argument(offset),
        ones: 0,
    }
}

/// Whether a sum of two numbers of 32 bits and a carry carries.
fn carry(a: Value, b: Value, carried: Value) -> Value {
    let most = a.hi.saturating_add(b.hi).saturating_add(carried.hi);
    Value::up_to(u64::from(most > low(32)))
}

/// Whether a difference of such numbers borrows.
fn borrow(a: Value, b: Value, borrowed: Value) -> Value {
    Value::up_to(u64::from(a.lo < b.hi.saturating_add(borrowed.hi)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{BARE_KERNEL, CodeObject, Kernel};
    use crate::target::Target;

    /// A kernel that ends, for workgroups of so many work-items at most.
    fn kernel(most: u32) -> Kernel {
        let end = 0xbfb0_0000_u32.to_le_bytes();
        let code = CodeObject::bare(Target::Gfx1100, &end, 0, 0, 0).unwrap();
        let mut kernel = code.kernel(BARE_KERNEL).unwrap().with_program(None);
        kernel.max_workgroup_size = most;
        kernel
    }

    #[test]
    fn work_item_ids_are_below_what_the_kernel_is_made_for() {
        for most in [1, 32, 96, 256, 1024] {
            let entry = State::at_entry(&Launches::any(&kernel(most)), Isa::Rdna3, 4, 32);
            let ids = entry.vector(0);
            let holds = |number: u64| ids.lo <= number && number <= ids.hi && number & ids.zeros == 0;
            let last = u64::from(most) - 1;
            for id in [0, last / 2, last] {
                assert!(
                    holds(id) && holds(id << 10 | id) && holds(id << 20 | id << 10 | id),
                    "{id} of {most}"
                );
            }
            // What such a kernel is launched with in no case, and another is.
            let beyond = u64::from(most.next_power_of_two());
            assert!(beyond > 1023 || !holds(beyond) && !holds(beyond << 20), "{most}");
        }
        assert!(
            State::at_entry(&Launches::any(&kernel(1024)), Isa::Rdna3, 4, 32)
                .vector(0)
                .zeros
                & 0x3fff_ffff
                == 0
        );
    }

    /// Loads the numbers of work-items, puts the address of the number of workgroups together and loads that, and multiplies them in pairs:
    /// `s_mul_hi_u32 s9, s7, s6`, `s_mul_i32 s10, s6, s7`, `s_mul_i32 s11, s2, s7`, `s_mul_i32 s12, s2, s8`, `s_mul_i32 s13, s2, s6`,
    /// `s_mul_i32 s14, s3, s6`, and `s_mul_i32 s15, s2, s7` of another `s7`.
    const PRODUCTS: &[u32] = &[
        0xf400_00c0,
        0xf800_0014,
        0x8004_8800,
        0x8205_8001,
        0xf400_0182,
        0xf800_0000,
        0x8b07_ff03,
        0x0000_ffff,
        0x8508_9003,
        0x9689_0607,
        0x960a_0706,
        0x960b_0702,
        0x960c_0802,
        0x960d_0602,
        0x960e_0603,
        0xbe87_000c,
        0x960f_0702,
        0xbfb0_0000,
    ];

    #[test]
    fn workgroups_times_work_items_of_each_are_few_and_other_products_are_not() {
        // The number of the workgroup is in s2.
        let rsrc2 = 2 << 1 | 1 << 7;
        let code: Vec<u8> = PRODUCTS.iter().flat_map(|word| word.to_le_bytes()).collect();
        let code = CodeObject::bare(Target::Gfx1100, &code, rsrc2, 0, 24).unwrap();
        let mut kernel = code.kernel(BARE_KERNEL).unwrap().with_program(None);
        let arg = |offset, size, kind| code_object::Arg {
            name: None,
            offset,
            size,
            kind,
        };
        kernel.args = vec![
            arg(8, 4, code_object::ArgKind::HiddenBlockCount(0)),
            arg(20, 2, code_object::ArgKind::HiddenGroupSize(0)),
            arg(22, 2, code_object::ArgKind::HiddenGroupSize(1)),
        ];
        let program = code.program(&kernel).unwrap();
        let products = |launches: &Launches<'_>| {
            let mut state = State::at_entry(launches, Isa::Rdna3, 4, 32);
            for inst in program.insts() {
                state.step(inst, launches);
            }
            [9, 10, 11, 12, 13, 14, 15].map(|n| state.scalar(n).hi)
        };
        let (few, any) = (low(31), low(32));
        let small = products(&Launches::small(&kernel));
        assert_eq!(small, [0, few, few, any, any, any, any]);
        let all = products(&Launches::any(&kernel));
        assert!(all[0] > 0 && all[1..] == [any; 6], "{all:x?}");
    }
}
