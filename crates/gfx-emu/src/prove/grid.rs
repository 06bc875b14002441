//! Scalar registers that hold a number of the grid: how many workgroups, the number of one, and work-items of each. Their products are numbers of
//! work-items, of which a launch has few.

use code_object::{ArgKind, UserSgpr};

use super::launches::Launches;
use crate::isa::{Control, Inst, Isa, Op, ScalarAccess, Space, Src, Unit};
use crate::wave::reg;

/// A number of the grid, in a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Workgroups, or the number of one.
    Groups(u8),
    /// Work-items of a workgroup.
    Items(u8),
    /// Those of the first dimension in the lower half, of the second in the upper one.
    BothItems,
}

/// The lower half of an address of an argument: its register, and how far that is from the first argument.
type Address = (u8, u64);
/// Such a half without its upper one: the same, with the register of the address that it was made of in the middle.
type LowerHalf = (u8, u8, u64);

/// What is known of scalar registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    numbers: [Option<Number>; 128],
    /// The lower half of the address of an argument, and how far that is from the first one. The upper half is in the register after it.
    addresses: [Option<u64>; 128],
    /// A lower half without its upper one, the register of the address that it was made of, and its distance. SCC is its carry.
    half: Option<LowerHalf>,
}

impl Grid {
    /// At the entry of a kernel.
    pub(super) fn at_entry(launches: &Launches<'_>, isa: Isa) -> Grid {
        let mut grid = Grid {
            numbers: [None; 128],
            addresses: [None; 128],
            half: None,
        };
        let descriptor = &launches.kernel.descriptor;
        let mut next = 0;
        for register in descriptor.user_sgprs() {
            if register == UserSgpr::KernargSegmentPtr && next < 127 {
                grid.addresses[next] = Some(0);
            }
            next += register.registers();
        }
        let mut next = descriptor.user_sgpr_count();
        for (dimension, enabled) in descriptor.workgroup_id_enabled().into_iter().enumerate() {
            if enabled && !isa.is_gfx12() && next < 128 {
                grid.numbers[next] = Some(Number::Groups(dimension as u8));
                next += 1;
            }
        }
        if isa.is_gfx12() {
            grid.numbers[reg::TTMP9] = Some(Number::Groups(0));
        }
        grid
    }

    /// Whether two sources are factors of a number of work-items.
    pub(super) fn are_factors(&self, one: Src, other: Src) -> bool {
        let number = |src: Src| match src {
            Src::Scalar(n) => self.numbers[usize::from(n & 127)],
            _ => None,
        };
        match (number(one), number(other)) {
            (Some(Number::Groups(a)), Some(Number::Items(b)))
            | (Some(Number::Items(a)), Some(Number::Groups(b))) => a == b,
            _ => false,
        }
    }

    /// How far the argument at `imm` from a register is from the first one.
    pub(super) fn offset(&self, inst: &Inst) -> Option<u64> {
        let known = self.addresses[usize::from(inst.base & 127)];
        let plain = inst.space == Space::Global && usize::from(inst.soffset) == reg::NULL;
        let offset = known.filter(|_| plain)?.checked_add_signed(inst.imm.into())?;
        Some(offset & !3)
    }

    /// What an instruction leaves in its destination, one entry a register, before that is written.
    pub(super) fn results(&self, inst: &Inst, launches: &Launches<'_>) -> Vec<Option<Number>> {
        let of_src = |src: Src| match src {
            Src::Scalar(n) => self.numbers[usize::from(n & 127)],
            _ => None,
        };
        match (inst.unit, inst.op) {
            (Unit::ScalarMemory(ScalarAccess::Load(words)), _) => {
                let first = self.offset(inst);
                let word = |i: u8| number_at(launches, first? + 4 * u64::from(i));
                (0..words).map(word).collect()
            }
            (_, Op::SMovB32) => vec![of_src(inst.src[0])],
            (_, Op::SAndB32) if of_src(inst.src[0]) == Some(Number::BothItems) => {
                vec![(inst.src[1] == Src::Const(0xffff)).then_some(Number::Items(0))]
            }
            (_, Op::SLshrB32) if of_src(inst.src[0]) == Some(Number::BothItems) => {
                vec![(inst.src[1] == Src::Const(16)).then_some(Number::Items(1))]
            }
            _ => vec![],
        }
    }

    /// What an instruction makes of addresses, before its destination is written.
    pub(super) fn addresses_of(&self, inst: &Inst) -> (Option<Address>, Option<LowerHalf>) {
        let dst = inst.dst as u8;
        match (inst.op, inst.src[0], inst.src[1]) {
            (Op::SMovB64, Src::Scalar(n), _) => {
                (self.addresses[usize::from(n & 127)].map(|at| (dst, at)), None)
            }
            (Op::SAddU32, Src::Scalar(n), Src::Const(more)) if n < 127 && more < 1 << 31 => {
                let at = self.addresses[usize::from(n)];
                (None, at.map(|at| (dst, n, at + more)))
            }
            (Op::SAddcU32, Src::Scalar(n), Src::Const(0)) => match self.half {
                // The upper half of the address that the lower one was made of.
                Some((low, from, at)) if n == from + 1 && dst == low + 1 => (Some((low, at)), None),
                _ => (None, None),
            },
            _ => {
                let keeps = matches!(
                    inst.unit,
                    Unit::Control(Control::Wait)
                        | Unit::Lane
                        | Unit::Vector
                        | Unit::Compare
                        | Unit::Memory(_)
                );
                (None, self.half.filter(|_| keeps))
            }
        }
    }

    /// A scalar register is written.
    pub(super) fn forget(&mut self, n: usize) {
        self.numbers[n & 127] = None;
        self.addresses[n & 127] = None;
        if n > 0 {
            self.addresses[(n - 1) & 127] = None;
        }
        self.half = self
            .half
            .filter(|(low, from, _)| usize::from(*low) != n && usize::from(*from) + 1 != n);
    }

    /// After an instruction with these results.
    pub(super) fn put(
        &mut self,
        inst: &Inst,
        numbers: Vec<Option<Number>>,
        (address, half): (Option<Address>, Option<LowerHalf>),
    ) {
        for (i, number) in numbers.into_iter().enumerate() {
            let n = usize::from(inst.dst) + i;
            if let Some(place) = self.numbers.get_mut(n).filter(|_| n != reg::NULL) {
                *place = number;
            }
        }
        if let Some((n, at)) = address {
            self.addresses[usize::from(n & 127)] = Some(at);
        }
        self.half = half;
    }

    /// What holds on both of two ways; whether that is less.
    pub(super) fn meet(&mut self, other: &Grid) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.numbers.iter_mut().zip(&other.numbers) {
            *mine = mine.filter(|mine| *theirs == Some(*mine));
        }
        for (mine, theirs) in self.addresses.iter_mut().zip(&other.addresses) {
            *mine = mine.filter(|mine| *theirs == Some(*mine));
        }
        self.half = self.half.filter(|half| other.half == Some(*half));
        *self != before
    }
}

/// The number of the grid that is in a dword of the kernarg segment.
fn number_at(launches: &Launches<'_>, offset: u64) -> Option<Number> {
    let args = &launches.kernel.args;
    let arg = args.iter().find(|arg| u64::from(arg.offset) == offset)?;
    let both = || {
        args.iter()
            .any(|arg| u64::from(arg.offset) == offset + 2 && arg.kind == ArgKind::HiddenGroupSize(1))
    };
    match arg.kind {
        ArgKind::HiddenBlockCount(dimension) => Some(Number::Groups(dimension)),
        ArgKind::HiddenGroupSize(0) if arg.size == 2 && both() => Some(Number::BothItems),
        _ => None,
    }
}
