//! A host model of rocRAND's Philox4x32-10 generator, as rocRAND documents it: which words the generator makes, which of them
//! become which number, and where a sequence goes on. No code of an AMD library is executed: logarithm, sine and cosine are
//! this host's, so that normal numbers agree with a card's except in the last digits.
//!
//! Not modelled, and refused with `ROCRAND_STATUS_TYPE_ERROR`: the other generators, XORWOW among them.

use std::f64::consts::TAU;

use rocm_rs::rocrand::bindings as rand;
use rocm_rs::rocrand::bindings::{rocrand_rng_type, rocrand_status};

use crate::handles::HandleKind;
use crate::library::{Objects, Reach};

/// The result of a rocRAND function before it becomes a status.
pub(crate) type Result<T = ()> = core::result::Result<T, rocrand_status>;

const NOT_CREATED: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_NOT_CREATED;
const TYPE_ERROR: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_TYPE_ERROR;
const LAUNCH_FAILURE: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_LAUNCH_FAILURE;
pub(crate) const INTERNAL_ERROR: rocrand_status = rand::rocrand_status_ROCRAND_STATUS_INTERNAL_ERROR;

/// A generator: what it was told, and how many words were used since.
#[derive(Debug, Default)]
struct Generator {
    seed: u64,
    offset: u64,
    used: u64,
}

static GENERATORS: Objects<Generator> = Objects::new(HandleKind::Rand);

const REACH: Reach<rocrand_status> = Reach {
    who: "rocRAND",
    missing: INTERNAL_ERROR,
    outside: LAUNCH_FAILURE,
};

fn with<T>(generator: usize, f: impl FnOnce(&mut Generator) -> T) -> Result<T> {
    GENERATORS.with(generator, f).ok_or(NOT_CREATED)
}

/// A generator of seed 0.
pub(crate) fn create(kind: rocrand_rng_type) -> Result<usize> {
    REACH.device()?;
    if kind != rand::rocrand_rng_type_ROCRAND_RNG_PSEUDO_PHILOX4_32_10 {
        return Err(TYPE_ERROR);
    }
    Ok(GENERATORS.insert(Generator::default()))
}

pub(crate) fn destroy(generator: usize) -> Result {
    GENERATORS.remove(generator).map(drop).ok_or(NOT_CREATED)
}

/// Streams execute at submission: which one it is changes nothing.
pub(crate) fn set_stream(generator: usize, stream: usize) -> Result {
    with(generator, |_| ())?;
    REACH.device()?.check_stream(stream).map_err(|_| INTERNAL_ERROR)
}

/// The sequence begins anew.
pub(crate) fn set_seed(generator: usize, seed: u64) -> Result {
    with(generator, |state| (state.seed, state.used) = (seed, 0))
}

/// The sequence begins anew, at that word.
pub(crate) fn set_offset(generator: usize, offset: u64) -> Result {
    with(generator, |state| (state.offset, state.used) = (offset, 0))
}

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) of the block
/// numbered `counter`.
fn philox(seed: u64, counter: u64) -> [u32; 4] {
    let mut x = [counter as u32, (counter >> 32) as u32, 0, 0];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let [even, odd] =
            [(x[0], 0xd251_1f53_u32), (x[2], 0xcd9e_8d57)].map(|(x, m)| u64::from(x) * u64::from(m));
        x = [
            (odd >> 32) as u32 ^ x[1] ^ key[0],
            odd as u32,
            (even >> 32) as u32 ^ x[3] ^ key[1],
            even as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    x
}

/// A number's type and distribution: how many words make how many numbers, and which.
pub(crate) trait Draw {
    /// Words that are used together.
    const WORDS: usize;
    /// Numbers made of them.
    const NUMBERS: usize;
    /// The numbers' bytes, one after the other.
    fn numbers(&self, words: &[u32]) -> Vec<u8>;
}

/// Uniform numbers above 0 and up to 1.
pub(crate) struct Uniform;
/// The same in f64.
pub(crate) struct UniformDouble;
/// Normal numbers with this mean and standard deviation.
pub(crate) struct Normal(pub(crate) f32, pub(crate) f32);
/// The same in f64.
pub(crate) struct NormalDouble(pub(crate) f64, pub(crate) f64);

/// A word as a number above 0 and up to 1: rocRAND converts it to f32 first, which rounds.
fn unit(word: u32) -> f32 {
    (word as f32).mul_add(2f32.powi(-32), 2f32.powi(-32))
}

/// 53 bits as a number above 0 and up to 1, which is exact.
fn unit_double(bits: u64) -> f64 {
    (bits as f64 + 1.0) * 2f64.powi(-53)
}

impl Draw for Uniform {
    const WORDS: usize = 1;
    const NUMBERS: usize = 1;
    fn numbers(&self, words: &[u32]) -> Vec<u8> {
        unit(words[0]).to_le_bytes().to_vec()
    }
}

impl Draw for UniformDouble {
    const WORDS: usize = 2;
    const NUMBERS: usize = 1;
    fn numbers(&self, words: &[u32]) -> Vec<u8> {
        // The second word gives the upper 21 bits.
        let bits = u64::from(words[0]) | u64::from(words[1] >> 11) << 32;
        unit_double(bits).to_le_bytes().to_vec()
    }
}

impl Draw for Normal {
    const WORDS: usize = 2;
    const NUMBERS: usize = 2;
    fn numbers(&self, words: &[u32]) -> Vec<u8> {
        let angle = f64::from(unit(words[1])) * TAU;
        let radius = (-2.0 * unit(words[0]).ln()).sqrt();
        let of = |part: f64| self.0 + part as f32 * radius * self.1;
        [of(angle.sin()), of(angle.cos())].map(f32::to_le_bytes).concat()
    }
}

impl Draw for NormalDouble {
    const WORDS: usize = 4;
    const NUMBERS: usize = 2;
    fn numbers(&self, words: &[u32]) -> Vec<u8> {
        // Here the words overlap.
        let bits = |pair: &[u32]| u64::from(pair[0]) ^ u64::from(pair[1]) << 21;
        let angle = unit_double(bits(&words[2..])) * TAU;
        let radius = (-2.0 * unit_double(bits(words)).ln()).sqrt();
        let of = |part: f64| self.0 + part * radius * self.1;
        [of(angle.sin()), of(angle.cos())].map(f64::to_le_bytes).concat()
    }
}

/// `count` numbers of `size` bytes at `address`; the sequence goes on after the words that whole groups of numbers use.
pub(crate) fn generate<D: Draw>(
    generator: usize,
    draw: &D,
    address: u64,
    count: usize,
    size: usize,
) -> Result {
    let groups = count.div_ceil(D::NUMBERS);
    let words = groups.checked_mul(D::WORDS).ok_or(LAUNCH_FAILURE)?;
    let (seed, first) = with(generator, |state| {
        let first = state.offset.wrapping_add(state.used);
        state.used = state.used.wrapping_add(words as u64);
        (state.seed, first)
    })?;
    if count == 0 {
        return Ok(());
    }
    let word = |at: usize| {
        let at = first.wrapping_add(at as u64);
        philox(seed, at / 4)[(at % 4) as usize]
    };
    let mut bytes = Vec::with_capacity(groups * D::NUMBERS * size);
    for group in 0..groups {
        let words: Vec<u32> = (0..D::WORDS).map(|k| word(group * D::WORDS + k)).collect();
        bytes.extend(draw.numbers(&words));
    }
    bytes.truncate(count * size);
    REACH.write(address, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_has_the_words_that_its_authors_publish() {
        // Random123's known answers, counter and key 0.
        assert_eq!(philox(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_ne!(philox(1, 0), philox(0, 0));
        assert_ne!(philox(0, 1), philox(0, 0));
    }

    #[test]
    fn uniform_numbers_are_above_zero_and_up_to_one() {
        assert_eq!((unit(0), unit(u32::MAX)), (2f32.powi(-32), 1.0));
        assert_eq!(unit(1 << 31), 0.5);
        assert_eq!(
            (unit_double(0), unit_double((1 << 53) - 1)),
            (2f64.powi(-53), 1.0)
        );
    }
}
