//! The matrix cores of CDNA3: `D = A * B + C` on blocks of 4, 16 or 32 rows and columns, spread over 64 lanes.
//!
//! Lane `i + size * block + size * blocks * group` holds row `i` of A (column `i` of B) of its block, and of the depth the
//! part that its group is. C and D lie in groups of four rows; those of double precision one row after the other.
//! Layouts: "AMD Instinct MI300 Instruction Set Architecture", section "Matrix Arithmetic Instructions", and AMD's matrix
//! instruction calculator. The card's order of summation is not published; here the products are added one after the
//! other, each fused with its sum.

use super::{Trouble, convert, fp8, lane, product, unimplemented};
use crate::fp;
use crate::isa::{Element, Inst, Isa, Mfma, Src};
use crate::wave::Wave;

/// Lanes of the waves that have matrix cores.
const LANES: usize = 1 << LANES_LOG2;
const LANES_LOG2: u32 = 6;
/// Elements of the longest rows of bytes that a lane holds, and those that have a scale in common.
const BYTES_HELD: usize = 32;

impl Mfma {
    /// Rows and columns of a block, depth, blocks.
    fn dimensions(self) -> [usize; 3] {
        [self.size, self.depth, self.blocks].map(usize::from)
    }

    /// Elements of A a lane holds.
    fn held(self) -> usize {
        let [size, depth, blocks] = self.dimensions();
        depth * size * blocks / LANES
    }

    /// Lane of an element of A or B, and which of the lane's elements it is. Sizes are powers of two: no division, as each step asks.
    pub(super) fn factor(self, element: Element, block: usize, row: usize, k: usize) -> (usize, usize) {
        let [size, depth, blocks] = self.dimensions();
        let held = self.held();
        if held == BYTES_HELD && element.bits() == 8 {
            // CDNA4's longest rows of bytes: a lane has sixteen of the first half of the depth, and sixteen of the second.
            let (half, k) = (k / (depth / 2), k % (depth / 2));
            return (row + size * (2 * k / held), held / 2 * half + k % (held / 2));
        }
        let group = k >> held.trailing_zeros();
        (row + size * (block + blocks * group), k & (held - 1))
    }

    /// Lane of an element of C or D, and which of the lane's elements it is. Sizes are powers of two: no division, as each product of
    /// a row and a column asks once.
    pub(super) fn sum(self, block: usize, row: usize, column: usize) -> (usize, usize) {
        let size = u32::from(self.size).trailing_zeros();
        let groups = LANES_LOG2 - size;
        if self.a == Element::F64 {
            // Blocks side by side, then rows.
            let blocks = u32::from(self.blocks).trailing_zeros();
            let rows = groups - blocks;
            let group = block + ((row & ((1 << rows) - 1)) << blocks);
            return (column + (group << size), row >> rows);
        }
        if self.size == 4 {
            return (column + (block << size), row);
        }
        let group = row >> 2 & ((1 << groups) - 1);
        let per_block = 1 << (2 * size - LANES_LOG2);
        (
            column + (group << size),
            per_block * block + (row >> (2 + groups) << 2) + (row & 3),
        )
    }
}

/// Element number `item` of what a lane holds from register `first` on, zero-extended.
pub(super) fn element<const W: usize>(
    wave: &Wave<W>,
    first: usize,
    lane: usize,
    item: usize,
    bits: usize,
) -> u64 {
    let word = |register: usize| u64::from(wave.vgpr[register][lane]);
    if bits == 64 {
        return word(first + 2 * item) | word(first + 2 * item + 1) << 32;
    }
    let at = item * bits;
    let low = word(first + at / 32) >> (at % 32);
    // Six bits may lie in two registers.
    let high = if at % 32 + bits > 32 {
        word(first + at / 32 + 1) << (32 - at % 32)
    } else {
        0
    };
    (low | high) & (u64::MAX >> (64 - bits))
}

/// A factor of up to 32 bits as single precision.
pub(super) fn single(isa: Isa, element: Element, bits: u64) -> u32 {
    let open = isa == Isa::Cdna4;
    match element {
        Element::F16 => convert::f32_of_f16(fp8::MODE, bits as u16),
        Element::Bf16 => (bits as u32) << 16,
        Element::Fp8 => fp8::widen(bits as u8, if open { fp8::OCP_FP8 } else { fp8::FP8 }),
        Element::Bf8 => fp8::widen(bits as u8, if open { fp8::OCP_BF8 } else { fp8::BF8 }),
        Element::Fp6 => fp8::widen_short(bits as u8, fp8::FP6),
        Element::Bf6 => fp8::widen_short(bits as u8, fp8::BF6),
        Element::Fp4 => fp8::widen_short(bits as u8, fp8::FP4),
        Element::Xf32 => shortened(bits as u32),
        Element::F32 | Element::F64 | Element::I8 | Element::I4 => bits as u32,
    }
}

/// Single precision rounded to nearest even at ten bits of fraction, as hipBLASLt does it on the host for comparison.
fn shortened(bits: u32) -> u32 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        // A NaN stays one.
        return bits & !0x1fff | 0x0040_0000;
    }
    (bits + 0xfff + (bits >> 13 & 1)) & !0x1fff
}

/// The pattern of elements that become single precision before they are multiplied.
macro_rules! narrow_floats {
    () => {
        Element::F32
            | Element::Xf32
            | Element::F16
            | Element::Bf16
            | Element::Fp8
            | Element::Bf8
            | Element::I4
            | Element::Fp6
            | Element::Bf6
            | Element::Fp4
    };
}

/// An element as [`added`] takes it: floats of up to 32 bits in single precision.
fn taken(isa: Isa, kind: Element, bits: u64) -> u64 {
    match kind {
        Element::F64 | Element::I8 => bits,
        narrow_floats!() => u64::from(single(isa, kind, bits)),
    }
}

/// The sum with one more product of two elements that are taken.
fn added(kind: Element, sum: u64, a: u64, b: u64) -> u64 {
    match kind {
        Element::F64 => fp::fma::<fp::F64>(fp8::MODE, a, b, sum),
        Element::I8 => {
            let product = i32::from(a as i8) * i32::from(b as i8);
            u64::from((sum as i32).wrapping_add(product) as u32)
        }
        narrow_floats!() => u64::from(fp8::fma(a as u32, b as u32, sum as u32)),
    }
}

/// The sum with one more product of two elements.
pub(super) fn step(isa: Isa, [kind_a, kind_b]: [Element; 2], sum: u64, a: u64, b: u64) -> u64 {
    added(kind_a, sum, taken(isa, kind_a, a), taken(isa, kind_b, b))
}

/// The elements of A, taken, by block, row and depth; of B with its columns as rows. Each is in `size` products. `place` gives lane and
/// number of one.
fn factors<const W: usize>(
    wave: &Wave<W>,
    isa: Isa,
    shape: Mfma,
    (kind, first, sign): (Element, usize, u64),
    place: impl Fn(usize, usize, usize) -> (usize, usize),
) -> Vec<u64> {
    let [size, depth, blocks] = shape.dimensions();
    let mut all = Vec::with_capacity(size * depth * blocks);
    for block in 0..blocks {
        for row in 0..size {
            for k in 0..depth {
                let (lane, item) = place(block, row, k);
                all.push(taken(
                    isa,
                    kind,
                    element(wave, first, lane, item, kind.bits()) ^ sign,
                ));
            }
        }
    }
    all
}

/// Adds the products of the elements that [`factors`] gives to `sums`, by block, row and column.
fn add(kind: Element, [size, depth, _]: [usize; 3], left: &[u64], right: &[u64], sums: &mut [u64]) {
    let single = !matches!(kind, Element::F64 | Element::I8);
    match size {
        4 if single => return add_singles::<4>(depth, left, right, sums),
        16 if single => return add_singles::<16>(depth, left, right, sums),
        32 if single => return add_singles::<32>(depth, left, right, sums),
        _ => {}
    }
    for (row, (left, sums)) in left
        .chunks_exact(depth)
        .zip(sums.chunks_exact_mut(size))
        .enumerate()
    {
        let right = &right[row / size * size * depth..];
        for (right, sum) in right.chunks_exact(depth).zip(sums) {
            let pairs = left.iter().zip(right);
            *sum = pairs.fold(*sum, |sum, (left, right)| added(kind, sum, *left, *right));
        }
    }
}

/// [`add`] in single precision.
fn add_singles<const N: usize>(depth: usize, left: &[u64], right: &[u64], sums: &mut [u64]) {
    let mut rows = vec![[0; N]; depth];
    let left: Vec<u32> = left.iter().map(|bits| *bits as u32).collect();
    let blocks = left.chunks_exact(N * depth).zip(right.chunks_exact(N * depth));
    for ((left, right), sums) in blocks.zip(sums.chunks_exact_mut(N * N)) {
        for (column, right) in right.chunks_exact(depth).enumerate() {
            for (row, bits) in rows.iter_mut().zip(right) {
                row[column] = *bits as u32;
            }
        }
        let mut block = [[0; N]; N];
        let places = block.as_flattened_mut().iter_mut();
        places.zip(&*sums).for_each(|(place, sum)| *place = *sum as u32);
        product::add(left, &rows, &mut block);
        let places = block.as_flattened().iter();
        sums.iter_mut()
            .zip(places)
            .for_each(|(sum, place)| *sum = u64::from(*place));
    }
}

/// The byte of a source that scales the factors of each lane.
fn scale_bytes<const W: usize>(wave: &Wave<W>, src: Src, byte: u8) -> [u8; W] {
    let mut buffer = [0; W];
    lane::each(lane::row(wave, src, &mut buffer), |word| {
        (word >> (8 * byte)) as u8
    })
}

/// [`add`] of factors with scales: powers of two with bias 127, of which all ones is NaN. Lane `i + size * n` has that of row `i` (column
/// `i`) for part `n` of the depth, 32 elements. It is assumed that a scaled product is exact until it is added, as one without scales is.
fn add_scaled(
    [size, depth, _]: [usize; 3],
    (left, of_a): (&[u64], &[u8]),
    (right, of_b): (&[u64], &[u8]),
    sums: &mut [u64],
) {
    for (i, sum) in sums.iter_mut().enumerate() {
        let (row, column) = (i / size, i % size);
        for k in 0..depth {
            let part = size * (k / BYTES_HELD);
            let scales = [of_a[row + part], of_b[column + part]];
            if scales.contains(&u8::MAX) {
                *sum = f32::NAN.to_bits().into();
                continue;
            }
            // Half of the exponent for each factor, as far as it decides between zero, a number and infinity.
            let exponent = i32::from(scales[0]) + i32::from(scales[1]) - 254;
            let half = exponent.div_euclid(2).clamp(-100, 100);
            let scaled = |factor: u64, by: i32| (f32::from_bits(factor as u32) * 2f32.powi(by)).to_bits();
            let a = scaled(left[row * depth + k], half);
            let b = scaled(right[column * depth + k], (exponent - half).clamp(-100, 100));
            *sum = fp8::fma(a, b, *sum as u32).into();
        }
    }
}

/// Executes a matrix instruction. Every lane takes part, whatever EXEC says.
#[inline(never)]
pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst, shape: Mfma) -> Result<(), Trouble> {
    if W != LANES {
        return Err(unimplemented());
    }
    let (Src::Vgpr(a), Src::Vgpr(b)) = (inst.src[0], inst.src[1]) else {
        return Err(unimplemented());
    };
    let (a, b) = (usize::from(a), usize::from(b));
    let [size, _, blocks] = shape.dimensions();
    let width = if shape.a == Element::F64 { 64 } else { 32 };
    let words = width / 32;
    let sign = |i: usize| u64::from(inst.neg >> i & 1) << 63;
    let mut out = vec![[0; W]; size * size * blocks * words / LANES];
    let left = factors(wave, inst.isa, shape, (shape.a, a, sign(0)), |block, row, k| {
        shape.factor(shape.a, inst.broadcast.block(block), row, k)
    });
    let right = factors(
        wave,
        inst.isa,
        shape,
        (shape.b, b, sign(1)),
        |block, column, k| {
            let (lane, item) = shape.factor(shape.b, block, column, k);
            (inst.broadcast.lane(lane), item)
        },
    );
    let places = (0..blocks * size * size).map(|i| (i / size / size, i / size % size, i % size));
    let mut sums = Vec::with_capacity(blocks * size * size);
    for (block, row, column) in places.clone() {
        let (lane, item) = shape.sum(block, row, column);
        let old = match inst.src[2] {
            Src::Vgpr(c) => element(wave, usize::from(c), lane, item, width),
            Src::Const(value) if value == 0 || width == 32 => value,
            _ => return Err(unimplemented()),
        };
        sums.push(old ^ sign(2));
    }
    match &inst.scales {
        Some(scales) => {
            let [of_a, of_b] = scales.map(|(src, byte)| scale_bytes(wave, src, byte));
            add_scaled(shape.dimensions(), (&left, &of_a), (&right, &of_b), &mut sums);
        }
        None => add(shape.a, shape.dimensions(), &left, &right, &mut sums),
    }
    for ((block, row, column), sum) in places.zip(sums) {
        let (lane, item) = shape.sum(block, row, column);
        for word in 0..words {
            out[words * item + word][lane] = (sum >> (32 * word)) as u32;
        }
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().enumerate() {
        lane::store(wave, usize::from(inst.dst) + v, row);
    }
    Ok(())
}
