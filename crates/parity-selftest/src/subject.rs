//! A case with its right output, and the means to ask what another call would have given.

use std::cell::OnceCell;

use parity_model::op::{Role, shape};
use parity_model::{Arg, Case, HostTensor, Layout, LimitSpec, ViewPlan};
use parity_oracle::{Expected, Sums, expected, output_with};

/// A case on trial.
pub(crate) struct Subject<'a> {
    pub(crate) case: &'a Case,
    /// The base tensors.
    pub(crate) inputs: Vec<HostTensor>,
    /// The arguments as the op sees them.
    pub(crate) args: Vec<HostTensor>,
    pub(crate) expected: Expected,
    /// The right output.
    pub(crate) right: HostTensor,
    /// The seed of the inputs.
    seed: u64,
    stale: OnceCell<HostTensor>,
    /// The case on contiguous arguments, with the oracle's own limits.
    pub(crate) dense: Case,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(case: &'a Case, seed: u64) -> Subject<'a> {
        let inputs = case.inputs(seed);
        let expected = expected(case, &inputs);
        let right = expected.tensor();
        let gather = |(arg, input): (&Arg, &HostTensor)| match view(arg, input) {
            Some(view) => view.gather(input),
            None => input.clone(),
        };
        let args = case.args.iter().zip(&inputs).map(gather).collect();
        let mut dense = case.clone();
        dense
            .args
            .iter_mut()
            .for_each(|arg| arg.layout = Layout::Contiguous);
        dense.limit = LimitSpec::Derived;
        Subject {
            case,
            inputs,
            args,
            expected,
            right,
            seed,
            stale: OnceCell::new(),
            dense,
        }
    }

    /// The right output for another seed. It costs as much as the case, so it is computed when a fault first asks for it.
    pub(crate) fn stale(&self) -> &HostTensor {
        self.stale.get_or_init(|| {
            let others = self.case.inputs(self.seed.wrapping_add(1));
            match others == self.inputs {
                true => self.right.clone(),
                false => expected(self.case, &others).tensor(),
            }
        })
    }

    /// The output if the op saw `args`, which have the shapes of the case's.
    pub(crate) fn of_args(&self, args: &[HostTensor]) -> HostTensor {
        expected(&self.dense, args).tensor()
    }

    /// The output if argument `i` were `arg`.
    pub(crate) fn with_arg(&self, i: usize, arg: HostTensor) -> HostTensor {
        let mut args = self.args.clone();
        args[i] = arg;
        self.of_args(&args)
    }

    /// The output if parameter `i` were `value`; `None` where the op does not take it so. An output of another size is
    /// cut off or filled up with zeros, as memory of the right size would be.
    pub(crate) fn with_param(&self, i: usize, value: f64) -> Option<HostTensor> {
        let mut case = self.dense.clone();
        case.params[i] = value;
        let shapes: Vec<&[usize]> = case.args.iter().map(|arg| arg.shape.as_slice()).collect();
        let shapes = shape::infer(case.op, &case.params, &shapes).ok()?;
        // Ids were drawn for the bound of the right call.
        if shapes.bound.is_some_and(|bound| self.ids().any(|id| id >= bound)) {
            return None;
        }
        let mut wrong = expected(&case, &self.args).tensor();
        wrong.shape.clone_from(&self.right.shape);
        wrong.bytes.resize(self.right.bytes.len(), 0);
        Some(wrong)
    }

    /// Every id of every argument that holds ids.
    fn ids(&self) -> impl Iterator<Item = usize> {
        let roles = self.case.op.roles().iter();
        let args = self
            .args
            .iter()
            .zip(roles)
            .filter(|(_, role)| **role == Role::Index);
        args.flat_map(|(arg, _)| (0..arg.len()).map(|i| arg.bits(i) as usize))
    }

    /// The output if partial sums were kept as `sums` says.
    pub(crate) fn with_sums(&self, sums: &dyn Sums) -> HostTensor {
        output_with(&self.dense, &self.args, sums)
    }
}

/// How `input` is viewed; `None` where its elements are not those that the op sees, such as blocks of weights.
pub(crate) fn view(arg: &Arg, input: &HostTensor) -> Option<ViewPlan> {
    arg.layout
        .plan(&arg.shape)
        .filter(|plan| plan.base_shape == input.shape)
}
