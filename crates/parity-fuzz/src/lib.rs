//! Random cases drawn from the table of ops: no spec is read, so that what nobody thought of comes up too.
//!
//! A case is a function of the seed, of what it is drawn from ([`Pool`]) and of its number: the same on every machine, whatever
//! was drawn before it. Everything drawn is in the case's id, which `parity run --case` repeats. Pure: nothing is run here, and
//! what an op computes is not known.

mod call;
mod class;
mod draw;
mod layouts;
mod spoil;
mod values;

pub use class::Class;

use parity_model::op::Role;
use parity_model::op::shape::infer;
use parity_model::{Arg, Case, Check, DType, Family, LimitSpec, Op, Tier, ValueSet};

use draw::Draw;

/// Draws before a case of its number is given up for the plainest call of the op.
const ATTEMPTS: u64 = 64;

/// Of a hundred cases, those of which one thing is to be refused, where the op says what is.
const SPOILED: usize = 8;

/// What cases are drawn from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    ops: Vec<Op>,
    dtypes: Vec<DType>,
}

impl Pool {
    /// These ops in these dtypes; an empty list stands for all. `None` where no op means anything for any of the dtypes.
    pub fn new(ops: &[Op], dtypes: &[DType]) -> Option<Pool> {
        let all = |op: &&Op| ops.is_empty() || ops.contains(op);
        let known = |op: &&Op| {
            op.dtypes()
                .iter()
                .any(|dtype| dtypes.is_empty() || dtypes.contains(dtype))
        };
        let ops: Vec<Op> = Op::all().iter().filter(all).filter(known).copied().collect();
        (!ops.is_empty()).then(|| Pool {
            ops,
            dtypes: dtypes.to_vec(),
        })
    }

    /// The ops, in table order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Case `number` of a seed.
    pub fn case(&self, seed: u64, number: u64) -> Case {
        for attempt in 0..ATTEMPTS {
            let mut draw = Draw::of(seed, number, attempt);
            let op = self.op(&mut draw);
            if let Some(case) = self.attempt(op, &mut draw) {
                return case;
            }
        }
        plainest()
    }

    /// Families come up alike often: the weights of the formats would else be a third of all. In one, an op with parameters comes up
    /// more often than one without: each can be at an edge of its own.
    fn op(&self, draw: &mut Draw) -> Op {
        let mut families: Vec<Family> = vec![];
        for op in &self.ops {
            // Gradients of a program's own ops come after the others.
            if !families.contains(&op.family()) {
                families.push(op.family());
            }
        }
        let family = *draw.pick(&families);
        let ops: Vec<Op> = self
            .ops
            .iter()
            .filter(|op| op.family() == family)
            .flat_map(|op| std::iter::repeat_n(*op, weight(*op)))
            .collect();
        *draw.pick(&ops)
    }

    fn dtype(&self, op: Op, draw: &mut Draw) -> Option<DType> {
        let asked = |dtype: &&DType| self.dtypes.is_empty() || self.dtypes.contains(dtype);
        // Now and then one for which the op means nothing: it is to be refused.
        let foreign = draw.chance(2) && spoil::refusals_are_said(op) && op.family() != Family::Nn;
        let list: Vec<DType> = match foreign {
            // What is made of parts in candle takes 8-bit floats wherever its parts do.
            true => DType::ALL
                .iter()
                .filter(asked)
                .filter(|dtype| **dtype != DType::F8E4M3)
                .copied()
                .collect(),
            false => op.dtypes().iter().filter(asked).copied().collect(),
        };
        (!list.is_empty()).then(|| *draw.pick(&list))
    }

    /// One draw; `None` where what was drawn does not make a case.
    fn attempt(&self, op: Op, draw: &mut Draw) -> Option<Case> {
        let dtype = self.dtype(op, draw)?;
        let (mut params, mut shapes) = call::draw(op, draw);
        let spoiled = draw.chance(SPOILED) && spoil::can(op);
        if spoiled {
            spoil::spoil(op, &mut params, &mut shapes, draw);
        }
        let slices: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        let fits = infer(op, &params, &slices).is_ok();
        if !fits && !spoiled {
            return None;
        }
        let mixed = draw.chance(1) && spoil::mixes_are_refused(op);
        let ids = call::id_dtype(op, draw);
        let args: Vec<Arg> = shapes
            .into_iter()
            .zip(op.roles())
            .map(|(shape, role)| Arg {
                dtype: match role {
                    Role::Data if mixed && draw.chance(40) => *draw.pick(&DType::ALL),
                    Role::Data => dtype,
                    Role::Condition | Role::Index => ids,
                    Role::Blocks => DType::U8,
                },
                layout: layouts::draw(*role, &shape, draw),
                shape,
            })
            .collect();
        let first = op.roles().iter().position(|role| *role == Role::Data);
        let dtype = first.map_or(DType::U8, |first| args[first].dtype);
        let values = values::draw(op, dtype, fits, draw);
        let mut case = quick(op, params, dtype, args, values);
        self.ask(&mut case, fits, draw);
        // Of nothing, nothing has to be refused.
        let empty = case.args.iter().any(|arg| arg.shape.contains(&0));
        if empty && case.must_refuse() || !call::is_plain(&case) {
            return None;
        }
        // What is wrong in two ways may be refused for either.
        let meant = |(arg, role): (&Arg, &Role)| *role != Role::Data || op.accepts(arg.dtype);
        if case.check == Check::Invalid && !case.args.iter().zip(op.roles()).all(meant) {
            return None;
        }
        // What is too large to be judged quickly is drawn again.
        (call::cost(&case) <= call::MOST_WORK && case.check().is_ok()).then_some(case)
    }

    /// What is asked of the output: that it is refused where something is wrong, else its value or two forms of it.
    fn ask(&self, case: &mut Case, fits: bool, draw: &mut Draw) {
        let same = case.args.iter().zip(case.op.roles());
        let same = same
            .clone()
            .all(|(arg, role)| *role != Role::Data || arg.dtype == case.dtype);
        let (first, second) = (draw.below(100), draw.below(100));
        case.check = if !same || !fits {
            Check::Invalid
        } else if !case.op.accepts(case.dtype) {
            Check::Unsupported
        } else if first < 12 && case.op.family() != Family::Grad {
            Check::Layout
        } else if second < 8 {
            Check::Batch
        } else {
            return;
        };
        if case.check.compares_forms() && case.check().is_err() {
            case.check = Check::Value;
        }
    }
}

/// How often an op comes up beside those of its family. The parameters of a gradient are those of its function.
fn weight(op: Op) -> usize {
    if op.family() == Family::Grad {
        return 1;
    }
    1 + op.params().len().min(2)
}

/// The case of a number for which every draw failed; no filter leads here but one that leaves ops of impossible shapes alone.
fn plainest() -> Case {
    let arg = Arg {
        shape: vec![1],
        layout: parity_model::Layout::Contiguous,
        dtype: DType::F32,
    };
    let abs = parity_model::op::Unary::Abs.into();
    quick(abs, vec![], DType::F32, vec![arg], ValueSet::Any)
}

/// A case that asks for the value within the derived limit.
fn quick(op: Op, params: Vec<f64>, dtype: DType, args: Vec<Arg>, values: ValueSet) -> Case {
    Case {
        op,
        params,
        dtype,
        args,
        values,
        check: Check::Value,
        tier: Tier::Quick,
        limit: LimitSpec::Derived,
        timeout: None,
        isolated: false,
        tags: vec![],
    }
}
