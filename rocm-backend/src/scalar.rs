//! Elements on the host: the types whose slices go to the device, and one element as kernels take it by value.

use float8::F8E4M3;
use half::{bf16, f16};

use crate::DType;
use crate::hip::bytes::Plain;

/// A host type that is a device's element, byte for byte: the numbers of the ten dtypes.
pub trait Element: Plain + Default + Send + Sync + std::fmt::Debug + 'static {
    /// Its dtype.
    const DTYPE: DType;
}

/// Declares [`Scalar`] and the [`Element`]s: dtype, host type, how an f64 becomes one, and its little-endian bytes.
macro_rules! scalars {
    ($($variant:ident $host:ty, |$f:ident| $from:expr, |$v:ident| $bytes:expr;)*) => {
        /// A value of one dtype.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[expect(missing_docs, reason = "a variant is the dtype of the same name, holding its host type")]
        pub enum Scalar {
            $($variant($host),)*
        }

        impl Scalar {
            /// The value's dtype.
            pub const fn dtype(self) -> DType {
                match self { $(Scalar::$variant(_) => DType::$variant,)* }
            }

            /// `value` in `dtype`: rounded to nearest for floats; for integers truncated, saturated, NaN to 0.
            pub fn from_f64(dtype: DType, value: f64) -> Scalar {
                match dtype { $(DType::$variant => { let $f = value; Scalar::$variant($from) })* }
            }

            /// The element's bytes as the device holds them, in the low end of a kernel argument's eight.
            pub(crate) fn to_kernel_arg(self) -> [u8; 8] {
                let mut arg = [0; 8];
                match self { $(Scalar::$variant($v) => {
                    let bytes = $bytes;
                    arg[..bytes.len()].copy_from_slice(&bytes);
                })* }
                arg
            }
        }

        $(
            impl Element for $host {
                const DTYPE: DType = DType::$variant;
            }

            impl From<$host> for Scalar {
                fn from(value: $host) -> Scalar {
                    Scalar::$variant(value)
                }
            }
        )*
    };
}

scalars! {
    U8 u8, |f| f as u8, |v| v.to_le_bytes();
    U32 u32, |f| f as u32, |v| v.to_le_bytes();
    I16 i16, |f| f as i16, |v| v.to_le_bytes();
    I32 i32, |f| f as i32, |v| v.to_le_bytes();
    I64 i64, |f| f as i64, |v| v.to_le_bytes();
    BF16 bf16, |f| bf16::from_f64(f), |v| v.to_le_bytes();
    F16 f16, |f| f16::from_f64(f), |v| v.to_le_bytes();
    F32 f32, |f| f as f32, |v| v.to_le_bytes();
    F64 f64, |f| f, |v| v.to_le_bytes();
    F8E4M3 F8E4M3, |f| F8E4M3::from_f64(f), |v| [v.to_bits()];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_has_a_scalar_of_its_size() {
        for &dtype in DType::ALL {
            let scalar = Scalar::from_f64(dtype, -1.0);
            assert_eq!(scalar.dtype(), dtype);
            let used = scalar
                .to_kernel_arg()
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1);
            assert!(used <= dtype.size_in_bytes(), "{dtype} wrote {used} bytes");
        }
        assert_eq!(Scalar::from_f64(DType::I64, -1.0).to_kernel_arg(), [0xff; 8]);
    }

    #[test]
    fn integers_saturate_and_floats_round() {
        assert_eq!(Scalar::from_f64(DType::U8, 300.7), Scalar::U8(255));
        assert_eq!(Scalar::from_f64(DType::U8, -2.0), Scalar::U8(0));
        assert_eq!(Scalar::from_f64(DType::I32, f64::NAN), Scalar::I32(0));
        assert_eq!(Scalar::from_f64(DType::I32, -2.9), Scalar::I32(-2));
        assert_eq!(
            Scalar::from_f64(DType::F16, 0.1),
            Scalar::F16(f16::from_bits(0x2e66))
        );
        assert_eq!(
            Scalar::from_f64(DType::BF16, 0.1),
            Scalar::BF16(bf16::from_bits(0x3dcd))
        );
        assert_eq!(Scalar::from_f64(DType::F8E4M3, 1.0).to_kernel_arg()[0], 0x38);
    }
}
