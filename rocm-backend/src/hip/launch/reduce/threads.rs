//! How many threads work on a row, and how many rows a workgroup takes.

use crate::DType;
use crate::hip::context::Context;
use crate::hip::launch::{Grid, PACK, for_device};
use crate::view::Region;

/// Threads along the row in a workgroup of several rows at most: no more than a wave has on any GPU, as the kernels want it.
pub(super) const SHORT: usize = 32;
/// Threads of such a workgroup: cards start a workgroup for each short row more slowly than they read them.
const TOGETHER: usize = 256;
/// Threads of a workgroup at most, as the kernels of `reduce.hip` are compiled: more would leave a thread fewer registers than its
/// part of a row takes.
pub(in crate::hip::launch) const MOST: usize = 512;
/// Threads that read a line of memory together.
const LINE: usize = 8;

/// Numbers of rows from which on threads have several packs of a row each, and as many as they hold in registers.
#[derive(Debug, Clone, Copy)]
pub(in crate::hip::launch) struct Crowds {
    several: usize,
    all: usize,
}

impl Crowds {
    pub(super) const CARD: Crowds = Crowds {
        several: 256,
        all: 2048,
    };
    /// So few that the cases have workgroups of less than a wave, of one and of several.
    pub(super) const TESTED: Crowds = Crowds {
        several: 40,
        all: 200,
    };

    pub(in crate::hip::launch) fn of(context: &Context) -> Crowds {
        for_device(context, Crowds::CARD, Crowds::TESTED)
    }
}

/// Threads that work on one of `rows` rows of `terms` elements of `dtype`: a power of two, as the kernels want it. The fewer rows
/// there are, the more threads each gets, until each thread has one pack; of many rows a thread has `held` packs, as many as it
/// holds in registers, so that what threads do together at the end of a row costs little beside it.
pub(in crate::hip::launch) fn workgroup(
    rows: usize,
    terms: usize,
    dtype: DType,
    held: usize,
    crowds: Crowds,
) -> usize {
    let size = dtype.size_in_bytes();
    let each = match rows {
        _ if rows < crowds.several => 1,
        _ if rows < crowds.all => 4,
        _ => held,
    };
    let packs = terms.div_ceil(PACK / size).max(1);
    let least = packs.next_power_of_two().min(LINE);
    packs.div_ceil(each).clamp(least, MOST).next_power_of_two()
}

/// Packs of a row that a thread holds in registers (`HELD_MOST` of `kernels/workgroup.h`).
pub(in crate::hip::launch) fn held(dtype: DType) -> usize {
    if dtype.size_in_bytes() == 1 { 4 } else { 8 }
}

/// The packs of each of contiguous rows that begin and end with whole aligned ones; `None` of others.
pub(in crate::hip::launch) fn whole_packs(x: &Region<'_>, terms: usize) -> Option<usize> {
    let size = x.buffer().dtype().size_in_bytes();
    let address = x.buffer().memory().block().address() + x.offset() * size;
    let is_whole = address.is_multiple_of(PACK) && (terms * size).is_multiple_of(PACK);
    is_whole.then_some(terms * size / PACK)
}

/// The threads, a pack each, for contiguous rows of so few whole packs that kernels for short rows take them; `None` for others.
pub(in crate::hip::launch) fn short(x: &Region<'_>, terms: usize) -> Option<usize> {
    whole_packs(x, terms)
        .filter(|packs| (1..=SHORT).contains(packs))
        .map(usize::next_power_of_two)
}

/// The rows that a workgroup works on, as its y, where each has `threads` threads.
pub(in crate::hip::launch) fn rows_together(rows: usize, threads: usize) -> usize {
    match threads {
        ..=SHORT => rows.clamp(1, TOGETHER / threads).next_power_of_two(),
        _ => 1,
    }
}

/// `groups` workgroups that each work on `together` rows with `threads` threads.
pub(in crate::hip::launch) fn row_grid(groups: usize, threads: usize, together: usize) -> Grid {
    Grid {
        threads: [threads, together, 1],
        ..Grid::of(groups, threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workgroup_is_a_power_of_two_that_a_kernel_has_room_for() {
        for terms in [1, 31, 128, 129, 1000, 4096, 4097, usize::MAX] {
            for (rows, dtype) in [(1, DType::U8), (300, DType::F32), (9999, DType::F64)] {
                let threads = workgroup(rows, terms, dtype, held(dtype), Crowds::CARD);
                assert!(threads.is_power_of_two(), "{terms}: {threads}");
                assert!((1..=MOST).contains(&threads), "{terms}: {threads}");
                let together = rows_together(rows, threads);
                assert!(
                    together == 1 || threads <= SHORT,
                    "{terms}: {together} rows of {threads} threads"
                );
                assert!(
                    together.is_power_of_two() && together * threads <= MOST,
                    "{terms}: {together}"
                );
            }
        }
        // Rows, elements of each, their dtype, the packs that a thread holds, the threads.
        for (rows, terms, dtype, held, threads) in [
            (3, 129, DType::F32, 8, 64),
            (3, 1025, DType::F16, 8, 256),
            (8192, 8192, DType::F32, 8, 256),
            (8192, 8192, DType::F16, 8, 128),
            (8192, 8192, DType::F16, 4, 256),
            (1 << 20, 64, DType::F16, 8, 8),
            (1 << 20, 128, DType::F32, 8, 8),
            (1 << 20, 1, DType::F32, 8, 1),
        ] {
            assert_eq!(
                workgroup(rows, terms, dtype, held, Crowds::CARD),
                threads,
                "{rows} rows of {terms} {dtype:?}"
            );
        }
        assert_eq!((rows_together(3, 32), rows_together(99, 8)), (4, 32));
    }
}
