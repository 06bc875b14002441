//! Ops that move, repeat or set elements. How they are computed is not said here.

use super::ops;

ops! {
    /// Elements moved, repeated or set, unchanged.
    pub enum Copies;

    /// The elements, row-major.
    Copy "copy" (x: Data) on ANY, grad on WIDE: "w.";
    /// Both arguments one after the other along the dimension.
    Cat "cat" ["dim"] (a: Data, b: Data) on ANY, grad on WIDE: "The part of w that is the argument's.";
    /// The first argument with the second written over its slices from `offset` on.
    SliceSet "slice_set" ["dim", "offset"] (x: Data, source: Data) on ANY;
    /// A copy of the argument whose slices from `start` on along the dimension were set to `value`,
    /// converted to the dtype as Rust's `as` does.
    Fill "fill" ["value", "dim", "start", "len"] (x: Data) on ANY;
    /// Zeros before and after along the dimension.
    PadZeros "pad_with_zeros" ["dim", "left", "right"] (x: Data) on ANY,
        grad on WIDE: "w without the padding.";
    /// The first slice repeated before, the last one after along the dimension.
    PadSame "pad_with_same" ["dim", "left", "right"] (x: Data) on ANY,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// Both arguments as the two slices of a new dimension.
    Stack "stack" ["dim"] (a: Data, b: Data) on ANY, grad on WIDE: "The slice of w that is the argument's.";
    /// The first argument with the second in the place of its slices from `start` on, as a new tensor.
    SliceScatter "slice_scatter" ["dim", "start"] (x: Data, source: Data) on ANY,
        grad on WIDE: "w where the argument's elements are, 0 where they were written over.";
    /// The tensor beside itself, as often as is said for each dimension.
    Repeat "repeat" ["times.."] (x: Data) on ANY,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// The slices along the dimensions in reverse order.
    Flip "flip" ["dims.."] (x: Data) on ANY, grad on F32_F64: "w with the slices in reverse order.";
    /// out[(i + shift) mod n] = x[i] along the dimension.
    Roll "roll" ["shift", "dim"] (x: Data) on ANY, grad on WIDE: "w rolled back.";
    /// Windows of `size` along the dimension, each `step` after the one before, as a new last dimension.
    Unfold "unfold" ["dim", "size", "step"] (x: Data) on ANY,
        grad on F32_F64: "The sum of w over the windows that hold the element.";
    /// One of the chunks along the dimension; the first ones are one longer where they cannot all be alike.
    Chunk "chunk" ["chunks", "dim", "which"] (x: Data) on ANY, grad on WIDE: "w in the chunk, 0 elsewhere.";
    /// [b, c f f, h, w] to [b, c, h f, w f]: out[c, h f + i, w f + j] = x[c f f + i f + j, h, w].
    PixelShuffle "pixel_shuffle" ["factor"] (x: Data) on ANY, grad on WIDE: "w unshuffled.";
    /// The inverse of `pixel_shuffle`.
    PixelUnshuffle "pixel_unshuffle" ["factor"] (x: Data) on ANY, grad on WIDE: "w shuffled.";
    /// The edges of the last two of four dimensions repeated, by one element or by none.
    ReplicationPad2d "replication_pad2d" ["pad"] (x: Data) on ANY,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// The slices from `start` on along the dimension.
    Narrow "narrow" ["dim", "start", "len"] (x: Data) on ANY,
        grad on WIDE: "w in the slices from `start` on, 0 elsewhere.";
    /// As `narrow`, by the range of the index operator.
    Index "i" ["dim", "start", "end"] (x: Data) on ANY;
    /// One slice along the dimension, without it.
    GetOnDim "get_on_dim" ["dim", "index"] (x: Data) on ANY, grad on WIDE: "w in the slice, 0 elsewhere.";
    /// Two dimensions swapped.
    Transpose "transpose" ["dim1", "dim2"] (x: Data) on ANY,
        grad on WIDE: "w with the dimensions swapped back.";
    /// The dimensions in the order given.
    Permute "permute" ["dims.."] (x: Data) on ANY;
    /// Without a dimension of extent 1; the same where its extent is another.
    Squeeze "squeeze" ["dim"] (x: Data) on ANY;
    /// With a new dimension of extent 1.
    Unsqueeze "unsqueeze" ["dim"] (x: Data) on ANY;
    /// The dimensions from `first` to `last` as one, row-major.
    Flatten "flatten" ["first", "last"] (x: Data) on ANY;
    /// The elements, row-major, under another shape.
    Reshape "reshape" ["dims.."] (x: Data) on ANY, grad on WIDE: "w in the shape of x.";
    /// The tensor repeated along dimensions that it lacks, or has with extent 1.
    BroadcastAs "broadcast_as" ["dims.."] (x: Data) on ANY,
        grad on F32_F64: "The sum of w of the copies of the element.";
    /// The first argument with the second in the place of its elements from one start in each dimension on.
    SliceAssign "slice_assign" ["starts.."] (x: Data, source: Data) on ANY,
        grad on WIDE: "By the first argument: w where its elements are, 0 where they were written over.";
    /// What a cache of candle-nn's for `size` slices holds after both were appended: one after the other,
    /// grown where they do not fit.
    KvCache "kv_cache" ["dim", "size"] (x: Data, next: Data) on ANY;
    /// What appending the second returns: the last `size` slices, slice i of all that came at place i mod
    /// `size`; the second itself where it is as long as the cache.
    RotatingKvCache "rotating_kv_cache" ["dim", "size"] (x: Data, next: Data) on ANY;
    /// One of the two grids of two lists: [m, n], or [n, m] with `xy` 1.
    Meshgrid "meshgrid" ["xy", "which"] (a: Data, b: Data) on ANY;
    /// `value` everywhere, converted to the dtype as Rust's `as` does; the argument lends its shape and
    /// dtype.
    Full "full" ["value"] (x: Data) on ANY;
    /// Zeros; the argument lends its shape and dtype.
    Zeros "zeros" (x: Data) on ANY;
    /// Ones; the argument lends its shape and dtype.
    Ones "ones" (x: Data) on ANY;
    /// Ones on the diagonal, zeros elsewhere; the argument, [n, n], lends its shape and dtype.
    Eye "eye" (x: Data) on ANY;
    /// Ones on and below the diagonal, zeros above; the argument, [n, n], lends its shape and dtype.
    Tril "tril2" (x: Data) on ANY;
    /// Ones on and above the diagonal, zeros below; the argument, [n, n], lends its shape and dtype.
    Triu "triu2" (x: Data) on ANY;
    /// start + i step below `end`, or above it where the step is negative, rounded once; all three
    /// converted to the dtype first, and the argument lends its shape and dtype.
    Arange "arange_step" ["start", "end", "step"] (x: Data) on ANY;
    /// For each id a row of `depth` numbers: the second of the data where the id is, the first elsewhere.
    OneHot "one_hot" ["depth"] (values: Data, ids: Index) on ANY;
}
