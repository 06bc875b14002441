//! Where a device's random numbers come from: a seed, and how much of its sequence was used. The numbers themselves are
//! made on the device (`kernels/random.hip`).

/// The seed of a new device; candle's CUDA device starts with the same.
const DEFAULT_SEED: u64 = 299_792_458;

/// A place in the sequence of counter blocks that belongs to a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockCounter {
    seed: u64,
    next_block: u64,
}

impl BlockCounter {
    pub(crate) fn new(seed: u64) -> BlockCounter {
        BlockCounter { seed, next_block: 0 }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The seed, and the first of the next `blocks` counter blocks. Nobody gets these again before a new seed (or 2^64
    /// blocks).
    pub(crate) fn take(&mut self, blocks: usize) -> (u64, u64) {
        let first = self.next_block;
        self.next_block = first.wrapping_add(blocks as u64);
        (self.seed, first)
    }
}

impl Default for BlockCounter {
    fn default() -> BlockCounter {
        BlockCounter::new(DEFAULT_SEED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_given_out_once_and_again_after_a_new_generator() {
        let mut generator = BlockCounter::new(7);
        assert_eq!(
            [3, 0, 2, 1].map(|blocks| generator.take(blocks)),
            [(7, 0), (7, 3), (7, 3), (7, 5)]
        );
        assert_eq!(BlockCounter::new(7).take(1), (7, 0));
    }
}
