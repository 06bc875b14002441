//! The vector instructions of the host that compiled kernels are made of.

/// The opcode of a vector instruction: its map, its prefix, its width and its byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opcode {
    pub(super) map: u8,
    pub(super) prefix: u8,
    pub(super) wide: bool,
    pub(super) code: u8,
}

const fn op(map: u8, prefix: u8, wide: bool, code: u8) -> Opcode {
    Opcode {
        map,
        prefix,
        wide,
        code,
    }
}

/// The vector instructions, by their mnemonics.
pub(super) mod v {
    use super::{Opcode, op};

    pub(in super::super) const LOAD: Opcode = op(1, 0, false, 0x10); // vmovups
    pub(in super::super) const STORE: Opcode = op(1, 0, false, 0x11);
    pub(in super::super) const MOVE: Opcode = op(1, 0, false, 0x28); // vmovaps
    pub(in super::super) const SPLAT: Opcode = op(2, 1, false, 0x18); // vbroadcastss
    pub(in super::super) const ADDPS: Opcode = op(1, 0, false, 0x58);
    pub(in super::super) const MULPS: Opcode = op(1, 0, false, 0x59);
    pub(in super::super) const SUBPS: Opcode = op(1, 0, false, 0x5c);
    pub(in super::super) const MINPS: Opcode = op(1, 0, false, 0x5d);
    pub(in super::super) const MAXPS: Opcode = op(1, 0, false, 0x5f);
    pub(in super::super) const CMPPS: Opcode = op(1, 0, false, 0xc2);
    pub(in super::super) const RANGEPS: Opcode = op(3, 1, false, 0x50);
    pub(in super::super) const RNDSCALEPS: Opcode = op(3, 1, false, 0x08);
    pub(in super::super) const SCALEFPS: Opcode = op(2, 1, false, 0x2c);
    pub(in super::super) const FMADD213PS: Opcode = op(2, 1, false, 0xa8);
    pub(in super::super) const FMADD231PS: Opcode = op(2, 1, false, 0xb8);
    pub(in super::super) const CVTDQ2PS: Opcode = op(1, 0, false, 0x5b);
    pub(in super::super) const CVTUDQ2PS: Opcode = op(1, 3, false, 0x7a);
    pub(in super::super) const CVTTPS2DQ: Opcode = op(1, 2, false, 0x5b);
    pub(in super::super) const CVTTPS2UDQ: Opcode = op(1, 0, false, 0x78);
    pub(in super::super) const PADDD: Opcode = op(1, 1, false, 0xfe);
    pub(in super::super) const PSUBD: Opcode = op(1, 1, false, 0xfa);
    pub(in super::super) const PADDQ: Opcode = op(1, 1, true, 0xd4);
    pub(in super::super) const PMULLD: Opcode = op(2, 1, false, 0x40);
    pub(in super::super) const PMULUDQ: Opcode = op(1, 1, true, 0xf4);
    pub(in super::super) const PANDD: Opcode = op(1, 1, false, 0xdb);
    pub(in super::super) const PORD: Opcode = op(1, 1, false, 0xeb);
    pub(in super::super) const PXORD: Opcode = op(1, 1, false, 0xef);
    pub(in super::super) const PTERNLOGD: Opcode = op(3, 1, false, 0x25);
    pub(in super::super) const PSLLVD: Opcode = op(2, 1, false, 0x47);
    pub(in super::super) const PSRLVD: Opcode = op(2, 1, false, 0x45);
    pub(in super::super) const PSRAVD: Opcode = op(2, 1, false, 0x46);
    pub(in super::super) const PMINSD: Opcode = op(2, 1, false, 0x39);
    pub(in super::super) const PMINUD: Opcode = op(2, 1, false, 0x3b);
    pub(in super::super) const PMAXSD: Opcode = op(2, 1, false, 0x3d);
    pub(in super::super) const PMAXUD: Opcode = op(2, 1, false, 0x3f);
    pub(in super::super) const PCMPD: Opcode = op(3, 1, false, 0x1f);
    pub(in super::super) const PCMPUD: Opcode = op(3, 1, false, 0x1e);
    pub(in super::super) const PTESTMD: Opcode = op(2, 1, false, 0x27);
    pub(in super::super) const PERMI2D: Opcode = op(2, 1, false, 0x76);
    /// vpbroadcastd, of the first lane of a vector register.
    pub(in super::super) const SPLAT_FIRST: Opcode = op(2, 1, false, 0x58);
    /// vpbroadcastd, of a general register.
    pub(in super::super) const SPLAT_GENERAL: Opcode = op(2, 1, false, 0x7c);
    pub(in super::super) const PBLENDMD: Opcode = op(2, 1, false, 0x64);
    pub(in super::super) const DIVPS: Opcode = op(1, 0, false, 0x5e);
    pub(in super::super) const SQRTPS: Opcode = op(1, 0, false, 0x51);
    /// Eight numbers of half a vector register, in double precision.
    pub(in super::super) const CVTPS2PD: Opcode = op(1, 0, false, 0x5a);
    /// And back, to half a vector register.
    pub(in super::super) const CVTPD2PS: Opcode = op(1, 1, true, 0x5a);
    pub(in super::super) const ADDPD: Opcode = op(1, 1, true, 0x58);
    pub(in super::super) const MULPD: Opcode = op(1, 1, true, 0x59);
    pub(in super::super) const SUBPD: Opcode = op(1, 1, true, 0x5c);
    pub(in super::super) const MINPD: Opcode = op(1, 1, true, 0x5d);
    pub(in super::super) const DIVPD: Opcode = op(1, 1, true, 0x5e);
    pub(in super::super) const MAXPD: Opcode = op(1, 1, true, 0x5f);
    pub(in super::super) const SQRTPD: Opcode = op(1, 1, true, 0x51);
    /// vinsertf64x4 and vextractf64x4. The latter's destination is the last operand.
    pub(in super::super) const INSERT_HALF: Opcode = op(3, 1, true, 0x1a);
    pub(in super::super) const EXTRACT_HALF: Opcode = op(3, 1, true, 0x1b);
    /// vpmovdw: the low halves of dwords, to half a vector register, which is the last operand.
    pub(in super::super) const PMOVDW: Opcode = op(2, 2, false, 0x33);
    pub(in super::super) const CVTPH2PS: Opcode = op(2, 1, false, 0x13);
    /// vcvtps2ph and vpmovzxwd: half a vector register on one side. The former's destination is the last operand.
    pub(in super::super) const CVTPS2PH: Opcode = op(3, 1, false, 0x1d);
    pub(in super::super) const PMOVZXWD: Opcode = op(2, 1, false, 0x33);
    /// vpmovzxbd and vpmovdb: a quarter of one on one side.
    pub(in super::super) const PMOVZXBD: Opcode = op(2, 1, false, 0x31);
    pub(in super::super) const PMOVDB: Opcode = op(2, 2, false, 0x31);
    pub(in super::super) const PSHUFB: Opcode = op(2, 1, false, 0x00);
    pub(in super::super) const UNPCKLPS: Opcode = op(1, 0, false, 0x14);
    pub(in super::super) const UNPCKHPS: Opcode = op(1, 0, false, 0x15);
    pub(in super::super) const SHUFPS: Opcode = op(1, 0, false, 0xc6);
    pub(in super::super) const FMADD231PD: Opcode = op(2, 1, true, 0xb8);
    /// vbroadcastf32x4, of sixteen bytes of memory.
    pub(in super::super) const SPLAT_QUAD: Opcode = op(2, 1, false, 0x1a);
    /// Shifts by a constant; the register field says which.
    pub(in super::super) const SHIFT_D: Opcode = op(1, 1, false, 0x72);
    pub(in super::super) const SHIFT_Q: Opcode = op(1, 1, true, 0x73);
    /// The register fields of shifts by a constant.
    pub(in super::super) const RIGHT: u8 = 2;
    pub(in super::super) const RIGHT_SIGNED: u8 = 4;
    pub(in super::super) const LEFT: u8 = 6;
}
