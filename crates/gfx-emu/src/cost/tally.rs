//! What one workgroup did, and the sum over workgroups.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{BANKS, Class, Counters, SCALAR_LINE, matrix_cycles, vector_line};
use crate::fault::Access;
use crate::isa::{Inst, Isa};

/// CacheLines of a cache, a bit each: 64 of them by the number of the first.
#[derive(Debug, Default)]
struct CacheLines {
    pages: BTreeMap<u64, u64>,
    /// The page that was used last, and its bits, which are not in `pages` yet.
    last: (u64, u64),
}

impl CacheLines {
    fn add(&mut self, line: u64) {
        let (page, bit) = (line / 64, 1 << (line % 64));
        if self.last.0 != page {
            self.settle();
            self.last.0 = page;
        }
        self.last.1 |= bit;
    }

    /// Has everything in `pages`.
    fn settle(&mut self) {
        let (page, bits) = std::mem::take(&mut self.last);
        if bits != 0 {
            *self.pages.entry(page).or_default() |= bits;
        }
    }

    fn count(&self) -> u64 {
        self.pages.values().map(|bits| u64::from(bits.count_ones())).sum()
    }

    fn merge(&mut self, other: &CacheLines) {
        for (page, bits) in &other.pages {
            *self.pages.entry(*page).or_default() |= bits;
        }
    }
}

/// What the waves of one workgroup did.
#[derive(Debug)]
pub(crate) struct Tally {
    counters: Counters,
    lines: CacheLines,
    line: u64,
    /// Lanes of a wave.
    lanes: u64,
}

impl Tally {
    /// Of a workgroup of so many work-items, in waves of `lanes` lanes.
    pub(crate) fn new(isa: Isa, lanes: usize, work_items: usize) -> Tally {
        Tally {
            counters: Counters {
                workgroups: 1,
                waves: work_items.div_ceil(lanes) as u64,
                work_items: work_items as u64,
                ..Counters::default()
            },
            lines: CacheLines::default(),
            line: vector_line(isa),
            lanes: lanes as u64,
        }
    }

    /// An instruction was executed with these lanes active. Of memory operations only that there was one.
    #[inline]
    pub(crate) fn executed(&mut self, inst: &Inst, active: u64) {
        let weight = u64::from(inst.weight);
        let counters = &mut self.counters;
        let counter = match inst.class {
            Class::Valu => &mut counters.valu,
            Class::Transcendental => &mut counters.transcendental,
            Class::Multiply => &mut counters.multiply,
            Class::Double => &mut counters.double,
            Class::Matrix => {
                counters.matrix_cycles += matrix_cycles(inst);
                counters.matrix += weight;
                return;
            }
            Class::Salu => return counters.salu += weight,
            Class::Branch => return counters.branch += weight,
            Class::Wait => return counters.wait += weight,
            Class::Barrier => return counters.barrier += weight,
            Class::Smem => return counters.smem += weight,
            Class::Lds => return counters.lds += weight,
            // A request counts by what it does.
            Class::Vmem => return,
        };
        *counter += weight;
        counters.active_lanes += weight * u64::from(active.count_ones());
        counters.lane_slots += weight * self.lanes;
    }

    /// Waits were passed together with what is before them.
    pub(crate) fn waited(&mut self, waits: u64) {
        self.counters.wait += waits;
    }

    /// A scalar memory operation at so many bytes from an address on.
    pub(crate) fn scalar(&mut self, address: u64, bytes: u64) {
        if bytes > 0 {
            self.counters.smem_bytes += bytes;
            self.counters.smem_lines += (address + bytes - 1) / SCALAR_LINE - address / SCALAR_LINE + 1;
        }
    }

    /// A vector memory instruction of that kind, one request.
    pub(crate) fn request(&mut self, access: Access) {
        match access {
            Access::Load => self.counters.vmem_load += 1,
            Access::Store => self.counters.vmem_store += 1,
            Access::Atomic => self.counters.vmem_atomic += 1,
        }
    }

    /// The places in device memory that the lanes of one request name: start and bytes of each.
    pub(crate) fn device(&mut self, spans: &mut [(u64, u64)]) {
        if !spans.is_sorted() {
            spans.sort_unstable();
        }
        // The end of what has been seen, and the number of the line after the last that counts.
        let (mut end, mut next) = (0, 0);
        for (start, bytes) in spans.iter().copied().filter(|(_, bytes)| *bytes > 0) {
            self.counters.lane_bytes += bytes;
            let stop = start.saturating_add(bytes);
            self.counters.useful_bytes += stop.saturating_sub(start.max(end));
            end = end.max(stop);
            let (first, last) = (start / self.line, (stop - 1) / self.line);
            for line in first.max(next)..=last {
                self.counters.lines += 1;
                self.lines.add(line);
            }
            next = next.max(last + 1);
        }
    }

    /// Private memory that lanes loaded or stored.
    pub(crate) fn scratch(&mut self, bytes: u64) {
        self.counters.scratch_bytes += bytes;
    }

    /// The LDS is busy for so many clocks without accesses to banks: exchanges between lanes, counters.
    pub(crate) fn share(&mut self, clocks: u64) {
        self.counters.lds_cycles += clocks;
    }

    /// An LDS access of each active lane: its place, and so many bytes from there on.
    ///
    /// The lanes are served in phases, of as many lanes as have together a dword for each bank: 32 lanes of a dword, 16 of two,
    /// 8 of three or four. In a phase each bank serves one dword a clock, to all lanes that name it; read-modify-writes of one
    /// dword are served one after the other. A phase without active lanes takes no clock.
    pub(crate) fn banks(&mut self, places: &[Option<u64>], bytes: u64, atomic: bool) {
        let words = bytes.div_ceil(4).next_power_of_two();
        for phase in places.chunks((BANKS / words).max(1) as usize) {
            // Five dwords of each of eight lanes at most, where places are misaligned.
            let (mut dwords, mut count) = ([0_u64; 64], 0);
            for place in phase.iter().flatten() {
                self.counters.lds_bytes += bytes;
                for dword in place / 4..=(place + bytes - 1) / 4 {
                    if let Some(slot) = dwords.get_mut(count) {
                        *slot = dword;
                        count += 1;
                    }
                }
            }
            let dwords = &mut dwords[..count];
            dwords.sort_unstable();
            let mut clocks = [0_u64; BANKS as usize];
            let mut before = None;
            for dword in dwords.iter() {
                if atomic || before != Some(*dword) {
                    clocks[(dword % BANKS) as usize] += 1;
                }
                before = Some(*dword);
            }
            let most = clocks.iter().copied().max().unwrap_or(0);
            self.counters.lds_cycles += most;
            self.counters.lds_conflicts += most.saturating_sub(1);
        }
    }
}

/// What the workgroups of a launch did so far. They may end in any order.
#[derive(Debug, Default)]
pub(crate) struct Total(Mutex<(Counters, CacheLines)>);

impl Total {
    /// A workgroup ended.
    pub(crate) fn add(&self, mut tally: Tally) {
        tally.lines.settle();
        tally.counters.group_lines = tally.lines.count();
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        total.0 += &tally.counters;
        total.1.merge(&tally.lines);
    }

    /// The sums.
    pub(crate) fn counters(self) -> Counters {
        let (mut counters, lines) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        counters.launch_lines = lines.count();
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(isa: Isa) -> Tally {
        Tally::new(isa, 32, 32)
    }

    /// Bytes of lanes, bytes once, lines.
    fn device(isa: Isa, spans: &[(u64, u64)]) -> [u64; 3] {
        let mut tally = tally(isa);
        tally.device(&mut spans.to_vec());
        [
            tally.counters.lane_bytes,
            tally.counters.useful_bytes,
            tally.counters.lines,
        ]
    }

    fn spans(of: impl Fn(u64) -> u64, bytes: u64) -> Vec<(u64, u64)> {
        (0..32).map(|lane| (of(lane), bytes)).collect()
    }

    #[test]
    fn lines_are_those_that_a_request_touches() {
        let base = 0x1000;
        assert_eq!(device(Isa::Rdna3, &spans(|i| base + 4 * i, 4)), [128, 128, 1]);
        assert_eq!(device(Isa::Cdna2, &spans(|i| base + 4 * i, 4)), [128, 128, 2]);
        assert_eq!(
            device(Isa::Rdna3, &spans(|i| base + 64 + 4 * i, 4)),
            [128, 128, 2]
        );
        assert_eq!(device(Isa::Rdna3, &spans(|i| base + 256 * i, 4)), [128, 128, 32]);
        assert_eq!(device(Isa::Rdna3, &spans(|_| base, 4)), [128, 4, 1]);
        assert_eq!(
            device(Isa::Rdna3, &spans(|i| base + 4 * (31 - i), 4)),
            [128, 128, 1]
        );
        // Two lanes overlap by half, and one lane lies on two lines.
        assert_eq!(device(Isa::Rdna3, &[(base, 8), (base + 4, 8)]), [16, 12, 1]);
        assert_eq!(device(Isa::Rdna3, &[(base + 126, 4)]), [4, 4, 2]);
        assert_eq!(device(Isa::Rdna3, &[(base, 0)]), [0, 0, 0]);
    }

    /// Clocks and conflicts of an access of 32 lanes.
    fn banks(of: impl Fn(u64) -> Option<u64>, bytes: u64, atomic: bool) -> [u64; 2] {
        let places: Vec<_> = (0..32).map(of).collect();
        let mut tally = tally(Isa::Rdna3);
        tally.banks(&places, bytes, atomic);
        [tally.counters.lds_cycles, tally.counters.lds_conflicts]
    }

    #[test]
    fn a_bank_serves_one_dword_a_clock() {
        assert_eq!(banks(|i| Some(4 * i), 4, false), [1, 0]);
        assert_eq!(banks(|i| Some(8 * i), 4, false), [2, 1]);
        assert_eq!(banks(|i| Some(128 * i), 4, false), [32, 31]);
        assert_eq!(banks(|i| Some(132 * i), 4, false), [1, 0], "padded by a dword");
        assert_eq!(banks(|_| Some(64), 4, false), [1, 0], "one dword for all");
        assert_eq!(banks(|_| Some(64), 4, true), [32, 31], "one after the other");
        assert_eq!(banks(Some, 1, false), [1, 0], "four lanes in a dword");
        assert_eq!(
            banks(|i| Some(16 * i), 16, false),
            [4, 0],
            "four phases of eight lanes"
        );
        assert_eq!(banks(|i| Some(8 * i), 8, false), [2, 0]);
        assert_eq!(banks(|i| (i < 3).then_some(128 * i), 4, false), [3, 2]);
        assert_eq!(banks(|_| None, 4, false), [0, 0]);
    }

    #[test]
    fn the_same_lines_of_two_workgroups_count_twice_for_them_and_once_for_the_launch() {
        let total = Total::default();
        for start in [0x1000, 0x1080] {
            let mut tally = tally(Isa::Rdna3);
            tally.device(&mut [(start, 4), (start + 128, 4)]);
            tally.device(&mut [(start, 4)]);
            total.add(tally);
        }
        let counters = total.counters();
        assert_eq!(
            [counters.lines, counters.group_lines, counters.launch_lines],
            [6, 4, 3]
        );
        assert_eq!(counters.workgroups, 2);
    }
}
