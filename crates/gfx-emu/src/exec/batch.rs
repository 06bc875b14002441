//! Loads and stores of all lanes of a wave at once: the bounds are checked once, for the lowest and the highest address.
//!
//! Only what succeeds is done here. Where a lane may fault, or the addresses follow a rule of their own, nothing happens
//! and the caller goes lane by lane; that path names the lane.

use super::host::Host;
use super::lane;
use super::places::{Pattern, Places, RUN, find};
use crate::fault::Access;
use crate::isa::{Inst, RegisterCount, Src, Transfer};
use crate::memory::Span;
use crate::wave::{Group, Row, Wave};

/// Does `act` with the places of accesses of `bytes` bytes; `false` when it did nothing.
#[inline(always)]
fn reach<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    inst: &Inst,
    bytes: u32,
    act: impl FnOnce(&mut Wave<W>, &Places<W>) -> Option<()>,
) -> bool {
    let mut places = Places::NOWHERE;
    find(host, wave, inst, inst.imm, bytes, &mut places)
        && host.run(
            #[inline(always)]
            || act(wave, &places).is_some(),
        )
}

/// Memory that lanes load from at a number of bytes from its start; the bounds were checked.
trait CheckedMemory {
    /// `BYTES` bytes (1, 2 or 4), zero-extended.
    fn load<const BYTES: usize>(&self, at: usize) -> u32;
    /// `N` dwords one after the other, at a place that [`CheckedMemory::serves`].
    fn dwords<const N: usize>(&self, at: usize) -> [u32; N];
    /// Whether [`CheckedMemory::dwords`] may be asked for this place, and for those that differ from it in these bits.
    fn serves(&self, at: usize, differing: u32) -> bool;
    /// As many dwords as `out` holds, one after the other.
    fn copy(&self, at: usize, out: &mut [u32]);
}

impl CheckedMemory for Span<'_> {
    #[inline(always)]
    fn load<const BYTES: usize>(&self, at: usize) -> u32 {
        let word = self.word(at);
        if BYTES == 4 {
            word
        } else {
            word & ((1 << (8 * BYTES)) - 1)
        }
    }

    #[inline(always)]
    fn dwords<const N: usize>(&self, at: usize) -> [u32; N] {
        self.aligned(at)
    }

    #[inline(always)]
    fn serves(&self, at: usize, differing: u32) -> bool {
        self.is_aligned(at) && differing.is_multiple_of(4)
    }

    #[inline(always)]
    fn copy(&self, at: usize, out: &mut [u32]) {
        self.words(at, out);
    }
}

/// The workgroup's LDS.
struct Lds<'a>(&'a [u8]);

impl CheckedMemory for Lds<'_> {
    #[inline(always)]
    fn load<const BYTES: usize>(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        if let Some(bytes) = self.0.get(at..at + BYTES) {
            word[..BYTES].copy_from_slice(bytes);
        }
        u32::from_le_bytes(word)
    }

    #[inline(always)]
    fn dwords<const N: usize>(&self, at: usize) -> [u32; N] {
        let mut words = [0; N];
        self.copy(at, &mut words);
        words
    }

    #[inline(always)]
    fn serves(&self, _: usize, _: u32) -> bool {
        true
    }

    #[inline(always)]
    fn copy(&self, at: usize, out: &mut [u32]) {
        let bytes = self.0.get(at..at + 4 * out.len()).unwrap_or_default();
        for (word, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }
}

/// Executes a load or a store of all lanes; `false` when it did nothing.
#[inline]
pub(super) fn execute<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    transfer: Transfer,
) -> bool {
    match transfer {
        Transfer::Load(RegisterCount::One) => load::<H, W, 1>(host, wave, group, inst),
        Transfer::Load(RegisterCount::Two) => load::<H, W, 2>(host, wave, group, inst),
        Transfer::Load(RegisterCount::Three) => load::<H, W, 3>(host, wave, group, inst),
        Transfer::Load(RegisterCount::Four) => load::<H, W, 4>(host, wave, group, inst),
        Transfer::Store(RegisterCount::One) => store::<H, W, 1>(host, wave, group, inst),
        Transfer::Store(RegisterCount::Two) => store::<H, W, 2>(host, wave, group, inst),
        Transfer::Store(RegisterCount::Three) => store::<H, W, 3>(host, wave, group, inst),
        Transfer::Store(RegisterCount::Four) => store::<H, W, 4>(host, wave, group, inst),
        Transfer::LoadPart(part) => {
            let clears = inst.clears_half;
            match part.bytes {
                1 => narrow::<H, W, 1>(host, wave, group, inst, |value, old| {
                    part.merged(value, old, clears)
                }),
                _ => narrow::<H, W, 2>(host, wave, group, inst, |value, old| {
                    part.merged(value, old, clears)
                }),
            }
        }
        // Kernels are hardly ever full of these: lane by lane.
        Transfer::LoadAtLane
        | Transfer::StoreAtLane
        | Transfer::StorePart { .. }
        | Transfer::LoadToShare { .. }
        | Transfer::LoadTransposed(_) => false,
    }
}

/// Loads `N` dwords a lane.
#[inline(always)]
fn load<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
) -> bool {
    reach(
        host,
        wave,
        inst,
        4 * N as u32,
        #[inline(always)]
        |wave, places| load_rows::<W, N>(wave, group, inst, places),
    )
}

#[inline(always)]
fn load_rows<const W: usize, const N: usize>(
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
    places: &Places<W>,
) -> Option<()> {
    let bytes = 4 * N as u32;
    let mut rows = [[0; W]; N];
    if places.local {
        let share = Lds(lds(&group.lds, places, bytes)?);
        gather(&share, places, &mut rows);
    } else {
        let span = places.span(wave, group, bytes, Access::Load)?;
        gather(&span, places, &mut rows);
    }
    keep(wave, usize::from(inst.dst), &rows);
    Some(())
}

/// Writes consecutive registers.
#[inline(always)]
fn keep<const W: usize, const N: usize>(wave: &mut Wave<W>, register: usize, rows: &[[u32; W]; N]) {
    for (i, row) in rows.iter().enumerate() {
        lane::store(wave, register + i, row);
    }
}

/// The LDS of the workgroup, when it holds `bytes` bytes for every lane.
#[inline(always)]
fn lds<'a, const W: usize>(lds: &'a [u8], places: &Places<W>, bytes: u32) -> Option<&'a [u8]> {
    let end = places.highest as usize + bytes as usize;
    (end <= lds.len()).then_some(lds)
}

/// What every lane finds.
#[inline(always)]
fn gather<S: CheckedMemory, const W: usize, const N: usize>(
    source: &S,
    places: &Places<W>,
    rows: &mut [[u32; W]; N],
) {
    let start = places.start();
    let at = |i: usize| (places.offsets[i] - start) as usize;
    match places.pattern {
        Pattern::One => {
            let mut words = [0; N];
            source.copy(at(0), &mut words);
            for (row, word) in rows.iter_mut().zip(words) {
                *row = [word; W];
            }
        }
        Pattern::Row if N == 1 => source.copy(at(0), &mut rows[0]),
        Pattern::Row | Pattern::Rows => {
            for first in (0..W).step_by(RUN) {
                let mut run = [[0; N]; RUN];
                source.copy(at(first), run.as_flattened_mut());
                for (word, row) in rows.iter_mut().enumerate() {
                    for i in 0..RUN {
                        row[first + i] = run[i][word];
                    }
                }
            }
        }
        Pattern::Ones => {
            for first in (0..W).step_by(RUN) {
                let mut words = [0; N];
                source.copy(at(first), &mut words);
                for (row, word) in rows.iter_mut().zip(words) {
                    row[first..first + RUN].fill(word);
                }
            }
        }
        Pattern::Any if source.serves(at(0), places.differing) => {
            for i in 0..W {
                for (row, word) in rows.iter_mut().zip(source.dwords::<N>(at(i))) {
                    row[i] = word;
                }
            }
        }
        Pattern::Any => {
            for i in 0..W {
                for (word, row) in rows.iter_mut().enumerate() {
                    row[i] = source.load::<4>(at(i) + 4 * word);
                }
            }
        }
    }
}

/// Loads 1 or 2 bytes a lane; `merge` makes the register's new value of them and of the old one.
#[inline(always)]
fn narrow<H: Host, const W: usize, const BYTES: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
    merge: impl Fn(u32, u32) -> u32,
) -> bool {
    reach(
        host,
        wave,
        inst,
        BYTES as u32,
        #[inline(always)]
        |wave, places| narrow_rows::<W, BYTES>(wave, group, inst, places, merge),
    )
}

#[inline(always)]
fn narrow_rows<const W: usize, const BYTES: usize>(
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
    places: &Places<W>,
    merge: impl Fn(u32, u32) -> u32,
) -> Option<()> {
    let mut row = [0; W];
    if places.local {
        let share = Lds(lds(&group.lds, places, BYTES as u32)?);
        bytes::<_, W, BYTES>(&share, places, &mut row);
    } else {
        let span = places.span(wave, group, BYTES as u32, Access::Load)?;
        bytes::<_, W, BYTES>(&span, places, &mut row);
    }
    let register = usize::from(inst.dst);
    let old = wave.vgpr.get(register)?;
    for i in 0..W {
        row[i] = merge(row[i], old[i]);
    }
    lane::store(wave, register, &row);
    Some(())
}

/// The 1 or 2 bytes every lane finds.
#[inline(always)]
fn bytes<S: CheckedMemory, const W: usize, const BYTES: usize>(
    source: &S,
    places: &Places<W>,
    row: &mut [u32; W],
) {
    let start = places.start();
    if places.pattern == Pattern::One {
        *row = [source.load::<BYTES>((places.offsets[0] - start) as usize); W];
        return;
    }
    for (lane, offset) in row.iter_mut().zip(&places.offsets.0) {
        *lane = source.load::<BYTES>((offset - start) as usize);
    }
}

/// Stores `N` dwords a lane, the lowest lane first.
#[inline(always)]
fn store<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> bool {
    reach(
        host,
        wave,
        inst,
        4 * N as u32,
        #[inline(always)]
        |wave, places| store_rows::<W, N>(wave, group, inst, places),
    )
}

#[inline(always)]
fn store_rows<const W: usize, const N: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    places: &Places<W>,
) -> Option<()> {
    let bytes = 4 * N as u32;
    if places.local {
        lds(&group.lds, places, bytes)?;
        let rows = source_rows::<W, N>(wave, inst.src[0])?;
        scatter(places, wave.active, rows, |at, words| {
            put(&mut group.lds, at, words)
        });
    } else {
        let span = places.span(wave, group, bytes, Access::Store)?;
        let rows = source_rows::<W, N>(wave, inst.src[0])?;
        if N == 1 && wave.active == Wave::<W>::ALL && places.pattern == Pattern::Row {
            span.store_words((places.offsets[0] - places.lowest) as usize, &rows[0].0);
            return Some(());
        }
        scatter(places, wave.active, rows, |at, words| span.store_words(at, words));
    }
    Some(())
}

/// The registers a store takes its data from.
#[inline(always)]
fn source_rows<const W: usize, const N: usize>(wave: &Wave<W>, source: Src) -> Option<&[Row<W>; N]> {
    match source {
        Src::Vgpr(first) => wave.vgpr.get(usize::from(first)..)?.first_chunk(),
        _ => None,
    }
}

/// Writes dwords to LDS.
#[inline(always)]
fn put(lds: &mut [u8], at: usize, words: &[u32]) {
    let place = lds.get_mut(at..at + 4 * words.len()).unwrap_or_default();
    for (bytes, word) in place.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// Gives what every active lane stores to `put`, with its place, the lowest lane first.
#[inline(always)]
fn scatter<const W: usize, const N: usize>(
    places: &Places<W>,
    active: u64,
    rows: &[Row<W>; N],
    mut put: impl FnMut(usize, &[u32]),
) {
    let start = places.start();
    let at = |i: usize| (places.offsets[i] - start) as usize;
    let all = active == Wave::<W>::ALL;
    if all && matches!(places.pattern, Pattern::Row | Pattern::Rows) {
        for first in (0..W).step_by(RUN) {
            let mut run = [[0; N]; RUN];
            for (word, row) in rows.iter().enumerate() {
                for i in 0..RUN {
                    run[i][word] = row[first + i];
                }
            }
            put(at(first), run.as_flattened());
        }
        return;
    }
    for i in (0..W).filter(|i| all || active >> i & 1 != 0) {
        let mut words = [0; N];
        for (word, row) in words.iter_mut().zip(rows) {
            *word = row[i];
        }
        put(at(i), &words);
    }
}

/// Loads or stores `N` dwords at each of two LDS addresses; `false` when it did nothing.
#[inline(always)]
pub(super) fn two_addresses<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    stores: bool,
) -> bool {
    // The immediate holds both offsets in dwords; the addresses themselves have none.
    let offsets = [inst.imm as u32 & 0xffff, inst.imm as u32 >> 16].map(|offset| 4 * offset as usize);
    let mut places = Places::NOWHERE;
    if !find(host, wave, inst, 0, 4 * N as u32, &mut places) {
        return false;
    }
    let end = places.highest as usize + offsets[0].max(offsets[1]) + 4 * N;
    if end > group.lds.len() {
        return false;
    }
    host.run(
        #[inline(always)]
        || {
            for (turn, offset) in offsets.into_iter().enumerate() {
                let share = group.lds.get_mut(offset..).unwrap_or_default();
                if stores {
                    let Some(rows) = source_rows::<W, N>(wave, inst.src[turn]) else {
                        continue;
                    };
                    scatter(&places, wave.active, rows, |at, words| put(share, at, words));
                } else {
                    let mut rows = [[0; W]; N];
                    gather(&Lds(share), &places, &mut rows);
                    keep(wave, usize::from(inst.dst) + turn * N, &rows);
                }
            }
        },
    );
    true
}
