//! Random numbers: no output is the right one, so these are an example. The judge asks `sample` instead of comparing.

use parity_model::op::Random;

use super::{Answer, exact};
use crate::expected::Call;
use crate::sample::{Distribution, FALSE_ALARM, example};

pub(crate) fn answer(call: &Call<'_>, op: Random) -> Answer {
    let x = &call.args[0];
    // The argument's numbers are the case's own: its bits are a seed as good as any.
    let seed = (0..x.len()).fold(0_u64, |seed, i| seed.rotate_left(5) ^ x.bits(i));
    let distribution = Distribution::of(op, &call.case.params, call.dtype);
    let bits = example(
        distribution,
        call.dtype,
        call.shape.iter().product(),
        seed,
        seeded(op),
    );
    let source = format!(
        "a sample of the distribution: range, mean, variance, Kolmogorov-Smirnov distance, correlations, multiples and \
         resolution, each by an inequality; together a right one fails with a probability below {FALSE_ALARM:e}"
    );
    (bits.into_iter().map(exact).collect(), source)
}

/// Whether a seed is set before each draw.
pub(crate) fn seeded(op: Random) -> bool {
    match op {
        Random::Uniform | Random::Normal => false,
        Random::UniformSeeded | Random::NormalSeeded => true,
    }
}

#[cfg(test)]
mod tests {
    use parity_model::{Case, HostTensor, Outcome, Verdict};

    use crate::{Expected, expected, judge};

    fn output(expected: &Expected, change: impl Fn(usize, u64) -> u64) -> Outcome {
        let size = expected.dtype.size();
        let bits = expected.elements.iter().enumerate();
        let bytes =
            bits.flat_map(|(i, element)| change(i, element.bits).to_le_bytes().into_iter().take(size));
        Outcome::Ran(HostTensor {
            dtype: expected.dtype,
            shape: expected.shape.clone(),
            bytes: bytes.collect(),
        })
    }

    #[test]
    fn another_sample_passes_a_constant_does_not_and_a_few_numbers_prove_nothing() {
        let verdict = |id: &str, change: &dyn Fn(usize, u64) -> u64| {
            let case: Case = id.parse().unwrap();
            let inputs = case.inputs(0);
            let right = expected(&case, &inputs);
            // Numbers of another seed: no element is where it was.
            let other = expected(&case, &case.inputs(1));
            judge(&case, &right, &inputs, None, &output(&other, change)).verdict
        };
        let normal = "random/rand_normal(0,1):f32:[2048]:contiguous:any";
        assert_eq!(verdict(normal, &|_, bits| bits), Verdict::Pass);
        assert_eq!(verdict(normal, &|_, _| 0), Verdict::Mismatch);
        let few = "random/rand_normal(0,1):f32:[64]:contiguous:any";
        assert_eq!(verdict(few, &|_, bits| bits), Verdict::Untrusted);
    }

    #[test]
    fn a_reference_that_draws_wrong_numbers_is_blamed() {
        let case: Case = "random/rand_uniform(0,1):f64:[2048]:contiguous:any"
            .parse()
            .unwrap();
        let inputs = case.inputs(0);
        let right = expected(&case, &inputs);
        let reference = output(&right, |_, _| 0.5_f64.to_bits());
        let judgement = judge(
            &case,
            &right,
            &inputs,
            Some(&reference),
            &output(&right, |_, bits| bits),
        );
        assert_eq!(judgement.verdict, Verdict::ReferenceSuspect);
    }
}
