//! The same algorithms in plain Rust, for one core of the host, as the compiler makes them for the baseline CPU.

/// Numbers between -1 and 1 (SplitMix64).
pub(crate) fn floats(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub(crate) fn exp(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x.exp()).collect()
}

pub(crate) fn add(x: &[f32], y: &[f32]) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}

/// A 32 x 64 x 128 tensor of which `x` holds the transpose of (1, 2, 0), plus `y`.
pub(crate) fn add_transposed(x: &[f32], y: &[f32]) -> Vec<f32> {
    let mut out = Vec::with_capacity(y.len());
    for i in 0..32 {
        for j in 0..64 {
            for k in 0..128 {
                out.push(x[i * 64 + j + k * 2048] + y[(i * 64 + j) * 128 + k]);
            }
        }
    }
    out
}

pub(crate) fn softmax(x: &[f32], cols: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks_exact(cols) {
        let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers = || row.iter().map(|x| (x - greatest).exp());
        let sum: f32 = powers().sum();
        out.extend(powers().map(|power| power / sum));
    }
    out
}

/// Square matrices; the innermost loop runs along the rows of the result, so that it vectorises.
pub(crate) fn gemm(a: &[f32], b: &[f32], side: usize) -> Vec<f32> {
    let mut out = vec![0.0; side * side];
    for (a, out) in a.chunks_exact(side).zip(out.chunks_exact_mut(side)) {
        for (factor, b) in a.iter().zip(b.chunks_exact(side)) {
            for (out, b) in out.iter_mut().zip(b) {
                *out += factor * b;
            }
        }
    }
    out
}

/// Blocks of 18 bytes: a half between 1/64 and 1/32 as scale, then 32 nibbles.
pub(crate) fn q4_0_weights(blocks: usize) -> Vec<u8> {
    let numbers = floats(3, 16 * blocks);
    let block = |numbers: &[f32]| {
        let nibbles = numbers.iter().map(|x| (x.to_bits() >> 7) as u8);
        [0, 0x26].into_iter().chain(nibbles).collect::<Vec<_>>()
    };
    numbers.chunks_exact(16).flat_map(block).collect()
}

pub(crate) fn q4_0_mat_vec(weights: &[u8], y: &[f32]) -> Vec<f32> {
    let row = |blocks: &[u8]| {
        let mut sum = 0.0;
        for (block, y) in blocks.chunks_exact(18).zip(y.chunks_exact(32)) {
            // The scale of every block is 0x2600.
            let scale = 1.5 / 64.0;
            for (i, byte) in block[2..].iter().enumerate() {
                let (low, high) = (i32::from(byte & 15) - 8, i32::from(byte >> 4) - 8);
                sum += low as f32 * scale * y[i] + high as f32 * scale * y[i + 16];
            }
        }
        sum
    };
    weights.chunks_exact(y.len() / 32 * 18).map(row).collect()
}
