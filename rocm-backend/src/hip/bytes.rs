//! The bytes of host elements, as they go to the device and come back. No byte is copied here.
#![expect(unsafe_code, reason = "looks at elements as bytes")]

use float8::F8E4M3;
use half::{bf16, f16};

/// A host type that is its bytes.
///
/// # Safety
/// The type has no padding, and every pattern of its bytes is a value.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($host:ty)*) => {$(
        // SAFETY: a number, or a transparent struct of one.
        unsafe impl Plain for $host {}
    )*};
}

plain! { u8 u32 i16 i32 i64 bf16 f16 f32 f64 F8E4M3 }

/// The elements' bytes. The host is little-endian, as AMD's GPUs are: sys.rs compiles on no other.
pub(crate) fn of<T: Plain>(elements: &[T]) -> &[u8] {
    // SAFETY: the elements' own memory, of which every byte has a value.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The elements' bytes, to be written.
pub(crate) fn of_mut<T: Plain>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: the elements' own memory, borrowed mutably; whatever is written there is a value.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_their_little_endian_bytes() {
        assert_eq!(of(&[1_u32, 0x0203_0405]), [1, 0, 0, 0, 5, 4, 3, 2]);
        assert_eq!(of(&[F8E4M3::from_bits(0x38)]), [0x38]);
        let mut halves = [f16::ZERO; 2];
        of_mut(&mut halves)[1] = 0x3c;
        assert_eq!(halves, [f16::ONE, f16::ZERO]);
    }
}
