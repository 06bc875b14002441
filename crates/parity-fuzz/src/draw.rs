//! Random numbers of one case, and the extents that are worth a try.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Extents at which something changes: waves, workgroups, tiles, blocks of reductions, chunks of candle's threads.
const EDGES: [usize; 38] = [
    7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024,
    1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8193, 16_383, 16_385, 32_769, 65_535, 65_536, 65_537,
];

/// Primes: nothing divides them.
const PRIMES: [usize; 16] = [
    11, 13, 19, 23, 37, 61, 67, 97, 131, 251, 509, 521, 1021, 1031, 2053, 4099,
];

/// The stream of one attempt at one case.
pub(crate) struct Draw {
    rng: ChaCha8Rng,
    /// Elements that an argument may have.
    pub(crate) budget: usize,
    /// Whether extents may be 0.
    pub(crate) empties: bool,
}

impl Draw {
    /// The stream of attempt `attempt` at case `number`.
    pub(crate) fn of(seed: u64, number: u64, attempt: u64) -> Draw {
        let mut key = [0; 32];
        for (i, word) in [seed, number, attempt].into_iter().enumerate() {
            key[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
        }
        let mut draw = Draw {
            rng: ChaCha8Rng::from_seed(key),
            budget: 0,
            empties: true,
        };
        // Most bugs show in little; few need much, and much is slow.
        draw.budget = match draw.below(1000) {
            0..600 => 96,
            600..900 => 600,
            900..985 => 2500,
            985..997 => 9000,
            _ => 70_000,
        };
        draw
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        // The bias of the reduction is below 2^-32 for every n here.
        ((u128::from(self.rng.next_u64()) * n as u128) >> 64) as usize
    }

    /// A number from `lo` to `hi`, both included.
    pub(crate) fn between(&mut self, lo: usize, hi: usize) -> usize {
        lo + self.below(hi.max(lo) - lo + 1)
    }

    /// Whether something happens that does in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// An element of a list that is not empty.
    pub(crate) fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.below(list.len())]
    }

    /// A parameter of a list that is not empty.
    pub(crate) fn number(&mut self, list: &[f64]) -> f64 {
        *self.pick(list)
    }

    /// An extent of at most `most`, seldom 0.
    pub(crate) fn extent(&mut self, most: usize) -> usize {
        if self.chance(2) && self.empties {
            return 0;
        }
        self.positive(most)
    }

    /// An extent from 1 to `most`.
    pub(crate) fn positive(&mut self, most: usize) -> usize {
        let most = most.max(1);
        let list: &[usize] = match self.below(100) {
            0..12 => return 1,
            12..50 => return self.between(1, most.min(9)),
            50..82 => &EDGES,
            82..92 => &PRIMES,
            _ => return self.between(1, most),
        };
        let count = list.iter().filter(|extent| **extent <= most).count();
        match count {
            0 => self.between(1, most),
            // The largest that fit are where the edges are.
            _ => list
                .iter()
                .filter(|extent| **extent <= most)
                .nth(self.below(count))
                .copied()
                .unwrap_or(1),
        }
    }

    /// A rank from `least` on: 1 to 4 mostly, up to 10.
    pub(crate) fn rank(&mut self, least: usize) -> usize {
        let rank = match self.below(100) {
            0..5 => 0,
            5..30 => 1,
            30..60 => 2,
            60..80 => 3,
            80..92 => 4,
            _ => self.between(5, 10),
        };
        rank.max(least)
    }

    /// The extents of a tensor of `rank` dimensions within the budget; the long ones are at random places.
    pub(crate) fn extents(&mut self, rank: usize) -> Vec<usize> {
        let budget = self.budget;
        self.within(rank, budget)
    }

    /// As [`Draw::extents`], for `budget` elements.
    pub(crate) fn within(&mut self, rank: usize, budget: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..rank).collect();
        let mut shape = vec![1; rank];
        let mut left = budget;
        while !places.is_empty() {
            let place = places.swap_remove(self.below(places.len()));
            shape[place] = self.extent(left);
            left /= shape[place].max(1);
        }
        shape
    }

    /// As [`Draw::extents`], of a rank from `least` on.
    pub(crate) fn shape(&mut self, least: usize) -> Vec<usize> {
        let rank = self.rank(least);
        self.extents(rank)
    }

    /// As [`Draw::shape`], without an empty dimension.
    pub(crate) fn full(&mut self, least: usize) -> Vec<usize> {
        let mut shape = self.shape(least);
        shape.iter_mut().for_each(|extent| *extent = (*extent).max(1));
        shape
    }
}
