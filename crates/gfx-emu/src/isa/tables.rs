//! THE table of instructions: opcodes, mnemonic, operation; one row an instruction, one list a format.
//!
//! Opcodes come in three numberings, by the cards that began them here: GFX11's (RDNA3, gfx1100), GFX10's (RDNA2, gfx1030) and GFX9's
//! (CDNA3, gfx942). Where the other cards depart from these is in files of their own. Decoder, printer and executor all read these rows.
//! What an operation computes and which operands it has is in `ops.rs`; how a format lays out its fields is in `decode.rs`. Opcode numbers:
//! "RDNA3 Instruction Set Architecture", chapter 15, "RDNA 2 Instruction Set Architecture" and "AMD Instinct MI300 Instruction Set
//! Architecture", chapters 12, checked against LLVM 19's disassembler by `tests/isa`.

use super::ops::Op::{self, *};

/// How an instruction departs from its format's usual operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the format says.
    Usual,
    /// VOP1 without a VOP3 twin.
    Solo,
    /// The destination is the last source too.
    Acc,
    /// VOP2 with a literal between the sources: `D = S0 * K + S1`.
    Mk,
    /// VOP2 with a literal at the end: `D = S0 * S1 + K`.
    Ak,
    /// SOPK: the constant is the source.
    K,
    /// SOPK: destination and constant are the sources.
    AccK,
    /// SOPK: destination field and sign-extended constant are compared.
    CmpK,
    /// SOPK: destination field and zero-extended constant are compared.
    CmpKU,
    /// VOPC that writes EXEC.
    CmpX,
    /// DS that gives the old value back.
    Return,
    /// DS with two addresses in units of the element.
    Two,
    /// DS with two addresses in units of 64 elements.
    Two64,
    /// FLAT or GLOBAL, but not SCRATCH.
    NotScratch,
    /// GLOBAL only.
    GlobalOnly,
    /// VOPC that writes EXEC as well as its destination.
    CmpXToo,
    /// VOP3 that clears the half of the register that it does not write.
    Legacy,
    /// GLOBAL or SCRATCH, but not FLAT.
    NotFlat,
    /// An opcode without instruction, where another card has one.
    Absent,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstructionRow {
    /// Value of the format's opcode field.
    pub(crate) opcode: u16,
    /// Mnemonic without `_e32`/`_e64`; for FLAT without the address space.
    pub(crate) mnemonic: &'static str,
    /// What it does.
    pub(crate) op: Op,
    /// How it departs from its format.
    pub(crate) form: Form,
    /// Relations a comparison counts as true: 1 less, 2 equal, 4 greater, 8 unordered.
    pub(crate) relations: u8,
}

/// Rows of each of the three numberings.
struct Numbered {
    rdna3: &'static [InstructionRow],
    rdna2: &'static [InstructionRow],
    cdna3: &'static [InstructionRow],
}

/// The opcode of an instruction that a numbering does not have; no field is that wide.
const NOWHERE: u16 = u16::MAX;

const fn form(opcode: u16, mnemonic: &'static str, op: Op, form: Form) -> InstructionRow {
    if opcode == NOWHERE {
        return absent(opcode);
    }
    InstructionRow {
        opcode,
        mnemonic,
        op,
        form,
        relations: 0,
    }
}

const fn absent(opcode: u16) -> InstructionRow {
    InstructionRow {
        opcode,
        mnemonic: "",
        op: Unsupported,
        form: Form::Absent,
        relations: 0,
    }
}

/// A list of opcodes that are not there.
const fn all_absent<const N: usize>(opcodes: [u16; N]) -> [InstructionRow; N] {
    let mut rows = [absent(NOWHERE); N];
    let mut at = 0;
    while at < N {
        rows[at].opcode = opcodes[at];
        at += 1;
    }
    rows
}

macro_rules! forms {
    ($($name:ident $form:ident)*) => {
        $(const fn $name(opcode: u16, mnemonic: &'static str, op: Op) -> InstructionRow {
            form(opcode, mnemonic, op, Form::$form)
        })*
    };
}
forms! {
    row Usual
    solo Solo
    acc Acc
    mk Mk
    ak Ak
    k K
    acc_k AccK
    cmp_k CmpK
    cmp_k_u CmpKU
    ds Usual
    ds_rtn Return
    ds2 Two
    ds2_64 Two64
    any_space Usual
    not_scratch NotScratch
    global_only GlobalOnly
    legacy Legacy
    not_flat NotFlat
}

macro_rules! opcode {
    (_) => {
        NOWHERE
    };
    ($opcode:literal) => {
        $opcode
    };
}

macro_rules! newest {
    ($newest:literal $($old:literal)?) => {
        $newest
    };
}

macro_rules! oldest {
    ($only:literal) => {
        $only
    };
    ($new:literal $oldest:literal) => {
        $oldest
    };
}

/// Rows of a form each: opcodes in RDNA3, RDNA2 and CDNA3, `_` where there is none, the mnemonic, the operation. Of two mnemonics the
/// first is RDNA3's. A text in front of the rows begins every mnemonic.
macro_rules! numbered {
    ($($form:ident($rdna3:tt, $rdna2:tt, $cdna3:tt, $($name:literal)/+, $op:ident),)*) => {
        numbered! { "" $($form($rdna3, $rdna2, $cdna3, $($name)/+, $op),)* }
    };
    ($prefix:literal $($form:ident($rdna3:tt, $rdna2:tt, $cdna3:tt, $($name:literal)/+, $op:ident),)*) => {
        Numbered {
            rdna3: &[$($form(opcode!($rdna3), concat!($prefix, newest!($($name)+)), $op)),*],
            rdna2: &[$($form(opcode!($rdna2), concat!($prefix, oldest!($($name)+)), $op)),*],
            cdna3: &[$($form(opcode!($cdna3), concat!($prefix, oldest!($($name)+)), $op)),*],
        }
    };
}

mod cdna2;
mod cdna4;
mod compare;
mod gfx125;
mod memory;
mod rdna35;
mod rdna4;
mod scalar;
mod vector;

use memory::{ACCESSES, ATOMICS, DS, DS_ATOMICS, FLAT, MUBUF, TO_LDS};
use scalar::{SMEM, SOP1, SOP2, SOPC, SOPK, SOPP};
use vector::{VOP1, VOP2, VOP3, VOP3P, VOPD};

/// Rows of one instruction set, with the formats they belong to.
pub(crate) type Formats = [(&'static str, &'static [InstructionRow])];

/// All of RDNA3.
pub(crate) const RDNA3: &[&Formats] = &[RDNA3_SMEM, RDNA3_ROWS];

/// All of RDNA3.5: what it has of its own comes first.
pub(crate) const RDNA35: &[&Formats] = &[rdna35::ROWS, RDNA3_SMEM, RDNA3_ROWS];

/// All of RDNA4: what it has of its own comes first.
pub(crate) const RDNA4: &[&Formats] = &[rdna4::ROWS, rdna35::ROWS, RDNA3_ROWS];

/// All of GFX12.5: what it has of its own comes first.
pub(crate) const GFX125: &[&Formats] = &[gfx125::ROWS, rdna4::ROWS, rdna35::ROWS, RDNA3_ROWS];

/// All of RDNA2.
pub(crate) const RDNA2: &[&Formats] = &[RDNA2_ROWS];

/// All of CDNA3.
pub(crate) const CDNA3: &[&Formats] = &[CDNA3_ROWS];

/// All of CDNA2: what it has of its own comes first.
pub(crate) const CDNA2: &[&Formats] = &[cdna2::ROWS, CDNA3_ROWS];

/// All of CDNA4: what it has of its own comes first.
pub(crate) const CDNA4: &[&Formats] = &[cdna4::ROWS, CDNA3_ROWS];

/// Scalar memory of RDNA3, which the later ones do not share.
const RDNA3_SMEM: &Formats = &[("SMEM", SMEM.rdna3)];

const RDNA3_ROWS: &Formats = &[
    ("SOP1", SOP1.rdna3),
    ("SOP2", SOP2.rdna3),
    ("SOPC", SOPC.rdna3),
    ("SOPK", SOPK.rdna3),
    ("SOPP", SOPP.rdna3),
    ("VOP1", VOP1.rdna3),
    ("VOP2", VOP2.rdna3),
    ("VOPC", compare::RDNA3),
    ("VOP3", VOP3.rdna3),
    ("VOP3P", VOP3P.rdna3),
    ("VOPD", VOPD),
    ("DS", DS_ATOMICS.rdna3),
    ("DS", DS.rdna3),
    ("FLAT", ATOMICS.flat.rdna3),
    ("FLAT", ACCESSES.flat.rdna3),
    ("FLAT", FLAT.rdna3),
    ("MUBUF", ATOMICS.mubuf.rdna3),
    ("MUBUF", ACCESSES.mubuf.rdna3),
    ("MUBUF", MUBUF.rdna3),
];

const RDNA2_ROWS: &Formats = &[
    ("SOP1", SOP1.rdna2),
    ("SOP2", SOP2.rdna2),
    ("SOPC", SOPC.rdna2),
    ("SOPK", SOPK.rdna2),
    ("SOPP", SOPP.rdna2),
    ("SMEM", SMEM.rdna2),
    ("VOP1", VOP1.rdna2),
    ("VOP2", VOP2.rdna2),
    ("VOPC", compare::RDNA2),
    ("VOP3", VOP3.rdna2),
    ("VOP3P", VOP3P.rdna2),
    ("DS", DS_ATOMICS.rdna2),
    ("DS", DS.rdna2),
    ("FLAT", ATOMICS.flat.rdna2),
    ("FLAT", ACCESSES.flat.rdna2),
    ("FLAT", FLAT.rdna2),
    ("FLAT to LDS", TO_LDS.rdna2),
    ("MUBUF", ATOMICS.mubuf.rdna2),
    ("MUBUF", ACCESSES.mubuf.rdna2),
    ("MUBUF", MUBUF.rdna2),
];

const CDNA3_ROWS: &Formats = &[
    ("SOP1", SOP1.cdna3),
    ("SOP2", SOP2.cdna3),
    ("SOPC", SOPC.cdna3),
    ("SOPK", SOPK.cdna3),
    ("SOPP", SOPP.cdna3),
    ("SMEM", SMEM.cdna3),
    ("SMEM", ATOMICS.smem),
    ("VOP1", VOP1.cdna3),
    ("VOP2", VOP2.cdna3),
    ("VOPC", compare::CDNA3),
    ("VOPC", compare::CDNA3_CLASS),
    ("VOP3", VOP3.cdna3),
    ("VOP3P", VOP3P.cdna3),
    ("DS", DS_ATOMICS.cdna3),
    ("DS", DS.cdna3),
    ("FLAT", ATOMICS.flat.cdna3),
    ("FLAT", ACCESSES.flat.cdna3),
    ("FLAT", FLAT.cdna3),
    ("MUBUF", ATOMICS.mubuf.cdna3),
    ("MUBUF", ACCESSES.mubuf.cdna3),
    ("MUBUF", MUBUF.cdna3),
];
