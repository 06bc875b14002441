//! Whether the parts of a case fit each other.

use super::check::no_second_form;
use super::{Case, Check, join, shape_text};
use crate::float::int_range;
use crate::op::Role;
use crate::{DType, Layout, ValueSet};

/// No tensor of a case has more elements: what a text says must not make the program run out of memory.
const MOST_ELEMENTS: usize = 1 << 32;

/// Whether a tensor of the shape is small enough to be made.
fn is_small(shape: &[usize]) -> bool {
    let count = shape.iter().try_fold(1_usize, |count, &extent| {
        // A dimension counts where another is empty, too: layouts make room around it.
        count
            .checked_mul(extent.max(1))
            .filter(|count| *count <= MOST_ELEMENTS)
    });
    count.is_some()
}

impl Case {
    /// Whether shapes, layouts, values, dtypes and parameters fit each other. A case that is there to be refused must go
    /// against a rule of its op, and may otherwise go against none.
    ///
    /// # Errors
    /// A sentence that says what does not fit.
    pub fn check(&self) -> Result<(), String> {
        let op = self.op;
        if !op.takes_params(self.params.len()) {
            return Err(format!(
                "`{op}` takes {} parameters, not {}",
                op.params().len(),
                self.params.len()
            ));
        }
        if let Some(arg) = self.args.iter().find(|arg| !is_small(&arg.shape)) {
            return Err(format!(
                "{} has more than {MOST_ELEMENTS} elements",
                shape_text(&arg.shape)
            ));
        }
        self.check_blocks()?;
        let (dtypes, shapes) = (self.check_dtypes(), self.shapes());
        match (self.check, &dtypes, &shapes) {
            (Check::Value | Check::Layout | Check::Batch, ..) => {
                dtypes?;
                let shapes = shapes?;
                if !is_small(&shapes.output) {
                    let output = shape_text(&shapes.output);
                    return Err(format!(
                        "the output, {output}, has more than {MOST_ELEMENTS} elements"
                    ));
                }
                self.check_bad_id(shapes.bound)?;
            }
            (Check::Invalid | Check::Unsupported, Ok(()), Ok(_)) => {
                return Err(format!(
                    "`{op}` is to refuse this as {}, and nothing is wrong with it",
                    self.check
                ));
            }
            (Check::Invalid | Check::Unsupported, ..) => {}
        }
        self.check_forms()?;
        self.check_layouts_and_values()
    }

    /// Whether blocks are bytes. They are in a case to be refused, too: nobody can make them of another dtype.
    fn check_blocks(&self) -> Result<(), String> {
        let mut blocks = self.args.iter().zip(self.op.roles());
        match blocks.find(|(arg, role)| **role == Role::Blocks && arg.dtype != DType::U8) {
            Some((arg, _)) => Err(format!("`{}`: blocks are bytes, u8, not {}", self.op, arg.dtype)),
            None => Ok(()),
        }
    }

    /// Whether the op takes the arguments' dtypes.
    fn check_dtypes(&self) -> Result<(), String> {
        let op = self.op;
        if !op.accepts(self.dtype) {
            return Err(format!(
                "`{op}` means nothing for {}: it takes {}",
                self.dtype,
                join(op.dtypes().iter())
            ));
        }
        for (arg, role) in self.args.iter().zip(op.roles()) {
            match role {
                Role::Data if arg.dtype != self.dtype => {
                    return Err(format!(
                        "`{op}`: all data has one dtype, {} or {}",
                        self.dtype, arg.dtype
                    ));
                }
                Role::Condition | Role::Index if arg.dtype.is_float() => {
                    return Err(format!(
                        "`{op}`: ids and conditions are integers, not {}",
                        arg.dtype
                    ));
                }
                Role::Data | Role::Condition | Role::Index | Role::Blocks => {}
            }
        }
        Ok(())
    }

    /// Whether the dtype of the ids holds the id that is to be refused, and there is a place for one.
    fn check_bad_id(&self, bound: Option<usize>) -> Result<(), String> {
        let Some(bad) = self.values.bad_id(bound.unwrap_or(0)) else {
            return Ok(());
        };
        let ids = self.args.iter().zip(self.op.roles()).enumerate();
        for (i, (arg, _)) in ids.filter(|(_, (_, role))| **role == Role::Index) {
            if !self.shows_middle(i) {
                return Err(format!(
                    "`{}` puts its id into the middle of the storage, which {} of {} does not show",
                    self.values,
                    arg.layout,
                    shape_text(&arg.shape)
                ));
            }
            // The largest number means "none", which is not an error.
            let held = int_range(arg.dtype).is_some_and(|(min, max)| (min..max).contains(&bad));
            if !held || arg.shape.contains(&0) {
                return Err(format!(
                    "`{}` needs an id of {bad}, which {} ids of {} do not have",
                    self.values,
                    shape_text(&arg.shape),
                    arg.dtype
                ));
            }
        }
        Ok(())
    }

    /// Whether the view of argument `i` has the element in the middle of its storage.
    fn shows_middle(&self, i: usize) -> bool {
        let Some(plan) = self.plan(i) else { return true };
        let middle = plan.base_shape.iter().product::<usize>() / 2;
        let count: usize = plan.base_shape.iter().product();
        // The places as numbers, seen through the view.
        let base = crate::HostTensor {
            dtype: DType::I64,
            shape: plan.base_shape.clone(),
            bytes: (0..count as u64).flat_map(u64::to_le_bytes).collect(),
        };
        let shown = plan.gather(&base);
        (0..shown.len()).any(|at| shown.bits(at) == middle as u64)
    }

    /// Whether there is a second form to compare with.
    fn check_forms(&self) -> Result<(), String> {
        let shapes: Vec<&[usize]> = self.args.iter().map(|arg| arg.shape.as_slice()).collect();
        let layouts: Vec<Layout> = self.args.iter().map(|arg| arg.layout).collect();
        if let Some(why) = no_second_form(self.check, self.op, &self.params, &shapes, &layouts) {
            return Err(why);
        }
        match self.refusal() {
            Some(_) if self.check.compares_forms() => {
                Err(format!("`@{}` compares outputs, and there is none", self.check))
            }
            _ => Ok(()),
        }
    }

    fn check_layouts_and_values(&self) -> Result<(), String> {
        let op = self.op;
        let mut base_shapes = Vec::new();
        for (i, (arg, role)) in self.args.iter().zip(op.roles()).enumerate() {
            if *role == Role::Blocks && arg.layout != Layout::Contiguous {
                return Err(format!("`{op}`: blocks are contiguous, not {}", arg.layout));
            }
            let plan = self.plan(i).ok_or_else(|| match role {
                Role::Blocks => format!("{} is not a shape of whole blocks", shape_text(&arg.shape)),
                Role::Data | Role::Condition | Role::Index => format!(
                    "layout `{}` needs {}, and the shape is {}",
                    arg.layout,
                    arg.layout.needs(),
                    shape_text(&arg.shape)
                ),
            })?;
            if !is_small(&plan.base_shape) {
                return Err(format!(
                    "the storage of {}, {}, has more than {MOST_ELEMENTS} elements",
                    arg.layout,
                    shape_text(&plan.base_shape)
                ));
            }
            if *role == Role::Data {
                base_shapes.push(plan.base_shape);
            }
        }
        // Of a case that is to be refused each argument may have a dtype of its own.
        let floats = |wanted: bool| self.args.iter().any(|arg| arg.dtype.is_float() == wanted);
        let of_one_kind = match self.values {
            ValueSet::Extremes => true,
            ValueSet::Special => self.data().any(|arg| !arg.dtype.is_float()),
            _ => false,
        };
        if of_one_kind && floats(true) && floats(false) {
            return Err(format!(
                "`{}` is not for every dtype of the arguments",
                self.values
            ));
        }
        let contiguous = self.data().all(|arg| arg.layout == Layout::Contiguous);
        let base_shapes: Vec<&[usize]> = base_shapes.iter().map(Vec::as_slice).collect();
        self.values.check(op, self.dtype, &base_shapes, contiguous)
    }
}
