//! Where a device parts from the CPU: every op of a model, each judged for the inputs that the device itself gave it.

use parity_model::record::BackendInfo;
use serde::Serialize;
use zoo_protocol::{Answer, Dtype, Watched};

use crate::judge::CHOSEN_FACTOR;

/// Units of roundoff, relative to an op's magnitude, that are allowed beside the multiple of the CPU's own distance. An op is
/// one draw of roundings and not three. The approximations of functions in f32 are the widest that it has to cover: up to 8
/// units in the last place.
const FLOOR: f64 = 16.0;

/// A model's ops with what each may be off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bisection {
    /// The model's name.
    pub model: String,
    /// The format of its weights.
    pub dtype: Dtype,
    /// The device.
    pub backend: BackendInfo,
    /// The ops in the order in which they ran.
    pub steps: Vec<Step>,
    /// The first op that is outside its limit, by its place from 0.
    pub first: Option<usize>,
    /// Ops that ran on the CPU.
    pub fallbacks: Vec<(String, u64)>,
}

/// An op and its limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What was seen.
    pub op: Watched,
    /// What it may be off.
    pub limit: f64,
    /// Whether it is more.
    pub is_outside: bool,
}

impl Bisection {
    /// Judges every op that an answer has.
    pub fn of(model: &str, dtype: Dtype, backend: BackendInfo, answer: &Answer) -> Bisection {
        let steps: Vec<Step> = answer.ops.iter().map(Step::of).collect();
        Bisection {
            model: model.to_owned(),
            dtype,
            backend,
            first: steps.iter().position(|step| step.is_outside),
            steps,
            fallbacks: answer.fallbacks.clone(),
        }
    }
}

impl Step {
    fn of(op: &Watched) -> Step {
        // Sums are as exact as the narrowest dtype that takes part.
        let widest = op.dtypes.iter().filter_map(|name| {
            Dtype::ALL
                .iter()
                .find(|dtype| dtype.name() == name)
                .map(|dtype| dtype.roundoff())
        });
        let roundoff = widest.fold(0.0, f64::max);
        let limit = op.cpu.mul_add(CHOSEN_FACTOR, FLOOR * roundoff * op.scale);
        Step {
            limit,
            // A distance of NaN is outside of any limit.
            is_outside: op.skipped.is_none() && (op.device > limit || op.device.is_nan()),
            op: op.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, op};

    #[test]
    fn the_first_op_outside_its_limit_is_named_and_what_it_led_to_is_not() {
        let answer = Answer {
            ops: vec![
                op("add", 1e-7, 1e-7),
                op("gelu", 1e-3, 1e-7),
                op("mul", 1e-8, 0.0),
            ],
            ..Answer::default()
        };
        let info = samples::device();
        let found = Bisection::of("m", Dtype::F32, info.clone(), &answer);
        assert_eq!(found.first, Some(1));
        let fine = Answer {
            ops: vec![op("add", 1e-7, 1e-7), op("gelu", 1e-7, 1e-7)],
            ..Answer::default()
        };
        assert_eq!(Bisection::of("m", Dtype::F32, info, &fine).first, None);
    }
}
