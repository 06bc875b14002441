//! Whether numbers are a sample of the distribution that they are to be drawn from.
//!
//! Every check has a bound on the probability that a right generator fails it, from an inequality that holds for every
//! sample size: none is an approximation. Together they stay below [`FALSE_ALARM`] a sample. Rounding to the dtype is in
//! the checks: a number has the probability of the interval of one step to either side of it.

use parity_model::float::Format;
use parity_model::op::Random;
use parity_model::{DType, HostTensor};

use crate::numbers::reals;

/// The probability that a sample of a right generator is taken for a wrong one, at most.
pub(crate) const FALSE_ALARM: f64 = 1e-9;
/// What each single event may take of it: there are fewer than a hundred.
const EVENT: f64 = FALSE_ALARM / 100.0;
/// With fewer numbers than this in a draw, little is known.
pub(crate) const LEAST: usize = 1024;

/// What is drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Of this mean and standard deviation.
    Normal(f64, f64),
}

impl Distribution {
    /// What a row of the table draws from; the parameters become numbers of the dtype first.
    pub(crate) fn of(op: Random, params: &[f64], dtype: DType) -> Distribution {
        let param = |i: usize| Format::of(dtype).map_or(params[i], |format| format.round(params[i]));
        match op {
            Random::Uniform | Random::UniformSeeded => Distribution::Uniform(param(0), param(1)),
            Random::Normal | Random::NormalSeeded => Distribution::Normal(param(0), param(1)),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Distribution::Uniform(lo, up) => f64::midpoint(lo, up),
            Distribution::Normal(mean, _) => mean,
        }
    }

    fn deviation(self) -> f64 {
        match self {
            Distribution::Uniform(lo, up) => (up - lo) / 12_f64.sqrt(),
            Distribution::Normal(_, deviation) => deviation,
        }
    }

    /// The probability of numbers up to `x`.
    fn up_to(self, x: f64) -> f64 {
        match self {
            Distribution::Uniform(lo, up) => ((x - lo) / (up - lo)).clamp(0.0, 1.0),
            Distribution::Normal(mean, deviation) => {
                0.5 * core_math::erfc((mean - x) / deviation * std::f64::consts::FRAC_1_SQRT_2)
            }
        }
    }

    /// The probability of numbers between `a` and `b`.
    fn between(self, a: f64, b: f64) -> f64 {
        // Far above the mean the differences would cancel.
        let mean = self.mean();
        match self {
            Distribution::Normal(..) if a > mean => self.up_to(2.0 * mean - a) - self.up_to(2.0 * mean - b),
            _ => self.up_to(b) - self.up_to(a),
        }
    }
}

/// Two draws that a right generator may give, for tests of the judge: a counter's hash (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014), and of it normal numbers after Box and Muller.
pub(crate) fn example(
    distribution: Distribution,
    dtype: DType,
    count: usize,
    seed: u64,
    same: bool,
) -> Vec<u64> {
    let format = Format::of(dtype).unwrap_or_else(|| panic!("random numbers of {dtype}"));
    let unit = |i: usize| {
        let mut z = seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    let number = |i: usize| match distribution {
        Distribution::Uniform(lo, up) => lo + (up - lo) * unit(2 * i),
        Distribution::Normal(mean, deviation) => {
            let radius = (-2.0 * core_math::log(1.0 - unit(2 * i))).sqrt();
            mean + deviation * radius * core_math::cos(std::f64::consts::TAU * unit(2 * i + 1))
        }
    };
    let inside = |x: f64| match distribution {
        Distribution::Uniform(_, up) if format.round(x) >= up => up - format.ulp(up),
        Distribution::Uniform(..) | Distribution::Normal(..) => x,
    };
    let half = (count / 2).max(1);
    (0..count)
        .map(|i| format.encode(inside(number(if same { i % half } else { i }))))
        .collect()
}

/// What shows that `output`, two draws one after the other, is not a sample of the distribution; the draws are to
/// be the same where a seed was set before each, and to differ where none was.
pub(crate) fn fault(distribution: Distribution, seeded: bool, output: &HostTensor) -> Option<String> {
    let Some(format) = Format::of(output.dtype) else {
        return Some(format!("numbers of {}", output.dtype));
    };
    let half = output.len() / 2;
    let bits = |i: usize| output.bits(i);
    let same = (0..half).all(|i| bits(i) == bits(half + i));
    match (seeded, same) {
        (true, false) => return Some("the same seed gave two different draws".to_owned()),
        (false, true) if half > 0 => return Some("two draws are the same".to_owned()),
        (true | false, _) => {}
    }
    let numbers = reals(output);
    let sample = Sample {
        distribution,
        format,
        // A draw repeated says nothing new.
        numbers: if seeded { &numbers[..half] } else { &numbers },
    };
    sample.fault()
}

struct Sample<'a> {
    distribution: Distribution,
    format: Format,
    numbers: &'a [f64],
}

impl Sample<'_> {
    fn fault(&self) -> Option<String> {
        self.range()
            .or_else(|| self.moments())
            .or_else(|| self.kolmogorov())
            .or_else(|| self.correlation())
            .or_else(|| self.zeros())
            .or_else(|| self.multiples())
            .or_else(|| self.resolution())
    }

    /// How far apart a generator's numbers may lie near `x`. It computes mean + deviation z, or lo + span u, in the dtype;
    /// so they are multiples of the steps between its larger operands, and no finer than f32's fractions of the span.
    fn step(&self, x: f64) -> f64 {
        let (operands, fraction) = match self.distribution {
            Distribution::Uniform(lo, up) => (lo.abs().max(up.abs()), (up - lo) * 2_f64.powi(-24)),
            Distribution::Normal(mean, deviation) => (mean.abs().max(deviation), 0.0),
        };
        self.format.ulp(x).max(self.format.ulp(operands)).max(fraction)
    }

    fn count(&self) -> f64 {
        self.numbers.len() as f64
    }

    /// Uniform numbers stay between the ends; of n normal ones, by the union bound, none is beyond t deviations with
    /// 2 n e^(-t^2 / 2) as the probability.
    fn range(&self) -> Option<String> {
        let (low, high) = match self.distribution {
            Distribution::Uniform(lo, up) => (self.format.round(lo), self.format.round(up)),
            Distribution::Normal(mean, deviation) => {
                let reach = (2.0 * (2.0 * self.count() / EVENT).ln()).sqrt() * deviation;
                let reach = reach + self.format.ulp(mean.abs() + reach);
                (mean - reach, mean + reach)
            }
        };
        if let Some(x) = self.numbers.iter().find(|x| !(low..=high).contains(*x)) {
            return Some(format!("{x} is outside [{low}, {high}]"));
        }
        // A generator excludes one of the bounds: candle's CPU the upper one, cuRAND and rocRAND the lower one. With f32's fractions none of
        // few numbers is at a bound. In 8 and 16 bits no library draws: what is at the upper bound was rounded up to it.
        let rounded = self.format.unit_roundoff() > 2_f64.powi(-24);
        let uniform = matches!(self.distribution, Distribution::Uniform(..));
        let reached = rounded && uniform && self.numbers.contains(&high);
        reached.then(|| format!("{high} is not below {high}, which a draw is to be"))
    }

    /// The numbers less their mean, in deviations.
    fn standardized(&self) -> impl Iterator<Item = f64> + use<'_> {
        let (mean, deviation) = (self.distribution.mean(), self.distribution.deviation());
        self.numbers.iter().map(move |x| (x - mean) / deviation)
    }

    /// The mean and the mean square of the standardized numbers. Bounded ones: Hoeffding's inequality. Normal ones: the
    /// mean is normal, and the square sum chi-squared: Laurent and Massart, Annals of Statistics 28 (2000), lemma 1.
    fn moments(&self) -> Option<String> {
        let (n, log) = (self.count(), (2.0 / EVENT).ln());
        let mean = self.standardized().sum::<f64>() / n;
        let square = self.standardized().map(|z| z * z).sum::<f64>() / n;
        let (of_mean, of_square) = match self.distribution {
            // Between -sqrt 3 and sqrt 3; their squares between 0 and 3.
            Distribution::Uniform(..) => (
                12_f64.sqrt() * (log / (2.0 * n)).sqrt(),
                3.0 * (log / (2.0 * n)).sqrt(),
            ),
            Distribution::Normal(..) => ((2.0 * log / n).sqrt(), 2.0 * (log / n).sqrt() + 2.0 * log / n),
        };
        // Each number may be off by a step.
        let gaps = || {
            self.numbers
                .iter()
                .map(|x| self.step(*x) / self.distribution.deviation())
        };
        let shift = gaps().sum::<f64>() / n;
        let stretch = self
            .standardized()
            .zip(gaps())
            .map(|(z, gap)| (2.0 * z.abs() + gap) * gap);
        let stretch = stretch.sum::<f64>() / n;
        if mean.abs() > of_mean + shift {
            return Some(format!(
                "the mean is {mean:.4} deviations off, where {of_mean:.4} are allowed"
            ));
        }
        let off = (square - 1.0).abs();
        (off > of_square + stretch).then(|| {
            format!("the variance is {square:.4} of what it should be, {of_square:.4} off is allowed")
        })
    }

    /// The largest distance between the shares of numbers up to any point and their probability: the inequality of
    /// Dvoretzky, Kiefer and Wolfowitz with Massart's constant, 2 e^(-2 n d^2).
    fn kolmogorov(&self) -> Option<String> {
        let mut sorted = self.numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = self.count();
        let distance = |(i, x): (usize, &f64)| {
            let gap = self.step(*x);
            let above = (i + 1) as f64 / n - self.distribution.up_to(x + gap);
            let below = self.distribution.up_to(x - gap) - i as f64 / n;
            above.max(below)
        };
        let found = sorted.iter().enumerate().map(distance).fold(0.0, f64::max);
        let allowed = ((2.0 / EVENT).ln() / (2.0 * n)).sqrt();
        (found > allowed)
            .then(|| format!("the Kolmogorov-Smirnov distance is {found:.4}, where {allowed:.4} is allowed"))
    }

    /// Products of numbers a power of two apart, taken in two halves of pairs that share no number: each half is a sum of
    /// independent terms. For bounded ones Hoeffding's inequality; for normal ones Chernoff's with
    /// E e^(s x y) = (1 - s^2)^(-1/2).
    fn correlation(&self) -> Option<String> {
        let z: Vec<f64> = self.standardized().collect();
        let lags = std::iter::successors(Some(1), |lag| Some(lag * 2)).take_while(|lag| lag * 2 <= z.len());
        let lags: Vec<usize> = lags.collect();
        let log = (4.0 * lags.len() as f64 / EVENT).ln();
        for lag in lags {
            for parity in 0..2 {
                // The pairs (i, i + lag) whose i lies in even, or odd, blocks of the lag's length.
                let pairs = (0..z.len() - lag).filter(|i| i / lag % 2 == parity);
                let (mut sum, mut count) = (0.0, 0.0);
                for i in pairs {
                    sum += z[i] * z[i + lag];
                    count += 1.0;
                }
                let allowed = match self.distribution {
                    Distribution::Uniform(..) => (2.0 * 9.0 * count * log).sqrt(),
                    Distribution::Normal(..) => normal_products(count, log),
                };
                if f64::abs(sum) > allowed {
                    return Some(format!(
                        "numbers {lag} apart are correlated: {:.4}, where {:.4} is allowed",
                        sum / count,
                        allowed / count
                    ));
                }
            }
        }
        None
    }

    /// How often zero may come up: by Chernoff's inequality, from the probability of what rounds to it.
    fn zeros(&self) -> Option<String> {
        let zeros = self.numbers.iter().filter(|x| **x == 0.0).count();
        let gap = self.step(0.0);
        let p = self.distribution.between(-gap, gap);
        let found = zeros as f64;
        (found > 0.0 && chernoff(self.count(), p, found) < EVENT)
            .then(|| format!("{zeros} of {} numbers are zero", self.numbers.len()))
    }

    /// How often any number may come up. A number has the probability of the interval of one step to either side of
    /// it, and at least [`GRAIN`]; the union bound over all that can come up.
    fn multiples(&self) -> Option<String> {
        let mut sorted = self.numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = self.count();
        for equal in sorted.chunk_by(|a, b| a == b).filter(|equal| equal.len() > 1) {
            let (x, found) = (equal[0], equal.len() as f64);
            let gap = self.step(x);
            let p = self.distribution.between(x - gap, x + gap).max(GRAIN);
            // No more numbers than those of the format, or of the grain, are as likely as this one.
            let numbers = 2_f64.powi(self.format.bits.min(32) as i32);
            if found > n * p && chernoff(n, p, found) * numbers < EVENT {
                return Some(format!(
                    "{x} comes up {} times in {} numbers",
                    equal.len(),
                    self.numbers.len()
                ));
            }
        }
        None
    }

    /// How many numbers may be numbers of the next narrower format too. A generator of k bits gives such with a
    /// probability of about (bits + 1 + 2) 2^(bits - k), bits being the narrower one's; k is at least 23 for f32 and 32 for f64.
    fn resolution(&self) -> Option<String> {
        let (narrower, p) = match self.format.mantissa_bits {
            52 => (Format::of(DType::F32)?, 2_f64.powi(-4)),
            23 => (Format::of(DType::BF16)?, 2_f64.powi(-9)),
            _ => return None,
        };
        let short = self.numbers.iter().filter(|x| narrower.round(**x) == **x).count() as f64;
        (short > self.count() * p && chernoff(self.count(), p, short) < EVENT).then(|| {
            format!(
                "{short} of {} numbers are no finer than a narrower float",
                self.numbers.len()
            )
        })
    }
}

/// The coarsest steps that a generator's numbers may have, as a share of the distribution.
const GRAIN: f64 = 1.0 / (1 << 22) as f64;

/// Chernoff's bound on the probability that of `n` trials with probability `p` at least `found`, which is more than
/// n p, succeed: e^(-n KL(found / n, p)).
fn chernoff(n: f64, p: f64, found: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let (q, rest) = (found / n, 1.0 - found / n);
    if q <= p {
        return 1.0;
    }
    let tail = if rest > 0.0 {
        rest * (rest / (1.0 - p)).ln()
    } else {
        0.0
    };
    (-n * (q * (q / p).ln() + tail)).exp()
}

/// What a sum of `count` products of independent standard normal numbers exceeds with a probability of at most
/// e^-log: the least t with -s t - count ln(1 - s^2) / 2 = -log, over a few s.
fn normal_products(count: f64, log: f64) -> f64 {
    (1..200)
        .map(|i| f64::from(i) / 200.0)
        .map(|s| (log - 0.5 * count * (-s * s).ln_1p()) / s)
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 4096;

    fn tensor(dtype: DType, bits: &[u64]) -> HostTensor {
        let bytes = bits
            .iter()
            .flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size()));
        HostTensor {
            dtype,
            shape: vec![2, bits.len() / 2],
            bytes: bytes.collect(),
        }
    }

    const FLOATS: [DType; 4] = [DType::BF16, DType::F16, DType::F32, DType::F64];

    fn distributions() -> [Distribution; 3] {
        [
            Distribution::Uniform(-3.0, 1.0),
            Distribution::Normal(0.0, 1.0),
            Distribution::Normal(5.0, 0.25),
        ]
    }

    /// What is found of the numbers that `change` makes of a right sample, for every dtype and distribution.
    fn found(
        change: impl Fn(Distribution, usize, &[f64]) -> f64,
    ) -> Vec<(DType, Distribution, Option<String>)> {
        let mut all = Vec::new();
        for dtype in FLOATS {
            for distribution in distributions() {
                let format = Format::of(dtype).unwrap();
                let right = example(distribution, dtype, COUNT, 7, false);
                let right: Vec<f64> = right.iter().map(|bits| format.decode(*bits)).collect();
                let bits: Vec<u64> = (0..COUNT)
                    .map(|i| format.encode(change(distribution, i, &right)))
                    .collect();
                all.push((
                    dtype,
                    distribution,
                    fault(distribution, false, &tensor(dtype, &bits)),
                ));
            }
        }
        all
    }

    #[track_caller]
    fn caught(what: &str, change: impl Fn(Distribution, usize, &[f64]) -> f64) {
        for (dtype, distribution, fault) in found(change) {
            assert!(fault.is_some(), "{what}: {distribution:?} of {dtype}");
        }
    }

    #[test]
    fn samples_of_many_seeds_pass() {
        for dtype in FLOATS {
            for distribution in distributions() {
                for seed in 0..4 {
                    let bits = example(distribution, dtype, COUNT, seed * 0x1234_5678_9abc, false);
                    let fault = fault(distribution, false, &tensor(dtype, &bits));
                    assert_eq!(fault, None, "{distribution:?} of {dtype}, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn the_upper_bound_is_caught_in_narrow_dtypes() {
        let up = |distribution, i: usize, right: &[f64]| match distribution {
            Distribution::Uniform(_, up) if i == 7 => up,
            Distribution::Uniform(..) | Distribution::Normal(..) => right[i],
        };
        for (dtype, distribution, fault) in found(up) {
            let wrong = matches!(distribution, Distribution::Uniform(..)) && dtype.size() < 4;
            assert_eq!(fault.is_some(), wrong, "{distribution:?} of {dtype}: {fault:?}");
        }
    }

    #[test]
    fn a_constant_and_a_ramp_are_caught() {
        caught("the mean", |distribution, _, _| distribution.mean());
        caught("ascending numbers", |_, i, right| {
            let mut sorted = right.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted[i]
        });
    }

    #[test]
    fn a_wrong_scale_and_a_shift_are_caught() {
        caught("a quarter wider", |distribution, i, right| {
            distribution.mean() + 1.25 * (right[i] - distribution.mean())
        });
        caught("a quarter narrower", |distribution, i, right| {
            distribution.mean() + 0.75 * (right[i] - distribution.mean())
        });
        caught("a quarter of a deviation aside", |distribution, i, right| {
            right[i] + 0.25 * distribution.deviation()
        });
    }

    #[test]
    fn a_repeated_block_is_caught() {
        for block in [1, 32, 256, COUNT / 2] {
            caught(&format!("blocks of {block}"), |_, i, right| right[i % block]);
        }
        caught("each number twice", |_, i, right| right[i / 2]);
    }

    #[test]
    fn what_was_not_written_is_caught() {
        // In 16 bits and fewer, some numbers are zero.
        let zeros = found(|_, i, right| if i < 32 { 0.0 } else { right[i] });
        let mut wide = zeros
            .iter()
            .filter(|row| matches!(row.0, DType::F32 | DType::F64));
        assert!(wide.all(|row| row.2.is_some()), "{zeros:?}");
        caught(
            "a quarter of zeros",
            |_, i, right| if i < COUNT / 4 { 0.0 } else { right[i] },
        );
        caught("one number that is none", |_, i, right| {
            if i == 9 { f64::NAN } else { right[i] }
        });
    }

    #[test]
    fn numbers_of_a_narrower_float_are_caught() {
        let narrowed = found(|_, i, right| f64::from(right[i] as f32));
        let caught = |dtype: DType| {
            narrowed
                .iter()
                .filter(|row| row.0 == dtype)
                .all(|row| row.2.is_some())
        };
        assert!(caught(DType::F64) && !caught(DType::F32), "{narrowed:?}");
    }

    #[test]
    fn a_distribution_of_the_same_moments_is_caught() {
        let right = example(
            Distribution::Uniform(-(3_f64.sqrt()), 3_f64.sqrt()),
            DType::F32,
            4 * COUNT,
            3,
            false,
        );
        let fault = fault(Distribution::Normal(0.0, 1.0), false, &tensor(DType::F32, &right));
        assert!(
            fault.is_some_and(|why| why.contains("Kolmogorov")),
            "uniform numbers for normal ones"
        );
    }

    #[test]
    fn seeded_draws_are_the_same_and_others_are_not() {
        let distribution = Distribution::Normal(0.0, 1.0);
        let of = |same: bool| tensor(DType::F32, &example(distribution, DType::F32, COUNT, 5, same));
        assert_eq!(fault(distribution, true, &of(true)), None);
        assert_eq!(fault(distribution, false, &of(false)), None);
        assert!(fault(distribution, true, &of(false)).is_some_and(|why| why.contains("same seed")));
        assert!(fault(distribution, false, &of(true)).is_some_and(|why| why.contains("are the same")));
    }

    #[test]
    fn bounds_hold_where_the_probability_is_known() {
        // Of 100 fair coins, 75 heads: 2.8e-7.
        let bound = chernoff(100.0, 0.5, 75.0);
        assert!(bound > 2.8e-7 && bound < 3e-6, "{bound:e}");
        assert!((Distribution::Normal(0.0, 1.0).up_to(-1.0) - 0.158_655_253_931_457).abs() < 1e-15);
    }
}
