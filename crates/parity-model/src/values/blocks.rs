//! Blocks of ggml's formats as inputs: random bits wherever any bits mean weights, and floats that are finite wherever a
//! block holds floats.

use rand_chacha::rand_core::RngCore;

use super::{ChaCha8Rng, Slot, ValueSet, between, stream, unit};
use crate::float::Format;
use crate::op::formats::BlockFormat;
use crate::{DType, HostTensor};

/// What the floats of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockFloats {
    /// Any finite bits: every exponent, both signs.
    Any,
    /// The largest finite number or its negative.
    Largest,
    /// About 1/100, of either sign; where the float is the weight, from -1 to 1.
    Small,
    /// Sixteen times that.
    Larger,
    /// 1 or -1, so that weights are whole numbers; where the float is the weight, a whole number from -8 to 8.
    Whole,
    /// Nothing: all bytes of the block are zero.
    Zero,
}

/// Bytes of `shape`, whole blocks of `format` in every row. Of eight blocks one is all zeros. Of the other seven, where
/// blocks are alone, one has the largest scales, three have scales of any exponent and three small ones: scale and offset
/// too far apart leave nothing of the quants. In a product all are small, one of them sixteen times as large; with
/// `quants` all weights are whole numbers.
///
/// What no weight depends on, the sums of q8_1 and q8_K, is random as well.
pub(crate) fn fill_blocks(
    set: ValueSet,
    format: BlockFormat,
    shape: &[usize],
    slot: &Slot<'_>,
) -> HostTensor {
    let mut rng = stream(slot.seed, slot.id, slot.arg);
    let blocks = shape.iter().product::<usize>() / format.block_bytes();
    let mut bytes = Vec::with_capacity(blocks * format.block_bytes());
    for i in 0..blocks {
        let floats = match (i % 8, set) {
            (3, _) => BlockFloats::Zero,
            (_, ValueSet::Quants) => BlockFloats::Whole,
            (5, ValueSet::Any) => BlockFloats::Largest,
            (2 | 4 | 7, ValueSet::Any) => BlockFloats::Any,
            (5, _) => BlockFloats::Larger,
            (_, _) => BlockFloats::Small,
        };
        bytes.extend(block(format, floats, &mut rng));
    }
    HostTensor {
        dtype: DType::U8,
        shape: shape.to_vec(),
        bytes,
    }
}

fn block(format: BlockFormat, floats: BlockFloats, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = vec![0; format.block_bytes()];
    if floats == BlockFloats::Zero {
        return bytes;
    }
    rng.fill_bytes(&mut bytes);
    let (dtype, places) = format.floats();
    for &at in places {
        let bits = float(dtype, format.is_plain(), floats, rng);
        let float = bits.to_le_bytes();
        bytes[at..at + dtype.size()].copy_from_slice(&float[..dtype.size()]);
    }
    bytes
}

/// The bits of one float of a block; `alone` where it is the weight itself.
fn float(dtype: DType, alone: bool, floats: BlockFloats, rng: &mut ChaCha8Rng) -> u64 {
    let number = Format::of(dtype).unwrap_or_else(|| panic!("{dtype} in a block"));
    let sign = if rng.next_u64() & 1 == 0 { 1.0 } else { -1.0 };
    let size = if alone { 1.0 } else { 0.01 };
    let value = match floats {
        BlockFloats::Zero => 0.0,
        BlockFloats::Any => loop {
            let bits = rng.next_u64() & (u64::MAX >> (64 - number.bits));
            if number.decode(bits).is_finite() {
                return bits;
            }
        },
        BlockFloats::Largest => number.max,
        BlockFloats::Small => size * unit(rng),
        BlockFloats::Larger => 16.0 * size * unit(rng),
        BlockFloats::Whole if alone => between(rng, 0, 8) as f64,
        BlockFloats::Whole => 1.0,
    };
    number.encode(sign * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(set: ValueSet, format: BlockFormat) -> Vec<Vec<u8>> {
        let shape = [4, 16 * format.block_bytes()];
        let slot = Slot {
            seed: 1,
            id: "quantized/dequantize_q4_0:u8:[4,512]:contiguous:any",
            arg: 0,
            place: 0,
            arity: 0,
        };
        let tensor = fill_blocks(set, format, &shape, &slot);
        assert_eq!(
            (tensor.dtype, tensor.shape.as_slice()),
            (DType::U8, shape.as_slice())
        );
        tensor
            .bytes
            .chunks(format.block_bytes())
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// Every float of every block.
    fn floats(set: ValueSet, format: BlockFormat) -> Vec<f64> {
        let (dtype, places) = format.floats();
        let number = Format::of(dtype).unwrap();
        let float = |block: &Vec<u8>, at: usize| {
            let mut word = [0; 8];
            word[..dtype.size()].copy_from_slice(&block[at..at + dtype.size()]);
            number.decode(u64::from_le_bytes(word))
        };
        let blocks = blocks(set, format);
        blocks
            .iter()
            .flat_map(|block| places.iter().map(|at| float(block, *at)))
            .collect()
    }

    #[test]
    fn the_floats_of_blocks_are_finite_and_of_both_signs_whatever_the_values() {
        let uniform = ValueSet::Uniform { lo: -1.0, hi: 1.0 };
        for &format in BlockFormat::ALL {
            for set in [ValueSet::Any, ValueSet::Quants, uniform] {
                let floats = floats(set, format);
                assert!(floats.iter().all(|x| x.is_finite()), "{format} {set}");
                let signs = [floats.iter().any(|x| *x > 0.0), floats.iter().any(|x| *x < 0.0)];
                assert_eq!(signs, [true, true], "{format} {set}");
            }
            let largest = Format::of(format.floats().0).unwrap().max;
            assert!(floats(ValueSet::Any, format).contains(&-largest), "{format}");
            assert!(
                floats(uniform, format).iter().all(|x| x.abs() <= 16.0),
                "{format}"
            );
            assert!(
                floats(ValueSet::Quants, format).iter().all(|x| x.fract() == 0.0),
                "{format}"
            );
        }
    }

    #[test]
    fn some_blocks_are_all_zeros_and_the_others_are_not() {
        for &format in BlockFormat::ALL {
            let blocks = blocks(ValueSet::Any, format);
            let zero = |i: usize| blocks[i].iter().all(|byte| *byte == 0);
            assert!(zero(3) && zero(11) && !zero(0) && !zero(5), "{format}");
        }
    }
}
