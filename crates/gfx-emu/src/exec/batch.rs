//! Loads and stores of all lanes of a wave at once: the bounds are checked once, for the lowest and the highest address.
//!
//! Only what succeeds is done here. Where a lane may fault, or the addresses follow a rule of their own, nothing happens
//! and the caller goes lane by lane; that path names the lane.

use super::host::Host;
use super::lane;
use crate::fault::Access;
use crate::isa::{Inst, Op, Space, Src};
use crate::memory::Span;
use crate::wave::{Group, SHARED_BASE, Wave, reg};

/// Where the lanes go: a common base, and an offset each. Lanes that are not active go where the first active one goes.
struct Places<const W: usize> {
    base: u64,
    offsets: [u32; W],
    lowest: u32,
    highest: u32,
    /// Bits in which offsets differ.
    differing: u32,
    /// The lanes follow each other without gaps.
    follow: bool,
    /// The offsets are LDS addresses.
    local: bool,
}

/// The places of accesses of `bytes` bytes, compiled for the host once for all instructions.
#[inline(never)]
fn places<H: Host, const W: usize>(
    host: H,
    wave: &Wave<W>,
    inst: &Inst,
    imm: i32,
    bytes: u32,
) -> Option<Places<W>> {
    host.run(
        #[inline(always)]
        move || Places::of(wave, inst, imm, bytes),
    )
}

impl<const W: usize> Places<W> {
    /// `None` when no lane is active, or when the places are not a base and offsets.
    #[inline(always)]
    fn of(wave: &Wave<W>, inst: &Inst, imm: i32, bytes: u32) -> Option<Self> {
        let register = usize::from(inst.address?);
        let first = wave.active.trailing_zeros() as usize;
        let low = wave.vgpr.get(register)?;
        let offset = imm as i64 as u64;
        let mut local = inst.space == Space::Lds;
        let (base, mut offsets) = match inst.space {
            Space::Global if usize::from(inst.base) != reg::NULL => {
                (wave.sgpr64(usize::from(inst.base)).wrapping_add(offset), *low)
            }
            Space::Global | Space::Flat => {
                let high = wave.vgpr.get(register + 1)?;
                let common = *high.get(first)?;
                if wave.active == Wave::<W>::ALL {
                    if differing(high, common) != 0 {
                        return None;
                    }
                } else {
                    let mask = lane::spread::<W>(wave.active);
                    let mut active = [0; W];
                    for i in 0..W {
                        active[i] = common ^ (common ^ high[i]) & mask[i];
                    }
                    if differing(&active, common) != 0 {
                        return None;
                    }
                }
                let base = u64::from(common) << 32;
                if inst.space == Space::Flat && base == SHARED_BASE {
                    // A sum that leaves the aperture is no LDS address.
                    local = true;
                    (0, lane::each(low, |low| low.saturating_add(offset as u32)))
                } else {
                    (base.wrapping_add(offset), *low)
                }
            }
            // Addresses wrap at 32 bits.
            Space::Lds => (0, lane::each(low, |low| low.wrapping_add(u32::from(imm as u16)))),
            Space::Scratch | Space::Buffer => return None,
        };
        let common = *offsets.get(first)?;
        if wave.active != Wave::<W>::ALL {
            let mask = lane::spread::<W>(wave.active);
            for i in 0..W {
                offsets[i] = common ^ (common ^ offsets[i]) & mask[i];
            }
        }
        let mut expected = [0; W];
        for (i, place) in expected.iter_mut().enumerate() {
            *place = offsets[i] ^ offsets[0].wrapping_add(bytes.wrapping_mul(i as u32));
        }
        Some(Places {
            base,
            lowest: reduce(&offsets, u32::MAX, u32::min),
            highest: reduce(&offsets, 0, u32::max),
            differing: differing(&offsets, common),
            follow: differing(&expected, 0) == 0,
            offsets,
            local,
        })
    }

    /// The lanes' device memory, when one allocation holds `bytes` bytes for each of them.
    #[inline(always)]
    fn span<'a>(
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
}

/// All lanes as one. Eight partial results side by side, as vectors have them.
#[inline(always)]
fn reduce<const W: usize>(row: &[u32; W], neutral: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    let mut partial = [neutral; 8];
    for lanes in row.as_chunks::<8>().0 {
        for (partial, lane) in partial.iter_mut().zip(lanes) {
            *partial = f(*partial, *lane);
        }
    }
    partial.into_iter().fold(neutral, f)
}

/// The bits in which any lane differs from `common`.
#[inline(always)]
fn differing<const W: usize>(row: &[u32; W], common: u32) -> u32 {
    reduce(&lane::each(row, |lane| lane ^ common), 0, |all, lane| all | lane)
}

/// Memory that lanes load from at a number of bytes from its start; the bounds were checked.
trait Source {
    /// `BYTES` bytes (1, 2 or 4), zero-extended.
    fn load<const BYTES: usize>(&self, at: usize) -> u32;
    /// `N` dwords one behind the other, at a place that [`Source::serves`].
    fn dwords<const N: usize>(&self, at: usize) -> [u32; N];
    /// Whether [`Source::dwords`] may be asked for this place, and for those that differ from it in these bits.
    fn serves(&self, at: usize, differing: u32) -> bool;
    /// As many dwords as `out` holds, one behind the other.
    fn copy(&self, at: usize, out: &mut [u32]);
}

impl Source for Span<'_> {
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

impl Source for Lds<'_> {
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
) -> bool {
    let done = match inst.op {
        Op::LoadB32 => load::<H, W, 1>(host, wave, group, inst),
        Op::LoadB64 => load::<H, W, 2>(host, wave, group, inst),
        Op::LoadB96 => load::<H, W, 3>(host, wave, group, inst),
        Op::LoadB128 => load::<H, W, 4>(host, wave, group, inst),
        Op::StoreB32 => store::<H, W, 1>(host, wave, group, inst),
        Op::StoreB64 => store::<H, W, 2>(host, wave, group, inst),
        Op::StoreB96 => store::<H, W, 3>(host, wave, group, inst),
        Op::StoreB128 => store::<H, W, 4>(host, wave, group, inst),
        Op::LoadU8 => narrow::<H, W, 1>(host, wave, group, inst, |value, _| value),
        Op::LoadI8 => narrow::<H, W, 1>(host, wave, group, inst, |value, _| value as i8 as u32),
        Op::LoadU16 => narrow::<H, W, 2>(host, wave, group, inst, |value, _| value),
        Op::LoadI16 => narrow::<H, W, 2>(host, wave, group, inst, |value, _| value as i16 as u32),
        Op::LoadD16B16 if !inst.clears_half => {
            narrow::<H, W, 2>(host, wave, group, inst, |value, old| old & 0xffff_0000 | value)
        }
        Op::LoadD16HiB16 if !inst.clears_half => {
            narrow::<H, W, 2>(host, wave, group, inst, |value, old| old & 0xffff | value << 16)
        }
        _ => None,
    };
    done.is_some()
}

/// Loads `N` dwords a lane.
#[inline(never)]
fn load<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
) -> Option<()> {
    let bytes = 4 * N as u32;
    let places = places(host, wave, inst, inst.imm, bytes)?;
    let mut rows = [[0; W]; N];
    if places.local {
        let share = Lds(lds(group, &places, bytes)?);
        gather(&share, &places, 0, &mut rows);
    } else {
        let span = places.span(wave, group, bytes, Access::Load)?;
        gather(&span, &places, places.lowest, &mut rows);
    }
    keep(host, wave, usize::from(inst.dst), &rows);
    Some(())
}

/// Writes consecutive registers.
#[inline(always)]
fn keep<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    register: usize,
    rows: &[[u32; W]; N],
) {
    host.run(
        #[inline(always)]
        move || {
            for (i, row) in rows.iter().enumerate() {
                lane::store(wave, register + i, row);
            }
        },
    );
}

/// The LDS of the workgroup, when it holds `bytes` bytes for every lane.
#[inline(always)]
fn lds<'a, const W: usize>(group: &'a Group<'_>, places: &Places<W>, bytes: u32) -> Option<&'a [u8]> {
    let end = places.highest as usize + bytes as usize;
    (end <= group.lds.len()).then_some(&group.lds)
}

/// What every lane finds, from `start` on.
#[inline(always)]
fn gather<S: Source, const W: usize, const N: usize>(
    source: &S,
    places: &Places<W>,
    start: u32,
    rows: &mut [[u32; W]; N],
) {
    let at = |i: usize| (places.offsets[i] - start) as usize;
    if places.lowest == places.highest {
        let mut words = [0; N];
        source.copy(at(0), &mut words);
        for (row, word) in rows.iter_mut().zip(words) {
            *row = [word; W];
        }
    } else if N == 1 && places.follow {
        source.copy(at(0), &mut rows[0]);
    } else if source.serves(at(0), places.differing) {
        for i in 0..W {
            for (row, word) in rows.iter_mut().zip(source.dwords::<N>(at(i))) {
                row[i] = word;
            }
        }
    } else {
        for i in 0..W {
            for (word, row) in rows.iter_mut().enumerate() {
                row[i] = source.load::<4>(at(i) + 4 * word);
            }
        }
    }
}

/// Loads 1 or 2 bytes a lane; `merge` makes the register's new value of them and of the old one.
#[inline(never)]
fn narrow<H: Host, const W: usize, const BYTES: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &Group<'_>,
    inst: &Inst,
    merge: impl Fn(u32, u32) -> u32,
) -> Option<()> {
    let places = places(host, wave, inst, inst.imm, BYTES as u32)?;
    let mut row = [0; W];
    if places.local {
        let share = Lds(lds(group, &places, BYTES as u32)?);
        for (i, row) in row.iter_mut().enumerate() {
            *row = share.load::<BYTES>(places.offsets[i] as usize);
        }
    } else {
        let span = places.span(wave, group, BYTES as u32, Access::Load)?;
        for (i, row) in row.iter_mut().enumerate() {
            *row = span.load::<BYTES>((places.offsets[i] - places.lowest) as usize);
        }
    }
    let register = usize::from(inst.dst);
    let old = wave.vgpr.get(register)?;
    for i in 0..W {
        row[i] = merge(row[i], old[i]);
    }
    keep(host, wave, register, &[row]);
    Some(())
}

/// Stores `N` dwords a lane, the lowest lane first.
#[inline(never)]
fn store<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Option<()> {
    let Src::Vgpr(data) = inst.src[0] else {
        return None;
    };
    let bytes = 4 * N as u32;
    let places = places(host, wave, inst, inst.imm, bytes)?;
    let active = wave.active;
    let all = active == Wave::<W>::ALL;
    if places.local {
        lds(group, &places, bytes)?;
        let rows = wave.vgpr.get(usize::from(data)..usize::from(data) + N)?;
        for i in (0..W).filter(|i| all || active >> i & 1 != 0) {
            let at = places.offsets[i] as usize;
            let place = group.lds.get_mut(at..at + 4 * N).unwrap_or_default();
            for (bytes, row) in place.as_chunks_mut::<4>().0.iter_mut().zip(rows) {
                *bytes = row[i].to_le_bytes();
            }
        }
    } else {
        let span = places.span(wave, group, bytes, Access::Store)?;
        let rows = wave.vgpr.get(usize::from(data)..usize::from(data) + N)?;
        if N == 1 && all && places.follow {
            span.store_words((places.offsets[0] - places.lowest) as usize, &rows[0]);
            return Some(());
        }
        for i in (0..W).filter(|i| all || active >> i & 1 != 0) {
            let at = (places.offsets[i] - places.lowest) as usize;
            for (word, row) in rows.iter().enumerate() {
                span.store_words(at + 4 * word, &[row[i]]);
            }
        }
    }
    Some(())
}

/// Loads or stores `N` dwords at each of two LDS addresses; `false` when it did nothing.
#[inline(never)]
pub(super) fn two_addresses<H: Host, const W: usize, const N: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    stores: bool,
) -> bool {
    // The immediate holds both offsets in dwords; the addresses themselves have none.
    let offsets = [inst.imm as u32 & 0xffff, inst.imm as u32 >> 16].map(|offset| 4 * offset);
    let Some(places) = places(host, wave, inst, 0, 4 * N as u32) else {
        return false;
    };
    let end = places.highest as usize + offsets[0].max(offsets[1]) as usize + 4 * N;
    if end > group.lds.len() {
        return false;
    }
    if stores {
        let active = wave.active;
        for i in (0..W).filter(|i| active >> i & 1 != 0) {
            for (source, offset) in inst.src.iter().zip(offsets) {
                let Src::Vgpr(first) = *source else { continue };
                let at = (places.offsets[i] + offset) as usize;
                let rows = wave.vgpr.get(usize::from(first)..usize::from(first) + N);
                let place = group.lds.get_mut(at..at + 4 * N).unwrap_or_default();
                for (bytes, row) in place
                    .as_chunks_mut::<4>()
                    .0
                    .iter_mut()
                    .zip(rows.unwrap_or_default())
                {
                    *bytes = row[i].to_le_bytes();
                }
            }
        }
        return true;
    }
    for (turn, offset) in offsets.into_iter().enumerate() {
        let mut rows = [[0; W]; N];
        let share = Lds(group.lds.get(offset as usize..).unwrap_or_default());
        gather(&share, &places, 0, &mut rows);
        keep(host, wave, usize::from(inst.dst) + turn * N, &rows);
    }
    true
}
