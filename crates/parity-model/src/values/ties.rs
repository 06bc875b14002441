//! Numbers that lie halfway between two of a format, to which rounding to nearest has to choose the even one.

use rand_chacha::ChaCha8Rng;

use super::between;
use crate::float::Format;

/// Stored bits of the significand of narrower formats: f32, f16, bf16, f8e4m3.
const NARROWER: [u32; 4] = [23, 10, 7, 3];

/// Element `i` of the argument `place`. Both arguments have the exponent that `i` gives, so that where they meet element by element, the
/// right one can have half a unit in the last place of the left one.
pub(super) fn number(format: &Format, place: usize, i: usize, rng: &mut ChaCha8Rng) -> f64 {
    let bits = format.mantissa_bits;
    let exponent = (i % 7) as i32 - 3;
    let sign = if between(rng, 0, 1) == 0 { 1.0 } else { -1.0 };
    let unit = f64::from(exponent - bits as i32).exp2();
    if place > 0 && between(rng, 0, 1) == 0 {
        // Of f8e4m3 this is a subnormal number where the exponent is low.
        return sign * unit / 2.0;
    }
    if place > 0 {
        return sign * (3 + 2 * between(rng, 0, 2)) as f64;
    }
    let narrower: Vec<u32> = NARROWER.into_iter().filter(|&narrow| narrow < bits).collect();
    let one = 1_i64 << bits;
    let significand = match between(rng, 0, narrower.len() as i64) {
        0 => one + between(rng, 0, one - 1),
        nth => {
            let dropped = bits - narrower[nth as usize - 1];
            let kept = between(rng, 0, (one >> dropped) - 1) << dropped;
            // The tie itself as often as its two neighbours.
            let beside = [0, 0, 1, -1][between(rng, 0, 3) as usize];
            one + kept + (1 << (dropped - 1)) + beside
        }
    };
    sign * significand as f64 * unit
}
