//! Calls of ops on images: convolutions, pools, interpolation.

use parity_model::op::{Conv, Upsample};

use super::Call;
use crate::draw::Draw;

pub(super) fn conv(op: Conv, draw: &mut Draw) -> Call {
    match op {
        Conv::Conv1d => convolution(1, draw),
        Conv::Conv2d => convolution(2, draw),
        Conv::ConvTranspose1d => transposed(1, true, draw),
        Conv::ConvTranspose2d => transposed(2, false, draw),
    }
}

/// Channels of each group, the groups, and the extents of the kernel.
fn channels(draw: &mut Draw) -> (usize, usize, usize) {
    let each = if draw.chance(15) {
        draw.between(15, 18)
    } else {
        draw.between(1, 5)
    };
    let groups = if draw.chance(60) { 1 } else { draw.between(2, 4) };
    let out = if draw.chance(10) {
        draw.between(15, 18)
    } else {
        draw.between(1, 5)
    };
    (each, groups, out)
}

fn kernel(dims: usize, draw: &mut Draw) -> Vec<usize> {
    (0..dims).map(|_| draw.between(1, 5)).collect()
}

/// The batch: one, few, none.
fn batch(draw: &mut Draw) -> usize {
    if draw.chance(2) && draw.empties {
        0
    } else {
        draw.between(1, 3)
    }
}

pub(super) fn convolution(dims: usize, draw: &mut Draw) -> Call {
    let (each, groups, out) = channels(draw);
    let (padding, stride) = (draw.below(4), draw.between(1, 3));
    let dilation = if draw.chance(60) { 1 } else { draw.between(2, 3) };
    let kernel = kernel(dims, draw);
    let most = if dims == 1 { draw.budget.min(300) } else { 20 };
    let image = kernel.iter().map(|k| {
        let reach = dilation * (k - 1) + 1;
        reach.saturating_sub(2 * padding).max(1) + draw.below(most)
    });
    let image: Vec<usize> = image.collect();
    let x = [vec![batch(draw), each * groups], image].concat();
    let weights = [vec![out * groups, each], kernel].concat();
    (
        vec![padding as f64, stride as f64, dilation as f64, groups as f64],
        vec![x, weights],
    )
}

pub(super) fn transposed(dims: usize, grouped: bool, draw: &mut Draw) -> Call {
    let (each, groups, out) = channels(draw);
    let groups = if grouped { groups } else { 1 };
    let (padding, stride) = (draw.below(3), draw.between(1, 3));
    let output_padding = draw.below(stride);
    let dilation = if draw.chance(60) { 1 } else { draw.between(2, 3) };
    let kernel = kernel(dims, draw);
    let most = if dims == 1 { draw.budget.min(100) } else { 10 };
    let image: Vec<usize> = (0..dims).map(|_| draw.between(1, most)).collect();
    let x = [vec![batch(draw), each * groups], image].concat();
    let weights = [vec![each * groups, out], kernel].concat();
    let mut params = vec![
        padding as f64,
        output_padding as f64,
        stride as f64,
        dilation as f64,
    ];
    if grouped {
        params.push(groups as f64);
    }
    (params, vec![x, weights])
}

pub(super) fn pool(draw: &mut Draw) -> Call {
    let kernel = kernel(2, draw);
    let strides: Vec<usize> = match draw.chance(50) {
        true => kernel.clone(),
        false => vec![draw.between(1, 4), draw.between(1, 4)],
    };
    let x = vec![
        batch(draw),
        draw.between(1, 4),
        kernel[0] + draw.below(30),
        kernel[1] + draw.below(30),
    ];
    let params = kernel.into_iter().chain(strides);
    (params.map(|n| n as f64).collect(), vec![x])
}

pub(super) fn upsample(op: Upsample, draw: &mut Draw) -> Call {
    let dims = match op {
        Upsample::Nearest1d => 1,
        Upsample::Nearest2d | Upsample::Bilinear2d | Upsample::BilinearScale => 2,
    };
    let most = if dims == 1 { 260 } else { 30 };
    let image: Vec<usize> = (0..dims).map(|_| draw.positive(most)).collect();
    let size = |extent: usize, draw: &mut Draw| match draw.below(4) {
        0 => extent,
        1 => extent * draw.between(2, 4),
        _ => draw.positive(2 * most),
    };
    let mut params: Vec<f64> = image.iter().map(|extent| size(*extent, draw) as f64).collect();
    match op {
        Upsample::Nearest1d | Upsample::Nearest2d => {}
        Upsample::Bilinear2d => params.push(draw.below(2) as f64),
        Upsample::BilinearScale => {
            let scales = [1.0, 1.5, 2.0, 2.5, 3.0, 1.25, 0.75, 0.5, 1.7];
            params = vec![draw.number(&scales), draw.number(&scales), draw.below(2) as f64];
        }
    }
    let x = [vec![batch(draw), draw.between(1, 3)], image].concat();
    (params, vec![x])
}
