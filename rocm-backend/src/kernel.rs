//! The kernels that an operation names by an enum: one list, with each kernel's name, dtypes and family. Which arguments a
//! family has is here as well; how they are laid out for a launch is in hip/launch/.
//!
//! A new kernel of a family is its row in `kernels/*.hip` and one line here.

use crate::{DType, Error, Result};

use DType as D;

/// The floating-point dtypes, as rows of the list name them.
const FLOATS: &[DType] = &[D::BF16, D::F16, D::F32, D::F64, D::F8E4M3];
/// Every dtype.
const ALL: &[DType] = DType::ALL;

/// Kernels that share a signature. `info` is null or dims-and-strides, `n` the number of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `(n, num_dims, info, inp, out)`
    Unary,
    /// `(n, num_dims, info, param, inp, out)`
    UnaryParam,
    /// `(n, num_dims, info, inp, out, mul, add)`
    Affine,
    /// `(n, num_dims, info, lhs, rhs, out)`
    Binary,
    /// As [`Family::Binary`], with `out` of u8.
    Compare,
    /// `(n, num_dims, info, value, out)`; `info` is `out`'s.
    ConstSet,
    /// `(src, dst, u32 d1, u32 d2, u32 src_stride, u32 dst_stride)`
    Copy2d,
    /// `(n, per_row, num_dims, info, src, dst)`
    Reduce,
}

impl Family {
    /// The module (file of `kernels/`) that holds the family.
    pub(crate) fn module(self) -> &'static str {
        match self {
            Family::Unary | Family::UnaryParam => "unary",
            Family::Affine => "affine",
            Family::Binary | Family::Compare => "binary",
            Family::ConstSet | Family::Copy2d => "fill",
            Family::Reduce => "reduce",
        }
    }

    /// Values before the inputs, inputs, values after the output.
    pub(crate) fn arity(self) -> (usize, usize, usize) {
        match self {
            Family::Unary | Family::Reduce => (0, 1, 0),
            Family::UnaryParam => (1, 1, 0),
            Family::Affine => (0, 1, 2),
            Family::Binary | Family::Compare => (0, 2, 0),
            Family::ConstSet => (1, 0, 0),
            Family::Copy2d => (0, 1, 4),
        }
    }
}

/// A kernel's name without its dtype, its family, and the dtypes it is compiled for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    pub(crate) dtypes: &'static [DType],
}

impl Kernel {
    pub(crate) const AFFINE: Kernel = Kernel::of_all("affine", Family::Affine);
    pub(crate) const CONST_SET: Kernel = Kernel::of_all("const_set", Family::ConstSet);
    pub(crate) const COPY2D: Kernel = Kernel::of_all("copy2d", Family::Copy2d);

    const fn of_all(name: &'static str, family: Family) -> Kernel {
        Kernel {
            name,
            family,
            dtypes: ALL,
        }
    }

    /// Refuses a dtype that the kernel is not compiled for.
    pub(crate) fn supports(self, dtype: DType) -> Result<()> {
        if self.dtypes.contains(&dtype) {
            return Ok(());
        }
        Err(Error::Unsupported {
            op: self.name.to_owned(),
            dtype,
        })
    }
}

/// Declares an enum a family: `Variant "kernel" DTYPES;`.
macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $op:ident {
            $($(#[$row:meta])* $variant:ident $name:literal $dtypes:ident;)*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $op {
                $($(#[$row])* $variant,)*
            }

            impl $op {
                /// Every variant, in order of the kernels' names.
                pub const ALL: &'static [$op] = &[$($op::$variant),*];

                /// The kernel's name without its dtype, which is candle's name for it where candle has it.
                pub const fn name(self) -> &'static str {
                    self.kernel().name
                }

                /// The dtypes that the kernel is compiled for.
                pub const fn dtypes(self) -> &'static [DType] {
                    self.kernel().dtypes
                }

                /// The variant whose kernel has this name.
                pub fn from_name(name: &str) -> Option<$op> {
                    match name {
                        $($name => Some($op::$variant),)*
                        _ => None,
                    }
                }

                pub(crate) const fn kernel(self) -> Kernel {
                    match self {
                        $($op::$variant => Kernel { name: $name, family: Family::$op, dtypes: $dtypes },)*
                    }
                }
            }
        )*

        /// Every kernel of the list.
        #[cfg(test)]
        pub(crate) fn listed() -> Vec<Kernel> {
            let mut all = vec![Kernel::AFFINE, Kernel::CONST_SET, Kernel::COPY2D];
            $(all.extend($op::ALL.iter().map(|op| op.kernel()));)*
            all
        }
    };
}

kernels! {
    /// A function of one tensor, element by element. What it gives for NaN, zeros and overflow is in `kernels/README.md`.
    Unary {
        /// The magnitude.
        Abs "uabs" ALL;
        /// The next whole number that is not less.
        Ceil "uceil" ALL;
        /// The element itself.
        Copy "ucopy" ALL;
        /// The cosine, of radians.
        Cos "ucos" FLOATS;
        /// The error function.
        Erf "uerf" FLOATS;
        /// The exponential function.
        Exp "uexp" FLOATS;
        /// The next whole number that is not greater.
        Floor "ufloor" ALL;
        /// `x` times the normal distribution function, by its approximation with tanh.
        Gelu "ugelu" FLOATS;
        /// `x` times the normal distribution function, by the error function.
        GeluErf "ugelu_erf" FLOATS;
        /// The natural logarithm.
        Log "ulog" FLOATS;
        /// The opposite.
        Neg "uneg" FLOATS;
        /// The normal distribution function.
        NormCdf "unormcdf" FLOATS;
        /// `1 / x`.
        Recip "urecip" FLOATS;
        /// `max(x, 0)`.
        Relu "urelu" ALL;
        /// The nearest whole number; of two, the one away from zero.
        Round "uround" ALL;
        /// `1 / (1 + exp(-x))`.
        Sigmoid "usigmoid" FLOATS;
        /// -1, 0 or 1.
        Sign "usign" ALL;
        /// `x / (1 + exp(-x))`.
        Silu "usilu" FLOATS;
        /// The sine, of radians.
        Sin "usin" FLOATS;
        /// `x * x`.
        Sqr "usqr" FLOATS;
        /// The square root.
        Sqrt "usqrt" FLOATS;
        /// The hyperbolic tangent.
        Tanh "utanh" FLOATS;
    }

    /// A function of one tensor and a number, element by element.
    UnaryParam {
        /// `x` where it is greater than 0, else the parameter times `exp(x) - 1`.
        Elu "uelu" FLOATS;
        /// `x` to the power of the parameter.
        Powf "upowf" FLOATS;
    }

    /// A function of two tensors of one shape and dtype, element by element.
    Binary {
        /// `l + r`.
        Add "badd" ALL;
        /// `l / r`.
        Div "bdiv" ALL;
        /// The greater of the two.
        Maximum "bmaximum" ALL;
        /// The lesser of the two.
        Minimum "bminimum" ALL;
        /// `l * r`.
        Mul "bmul" ALL;
        /// `l - r`.
        Sub "bsub" ALL;
    }

    /// A comparison of two tensors of one shape and dtype, element by element.
    Compare {
        /// `l == r`.
        Eq "eq" ALL;
        /// `l >= r`.
        Ge "ge" ALL;
        /// `l > r`.
        Gt "gt" ALL;
        /// `l <= r`.
        Le "le" ALL;
        /// `l < r`.
        Lt "lt" ALL;
        /// `l != r`.
        Ne "ne" ALL;
    }

    /// What the elements along some dimensions become.
    Reduce {
        /// The place of the first greatest element, or of the first NaN, as u32.
        ArgMax "fast_argmax" ALL;
        /// The place of the first least element, or of the first NaN, as u32.
        ArgMin "fast_argmin" ALL;
        /// The greatest element; NaN when there is one.
        Max "fast_max" ALL;
        /// The least element; NaN when there is one.
        Min "fast_min" ALL;
        /// The sum: floats are added in f32 (f64 in f64) and rounded once, integers wrap. Of no elements it is 0.
        Sum "fast_sum" ALL;
    }
}

impl Reduce {
    /// Whether it gives the place of an element instead of its value.
    pub(crate) const fn is_place(self) -> bool {
        match self {
            Reduce::ArgMax | Reduce::ArgMin => true,
            Reduce::Max | Reduce::Min | Reduce::Sum => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_its_name_and_by_no_other() {
        for &op in Unary::ALL {
            assert_eq!(Unary::from_name(op.name()), Some(op));
            assert_eq!(UnaryParam::from_name(op.name()), None, "{op:?} has no parameter");
            assert_eq!(Unary::from_name(&format!("{}_f32", op.name())), None);
        }
    }

    #[test]
    fn the_list_is_in_order_and_names_no_kernel_twice() {
        let names: Vec<_> = Unary::ALL.iter().map(|op| op.name()).collect();
        assert!(names.is_sorted(), "{names:?}");
        let mut all: Vec<_> = listed().iter().map(|kernel| kernel.name).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn a_dtype_without_a_kernel_is_unsupported() {
        assert!(Unary::Exp.kernel().supports(DType::F16).is_ok());
        let refusal = Unary::Exp.kernel().supports(DType::I32).unwrap_err();
        assert_eq!(refusal.to_string(), "rocm has no kernel for `uexp` on i32");
    }
}
