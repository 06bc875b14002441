//! Calls of ops on images: convolutions, pools, interpolation.

use parity_model::Op;
use parity_model::op::shape::infer;

use super::ParamsAndShapes;
use super::params::number;
use crate::draw::Draw;

/// Whether the op is a convolution by its parameters: a family's own, or a layer that has one.
pub(super) fn convolves(op: Op) -> bool {
    op.params().contains(&"dilation") && !matches!(op, Op::Grad(_))
}

/// A convolution or a transposed one, of one dimension or two, which the op's rule tells; the third argument is a bias.
pub(super) fn conv(op: Op, draw: &mut Draw) -> ParamsAndShapes {
    let names = op.params();
    let first = draw.between(1, 2);
    let mut of = |dims| {
        let transposes = names.contains(&"output_padding");
        let (params, mut shapes) = match transposes {
            true => transposed(dims, names, draw),
            false => convolution(dims, names, draw),
        };
        if op.arity() > 2 {
            let groups = names.iter().position(|name| *name == "groups");
            let groups = groups.map_or(1, |place| params[place] as usize);
            shapes.push(vec![match transposes {
                true => shapes[1][1] * groups,
                false => shapes[1][0],
            }]);
        }
        (params, shapes)
    };
    let fits = |(params, shapes): &ParamsAndShapes| {
        let slices: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
        infer(op, params, &slices).is_ok()
    };
    let call = of(first);
    if fits(&call) { call } else { of(3 - first) }
}

/// The parameters of these names, of which `known` are drawn already.
fn with_known(names: &[&str], known: &[(&str, usize)], draw: &mut Draw) -> Vec<f64> {
    let param = |name: &&str| match known.iter().find(|(known, _)| known == name) {
        Some((_, value)) => *value as f64,
        None => number(name, &[], draw),
    };
    names.iter().map(param).collect()
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

fn convolution(dims: usize, names: &[&str], draw: &mut Draw) -> ParamsAndShapes {
    let (each, groups, out) = channels(draw);
    let (padding, dilation) = (whole("padding", draw), whole("dilation", draw));
    let kernel = kernel(dims, draw);
    let most = if dims == 1 { draw.budget.min(300) } else { 20 };
    let image = kernel.iter().map(|k| {
        let reach = dilation * (k - 1) + 1;
        reach.saturating_sub(2 * padding).max(1) + draw.below(most)
    });
    let image: Vec<usize> = image.collect();
    let x = [vec![batch(draw), each * groups], image].concat();
    let weights = [vec![out * groups, each], kernel].concat();
    let known = [("padding", padding), ("dilation", dilation), ("groups", groups)];
    (with_known(names, &known, draw), vec![x, weights])
}

fn transposed(dims: usize, names: &[&str], draw: &mut Draw) -> ParamsAndShapes {
    let (each, groups, out) = channels(draw);
    let groups = if names.contains(&"groups") { groups } else { 1 };
    let stride = whole("stride", draw);
    let known = [
        ("output_padding", draw.below(stride)),
        ("stride", stride),
        ("groups", groups),
    ];
    let kernel = kernel(dims, draw);
    let most = if dims == 1 { draw.budget.min(100) } else { 10 };
    let image: Vec<usize> = (0..dims).map(|_| draw.between(1, most)).collect();
    let x = [vec![batch(draw), each * groups], image].concat();
    let weights = [vec![each * groups, out], kernel].concat();
    (with_known(names, &known, draw), vec![x, weights])
}

fn whole(name: &str, draw: &mut Draw) -> usize {
    number(name, &[], draw) as usize
}

pub(super) fn pool(draw: &mut Draw) -> ParamsAndShapes {
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

pub(super) fn upsample(op: Op, draw: &mut Draw) -> ParamsAndShapes {
    let names = op.params();
    let dims = if names.contains(&"size") { 1 } else { 2 };
    let most = if dims == 1 { 260 } else { 30 };
    let image: Vec<usize> = (0..dims).map(|_| draw.positive(most)).collect();
    let size = |extent: usize, draw: &mut Draw| match draw.below(4) {
        0 => extent,
        1 => extent * draw.between(2, 4),
        _ => draw.positive(2 * most),
    };
    let params = names.iter().map(|name| match *name {
        "size" | "height" => size(image[0], draw) as f64,
        "width" => size(image[1], draw) as f64,
        name => number(name, &[], draw),
    });
    let params = params.collect();
    let x = [vec![batch(draw), draw.between(1, 3)], image].concat();
    (params, vec![x])
}
