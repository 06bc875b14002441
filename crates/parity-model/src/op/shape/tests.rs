//! The shape rules, each in an example and in a breach.

use super::*;
use crate::op::Terms;
use crate::op::formats::BlockFormat::{F16, Q4_0, Q6K};
use crate::op::{
    Binary, Cast, Conv, Copies, Indexing, Layers, Matmul, Nn, Pool, Quantized, Random, Reduce, Sort, Unary,
    Upsample, Where,
};

fn output(op: impl Into<Op>, params: &[f64], shapes: &[&[usize]]) -> Result<Vec<usize>, String> {
    infer(op.into(), params, shapes).map(|shapes| shapes.output)
}

#[track_caller]
fn gives(op: impl Into<Op>, params: &[f64], shapes: &[&[usize]], want: &[usize]) {
    assert_eq!(output(op, params, shapes).as_deref(), Ok(want));
}

#[track_caller]
fn breaks(op: impl Into<Op>, params: &[f64], shapes: &[&[usize]], why: &str) {
    let message = output(op, params, shapes).unwrap_err();
    assert!(message.contains(why), "{message}");
}

#[test]
fn outputs_have_the_shapes_the_definitions_give_them() {
    gives(Unary::Exp, &[], &[&[2, 3]], &[2, 3]);
    gives(Binary::Add, &[], &[&[2, 3], &[2, 3]], &[2, 3]);
    gives(Cast::ToU8, &[], &[&[]], &[]);
    gives(Where::WhereCond, &[], &[&[4], &[4], &[4]], &[4]);
    gives(Reduce::Sum, &[0.0, 2.0], &[&[2, 3, 4]], &[3]);
    gives(Reduce::Sum, &[0.0], &[&[0, 3]], &[3]);
    gives(Reduce::ArgMax, &[1.0], &[&[2, 3]], &[2]);
    gives(Indexing::IndexSelect, &[1.0], &[&[2, 3], &[7]], &[2, 7]);
    gives(Indexing::Gather, &[1.0], &[&[2, 3], &[1, 7]], &[1, 7]);
    gives(Indexing::Scatter, &[0.0], &[&[5, 3], &[2, 3], &[2, 3]], &[5, 3]);
    gives(Indexing::IndexAdd, &[0.0], &[&[5, 3], &[2], &[2, 3]], &[5, 3]);
    gives(Matmul::Matmul, &[], &[&[6, 2, 3], &[6, 3, 4]], &[6, 2, 4]);
    gives(
        Conv::Conv1d,
        &[1.0, 2.0, 1.0, 2.0],
        &[&[2, 4, 9], &[6, 2, 3]],
        &[2, 6, 5],
    );
    gives(
        Conv::ConvTranspose1d,
        &[1.0, 1.0, 2.0, 1.0, 1.0],
        &[&[2, 4, 5], &[4, 3, 3]],
        &[2, 3, 10],
    );
    gives(
        Conv::Conv2d,
        &[0.0, 1.0, 2.0, 1.0],
        &[&[1, 2, 9, 7], &[3, 2, 3, 2]],
        &[1, 3, 5, 5],
    );
    gives(
        Conv::ConvTranspose2d,
        &[0.0, 0.0, 2.0, 1.0],
        &[&[1, 2, 3, 3], &[2, 4, 2, 3]],
        &[1, 4, 6, 7],
    );
    gives(
        Pool::MaxPool2d,
        &[2.0, 3.0, 2.0, 1.0],
        &[&[1, 2, 7, 7]],
        &[1, 2, 3, 5],
    );
    gives(Upsample::Nearest1d, &[9.0], &[&[1, 2, 4]], &[1, 2, 9]);
    gives(
        Upsample::Bilinear2d,
        &[5.0, 6.0, 1.0],
        &[&[1, 2, 3, 3]],
        &[1, 2, 5, 6],
    );
    gives(Copies::Cat, &[1.0], &[&[2, 3], &[2, 4]], &[2, 7]);
    gives(Copies::PadZeros, &[0.0, 1.0, 2.0], &[&[2, 3]], &[5, 3]);
    gives(Sort::ArgSortAsc, &[], &[&[2, 0]], &[2, 0]);
    gives(Nn::LayerNorm, &[1e-5], &[&[2, 8], &[8], &[8]], &[2, 8]);
    gives(
        Nn::RopeThd,
        &[],
        &[&[1, 5, 2, 8], &[5, 4], &[5, 4]],
        &[1, 5, 2, 8],
    );
    gives(Quantized::Dequantize(Q4_0), &[], &[&[3, 64]], &[3, 64]);
    gives(
        Quantized::Qmatmul(Q6K),
        &[],
        &[&[2, 9, 256], &[5, 256]],
        &[2, 9, 5],
    );
    gives(Quantized::Embedding(F16), &[], &[&[5, 7], &[2, 3]], &[2, 3, 7]);
}

#[test]
fn a_broken_rule_is_named() {
    breaks(Binary::Add, &[], &[&[2], &[3]], "same logical shape");
    breaks(Reduce::Max, &[2.0], &[&[2, 3]], "[2,3] has no dimension 2");
    breaks(
        Reduce::Max,
        &[0.5],
        &[&[2, 3]],
        "a whole number as `dim`, not 0.5",
    );
    breaks(Reduce::Sum, &[1.0, 1.0], &[&[2, 3]], "named once each");
    breaks(Reduce::Max, &[0.0], &[&[0, 3]], "extreme of nothing");
    breaks(Indexing::IndexSelect, &[0.0], &[&[2], &[2, 2]], "`ids` has 1");
    breaks(Indexing::Gather, &[0.0], &[&[2, 3], &[2, 4]], "no longer");
    breaks(Indexing::Gather, &[0.0], &[&[0, 3], &[2, 3]], "point at");
    breaks(
        Matmul::Matmul,
        &[],
        &[&[2, 3], &[2, 3]],
        "go by [.., m, k] [.., k, n]",
    );
    breaks(
        Conv::Conv1d,
        &[0.0, 0.0, 1.0, 1.0],
        &[&[1, 1, 3], &[1, 1, 1]],
        "`stride` must not be 0",
    );
    breaks(
        Conv::Conv1d,
        &[0.0, 1.0, 1.0, 1.0],
        &[&[1, 1, 3], &[1, 1, 4]],
        "fits into the padded input",
    );
    breaks(
        Pool::AvgPool2d,
        &[4.0, 1.0, 1.0, 1.0],
        &[&[1, 1, 3, 3]],
        "window fits",
    );
    breaks(Copies::SliceSet, &[0.0, 2.0], &[&[3], &[2]], "inside the first");
    breaks(Copies::Fill, &[7.0, 0.0, 2.0, 2.0], &[&[3]], "slices lie inside");
    breaks(Sort::SortAsc, &[], &[&[]], "go by [.., n]");
    breaks(
        Nn::Rope,
        &[],
        &[&[1, 1, 2, 3], &[2, 1], &[2, 1]],
        "go by [b, h, t, 2d]",
    );
    breaks(
        Quantized::Dequantize(Q6K),
        &[],
        &[&[3, 64]],
        "whole blocks of 256",
    );
    breaks(
        Quantized::Qmatmul(Q4_0),
        &[],
        &[&[2, 64], &[5, 32]],
        "go by [.., m, k] [n, k]",
    );
    breaks(
        Quantized::Qmatmul(Q4_0),
        &[],
        &[&[2, 32], &[1, 5, 32]],
        "go by [.., m, k] [n, k]",
    );
    breaks(Quantized::Embedding(F16), &[], &[&[0, 7], &[1]], "point at");
}

#[test]
fn ids_are_bounded_by_the_dimension_they_point_into() {
    let bound = |op: Indexing, shapes: &[&[usize]]| infer(op.into(), &[1.0], shapes).map(|found| found.bound);
    assert_eq!(bound(Indexing::IndexSelect, &[&[2, 3], &[7]]), Ok(Some(3)));
    assert_eq!(
        bound(Indexing::Scatter, &[&[2, 3], &[2, 9], &[2, 9]]),
        Ok(Some(3))
    );
    let rows = infer(Quantized::Embedding(F16).into(), &[], &[&[5, 7], &[2, 3]]);
    assert_eq!(rows.map(|found| found.bound), Ok(Some(5)));
    assert_eq!(
        infer(Unary::Exp.into(), &[], &[&[2]]).map(|found| found.bound),
        Ok(None)
    );
}

#[test]
fn views_give_their_shapes() {
    gives(Copies::Narrow, &[1.0, 2.0, 3.0], &[&[4, 5]], &[4, 3]);
    gives(Copies::Index, &[1.0, 2.0, 3.0], &[&[4, 5]], &[4, 1]);
    gives(Copies::GetOnDim, &[0.0, 3.0], &[&[4, 5]], &[5]);
    gives(Copies::Transpose, &[0.0, 2.0], &[&[2, 3, 4]], &[4, 3, 2]);
    gives(Copies::Permute, &[2.0, 0.0, 1.0], &[&[2, 3, 4]], &[4, 2, 3]);
    gives(Copies::Squeeze, &[1.0], &[&[2, 1, 4]], &[2, 4]);
    gives(Copies::Squeeze, &[0.0], &[&[2, 1, 4]], &[2, 1, 4]);
    gives(Copies::Unsqueeze, &[2.0], &[&[2, 3]], &[2, 3, 1]);
    gives(Copies::Flatten, &[1.0, 2.0], &[&[2, 3, 4, 5]], &[2, 12, 5]);
    gives(Copies::Reshape, &[3.0, 4.0], &[&[2, 6]], &[3, 4]);
    gives(Copies::BroadcastAs, &[4.0, 2.0, 3.0], &[&[2, 1]], &[4, 2, 3]);
    gives(Copies::Arange, &[0.0, 1.0, 0.25], &[&[4]], &[4]);
}

#[test]
fn layers_give_their_shapes() {
    gives(Layers::Linear, &[], &[&[2, 5, 3], &[4, 3], &[4]], &[2, 5, 4]);
    gives(
        Layers::Conv1dBias,
        &[1.0, 1.0, 1.0, 2.0],
        &[&[1, 4, 7], &[6, 2, 3], &[6]],
        &[1, 6, 7],
    );
    gives(Layers::Embedding, &[], &[&[5, 7], &[2, 3]], &[2, 3, 7]);
    gives(
        Layers::GroupNorm,
        &[2.0, 1e-5],
        &[&[2, 4, 3], &[4], &[4]],
        &[2, 4, 3],
    );
    gives(
        Layers::Attention,
        &[0.0],
        &[&[1, 2, 3, 4], &[1, 2, 5, 4], &[1, 2, 5, 6]],
        &[1, 2, 3, 6],
    );
    gives(Layers::CrossEntropy, &[], &[&[3, 8], &[3]], &[]);
    gives(
        Layers::GruStep,
        &[],
        &[&[2, 3], &[2, 4], &[12, 3], &[12, 4], &[12], &[12]],
        &[2, 4],
    );
    gives(Random::Uniform, &[0.0, 1.0], &[&[3]], &[2, 3]);
}

#[test]
fn a_broken_rule_of_a_view_or_a_layer_is_named() {
    breaks(Copies::Narrow, &[1.0, 4.0, 2.0], &[&[4, 5]], "inside");
    breaks(Copies::Index, &[0.0, 2.0, 2.0], &[&[4, 5]], "not empty");
    breaks(Copies::GetOnDim, &[0.0, 4.0], &[&[4, 5]], "such a slice");
    breaks(Copies::Permute, &[0.0, 0.0], &[&[2, 3]], "named once");
    breaks(Copies::Reshape, &[5.0], &[&[2, 3]], "as many elements");
    breaks(Copies::BroadcastAs, &[3.0], &[&[2]], "be repeated");
    breaks(Copies::Eye, &[], &[&[2, 3]], "square");
    breaks(
        Copies::Arange,
        &[0.0, 1.0, 0.0],
        &[&[4]],
        "there are [inf] numbers",
    );
    breaks(
        Layers::Linear,
        &[],
        &[&[2, 3], &[4, 5], &[4]],
        "go by [.., m, k] [n, k] [n]",
    );
    breaks(
        Layers::GroupNorm,
        &[3.0, 1e-5],
        &[&[2, 4, 3], &[4], &[4]],
        "divide",
    );
    breaks(
        Layers::Attention,
        &[1.0],
        &[&[1, 2, 3, 4], &[1, 2, 5, 4], &[1, 2, 5, 6]],
        "as many queries as keys",
    );
    breaks(Layers::Mse, &[], &[&[3], &[4]], "go by [..+] [..+]");
    breaks(Random::Uniform, &[1.0, 1.0], &[&[3]], "below");
    breaks(
        Random::NormalSeeded,
        &[0.0, 1.0, 0.5],
        &[&[3]],
        "a whole number as `seed`",
    );
}

#[test]
fn the_patterns_of_a_rule_are_known_and_make_shapes_that_it_takes() {
    let count = |op: Op| patterns(op).len();
    assert_eq!(count(Matmul::Mv.into()), 1);
    assert_eq!(
        count(Nn::Rope.into()),
        2,
        "angles for all of the batch, or for each of it"
    );
    assert_eq!(count(Layers::Attention.into()), 1);
    assert_eq!(count(Unary::Exp.into()), 0, "its rule is written in another way");
    assert_eq!(count(Op::Broadcast(Binary::Add)), 0);
    assert_eq!(count(Op::Grad(Op::from(Matmul::Mv).gradient().unwrap())), 0);
    for op in Op::ALL {
        for pattern in patterns(*op) {
            let shapes = pattern.shapes(|_| 2, &[]);
            let slices: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
            let params = vec![0.0; op.params().len()];
            assert!(infer(*op, &params, &slices).is_ok(), "{op}: {shapes:?}");
        }
    }
}

#[test]
fn sums_say_that_their_terms_have_no_order() {
    let terms = |op: &str| op.parse::<Op>().unwrap().terms();
    for op in [
        "sum_all",
        "matmul",
        "avg_pool2d",
        "softmax",
        "qmatmul_q4_0",
        "grad_exp",
        "grad_broadcast_add",
    ] {
        assert_eq!(terms(op), Terms::Unordered, "{op}");
    }
    for op in ["scatter_add", "index_add", "rope", "swiglu"] {
        assert_eq!(terms(op), Terms::Ordered, "{op}");
    }
    for op in [
        "exp",
        "broadcast_add",
        "max_keepdim",
        "max_pool2d",
        "gather",
        "dequantize_q4_0",
        "sort_asc",
    ] {
        assert_eq!(terms(op), Terms::One, "{op}");
    }
}
