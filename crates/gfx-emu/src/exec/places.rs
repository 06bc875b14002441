//! Where the lanes of a wave go in memory: a base, an offset for each, and what the offsets have in common.
//!
//! What is done at these places is in batch.rs, how an address is made in address.rs.

use super::address::{self, Rule};
use super::host::Host;
use super::lane;
use crate::fault::Access;
use crate::isa::{Inst, Space};
use crate::memory::Span;
use crate::wave::{Group, Row, SHARED_BASE, Wave};

/// Lanes that are looked at together: as many as a vector register of the host has.
pub(super) const RUN: usize = 8;

/// Lanes of the widest waves.
const LANES: usize = 64;

/// How the places of the lanes follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// All lanes go to one place.
    One,
    /// Each lane goes after the one before it, without gaps.
    Row,
    /// The same within each [`RUN`] lanes.
    Rows,
    /// Each [`RUN`] lanes go to one place.
    Ones,
    /// Anything else.
    Any,
}

/// Where the lanes go: a common base, and an offset each. Lanes that are not active go where the first active one goes.
#[derive(Clone, Copy)]
pub(super) struct Places<const W: usize> {
    base: u64,
    pub(super) offsets: Row<W>,
    pub(super) lowest: u32,
    pub(super) highest: u32,
    /// Bits in which offsets differ from the first, where there is no pattern.
    pub(super) differing: u32,
    pub(super) pattern: Pattern,
    /// The offsets are LDS addresses.
    pub(super) local: bool,
}

/// Finds the places of accesses of `bytes` bytes; `false` when no lane is active, or when the places are not a base and
/// offsets. Compiled for the host once for all instructions.
#[inline(never)]
pub(super) fn find<H: Host, const W: usize>(
    host: H,
    wave: &Wave<W>,
    inst: &Inst,
    imm: i32,
    bytes: u32,
    places: &mut Places<W>,
) -> bool {
    let found = host.run(
        #[inline(always)]
        || places.locate(wave, inst, imm).is_some(),
    );
    if found {
        places.look(host, bytes);
    }
    found
}

impl<const W: usize> Places<W> {
    /// Before anything was found.
    pub(super) const NOWHERE: Places<W> = Places {
        base: 0,
        offsets: Row::ZERO,
        lowest: 0,
        highest: 0,
        differing: 0,
        pattern: Pattern::Any,
        local: false,
    };

    #[inline(always)]
    fn locate(&mut self, wave: &Wave<W>, inst: &Inst, imm: i32) -> Option<()> {
        let first = wave.active.trailing_zeros() as usize;
        self.local = inst.space == Space::Lds;
        // The register that the lanes add, and what comes on top of it.
        let (low, added) = match address::rule(wave, inst, imm) {
            Rule::Base { base, index } => {
                self.base = base;
                (wave.vgpr.get(usize::from(index?))?, 0)
            }
            Rule::Multiple {
                base,
                register,
                factor: 1,
            } => {
                let row = wave.vgpr.get(usize::from(register))?;
                let all = masked(row, 0, *row.get(first)?, wave.active);
                // A negative index would be far above the base here.
                all.iter().all(|index| index >> 31 == 0).then_some(())?;
                self.base = base;
                (row, 0)
            }
            Rule::Multiple { .. } => return None,
            Rule::Pair { register, offset } => {
                let register = usize::from(register);
                let (low, high) = (wave.vgpr.get(register)?, wave.vgpr.get(register + 1)?);
                let common = *high.get(first)?;
                if !is_all(&masked(high, 0, common, wave.active), common) {
                    return None;
                }
                self.base = u64::from(common) << 32;
                if inst.space == Space::Flat && self.base == SHARED_BASE {
                    self.local = true;
                    self.base = 0;
                    let added = offset as u32;
                    // A sum that leaves the aperture is not an LDS address.
                    low.iter()
                        .all(|low| low.checked_add(added).is_some())
                        .then_some(())?;
                    (low, added)
                } else {
                    self.base = self.base.wrapping_add(offset);
                    (low, 0)
                }
            }
            Rule::Narrow { base, index, .. } if self.local => (wave.vgpr.get(usize::from(index?))?, base),
            Rule::Narrow { .. } => return None,
        };
        self.offsets.0 = masked(low, added, *low.get(first)?, wave.active);
        Some(())
    }

    /// Finds out what the offsets have in common.
    #[inline(always)]
    fn look<H: Host>(&mut self, host: H, bytes: u32) {
        let offsets = &self.offsets.0;
        let mut firsts = [offsets[0]; LANES / RUN];
        for (first, run) in firsts.iter_mut().zip(offsets.as_chunks::<RUN>().0) {
            *first = run[0];
        }
        let lowest = firsts.into_iter().fold(u32::MAX, u32::min);
        let highest = firsts.into_iter().fold(0, u32::max);
        let mut heads = Row::ZERO;
        head(host, offsets, &mut heads);
        let steps = steps(bytes);
        let reach = steps[RUN - 1];
        self.differing = 0;
        (self.pattern, self.lowest, self.highest) =
            if highest <= u32::MAX - reach && rises(host, offsets, &heads, steps) {
                let mut gaps = 0;
                for (number, first) in firsts[..W / RUN].iter().enumerate() {
                    gaps |= first ^ offsets[0].wrapping_add(bytes * (RUN * number) as u32);
                }
                let row = gaps == 0 && lowest == offsets[0];
                let pattern = if row { Pattern::Row } else { Pattern::Rows };
                (pattern, lowest, highest + reach)
            } else if rises(host, offsets, &heads, &[0; LANES]) {
                let pattern = if lowest == highest {
                    Pattern::One
                } else {
                    Pattern::Ones
                };
                (pattern, lowest, highest)
            } else {
                let first = offsets[0];
                self.differing = fold(host, offsets, 0, |all, offset| all | (offset ^ first));
                (
                    Pattern::Any,
                    fold(host, offsets, u32::MAX, u32::min),
                    fold(host, offsets, 0, u32::max),
                )
            };
    }

    /// The lanes' device memory, when one allocation holds `bytes` bytes for each of them.
    #[inline(always)]
    pub(super) fn span<'a>(
        &self,
        wave: &mut Wave<W>,
        group: &Group<'a>,
        bytes: u32,
        access: Access,
    ) -> Option<Span<'a>> {
        let start = self.base.checked_add(u64::from(self.lowest))?;
        let size = u64::from(self.highest - self.lowest) + u64::from(bytes);
        group.memory.span(start, size, access, &mut wave.cursor)
    }

    /// What comes off an offset to make it a place in the lanes' memory.
    #[inline(always)]
    pub(super) fn start(&self) -> u32 {
        if self.local { 0 } else { self.lowest }
    }
}

/// The row with `added` on top of every lane, and with `common` for those that are not active.
#[inline(always)]
fn masked<const W: usize>(row: &[u32; W], added: u32, common: u32, active: u64) -> [u32; W] {
    let mut out = [0; W];
    if active == Wave::<W>::ALL {
        for i in 0..W {
            out[i] = row[i].wrapping_add(added);
        }
        return out;
    }
    let mask = lane::spread::<W>(active);
    for i in 0..W {
        out[i] = (common ^ (common ^ row[i]) & mask[i]).wrapping_add(added);
    }
    out
}

/// Whether all lanes are `common`.
#[inline(always)]
fn is_all<const W: usize>(row: &[u32; W], common: u32) -> bool {
    let mut partial = [0; RUN];
    for run in row.as_chunks::<RUN>().0 {
        for (partial, lane) in partial.iter_mut().zip(run) {
            *partial |= lane ^ common;
        }
    }
    partial.into_iter().fold(0, |all, bits| all | bits) == 0
}

// The compiler makes vector code of what follows because each is a function of its own, and rows are its only arguments.

/// The first lane of each run, in every lane of the run.
#[inline(never)]
fn head<H: Host, const W: usize>(host: H, row: &[u32; W], heads: &mut [u32; W]) {
    host.run(
        #[inline(always)]
        || {
            for (heads, run) in heads
                .as_chunks_mut::<RUN>()
                .0
                .iter_mut()
                .zip(row.as_chunks::<RUN>().0)
            {
                *heads = [run[0]; RUN];
            }
        },
    );
}

/// Whether each lane is so far after the head of its run.
#[inline(never)]
fn rises<H: Host, const W: usize>(host: H, row: &[u32; W], heads: &[u32; W], steps: &[u32; LANES]) -> bool {
    host.run(
        #[inline(always)]
        || {
            let mut apart = 0;
            for i in 0..W {
                apart |= row[i] ^ heads[i].wrapping_add(steps[i]);
            }
            apart == 0
        },
    )
}

/// All lanes put together by `f`.
#[inline(never)]
fn fold<H: Host, const W: usize>(host: H, row: &[u32; W], first: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    host.run(
        #[inline(always)]
        || row.iter().fold(first, |all, lane| f(all, *lane)),
    )
}

/// How far each lane is after the first of its run, where places of so many bytes follow each other.
#[inline(always)]
fn steps(bytes: u32) -> &'static [u32; LANES] {
    const fn of(bytes: u32) -> [u32; LANES] {
        let mut steps = [0; LANES];
        let mut lane = 0;
        while lane < LANES {
            steps[lane] = bytes * (lane % RUN) as u32;
            lane += 1;
        }
        steps
    }
    static STEPS: [[u32; LANES]; 6] = [of(1), of(2), of(4), of(8), of(12), of(16)];
    match bytes {
        1 => &STEPS[0],
        2 => &STEPS[1],
        4 => &STEPS[2],
        8 => &STEPS[3],
        12 => &STEPS[4],
        _ => &STEPS[5],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::host::Portable;

    /// What is found of these offsets, for accesses of so many bytes.
    fn found<const W: usize>(bytes: u32, offset: impl Fn(u32) -> u32) -> (Pattern, [u32; 3]) {
        let mut places = Places::<W>::NOWHERE;
        for (lane, place) in (0..).zip(places.offsets.iter_mut()) {
            *place = offset(lane);
        }
        places.look(Portable, bytes);
        let mut wide = places;
        #[cfg(target_arch = "x86_64")]
        if let Some(host) = crate::exec::host::Wide::detect() {
            wide.look(host, bytes);
        }
        let facts = |places: &Places<W>| (places.pattern, [places.lowest, places.highest, places.differing]);
        assert!(facts(&wide) == facts(&places), "both hosts find the same");
        let offsets = places.offsets.iter().copied();
        assert_eq!(Some(places.lowest), offsets.clone().min());
        assert_eq!(Some(places.highest), offsets.max());
        facts(&places)
    }

    /// The pattern of waves of both widths.
    fn pattern(bytes: u32, offset: impl Fn(u32) -> u32) -> Pattern {
        let narrow = found::<32>(bytes, &offset).0;
        assert!(narrow == found::<64>(bytes, &offset).0, "waves of both widths");
        narrow
    }

    #[test]
    fn each_pattern_is_found_for_every_size_of_an_access() {
        for bytes in [1, 2, 4, 8, 12, 16] {
            assert!(pattern(bytes, |_| 40) == Pattern::One);
            assert!(pattern(bytes, |lane| 40 + bytes * lane) == Pattern::Row);
            assert!(pattern(bytes, |lane| lane / 8 * 1000 + bytes * (lane % 8)) == Pattern::Rows);
            assert!(pattern(bytes, |lane| 9000 - lane / 8 * 1000 + bytes * (lane % 8)) == Pattern::Rows);
            assert!(pattern(bytes, |lane| lane / 16 * 1000) == Pattern::Ones);
            assert!(pattern(bytes, |lane| 9000 - lane / 8 * 20) == Pattern::Ones);
            assert!(pattern(bytes, |lane| lane.pow(3) % 1009) == Pattern::Any);
        }
    }

    #[test]
    fn one_lane_out_of_line_breaks_a_pattern() {
        for odd in 0..32 {
            let shifted = |lane: u32| if lane == odd { 4 } else { 0 };
            assert!(
                pattern(4, |lane| 4 * lane + shifted(lane)) == Pattern::Any,
                "{odd}"
            );
            assert!(pattern(4, |lane| 64 + shifted(lane)) == Pattern::Any, "{odd}");
        }
    }

    #[test]
    fn rows_that_go_round_the_end_of_the_offsets_are_none() {
        for start in [u32::MAX - 3, u32::MAX - 27] {
            assert!(
                pattern(4, |lane| start.wrapping_add(4 * lane)) == Pattern::Any,
                "{start:#x}"
            );
        }
        // Between two runs, but not within one.
        for start in [u32::MAX - 28, u32::MAX - 31] {
            assert!(
                pattern(4, |lane| start.wrapping_add(4 * lane)) == Pattern::Rows,
                "{start:#x}"
            );
        }
        assert!(found::<32>(4, |lane| u32::MAX - 127 + 4 * lane).0 == Pattern::Row);
    }

    #[test]
    fn offsets_without_a_pattern_tell_which_bits_differ() {
        assert_eq!(found::<32>(4, |lane| 16 * (lane ^ 5)).1[2], 16 * 31);
        assert_eq!(found::<32>(4, |lane| 4 * lane).1[2], 0);
    }
}
