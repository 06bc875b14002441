//! The kernels ops may name, and the signature each family of them has.
//!
//! A name is accepted for its family only: launching a kernel with another family's arguments would let it read and
//! write where it must not.

use crate::{DType, Error, Result};

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
}

/// A kernel's name without its dtype, and its family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
}

/// Kernels that callers choose by name, by family. Which dtypes each exists for, the code objects say.
pub(crate) const KERNELS: &[(Family, &[&str])] = &[
    (
        Family::Unary,
        &[
            "uabs",
            "uceil",
            "ucopy",
            "ucos",
            "uerf",
            "uexp",
            "ufloor",
            "ugelu",
            "ugelu_erf",
            "ulog",
            "uneg",
            "unormcdf",
            "urecip",
            "urelu",
            "uround",
            "usigmoid",
            "usign",
            "usilu",
            "usin",
            "usqr",
            "usqrt",
            "utanh",
        ],
    ),
    (Family::UnaryParam, &["uelu", "upowf"]),
    (
        Family::Binary,
        &["badd", "bdiv", "bmaximum", "bminimum", "bmul", "bsub"],
    ),
    (Family::Compare, &["eq", "ge", "gt", "le", "lt", "ne"]),
];

impl Family {
    /// The module (file of `kernels/`) that holds the family.
    pub(crate) fn module(self) -> &'static str {
        match self {
            Family::Unary | Family::UnaryParam => "unary",
            Family::Affine => "affine",
            Family::Binary | Family::Compare => "binary",
            Family::ConstSet | Family::Copy2d => "fill",
        }
    }

    /// Values before the inputs, inputs, values after the output.
    pub(crate) fn arity(self) -> (usize, usize, usize) {
        match self {
            Family::Unary => (0, 1, 0),
            Family::UnaryParam => (1, 1, 0),
            Family::Affine => (0, 1, 2),
            Family::Binary | Family::Compare => (0, 2, 0),
            Family::ConstSet => (1, 0, 0),
            Family::Copy2d => (0, 1, 4),
        }
    }
}

impl Kernel {
    pub(crate) const AFFINE: Kernel = Kernel {
        name: "affine",
        family: Family::Affine,
    };
    pub(crate) const CONST_SET: Kernel = Kernel {
        name: "const_set",
        family: Family::ConstSet,
    };
    pub(crate) const COPY: Kernel = Kernel {
        name: "ucopy",
        family: Family::Unary,
    };
    pub(crate) const COPY2D: Kernel = Kernel {
        name: "copy2d",
        family: Family::Copy2d,
    };

    /// The kernel `name` of `family`; a name the family does not have is unsupported for any dtype.
    pub(crate) fn find(family: Family, name: &str, dtype: DType) -> Result<Kernel> {
        let names = KERNELS
            .iter()
            .find(|(listed, _)| *listed == family)
            .map_or(&[][..], |(_, names)| names);
        match names.iter().find(|&&listed| listed == name) {
            Some(name) => Ok(Kernel { name, family }),
            None => Err(Error::Unsupported {
                op: name.to_owned(),
                dtype,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_in_its_own_family_only() {
        let homes = KERNELS
            .iter()
            .flat_map(|(family, names)| names.iter().map(|name| (*family, *name)));
        for (home, name) in homes {
            for (family, _) in KERNELS {
                let found = Kernel::find(*family, name, DType::F32).is_ok();
                assert_eq!(found, *family == home, "{name} in {family:?}");
            }
        }
        assert!(
            Kernel::find(Family::Unary, "uexp_f32", DType::F32).is_err(),
            "a dtype is no part of the name"
        );
    }
}
