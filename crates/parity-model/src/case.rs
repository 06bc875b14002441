//! One case: an op, its arguments and the numbers in them. Its id is its filter, its repro and its seed.

mod check;
mod parse;
mod rules;

pub(crate) use check::no_second_form;
pub use check::{Check, Parts};

use serde::{Deserialize, Serialize};

use crate::op::Role;
use crate::op::shape::{self, Shapes};
use crate::values::{self, Slot};
use crate::{DType, HostTensor, Layout, Op, Refusal, ValueSet, ViewPlan};

/// The step of the test ladder that a case is on. A run of a tier includes every tier before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Seconds: the ops exist and compute.
    Quick,
    /// The default: under two minutes on two cores with the software GPU.
    Ci,
    /// Everything that ends in minutes.
    Full,
    /// Everything.
    Slow,
}

impl Tier {
    /// Every tier, smallest first.
    pub const ALL: [Tier; 4] = [Tier::Quick, Tier::Ci, Tier::Full, Tier::Slow];

    /// The word specs and options use.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Quick => "quick",
            Tier::Ci => "ci",
            Tier::Full => "full",
            Tier::Slow => "slow",
        }
    }
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Tier {
    type Err = crate::op::UnknownName;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let tier = Tier::ALL.into_iter().find(|tier| tier.name() == s);
        tier.ok_or_else(|| crate::op::UnknownName {
            what: "tier",
            name: s.to_owned(),
        })
    }
}

/// How far an output may be from the oracle's.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitSpec {
    /// The oracle's own, derived limit.
    Derived,
    /// The spec's: an error of `ulp` units in the last place plus `abs` is inside.
    Fixed {
        /// Units in the last place of the output dtype.
        ulp: f64,
        /// Absolute part.
        abs: f64,
        /// Where the numbers come from.
        source: String,
    },
    /// Bit for bit, the sign of zero included; NaN payloads are not compared.
    Bits {
        /// Why bits can be asked for.
        source: String,
    },
}

/// One argument of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Logical shape.
    pub shape: Vec<usize>,
    /// How it lies in memory.
    pub layout: Layout,
    /// Element type.
    pub dtype: DType,
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The op.
    pub op: Op,
    /// Values for [`Op::params`], in order.
    pub params: Vec<f64>,
    /// Dtype of the data. Ids and conditions have their own, in [`Case::args`].
    pub dtype: DType,
    /// The arguments, [`Op::arity`] of them.
    pub args: Vec<Arg>,
    /// What the arguments are filled with.
    pub values: ValueSet,
    /// What is asked of the output.
    pub check: Check,
    /// The first tier whose runs include it.
    pub tier: Tier,
    /// How far the output may be from the oracle's.
    pub limit: LimitSpec,
    /// Seconds it may take on one backend, where it is not to have the run's limit.
    pub timeout: Option<f64>,
    /// Whether it gets a worker of its own: after it, other results from the same device may not be trustworthy.
    pub isolated: bool,
    /// Words by which it can be selected; they change nothing else.
    pub tags: Vec<String>,
}

/// The text that names a case: `unary/exp:f32:[2,3]:transposed:uniform(-10,10)`, followed by `@` and the check where that
/// is not [`Check::Value`].
///
/// It holds everything that the inputs depend on: parsing it with [`Case`]'s `FromStr` gives the case back, with a
/// derived limit and in tier `quick`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaseId(String);

impl CaseId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl std::str::FromStr for CaseId {
    type Err = BadCaseId;

    fn from_str(text: &str) -> Result<Self, BadCaseId> {
        let id = text.parse::<Case>()?.id();
        if id.0 != text {
            return Err(BadCaseId {
                text: text.to_owned(),
                why: format!("it is spelled `{id}`"),
            });
        }
        Ok(id)
    }
}

/// A text that names no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid case id `{text}`: {why}")]
pub struct BadCaseId {
    /// The text found.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// `[2,3]`.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(","))
}

fn join<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

impl Case {
    /// The id.
    pub fn id(&self) -> CaseId {
        match self.check {
            Check::Value => CaseId(self.call()),
            check => CaseId(format!("{}@{check}", self.call())),
        }
    }

    /// The id without the check: all that the inputs depend on, so that they are the same for every check.
    fn call(&self) -> String {
        let params = match self.params.as_slice() {
            [] => String::new(),
            params => format!("({})", join(params.iter())),
        };
        format!(
            "{}/{}{}:{}:{}:{}:{}",
            self.op.family(),
            self.op,
            params,
            self.dtypes(),
            join(self.args.iter().map(|arg| shape_text(&arg.shape))),
            join(self.args.iter().map(|arg| arg.layout)),
            self.values
        )
    }

    /// One word for all arguments, or one for each where they differ.
    fn dtypes(&self) -> String {
        if self.args.iter().all(|arg| arg.dtype == self.dtype) {
            return self.dtype.to_string();
        }
        join(self.args.iter().map(|arg| arg.dtype))
    }

    /// The base tensors, one an argument: what a backend uploads before it makes the views of [`Layout::plan`].
    /// The same for the same `seed` and id, on every machine.
    ///
    /// # Panics
    /// When an argument's layout is impossible for its shape, which no case from a spec or an id has.
    pub fn inputs(&self, seed: u64) -> Vec<HostTensor> {
        let place = |i: usize| {
            let plan = self.plan(i);
            let needs = || -> ViewPlan {
                let layout = self.args[i].layout;
                panic!("{}: {layout} needs {}", self.call(), layout.needs())
            };
            self.sample(i, &plan.unwrap_or_else(needs).base_shape, seed)
        };
        (0..self.args.len()).map(place).collect()
    }

    /// Values for argument `i`, as [`Case::inputs`] has them, in another shape: a part of a tensor that is too large to be filled
    /// element by element. Of blocks the shape counts bytes, and rows are whole blocks.
    ///
    /// # Panics
    /// When the case has fewer than `i + 1` arguments.
    pub fn sample(&self, i: usize, shape: &[usize], seed: u64) -> HostTensor {
        let (id, arg) = (self.call(), &self.args[i]);
        let bound = self.shapes().ok().and_then(|shapes| shapes.bound);
        let roles = self.op.roles();
        let slot = Slot {
            seed,
            id: &id,
            arg: i,
            place: roles[..i].iter().filter(|role| **role == Role::Data).count(),
            arity: self.data().count(),
        };
        match roles[i] {
            Role::Data => values::fill(self.values, arg.dtype, shape, &slot),
            // Only a case that is to be refused has such.
            Role::Condition | Role::Index if arg.dtype.is_float() => {
                values::fill(self.values, arg.dtype, shape, &slot)
            }
            Role::Condition => values::fill_condition(arg.dtype, shape, &slot),
            Role::Index => values::fill_ids(self.values, arg.dtype, shape, bound.unwrap_or(0), &slot),
            Role::Blocks => {
                let format = self.op.block_format();
                let format = format.unwrap_or_else(|| panic!("{id}: blocks of no format"));
                values::fill_blocks(self.values, format, shape, &slot)
            }
        }
    }

    /// How argument `i` lies in its base tensor; `None` when its layout is impossible for its shape. Of blocks the base
    /// tensor and the view are the bytes.
    ///
    /// # Panics
    /// When the case has fewer than `i + 1` arguments.
    pub fn plan(&self, i: usize) -> Option<ViewPlan> {
        let arg = &self.args[i];
        let blocks = matches!(self.op.roles().get(i), Some(Role::Blocks));
        match self.op.block_format().filter(|_| blocks) {
            None => arg.layout.plan(&arg.shape),
            Some(_) if arg.layout != Layout::Contiguous => None,
            Some(format) => Layout::Contiguous.plan(&format.stored(&arg.shape)?),
        }
    }

    /// The arguments that hold the case's values.
    fn data(&self) -> impl Iterator<Item = &Arg> {
        let roles = self.op.roles().iter();
        let data = self
            .args
            .iter()
            .zip(roles)
            .filter(|(_, role)| **role == Role::Data);
        data.map(|(arg, _)| arg)
    }

    /// What the shape rules make of the case.
    fn shapes(&self) -> Result<Shapes, String> {
        let shapes: Vec<&[usize]> = self.args.iter().map(|arg| arg.shape.as_slice()).collect();
        shape::infer(self.op, &self.params, &shapes)
    }

    /// The class of error with which the op is to refuse, where that is the right answer: an id is out of range, or the
    /// case is there to be refused.
    pub fn refusal(&self) -> Option<Refusal> {
        let bad_id = matches!(self.values, ValueSet::IdsBeyond | ValueSet::IdsNegative);
        self.check.refusal().or(bad_id.then_some(Refusal::Invalid))
    }

    /// Whether the right answer is to refuse.
    pub fn must_refuse(&self) -> bool {
        self.refusal().is_some()
    }

    /// The case that asks for the value of the same call.
    pub fn plain(&self) -> Case {
        Case {
            check: Check::Value,
            ..self.clone()
        }
    }

    /// The shape of the output; of a case that runs in two forms, that of both, stacked. Nothing comes of a case that is
    /// there to be refused: one dimension of no element.
    ///
    /// # Panics
    /// When the case breaks a shape rule, which no case from a spec or an id does that is to compute something.
    pub fn result_shape(&self) -> Vec<usize> {
        if self.check.refusal().is_some() {
            return vec![0];
        }
        let shapes = self.shapes();
        let output = shapes.unwrap_or_else(|why| panic!("{}: {why}", self.id())).output;
        match self.check.compares_forms() {
            true => [&[2], output.as_slice()].concat(),
            false => output,
        }
    }
}

#[cfg(test)]
mod tests;
