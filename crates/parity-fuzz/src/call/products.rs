//! Calls of products of matrices, and of layers and losses.

use parity_model::op::{Layers, Matmul, Op};

use super::params::{named, number};
use super::{ParamsAndShapes, by_rule, shorter};
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

pub(super) fn matmul(op: Matmul, draw: &mut Draw) -> ParamsAndShapes {
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
        _ => {
            // Long sums.
            draw.budget = draw.budget.saturating_mul(8).min(17_000);
            return by_rule(op.into(), draw);
        }
    };
    (vec![], shapes)
}

/// The reaches of a window; -1 is all.
const REACHES: [f64; 5] = [-1.0, 0.0, 1.0, 3.0, 17.0];

pub(super) fn layers(op: Layers, draw: &mut Draw) -> ParamsAndShapes {
    // Layers are many steps an element.
    draw.budget = draw.budget.min(2500);
    let names = Op::from(op).params();
    match op {
        Layers::GroupNorm => {
            let (groups, each) = (draw.between(1, 4), draw.between(1, 4));
            let mut x = channelled(3, groups * each, draw);
            x.iter_mut().for_each(|extent| *extent = (*extent).max(1));
            let list = vec![groups * each];
            (
                vec![groups as f64, number("eps", &x, draw)],
                vec![x, list.clone(), list],
            )
        }
        Layers::BatchNormEval | Layers::BatchNormTrain | Layers::PRelu => {
            let channels = draw.between(1, 9);
            let x = channelled(2, channels, draw);
            let lists = vec![vec![channels]; Op::from(op).arity() - 1];
            (named(names, &x, draw), [vec![x], lists].concat())
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
        Layers::PagedAttention => {
            let (b, g, each) = (draw.between(1, 3), draw.between(1, 3), draw.between(1, 3));
            let (t, d, columns) = (draw.positive(20), draw.positive(33), draw.below(4));
            // A page has a power of two of positions.
            let key = vec![draw.positive(9), 1 << draw.below(6), g, d];
            let params = [0, 1].map(|_| draw.number(&REACHES)).to_vec();
            (
                params,
                vec![vec![b, t, g * each, d], key.clone(), key, vec![b, columns]],
            )
        }
        Layers::MoeGemm | Layers::MoeGemmWeighted => {
            let (rows, each, experts) = (draw.positive(20), draw.positive(4), draw.positive(6));
            // candle's kernel on CUDA loads eight elements at once.
            let (k, n) = (8 * draw.between(1, 9), draw.positive(40));
            let mut shapes = vec![vec![rows, k], vec![experts, n, k]];
            match op {
                Layers::MoeGemm => shapes.push(vec![rows, each]),
                _ => shapes.extend([vec![rows], vec![rows]]),
            }
            (vec![draw.below(2) as f64], shapes)
        }
        Layers::RopeAppend => {
            let (t, h, g) = (draw.below(40), draw.below(4), draw.below(4));
            let (d, rows) = (draw.positive(33), draw.positive(40));
            let key = vec![t, g, 2 * d];
            (
                vec![draw.below(2) as f64],
                vec![vec![t, h, 2 * d], key.clone(), key, vec![rows, d], vec![rows, d]],
            )
        }
        Layers::FlashWindowed | Layers::FlashAlibi => {
            let (b, g, each) = (draw.between(1, 2), draw.between(1, 3), draw.between(1, 3));
            let (t, s, d) = (draw.positive(20), draw.positive(34), draw.positive(33));
            let key = vec![b, s, g, d];
            let mut shapes = vec![vec![b, t, g * each, d], key.clone(), key];
            if op == Layers::FlashAlibi {
                shapes.push(vec![g * each]);
            }
            let mut params = [0, 1].map(|_| draw.number(&REACHES)).to_vec();
            if names.contains(&"softcap") {
                params.push(draw.number(&[0.0, 1.0, 5.0, 50.0]));
            }
            (params, shapes)
        }
        _ => by_rule(op.into(), draw),
    }
}

/// [b, c, ..] of `least` dimensions or more.
fn channelled(least: usize, channels: usize, draw: &mut Draw) -> Vec<usize> {
    let (beyond, batch) = (least - 2 + draw.below(3), draw.between(1, 5));
    let room = draw.budget / (channels * batch).max(1);
    let image = draw.within(beyond, room.max(1));
    let image = image.into_iter().map(|extent| extent.max(1));
    [batch, channels].into_iter().chain(image).collect()
}
