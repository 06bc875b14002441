//! The judge: how far a device may be from the reference, and whether it is nearer than that.
//!
//! No limit is chosen for a model. The reference is the same network computed by the CPU in a wider dtype. How far rounding
//! takes a right implementation from it is measured: by the CPU's run in the dtype under test, and by runs of it whose weights
//! are a unit in the last place off. The device may be [`CHOSEN_FACTOR`] times as far as the farthest of these.

use zoo_protocol::{Answer, Dtype, Known, Output};

use crate::record::{Continued, ModelVerdict, Other};

/// How many times as far from the reference as the CPU's runs the device may be.
///
/// The distance is a maximum of roundings over a result's elements. Another order of summation draws them anew; the CPU's runs
/// are three draws, and a fourth of the same distribution is seldom twice as far. The device also has other widths to
/// accumulate in and other approximations of functions: 1 to 4 units in the last place where the CPU has up to 1. Over the models
/// of model-specs/ on software gfx1100 the largest share was below 3 where the CPU's own distance was above one roundoff.
pub const CHOSEN_FACTOR: f64 = 8.0;

/// Units of roundoff that are allowed where the CPU's runs are all exact: one rounding on the way in and one on the way out.
const FLOOR: f64 = 4.0;

/// The runs that a judgement needs.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The run in wider precision, of the same weights.
    pub reference: &'a Answer,
    /// The CPU's runs in the dtype under test, the one with the weights themselves first.
    pub cpu: &'a [&'a Answer],
    /// The device's run.
    pub device: &'a Answer,
}

/// What the judge found.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The decision.
    pub verdict: ModelVerdict,
    /// Why, where that takes words.
    pub message: Option<String>,
    /// The result that used most of its limit.
    pub worst: Option<String>,
    /// The device's distance there.
    pub error: f64,
    /// The largest distance of the CPU's runs there.
    pub own: f64,
    /// The limit there.
    pub limit: f64,
    /// Whether the largest elements are in the same places.
    pub same_argmax: bool,
}

/// Judges a device's results; `is_device` says whether it tells which kernels ran, and must have run some.
pub fn judge(runs: Runs<'_>, dtype: Dtype, is_device: bool) -> Judged {
    let mut judged = Judged {
        verdict: ModelVerdict::Agrees,
        message: None,
        worst: None,
        error: 0.0,
        own: 0.0,
        limit: 0.0,
        same_argmax: true,
    };
    if let Some(words) = other_form(runs) {
        (judged.verdict, judged.message) = (ModelVerdict::Wrong, Some(words));
        return judged;
    }
    let mut used = f64::NEG_INFINITY;
    for (place, reference) in runs.reference.outputs.iter().enumerate() {
        let device = &runs.device.outputs[place];
        let error = distance(device, reference);
        let own = runs
            .cpu
            .iter()
            .map(|run| distance(&run.outputs[place], reference))
            .fold(0.0, f64::max);
        let floor = if reference.is_choice {
            0.0
        } else {
            FLOOR * dtype.roundoff()
        };
        let limit = own.mul_add(CHOSEN_FACTOR, floor);
        judged.same_argmax &= argmax(&device.values) == argmax(&reference.values);
        let share = match (error == 0.0, limit == 0.0) {
            (true, _) => 0.0,
            (false, true) => f64::INFINITY,
            (false, false) => error / limit,
        };
        if share > used {
            used = share;
            judged.worst = Some(reference.name.clone());
            (judged.error, judged.own, judged.limit) = (error, own, limit);
        }
        let (verdict, message) = decide(reference, device, [error, own, limit], dtype);
        if severity(verdict) > severity(judged.verdict) {
            (judged.verdict, judged.message) = (verdict, message);
        }
    }
    let fallbacks: Vec<_> = runs.device.fallbacks.iter().map(|(op, _)| op.as_str()).collect();
    if !fallbacks.is_empty() {
        judged.verdict = ModelVerdict::Fallback;
        judged.message = Some(format!("ran on the CPU: {}", fallbacks.join(", ")));
    } else if is_device && runs.device.kernels.is_empty() {
        judged.verdict = ModelVerdict::Fallback;
        judged.message = Some("the device executed no kernel".to_owned());
    }
    judged
}

/// Judges a device's results, of which some are known to be wrong: each of these must be, and the others must not.
pub fn judge_known(runs: Runs<'_>, dtype: Dtype, is_device: bool, known: &Known) -> Judged {
    let part = |is_part: &dyn Fn(&String) -> bool| {
        let of = |answer: &Answer| {
            let mut part = answer.clone();
            part.outputs.retain(|output| is_part(&output.name));
            part
        };
        let (reference, device) = (of(runs.reference), of(runs.device));
        let cpu: Vec<Answer> = runs.cpu.iter().map(|answer| of(answer)).collect();
        let cpu: Vec<&Answer> = cpu.iter().collect();
        let (reference, cpu, device) = (&reference, cpu.as_slice(), &device);
        judge(
            Runs {
                reference,
                cpu,
                device,
            },
            dtype,
            is_device,
        )
    };
    let mut judged = part(&|name| !known.outputs.contains(name));
    if judged.verdict.fails() {
        return judged;
    }
    let finding = &known.finding;
    for output in &known.outputs {
        judged = part(&|name| name == output);
        if judged.verdict == ModelVerdict::Wrong {
            continue;
        }
        if !judged.verdict.fails() {
            let words =
                format!("{output} is right, though the spec has it among what `{finding}` makes wrong");
            (judged.verdict, judged.message) = (ModelVerdict::Wrong, Some(words));
        }
        return judged;
    }
    let words = judged.message.unwrap_or_default();
    (judged.verdict, judged.message) = (ModelVerdict::Known, Some(format!("{finding}: {words}")));
    judged
}

/// Judges the results of another program in the device's place, and says how far from the device they are.
pub(crate) fn judge_other(runs: Runs<'_>, dtype: Dtype, program: &str) -> (Other, Option<String>) {
    let answer = Answer {
        outputs: runs.device.others.clone(),
        ..Answer::default()
    };
    let (device, apart) = (runs.device, &answer.outputs);
    let judged = judge(
        Runs {
            device: &answer,
            ..runs
        },
        dtype,
        false,
    );
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let pairs = apart.iter().zip(&device.outputs);
    let apart = pairs
        .map(|(other, device)| distance(device, other))
        .fold(0.0, f64::max);
    let message = judged.message.filter(|_| judged.verdict.fails());
    let other = Other {
        program: program.to_owned(),
        error: finite(judged.error),
        limit: finite(judged.limit),
        device: finite(apart),
    };
    (
        other,
        message.map(|words| format!("{program} has other results: {words}")),
    )
}

/// Where one result is worse than another, the worse one is the model's.
const fn severity(verdict: ModelVerdict) -> u8 {
    match verdict {
        ModelVerdict::Agrees => 0,
        ModelVerdict::Chaotic => 1,
        ModelVerdict::CpuFails | ModelVerdict::TooFew | ModelVerdict::Known => 2,
        ModelVerdict::Wrong => 3,
        ModelVerdict::Fallback
        | ModelVerdict::Refused
        | ModelVerdict::Died
        | ModelVerdict::Timeout
        | ModelVerdict::Lacks => 4,
    }
}

fn decide(
    reference: &Output,
    device: &Output,
    [error, own, limit]: [f64; 3],
    dtype: Dtype,
) -> (ModelVerdict, Option<String>) {
    let name = &reference.name;
    if own.is_infinite() {
        let words = format!("{name}: the CPU's result in {dtype} is not finite where the reference is");
        return (ModelVerdict::CpuFails, Some(words));
    }
    if error.is_infinite() {
        let words =
            format!("{name}: the device's result is not finite where the reference is, or the reverse");
        return (ModelVerdict::Wrong, Some(words));
    }
    // Half of the dtype's digits.
    let lost = dtype.roundoff().sqrt();
    if own > lost && !device.is_choice {
        let words = format!("{name}: the CPU's own runs are {own:.1e} from the reference, above {lost:.1e}");
        return (ModelVerdict::Chaotic, Some(words));
    }
    if error <= limit {
        return (ModelVerdict::Agrees, None);
    }
    if own > 0.0 && device.is_choice {
        let words = format!("{name}: the CPU's own runs make other choices than the reference");
        return (ModelVerdict::Chaotic, Some(words));
    }
    let words = format!("{name}: {error:.2e} from the reference; the limit is {limit:.2e}");
    (ModelVerdict::Wrong, Some(words))
}

/// How an answer's logits continue a text: of result n the last row's largest should be at token n.
pub fn continued(answer: &Answer, tokens: &[u32]) -> Continued {
    let mut found = Continued {
        tokens: tokens.len(),
        same: 0,
        first_other: None,
        gap: 0.0,
    };
    for (place, token) in tokens.iter().enumerate() {
        let gap = answer
            .outputs
            .get(place)
            .map_or(f64::MAX, |output| gap(output, *token));
        if gap == 0.0 {
            found.same += 1;
        } else {
            found.first_other = found.first_other.or(Some(place + 1));
            found.gap = found.gap.max(gap);
        }
    }
    found
}

/// How far a token's logit is below the largest one, relative to the largest magnitude. A logit that is NaN or is missing counts as `f64::MAX` below.
fn gap(output: &Output, token: u32) -> f64 {
    let row = output.shape.last().copied().unwrap_or(0);
    let logits = &output.values[output.values.len().saturating_sub(row)..];
    let of_token = usize::try_from(token).ok().and_then(|token| logits.get(token));
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scale = logits.iter().map(|logit| logit.abs()).fold(0.0, f64::max);
    let gap = of_token.map_or(f64::MAX, |logit| (largest - logit) / scale.max(f64::MIN_POSITIVE));
    if gap.is_finite() && logits.iter().all(|logit| !logit.is_nan()) {
        gap
    } else {
        f64::MAX
    }
}

/// What differs in the form of the results, in words.
fn other_form(runs: Runs<'_>) -> Option<String> {
    let wanted = &runs.reference.outputs;
    let all = runs.cpu.iter().chain([&runs.device]);
    for (name, answer) in all.enumerate().map(|(i, answer)| (i < runs.cpu.len(), answer)) {
        let whose = if name { "the CPU" } else { "the device" };
        if answer.outputs.len() != wanted.len() {
            let (found, wanted) = (answer.outputs.len(), wanted.len());
            return Some(format!("{whose} gave {found} results, the reference {wanted}"));
        }
        for (found, wanted) in answer.outputs.iter().zip(wanted) {
            if found.shape != wanted.shape || found.values.len() != wanted.values.len() {
                let (name, found, wanted) = (&wanted.name, &found.shape, &wanted.shape);
                return Some(format!(
                    "{name}: {whose} gave the shape {found:?}, the reference {wanted:?}"
                ));
            }
        }
    }
    None
}

/// The largest distance between elements, relative to the reference's largest; of choices the share that differs. Infinite
/// where one is a number and the other is not, or another infinity.
fn distance(found: &Output, reference: &Output) -> f64 {
    let pairs = found.values.iter().zip(&reference.values);
    if reference.is_choice {
        let other = pairs.filter(|(found, wanted)| found != wanted).count();
        #[expect(clippy::cast_precision_loss, reason = "counts of elements are small")]
        return other as f64 / reference.values.len().max(1) as f64;
    }
    let finite = reference
        .values
        .iter()
        .map(|value| value.abs())
        .filter(|value| value.is_finite());
    let largest = finite.fold(0.0, f64::max);
    let scale = if largest == 0.0 { 1.0 } else { largest };
    let apart = |(found, wanted): (&f64, &f64)| {
        if found == wanted || (found.is_nan() && wanted.is_nan()) {
            0.0
        } else if found.is_finite() && wanted.is_finite() {
            (found - wanted).abs() / scale
        } else {
            f64::INFINITY
        }
    };
    pairs.map(apart).fold(0.0, f64::max)
}

/// The place of the largest element; the first of several.
fn argmax(values: &[f64]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (place, value) in values.iter().enumerate() {
        if !value.is_nan() && best.is_none_or(|best| *value > values[best]) {
            best = Some(place);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Texts;

    fn answer(values: &[f64]) -> Answer {
        Answer {
            outputs: vec![Output {
                name: "out".to_owned(),
                shape: vec![values.len()],
                values: values.to_vec(),
                is_choice: false,
            }],
            kernels: vec!["k".to_owned()],
            ..Answer::default()
        }
    }

    fn verdict(reference: &[f64], cpu: &[f64], device: &[f64]) -> ModelVerdict {
        let (reference, cpu, device) = (answer(reference), answer(cpu), answer(device));
        let runs = Runs {
            reference: &reference,
            cpu: &[&cpu],
            device: &device,
        };
        judge(runs, Dtype::F32, true).verdict
    }

    #[test]
    fn the_limit_is_a_multiple_of_the_cpus_own_distance() {
        let (reference, cpu) = ([1.0, -2.0], [1.0 + 2e-7, -2.0]);
        assert_eq!(
            verdict(&reference, &cpu, &[1.0, -2.0 - 1.6e-6]),
            ModelVerdict::Agrees
        );
        assert_eq!(
            verdict(&reference, &cpu, &[1.0, -2.0 - 3e-6]),
            ModelVerdict::Wrong
        );
    }

    #[test]
    fn a_model_whose_own_runs_part_is_chaotic_and_nan_is_wrong_even_then() {
        assert_eq!(verdict(&[1.0], &[1.1], &[2.0]), ModelVerdict::Chaotic);
        assert_eq!(verdict(&[1.0], &[1.1], &[f64::NAN]), ModelVerdict::Wrong);
        assert_eq!(verdict(&[1.0], &[f64::NAN], &[1.0]), ModelVerdict::CpuFails);
        assert_eq!(
            verdict(&[f64::NAN], &[f64::NAN], &[f64::NAN]),
            ModelVerdict::Agrees
        );
    }

    #[test]
    fn a_result_that_is_known_to_be_wrong_must_be_and_excuses_no_other() {
        let known = Known {
            backend: "cuda".to_owned(),
            dtypes: vec![],
            refused: false,
            outputs: vec!["text".to_owned()],
            finding: "a-finding".to_owned(),
        };
        let answer = |text: f64, image: f64| {
            let mut outputs = [answer(&[text]).outputs, answer(&[image]).outputs].concat();
            outputs[0].name = "text".to_owned();
            Answer {
                outputs,
                ..answer(&[])
            }
        };
        let (right, none) = (
            answer(1.0, 1.0),
            Answer {
                kernels: vec![],
                ..answer(9.0, 1.0)
            },
        );
        let judged = |device: &Answer| {
            let runs = Runs {
                reference: &right,
                cpu: &[&right],
                device,
            };
            judge_known(runs, Dtype::F32, true, &known)
        };
        let found = judged(&answer(9.0, 1.0));
        assert_eq!(
            (found.verdict, found.worst.as_deref()),
            (ModelVerdict::Known, Some("text"))
        );
        assert!(found.message.unwrap().starts_with("a-finding: text: "));
        assert_eq!(
            judged(&answer(1.0, 1.0)).verdict,
            ModelVerdict::Wrong,
            "it is right"
        );
        assert_eq!(
            judged(&answer(9.0, 9.0)).verdict,
            ModelVerdict::Wrong,
            "another one is wrong as well"
        );
        assert_eq!(judged(&none).verdict, ModelVerdict::Fallback, "no kernel ran");
    }

    #[test]
    fn another_programs_results_have_the_devices_limit_and_its_message_names_the_program() {
        let right = answer(&[1.0, 2.0]);
        let with = |others: &[f64]| {
            let device = Answer {
                others: answer(others).outputs,
                ..right.clone()
            };
            let runs = Runs {
                reference: &right,
                cpu: &[&right],
                device: &device,
            };
            judge_other(runs, Dtype::F32, "a program 1.0")
        };
        let (near, why) = with(&[1.0, 2.0 + 2e-7]);
        assert_eq!(why, None);
        assert!(near.device.unwrap() > 0.0 && near.error < near.limit, "{near:?}");
        let (_, why) = with(&[1.0, 2.1]);
        assert!(why.unwrap().starts_with("a program 1.0 has other results: out: "));
        assert!(with(&[]).1.is_some(), "no results are none that agree");
    }

    #[test]
    fn a_text_goes_on_as_another_program_has_it_or_by_a_hair() {
        let logits = |values: &[f64]| Output {
            name: "token".to_owned(),
            shape: vec![1, values.len()],
            values: values.to_vec(),
            is_choice: false,
        };
        let answer = Answer {
            outputs: vec![logits(&[1.0, 4.0, 2.0]), logits(&[1.0, 3.96, 4.0])],
            ..Answer::default()
        };
        let same = continued(&answer, &[1, 2]);
        assert_eq!(
            (same.same, same.first_other, same.refused("x", 0.0)),
            (2, None, None)
        );
        let near = continued(&answer, &[1, 1]);
        assert_eq!((near.same, near.first_other), (1, Some(2)));
        assert!((near.gap - 0.01).abs() < 1e-12, "{near:?}");
        assert_eq!(near.refused("x", 0.003), None);
        let words = near.refused("x", 0.002).unwrap();
        assert!(words.contains("token 2 is the first"), "{words}");
        assert!(continued(&answer, &[1, 9]).refused("x", 1e3).is_some());
        assert!(continued(&answer, &[1, 2, 2]).refused("x", 1e3).is_some());
    }

    #[test]
    fn a_text_that_is_known_to_go_on_otherwise_must_do_so() {
        let run = |same: usize, gap: f64| Continued {
            tokens: 2,
            same,
            first_other: (same < 2).then_some(same + 1),
            gap,
        };
        let judged = |texts: [Continued; 2], why| {
            let [device, reference] = texts;
            Texts { device, reference }.judged(0.01, why).0
        };
        assert!(judged([run(2, 0.0), run(2, 0.0)], None));
        assert!(!judged([run(2, 0.0), run(1, 0.5)], None));
        assert!(judged([run(1, 0.5), run(1, 0.5)], Some("another activation")));
        assert!(!judged([run(2, 0.0), run(2, 0.0)], Some("another activation")));
        // A device that parts alone is not excused.
        assert!(!judged([run(1, 0.5), run(2, 0.0)], Some("another activation")));
    }

    #[test]
    fn another_shape_is_wrong() {
        assert_eq!(verdict(&[1.0, 2.0], &[1.0, 2.0], &[1.0]), ModelVerdict::Wrong);
    }

    #[test]
    fn what_ran_on_the_cpu_or_not_at_all_does_not_pass() {
        let same = answer(&[1.0]);
        let runs = |device| {
            let runs = Runs {
                reference: &same,
                cpu: &[&same],
                device,
            };
            judge(runs, Dtype::F32, true).verdict
        };
        assert_eq!(runs(&same), ModelVerdict::Agrees);
        let fell = Answer {
            fallbacks: vec![("op".to_owned(), 1)],
            ..same.clone()
        };
        assert_eq!(runs(&fell), ModelVerdict::Fallback);
        let idle = Answer {
            kernels: vec![],
            ..same.clone()
        };
        assert_eq!(runs(&idle), ModelVerdict::Fallback);
    }
}
