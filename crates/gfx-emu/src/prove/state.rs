//! What is known of the registers of a wave at a place in a kernel, whichever launch it is of.
//!
//! A scalar register is a set of numbers. Of vector registers more is known of some lanes than of all: the active ones, and
//! those that a mask in scalar registers names, which become active again when the mask is joined to EXEC. So each such
//! mask has its own sets, which hold for each lane of the mask. A lane's register is written while the lane is active.

mod step;
#[cfg(test)]
mod tests;

use super::function::{Applied, Function};
use super::grid::Grid;
use super::guards::Guards;
use super::launches::Launches;
use super::masks::{self, Change, EXEC, Masks};
use super::operands::{self, Half};
use super::value::{Value, below, low};
use crate::isa::{Inst, Isa, Op, Part, ScalarAccess, Space, Src, Transfer, Unit};
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
