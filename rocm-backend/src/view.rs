//! How a kernel walks a buffer, and the proof that it stays inside.

use crate::error::ViewFault;
use crate::{AnyBuffer, DynBuffer, Error, Result};

/// Dimensions for which a contiguous view counts its strides itself.
pub(crate) const INLINE: usize = 8;

/// A tensor over a buffer, to be read: sizes, strides and the place of its first element, all in elements. A stride of 0
/// repeats an element along its dimension; no dimensions make one element.
///
/// An operation refuses a view that reaches outside its buffer ([`Error::View`]) before anything runs.
///
/// ```
/// use rocm_backend::ops::{self, Reduce};
/// use rocm_backend::{Device, Result, View};
///
/// fn main() -> Result<()> {
///     let device = Device::new(0)?;
///     let x = device.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
///     let rows = View::contiguous(&x, &[2, 3]);
///     let columns = View::new(&x, &[3, 2], &[1, 3]);
///     let last = x.view().at(5);
///     assert_eq!(ops::reduce(Reduce::Sum, rows, &[1])?.download::<f32>()?, [6.0, 15.0]);
///     assert_eq!(ops::reduce(Reduce::Sum, columns, &[1])?.download::<f32>()?, [5.0, 7.0, 9.0]);
///     assert!(ops::reduce(Reduce::Sum, last, &[0]).is_err(), "six elements from the last one on");
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    buffer: &'a DynBuffer,
    dims: &'a [usize],
    /// None for those of a contiguous tensor.
    strides: Option<&'a [usize]>,
    offset: usize,
}

/// A tensor over a buffer, to be written; otherwise as [`View`].
#[derive(Debug)]
pub struct ViewMut<'a> {
    buffer: &'a mut DynBuffer,
    /// None for all elements of the buffer, as one dimension.
    dims: Option<&'a [usize]>,
    strides: Option<&'a [usize]>,
    offset: usize,
}

/// A [`View`] that was checked: every element it reaches lies in its buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Region<'a> {
    buffer: &'a DynBuffer,
    dims: &'a [usize],
    strides: ViewSizes<'a>,
    offset: usize,
    numel: usize,
}

/// A [`ViewMut`] that was checked.
#[derive(Debug)]
pub(crate) struct RegionMut<'a> {
    pub(crate) buffer: &'a mut DynBuffer,
    pub(crate) dims: ViewSizes<'a>,
    pub(crate) strides: ViewSizes<'a>,
    pub(crate) offset: usize,
    pub(crate) numel: usize,
}

/// Sizes or strides: the caller's, or our own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ViewSizes<'a> {
    Given(&'a [usize]),
    Own([usize; INLINE], usize),
}

impl ViewSizes<'_> {
    pub(crate) fn as_slice(&self) -> &[usize] {
        match self {
            ViewSizes::Given(sizes) => sizes,
            ViewSizes::Own(sizes, count) => &sizes[..*count],
        }
    }

    /// The strides of a contiguous tensor of `dims`, if there are few enough.
    fn contiguous(dims: &[usize]) -> Option<ViewSizes<'static>> {
        let mut strides = [1_usize; INLINE];
        let own = strides.get_mut(..dims.len())?;
        // Where a stride cannot be counted, neither can the elements, and the check says so.
        for d in (1..dims.len()).rev() {
            own[d - 1] = own[d].saturating_mul(dims[d]);
        }
        Some(ViewSizes::Own(strides, dims.len()))
    }
}

impl<'a> View<'a> {
    /// The elements of `buffer` that sizes and strides reach from its first one.
    pub fn new(buffer: &'a DynBuffer, dims: &'a [usize], strides: &'a [usize]) -> View<'a> {
        View {
            buffer,
            dims,
            strides: Some(strides),
            offset: 0,
        }
    }

    /// The first elements of `buffer` as a row-major tensor of at most eight dimensions.
    pub fn contiguous(buffer: &'a DynBuffer, dims: &'a [usize]) -> View<'a> {
        View {
            buffer,
            dims,
            strides: None,
            offset: 0,
        }
    }

    /// The same walk with element `offset` as its first.
    #[must_use]
    pub fn at(self, offset: usize) -> View<'a> {
        View { offset, ..self }
    }

    /// What is viewed.
    pub fn buffer(&self) -> &'a DynBuffer {
        self.buffer
    }

    /// The sizes, outermost first.
    pub fn dims(&self) -> &'a [usize] {
        self.dims
    }

    /// Checks that every element lies in the buffer; `op` is named when one does not.
    pub(crate) fn check(self, op: &str) -> Result<Region<'a>> {
        let View {
            buffer, dims, offset, ..
        } = self;
        let strides = resolve(op, dims, self.strides, offset)?;
        let numel = check(op, buffer.len(), dims, strides.as_slice(), offset)?;
        Ok(Region {
            buffer,
            dims,
            strides,
            offset,
            numel,
        })
    }
}

impl<'a> ViewMut<'a> {
    /// As [`View::new`].
    pub fn new(buffer: &'a mut impl AnyBuffer, dims: &'a [usize], strides: &'a [usize]) -> ViewMut<'a> {
        ViewMut {
            buffer: buffer.dyn_mut(),
            dims: Some(dims),
            strides: Some(strides),
            offset: 0,
        }
    }

    /// As [`View::contiguous`].
    pub fn contiguous(buffer: &'a mut impl AnyBuffer, dims: &'a [usize]) -> ViewMut<'a> {
        ViewMut {
            buffer: buffer.dyn_mut(),
            dims: Some(dims),
            strides: None,
            offset: 0,
        }
    }

    /// All elements.
    pub(crate) fn all(buffer: &'a mut DynBuffer) -> ViewMut<'a> {
        ViewMut {
            buffer,
            dims: None,
            strides: None,
            offset: 0,
        }
    }

    /// The same walk with element `offset` as its first.
    #[must_use]
    pub fn at(self, offset: usize) -> ViewMut<'a> {
        ViewMut { offset, ..self }
    }

    /// As [`View::check`].
    pub(crate) fn check(self, op: &str) -> Result<RegionMut<'a>> {
        let ViewMut { buffer, offset, .. } = self;
        let mut all = [0; INLINE];
        all[0] = buffer.len();
        let dims = self.dims.map_or(ViewSizes::Own(all, 1), ViewSizes::Given);
        let strides = resolve(op, dims.as_slice(), self.strides, offset)?;
        let numel = check(op, buffer.len(), dims.as_slice(), strides.as_slice(), offset)?;
        Ok(RegionMut {
            buffer,
            dims,
            strides,
            offset,
            numel,
        })
    }
}

impl RegionMut<'_> {
    pub(crate) fn is_contiguous(&self) -> bool {
        is_run(self.dims.as_slice(), self.strides.as_slice())
    }
}

impl<'a> Region<'a> {
    pub(crate) fn buffer(&self) -> &'a DynBuffer {
        self.buffer
    }

    pub(crate) fn dims(&self) -> &'a [usize] {
        self.dims
    }

    pub(crate) fn strides(&self) -> &[usize] {
        self.strides.as_slice()
    }

    /// In elements.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn numel(&self) -> usize {
        self.numel
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        is_run(self.dims, self.strides())
    }
}

/// The strides that were given, else those of a contiguous tensor.
fn resolve<'a>(
    op: &str,
    dims: &[usize],
    strides: Option<&'a [usize]>,
    offset: usize,
) -> Result<ViewSizes<'a>> {
    let own = strides.map_or_else(
        || ViewSizes::contiguous(dims),
        |given| Some(ViewSizes::Given(given)),
    );
    own.ok_or_else(|| refused(op, dims, &[], offset, ViewFault::Rank))
}

fn refused(op: &str, dims: &[usize], strides: &[usize], offset: usize, fault: ViewFault) -> Error {
    Error::View {
        op: op.to_owned(),
        dims: dims.to_vec(),
        strides: strides.to_vec(),
        offset,
        fault,
    }
}

/// The number of elements of a view that stays inside `len` elements; else what is wrong with it.
pub(crate) fn check(op: &str, len: usize, dims: &[usize], strides: &[usize], offset: usize) -> Result<usize> {
    let invalid = |fault| refused(op, dims, strides, offset, fault);
    if dims.len() != strides.len() {
        return Err(invalid(ViewFault::Strides));
    }
    let numel = if dims.contains(&0) {
        Some(0)
    } else {
        dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim))
    };
    let numel = numel.ok_or_else(|| invalid(ViewFault::Uncountable))?;
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
        Some(element) => Err(invalid(ViewFault::Outside { element, len })),
        None => Err(invalid(ViewFault::Unreachable)),
    }
}

/// Whether elements lie one after the other in row-major order. The stride of a dimension of size 1 says nothing.
pub(crate) fn is_run(dims: &[usize], strides: &[usize]) -> bool {
    let mut apart = Some(1_usize);
    for (&dim, &stride) in dims.iter().zip(strides).rev().filter(|(dim, _)| **dim != 1) {
        if apart != Some(stride) {
            return false;
        }
        apart = stride.checked_mul(dim);
    }
    true
}

/// What a kernel gets as `info` for operands of one shape: sizes, then the strides of each operand. `None` when
/// all are contiguous and need none.
///
/// Dimensions of size 1 are left out, and neighbours that every operand walks as one become one: a kernel divides
/// once an element for each dimension.
pub(crate) fn layout_table(dims: &[usize], operands: &[&[usize]]) -> Option<Vec<u64>> {
    if operands.iter().all(|strides| is_run(dims, strides)) {
        return None;
    }
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
    let kept = &kept;
    let sizes = kept.iter().map(|(dim, _)| *dim);
    let strides = (0..operands.len()).flat_map(|k| kept.iter().map(move |(_, strides)| strides[k]));
    Some(sizes.chain(strides).map(|word| word as u64).collect())
}

/// What a kernel divides numbers below 2^31 by `size` with: a factor, in the lower half, and a shift, as `Divisor` of
/// `kernels/layout.h` has them; 0 for a size of which no such number has a multiple, and for none.
pub(crate) fn divisor(size: usize) -> u64 {
    if size == 0 || size > 1 << 31 {
        return 0;
    }
    let size = size as u64;
    let power = size.next_power_of_two();
    let factor = ((power - size) << 32) / size + 1;
    factor | u64::from(power.ilog2()) << 32
}

/// The same for any number of 64 bits, as `Count` of `kernels/pool.h` has it: the factor, then two shifts.
pub(crate) fn wide_divisor(size: usize) -> [u64; 2] {
    let (size, log2) = (size.max(1) as u128, size.max(1).next_power_of_two().ilog2());
    let factor = (((1_u128 << log2) - size) << 64) / size + 1;
    let (half, shift) = (log2.min(1), log2.saturating_sub(1));
    [factor as u64, u64::from(half) | u64::from(shift) << 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_gives_the_quotient_of_every_number_below_2_to_the_31() {
        let quotient = |number: u32, word: u64| {
            let high = (u64::from(number) * (word & 0xffff_ffff)) >> 32;
            (high + u64::from(number)) as u32 >> (word >> 32)
        };
        let near =
            |size: usize| (size.saturating_sub(3)..=size + 3).filter(|&size| (1..=1 << 31).contains(&size));
        let powers = (0..=31).flat_map(|log2| near(1 << log2));
        for size in (1..200).chain(powers).chain([641, 6_700_417, 1_000_000_007]) {
            let word = divisor(size);
            // Beside multiples quotients change; the greatest numbers are where a factor is too small or too great first.
            let multiples = [1, 2, 3, (1 << 31) / size - 1, (1 << 31) / size].map(|times| times * size);
            let numbers = multiples.into_iter().flat_map(near).chain([0, (1 << 31) - 1]);
            for number in numbers.filter(|&number| number < 1 << 31) {
                assert_eq!(
                    quotient(number as u32, word) as usize,
                    number / size,
                    "{number} / {size}"
                );
            }
        }
        assert_ne!(
            quotient(3, divisor(3) - 1),
            1,
            "a factor that is one too small shows"
        );
        assert_eq!((divisor(0), divisor((1 << 31) + 1)), (0, 0));
    }

    #[test]
    fn a_wide_divisor_gives_the_quotient_of_every_number() {
        let quotient = |number: u64, [factor, shifts]: [u64; 2]| {
            let high = ((u128::from(number) * u128::from(factor)) >> 64) as u64;
            (((number - high) >> (shifts & 1)) + high) >> (shifts >> 32)
        };
        for size in (1..300).chain([641, 65535, 65537, 1 << 31, (1 << 31) + 1, (1 << 40) - 1]) {
            let words = wide_divisor(size);
            let size = size as u64;
            let greatest = u64::MAX / size * size;
            for multiple in [0, size, 5 * size, greatest - size, greatest] {
                for number in [
                    multiple,
                    multiple.saturating_add(size / 2),
                    multiple.saturating_sub(1),
                    u64::MAX,
                ] {
                    assert_eq!(quotient(number, words), number / size, "{number} / {size}");
                }
            }
        }
    }

    #[test]
    fn contiguous_operands_need_no_table() {
        for (dims, strides) in [
            (&[][..], &[][..]),
            (&[5], &[1]),
            (&[2, 3], &[3, 1]),
            (&[1, 3], &[99, 1]),
            (&[3, 1], &[1, 99]),
            (&[1, 1], &[7, 9]),
            (&[2, 0], &[0, 1]),
        ] {
            assert_eq!(layout_table(dims, &[strides]), None, "{dims:?} {strides:?}");
            assert!(is_run(dims, strides), "{dims:?} {strides:?}");
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
    fn contiguous_strides_are_counted_for_as_many_dimensions_as_there_is_room_for() {
        let strides = |dims: &[usize]| ViewSizes::contiguous(dims).map(|own| own.as_slice().to_vec());
        assert_eq!(strides(&[]), Some(vec![]));
        assert_eq!(strides(&[7]), Some(vec![1]));
        assert_eq!(strides(&[2, 3, 4]), Some(vec![12, 4, 1]));
        assert_eq!(strides(&[2, usize::MAX, 4]), Some(vec![usize::MAX, 4, 1]));
        assert_eq!(strides(&[1; INLINE]), Some(vec![1; INLINE]));
        assert_eq!(strides(&[1; INLINE + 1]), None);
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
