//! The shape rules: which shapes and parameters an op takes, the shape of what comes out, and which ids are in range.
//!
//! Written from the ops' definitions, not from what a backend accepts: a case that breaks a rule here is not valid.
//! A row of the table names its rule. Rules that several families share are here; the others are beside their rows,
//! in `ops/`.

use std::cell::RefCell;

use super::pattern::Pattern;
use super::{Form, Keep, Op};
use crate::case::shape_text;

pub use crate::ops::copies::chunk;

/// What follows from an op's parameters and the shapes of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shapes {
    /// The shape of the output.
    pub output: Vec<usize>,
    /// For an op with ids: they are below this.
    pub bound: Option<usize>,
}

impl Shapes {
    pub(crate) fn of(output: Vec<usize>) -> Result<Shapes, String> {
        Ok(Shapes { output, bound: None })
    }
}

/// What a row's `shape:` is. The parameters and shapes have the lengths that [`Op::takes_params`] and [`Op::arity`] ask for.
pub(crate) type ShapeRule = fn(&Operands<'_>) -> Result<Shapes, String>;

/// Applies the rule of an op. `params` and `shapes` have the lengths that [`Op::takes_params`] and [`Op::arity`] ask for.
///
/// # Errors
/// A sentence that says which rule is broken.
pub fn infer(op: Op, params: &[f64], shapes: &[&[usize]]) -> Result<Shapes, String> {
    let call = Operands::new(op, params, shapes);
    let (row, form) = op.row();
    match form {
        Form::Plain | Form::Kept(_) => (row.shape)(&call),
        Form::Broadcast => broadcast(&call),
        Form::Gradient(grad) => super::grad::shapes(grad, &call),
    }
}

/// The patterns that the op's rule holds the shapes of its arguments to, in the order in which it tries them. None where the rule
/// is written in another way, or is that of a gradient.
pub fn patterns(op: Op) -> Vec<Pattern> {
    let (row, form) = op.row();
    let asked = RefCell::new(vec![]);
    // Few patterns have room for arguments without dimensions, so that a rule goes on to its last one.
    let (params, shapes) = (vec![0.0; op.params().len()], vec![&[][..]; op.arity()]);
    let mut call = Operands::new(op, &params, &shapes);
    call.asked = Some(&asked);
    if matches!(form, Form::Plain | Form::Kept(_)) {
        // What comes out is of no interest: the rule says its patterns on the way.
        let _ = (row.shape)(&call);
    }
    asked.into_inner()
}

/// An op's parameters and the shapes of its arguments, for rules to be written against. Errors name the op.
pub(crate) struct Operands<'a> {
    pub(crate) op: Op,
    /// For a reduction: what it keeps.
    pub(crate) keep: Keep,
    pub(crate) params: &'a [f64],
    pub(crate) shapes: &'a [&'a [usize]],
    /// Where [`Operands::fit`] notes its patterns.
    asked: Option<&'a RefCell<Vec<Pattern>>>,
}

impl<'a> Operands<'a> {
    pub(crate) fn new(op: Op, params: &'a [f64], shapes: &'a [&'a [usize]]) -> Self {
        let keep = match op.row() {
            (_, Form::Kept(keep)) => keep,
            (row, Form::Plain | Form::Broadcast | Form::Gradient(_)) => row.plain_form(),
        };
        Operands {
            op,
            keep,
            params,
            shapes,
            asked: None,
        }
    }

    /// Parameter `i` as a count.
    pub(crate) fn whole(&self, i: usize) -> Result<usize, String> {
        let value = self.params[i];
        if value >= 0.0 && value.fract() == 0.0 && value <= 1e9 {
            return Ok(value as usize);
        }
        Err(format!(
            "`{}` takes a whole number as `{}`, not {value}",
            self.op,
            self.name(i)
        ))
    }

    /// All parameters as counts.
    pub(crate) fn wholes(&self) -> Result<Vec<usize>, String> {
        (0..self.params.len()).map(|i| self.whole(i)).collect()
    }

    /// Parameter `i` as a count of one or more.
    pub(crate) fn positive(&self, i: usize) -> Result<usize, String> {
        match self.whole(i)? {
            0 => Err(format!("`{}`: `{}` must not be 0", self.op, self.name(i))),
            n => Ok(n),
        }
    }

    /// Parameter `i` as 0 or 1.
    pub(crate) fn flag(&self, i: usize) -> Result<bool, String> {
        match self.whole(i)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(format!("`{}` takes 0 or 1 as `{}`", self.op, self.name(i))),
        }
    }

    /// Parameter `i` as a dimension of the first argument.
    pub(crate) fn dim(&self, i: usize) -> Result<usize, String> {
        let (dim, rank) = (self.whole(i)?, self.shapes[0].len());
        if dim < rank {
            return Ok(dim);
        }
        Err(format!(
            "`{}`: {} has no dimension {dim}",
            self.op,
            shape_text(self.shapes[0])
        ))
    }

    /// All parameters as dimensions of the first argument, none of them twice.
    pub(crate) fn dims(&self) -> Result<Vec<usize>, String> {
        let dims: Vec<usize> = (0..self.params.len())
            .map(|i| self.dim(i))
            .collect::<Result<_, _>>()?;
        let once = (1..dims.len()).all(|i| !dims[..i].contains(&dims[i]));
        self.require(once, "dims are named once each")?;
        Ok(dims)
    }

    fn name(&self, i: usize) -> &'static str {
        let names = self.op.params();
        names[i.min(names.len() - 1)].trim_end_matches("..")
    }

    /// The shape of argument `i`, which has `rank` dimensions.
    pub(crate) fn rank(&self, i: usize, rank: usize) -> Result<&'a [usize], String> {
        let shape = self.shapes[i];
        if shape.len() == rank {
            return Ok(shape);
        }
        Err(format!(
            "`{}`: `{}` has {rank} dimensions, and the shape is {}",
            self.op,
            self.op.args()[i],
            shape_text(shape)
        ))
    }

    /// The first argument's shape with another extent of one dimension.
    pub(crate) fn with_extent(&self, dim: usize, extent: usize) -> Vec<usize> {
        let mut shape = self.shapes[0].to_vec();
        shape[dim] = extent;
        shape
    }

    /// The first dimension of the first argument that is not `dim`.
    pub(crate) fn other_than(&self, dim: usize) -> Option<usize> {
        (0..self.shapes[0].len()).find(|d| *d != dim)
    }

    pub(crate) fn mismatch(&self, why: &str) -> String {
        let shapes: Vec<String> = self.shapes.iter().map(|shape| shape_text(shape)).collect();
        format!("`{}`: {why}, and the shapes are {}", self.op, shapes.join(","))
    }

    /// What a pattern makes of the shapes, such as `[m, k] [k] -> [m]`: see `op/pattern.rs`.
    pub(crate) fn fit(&self, pattern: &'static str) -> Result<Shapes, String> {
        if let Some(asked) = self.asked {
            asked.borrow_mut().push(Pattern::new(pattern));
        }
        let found = super::pattern::fit(pattern, self.shapes);
        found.ok_or_else(|| self.mismatch(&format!("the shapes go by {pattern}")))
    }

    pub(crate) fn require(&self, holds: bool, why: &str) -> Result<(), String> {
        if holds { Ok(()) } else { Err(self.mismatch(why)) }
    }
}

/// All arguments and the output have one shape.
pub(crate) fn alike(call: &Operands<'_>) -> Result<Shapes, String> {
    let all = call.shapes.iter().all(|shape| *shape == call.shapes[0]);
    call.require(
        all,
        "all arguments have the same logical shape (layouts make them differ in memory)",
    )?;
    Shapes::of(call.shapes[0].to_vec())
}

/// The output has the argument's shape, whose dimensions the parameters name.
pub(crate) fn same_along_dims(call: &Operands<'_>) -> Result<Shapes, String> {
    call.dims()?;
    Shapes::of(call.shapes[0].to_vec())
}

fn broadcast(call: &Operands<'_>) -> Result<Shapes, String> {
    let common = broadcast_to(call.shapes[0], call.shapes[1]);
    Shapes::of(common.ok_or_else(|| call.mismatch("the arguments have a common shape"))?)
}

/// The shape that two shapes are broadcast to, dimensions counted from the last.
pub(crate) fn broadcast_to(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[usize], d: usize| match (d + shape.len()).checked_sub(rank) {
        Some(own) => shape[own],
        None => 1,
    };
    let common = |d| match (extent(a, d), extent(b, d)) {
        (m, n) if m == n || n == 1 => Some(m),
        (1, n) => Some(n),
        _ => None,
    };
    (0..rank).map(common).collect()
}

#[cfg(test)]
mod tests;
