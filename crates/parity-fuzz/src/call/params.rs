//! Parameters by their names: the values that are worth a try.

use crate::draw::Draw;

/// Numbers for functions of one element.
const NUMBERS: [f64; 16] = [
    0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 0.1, -0.3, 1e-3, 10.0, 100.0, -7.25, 255.0, 1e6, -1e-6,
];

/// The small numbers that norms add. All are whole in f32, which candle's fused norms round them to.
const EPS: [f64; 4] = [0.000_015_258_789_062_5, 0.000_976_562_5, 1.0, 0.125];

/// Parameters of these names, for a first argument of this shape. Of a name that ends in `..` there is one or more, as dimensions in
/// ascending order.
pub(super) fn named(names: &[&str], x: &[usize], draw: &mut Draw) -> Vec<f64> {
    let mut params = vec![];
    for name in names {
        if name.ends_with("..") {
            let one = draw.below(x.len().max(1));
            let dims = (0..x.len()).filter(|dim| *dim == one || draw.chance(30));
            params.extend(dims.map(|dim| dim as f64).collect::<Vec<_>>());
        } else {
            params.push(number(name, x, draw));
        }
    }
    params
}

/// Whether one of the names is a dimension of the first argument.
pub(super) fn needs_dim(names: &[&str]) -> bool {
    names.iter().any(|name| name.starts_with("dim"))
}

/// One parameter of this name. A name that is not listed is a small number.
pub(super) fn number(name: &str, x: &[usize], draw: &mut Draw) -> f64 {
    match name {
        "dim" | "dim1" | "dim2" => draw.below(x.len().max(1)) as f64,
        "mul" | "add" | "min" | "max" | "value" | "number" => draw.number(&NUMBERS),
        "exponent" => draw.number(&[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, -0.5, -1.0, -2.0, 10.0, 0.25]),
        "alpha" => draw.number(&[1.0, 0.0, 0.5, -1.0, 2.0, 1e-3, 0.7]),
        "slope" => draw.number(&[0.01, 0.0, 0.3, 1.0, 2.0, -0.5]),
        "delta" => draw.number(&[1.0, 0.5, 2.0, 0.1]),
        "decimals" => draw.number(&[0.0, 1.0, 2.0, 3.0, -1.0, -2.0]),
        "eps" => draw.number(&EPS),
        "seed" => draw.number(&[0.0, 1.0, 42.0, 255.0, 999_999_999.0]),
        "padding" => draw.below(4) as f64,
        "stride" => draw.between(1, 3) as f64,
        "dilation" if draw.chance(60) => 1.0,
        "dilation" => draw.between(2, 3) as f64,
        "causal" | "align_corners" | "xy" => draw.below(2) as f64,
        "scale_h" | "scale_w" => draw.number(&[1.0, 1.5, 2.0, 2.5, 3.0, 1.25, 0.75, 0.5, 1.7]),
        "times" | "groups" => draw.between(1, 4) as f64,
        _ => draw.number(&[1.0, 0.0, 2.0, 3.0, 0.5, -1.0]),
    }
}
