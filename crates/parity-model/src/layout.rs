//! Memory layouts of an argument, as recipes of tensor views.
//!
//! A layout never changes the values an op sees, only where they lie: the op on a view must give what the op on a
//! contiguous copy of the view gives.

mod view;

use crate::HostTensor;
use crate::op::UnknownName;
pub use view::{MOST_DIMENSIONS, Place, View};

/// How an argument lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layout {
    /// Row-major, from the start of its storage.
    Contiguous,
    /// Row-major, but starting one row (rank 1: one element) into its storage.
    Offset,
    /// The last two dimensions swapped.
    Transposed,
    /// All dimensions in reverse order; rank 3 and above, for below it is [`Layout::Transposed`].
    Reversed,
    /// Every dimension in the place of the next, the first one last: unlike the two above, undone only by another
    /// permutation.
    Rotated,
    /// A window of the last dimension: rows are contiguous, with gaps between them.
    Sliced,
    /// A window of every dimension: nothing is contiguous, and the start is inside.
    Cropped,
    /// Every dimension of extent 1 is a window of three: its stride is not what a contiguous tensor has there.
    Ones,
    /// Every other element: the last dimension has stride 2.
    Stepped,
    /// Dimension 0 has stride 0.
    Broadcast,
    /// Dimension 0, which has extent 1, has stride 0.
    BroadcastOne,
    /// A dimension in the middle, the second, has stride 0.
    BroadcastMiddle,
    /// The last dimension has stride 0.
    BroadcastLast,
    /// One element, every stride 0.
    Scalar,
    /// Any permutation, with room around dimensions, steps and repeats. No word of a list: it is spelled out.
    View(View),
}

/// One view step, each a candle `Tensor` method of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewStep {
    /// Swap two dimensions.
    Transpose(usize, usize),
    /// Reorder the dimensions: dimension `i` of the result is dimension `order[i]` of the operand.
    Permute(Vec<usize>),
    /// Keep `len` indices of dimension `dim` from `start` on.
    Narrow {
        /// Dimension narrowed.
        dim: usize,
        /// First index kept.
        start: usize,
        /// Number of indices kept.
        len: usize,
    },
    /// Remove dimension `.0`, which has extent 1.
    Squeeze(usize),
    /// Expand to this shape by repeating dimensions of extent 1, and new leading ones.
    BroadcastAs(Vec<usize>),
}

/// How a view is made: a contiguous tensor of `base_shape`, then `steps` in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewPlan {
    /// Shape of the contiguous tensor underneath.
    pub base_shape: Vec<usize>,
    /// The steps that turn it into the view.
    pub steps: Vec<ViewStep>,
}

impl Layout {
    /// Every layout that has a name of its own, in table order.
    pub const ALL: [Layout; 14] = [
        Layout::Contiguous,
        Layout::Offset,
        Layout::Transposed,
        Layout::Reversed,
        Layout::Rotated,
        Layout::Sliced,
        Layout::Cropped,
        Layout::Ones,
        Layout::Stepped,
        Layout::Broadcast,
        Layout::BroadcastOne,
        Layout::BroadcastMiddle,
        Layout::BroadcastLast,
        Layout::Scalar,
    ];

    /// The word specs and ids use; of a [`View`], what all of them begin with.
    pub const fn name(self) -> &'static str {
        match self {
            Layout::Contiguous => "contiguous",
            Layout::Offset => "offset",
            Layout::Transposed => "transposed",
            Layout::Reversed => "reversed",
            Layout::Rotated => "rotated",
            Layout::Sliced => "sliced",
            Layout::Cropped => "cropped",
            Layout::Ones => "ones",
            Layout::Stepped => "stepped",
            Layout::Broadcast => "broadcast",
            Layout::BroadcastOne => "broadcast_one",
            Layout::BroadcastMiddle => "broadcast_middle",
            Layout::BroadcastLast => "broadcast_last",
            Layout::Scalar => "scalar",
            Layout::View(_) => "view",
        }
    }

    /// What a shape must have for the layout to be possible, in words.
    pub const fn needs(self) -> &'static str {
        match self {
            Layout::Contiguous => "any shape",
            Layout::Offset | Layout::Stepped | Layout::Cropped => "rank >= 1",
            Layout::Transposed | Layout::Sliced => "rank >= 2",
            Layout::Reversed | Layout::Rotated => "rank >= 3",
            Layout::Ones => "a dimension of extent 1",
            Layout::Broadcast => "a first dimension >= 2",
            Layout::BroadcastOne => "a first dimension of 1",
            Layout::BroadcastMiddle => "rank >= 3 and a second dimension >= 2",
            Layout::BroadcastLast => "rank >= 2 and a last dimension >= 2",
            Layout::Scalar => "rank >= 1 and at least 2 elements",
            Layout::View(_) => "the view's rank, and 2 elements or more of each dimension that repeats",
        }
    }

    /// The recipe for a view of logical `shape`; `None` when the layout is impossible for it (see [`Layout::needs`]).
    pub fn plan(self, shape: &[usize]) -> Option<ViewPlan> {
        let rank = shape.len();
        let mut base_shape = shape.to_vec();
        let steps = match self {
            Layout::Contiguous => vec![],
            Layout::Offset => {
                *base_shape.first_mut()? += 1;
                vec![ViewStep::Narrow {
                    dim: 0,
                    start: 1,
                    len: shape[0],
                }]
            }
            Layout::Transposed if rank >= 2 => {
                base_shape.swap(rank - 2, rank - 1);
                vec![ViewStep::Transpose(rank - 2, rank - 1)]
            }
            Layout::Reversed if rank >= 3 => {
                base_shape.reverse();
                vec![ViewStep::Permute((0..rank).rev().collect())]
            }
            Layout::Rotated if rank >= 3 => {
                base_shape.rotate_right(1);
                vec![ViewStep::Permute((1..rank).chain([0]).collect())]
            }
            Layout::Sliced if rank >= 2 => {
                // One element is cut off at the start and two at the end: rows have gaps of 3 elements.
                base_shape[rank - 1] += 3;
                vec![ViewStep::Narrow {
                    dim: rank - 1,
                    start: 1,
                    len: shape[rank - 1],
                }]
            }
            Layout::Cropped if rank >= 1 => {
                // One at the start and one at the end of each dimension.
                base_shape.iter_mut().for_each(|extent| *extent += 2);
                windows(shape, |_| true)
            }
            Layout::Ones if shape.contains(&1) => {
                base_shape
                    .iter_mut()
                    .filter(|extent| **extent == 1)
                    .for_each(|extent| *extent = 3);
                windows(shape, |extent| extent == 1)
            }
            Layout::Stepped if rank >= 1 => {
                base_shape.push(2);
                vec![
                    ViewStep::Narrow {
                        dim: rank,
                        start: 1,
                        len: 1,
                    },
                    ViewStep::Squeeze(rank),
                ]
            }
            Layout::Broadcast if rank >= 1 && shape[0] >= 2 => {
                base_shape[0] = 1;
                vec![ViewStep::BroadcastAs(shape.to_vec())]
            }
            Layout::BroadcastOne if rank >= 1 && shape[0] == 1 => {
                base_shape.remove(0);
                vec![ViewStep::BroadcastAs(shape.to_vec())]
            }
            Layout::BroadcastMiddle if rank >= 3 && shape[1] >= 2 => {
                base_shape[1] = 1;
                vec![ViewStep::BroadcastAs(shape.to_vec())]
            }
            Layout::BroadcastLast if rank >= 2 && shape[rank - 1] >= 2 => {
                base_shape[rank - 1] = 1;
                vec![ViewStep::BroadcastAs(shape.to_vec())]
            }
            Layout::Scalar if rank >= 1 && shape.iter().product::<usize>() >= 2 => {
                base_shape.clear();
                vec![ViewStep::BroadcastAs(shape.to_vec())]
            }
            Layout::View(view) => return view.plan(shape),
            Layout::Transposed
            | Layout::Reversed
            | Layout::Rotated
            | Layout::Sliced
            | Layout::Cropped
            | Layout::Ones
            | Layout::Stepped
            | Layout::Broadcast
            | Layout::BroadcastOne
            | Layout::BroadcastMiddle
            | Layout::BroadcastLast
            | Layout::Scalar => return None,
        };
        Some(ViewPlan { base_shape, steps })
    }
}

/// A window, one from the start, of each dimension that `of` picks by its extent.
fn windows(shape: &[usize], of: impl Fn(usize) -> bool) -> Vec<ViewStep> {
    let picked = shape.iter().enumerate().filter(|(_, extent)| of(**extent));
    let window = picked.map(|(dim, &len)| ViewStep::Narrow { dim, start: 1, len });
    window.collect()
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Layout::View(view) => view.fmt(f),
            named => f.pad(named.name()),
        }
    }
}

impl std::str::FromStr for Layout {
    type Err = UnknownName;

    fn from_str(s: &str) -> Result<Self, UnknownName> {
        if s.starts_with("view(") {
            return s.parse().map(Layout::View);
        }
        let layout = Layout::ALL.into_iter().find(|layout| layout.name() == s);
        layout.ok_or_else(|| UnknownName {
            what: "layout",
            name: s.to_owned(),
        })
    }
}

/// Extents, strides and start of a view, in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Extent of each dimension.
    pub dims: Vec<usize>,
    /// Elements between neighbours along each dimension; 0 where it repeats.
    pub strides: Vec<usize>,
    /// Elements of the storage before the first.
    pub offset: usize,
}

impl Strided {
    fn contiguous(shape: &[usize]) -> Self {
        let mut strides = vec![1; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = strides[d] * shape[d];
        }
        Strided {
            dims: shape.to_vec(),
            strides,
            offset: 0,
        }
    }

    /// Whether the elements follow one another in row-major order, wherever the first is; the stride of an extent of 1
    /// counts for nothing.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.dims.iter().zip(&self.strides).rev().all(|(dim, stride)| {
            let follows = *dim == 1 || *stride == expected;
            expected *= dim;
            follows
        })
    }

    fn apply(&mut self, step: &ViewStep) {
        match step {
            ViewStep::Transpose(a, b) => {
                self.dims.swap(*a, *b);
                self.strides.swap(*a, *b);
            }
            ViewStep::Permute(order) => {
                self.dims = order.iter().map(|&d| self.dims[d]).collect();
                self.strides = order.iter().map(|&d| self.strides[d]).collect();
            }
            ViewStep::Narrow { dim, start, len } => {
                self.offset += start * self.strides[*dim];
                self.dims[*dim] = *len;
            }
            ViewStep::Squeeze(dim) => {
                self.dims.remove(*dim);
                self.strides.remove(*dim);
            }
            ViewStep::BroadcastAs(shape) => {
                let new = shape.len() - self.dims.len();
                let strides = (0..shape.len()).map(|d| match d.checked_sub(new) {
                    Some(old) if self.dims[old] == shape[d] => self.strides[old],
                    Some(_) | None => 0,
                });
                self.strides = strides.collect();
                self.dims.clone_from(shape);
            }
        }
    }
}

impl ViewPlan {
    /// Where the view's elements lie in the tensor underneath.
    pub fn strided(&self) -> Strided {
        let mut view = Strided::contiguous(&self.base_shape);
        self.steps.iter().for_each(|step| view.apply(step));
        view
    }

    /// The logical tensor as a contiguous copy.
    ///
    /// # Panics
    /// When `base` does not have `base_shape`, which no tensor from [`crate::case::Case::inputs`] does.
    pub fn gather(&self, base: &HostTensor) -> HostTensor {
        assert_eq!(
            base.shape, self.base_shape,
            "a base tensor has the plan's base shape"
        );
        let view = self.strided();
        let bytes = match base.dtype.size() {
            1 => gathered::<1>(&view, &base.bytes),
            2 => gathered::<2>(&view, &base.bytes),
            4 => gathered::<4>(&view, &base.bytes),
            _ => gathered::<8>(&view, &base.bytes),
        };
        HostTensor {
            dtype: base.dtype,
            shape: view.dims,
            bytes,
        }
    }
}

/// The elements of `SIZE` bytes that a view shows, row-major.
fn gathered<const SIZE: usize>(view: &Strided, base: &[u8]) -> Vec<u8> {
    let base = base.as_chunks::<SIZE>().0;
    let count = view.dims.iter().product();
    let mut elements = Vec::with_capacity(count);
    let mut index = vec![0; view.dims.len()];
    let mut at = view.offset;
    for _ in 0..count {
        elements.push(base[at]);
        // Odometer: step the last dimension, carry into the ones before it.
        for d in (0..index.len()).rev() {
            index[d] += 1;
            at += view.strides[d];
            if index[d] < view.dims[d] {
                break;
            }
            at -= index[d] * view.strides[d];
            index[d] = 0;
        }
    }
    elements.into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    /// The element of `base` that logical `index` shows, worked out from the layout's meaning and not from its steps.
    fn expected_index(layout: Layout, shape: &[usize], index: &[usize]) -> Vec<usize> {
        let mut at = index.to_vec();
        let last = shape.len().saturating_sub(1);
        match layout {
            Layout::Contiguous => {}
            Layout::Offset => at[0] += 1,
            Layout::Transposed => at.swap(last - 1, last),
            Layout::Reversed => at.reverse(),
            Layout::Rotated => at.rotate_right(1),
            Layout::Sliced => at[last] += 1,
            Layout::Cropped => at.iter_mut().for_each(|i| *i += 1),
            Layout::Ones => (0..shape.len())
                .filter(|d| shape[*d] == 1)
                .for_each(|d| at[d] = 1),
            Layout::Stepped => at.push(1),
            Layout::Broadcast => at[0] = 0,
            Layout::BroadcastOne => drop(at.remove(0)),
            Layout::BroadcastMiddle => at[1] = 0,
            Layout::BroadcastLast => at[last] = 0,
            Layout::Scalar => at.clear(),
            Layout::View(_) => unreachable!("the list of words has no view"),
        }
        at
    }

    fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
        let mut index = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            index[d] = flat % shape[d];
            flat /= shape[d];
        }
        index
    }

    #[test]
    fn gather_agrees_with_brute_force_for_every_layout() {
        let ten = [2, 1, 2, 1, 3, 1, 2, 1, 1, 2];
        let shapes: [&[usize]; 8] = [
            &[],
            &[5],
            &[2, 3],
            &[1, 4],
            &[2, 3, 4],
            &[3, 1, 2, 2],
            &[0, 3],
            &ten,
        ];
        let mut checked = 0;
        for layout in Layout::ALL {
            for shape in shapes {
                let Some(plan) = layout.plan(shape) else { continue };
                let count: usize = plan.base_shape.iter().product();
                let bytes = (0..count as i32).flat_map(i32::to_le_bytes).collect();
                let base = HostTensor {
                    dtype: DType::I32,
                    shape: plan.base_shape.clone(),
                    bytes,
                };
                let view = plan.gather(&base);
                assert_eq!(view.shape, shape, "{layout} {shape:?}");
                assert_eq!(view.bytes.len(), view.len() * 4, "{layout} {shape:?}");
                for flat in 0..view.len() {
                    let at = expected_index(layout, shape, &unravel(flat, shape));
                    let mut base_flat = 0;
                    for (d, i) in at.iter().enumerate() {
                        base_flat = base_flat * plan.base_shape[d] + i;
                    }
                    assert_eq!(
                        view.bits(flat),
                        base_flat as u64,
                        "{layout} {shape:?} element {flat}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(
            checked > 300,
            "the shapes above exercise the layouts: {checked} elements"
        );
    }

    #[test]
    fn a_view_is_contiguous_where_its_elements_follow_one_another() {
        let contiguous =
            |layout: Layout, shape: &[usize]| layout.plan(shape).unwrap().strided().is_contiguous();
        for (layout, shape) in [
            (Layout::Contiguous, &[2, 3][..]),
            (Layout::Offset, &[2, 3]),
            (Layout::Transposed, &[5, 1]),
            (Layout::Ones, &[1, 3]),
            (Layout::BroadcastOne, &[1, 3]),
        ] {
            assert!(contiguous(layout, shape), "{layout} {shape:?}");
        }
        for (layout, shape) in [
            (Layout::Transposed, &[2, 3][..]),
            (Layout::Stepped, &[4]),
            (Layout::Sliced, &[2, 3]),
            (Layout::Broadcast, &[2, 3]),
            (Layout::Ones, &[3, 1]),
        ] {
            assert!(!contiguous(layout, shape), "{layout} {shape:?}");
        }
    }

    #[test]
    fn a_layout_that_a_shape_cannot_have_is_none() {
        for (layout, shape) in [
            (Layout::Offset, &[][..]),
            (Layout::Stepped, &[]),
            (Layout::Transposed, &[4]),
            (Layout::Sliced, &[4]),
            (Layout::Reversed, &[2, 3]),
            (Layout::Rotated, &[2, 3]),
            (Layout::Cropped, &[]),
            (Layout::Ones, &[2, 3]),
            (Layout::BroadcastMiddle, &[2, 1, 3]),
            (Layout::BroadcastOne, &[2, 1, 3]),
            (Layout::Broadcast, &[1, 3]),
            (Layout::BroadcastLast, &[3, 1]),
            (Layout::Scalar, &[1]),
        ] {
            assert_eq!(layout.plan(shape), None, "{layout} {shape:?}");
        }
    }

    #[test]
    fn names_parse_back() {
        for layout in Layout::ALL {
            assert_eq!(layout.name().parse(), Ok(layout));
        }
    }
}
