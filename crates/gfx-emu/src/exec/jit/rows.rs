//! Which rows of vector registers the host's vector registers hold while compiled code runs.
//!
//! Memory always has them too: a result is stored at once. So whatever else looks at a register finds it in its row, and a row that
//! is held can be forgotten at any time.

use super::asm::Zmm;

/// The first of the host's registers that hold rows. Those below are for what an instruction computes on its way.
const FIRST: Zmm = 8;
/// How many hold rows.
const HELD: usize = 24;

/// The rows that are held.
#[derive(Debug)]
pub(super) struct HeldRows {
    /// Host registers of a row.
    chunks: usize,
    /// What each place holds, and when it was asked for last.
    places: Vec<(Option<u16>, u32)>,
    now: u32,
    /// Before this moment, a place may be given away.
    since: u32,
}

impl HeldRows {
    /// None, of waves with `lanes` lanes.
    pub(super) fn new(lanes: usize) -> HeldRows {
        let chunks = lanes / 16;
        HeldRows {
            chunks,
            places: vec![(None, 0); HELD / chunks],
            now: 0,
            since: 0,
        }
    }

    /// The next instruction: what is asked for from here on stays until the one after it.
    pub(super) fn step(&mut self) {
        self.since = self.now + 1;
    }

    /// All are forgotten.
    pub(super) fn forget(&mut self) {
        self.places.fill((None, 0));
        (self.now, self.since) = (0, 0);
    }

    /// The first host register of a row's place, and whether the row is there already.
    pub(super) fn place(&mut self, row: u16) -> (Zmm, bool) {
        self.now += 1;
        let known = self.places.iter().position(|(held, _)| *held == Some(row));
        let index = known.unwrap_or_else(|| self.oldest());
        self.places[index] = (Some(row), self.now);
        (FIRST + (index * self.chunks) as Zmm, known.is_some())
    }

    fn oldest(&self) -> usize {
        let free = self.places.iter().enumerate();
        let oldest = free.min_by_key(|(_, (held, at))| (held.is_some(), *at));
        let index = oldest.map_or(0, |(index, _)| index);
        debug_assert!(
            self.places[index].0.is_none() || self.places[index].1 < self.since,
            "an instruction names fewer rows than there are places"
        );
        index
    }
}
