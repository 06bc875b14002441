//! Which ops, dtypes and shapes a value set can fill, and why it cannot fill others.

use super::{ValueSet, narrowed};
use crate::op::{Binary, Role};
use crate::{DType, Op};

impl ValueSet {
    /// The id out of range that the set holds, of a dimension of `bound`.
    pub(crate) fn bad_id(&self, bound: usize) -> Option<i64> {
        match self {
            ValueSet::IdsBeyond => i64::try_from(bound).ok(),
            ValueSet::IdsNegative => Some(-1),
            ValueSet::Uniform { .. }
            | ValueSet::Geometric { .. }
            | ValueSet::Ints { .. }
            | ValueSet::Nonzero { .. }
            | ValueSet::Any
            | ValueSet::Special
            | ValueSet::Nan
            | ValueSet::Nans
            | ValueSet::OnlyNan
            | ValueSet::Ties
            | ValueSet::Peaks
            | ValueSet::Extremes
            | ValueSet::DivZero
            | ValueSet::Exhaustive
            | ValueSet::Numbers
            | ValueSet::IdsNone
            | ValueSet::Quants => None,
        }
    }

    /// Whether the set can fill the arguments of an op. `base_shapes` are the shapes underneath the layouts, one an
    /// argument that holds data, and `contiguous` says whether every layout is the contiguous one.
    ///
    /// # Errors
    /// A sentence that says why not, and what would do.
    pub fn check(
        &self,
        op: Op,
        dtype: DType,
        base_shapes: &[&[usize]],
        contiguous: bool,
    ) -> Result<(), String> {
        let float = dtype.is_float();
        if op.block_format().is_some() {
            self.check_blocks(op, !base_shapes.is_empty())?;
        }
        match self {
            ValueSet::Quants if op.block_format().is_none() => {
                return Err(format!(
                    "`quants` is for products with blocks, not for {op}: use ints(-127,127)"
                ));
            }
            ValueSet::Uniform { .. }
            | ValueSet::Geometric { .. }
            | ValueSet::Special
            | ValueSet::Nan
            | ValueSet::Nans
            | ValueSet::OnlyNan
            | ValueSet::Ties
                if !float =>
            {
                return Err(format!(
                    "`{self}` holds floats, and {dtype} is an integer dtype: use ints(lo,hi), any or extremes"
                ));
            }
            ValueSet::Extremes | ValueSet::DivZero if float => {
                return Err(format!(
                    "`{self}` holds integers of a width, and {dtype} is a float dtype: use special"
                ));
            }
            ValueSet::DivZero if op != Op::Binary(Binary::Div) => {
                return Err(format!("`divzero` is for div alone, not for {op}"));
            }
            ValueSet::Uniform { .. }
            | ValueSet::Geometric { .. }
            | ValueSet::Ints { .. }
            | ValueSet::Nonzero { .. }
            | ValueSet::Any
            | ValueSet::Special
            | ValueSet::Nan
            | ValueSet::Nans
            | ValueSet::OnlyNan
            | ValueSet::Ties
            | ValueSet::Peaks
            | ValueSet::Extremes
            | ValueSet::DivZero
            | ValueSet::Exhaustive
            | ValueSet::Numbers
            | ValueSet::Quants => {}
            ValueSet::IdsBeyond | ValueSet::IdsNegative | ValueSet::IdsNone => {
                if !op.roles().contains(&Role::Index) {
                    return Err(format!("`{self}` is for ops with ids, and `{op}` has none"));
                }
                // What is made of these ops, layers and gradients, has no rule for it.
                if *self == ValueSet::IdsNone && op.family() != crate::Family::Indexing {
                    return Err(format!(
                        "`{self}` is for ops of indexing, not for {op}: use ids_beyond"
                    ));
                }
            }
        }
        let traps = !matches!(self, ValueSet::Nonzero { .. } | ValueSet::DivZero);
        if op == Op::Binary(Binary::Div) && !float && traps {
            return Err(format!(
                "`{self}` may divide {dtype} by zero: use nonzero(lo,hi), or divzero to test just that"
            ));
        }
        if let ValueSet::Ints { lo, hi } | ValueSet::Nonzero { lo, hi } = *self {
            let (lo, hi) = narrowed(dtype, lo, hi, matches!(self, ValueSet::Nonzero { .. }));
            if lo >= hi {
                return Err(format!("`{self}` leaves fewer than two values of {dtype}"));
            }
        }
        if *self == ValueSet::Nan
            && base_shapes
                .iter()
                .any(|shape| shape.iter().product::<usize>() < 3)
        {
            return Err("`nan` puts NaN first, in the middle and last: every argument needs at least 3 elements of its own".to_owned());
        }
        if matches!(self, ValueSet::Exhaustive | ValueSet::Numbers) {
            return self.check_exhaustive(dtype, base_shapes, contiguous);
        }
        Ok(())
    }

    /// Blocks alone take any bits. A product needs activations that 8-bit blocks can hold.
    fn check_blocks(&self, op: Op, product: bool) -> Result<(), String> {
        let fits = match self {
            ValueSet::Any | ValueSet::IdsBeyond | ValueSet::IdsNegative => !product,
            ValueSet::Uniform { .. }
            | ValueSet::Geometric { .. }
            | ValueSet::Ints { .. }
            | ValueSet::Nonzero { .. }
            | ValueSet::Nan
            | ValueSet::Nans
            | ValueSet::OnlyNan
            | ValueSet::Ties
            | ValueSet::Peaks
            | ValueSet::Quants => product,
            ValueSet::Special
            | ValueSet::Extremes
            | ValueSet::DivZero
            | ValueSet::Exhaustive
            | ValueSet::Numbers
            | ValueSet::IdsNone => false,
        };
        match (fits, product) {
            (true, _) => Ok(()),
            (false, true) => Err(format!(
                "`{self}` may hold numbers too far apart for the activations of {op}: use uniform(lo,hi) or quants"
            )),
            (false, false) => Err(format!("the blocks of {op} are filled with `any`, not `{self}`")),
        }
    }

    fn check_exhaustive(
        &self,
        dtype: DType,
        base_shapes: &[&[usize]],
        contiguous: bool,
    ) -> Result<(), String> {
        let bits = 8 * dtype.size() * base_shapes.len();
        if bits > 16 {
            let kind = if base_shapes.len() == 1 {
                "one 8- or 16-bit argument"
            } else {
                "two 8-bit arguments"
            };
            return Err(format!(
                "`{self}` is for {kind}, and {dtype} has {} bits",
                8 * dtype.size()
            ));
        }
        let count: usize = base_shapes[0].iter().product();
        if !contiguous {
            return Err(format!(
                "`{self}` covers every pattern only in the contiguous layout"
            ));
        }
        let fits = match base_shapes.len() {
            1 => count > 0 && count.is_multiple_of(1 << bits),
            _ => count == 1 << bits,
        };
        if !fits {
            return Err(format!(
                "`{self}` of {dtype} has {} elements, or for one argument several times as many, and the shape has {count}",
                1 << bits
            ));
        }
        Ok(())
    }
}
