//! The vector instructions of the host that compiled kernels are made of.

/// The opcode of a vector instruction: its map, its prefix, its width and its byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) map: u8,
    pub(super) prefix: u8,
    pub(super) wide: bool,
    pub(super) code: u8,
}

const fn op(map: u8, prefix: u8, wide: bool, code: u8) -> Op {
    Op {
        map,
        prefix,
        wide,
        code,
    }
}

/// The vector instructions, by their mnemonics.
pub(super) mod v {
    use super::{Op, op};

    pub(in super::super) const LOAD: Op = op(1, 0, false, 0x10); // vmovups
    pub(in super::super) const STORE: Op = op(1, 0, false, 0x11);
    pub(in super::super) const MOVE: Op = op(1, 0, false, 0x28); // vmovaps
    pub(in super::super) const SPLAT: Op = op(2, 1, false, 0x18); // vbroadcastss
    pub(in super::super) const ADDPS: Op = op(1, 0, false, 0x58);
    pub(in super::super) const MULPS: Op = op(1, 0, false, 0x59);
    pub(in super::super) const SUBPS: Op = op(1, 0, false, 0x5c);
    pub(in super::super) const MINPS: Op = op(1, 0, false, 0x5d);
    pub(in super::super) const MAXPS: Op = op(1, 0, false, 0x5f);
    pub(in super::super) const CMPPS: Op = op(1, 0, false, 0xc2);
    pub(in super::super) const RANGEPS: Op = op(3, 1, false, 0x50);
    pub(in super::super) const RNDSCALEPS: Op = op(3, 1, false, 0x08);
    pub(in super::super) const SCALEFPS: Op = op(2, 1, false, 0x2c);
    pub(in super::super) const FMADD213PS: Op = op(2, 1, false, 0xa8);
    pub(in super::super) const FMADD231PS: Op = op(2, 1, false, 0xb8);
    pub(in super::super) const CVTDQ2PS: Op = op(1, 0, false, 0x5b);
    pub(in super::super) const CVTUDQ2PS: Op = op(1, 3, false, 0x7a);
    pub(in super::super) const CVTTPS2DQ: Op = op(1, 2, false, 0x5b);
    pub(in super::super) const CVTTPS2UDQ: Op = op(1, 0, false, 0x78);
    pub(in super::super) const PADDD: Op = op(1, 1, false, 0xfe);
    pub(in super::super) const PSUBD: Op = op(1, 1, false, 0xfa);
    pub(in super::super) const PADDQ: Op = op(1, 1, true, 0xd4);
    pub(in super::super) const PMULLD: Op = op(2, 1, false, 0x40);
    pub(in super::super) const PMULUDQ: Op = op(1, 1, true, 0xf4);
    pub(in super::super) const PANDD: Op = op(1, 1, false, 0xdb);
    pub(in super::super) const PORD: Op = op(1, 1, false, 0xeb);
    pub(in super::super) const PXORD: Op = op(1, 1, false, 0xef);
    pub(in super::super) const PTERNLOGD: Op = op(3, 1, false, 0x25);
    pub(in super::super) const PSLLVD: Op = op(2, 1, false, 0x47);
    pub(in super::super) const PSRLVD: Op = op(2, 1, false, 0x45);
    pub(in super::super) const PSRAVD: Op = op(2, 1, false, 0x46);
    pub(in super::super) const PMINSD: Op = op(2, 1, false, 0x39);
    pub(in super::super) const PMINUD: Op = op(2, 1, false, 0x3b);
    pub(in super::super) const PMAXSD: Op = op(2, 1, false, 0x3d);
    pub(in super::super) const PMAXUD: Op = op(2, 1, false, 0x3f);
    pub(in super::super) const PCMPD: Op = op(3, 1, false, 0x1f);
    pub(in super::super) const PCMPUD: Op = op(3, 1, false, 0x1e);
    pub(in super::super) const PTESTMD: Op = op(2, 1, false, 0x27);
    pub(in super::super) const PERMI2D: Op = op(2, 1, false, 0x76);
    /// vpbroadcastd, of the first lane of a vector register.
    pub(in super::super) const SPLAT_FIRST: Op = op(2, 1, false, 0x58);
    /// vpbroadcastd, of a general register.
    pub(in super::super) const SPLAT_GENERAL: Op = op(2, 1, false, 0x7c);
    pub(in super::super) const PBLENDMD: Op = op(2, 1, false, 0x64);
    pub(in super::super) const DIVPS: Op = op(1, 0, false, 0x5e);
    pub(in super::super) const SQRTPS: Op = op(1, 0, false, 0x51);
    /// Eight numbers of half a vector register, in double precision.
    pub(in super::super) const CVTPS2PD: Op = op(1, 0, false, 0x5a);
    /// And back, to half a vector register.
    pub(in super::super) const CVTPD2PS: Op = op(1, 1, true, 0x5a);
    pub(in super::super) const ADDPD: Op = op(1, 1, true, 0x58);
    pub(in super::super) const MULPD: Op = op(1, 1, true, 0x59);
    pub(in super::super) const SUBPD: Op = op(1, 1, true, 0x5c);
    pub(in super::super) const MINPD: Op = op(1, 1, true, 0x5d);
    pub(in super::super) const DIVPD: Op = op(1, 1, true, 0x5e);
    pub(in super::super) const MAXPD: Op = op(1, 1, true, 0x5f);
    pub(in super::super) const SQRTPD: Op = op(1, 1, true, 0x51);
    /// vinsertf64x4 and vextractf64x4. The latter's destination is the last operand.
    pub(in super::super) const INSERT_HALF: Op = op(3, 1, true, 0x1a);
    pub(in super::super) const EXTRACT_HALF: Op = op(3, 1, true, 0x1b);
    /// vpmovdw: the low halves of dwords, to half a vector register, which is the last operand.
    pub(in super::super) const PMOVDW: Op = op(2, 2, false, 0x33);
    pub(in super::super) const CVTPH2PS: Op = op(2, 1, false, 0x13);
    /// vcvtps2ph and vpmovzxwd: half a vector register on one side. The former's destination is the last operand.
    pub(in super::super) const CVTPS2PH: Op = op(3, 1, false, 0x1d);
    pub(in super::super) const PMOVZXWD: Op = op(2, 1, false, 0x33);
    /// vpmovzxbd and vpmovdb: a quarter of one on one side.
    pub(in super::super) const PMOVZXBD: Op = op(2, 1, false, 0x31);
    pub(in super::super) const PMOVDB: Op = op(2, 2, false, 0x31);
    pub(in super::super) const PSHUFB: Op = op(2, 1, false, 0x00);
    pub(in super::super) const UNPCKLPS: Op = op(1, 0, false, 0x14);
    pub(in super::super) const UNPCKHPS: Op = op(1, 0, false, 0x15);
    pub(in super::super) const SHUFPS: Op = op(1, 0, false, 0xc6);
    pub(in super::super) const FMADD231PD: Op = op(2, 1, true, 0xb8);
    /// vbroadcastf32x4, of sixteen bytes of memory.
    pub(in super::super) const SPLAT_QUAD: Op = op(2, 1, false, 0x1a);
    /// Shifts by a constant; the register field says which.
    pub(in super::super) const SHIFT_D: Op = op(1, 1, false, 0x72);
    pub(in super::super) const SHIFT_Q: Op = op(1, 1, true, 0x73);
    /// The register fields of shifts by a constant.
    pub(in super::super) const RIGHT: u8 = 2;
    pub(in super::super) const RIGHT_SIGNED: u8 = 4;
    pub(in super::super) const LEFT: u8 = 6;
}
