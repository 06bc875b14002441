//! What a custom op of candle-nn or candle keeps to itself, found out by asking it: each op can run on the CPU, and what it
//! makes of a few chosen numbers tells its parameter. Pure functions; `custom.rs` asks the op.
//!
//! The `eps` of a norm cannot be read off one answer: it goes through a square root, which maps two floats to one. So the
//! answer to a probe is held against what the norm's formula gives for every `eps`. The formula never rises with `eps`
//! (IEEE addition, root and division are monotone), so the floats that give this very answer are a range, and binary
//! search finds its ends. A first probe, with squares too small to count, leaves a few neighbours; further probes, with
//! squares about as large as `eps`, are chosen such that the formula tells the two ends apart, and each cuts something
//! off. What is left in the end is the only float that explains all answers: `eps`, exactly. If none does, the formula is
//! not what it was, and the op is better off on the CPU.
//!
//! All of that follows from the answers. So what was found is kept with them: an op that gives the same answers to the same
//! probes, asked all at once, has the same `eps`.

/// What the norm of `x` gives, divided by the weight of 1, in f32: `formula(x, eps)`, which does not rise with `eps`.
pub(super) type Formula = fn(f32, f32) -> f32;

/// The rms norm of the row `[x]`: the root of the mean of the squares divides.
pub(super) fn rms_formula(x: f32, eps: f32) -> f32 {
    x / (x * x + eps).sqrt()
}

/// The first element of the layer norm of `[x, -x]`: the mean is 0, the variance `x²`, and the root's reciprocal
/// multiplies.
pub(super) fn layer_formula(x: f32, eps: f32) -> f32 {
    x * (x * x + eps).sqrt().recip()
}

/// A number whose square is 0 in f32, and that is still normal when any root of an `eps` divides it (but for the largest).
const TINY: f32 = f32::from_bits((127 - 80) << 23);
/// Probes that are tried, at most, to tell two neighbours apart. One in four does on average.
const TRIES: u16 = 1 << 10;

/// What was found of one formula, the last one first; so many at most.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Known>);

const MOST_KNOWN: usize = 8;

/// Probes, what an op answered, and the `eps` that follows.
#[derive(Debug)]
struct Known {
    probes: Vec<f32>,
    answers: Vec<f32>,
    eps: f32,
}

/// As [`eps`], of an op that answers any number of probes at once; what `memory` has of `formula` is not searched for again.
pub(super) fn known_eps<E>(
    formula: Formula,
    memory: &mut Memory,
    mut ask: impl FnMut(&[f32]) -> Result<Vec<f32>, E>,
) -> Result<Option<f32>, E> {
    for known in &memory.0 {
        if ask(&known.probes)? == known.answers {
            return Ok(Some(known.eps));
        }
    }
    let (mut probes, mut answers) = (vec![], vec![]);
    let found = eps(formula, |x| {
        // No answer is one of no number.
        let answer = ask(&[x])?.first().copied().unwrap_or(f32::NAN);
        probes.push(x);
        answers.push(answer);
        Ok(answer)
    })?;
    if let Some(eps) = found {
        memory.0.truncate(MOST_KNOWN - 1);
        memory.0.insert(0, Known { probes, answers, eps });
    }
    Ok(found)
}

/// The only `eps`, zero or positive and finite, with which `formula` gives what `ask` answers; `None` if there is none.
fn eps<E>(formula: Formula, mut ask: impl FnMut(f32) -> Result<f32, E>) -> Result<Option<f32>, E> {
    let mut range = match matching(formula, TINY, ask(TINY)?, (0, f32::MAX.to_bits())) {
        Some(range) => range,
        None => return Ok(None),
    };
    while range.0 < range.1 {
        let Some(x) = separating(formula, range) else {
            return Ok(None);
        };
        range = match matching(formula, x, ask(x)?, range) {
            Some(range) => range,
            None => return Ok(None),
        };
    }
    Ok(Some(f32::from_bits(range.0)))
}

/// The part of `range` (bits of floats, ends included) for which `formula` gives `answer`.
fn matching(formula: Formula, x: f32, answer: f32, range: (u32, u32)) -> Option<(u32, u32)> {
    if answer.is_nan() {
        return None;
    }
    let of = |bits: u32| formula(x, f32::from_bits(bits));
    let first = first_where(range, |bits| of(bits) <= answer);
    let beyond = first_where(range, |bits| of(bits) < answer);
    (first < beyond).then(|| (first, beyond - 1))
}

/// The first number of `range` for which `holds` is true; it must be true for all later ones too. One past the range if it is true for none.
fn first_where((mut low, high): (u32, u32), holds: impl Fn(u32) -> bool) -> u32 {
    let mut high = high + 1;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// A number for which `formula` gives one thing at the low end of `range` and another at the high end.
fn separating(formula: Formula, (low, high): (u32, u32)) -> Option<f32> {
    let (low, high) = (f32::from_bits(low), f32::from_bits(high));
    // Up to twice the root: the square is not much larger than eps, and the sum keeps eps' last bits.
    let step = 2.0 * high.sqrt() / f32::from(TRIES);
    (1..=TRIES)
        .map(|k| step * f32::from(k))
        .find(|&x| formula(x, low) != formula(x, high))
}

/// How the elements of a row lie whose argsort tells the direction: the first is less than the others, which are equal.
pub(super) fn unsorted_row(len: usize) -> Vec<u8> {
    let mut row = vec![1; len];
    if let Some(first) = row.first_mut() {
        *first = 0;
    }
    row
}

/// Whether `order`, the argsort of [`unsorted_row`], is ascending. A row of one element is either.
pub(super) fn is_ascending(order: &[u32]) -> bool {
    order.first().is_none_or(|&first| first == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMULAS: [Formula; 2] = [rms_formula, layer_formula];

    fn found(formula: Formula, real: f32) -> Option<f32> {
        eps(formula, |x| Ok::<_, ()>(formula(x, real))).unwrap()
    }

    #[test]
    fn every_eps_is_found_to_the_bit() {
        let common = [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 0.1, 0.5, 1.0, 2.0, 1e3];
        // Every mantissa pattern of a stride, at exponents over the whole range of useful ones, odd and even.
        let patterns = (0..1 << 23).step_by(1009).flat_map(|mantissa: u32| {
            [127, 126, 110, 93, 60, 150].map(|exponent| f32::from_bits(exponent << 23 | mantissa))
        });
        for real in common.into_iter().chain(patterns) {
            for formula in FORMULAS {
                let found = found(formula, real).map(f32::to_bits);
                assert_eq!(found, Some(real.to_bits()), "{real:e}");
            }
        }
    }

    #[test]
    fn one_answer_alone_leaves_neighbours() {
        let answer = rms_formula(TINY, 1e-5);
        let (low, high) = matching(rms_formula, TINY, answer, (0, f32::MAX.to_bits())).unwrap();
        assert!(low < high && high - low < 8, "{low:x} to {high:x}");
    }

    #[test]
    fn an_eps_that_is_known_takes_one_question_and_others_are_told_from_it() {
        for formula in FORMULAS {
            let mut memory = Memory::default();
            let mut asked = 0;
            let mut known = |real: f32| {
                let ask = |probes: &[f32]| {
                    asked += 1;
                    Ok::<_, ()>(probes.iter().map(|&x| formula(x, real)).collect())
                };
                let found = known_eps(formula, &mut memory, ask).unwrap();
                (found.map(f32::to_bits), std::mem::take(&mut asked))
            };
            // Neighbours, which answer most probes alike, and more of them than are kept.
            for bits in 1e-5_f32.to_bits()..1e-5_f32.to_bits() + 20 {
                let (found, questions) = known(f32::from_bits(bits));
                assert_eq!(found, Some(bits));
                assert!(questions > 1);
                assert_eq!(known(f32::from_bits(bits)), (Some(bits), 1), "the last one");
            }
            assert_eq!(known(f32::NAN).0, None);
        }
    }

    #[test]
    fn answers_of_another_formula_or_of_no_eps_give_none() {
        let strangers: [fn(f32) -> f32; 4] = [|_| f32::NAN, |_| -1.0, |x| x, |x| x / (x.abs() + 1e-5)];
        for (number, stranger) in strangers.into_iter().enumerate() {
            for formula in FORMULAS {
                assert_eq!(
                    eps(formula, |x| Ok::<_, ()>(stranger(x))),
                    Ok(None),
                    "stranger {number}"
                );
            }
        }
        assert_eq!(found(rms_formula, -1.0), None, "a negative eps");
        assert_eq!(found(rms_formula, f32::NAN), None);
    }

    #[test]
    fn an_op_that_fails_is_told() {
        assert_eq!(eps(rms_formula, |_| Err("no")), Err("no"));
    }

    #[test]
    fn the_direction_is_read_off_the_first_element() {
        let row = unsorted_row(5);
        let mut order: Vec<u32> = (0..5).collect();
        order.sort_by_key(|&at| row[at as usize]);
        assert!(is_ascending(&order));
        order.sort_by_key(|&at| std::cmp::Reverse(row[at as usize]));
        assert!(!is_ascending(&order));
        assert!(unsorted_row(0).is_empty());
    }
}
