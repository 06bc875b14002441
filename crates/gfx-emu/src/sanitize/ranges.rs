//! Address ranges with an owner each, none of them overlapping: who touched which bytes last.
//!
//! A wave touches neighbouring bytes, so that a launch needs few ranges for many bytes.

use std::collections::BTreeMap;

/// A range that somebody touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TouchedRange<T> {
    /// First address.
    pub(super) start: u64,
    /// Address after the last.
    pub(super) end: u64,
    /// Who touched it.
    pub(super) who: T,
    /// Where in the code.
    pub(super) pc: u32,
}

/// The ranges by their first address.
#[derive(Clone, Debug)]
pub(super) struct Ranges<T> {
    spans: BTreeMap<u64, TouchedRange<T>>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Ranges {
            spans: BTreeMap::new(),
        }
    }
}

impl<T: Copy + PartialEq> Ranges<T> {
    /// How many ranges there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The ranges with a byte between two addresses, ascending. Most often there are none, or one that begins before: one search.
    pub(super) fn between(&self, start: u64, end: u64) -> impl Iterator<Item = &TouchedRange<T>> {
        let last = self.spans.range(..end).next_back().map(|(_, span)| span);
        let last = last.filter(|span| span.end > start && start < end);
        let one = last.filter(|span| span.start <= start);
        let several = last.filter(|span| span.start > start).map(|_| {
            let before = self.spans.range(..start).next_back().map(|(_, span)| span);
            let inside = self.spans.range(start..end).map(|(_, span)| span);
            before.filter(|span| span.end > start).into_iter().chain(inside)
        });
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// `who` touches the bytes between two addresses now; what others did there is forgotten.
    pub(super) fn insert(&mut self, start: u64, end: u64, who: T, pc: u32) {
        if start >= end {
            return;
        }
        let cut: Vec<TouchedRange<T>> = self.between(start, end).copied().collect();
        // Already its own: by far the usual case of a loop.
        if let [span] = cut[..]
            && span.who == who
            && span.start <= start
            && span.end >= end
        {
            return;
        }
        for span in cut {
            self.spans.remove(&span.start);
            if span.start < start {
                self.spans.insert(span.start, TouchedRange { end: start, ..span });
            }
            if span.end > end {
                self.spans.insert(end, TouchedRange { start: end, ..span });
            }
        }
        if let Some((_, last)) = self.spans.range_mut(..start).next_back()
            && last.end == start
            && last.who == who
        {
            last.end = end;
            return;
        }
        self.spans.insert(start, TouchedRange { start, end, who, pc });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The owner of each byte below 40.
    fn owners(ranges: &Ranges<u8>) -> Vec<Option<u8>> {
        let owner = |byte| ranges.between(byte, byte + 1).next().map(|span| span.who);
        (0..40).map(owner).collect()
    }

    #[test]
    fn each_byte_belongs_to_who_touched_it_last() {
        let mut ranges = Ranges::default();
        let mut bytes = vec![None; 40];
        let mut state = 1_u64;
        for round in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (start, len, who) = (state >> 33 & 31, state >> 40 & 7, (state >> 60) as u8 & 3);
            ranges.insert(start, start + len, who, round);
            bytes[start as usize..(start + len) as usize].fill(Some(who));
            assert_eq!(owners(&ranges), bytes, "round {round}");
        }
    }

    #[test]
    fn neighbours_of_one_owner_are_one_range() {
        let mut ranges = Ranges::default();
        (0..100).for_each(|i| ranges.insert(4 * i, 4 * i + 4, 7, i as u32));
        assert_eq!(ranges.len(), 1);
        ranges.insert(200, 204, 8, 1);
        assert_eq!(ranges.len(), 3);
    }

    #[test]
    fn an_empty_range_touches_nothing() {
        let mut ranges = Ranges::default();
        ranges.insert(8, 8, 1, 0);
        ranges.insert(0, 16, 2, 0);
        assert_eq!(ranges.between(4, 4).count(), 0);
        assert_eq!(ranges.between(15, 99).count(), 1);
    }
}
