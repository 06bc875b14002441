//! Cube-map coordinates: which face a direction points at, and where on it.

use crate::fp::{F32, FloatFormat, Mode};

/// Face (0..=5: +x, -x, +y, -y, +z, -z), the two coordinates on it, and twice the major axis.
#[inline(always)]
fn face(a: u32, b: u32, c: u32) -> [f32; 4] {
    let [x, y, z] = [a, b, c].map(F32::host);
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        if z < 0.0 {
            [5.0, -x, -y, 2.0 * z]
        } else {
            [4.0, x, -y, 2.0 * z]
        }
    } else if y.abs() >= x.abs() {
        if y < 0.0 {
            [3.0, x, -z, 2.0 * y]
        } else {
            [2.0, x, z, 2.0 * y]
        }
    } else if x < 0.0 {
        [1.0, z, -y, 2.0 * x]
    } else {
        [0.0, -z, -y, 2.0 * x]
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $i:literal)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name(_: Mode, a: u32, b: u32, c: u32) -> u32 {
            face(a, b, c)[$i].to_bits()
        }
    )*};
}
functions! {
    /// The face.
    id 0
    /// First coordinate.
    sc 1
    /// Second coordinate.
    tc 2
    /// Twice the major axis.
    ma 3
}
