//! Value sets: which numbers an input is filled with, and the generator that fills it.
//!
//! Everything is a function of the run seed and the case id. The stream is ChaCha8 keyed by the run seed, the FNV-1a
//! hash of the id and the argument's index, so that inputs are the same on every machine and in every release.

mod blocks;
mod check;
mod ties;
mod words;

pub(crate) use blocks::fill_blocks;
pub use words::{BadValueSet, VALUE_SETS};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::float::{Format, encode_int, int_range};
use crate::{DType, HostTensor};

/// The numbers an input is filled with. The text form (`uniform(-10,10)`, `special`) is the one in specs and ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueSet {
    /// Floats, uniform in [lo, hi).
    Uniform {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Positive floats whose logarithm is uniform between those of `lo` and `hi`.
    Geometric {
        /// Lower end, above zero.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Integers from `lo` to `hi`, both included, narrowed to what an integer dtype can hold.
    Ints {
        /// Smallest.
        lo: i64,
        /// Largest.
        hi: i64,
    },
    /// As [`ValueSet::Ints`], without zero and without the minimum of a signed type: divisors that cannot trap.
    Nonzero {
        /// Smallest.
        lo: i64,
        /// Largest.
        hi: i64,
    },
    /// Random bit patterns: every exponent, both signs. NaN patterns become zero.
    Any,
    /// Zeros, halves, ones, subnormals, largest numbers and infinities of both signs, in turn; in pairs for two
    /// arguments, so that `n * n` elements hold every pair of `n` numbers.
    Special,
    /// Integers from -4 to 4 with NaNs: one argument has them first, in the middle and last; of two, the left has them
    /// first and in the middle, the right in the middle and last, so that each side is NaN alone once.
    Nan,
    /// Integers from -4 to 4, about one in 32 a NaN in its place, wherever it falls: for kernels whose lanes hold several elements,
    /// of which each has to notice.
    Nans,
    /// Nothing but NaN: what code does where no lane of a wavefront has a number.
    OnlyNan,
    /// Numbers halfway between two of a narrower format, and one bit beside; the right argument has half a unit in the last place of the
    /// left one or a small odd number, so that sums and products are halfway between two of their own format.
    Ties,
    /// Integers from 20 to 29, about one in 700 from 51 to 100 in its place and one from 0 to 9: an extreme that few lanes have, anywhere.
    Peaks,
    /// The ends of an integer dtype and the numbers beside them, zero, one and minus one; in pairs for two arguments.
    Extremes,
    /// Integers, where every third element of the right argument is zero.
    DivZero,
    /// Every bit pattern of an 8- or 16-bit dtype, in order; every pair of patterns for two 8-bit arguments. One argument may have them several
    /// times, each time one place later: a kernel that takes packs of elements has each pattern in several places of a pack.
    Exhaustive,
    /// As [`ValueSet::Exhaustive`], with zero in the place of NaN.
    Numbers,
    /// Integers from -9 to 9 as data, and among the ids one past the end of the dimension: to be refused.
    IdsBeyond,
    /// As [`ValueSet::IdsBeyond`], with -1 in its place.
    IdsNegative,
    /// As [`ValueSet::IdsBeyond`], with the largest number of the dtype in its place: candle's "no element", which is read
    /// as zero and not written.
    IdsNone,
    /// Integers from -127 to 127, one of the two ends first in every 32: a block of 8-bit quants holds them unharmed.
    Quants,
}

/// The numbers of [`ValueSet::Special`] for a float format.
fn specials(format: &Format) -> Vec<f64> {
    let tiny = format.min_subnormal();
    let below_normal = format.min_normal() - tiny;
    let top = if format.infinities {
        f64::INFINITY
    } else {
        format.max
    };
    let half_gap = format.ulp(format.max);
    let magnitudes = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        tiny,
        below_normal,
        format.min_normal(),
        format.max - half_gap,
        format.max,
        top,
    ];
    magnitudes.into_iter().flat_map(|m| [m, -m]).collect()
}

/// The numbers of [`ValueSet::Extremes`] for an integer dtype.
fn extremes((min, max): (i64, i64)) -> Vec<i64> {
    let mut list = vec![min, min + 1, -1, 0, 1, 2, max - 1, max];
    list.retain(|x| (min..=max).contains(x));
    list.sort_unstable();
    list.dedup();
    list
}

/// 64-bit FNV-1a: offset basis 0xcbf29ce484222325, prime 0x100000001b3.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The stream that fills argument `arg` of the case `id`.
fn stream(seed: u64, id: &str, arg: usize) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&fnv1a(id).to_le_bytes());
    key[16..24].copy_from_slice(&(arg as u64).to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

/// Which input of which case is being filled.
pub(crate) struct Slot<'a> {
    pub(crate) seed: u64,
    pub(crate) id: &'a str,
    /// Its number among all arguments: each has a stream of its own.
    pub(crate) arg: usize,
    /// Its number among the arguments that hold data.
    pub(crate) place: usize,
    /// How many arguments hold data.
    pub(crate) arity: usize,
}

/// Uniform in [0, 1), 53 bits.
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Uniform in [lo, hi]; the bias of the reduction is below 2^-32 for the spans specs use.
fn between(rng: &mut ChaCha8Rng, lo: i64, hi: i64) -> i64 {
    let span = (i128::from(hi) - i128::from(lo) + 1) as u128;
    (i128::from(lo) + ((u128::from(rng.next_u64()) * span) >> 64) as i128) as i64
}

/// Smallest and largest integer that `lo..=hi` leaves in `dtype`, the unnegatable minimum left out if asked.
fn narrowed(dtype: DType, lo: i64, hi: i64, without_min: bool) -> (i64, i64) {
    match int_range(dtype) {
        Some((min, max)) => (lo.max(min + i64::from(without_min && min < 0)), hi.min(max)),
        None => (lo, hi),
    }
}

/// A contiguous tensor of `shape` filled from `set`. The combination is one that [`ValueSet::check`] accepts.
pub(crate) fn fill(set: ValueSet, dtype: DType, shape: &[usize], slot: &Slot<'_>) -> HostTensor {
    let count = shape.iter().product::<usize>();
    let mut rng = stream(slot.seed, slot.id, slot.arg);
    let format = Format::of(dtype);
    let encode = |x: f64| format.map_or_else(|| encode_int(dtype, x as i64), |format| format.encode(x));
    let encode_integer =
        |x: i64| format.map_or_else(|| encode_int(dtype, x), |format| format.encode(x as f64));
    // The left argument runs through a list fast, the right one slowly: all pairs come up.
    let in_turn = |i: usize, len: usize| if slot.place == 0 { i % len } else { i / len % len };
    let mask = u64::MAX >> (64 - 8 * dtype.size());
    // Of narrow dtypes, which have few.
    let pattern = |i: usize| {
        let patterns = 1_usize << (8 * dtype.size());
        let at = match slot.arity {
            1 => (i + i / patterns * (patterns - 1)) % patterns,
            _ => in_turn(i, patterns),
        };
        at as u64
    };
    let number = |bits: u64| {
        if format.is_some_and(|format| format.decode(bits).is_nan()) {
            0
        } else {
            bits
        }
    };
    let nan_at = |i: usize| match (slot.arity, slot.place) {
        (1, _) => i == 0 || i == count / 2 || i + 1 == count,
        (_, 0) => i == 0 || i == count / 2,
        (_, _) => i == count / 2 || i + 1 == count,
    };
    let list = format.map(|format| specials(&format)).unwrap_or_default();
    let ends = int_range(dtype).map(extremes).unwrap_or_default();
    let element = |i: usize| match set {
        ValueSet::Uniform { lo, hi } => encode(lo + (hi - lo) * unit(&mut rng)),
        ValueSet::Geometric { lo, hi } => encode(lo * (hi / lo).powf(unit(&mut rng))),
        ValueSet::Ints { lo, hi } => {
            let (lo, hi) = narrowed(dtype, lo, hi, false);
            encode_integer(between(&mut rng, lo, hi))
        }
        ValueSet::Nonzero { lo, hi } => {
            let (lo, hi) = narrowed(dtype, lo, hi, true);
            loop {
                match between(&mut rng, lo, hi) {
                    0 => {}
                    x => break encode_integer(x),
                }
            }
        }
        ValueSet::Any => number(rng.next_u64() & mask),
        ValueSet::Special => encode(list[in_turn(i, list.len())]),
        ValueSet::Nan if nan_at(i) => encode(f64::NAN),
        ValueSet::Nan => encode_integer(between(&mut rng, -4, 4)),
        ValueSet::Nans => match between(&mut rng, 0, 31) {
            0 => encode(f64::NAN),
            _ => encode_integer(between(&mut rng, -4, 4)),
        },
        ValueSet::OnlyNan => encode(f64::NAN),
        ValueSet::Ties => encode(format.map_or(0.0, |format| ties::number(&format, slot.place, i, &mut rng))),
        ValueSet::Peaks => {
            let (lo, hi) = match between(&mut rng, 0, 699) {
                0 => (51, 100),
                1 => (0, 9),
                _ => (20, 29),
            };
            encode_integer(between(&mut rng, lo, hi))
        }
        ValueSet::Extremes => encode_integer(ends[in_turn(i, ends.len())]),
        ValueSet::DivZero => {
            let (lo, hi) = narrowed(dtype, 1, 100, true);
            let x = between(&mut rng, lo, hi);
            encode_integer(if slot.place == 1 && i.is_multiple_of(3) {
                0
            } else {
                x
            })
        }
        ValueSet::Exhaustive => pattern(i),
        ValueSet::Numbers => number(pattern(i)),
        ValueSet::IdsBeyond | ValueSet::IdsNegative | ValueSet::IdsNone => {
            let (lo, hi) = narrowed(dtype, -9, 9, false);
            encode_integer(between(&mut rng, lo, hi))
        }
        ValueSet::Quants if i.is_multiple_of(32) => encode_integer(127 - 254 * between(&mut rng, 0, 1)),
        ValueSet::Quants => encode_integer(between(&mut rng, -127, 127)),
    };
    let bits: Vec<u64> = (0..count).map(element).collect();
    let bytes = bits
        .iter()
        .flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size()))
        .collect();
    HostTensor {
        dtype,
        shape: shape.to_vec(),
        bytes,
    }
}

/// Elements of a byte that 16 bytes hold, which is what a GPU's thread loads at once at most.
const PACK: usize = 16;

/// Ids below `bound`, the first and the last one among them where there is room for both. The largest number of the
/// dtype is never one: candle takes it for "none".
pub(crate) fn fill_ids(
    set: ValueSet,
    dtype: DType,
    shape: &[usize],
    bound: usize,
    slot: &Slot<'_>,
) -> HostTensor {
    let count = shape.iter().product::<usize>();
    let mut rng = stream(slot.seed, slot.id, slot.arg);
    let last = i64::try_from(bound).unwrap_or(i64::MAX) - 1;
    let last = int_range(dtype).map_or(last, |(_, max)| last.min(max - 1)).max(0);
    let mut ids: Vec<i64> = (0..count)
        .map(|i| match i {
            0 if count > 1 => last,
            1 => 0,
            _ => between(&mut rng, 0, last),
        })
        .collect();
    let none = int_range(dtype).filter(|_| set == ValueSet::IdsNone);
    let special = set.bad_id(bound).or(none.map(|(_, max)| max));
    // Of many ids as many follow one another as a kernel reads at once, so that each place of a pack has it once. They are in the
    // middle: the end of a row and the beginning of the next, where there are two rows.
    let run = if count >= 8 * PACK { PACK } else { 1 };
    if let Some(special) = special {
        ids.iter_mut()
            .skip(count / 2 - run / 2)
            .take(run)
            .for_each(|id| *id = special);
    }
    integers(dtype, shape, &ids)
}

/// Zero at about every second place, any other number elsewhere.
pub(crate) fn fill_condition(dtype: DType, shape: &[usize], slot: &Slot<'_>) -> HostTensor {
    let count = shape.iter().product::<usize>();
    let mut rng = stream(slot.seed, slot.id, slot.arg);
    let mask = u64::MAX >> (64 - 8 * dtype.size());
    let truths: Vec<i64> = (0..count)
        .map(|_| match (rng.next_u64() & 1, rng.next_u64() & mask) {
            (0, _) => 0,
            (_, bits) => bits.max(1) as i64,
        })
        .collect();
    integers(dtype, shape, &truths)
}

fn integers(dtype: DType, shape: &[usize], values: &[i64]) -> HostTensor {
    let bytes = values
        .iter()
        .flat_map(|value| {
            encode_int(dtype, *value)
                .to_le_bytes()
                .into_iter()
                .take(dtype.size())
        })
        .collect();
    HostTensor {
        dtype,
        shape: shape.to_vec(),
        bytes,
    }
}

#[cfg(test)]
mod tests;
