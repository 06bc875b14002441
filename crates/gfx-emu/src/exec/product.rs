//! Sums of products in single precision, as matrix cores have them: one product after the other, each fused with its sum.

use super::host::{Host, Portable};
use super::tile::SIDE;
use crate::fp::{self, F32, FloatFormat as _, Mode};

/// Adds to `sums`, which holds rows of `N` columns, the product of `a`, which holds rows of `depth` elements, and of `b`, which holds
/// `depth` rows of `N` columns. All are bits of single precision; a NaN follows as from [`fp::fma`], which has no mode here.
pub(super) fn add<const N: usize>(a: &[u32], b: &[[u32; N]], sums: &mut [[u32; N]]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(host) = super::host::Wide::detect() {
        return add_on(host, a, b, sums);
    }
    add_on(Portable, a, b, sums);
}

/// The same of a tile of sixteen rows and columns: `left` and `right` hold a step of all rows, and of all columns, each. Compiled for the
/// host of the code around it.
#[inline(always)]
pub(super) fn add_tile<H: Host>(
    host: H,
    left: &[[u32; SIDE]],
    right: &[[u32; SIDE]],
    sums: &mut [[u32; SIDE]; SIDE],
) {
    for (line, sums) in sums.iter_mut().enumerate() {
        let [mut low, mut high] = halves(sums);
        for (left, right) in left.iter().zip(right) {
            let left = f32::from_bits(left[line]);
            let [right_low, right_high] = halves(right);
            low = host.fused(left, right_low, low);
            high = host.fused(left, right_high, high);
        }
        // As in `add_on`, but it does not stop at the first NaN: the compiler makes no vector code of a loop that stops.
        let nans = low
            .iter()
            .chain(&high)
            .fold(false, |nans, sum| nans | sum.is_nan());
        if nans {
            let left = left.iter().map(|left| &left[line]);
            row(Mode::NONE.on(H::FUSES), left, right, sums);
        } else {
            for (sums, half) in sums.as_chunks_mut().0.iter_mut().zip([low, high]) {
                *sums = half.map(f32::to_bits);
            }
        }
    }
}

/// The two halves of a row, as floats.
#[inline(always)]
fn halves(row: &[u32; SIDE]) -> [[f32; 8]; 2] {
    let part = |first: usize| std::array::from_fn(|i| f32::from_bits(row[first + i]));
    [part(0), part(SIDE / 2)]
}

fn add_on<H: Host, const N: usize>(host: H, a: &[u32], b: &[[u32; N]], sums: &mut [[u32; N]]) {
    host.run(
        #[inline(always)]
        || {
            let mode = Mode::NONE.on(H::FUSES);
            for (a, sums) in a.chunks_exact(b.len()).zip(sums) {
                let start = *sums;
                row(mode.with_any_nan(), a, b, sums);
                // Once a NaN, a sum stays one; which one it is, the slower way knows.
                if sums.iter().any(|sum| F32::is_nan(*sum)) {
                    *sums = start;
                    row(mode, a, b, sums);
                }
            }
        },
    );
}

#[inline(always)]
fn row<'a, const N: usize>(
    mode: Mode,
    a: impl IntoIterator<Item = &'a u32>,
    b: &[[u32; N]],
    sums: &mut [u32; N],
) {
    for (a, b) in a.into_iter().zip(b) {
        for (sum, b) in sums.iter_mut().zip(b) {
            *sum = fp::fma::<F32>(mode, *a, *b, *sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_adds_the_same_bits_in_the_same_order_whatever_the_numbers_are() {
        let mut state = 1_u64;
        let mut word = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let word = (state >> 32) as u32;
            // One of eight is an infinity, a NaN, a zero or a subnormal number.
            match word & 0x1f {
                0 => 0x7f80_0000,
                1 => 0x7fa0_0000 | word >> 12,
                2 => word & 0x8000_0000,
                3 => word & 0x807f_ffff,
                _ => word & 0x8fff_ffff | 0x3000_0000,
            }
        };
        for depth in [1, 4, 16] {
            for _ in 0..200 {
                let a: Vec<u32> = (0..4 * depth).map(|_| word()).collect();
                let b: Vec<[u32; 4]> = (0..depth).map(|_| [(); 4].map(|()| word())).collect();
                let start: Vec<[u32; 4]> = (0..4).map(|_| [(); 4].map(|()| word())).collect();
                let (mut here, mut portable) = (start.clone(), start.clone());
                add(&a, &b, &mut here);
                add_on(Portable, &a, &b, &mut portable);
                for (row, start) in start.iter().enumerate() {
                    for (column, start) in start.iter().enumerate() {
                        let pairs = a[row * depth..][..depth].iter().zip(&b);
                        let want = pairs.fold(*start, |sum, (a, b)| {
                            fp::fma::<F32>(Mode::NONE, *a, b[column], sum)
                        });
                        assert_eq!([here[row][column], portable[row][column]], [want; 2]);
                    }
                }
            }
        }
    }
}
