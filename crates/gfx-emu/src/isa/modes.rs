//! Which operation an instruction is with its clamp bit set, and by another rounding mode.

use super::ops::Op;

impl Op {
    /// Whether the operation rounds, and is only known to round to nearest even here.
    pub(crate) fn rounds_to_nearest_only(self) -> bool {
        matches!(
            self,
            Op::FractF16
                | Op::FractF32
                | Op::FractF64
                | Op::FmaMixloF16
                | Op::FmaMixhiF16
                | Op::FmaMixF32Bf16
                | Op::FmaMixloBf16
                | Op::FmaMixhiBf16
                | Op::PkFmaBf16
                | Op::PkAddBf16
                | Op::PkMulBf16
                | Op::CvtPkOcpFp8F16
                | Op::CvtPkOcpBf8F16
                | Op::Dot2F32F16
                | Op::Dot2F32Bf16
                | Op::Dot2F16F16
                | Op::Dot2Bf16Bf16
                | Op::Dot4F32Fp8Fp8
                | Op::Dot4F32Fp8Bf8
                | Op::Dot4F32Bf8Fp8
                | Op::Dot4F32Bf8Bf8
                | Op::CvtPkF16F32
                | Op::CvtPkBf16F32
        )
    }

    /// Whether it is known what the operation does with denormals of half or double precision where MODE has them be zeros: they are zeros
    /// before it and after it, or it moves them. What AMD's manuals do not say is left out: the steps of a division, sums of products
    /// in mixed precision, matrix products, packing, a conversion that rounds by itself, atomics.
    pub(crate) fn follows_denormals_of_others(self) -> bool {
        matches!(
            self,
            Op::AddF16
                | Op::SubF16
                | Op::SubrevF16
                | Op::MulF16
                | Op::FmaF16
                | Op::MinF16
                | Op::MaxF16
                | Op::MinimumF16
                | Op::MaximumF16
                | Op::Min3F16
                | Op::Max3F16
                | Op::Med3F16
                | Op::MaxminF16
                | Op::MinmaxF16
                | Op::Minimum3F16
                | Op::Maximum3F16
                | Op::MinimummaximumF16
                | Op::MaximumminimumF16
                | Op::LdexpF16
                | Op::FrexpMantF16
                | Op::FrexpExpI16F16
                | Op::TruncF16
                | Op::CeilF16
                | Op::RndneF16
                | Op::FloorF16
                | Op::FractF16
                | Op::ExpF16
                | Op::LogF16
                | Op::RcpF16
                | Op::RsqF16
                | Op::SqrtF16
                | Op::SinF16
                | Op::CosF16
                | Op::CmpF16
                | Op::CmpClassF16
                | Op::CvtF16U16
                | Op::CvtF16I16
                | Op::CvtU16F16
                | Op::CvtI16F16
                | Op::CvtF16F32
                | Op::CvtF32F16
                | Op::PkFmaF16
                | Op::PkAddF16
                | Op::PkMulF16
                | Op::PkMinF16
                | Op::PkMaxF16
                | Op::PkMinimumF16
                | Op::PkMaximumF16
                | Op::SAddF16
                | Op::SSubF16
                | Op::SMulF16
                | Op::SFmaF16
                | Op::SMinF16
                | Op::SMaxF16
                | Op::SMinimumF16
                | Op::SMaximumF16
                | Op::SCeilF16
                | Op::SFloorF16
                | Op::STruncF16
                | Op::SRndneF16
                | Op::SCmpF16
                | Op::SCvtF16F32
                | Op::SCvtF32F16
                | Op::AddF64
                | Op::MulF64
                | Op::FmaF64
                | Op::MinF64
                | Op::MaxF64
                | Op::MinimumF64
                | Op::MaximumF64
                | Op::LdexpF64
                | Op::FrexpMantF64
                | Op::FrexpExpI32F64
                | Op::TruncF64
                | Op::CeilF64
                | Op::RndneF64
                | Op::FloorF64
                | Op::FractF64
                | Op::RcpF64
                | Op::RsqF64
                | Op::SqrtF64
                | Op::CmpF64
                | Op::CmpClassF64
                | Op::CvtF64I32
                | Op::CvtF64U32
                | Op::CvtU32F64
                | Op::CvtI32F64
                | Op::CvtF32F64
                | Op::CvtF64F32
        )
    }

    /// Whether a set clamp bit changes no result. Comparisons of floats would signal by it, which nothing here asks for; conversions and
    /// the packed sums of differences stop at the ends of their types in any case, and the others do not get there.
    pub(crate) fn is_never_out_of_range(self) -> bool {
        matches!(
            self,
            Op::CmpF16
                | Op::CmpF32
                | Op::CmpF64
                | Op::CvtU32F32
                | Op::CvtI32F32
                | Op::CvtU32F64
                | Op::CvtI32F64
                | Op::CvtU16F16
                | Op::CvtI16F16
                | Op::CvtNearestI32F32
                | Op::CvtFloorI32F32
                | Op::FrexpExpI16F16
                | Op::FrexpExpI32F32
                | Op::FrexpExpI32F64
                | Op::QsadPkU16U8
                | Op::MqsadPkU16U8
                | Op::PkMaxI16
                | Op::PkMinI16
                | Op::PkMaxU16
                | Op::PkMinU16
                | Op::PkLshrrevB16
                | Op::PkAshrrevI16
        )
    }

    /// Whether the operation saturates its integer result itself when the clamp bit is set.
    pub(crate) fn clamps_integers(self) -> bool {
        matches!(
            self,
            Op::AddCoU32
                | Op::SubCoU32
                | Op::SubrevCoU32
                | Op::AddCoCiU32
                | Op::SubCoCiU32
                | Op::SubrevCoCiU32
                | Op::MadU64U32
                | Op::MadI64I32
                | Op::MqsadU32U8
                | Op::Dot4I32Iu8
                | Op::Dot8I32Iu4
                | Op::TileI32Iu8
                | Op::TileI32Iu4
                | Op::TileI32Iu4x32
                | Op::WmmaI32Iu8
                | Op::WmmaI32Iu4
                | Op::TileI32Iu8x64
                | Op::SparseI32Iu8
                | Op::SparseI32Iu4
                | Op::SparseI32Iu4x64
        )
    }
}
