//! How a kernel walks a buffer, and the proof that it stays inside.

use crate::{Buffer, Error, Result};

/// A tensor over a buffer: sizes, strides and the place of its first element, all in elements. A stride of 0
/// repeats an element along its dimension; no dimensions make one element.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What is viewed.
    pub buffer: &'a Buffer,
    /// The sizes, outermost first.
    pub dims: &'a [usize],
    /// For each dimension, how far apart neighbours lie.
    pub strides: &'a [usize],
    /// Where the first element lies.
    pub offset: usize,
}

/// A [`View`] that was checked: every element it reaches lies in its buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Region<'a> {
    view: View<'a>,
    numel: usize,
}

impl<'a> View<'a> {
    /// Checks that every element lies in the buffer; `op` is named when one does not.
    pub(crate) fn check(self, op: &str) -> Result<Region<'a>> {
        let numel = check(op, self.buffer.len(), self.dims, self.strides, self.offset)?;
        Ok(Region { view: self, numel })
    }
}

impl<'a> Region<'a> {
    pub(crate) fn buffer(&self) -> &'a Buffer {
        self.view.buffer
    }

    pub(crate) fn dims(&self) -> &'a [usize] {
        self.view.dims
    }

    pub(crate) fn strides(&self) -> &'a [usize] {
        self.view.strides
    }

    /// In elements.
    pub(crate) fn offset(&self) -> usize {
        self.view.offset
    }

    pub(crate) fn numel(&self) -> usize {
        self.numel
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        layout_table(self.view.dims, &[self.view.strides]).is_none()
    }
}

/// The number of elements of a view that stays inside `len` elements; else what is wrong with it.
pub(crate) fn check(op: &str, len: usize, dims: &[usize], strides: &[usize], offset: usize) -> Result<usize> {
    let invalid = |what: &str| {
        Error::Invalid(format!(
            "{op}: the view {dims:?} with strides {strides:?} from element {offset} {what}"
        ))
    };
    if dims.len() != strides.len() {
        return Err(invalid("has not one stride for each dimension"));
    }
    let numel = if dims.contains(&0) {
        Some(0)
    } else {
        dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim))
    };
    let numel = numel.ok_or_else(|| invalid("has more elements than can be counted"))?;
    if numel == 0 {
        return Ok(0);
    }
    let last = dims
        .iter()
        .zip(strides)
        .try_fold(offset, |last, (&dim, &stride)| {
            (dim - 1).checked_mul(stride)?.checked_add(last)
        });
    match last {
        Some(last) if last < len => Ok(numel),
        Some(last) => Err(invalid(&format!("reaches element {last} of a buffer of {len}"))),
        None => Err(invalid("reaches further than can be counted")),
    }
}

/// What a kernel gets as `info` for operands of one shape: sizes, then the strides of each operand. `None` when
/// all are contiguous and need none.
///
/// Dimensions of size 1 are left out, and neighbours that every operand walks as one become one: a kernel divides
/// once an element for each dimension.
pub(crate) fn layout_table(dims: &[usize], operands: &[&[usize]]) -> Option<Vec<u64>> {
    let mut kept: Vec<(usize, Vec<usize>)> = Vec::with_capacity(dims.len());
    for (d, &dim) in dims.iter().enumerate().filter(|&(_, &dim)| dim != 1) {
        let strides: Vec<usize> = operands.iter().map(|strides| strides[d]).collect();
        match kept.last_mut() {
            Some((outer_dim, outer))
                if outer
                    .iter()
                    .zip(&strides)
                    .all(|(o, s)| s.checked_mul(dim) == Some(*o)) =>
            {
                *outer_dim = outer_dim.saturating_mul(dim);
                *outer = strides;
            }
            _ => kept.push((dim, strides)),
        }
    }
    match kept.as_slice() {
        [] => None,
        [(_, strides)] if strides.iter().all(|&stride| stride == 1) => None,
        _ => {
            let sizes = kept.iter().map(|(dim, _)| *dim);
            let strides = (0..operands.len()).flat_map(|k| kept.iter().map(move |(_, strides)| strides[k]));
            Some(sizes.chain(strides).map(|word| word as u64).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_operands_need_no_table() {
        for (dims, strides) in [
            (&[][..], &[][..]),
            (&[5], &[1]),
            (&[2, 3], &[3, 1]),
            (&[1, 3], &[99, 1]),
            (&[3, 1], &[1, 99]),
            (&[1, 1], &[7, 9]),
        ] {
            assert_eq!(layout_table(dims, &[strides]), None, "{dims:?} {strides:?}");
        }
        assert!(
            layout_table(&[2, 3], &[&[3, 1], &[1, 2]]).is_some(),
            "one strided operand makes a table"
        );
    }

    #[test]
    fn a_table_holds_sizes_then_the_strides_of_each_operand() {
        assert_eq!(layout_table(&[2, 3], &[&[1, 2]]).unwrap(), [2, 3, 1, 2]);
        assert_eq!(
            layout_table(&[2, 1, 3], &[&[1, 8, 2], &[3, 3, 1]]).unwrap(),
            [2, 3, 1, 2, 3, 1]
        );
        assert_eq!(layout_table(&[6], &[&[2]]).unwrap(), [6, 2]);
    }

    #[test]
    fn dimensions_walked_as_one_become_one_for_all_operands_or_for_none() {
        assert_eq!(layout_table(&[2, 3, 4], &[&[24, 8, 2]]).unwrap(), [24, 2]);
        assert_eq!(layout_table(&[2, 3], &[&[0, 0]]).unwrap(), [6, 0]);
        // rhs repeats along the first dimension only, so it cannot be joined to the second.
        assert_eq!(
            layout_table(&[2, 3], &[&[3, 1], &[0, 1]]).unwrap(),
            [2, 3, 3, 1, 0, 1]
        );
    }

    #[test]
    fn a_view_counts_its_elements_up_to_the_last_of_the_buffer() {
        assert_eq!(check("t", 6, &[2, 3], &[3, 1], 0).unwrap(), 6);
        assert_eq!(check("t", 7, &[2, 3], &[3, 1], 1).unwrap(), 6);
        assert_eq!(check("t", 1, &[], &[], 0).unwrap(), 1);
        assert_eq!(check("t", 1, &[4, 4], &[0, 0], 0).unwrap(), 16);
        assert_eq!(check("t", 0, &[usize::MAX, 3, 0], &[1, 1, 1], 9).unwrap(), 0);
    }

    #[test]
    fn a_view_that_leaves_its_buffer_is_refused_with_the_element_it_reaches() {
        let refusal = |len, dims: &[usize], strides: &[usize], offset| {
            check("uexp", len, dims, strides, offset).unwrap_err().to_string()
        };
        assert!(
            refusal(6, &[2, 3], &[3, 1], 1)
                .contains("uexp: the view [2, 3] with strides [3, 1] from element 1")
        );
        assert!(refusal(6, &[2, 3], &[3, 1], 1).contains("reaches element 6 of a buffer of 6"));
        assert!(refusal(0, &[], &[], 0).contains("reaches element 0 of a buffer of 0"));
        assert!(refusal(6, &[2], &[], 0).contains("one stride for each dimension"));
        assert!(refusal(6, &[usize::MAX, 2], &[0, 0], 0).contains("more elements than can be counted"));
        assert!(refusal(6, &[3], &[usize::MAX], 0).contains("reaches further than can be counted"));
    }
}
