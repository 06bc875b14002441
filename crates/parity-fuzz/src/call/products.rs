//! Calls of products of matrices, and of layers and losses.

use parity_model::op::{Layers, Matmul};

use super::{Call, eps, images, norm, rope, shorter};
use crate::draw::Draw;

/// Rows, columns and what is summed over; long ones at random places.
fn matrix(draw: &mut Draw) -> (usize, usize, usize) {
    let shape = draw.within(3, draw.budget.saturating_mul(8));
    let cap = |extent: usize| extent.min(2100);
    (cap(shape[0]), cap(shape[1]), cap(shape[2]))
}

fn batches(draw: &mut Draw) -> Vec<usize> {
    let count = *draw.pick(&[0, 0, 0, 1, 1, 2, 3]);
    (0..count).map(|_| draw.extent(4)).collect()
}

pub(super) fn matmul(op: Matmul, draw: &mut Draw) -> Call {
    let (m, k, n) = matrix(draw);
    let shapes = match op {
        Matmul::Matmul => {
            let batch = batches(draw);
            vec![
                [batch.as_slice(), &[m, k]].concat(),
                [batch.as_slice(), &[k, n]].concat(),
            ]
        }
        Matmul::BroadcastMatmul => {
            let batch = batches(draw);
            let (a, b) = (shorter(&batch, draw), shorter(&batch, draw));
            vec![[a.as_slice(), &[m, k]].concat(), [b.as_slice(), &[k, n]].concat()]
        }
        Matmul::Mv => vec![vec![m, k], vec![k]],
        Matmul::Dot => vec![vec![k], vec![k]],
    };
    (vec![], shapes)
}

pub(super) fn layers(op: Layers, draw: &mut Draw) -> Call {
    // Layers are many steps an element.
    draw.budget = draw.budget.min(2500);
    match op {
        Layers::Linear => {
            let (m, k, n) = matrix(draw);
            let x = [batches(draw), vec![m, k]].concat();
            (vec![], vec![x, vec![n, k], vec![n]])
        }
        Layers::Conv1dBias => biased(images::convolution(1, draw)),
        Layers::Conv2dBias => biased(images::convolution(2, draw)),
        Layers::ConvTranspose1dBias => {
            let call = images::transposed(1, true, draw);
            let groups = call.0[4] as usize;
            biased_by(call, |kernel| kernel[1] * groups)
        }
        Layers::ConvTranspose2dBias => biased_by(images::transposed(2, false, draw), |kernel| kernel[1]),
        Layers::Embedding => {
            let rank = draw.below(4);
            let table = draw.within(2, draw.budget);
            (
                vec![],
                vec![vec![table[0].max(1), table[1]], draw.within(rank, 60)],
            )
        }
        Layers::RmsNormSlow | Layers::RmsNormLayer => norm(1, draw),
        Layers::LayerNormSlow | Layers::LayerNormLayer => norm(2, draw),
        Layers::GroupNorm => {
            let (groups, each) = (draw.between(1, 4), draw.between(1, 4));
            let mut x = channelled(3, groups * each, draw);
            x.iter_mut().for_each(|extent| *extent = (*extent).max(1));
            let list = vec![groups * each];
            (vec![groups as f64, eps(draw)], vec![x, list.clone(), list])
        }
        Layers::BatchNormEval => {
            let channels = draw.between(1, 9);
            let list = vec![channels];
            let x = channelled(2, channels, draw);
            (
                vec![eps(draw)],
                vec![x, list.clone(), list.clone(), list.clone(), list],
            )
        }
        Layers::BatchNormTrain => {
            let channels = draw.between(1, 9);
            let list = vec![channels];
            let x = channelled(2, channels, draw);
            (vec![eps(draw)], vec![x, list.clone(), list])
        }
        Layers::RopeSlow | Layers::RopeISlow => {
            let (params, mut shapes) = rope(false, draw);
            for angles in &mut shapes[1..] {
                angles.drain(..angles.len() - 2);
            }
            (params, shapes)
        }
        Layers::Attention | Layers::Sdpa => {
            let (b, h) = (draw.between(1, 3), draw.between(1, 3));
            let (t, s, d, e) = (
                draw.positive(12),
                draw.positive(34),
                draw.positive(33),
                draw.positive(17),
            );
            let causal = draw.below(2);
            let s = if causal == 1 { t } else { s };
            (
                vec![causal as f64],
                vec![vec![b, h, t, d], vec![b, h, s, d], vec![b, h, s, e]],
            )
        }
        Layers::FlashAttention => {
            let (b, g, each) = (draw.between(1, 2), draw.between(1, 3), draw.between(1, 3));
            let (t, s, d) = (draw.positive(12), draw.positive(34), draw.positive(33));
            let causal = draw.below(2);
            let s = if causal == 1 { t } else { s };
            let key = vec![b, s, g, d];
            (
                vec![causal as f64],
                vec![vec![b, t, g * each, d], key.clone(), key],
            )
        }
        Layers::Nll | Layers::CrossEntropy => {
            let (n, c) = (draw.positive(65), draw.positive(34));
            (vec![], vec![vec![n, c], vec![n]])
        }
        Layers::Mse | Layers::BceWithLogit => {
            let shape = draw.full(0);
            (vec![], vec![shape.clone(), shape])
        }
        Layers::Huber => {
            let shape = draw.full(0);
            (
                vec![draw.number(&[1.0, 0.5, 2.0, 0.1])],
                vec![shape.clone(), shape],
            )
        }
        Layers::PRelu => {
            let channels = draw.between(1, 9);
            (vec![], vec![channelled(2, channels, draw), vec![channels]])
        }
        Layers::LstmStep => {
            let (b, i, h) = (draw.positive(9), draw.positive(17), draw.positive(17));
            let (state, gates) = (vec![b, h], vec![4 * h]);
            let weights = [vec![4 * h, i], vec![4 * h, h]];
            let [x, y] = weights;
            (
                vec![],
                vec![vec![b, i], state.clone(), state, x, y, gates.clone(), gates],
            )
        }
        Layers::GruStep => {
            let (b, i, h) = (draw.positive(9), draw.positive(17), draw.positive(17));
            let gates = vec![3 * h];
            (
                vec![],
                vec![
                    vec![b, i],
                    vec![b, h],
                    vec![3 * h, i],
                    vec![3 * h, h],
                    gates.clone(),
                    gates,
                ],
            )
        }
    }
}

fn biased(call: Call) -> Call {
    biased_by(call, |kernel| kernel[0])
}

/// The call with a bias for each channel of the output, which the kernel's shape says.
fn biased_by((params, mut shapes): Call, channels: impl Fn(&[usize]) -> usize) -> Call {
    let bias = vec![channels(&shapes[1])];
    shapes.push(bias);
    (params, shapes)
}

/// [b, c, ..] of `least` dimensions or more.
fn channelled(least: usize, channels: usize, draw: &mut Draw) -> Vec<usize> {
    let (beyond, batch) = (least - 2 + draw.below(3), draw.between(1, 5));
    let room = draw.budget / (channels * batch).max(1);
    let image = draw.within(beyond, room.max(1));
    let image = image.into_iter().map(|extent| extent.max(1));
    [batch, channels].into_iter().chain(image).collect()
}
