//! What the waves of a workgroup did to its LDS since the last barrier.
//!
//! Most accesses are of whole words, so that a word has one account of its bytes until somebody touches a part of it.

use std::ops::Range;

use super::Touch;
use crate::fault::{Access, FaultKind};

/// Bytes of a word.
const WORD: usize = 4;

/// The first two waves that did something to a byte since the last barrier, and where in the code.
#[derive(Clone, Copy, Debug, Default)]
struct ByteTrace {
    /// Wave numbers, one higher: 0 means no wave.
    who: [u8; 2],
    pc: [u32; 2],
}

impl ByteTrace {
    /// A wave other than `wave` that did it, and where.
    fn rival(self, wave: u8) -> Option<(u8, u32)> {
        let rivals = self.who.into_iter().zip(self.pc);
        let mut rivals = rivals.filter(|(who, _)| *who != 0 && *who != wave);
        rivals.next()
    }

    /// `wave` does it at `pc`.
    fn add(&mut self, wave: u8, pc: u32) {
        let [first, second] = self.who;
        if first == 0 {
            (self.who[0], self.pc[0]) = (wave, pc);
        } else if first != wave && second == 0 {
            (self.who[1], self.pc[1]) = (wave, pc);
        }
    }
}

/// What was done to a byte, or to each byte of a word, since the last barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    loads: ByteTrace,
    stores: ByteTrace,
    atomics: ByteTrace,
}

impl Account {
    /// What another wave than `wave` did that races with an access: who, where and what. `same`: a store of what is there already.
    fn rival(&self, wave: u8, access: Access, same: bool) -> Option<(u8, u32, Access)> {
        let rivals = [
            (self.stores, Access::Store, !same),
            (self.atomics, Access::Atomic, access != Access::Atomic),
            (self.loads, Access::Load, access != Access::Load && !same),
        ];
        rivals.into_iter().find_map(|(trace, other, counts)| {
            let (rival, pc) = trace.rival(wave).filter(|_| counts)?;
            Some((rival, pc, other))
        })
    }

    /// `wave` does it at `pc`.
    fn add(&mut self, access: Access, wave: u8, pc: u32) {
        let trace = match access {
            Access::Load => &mut self.loads,
            Access::Store => &mut self.stores,
            Access::Atomic => &mut self.atomics,
        };
        trace.add(wave, pc);
    }
}

/// One word.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// A bit for each byte that was ever written.
    written: u8,
    /// A part of it was touched: its bytes have an account each.
    split: bool,
    /// The interval between barriers that the account belongs to.
    interval: u32,
    account: Account,
}

/// The LDS of a workgroup.
#[derive(Debug)]
pub(super) struct Shared {
    /// Its size in bytes.
    size: usize,
    words: Vec<Word>,
    /// The accounts of split words' bytes. Empty until there is a split word.
    bytes: Vec<Account>,
    interval: u32,
}

impl Shared {
    /// Of `size` bytes, none of them written.
    pub(super) fn new(size: usize) -> Shared {
        Shared {
            size,
            words: vec![Word::default(); size.div_ceil(WORD)],
            bytes: Vec::new(),
            interval: 0,
        }
    }

    /// What was done before races with nothing that comes.
    pub(super) fn barrier(&mut self) {
        self.interval += 1;
    }

    /// Wave number `wave` is about to access the bytes from `offset` on by the instruction at `pc`. What is outside, the wave itself
    /// faults at.
    pub(super) fn touch(
        &mut self,
        wave: usize,
        offset: u64,
        touch: Touch,
        same: bool,
        pc: u32,
    ) -> Result<(), FaultKind> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(end) = start
            .checked_add(touch.bytes as usize)
            .filter(|end| *end <= self.size)
        else {
            return Ok(());
        };
        let access = Accessing {
            who: wave as u8 + 1,
            touch,
            same,
            pc,
        };
        let mut at = start;
        while at < end {
            let next = end.min((at / WORD + 1) * WORD);
            self.word(at..next, access).map_err(|found| match found {
                Found::Race(at, (rival, pc, other)) => FaultKind::Race {
                    offset: at as u64,
                    access: touch.access,
                    other,
                    wave: usize::from(rival) - 1,
                    pc: pc as usize,
                },
                Found::Unwritten(at) => FaultKind::UnwrittenLds {
                    access: touch.access,
                    offset,
                    bytes: touch.bytes,
                    unwritten: at as u64,
                },
            })?;
            at = next;
        }
        Ok(())
    }

    /// An access to bytes of one word.
    fn word(&mut self, range: Range<usize>, access: Accessing) -> Result<(), Found> {
        let place = range.start / WORD;
        let size = self.words.len() * WORD;
        let word = &mut self.words[place];
        if word.interval != self.interval {
            word.interval = self.interval;
            word.split = false;
            word.account = Account::default();
        }
        if !word.split && range.len() == WORD {
            access.take(range.start, &mut word.account)?;
            return access.write(range, place, &mut word.written);
        }
        if self.bytes.is_empty() {
            self.bytes = vec![Account::default(); size];
        }
        if !word.split {
            word.split = true;
            self.bytes[place * WORD..][..WORD].fill(word.account);
        }
        for at in range {
            access.take(at, &mut self.bytes[at])?;
            access.write(at..at + 1, place, &mut word.written)?;
        }
        Ok(())
    }
}

/// An access of one lane.
#[derive(Clone, Copy, Debug)]
struct Accessing {
    /// Its wave's number, one higher.
    who: u8,
    touch: Touch,
    /// A store of what is there already: waves that agree on a value do not race.
    same: bool,
    pc: u32,
}

/// What is wrong with an access, and the first byte of which it is.
enum Found {
    /// Who did what, and where.
    Race(usize, (u8, u32, Access)),
    Unwritten(usize),
}

impl Accessing {
    /// Enters the access in the account of the bytes from `at` on.
    fn take(self, at: usize, account: &mut Account) -> Result<(), Found> {
        let access = self.touch.access;
        if let Some(rival) = account.rival(self.who, access, self.same) {
            return Err(Found::Race(at, rival));
        }
        account.add(access, self.who, self.pc);
        Ok(())
    }

    /// Looks whether the bytes in `range` of word number `place` are written that are read, and marks them.
    fn write(self, range: Range<usize>, place: usize, written: &mut u8) -> Result<(), Found> {
        let mask = (1_u8 << range.len()).wrapping_sub(1) << (range.start - place * WORD);
        let missing = mask & !*written;
        if self.touch.reads && missing != 0 {
            return Err(Found::Unwritten(place * WORD + missing.trailing_zeros() as usize));
        }
        if self.touch.access != Access::Load {
            *written |= mask;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 16;

    /// What nobody shortened: an account of each byte.
    struct Slow {
        written: [bool; SIZE],
        bytes: [Account; SIZE],
    }

    impl Slow {
        fn touch(
            &mut self,
            wave: usize,
            offset: u64,
            touch: Touch,
            same: bool,
            pc: u32,
        ) -> Option<(u64, bool)> {
            for at in offset..offset + touch.bytes {
                let account = &mut self.bytes[at as usize];
                if account.rival(wave as u8 + 1, touch.access, same).is_some() {
                    return Some((at, true));
                }
                if touch.reads && !self.written[at as usize] {
                    return Some((at, false));
                }
                account.add(touch.access, wave as u8 + 1, pc);
                self.written[at as usize] |= touch.access != Access::Load;
            }
            None
        }
    }

    #[test]
    fn words_and_parts_of_words_are_judged_as_their_bytes_are() {
        let mut state = 1_u64;
        let mut below = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut found, mut silent) = ([0, 0], 0);
        for _ in 0..2_000 {
            let mut shared = Shared::new(SIZE);
            let mut slow = Slow {
                written: [false; SIZE],
                bytes: [Account::default(); SIZE],
            };
            for pc in 0..24 {
                if below(6) == 0 {
                    shared.barrier();
                    slow.bytes = [Account::default(); SIZE];
                }
                let bytes = 1 << below(4);
                let access = [Access::Load, Access::Store, Access::Store, Access::Atomic][below(4) as usize];
                let touch = Touch {
                    access,
                    reads: access != Access::Store,
                    bytes,
                };
                let offset = below((SIZE as u64 - bytes) / bytes + 1) * bytes;
                let (wave, same) = (below(3) as usize, access == Access::Store && below(2) == 0);
                let want = slow.touch(wave, offset, touch, same, pc);
                let got = match shared.touch(wave, offset, touch, same, pc) {
                    Ok(()) => None,
                    Err(FaultKind::Race { offset, .. }) => Some((offset, true)),
                    Err(FaultKind::UnwrittenLds { unwritten, .. }) => Some((unwritten, false)),
                    Err(other) => panic!("{other:?}"),
                };
                assert_eq!(got, want);
                match got {
                    None => silent += 1,
                    Some((_, race)) => {
                        found[usize::from(race)] += 1;
                        break;
                    }
                }
            }
        }
        assert!(
            found[0] > 500 && found[1] > 300 && silent > 1_000,
            "{found:?}, {silent}"
        );
    }

    #[test]
    fn what_is_outside_is_left_to_the_wave() {
        let touch = Touch {
            access: Access::Load,
            reads: true,
            bytes: 4,
        };
        let mut shared = Shared::new(6);
        for offset in [3, 6, u64::MAX] {
            assert!(shared.touch(0, offset, touch, false, 0).is_ok(), "{offset}");
        }
        assert!(shared.touch(0, 2, touch, false, 0).is_err());
    }
}
