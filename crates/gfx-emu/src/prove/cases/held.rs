//! What registers hold in a kernel and in its mutant, one lane for each number of a case.

use std::collections::BTreeMap;

use super::super::demand::Demand;
use super::super::function::Bits;
use super::super::masks::{self, Assignment, EXEC, Mask, Set};

/// A vector register in the kernel and in the mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterPair<const W: usize> {
    /// What it holds in the kernel, as far as that is known.
    pub(super) kernel: [u32; W],
    /// The same in the mutant.
    pub(super) mutant: [u32; W],
    /// The bits that are known in both.
    pub(super) known: [u32; W],
    /// The bits that are not known, and may be others in the mutant.
    pub(super) unlike: [u32; W],
}

impl<const W: usize> RegisterPair<W> {
    /// It may hold anything, and the same in both.
    pub(super) const UNKNOWN: RegisterPair<W> = RegisterPair {
        kernel: [0; W],
        mutant: [0; W],
        known: [0; W],
        unlike: [0; W],
    };

    /// The bits in which the two may differ.
    pub(super) fn differing(&self, lane: usize) -> u32 {
        let known = self.known[lane];
        (self.kernel[lane] ^ self.mutant[lane]) & known | self.unlike[lane] & !known
    }

    /// One way to say the same.
    fn clear_unknown(&mut self) {
        for lane in 0..W {
            self.kernel[lane] &= self.known[lane];
            self.mutant[lane] &= self.known[lane];
            self.unlike[lane] &= !self.known[lane];
        }
    }

    /// Takes over a lane of another one.
    pub(super) fn take(&mut self, lane: usize, other: &RegisterPair<W>) {
        self.kernel[lane] = other.kernel[lane];
        self.mutant[lane] = other.mutant[lane];
        self.known[lane] = other.known[lane];
        self.unlike[lane] = other.unlike[lane];
    }

    /// A lane holds what it does here or in another one.
    pub(super) fn either(&mut self, lane: usize, other: &RegisterPair<W>) {
        let differing = self.differing(lane) | other.differing(lane);
        let kernel = self.kernel[lane] ^ other.kernel[lane];
        let mutant = self.mutant[lane] ^ other.mutant[lane];
        self.known[lane] &= other.known[lane] & !kernel & !mutant;
        self.unlike[lane] = differing & !self.known[lane];
    }
}

/// A mask in the kernel and in the mutant, one bit a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) kernel: u64,
    pub(super) mutant: u64,
    /// Lanes of which both are known.
    pub(super) known: u64,
    /// Lanes that are not known, and may be others in the mutant.
    pub(super) unlike: u64,
}

impl Lanes {
    pub(super) fn of_both(lanes: u64) -> Lanes {
        Lanes {
            kernel: lanes,
            mutant: lanes,
            known: u64::MAX,
            unlike: 0,
        }
    }

    /// The lanes in which the two may differ.
    pub(super) fn differing(self) -> u64 {
        (self.kernel ^ self.mutant) & self.known | self.unlike & !self.known
    }

    /// Lanes that are in it for certain, in both.
    pub(super) fn certain(self) -> u64 {
        self.known & self.kernel & self.mutant
    }

    /// Lanes that are not in it for certain, in both.
    pub(super) fn absent(self) -> u64 {
        self.known & !self.kernel & !self.mutant
    }

    /// What lanes hold here or in another one.
    fn either(self, other: Lanes) -> Lanes {
        let differing = self.differing() | other.differing();
        let known = self.known & other.known & !(self.kernel ^ other.kernel) & !(self.mutant ^ other.mutant);
        Lanes {
            known,
            unlike: differing & !known,
            ..self
        }
    }

    /// These lanes of one and the rest of another.
    fn mixed(self, other: Lanes, of_other: u64) -> Lanes {
        let mix = |one: u64, two: u64| one & !of_other | two & of_other;
        Lanes {
            kernel: mix(self.kernel, other.kernel),
            mutant: mix(self.mutant, other.mutant),
            known: mix(self.known, other.known),
            unlike: mix(self.unlike, other.unlike),
        }
    }

    /// A function of each bit of two masks. `same` says that they are one.
    fn of(f: Bits, a: Lanes, b: Lanes, same: bool) -> Lanes {
        let side = |of_a: u64, of_b: u64| {
            let (mut zeros, mut ones) = (0, 0);
            for (x, y) in [(false, false), (false, true), (true, false), (true, true)] {
                if same && x != y {
                    continue;
                }
                let can = |value: u64, known: u64, bit: bool| !known | if bit { value } else { !value };
                let possible = can(of_a, a.known, x) & can(of_b, b.known, y);
                match f.of([u64::from(x), u64::from(y), 0]) & 1 {
                    0 => zeros |= possible,
                    _ => ones |= possible,
                }
            }
            (ones & !zeros, ones ^ zeros)
        };
        let (kernel, known) = side(a.kernel, b.kernel);
        let (mutant, also_known) = side(a.mutant, b.mutant);
        let known = known & also_known;
        Lanes {
            kernel,
            mutant,
            known,
            unlike: (a.differing() | b.differing()) & !known,
        }
    }
}

/// What is known at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeldState<const W: usize> {
    /// Vector registers; those that are not here are [`RegisterPair::UNKNOWN`].
    rows: BTreeMap<u16, Box<RegisterPair<W>>>,
    /// Masks by their registers. Those that are not here are not known, and the same in both.
    masks: BTreeMap<u8, Lanes>,
    /// Lanes whose numbers lead to the place.
    pub(super) reached: u64,
    /// Masks without lanes but those that were active where the cases begin.
    pub(super) within: Set,
}

impl<const W: usize> HeldState<W> {
    /// Where the cases begin, all of which are active.
    pub(super) fn first(reached: u64, within: Set) -> HeldState<W> {
        HeldState {
            rows: BTreeMap::new(),
            masks: BTreeMap::from([(EXEC, Lanes::of_both(u64::MAX))]),
            reached,
            within,
        }
    }

    pub(super) fn row(&self, n: u16) -> RegisterPair<W> {
        self.rows.get(&n).map_or(RegisterPair::UNKNOWN, |row| **row)
    }

    pub(super) fn put(&mut self, n: u16, mut row: RegisterPair<W>) {
        row.clear_unknown();
        if row == RegisterPair::UNKNOWN {
            self.rows.remove(&n);
        } else {
            self.rows.insert(n, Box::new(row));
        }
    }

    pub(super) fn mask(&self, n: u8) -> Lanes {
        self.masks.get(&n).copied().unwrap_or_default()
    }

    /// Other lanes are in a mask.
    pub(super) fn put_mask(&mut self, n: u8, lanes: Lanes, within: bool) {
        self.forget_scalars(n.into(), (W / 32) as u8);
        if usize::from(n) != crate::wave::reg::NULL {
            self.masks.insert(n, lanes);
            self.within |= if within { masks::bit(n) } else { 0 };
        }
    }

    /// Scalar registers have other contents, which are the same in both.
    pub(super) fn forget_scalars(&mut self, first: u16, count: u8) {
        let Ok(first) = u8::try_from(first) else { return };
        if count == 0 || first >= 128 {
            return;
        }
        // A mask of 64 lanes begins in the register before.
        let before = if W == 64 { first.saturating_sub(1) } else { first };
        for n in before..first.saturating_add(count) {
            self.masks.remove(&n);
            self.within &= !masks::bit(n);
        }
    }

    /// The scalar registers in which masks may differ.
    pub(super) fn differing_scalars(&self) -> Set {
        let differ = |lanes: &Lanes| lanes.differing() & self.reached != 0;
        let registers = self
            .masks
            .iter()
            .filter(|(_, lanes)| differ(lanes))
            .map(|(n, _)| {
                let upper = if W == 64 {
                    masks::bit(n.saturating_add(1))
                } else {
                    0
                };
                masks::bit(*n) | upper
            });
        registers.fold(0, |all, bits| all | bits)
    }

    /// The lanes in which some bits of a vector register may differ.
    pub(super) fn differing_lanes(&self, n: u16, bits: u32) -> u64 {
        let Some(row) = self.rows.get(&n).filter(|_| bits != 0) else {
            return 0;
        };
        let lanes = (0..W).filter(|lane| row.differing(*lane) & bits != 0);
        lanes.map(|lane| 1 << lane).fold(0, |all, bit: u64| all | bit) & self.reached
    }

    /// Drops what nothing looks at: with `looked_at` of vector registers, and of scalar ones.
    pub(super) fn drop_unread(&mut self, looked_at: &Demand, live: Set) {
        self.rows.retain(|n, row| {
            let bits = looked_at.vector(*n) | looked_at.vector_of_others(*n);
            for lane in 0..W {
                let unread = row.differing(lane) & !bits;
                row.known[lane] &= !unread;
                row.unlike[lane] &= !unread;
            }
            row.clear_unknown();
            **row != RegisterPair::UNKNOWN
        });
        let halves = |n: u8| {
            masks::bit(n)
                | if W == 64 {
                    masks::bit(n.saturating_add(1))
                } else {
                    0
                }
        };
        self.masks.retain(|n, _| *n == EXEC || live & halves(*n) != 0);
    }

    /// Whether nothing differs.
    pub(super) fn is_alike(&self) -> bool {
        self.differing_scalars() == 0 && self.rows.keys().all(|n| self.differing_lanes(*n, u32::MAX) == 0)
    }

    /// Both of two ways; whether less is known, or more lanes come here.
    pub(super) fn join(&mut self, other: &HeldState<W>) -> bool {
        let before = self.clone();
        let both = self.reached & other.reached;
        let new = other.reached & !self.reached;
        let registers: Vec<u16> = self.rows.keys().chain(other.rows.keys()).copied().collect();
        for n in registers {
            let (mut row, theirs) = (self.row(n), other.row(n));
            for lane in 0..W {
                if new >> lane & 1 != 0 {
                    row.take(lane, &theirs);
                } else if both >> lane & 1 != 0 {
                    row.either(lane, &theirs);
                }
            }
            self.put(n, row);
        }
        let registers: Vec<u8> = self.masks.keys().chain(other.masks.keys()).copied().collect();
        for n in registers {
            let (mine, theirs) = (self.mask(n), other.mask(n));
            self.masks
                .insert(n, mine.mixed(mine.either(theirs), both).mixed(theirs, new));
        }
        self.reached |= other.reached;
        self.within &= other.within;
        *self != before
    }

    fn operand(&self, mask: Mask) -> Lanes {
        match mask {
            Mask::In(n) => self.mask(n),
            Mask::Nobody => Lanes::of_both(0),
            Mask::Everybody => Lanes::of_both(u64::MAX),
            Mask::Any => Lanes::default(),
        }
    }

    /// What a mask becomes that is computed of others, and whether it has lanes alone that were active at the beginning.
    pub(super) fn computed(&self, Assignment { f, a, b, .. }: Assignment) -> (Lanes, bool) {
        let within = |mask: Mask| match mask {
            Mask::In(n) => self.within & masks::bit(n) != 0,
            Mask::Nobody => true,
            Mask::Everybody | Mask::Any => false,
        };
        let is_within = match f {
            Bits::Copy | Bits::AndNot => within(a),
            Bits::And => within(a) || within(b),
            Bits::Or | Bits::Xor => within(a) && within(b),
            _ => false,
        };
        let same = a == b && matches!(a, Mask::In(_));
        (Lanes::of(f, self.operand(a), self.operand(b), same), is_within)
    }

    /// A vector register gets another content, in active lanes. `None` where a lane may be active in one of the two alone and it is not
    /// known in which.
    pub(super) fn write(&mut self, n: u16, new: &RegisterPair<W>) -> Option<()> {
        let active = self.mask(EXEC);
        if active.unlike & !active.known & self.reached != 0 {
            return None;
        }
        let mut row = self.row(n);
        for lane in 0..W {
            let is = |lanes: u64| lanes >> lane & 1 != 0;
            if !is(self.reached) || is(active.absent()) {
                continue;
            }
            if is(active.certain()) {
                row.take(lane, new);
            } else if is(active.known) {
                // In one of the two.
                let (kernel, mutant) = match is(active.kernel) {
                    true => (new.kernel[lane], row.mutant[lane]),
                    false => (row.kernel[lane], new.mutant[lane]),
                };
                (row.kernel[lane], row.mutant[lane]) = (kernel, mutant);
                row.known[lane] &= new.known[lane];
                row.unlike[lane] = !row.known[lane];
            } else {
                row.either(lane, new);
            }
        }
        self.put(n, row);
        Some(())
    }

    /// A mask becomes one of the active lanes in which something holds.
    pub(super) fn write_mask(&mut self, n: u8, holds: Lanes) {
        let active = self.mask(EXEC);
        let within = self.within & masks::bit(EXEC) != 0;
        self.put_mask(n, Lanes::of(Bits::And, active, holds, false), within);
    }
}
